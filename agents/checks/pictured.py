"""What an answer takes from pictures that a model described: figures that nobody wrote as text."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from agents.checks.claims import claims_of
from agents.context.source import Source
from agents.state import Draft
from enrichment.language.quantities import figures

_MOST_NAMED = 6
SUREST = 0.8
"""Confidence of an answer with such a figure, at most: set by hand, below what is told as high.
The checks hold it against the description, and nobody holds that against the picture."""
_THOUSANDS = re.compile(r"(?<=\d)[ \u00a0\u2009\u202f](?=\d{3}(?!\d))")
"""Labels of charts part them by a space."""


def only_in_pictures(text: str, sources: Sequence[Source]) -> tuple[tuple[str, int], ...]:
    """(figure, number of the source) of figures that an answer cites from a description, and that
    no passage of its sources holds; `[n]` is `sources[n - 1]`."""
    written = frozenset[str]().union(
        *(_figures(source.text) for source in sources if not source.from_picture)
    )
    found: dict[tuple[str, int], None] = {}
    for claim in claims_of(text):
        said = _figures(" ".join((claim.text, *(cell for _, cell in claim.cells)))) - written
        for number in claim.numbers:
            if 1 <= number <= len(sources) and sources[number - 1].from_picture:
                held = sorted(said & _figures(sources[number - 1].text))
                found.update(dict.fromkeys((figure, number) for figure in held))
    return tuple(found)


def _figures(text: str) -> frozenset[str]:
    return figures(_THOUSANDS.sub("", text))


def with_pictured_marked(draft: Draft) -> Draft:
    """The answer with a line that names what to look up in the picture; it is not told as sure."""
    if not any(source.from_picture for source in draft.sources):
        return draft
    cites = {number for claim in claims_of(draft.text) for number in claim.numbers}
    pictured = [
        number
        for number, source in enumerate(draft.sources, start=1)
        if source.from_picture and number in cites
    ]
    if not pictured:
        return draft
    cited = "".join(f"[{number}]" for number in pictured)
    found = only_in_pictures(draft.text, draft.sources)[:_MOST_NAMED]
    said = f"From a model's description of a picture {cited}."
    confidence = draft.confidence
    if found:
        confidence = min(confidence, SUREST)
        of = {number: [one for one, its in found if its == number] for _, number in found}
        several = len(pictured) > 1
        named = ", ".join(
            f"{', '.join(ones)} [{number}]" if several else ", ".join(ones)
            for number, ones in of.items()
        )
        said += f" Look there before you act: {named} {'stand' if found[1:] else 'stands'} "
        said += "nowhere else."
    return replace(draft, text=f"{draft.text}\n\n_{said}_", confidence=confidence)
