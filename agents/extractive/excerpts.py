"""Writes at most three excerpts of the statements that may be quoted."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate, groupby, takewhile

from agents.answer import Passage
from agents.extractive.quotable import is_lead_in
from agents.extractive.relevance import Aspect, ScoredUnit, citation
from agents.extractive.table import (
    cell_at,
    flat,
    header_at,
    row_label,
    says_nothing,
    together,
)
from agents.extractive.value_types import column_kinds, fits, requested_kinds
from enrichment.chunk import Chunk, ChunkTable, DocumentCard, Unit, unit_prefixes
from enrichment.language.words import TOKEN, naming_words, stems
from enrichment.safety.injection import redacted

MAX_STATEMENT_CHARS = 400
"""Maximum length of a quoted sentence, item or row."""


def unit_text(chunk: Chunk, unit: Unit, aspect: Aspect | None = None) -> str:
    """The sentence or item verbatim; a row as `label — header: cell; header: cell`, the columns of
    a long one in which the aspect finds least are left out."""
    text = redacted(unit.text)
    if unit.row is not None and chunk.table is not None:
        cells = list(_cells(chunk.table, unit.row))
        cells = cells if aspect is None else _fitting(cells, aspect)
        row = "; ".join(redacted(": ".join(filter(None, cell))) for cell in cells)
        text = " — ".join(filter(None, (redacted(row_label(chunk.table, unit.row)), row)))
    if len(text) <= MAX_STATEMENT_CHARS:
        return text
    return text[:MAX_STATEMENT_CHARS].rsplit(" ", 1)[0].rstrip(",;:") + " …"


def _cells(table: ChunkTable, row: int) -> Iterator[tuple[str, str]]:
    """(header, cell) of each value column; neighbors with the same cell are merged."""
    value_columns = range(table.label_columns, len(table.rows[row]))
    for cell, columns in groupby(value_columns, key=lambda column: cell_at(table, row, column)):
        if not says_nothing(cell):
            yield together([header_at(table, column) for column in columns]), cell


def _fitting(cells: Sequence[tuple[str, str]], aspect: Aspect) -> list[tuple[str, str]]:
    """In their order, the cells that fit a line, those that the question asks for first."""
    kinds = [request.kind for request in requested_kinds(aspect.text)]

    def worth(cell: tuple[str, str]) -> float:
        named = aspect.coverage(stems(cell[0])) + aspect.coverage(stems(" ".join(cell)))
        return named + any(fits(kind, column_kinds(cell[0], cell[1:])) for kind in kinds)

    ranked = sorted(cells, key=worth, reverse=True)
    sizes = accumulate(len(header) + len(cell) + 4 for header, cell in ranked)
    count = max(1, sum(size <= MAX_ROW_CHARS for size in sizes))
    return [cell for cell in cells if cell in ranked[:count]]


CODE = "```"
"""See `enrichment.chunk.unit_prefixes`."""
GAP = "…"
PICTURED = " _(a picture, as a model described it)_"
_WORD = re.compile(rf"`[^`]*`|\S*(?:://|@|\*)\S*|(?P<word>{TOKEN.pattern})", TOKEN.flags)
"""A word; code, addresses and marks stay as they are."""
_NUMBER = re.compile(r"\s*\(?(?:\d+|[a-z]+)[.)]", re.IGNORECASE)


def excerpt(statements: Sequence[ScoredUnit], aspects: Sequence[Aspect]) -> str:
    """Markdown of one section's statements in this order: sentences as running text, items and
    rows as a list, code as code; … marks a gap."""
    groups = [list(units) for _, units in groupby(statements, key=_shape)]
    lines: list[str] = []
    for units in groups:
        is_end = units is groups[-1] or units[0].unit.kind == "row"
        lines += [_block(units, aspects), *(_left_out(units) if is_end else ())]
    return "\n".join(lines)


def _block(units: Sequence[ScoredUnit], aspects: Sequence[Aspect]) -> str:
    shape = _shape(units[0])
    if shape == "code":
        return "\n".join([CODE, *(one.unit.text for one in units), CODE])
    texts = [with_bold_words(unit_text(one.chunk, one.unit, aspects[0]), aspects) for one in units]
    if shape != "sentences":
        texts = [f"{_prefix(one) or '- '}{text}" for one, text in zip(units, texts, strict=True)]
    for place in reversed(range(1, len(texts) if shape != "rows" else 0)):
        if not _follows(units[place], units[place - 1]):
            texts.insert(place, GAP if shape == "sentences" else f"- {GAP}")
    return (" " if shape == "sentences" else "\n").join(texts)


def _shape(unit: ScoredUnit) -> str:
    code = unit.chunk.kind == "code" or _prefix(unit) == CODE
    return "code" if code else f"{unit.unit.kind}s"


def _left_out(units: Sequence[ScoredUnit]) -> Iterator[str]:
    """Says how many rows of the last table or items of the last list come on top."""
    chunk, last = units[-1].chunk, units[-1].unit
    if chunk.table and last.row is not None:
        tables = [
            one.chunk.table.id for one in units if one.chunk.table and one.unit.row is not None
        ]
        count, total = tables.count(chunk.table.id), chunk.table.total_rows
        if count < max(total, len(chunk.table.rows)):
            yield f"\n_{count} of the table's {total or len(chunk.table.rows)} rows_"
    elif last.kind == "item":
        rest = list(zip(chunk.units, unit_prefixes(chunk), strict=True))[units[-1].index + 1 :]
        items = takewhile(lambda one: one[0].kind == "item", rest)
        more = sum(not prefix.startswith(" ") for _, prefix in items)
        if more := more + sum(run.total - run.first - run.count for run in chunk.runs[:1]):
            yield f"\n_{more} more in the document_"


def _follows(unit: ScoredUnit, before: ScoredUnit) -> bool:
    if unit.chunk.id == before.chunk.id:
        return unit.index == before.index + 1
    last = before.index == len(before.chunk.units) - 1
    return last and unit.index == 0 and unit.chunk.position == before.chunk.position + 1


def with_bold_words(text: str, aspects: Sequence[Aspect]) -> str:
    """Sets the question's words in bold; neighbors share one pair of marks."""
    question_words = aspects[0].named_in(naming_words(text).keys())
    ways = (way for word in question_words for way in aspects[0].same.get(word, ()))
    bold = question_words.union(*ways)

    def marked(match: re.Match[str]) -> str:
        is_bold = match["word"] and naming_words(match["word"]).keys() & bold
        return f"**{match[0]}**" if is_bold else match[0]

    return re.sub(r"\*\*(\s+)\*\*", r"\1", _WORD.sub(marked, text))


def passages_text(lead: str, passages: Sequence[Passage]) -> str:
    """Markdown of the lead, then of each passage under its title."""
    parts = [lead]
    for one in passages:
        place = " › ".join(dict.fromkeys((one.citation.title, one.citation.heading)))
        quoted = "\n".join(f"> {line}" for line in one.text.split("\n"))
        pictured = PICTURED if one.citation.from_picture else ""
        parts.append(f"**{place}** [{one.citation.number}]{pictured}\n{quoted}")
    return "\n\n".join(parts)


MAX_PASSAGES = 3
MAX_CHARS, MAX_PASSAGE_CHARS, LINE_CHARS = 1_300, 700, 15
"""Characters of all excerpts and of one, counting some for each line. On 545 development questions
first passages with a fact, replies with all facts, and words (median): 0.58, 0.58 and 214; with 600
characters together 0.57, 0.48 and 108. Judged blind on 168 others, 0.30 of the replies of 600
characters were acceptable and 0.43 of those of twice as many: the deciding line was cut."""
MAX_ROW_CHARS, MAX_ROWS, FEW_ROWS = 340, 5, 4
"""Characters of a row's cells, rows of a larger table, and of one that is shown whole."""
_FURTHER, _NEAR = 3.0, 1.5
"""Log-odds by which the best statement of a further passage, and a further row of a table, may be
weaker than the best one."""
Section = tuple[str, str, tuple[str, ...], bool]


def passages_of(
    quotable: Sequence[ScoredUnit], aspects: Sequence[Aspect], documents: Mapping[str, DocumentCard]
) -> tuple[tuple[Passage, ...], list[ScoredUnit]]:
    """(excerpts of the best sections for the question and for each of its parts, best first, while
    there is space; the statements in them).

    `quotable`: see `quotable.py`, best first. `aspects`: the whole question first."""
    sections: dict[Section, list[ScoredUnit]] = {}
    for unit in quotable:
        sections.setdefault(_section(unit.chunk), []).append(unit)
    passages: list[Passage] = []
    visible: list[ScoredUnit] = []
    compared = _compared(quotable, aspects[0])
    if compared:  # they come before all others, in their section as well
        own = sections[_section(compared[0].chunk)]
        own.sort(key=lambda unit: unit not in compared)
    for section in _leading_sections([*compared[:1], *quotable]):
        best = sections[section][0]
        again = any(flat(one.unit.text) == flat(best.unit.text) for one in visible)
        left = min(MAX_PASSAGE_CHARS, MAX_CHARS - _size(visible, aspects[0]))
        statements = [] if again else _statements(sections[section], aspects[0], left)
        if statements and len(passages) < MAX_PASSAGES:
            cited = citation(best.chunk, len(passages) + 1, best.unit.text, documents)
            passages.append(Passage(citation=cited, text=excerpt(statements, aspects)))
            visible += statements
    return tuple(passages), visible


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


def share_of_odds(visible: Sequence[ScoredUnit], quotable: Sequence[ScoredUnit]) -> float:
    """Share of the odds of all quotable statements that the visible ones hold, 0–1."""
    best = max((unit.strength for unit in quotable), default=0.0)
    all_odds = math.fsum(math.exp(unit.strength - best) for unit in quotable)
    odds = math.fsum(math.exp(unit.strength - best) for unit in visible)
    return min(1.0, odds / all_odds) if all_odds else 0.0


def _leading_sections(quotable: Sequence[ScoredUnit]) -> list[Section]:
    """The best section for the whole question, the best of each part, then the next best."""
    parts = range(1, len(quotable[0].aspects) if quotable else 0)
    leaders = [max(quotable, key=lambda unit: unit.aspects[part]) for part in parts]
    strongest = max((unit.strength for unit in quotable), default=0.0)
    near = [unit for unit in quotable if unit.strength > strongest - _FURTHER]
    return list(dict.fromkeys(_section(one.chunk) for one in (*quotable[:1], *leaders, *near)))


def _statements(units: Sequence[ScoredUnit], whole: Aspect, left: int) -> list[ScoredUnit]:
    """Of a section: the sentence, list or table of its best statement, then others, best first,
    that fit `left` characters; in reading order."""
    # The parts of a long list or table repeat its lead-in.
    texts = {flat(one.unit.text): one for one in sorted(units, key=_order, reverse=True)}
    units = [
        one for one in units if one.unit.kind != "sentence" or texts[flat(one.unit.text)] is one
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
            joins = {_shape(unit), _shape(before)} <= {"items", "code"}
            joins |= is_lead_in(before.unit) and _shape(unit) != "sentences"
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
    lead = [one for one in block[:1] if _shape(one) == "sentences"]
    own = list(block[len(lead) :])
    own = _rows(own, best, whole) if own and own[0].unit.kind == "row" else own
    before = own[: own.index(best)] if best in own else []
    first = own[:1] if best not in own or _NUMBER.match(_prefix(own[0])) else []
    outer = [one for one in before if _depth(one) < _depth(best)][-1:]
    needed = [one for one in block if one is best or one in (*lead, *first, *outer)]
    if _size(needed, whole) > left < MAX_PASSAGE_CHARS:
        return []
    for unit in (one for one in own if one not in needed):
        if _size([*needed, unit], whole) > left:
            break
        needed.append(unit)
    return [*lead, *(unit for unit in own if unit in needed)]


def _rows(rows: Sequence[ScoredUnit], best: ScoredUnit, whole: Aspect) -> list[ScoredUnit]:
    """The rows that are asked for, then the others of a small table or those nearly as strong."""
    named = [_is_named(_label(one), whole) for one in rows]
    requested = [one for one, is_named in zip(rows, named, strict=True) if one is best or is_named]
    weakest = -math.inf if len(rows) <= FEW_ROWS else best.strength - _NEAR
    near = [one for one in rows if one in requested or one.strength > weakest]
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
    return _prefix(unit).count(" ")


def _prefix(unit: ScoredUnit) -> str:
    return unit_prefixes(unit.chunk)[unit.index]


def _order(unit: ScoredUnit) -> tuple[int, int]:
    return unit.chunk.position, unit.index


def _section(chunk: Chunk) -> Section:
    return chunk.document_id, chunk.tab, chunk.heading_path, chunk.from_picture
