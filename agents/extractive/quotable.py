"""Which sentences, list items and rows may be quoted, and how each is put into words."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from agents.extractive.asked_value.table_columns import flat, row_label, says_nothing, together
from agents.extractive.past import asks_about_the_past
from agents.extractive.relevance import Aspect, Scored
from enrichment.chunk import Chunk, ChunkTable, DocumentCard, Unit, is_out_of_force
from enrichment.language.words import naming_words
from enrichment.safety.injection import WITHHELD, addressing

LONGEST_STATEMENT = 400
"""Characters of a sentence, item or row as it is quoted."""
_FEWEST_WORDS = 2
"""`Yes!` answers nothing by itself."""
_NEARLY, _LIKELY = 3.0, 2.0
"""What is in force may be that many log-odds weaker than a superseded document, or have only
these at all, and still wins: an outdated rule is wrong advice."""

_ABOUT_THE_PAGE = re.compile(
    r"^\W*(?:(?:last|date) (?:modified|updated|reviewed|changed)|references?|see also"
    r"|version|status)\s*:|^\W*see (?:also |the )",
    re.IGNORECASE,
)


def quotable(
    scored: Sequence[Scored],
    context: Sequence[Chunk],
    whole: Aspect,
    documents: Mapping[str, DocumentCard],
) -> list[Scored]:
    """What of the context says something to people, best first; without what a superseded
    document says where its successor answers."""
    visible = {chunk.id for chunk in context}
    usable = [unit for unit in scored if unit.chunk.id in visible and _says_something(unit)]
    if not usable or asks_about_the_past(whole.text):
        return usable
    current = [u for u in usable if not is_out_of_force(documents.get(u.chunk.document_id))]
    enough = min(usable[0].strength - _NEARLY, _LIKELY)
    return current if current and current[0].strength > enough else usable


def is_lead_in(unit: Unit) -> bool:
    """A sentence or item that ends in a colon."""
    return unit.kind != "row" and unit.text.rstrip().endswith((":", "："))


def in_words(chunk: Chunk, unit: Unit) -> str:
    """The sentence or item verbatim; a row as `label — header: cell; header: cell`."""
    if unit.row is None or chunk.table is None:
        return shortened(unit.text)
    label = row_label(chunk.table, unit.row)
    cells = "; ".join(_cells(chunk.table, unit.row))
    return shortened(f"{label} — {cells}" if label and cells else label or cells)


def shortened(text: str) -> str:
    """At a word's end, with a sign that something follows."""
    if len(text) <= LONGEST_STATEMENT:
        return text
    return text[:LONGEST_STATEMENT].rsplit(" ", 1)[0].rstrip(",;:") + " …"


def _cells(table: ChunkTable, row: int) -> list[str]:
    """`header: cell` beside the label; neighbours that hold the same cell are one."""
    found: list[tuple[list[str], str]] = []
    for position in range(table.label_columns, len(table.rows[row])):
        cell = flat(table.rows[row][position])
        header = flat(table.header[position]) if position < len(table.header) else ""
        if found and found[-1][1] == cell:
            found[-1][0].append(header)
        else:
            found.append(([header], cell))
    return [
        f"{together(headers)}: {cell}" if any(headers) else cell
        for headers, cell in found
        if not says_nothing(cell)
    ]


def _says_something(scored: Scored) -> bool:
    unit = scored.unit
    if _ABOUT_THE_PAGE.search(unit.text) or unit.text.strip() == WITHHELD:
        return False
    # An index made before planted text was kept out may hold some.
    if addressing(unit.text) == "planted":
        return False
    if unit.kind == "sentence" and unit.text.rstrip().endswith("?"):
        return False
    return unit.row is not None or len(naming_words(unit.text)) >= _FEWEST_WORDS
