"""Where the documents speak of what was asked: at most three titled excerpts."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from agents.answer import Passage
from agents.extractive.asked_value.table_columns import flat
from agents.extractive.citing import citation
from agents.extractive.excerpt_text import excerpt
from agents.extractive.quotable import in_words, is_lead_in
from agents.extractive.relevance import Aspect, Scored
from enrichment.chunk import Chunk, DocumentCard

MOST_PASSAGES = 3
LONGEST = 1_200
"""Characters of all excerpts: someone reads this in a thread, at night, on a phone."""
LONGEST_PASSAGE = 900
LONGEST_LIST = 700
"""Of a list that is shown whole."""
_FURTHER, _WEAKEST = 3.0, 5.0
"""Log-odds by which a further passage's best statement, and any statement, may be weaker than the
best of all: room alone is no reason to show something."""
_COUNTED = 3
"""Statements of a section that speak for it."""
_NEXT, _NEAR = 1.0, 0.5
"""Log-odds that a statement gains by standing right after its section's best one, or near it:
what is read in one go needs no …"""

Section = tuple[str, str, tuple[str, ...], bool]
"""Document, tab, headings, and whether a picture there is described."""


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
    for place, units in enumerate(chosen):
        whole = _completed(units[0], units)
        more = sum(map(_size, whole)) - used[place]
        if used[place] + more <= LONGEST_LIST and sum(used) + more <= LONGEST:
            said[place] = whole
            used[place] += more
    others = [
        (unit.strength + _nearness(unit, units), place, unit)
        for place, units in enumerate(chosen)
        for unit in units[1:]
    ]
    for worth, place, unit in sorted(others, key=lambda other: (-other[0], other[1])):
        if worth < strongest - _WEAKEST:
            break
        whole = _completed(unit, chosen[place]) if unit.unit.kind == "item" else [unit]
        for added in (whole, [unit]):
            new = [one for one in added if one not in said[place]]
            size = sum(map(_size, new))
            if sum(used) + size <= LONGEST and used[place] + size <= LONGEST_PASSAGE:
                said[place] += new
                used[place] += size
                break
    return [sorted(units, key=_order) for units in said]


def _completed(best: Scored, units: Sequence[Scored]) -> list[Scored]:
    """The list that a statement is an item of or leads into: half of a list misleads. With a
    sentence the one after it, which often completes it."""
    own, start, end = best.chunk.units, best.index, best.index
    if best.unit.kind == "item":
        while start > 0 and own[start - 1].kind == "item":
            start -= 1
        start -= start > 0 and is_lead_in(own[start - 1])
    if best.unit.kind == "item" or is_lead_in(best.unit):
        while end + 1 < len(own) and own[end + 1].kind == "item":
            end += 1
    elif [one.kind for one in own[end : end + 2]] == ["sentence", "sentence"]:
        end += 1
    places = {(best.chunk.id, index) for index in range(start, end + 1)}
    return [unit for unit in units if (unit.chunk.id, unit.index) in places]


def _size(unit: Scored) -> int:
    return len(in_words(unit.chunk, unit.unit))


def _order(unit: Scored) -> tuple[int, int]:
    return unit.chunk.position, unit.index


def _nearness(unit: Scored, units: Sequence[Scored]) -> float:
    places = sorted(map(_order, units))
    apart = places.index(_order(unit)) - places.index(_order(units[0]))
    return _NEXT if apart == 1 else _NEAR if abs(apart) <= 2 else 0.0


def _section(chunk: Chunk) -> Section:
    return chunk.document_id, chunk.tab, chunk.heading_path, chunk.from_picture
