"""Selects the statements that may be quoted, and writes at most three excerpts of them."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby, takewhile

from agents.answer import Passage
from agents.extractive.language import asks_about_the_past
from agents.extractive.relevance import Aspect, ScoredUnit, citation
from agents.extractive.table import (
    cell_at,
    flat,
    header_at,
    named_in_full,
    names_of,
    row_label,
    says_nothing,
    together,
)
from agents.extractive.value_types import column_kinds, fits, requested_kinds
from enrichment.chunk import Chunk, ChunkTable, DocumentCard, Unit, is_out_of_force
from enrichment.language.words import TOKEN, naming_words, stems
from enrichment.safety.injection import redacted
from enrichment.safety.withholding import WITHHELD

MAX_STATEMENT_CHARS = 400
"""Maximum length of a quoted sentence, item or row."""
_MIN_WORDS = 2
"""A statement such as `Yes!` answers nothing by itself."""
_NEARLY, _LIKELY = 3.0, 2.0
"""Log-odds by which a document in force may be weaker than a superseded one, and log-odds that are
enough for it in any case: an outdated rule is wrong advice."""

_ABOUT_THE_PAGE = re.compile(
    r"^\W*(?:(?:last|date) (?:modified|updated|reviewed|changed)|references?|see also"
    r"|version|status)\s*:|^\W*see (?:also |the )",
    re.IGNORECASE,
)
_CALLOUT = re.compile(
    r"\W*(?:note|tip|hint|info|important|warning|caution|attention|danger)\b", re.IGNORECASE
)
"""A quotation that begins so is the document's own advice."""
_ASKS_FOR_WORDING = re.compile(
    r"\b(?:wording|words|text|template|example|sample|snippet|quot(?:e|ed|ation)|says?|said"
    r"|sentence|message|phrase)s?\b",
    re.IGNORECASE,
)


def quotable(
    scored: Sequence[ScoredUnit],
    context: Sequence[Chunk],
    whole: Aspect,
    documents: Mapping[str, DocumentCard],
) -> list[ScoredUnit]:
    """Statements of the context that tell a reader something, best first. Superseded documents are
    left out where one in force answers, quotations where nobody asks for the wording."""
    visible = {chunk.id for chunk in context}
    usable = [unit for unit in scored if unit.chunk.id in visible and _says_something(unit)]
    if not _ASKS_FOR_WORDING.search(whole.text):
        usable = [unit for unit in usable if not _is_quotation(unit)]
    if not usable or asks_about_the_past(whole.text):
        return usable
    current = [u for u in usable if not is_out_of_force(documents.get(u.chunk.document_id))]
    enough = min(usable[0].strength - _NEARLY, _LIKELY)
    return current if current and current[0].strength > enough else usable


def is_lead_in(unit: Unit) -> bool:
    """Whether it is a sentence or item that ends in a colon."""
    return unit.kind != "row" and unit.text.rstrip().endswith((":", "："))


def unit_text(chunk: Chunk, unit: Unit, aspect: Aspect | None = None) -> str:
    """The sentence or item verbatim; a row as `label — header: cell; header: cell`, the columns of
    a long one in which the aspect finds least are left out."""
    if unit.row is None or chunk.table is None:
        return shorten(redacted(unit.text))
    label = redacted(row_label(chunk.table, unit.row))
    cells = list(_cells(chunk.table, unit.row))
    if aspect is not None:
        cells = _fitting(cells, aspect)
    text = "; ".join(redacted(": ".join(filter(None, cell))) for cell in cells)
    return shorten(f"{label} — {text}" if label and text else label or text)


def shorten(text: str) -> str:
    """Cuts a long text after a word, with an ellipsis."""
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

    left: list[tuple[str, str]] = []
    size = 0
    for cell in sorted(cells, key=worth, reverse=True):
        size += sum(map(len, cell)) + 4
        if left and size > MAX_ROW_CHARS:
            break
        left.append(cell)
    return [cell for cell in cells if cell in left]


def _says_something(scored: ScoredUnit) -> bool:
    unit = scored.unit
    if _ABOUT_THE_PAGE.search(unit.text) or unit.text.strip() == WITHHELD:
        return False
    if unit.kind == "sentence" and unit.text.rstrip().endswith("?"):
        return False
    # What may address a model is no answer to a person.
    return unit.row is not None or len(naming_words(redacted(unit.text))) >= _MIN_WORDS


def _is_quotation(scored: ScoredUnit) -> bool:
    """Whether it stands in a quotation that is no callout: somebody else's words."""
    units, first = scored.chunk.units, scored.index
    while first and units[first].prefix == units[first - 1].prefix == QUOTE:
        first -= 1
    return units[first].prefix == QUOTE and not _CALLOUT.match(units[first].text)


QUOTE, CODE = "> ", "```"
"""Prefixes of units."""
GAP = "…"
PICTURED = " _(a picture, as a model described it)_"
_NOT_MARKED = re.compile(r"`[^`]*`|\S*(?:://|@|\*)\S*")
_NUMBER = re.compile(r"\s*\(?(?:\d+|[a-z]+)[.)]", re.IGNORECASE)


def excerpt(statements: Sequence[ScoredUnit], aspects: Sequence[Aspect]) -> str:
    """Markdown of one section's statements in this order: sentences as running text, items and
    rows as a list, code as code; … marks a gap."""
    groups = (list(units) for _, units in groupby(statements, key=_shape))
    return "\n".join([*(_block(units, aspects) for units in groups), *_left_out(statements)])


def _block(units: Sequence[ScoredUnit], aspects: Sequence[Aspect]) -> str:
    shape = _shape(units[0])
    if shape == "code":
        return "\n".join([CODE, *(one.unit.text for one in units), CODE])
    texts = [with_bold_words(unit_text(one.chunk, one.unit, aspects[0]), aspects) for one in units]
    if shape == "sentences":
        gaps = [one for one in range(1, len(units)) if not _follows(units[one], units[one - 1])]
        return " ".join(f"{GAP} {text}" if at in gaps else text for at, text in enumerate(texts))
    lines = [f"{one.unit.prefix or '- '}{text}" for one, text in zip(units, texts, strict=True)]
    for place in reversed(range(1, len(lines))):
        if shape == "items" and not _follows(units[place], units[place - 1]):
            lines.insert(place, f"- {GAP}")
    return "\n".join(lines)


def _shape(unit: ScoredUnit) -> str:
    code = unit.chunk.kind == "code" or unit.unit.prefix == CODE
    return "code" if code else f"{unit.unit.kind}s"


def _left_out(units: Sequence[ScoredUnit]) -> Iterator[str]:
    """Says how many rows of the last table or items of the last list come on top."""
    last = units[-1]
    table = last.chunk.table
    if table and last.unit.row is not None:
        rows = sum(one.chunk.table is not None and one.chunk.table.id == table.id for one in units)
        total = max(table.total_rows, len(table.rows))
        if rows < total:
            yield f"\n_{rows} of the table's {total} rows_"
    elif last.unit.kind == "item":
        rest = takewhile(lambda one: one.kind == "item", last.chunk.units[last.index + 1 :])
        more = sum(not one.prefix.startswith(" ") for one in rest)
        more += sum(run.total - run.first - run.count for run in last.chunk.runs[:1])
        if more:
            yield f"\n_{more} more in the document_"


def _follows(unit: ScoredUnit, before: ScoredUnit) -> bool:
    if unit.chunk.id == before.chunk.id:
        return unit.index == before.index + 1
    last = before.index == len(before.chunk.units) - 1
    return last and unit.index == 0 and unit.chunk.position == before.chunk.position + 1


def with_bold_words(text: str, aspects: Sequence[Aspect]) -> str:
    """Sets the question's words in bold; neighbors share one pair of marks."""
    question_words = aspects[0].named_in(naming_words(text).keys())
    bold = question_words | {
        word for stem in question_words for way in aspects[0].same.get(stem, ()) for word in way
    }
    untouched = [match.span() for match in _NOT_MARKED.finditer(text)]
    runs: list[tuple[int, int]] = []
    for match in TOKEN.finditer(text):
        start, end = match.span()
        if any(low < end and start < high for low, high in untouched):
            continue
        if not naming_words(match[0]).keys() & bold:
            continue
        if runs and text[runs[-1][1] : start].isspace():
            runs[-1] = runs[-1][0], end
        else:
            runs.append((start, end))
    for start, end in reversed(runs):
        text = f"{text[:start]}**{text[start:end]}**{text[end:]}"
    return text


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
MAX_ROW_CHARS = 200
"""Characters of a row's cells from which columns are left out."""
MAX_CHARS = 600
"""Characters of all excerpts: people read them in a thread on a phone."""
LINE_CHARS = 15
"""Counted for each statement: a line of its own takes space."""
MAX_ROWS, FEW_ROWS = 5, 4
_ROW_NEAR = 1.5
_FURTHER = 3.0

Section = tuple[str, str, tuple[str, ...], bool]
"""(document id, tab, heading path, whether it is a description of a picture)."""


def passages_of(
    quotable: Sequence[ScoredUnit], aspects: Sequence[Aspect], documents: Mapping[str, DocumentCard]
) -> tuple[tuple[Passage, ...], float]:
    """(excerpts of the best sections for the question and for each of its parts, best first; share
    of the odds of all quotable statements that they hold, 0–1).

    `quotable`: see `quotable()`, best first. `aspects`: the whole question first."""
    sections: dict[Section, list[ScoredUnit]] = {}
    first = {flat(unit.unit.text): unit for unit in reversed(quotable)}
    for unit in quotable:
        if first[flat(unit.unit.text)] is not unit:  # the same in another document
            continue
        sections.setdefault(_section(unit.chunk), []).append(unit)
    chosen = _leading_sections(quotable, sections)
    excerpts = _fill(chosen, aspects[0])
    passages = tuple(
        Passage(
            citation=citation(best.chunk, number, best.unit.text, documents),
            text=excerpt(statements, aspects),
        )
        for number, (best, statements) in enumerate(excerpts, start=1)
    )
    visible = [unit for _, statements in excerpts for unit in statements]
    return passages, _share(visible, quotable)


def _share(visible: Sequence[ScoredUnit], quotable: Sequence[ScoredUnit]) -> float:
    best = max((unit.strength for unit in quotable), default=0.0)
    all_odds = math.fsum(math.exp(unit.strength - best) for unit in quotable)
    odds = math.fsum(math.exp(unit.strength - best) for unit in visible)
    return min(1.0, odds / all_odds) if all_odds else 0.0


def _leading_sections(
    quotable: Sequence[ScoredUnit], sections: Mapping[Section, list[ScoredUnit]]
) -> list[list[ScoredUnit]]:
    """The best section for the whole question, the best of each part, then the next best."""
    parts = range(1, len(quotable[0].aspects) if quotable else 0)
    leaders = (max(quotable, key=lambda unit: unit.aspects[part]) for part in parts)
    near = (unit for unit in quotable if unit.strength > quotable[0].strength - _FURTHER)
    best = dict.fromkeys(_section(unit.chunk) for unit in (*quotable[:1], *leaders, *near))
    return [sections[section] for section in best if section in sections][:MAX_PASSAGES]


def _fill(
    chosen: Sequence[Sequence[ScoredUnit]], whole: Aspect
) -> list[tuple[ScoredUnit, list[ScoredUnit]]]:
    """(best statement, statements in reading order) of each section while there is space."""
    excerpts: list[tuple[ScoredUnit, list[ScoredUnit]]] = []
    left = MAX_CHARS
    for units in chosen:
        if statements := _statements(units, whole, left):
            excerpts.append((units[0], statements))
            left -= _size(statements, whole)
    return excerpts


def _statements(units: Sequence[ScoredUnit], whole: Aspect, left: int) -> list[ScoredUnit]:
    """Of a section: the sentence, list or table of its best statement, then others, best first,
    that fit `left` characters; in reading order."""
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
    of_table: dict[str, list[ScoredUnit]] = {}
    for unit in sorted(units, key=_order):
        table = unit.chunk.table.id if unit.chunk.table and unit.unit.row is not None else ""
        if table in of_table:
            of_table[table].append(unit)
        elif blocks and _belongs(unit, blocks[-1]):
            blocks[-1].append(unit)
        else:
            blocks.append([unit])
        if table:
            of_table.setdefault(table, blocks[-1])
    return blocks


def _belongs(unit: ScoredUnit, block: Sequence[ScoredUnit]) -> bool:
    shape, before = _shape(unit), block[-1]
    if shape == "sentences" or before.chunk.position + 1 < unit.chunk.position:
        return False
    if is_lead_in(before.unit) or shape == _shape(before) != "rows":
        return True
    return {shape, _shape(before)} == {"items", "code"} and before.unit.kind == "item"


def _part(
    block: Sequence[ScoredUnit], best: ScoredUnit, whole: Aspect, left: int
) -> list[ScoredUnit]:
    """A block's statements up to the limit: of a list the first ones, of a table those that are
    asked for; none where there is no space for the best one."""
    lead = [one for one in block[:1] if _shape(one) == "sentences"]
    own = list(block[len(lead) :])
    if own and own[0].unit.kind == "row":
        own = _rows(own, best, whole)
    needed = [*lead, *([best] if best in own else own[:1])]
    if own and _NUMBER.match(own[0].unit.prefix):
        needed.append(own[0])
    room = left - _size(needed, whole)
    if room < 0 and left < MAX_CHARS:
        return []
    for unit in own:
        if unit not in needed:
            room -= _size([unit], whole)
            if room < 0:
                break
            needed.append(unit)
    return [*lead, *(unit for unit in own if unit in needed)]


def _rows(rows: Sequence[ScoredUnit], best: ScoredUnit, whole: Aspect) -> list[ScoredUnit]:
    """The rows that are asked for, then the others of a small table or those nearly as strong."""
    near = [
        one
        for one in sorted(rows, key=lambda one: -one.strength)
        if len(rows) <= FEW_ROWS or one.strength > best.strength - _ROW_NEAR
    ]
    named = [one for one in rows if one is best or _is_named(one, whole)]
    others = [one for one in near if one not in named][:MAX_ROWS]
    return [*named, *sorted(others, key=_order)][:MAX_ROWS]


def _is_named(one: ScoredUnit, whole: Aspect) -> bool:
    table, row = one.chunk.table, one.unit.row
    if table is None or row is None:
        return False
    return named_in_full(names_of(row_label(table, row)), whole)


def _size(units: Sequence[ScoredUnit], whole: Aspect) -> int:
    texts = (unit_text(one.chunk, one.unit, whole) for one in units)
    return sum(len(text) + LINE_CHARS for text in texts)


def _order(unit: ScoredUnit) -> tuple[int, int]:
    return unit.chunk.position, unit.index


def _section(chunk: Chunk) -> Section:
    return chunk.document_id, chunk.tab, chunk.heading_path, chunk.from_picture
