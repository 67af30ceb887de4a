"""Chooses what is shown of the statements that may be quoted."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from agents.answer import Passage
from agents.extractive.markdown import excerpt, prefix_of, shape, unit_text
from agents.extractive.quotable import is_lead_in
from agents.extractive.relevance import Aspect, ScoredUnit, citation
from agents.extractive.table import flat, row_label
from enrichment.chunk import STEP, Chunk, DocumentCard
from enrichment.language.words import naming_words, stems

MAX_PASSAGES, ENOUGH = 5, 0.85
"""Number of excerpts, and the share of the odds of all statements from which no further one is
added: where one place suffices, one is shown."""
MAX_CHARS, LINE_CHARS = 1_500, 15
"""Characters of the first excerpt, counting some for each line; the second has half of them, the
third a third. Most sections are shown whole: what is cut may be the deciding line. See
docs/decisions/091."""
MAX_ROWS, _NEAR = 8, 3.0
"""Rows of a table, and log-odds by which one that is not asked for may be weaker than the best."""
Section = tuple[str, str, tuple[str, ...], bool]
"""(document id, tab, heading path, whether it is a description of a picture)."""


def passages_of(
    quotable: Sequence[ScoredUnit], aspects: Sequence[Aspect], documents: Mapping[str, DocumentCard]
) -> tuple[tuple[Passage, ...], float]:
    """(excerpts of the best sections for the question and for each of its parts, best first; share
    of the odds of all quotable statements that they hold, 0–1).

    `quotable`: see `quotable.py`, best first. `aspects`: the whole question first."""
    sections: dict[Section, list[ScoredUnit]] = {}
    for unit in quotable:
        sections.setdefault(_section(unit.chunk), []).append(unit)
    passages: list[Passage] = []
    visible: list[ScoredUnit] = []
    share = 0.0
    compared = _compared(quotable, aspects[0])
    if compared:  # they come before all others, in their section as well
        own = sections[_section(compared[0].chunk)]
        own.sort(key=lambda unit: unit not in compared)
    leading = _leading_sections([*compared[:1], *quotable])
    for section in dict.fromkeys((*leading, *sections)):
        if len(passages) == MAX_PASSAGES or (section not in leading and share >= ENOUGH):
            break
        best = sections[section][0]
        again = any(flat(one.unit.text) == flat(best.unit.text) for one in visible)
        number = len(passages) + 1
        left = MAX_CHARS // number
        statements = [] if again else _statements(sections[section], aspects[0], left)
        if statements:
            cited = citation(best.chunk, number, best.unit.text, documents)
            passages.append(Passage(citation=cited, text=excerpt(statements, aspects)))
            visible += statements
            share = _share_of_odds(visible, quotable)
    return tuple(passages), share


def _compared(quotable: Sequence[ScoredUnit], whole: Aspect) -> list[ScoredUnit]:
    """The rows of one table that the question compares: each label is named in full, and the labels
    are most of what it names (`difference between SEV2 and SEV3`); [] unless there are several."""
    tables: dict[str, list[ScoredUnit]] = {}
    for unit in quotable:
        if unit.chunk.table and _is_named(_label(unit), whole):
            tables.setdefault(unit.chunk.table.id, []).append(unit)
    for rows in tables.values():  # the table with the strongest row first
        labels = {_label(one) for one in rows}
        words = whole.named_in(stems(" ".join(labels)))
        if len(labels) > 1 and len(words) > len(whole.weights) / 2:
            return rows
    return []


def _label(unit: ScoredUnit) -> str:
    table, row = unit.chunk.table, unit.unit.row
    return row_label(table, row) if table and row is not None else ""


def _share_of_odds(visible: Sequence[ScoredUnit], quotable: Sequence[ScoredUnit]) -> float:
    best = max((unit.strength for unit in quotable), default=0.0)
    all_odds = math.fsum(math.exp(unit.strength - best) for unit in quotable)
    odds = math.fsum(math.exp(unit.strength - best) for unit in visible)
    return min(1.0, odds / all_odds) if all_odds else 0.0


def _leading_sections(quotable: Sequence[ScoredUnit]) -> list[Section]:
    """The best section for the whole question, and the best of each part."""
    parts = range(1, len(quotable[0].aspects) if quotable else 0)
    leaders = [max(quotable, key=lambda unit: unit.aspects[part]) for part in parts]
    return [_section(one.chunk) for one in (*quotable[:1], *leaders)]


def _statements(units: Sequence[ScoredUnit], whole: Aspect, left: int) -> list[ScoredUnit]:
    """Of a section: the sentence, list or table of its best statement, then others, best first,
    that fit `left` characters; in reading order."""
    # The parts of a long list or table repeat its lead-in and the item above.
    firsts = {flat(one.unit.text): one.chunk for one in sorted(units, key=_order, reverse=True)}
    units = [
        one
        for one in units
        if shape(one) in ("rows", "code") or firsts[flat(one.unit.text)] is one.chunk
    ]
    blocks = _blocks(units)
    parts: dict[int, list[ScoredUnit]] = {}
    for best in units:
        place = next(place for place, block in enumerate(blocks) if best in block)
        if place not in parts and (part := _part(blocks[place], best, whole, left)):
            parts[place] = part
            left -= _size(part, whole)
        if not parts:  # a section that cannot show its best statement shows nothing
            return []
    return [unit for place in sorted(parts) for unit in parts[place]]


def _blocks(units: Sequence[ScoredUnit]) -> list[list[ScoredUnit]]:
    """A section's statements in reading order: sentences, and each list, table or code with the
    sentence that introduces it."""
    blocks: list[list[ScoredUnit]] = []
    tables: dict[str, list[ScoredUnit]] = {}
    for unit in sorted(units, key=_order):
        before = blocks[-1][-1] if blocks else None
        table = unit.chunk.table.id if unit.chunk.table and unit.unit.row is not None else ""
        block = tables.get(table)
        if block is None and before and unit.chunk.position - before.chunk.position <= 1:
            joins = {shape(unit), shape(before)} <= {"items", "code"}
            joins |= is_lead_in(before.unit) and shape(unit) != "sentences"
            block = blocks[-1] if joins else None
        if block is None:
            block = []
            blocks.append(block)
        block.append(unit)
        tables |= {table: block} if table else {}
    return blocks


def _part(
    block: Sequence[ScoredUnit], best: ScoredUnit, whole: Aspect, left: int
) -> list[ScoredUnit]:
    """A block's statements up to the limit: of a list the first ones and the best one, of a table
    those that are asked for; none where there is no space for them."""
    lead = [one for one in block[:1] if shape(one) == "sentences"]
    own = list(block[len(lead) :])
    own = _rows(own, best, whole) if own and own[0].unit.kind == "row" else own
    before = own[: own.index(best)] if best in own else []
    first = own[:1] if best not in own or STEP.match(prefix_of(own[0])) else []
    outer = [one for one in before if _depth(one) < _depth(best)][-1:]
    needed = [one for one in block if one is best or one in (*lead, *first, *outer)]
    if _size(needed, whole) > left < MAX_CHARS:
        return []
    for unit in (one for one in own if one not in needed):
        if _size([*needed, unit], whole) > left:
            break
        needed.append(unit)
    return [*lead, *(unit for unit in own if unit in needed)]


def _rows(rows: Sequence[ScoredUnit], best: ScoredUnit, whole: Aspect) -> list[ScoredUnit]:
    """The rows that are asked for, then those nearly as strong."""
    named = [_is_named(_label(one), whole) for one in rows]
    requested = [one for one, is_named in zip(rows, named, strict=True) if one is best or is_named]
    near = [one for one in rows if one in requested or one.strength > best.strength - _NEAR]
    near = sorted(near, key=lambda one: (one not in requested, -one.strength))[:MAX_ROWS]
    return sorted(near, key=lambda one: (one not in requested, _order(one)))


def _is_named(label: str, whole: Aspect) -> bool:
    """Whether the question has each of the label's words or an equivalent: `in Oslo or Rome` names
    two rows."""
    words = naming_words(label).keys()
    ways = frozenset(word for each in whole.same.values() for way in each for word in way)
    return bool(words) and words <= whole.weights.keys() | ways


def _size(units: Sequence[ScoredUnit], whole: Aspect) -> int:
    return sum(len(unit_text(one.chunk, one.unit, whole)) + LINE_CHARS for one in units)


def _depth(unit: ScoredUnit) -> int:
    return prefix_of(unit).count(" ")


def _order(unit: ScoredUnit) -> tuple[int, int]:
    return unit.chunk.position, unit.index


def _section(chunk: Chunk) -> Section:
    return *chunk.section, chunk.from_picture
