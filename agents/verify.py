"""Agent 6: checks without a model that each citation exists and holds up its sentence."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from agents.answer import CITED
from agents.context.source import Source
from enrichment.language.figures import figures
from enrichment.language.sentences import sentences
from enrichment.language.words import naming_words, stems
from loaders.markdown_parser import read_blocks

_CITED_AFTER_THE_END = re.compile(rf"(?<![.!?…])([.!?…]++)((?:{CITED.pattern})+)")
_RULE = re.compile(r"[|\s:=-]+")
"""Below a header."""
_SUPPORTED = 0.5
"""Share of a sentence's naming words that must stand in what it cites."""


@dataclass(frozen=True, kw_only=True)
class Support:
    """How far the cited chunks hold up an answer."""

    score: float
    """Share of its sentences that are cited and supported, 0–1; 1 when it states nothing."""
    unsupported: tuple[str, ...] = ()
    """Those sentences, without their numbers."""


def support(text: str, sources: Sequence[Source]) -> Support:
    """Each sentence against the sources it cites; `[n]` is `sources[n - 1]`."""
    claims = [claim for claim in _claims(text) if naming_words(CITED.sub("", claim))]
    failed = [claim for claim in claims if not _holds(claim, sources)]
    score = 1 - len(failed) / len(claims) if claims else 1.0
    return Support(score=score, unsupported=tuple(CITED.sub("", claim) for claim in failed))


def best_quote(claims: str, source: Source) -> str:
    """The unit of the source that shares most with the sentences that cite it, verbatim."""
    wanted = naming_words(claims).keys()
    units = [unit for chunk in source.chunks for unit in chunk.units]
    if not units:
        return source.text[:200]
    return max(units, key=lambda unit: len(wanted & stems(unit.index_text))).text


def claims_citing(text: str, number: int) -> str:
    """The sentences that cite one source, joined."""
    return " ".join(claim for claim in _claims(text) if f"[{number}]" in claim)


def _claims(text: str) -> list[str]:
    lines = text.split("\n")
    for block in read_blocks(text):
        if block.type in ("thead_open", "hr") and block.map:
            for place in range(*block.map):  # what a column is called claims nothing
                lines[place] = ""
    cited_inside = _CITED_AFTER_THE_END.sub(r"\2\1", "\n".join(lines))
    return [claim for claim in sentences(cited_inside) if not _RULE.fullmatch(claim)]


def _holds(claim: str, sources: Sequence[Source]) -> bool:
    cited = [int(number) for number in CITED.findall(claim)]
    known = [sources[number - 1] for number in cited if 1 <= number <= len(sources)]
    if not known:
        return False
    said = CITED.sub("", claim)
    shown = " ".join(
        f"{source.place} {source.text} {' '.join(chunk.index_text for chunk in source.chunks)}"
        for source in known
    )
    if not figures(said) <= figures(shown):
        return False
    named = naming_words(said).keys()
    return not named or len(named & stems(shown)) / len(named) >= _SUPPORTED
