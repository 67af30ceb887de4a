"""What an answer takes from pictures that a model described: figures that nobody wrote as text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from agents.checks.claims import claims_of
from agents.context.source import Source
from agents.state import Draft
from enrichment.language.figures import figures

_MOST_NAMED = 6


def only_in_pictures(text: str, sources: Sequence[Source]) -> tuple[tuple[str, int], ...]:
    """(figure, number of the source) of figures that an answer cites from a description, and that
    no passage of its sources holds; `[n]` is `sources[n - 1]`."""
    written = frozenset[str]().union(
        *(figures(source.text) for source in sources if not source.from_picture)
    )
    found: dict[tuple[str, int], None] = {}
    for claim in claims_of(text):
        said = figures(" ".join((claim.text, *(cell for _, cell in claim.cells)))) - written
        for number in claim.numbers:
            if 1 <= number <= len(sources) and sources[number - 1].from_picture:
                held = sorted(said & figures(sources[number - 1].text))
                found.update(dict.fromkeys((figure, number) for figure in held))
    return tuple(found)


def with_pictured_marked(draft: Draft) -> Draft:
    """The answer with a line that names what to look up in the picture."""
    pictured = [
        number
        for number, source in enumerate(draft.sources, start=1)
        if source.from_picture and any(number in claim.numbers for claim in claims_of(draft.text))
    ]
    if not pictured:
        return draft
    cited = "".join(f"[{number}]" for number in pictured)
    found = only_in_pictures(draft.text, draft.sources)
    several = len(pictured) > 1
    named = ", ".join(
        f"{figure} [{number}]" if several else figure for figure, number in found[:_MOST_NAMED]
    )
    said = f"From a model's description of a picture {cited}."
    if named:
        said += f" Look there before you act: {named} stands nowhere else."
    return replace(draft, text=f"{draft.text}\n\n_{said}_")
