"""Where the documents speak of what was asked: at most three titled excerpts."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from agents.answer import Passage
from agents.extractive.asked_value.table_columns import flat
from agents.extractive.citing import citation
from agents.extractive.quotable import in_words, is_lead_in
from agents.extractive.relevance import Aspect, Scored
from enrichment.chunk import Chunk, DocumentCard
from enrichment.language.words import TOKEN, naming_words

MOST_PASSAGES = 3
LONGEST = 1_200
"""Characters of all excerpts: someone reads this in a thread, at night, on a phone."""
LONGEST_PASSAGE = 900
_FURTHER, _WEAKEST = 2.0, 5.0
"""Log-odds by which a further passage's best statement, and any statement, may be weaker than the
best of all: room alone is no reason to show something."""
_COUNTED = 3
"""Statements of a section that speak for it."""
_NEXT, _NEAR = 1.0, 0.5
"""Log-odds that a statement gains by standing right after its section's best one, or near it:
what is read in one go needs no …"""
_LED_TO = 3.0
"""The same for the items that it leads into."""
GAP = "…"

_NOT_MARKED = re.compile(r"`[^`]*`|\S*(?:://|@|\*)\S*")

Section = tuple[str, str, tuple[str, ...]]
"""Document, tab and headings."""


@dataclass(frozen=True, kw_only=True)
class Excerpts:
    """What is shown of the documents."""

    passages: tuple[Passage, ...] = ()
    """Best first."""
    share_shown: float = 0.0
    """Of the odds of all statements found, how much those have that are shown, 0–1."""


def passages_of(
    quotable: Sequence[Scored], aspects: Sequence[Aspect], documents: Mapping[str, DocumentCard]
) -> Excerpts:
    """The sections that speak of the question most, and of each part of it.

    `quotable`: see `quotable.py`, best first. `aspects`: the whole question first."""
    sections: dict[Section, list[Scored]] = {}
    first = {flat(unit.unit.text): unit for unit in reversed(quotable)}
    for unit in quotable:
        if first[flat(unit.unit.text)] is not unit:  # the same in another document
            continue
        sections.setdefault(_section(unit.chunk), []).append(unit)
    chosen = _leading(quotable, list(sections.values()))
    excerpts = _filled(chosen)
    passages = tuple(
        Passage(
            citation=citation(units[0].chunk, number, units[0].unit.text, documents),
            text=excerpt(said, aspects),
        )
        for number, (units, said) in enumerate(zip(chosen, excerpts, strict=True), start=1)
    )
    shown = [unit for said in excerpts for unit in said]
    return Excerpts(passages=passages, share_shown=_share(shown, quotable))


def _share(shown: Sequence[Scored], quotable: Sequence[Scored]) -> float:
    best = max((unit.strength for unit in quotable), default=0.0)
    all_odds = math.fsum(math.exp(unit.strength - best) for unit in quotable)
    odds = math.fsum(math.exp(unit.strength - best) for unit in shown)
    return min(1.0, odds / all_odds) if all_odds else 0.0


def _leading(
    quotable: Sequence[Scored], sections: Sequence[Sequence[Scored]]
) -> list[Sequence[Scored]]:
    """The best section for the whole question, the best of each part, then the next best."""
    ranked = sorted(sections, key=lambda units: -_together(units))
    if not ranked:
        return []
    parts = range(1, len(quotable[0].aspects))
    leaders = [_section(max(quotable, key=lambda u: u.aspects[part]).chunk) for part in parts]
    near = [units for units in ranked if units[0].strength > ranked[0][0].strength - _FURTHER]
    wanted = [ranked[0], *(units for units in ranked if _section(units[0].chunk) in leaders), *near]
    return list({_section(units[0].chunk): units for units in wanted}.values())[:MOST_PASSAGES]


def _together(units: Sequence[Scored]) -> float:
    """Log-odds of a section: those of its best statements add up."""
    return math.log(math.fsum(math.exp(min(50.0, one.strength)) for one in units[:_COUNTED]))


def _filled(chosen: Sequence[Sequence[Scored]]) -> list[list[Scored]]:
    """Of each section its best statement, then the next best of all while there is room."""
    said = [[units[0]] for units in chosen]
    strongest = max((units[0].strength for units in chosen), default=0.0)
    used = [_size(units[0]) for units in chosen]
    others = [
        (unit.strength + _nearness(unit, units), place, unit)
        for place, units in enumerate(chosen)
        for unit in units[1:]
    ]
    for worth, place, unit in sorted(others, key=lambda other: (-other[0], other[1])):
        if worth < strongest - _WEAKEST:
            break
        size = _size(unit)
        if sum(used) + size <= LONGEST and used[place] + size <= LONGEST_PASSAGE:
            said[place].append(unit)
            used[place] += size
    return [sorted(units, key=_order) for units in said]


def _size(unit: Scored) -> int:
    return len(in_words(unit.chunk, unit.unit))


def _order(unit: Scored) -> tuple[int, int]:
    return unit.chunk.position, unit.index


def _nearness(unit: Scored, units: Sequence[Scored]) -> float:
    places = sorted(map(_order, units))
    apart = places.index(_order(unit)) - places.index(_order(units[0]))
    if apart > 0 and is_lead_in(units[0].unit) and unit.unit.kind == "item":
        return _LED_TO
    return _NEXT if apart == 1 else _NEAR if abs(apart) <= 2 else 0.0


def excerpt(said: Sequence[Scored], aspects: Sequence[Aspect]) -> str:
    """Markdown of statements of one section in reading order: sentences run on, items and rows
    are a list, code stays code; … where something is left out."""
    blocks: list[str] = []
    for _, group in groupby(_with_gaps(said), key=lambda pair: _shape(pair[0])):
        pairs = list(group)
        blocks.append(_block(pairs, aspects))
    return "\n".join(blocks)


def _block(pairs: Sequence[tuple[Scored, bool]], aspects: Sequence[Aspect]) -> str:
    shape = _shape(pairs[0][0])
    if shape == "code":
        return "\n".join(["```", *(one.unit.text for one, _ in pairs), "```"])
    texts = [marked(in_words(one.chunk, one.unit), aspects) for one, _ in pairs]
    if shape == "list":
        return "\n".join(f"- {text}" for text in texts)
    return " ".join(
        f"{GAP} {text}" if cut else text for text, (_, cut) in zip(texts, pairs, strict=True)
    )


def _shape(unit: Scored) -> str:
    if unit.chunk.kind == "code":
        return "code"
    return "text" if unit.unit.kind == "sentence" else "list"


def _with_gaps(said: Sequence[Scored]) -> Iterator[tuple[Scored, bool]]:
    """Each with whether something between it and the one before it is left out."""
    before: Scored | None = None
    for unit in said:
        follows = before is None or _follows(unit, before)
        yield unit, not follows
        before = unit


def _follows(unit: Scored, before: Scored) -> bool:
    if unit.chunk.id == before.chunk.id:
        return unit.index == before.index + 1
    last = before.index == len(before.chunk.units) - 1
    return last and unit.index == 0 and unit.chunk.position == before.chunk.position + 1


def marked(text: str, aspects: Sequence[Aspect]) -> str:
    """The text with the words that the question names in bold, neighbours as one."""
    named = aspects[0].named_in(naming_words(text).keys())
    telling = named | {
        word for stem in named for way in aspects[0].same.get(stem, ()) for word in way
    }
    untouched = [match.span() for match in _NOT_MARKED.finditer(text)]
    runs: list[tuple[int, int]] = []
    for match in TOKEN.finditer(text):
        start, end = match.span()
        if any(low < end and start < high for low, high in untouched):
            continue
        if not naming_words(match[0]).keys() & telling:
            continue
        if runs and text[runs[-1][1] : start].isspace():
            runs[-1] = runs[-1][0], end
        else:
            runs.append((start, end))
    for start, end in reversed(runs):
        text = f"{text[:start]}**{text[start:end]}**{text[end:]}"
    return text


def _section(chunk: Chunk) -> Section:
    return chunk.document_id, chunk.tab, chunk.heading_path


def written(lead: str, passages: Sequence[Passage]) -> str:
    """Markdown of the whole: the lead, then each passage under its title."""
    parts = [lead]
    for one in passages:
        place = " › ".join(dict.fromkeys((one.citation.title, one.citation.heading)))
        quoted = "\n".join(f"> {line}" for line in one.text.split("\n"))
        parts.append(f"**{place}** [{one.citation.number}]\n{quoted}")
    return "\n\n".join(parts)
