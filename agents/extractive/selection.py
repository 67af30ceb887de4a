"""Which sentences, list items and rows an answer without a model says."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from agents.extractive.relevance import Scored
from enrichment.chunk import Chunk, Unit
from enrichment.language.words import naming_words, stems
from enrichment.trust.addressing import addressing
from enrichment.trust.withholding import WITHHELD

LONGEST_ANSWER = 750
"""Characters. Someone reads this in a thread, at night, on a phone."""
LONGEST_STATEMENT = 300
_LONGEST_LIST = 600
_MOST_STATEMENTS = 6
_FURTHER = 3.0
"""Log-odds by which a further statement may be weaker than the best one."""
_SAME_CHUNK, _SAME_SECTION, _SAME_DOCUMENT = 1.0, 0.7, 0.3
"""Log-odds that a statement gains by standing near the best one: an answer has one place more
often than five."""
_NEXT_SENTENCE = 2.0
"""The same for the sentence after it, which often completes it (`Therefore …`)."""
_FEWEST_WORDS = 2
"""`Yes!` answers nothing by itself."""

_ABOUT_THE_PAGE = re.compile(
    r"^\W*(?:(?:last|date) (?:modified|updated|reviewed|changed)|references?|see also"
    r"|version|status)\s*:|^\W*see (?:also |the )",
    re.IGNORECASE,
)

Place = tuple[str, int]
"""A unit: its chunk's id and its index there."""


def choose(scored: Sequence[Scored], context: Sequence[Chunk]) -> list[Scored]:
    """The best statement, the best one of each part of the question, then the next best while
    there is room; what stands near the best one counts more.

    A lead-in (`You need approval from:`) comes with the list it leads into or not at all, and of
    a list that is said twice over all is said: half a list misleads."""
    visible = {chunk.id for chunk in context}
    by_place = {(unit.chunk.id, unit.index): unit for unit in scored if unit.chunk.id in visible}
    usable = [unit for unit in by_place.values() if _says_something(unit)]
    best = next((unit for unit in usable if _is_for_people(unit)), None)
    if best is None:
        return []
    leaders = [
        max(usable, key=lambda unit: unit.aspects[part]) for part in range(1, len(best.aspects))
    ]
    others = sorted(usable, key=lambda unit: -(unit.strength + _nearness(unit, best)))
    chosen = _with_what_it_leads_to(best, by_place)
    statements, room = 1, LONGEST_ANSWER - _length(chosen)
    for unit in (*leaders, *others):
        if statements == _MOST_STATEMENTS:
            break
        if unit.strength + _nearness(unit, best) <= best.strength - _FURTHER:
            continue
        if unit is best or not _is_for_people(unit):
            continue
        if any(_says_the_same(unit, other) for other in chosen):
            continue
        for added in (_rest_of_the_list(unit, chosen, by_place), [unit]):
            more = [one for each in added for one in _with_what_it_leads_to(each, by_place)]
            more = [one for one in dict.fromkeys(more) if one not in chosen]
            if more and _length(more) <= room:
                chosen += more
                statements += 1
                room -= _length(more)
                break
    return _in_reading_order([unit for unit in chosen if _is_for_people(unit)])


def is_lead_in(unit: Unit) -> bool:
    """A sentence or item that ends in a colon."""
    return unit.kind != "row" and unit.text.rstrip().endswith((":", "："))


def shortened(text: str) -> str:
    """At a word's end, with a sign that something follows."""
    if len(text) <= LONGEST_STATEMENT:
        return text
    return text[:LONGEST_STATEMENT].rsplit(" ", 1)[0].rstrip(",;:") + " …"


def _is_for_people(scored: Scored) -> bool:
    """An index made before planted text was kept out may hold some."""
    return addressing(scored.unit.text) != "planted"


def _says_something(scored: Scored) -> bool:
    unit = scored.unit
    if _ABOUT_THE_PAGE.search(unit.text) or unit.text.strip() == WITHHELD:
        return False
    if unit.kind == "sentence" and unit.text.rstrip().endswith("?"):
        return False
    if is_lead_in(unit) and not _led_to(scored.chunk, scored.index):
        return False
    return unit.row is not None or len(naming_words(unit.text)) >= _FEWEST_WORDS


def _led_to(chunk: Chunk, index: int) -> range:
    """The items right after a unit."""
    end = index + 1
    while end < len(chunk.units) and chunk.units[end].kind == "item":
        end += 1
    return range(index + 1, end)


def _with_what_it_leads_to(scored: Scored, by_place: Mapping[Place, Scored]) -> list[Scored]:
    """A lead-in with as many of its items as fit; anything else by itself."""
    if not is_lead_in(scored.unit):
        return [scored]
    found, room = [scored], _LONGEST_LIST
    for index in _led_to(scored.chunk, scored.index):
        item = by_place.get((scored.chunk.id, index))
        if item is None:
            continue
        room -= _length([item])
        if room < 0 and len(found) > 1:
            break
        found.append(item)
    return found


def _rest_of_the_list(
    scored: Scored, chosen: Sequence[Scored], by_place: Mapping[Place, Scored]
) -> list[Scored]:
    """The whole list of a second item of it, when it is short."""
    chunk = scored.chunk
    items = [one for one in chosen if one.chunk.id == chunk.id and one.unit.kind == "item"]
    if scored.unit.kind != "item" or not items:
        return [scored]
    start = scored.index
    while start > 0 and chunk.units[start - 1].kind == "item":
        start -= 1
    if start > 0 and is_lead_in(chunk.units[start - 1]):
        start -= 1
    places = ((chunk.id, index) for index in (start, *_led_to(chunk, start)))
    whole = [by_place[place] for place in places if place in by_place]
    return whole if _length(whole) <= _LONGEST_LIST else [scored]


def _nearness(unit: Scored, best: Scored) -> float:
    chunk, center = unit.chunk, best.chunk
    if chunk.id == center.id:
        kinds = {unit.unit.kind, best.unit.kind}
        goes_on = unit.index == best.index + 1 and kinds == {"sentence"}
        return _SAME_CHUNK + _NEXT_SENTENCE * goes_on
    if chunk.document_id != center.document_id:
        return 0.0
    return _SAME_SECTION if chunk.heading_path == center.heading_path else _SAME_DOCUMENT


def _in_reading_order(chosen: Sequence[Scored]) -> list[Scored]:
    """Chunks in the order of their best statement, each one's statements as they stand."""
    order = {chunk: place for place, chunk in enumerate(dict.fromkeys(u.chunk.id for u in chosen))}
    return sorted(chosen, key=lambda unit: (order[unit.chunk.id], unit.index))


def _length(units: Iterable[Scored]) -> int:
    return sum(min(len(unit.unit.text), LONGEST_STATEMENT) for unit in units)


def _says_the_same(unit: Scored, other: Scored) -> bool:
    """Sentences with the same words but for a few; rows differ by one cell, and that is the one."""
    if unit.unit.kind != other.unit.kind:
        return False
    if unit.unit.kind == "row":
        return unit.unit.text == other.unit.text
    mine, theirs = stems(unit.unit.text), stems(other.unit.text)
    smaller = min(len(mine), len(theirs))
    return smaller > 0 and len(mine & theirs) / smaller > 0.85
