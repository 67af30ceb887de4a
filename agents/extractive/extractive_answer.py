"""Agent 5 without a model: says the cells and sentences that answer, verbatim, each cited."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from agents.answer import Citation
from agents.extractive.glossary import Glossary
from agents.extractive.past import asks_about_the_past
from agents.extractive.relevance import Aspect, Scored, aspects_of
from agents.extractive.selection import choose, is_lead_in, shortened
from agents.extractive.table_answer import MarkedRow, row_in_words, small_table
from agents.extractive.table_columns import row_label
from agents.plan import Plan
from enrichment.chunk import Chunk, DocumentCard, Unit
from enrichment.language.words import is_code, naming_words
from enrichment.standing import is_out_of_force, standing
from index.search import Snapshot

_ENOUGH_FOR_A_TABLE = 3
_NEARLY, _LIKELY = 3.0, 2.0
"""What is in force may be that many log-odds weaker than a superseded document, or have only
these at all, and still wins: an outdated rule is wrong advice."""
_SURELY = 1.5
"""Log-odds by which the row that a question names has to be ahead of a row beside it."""


@dataclass(frozen=True, kw_only=True)
class Statement:
    """A sentence, a list item or a row of the answer."""

    text: str
    quote: str
    chunk: Chunk
    index: int
    """Of the unit, in `chunk.units`."""

    @property
    def unit(self) -> Unit:
        return self.chunk.units[self.index]

    @property
    def source(self) -> str:
        """What one number cites: a chunk, or all row groups of a table."""
        return self.chunk.table.id if self.chunk.table else self.chunk.id

    def follows(self, other: Statement) -> bool:
        """Whether it goes on in the other's line: running text, or the list that a lead-in or an
        item began."""
        if self.chunk.id != other.chunk.id or self.index != other.index + 1:
            return False
        if self.unit.kind == "item":
            return other.unit.kind == "item" or is_lead_in(other.unit)
        return self.unit.kind == other.unit.kind == "sentence"


@dataclass(frozen=True, kw_only=True)
class Quotations:
    """An answer without a model."""

    text: str
    """Markdown; empty when the context holds nothing to say."""
    citations: tuple[Citation, ...] = ()
    share_said: float = 0.0
    """Of the odds of all statements found, how much those have that it says, 0–1: what a ranking
    that knows what it wants puts into few."""


def extractive_answer(
    plan: Plan,
    snapshot: Snapshot,
    context: Sequence[Chunk],
    scored: Sequence[Scored],
    glossary: Glossary,
) -> Quotations:
    aspects = aspects_of(plan, snapshot, glossary)
    chosen = choose(to_the_point(scored, aspects[0], snapshot.documents), context)
    statements = [statement_of(unit, aspects) for unit in chosen]
    text, citations = written(statements, snapshot.documents, aspects[0])
    return Quotations(text=text, citations=citations, share_said=_share(chosen, scored))


def _share(chosen: Sequence[Scored], scored: Sequence[Scored]) -> float:
    best = max((unit.strength for unit in scored), default=0.0)
    all_odds = math.fsum(math.exp(unit.strength - best) for unit in scored)
    said = math.fsum(math.exp(unit.strength - best) for unit in chosen)
    return min(1.0, said / all_odds) if all_odds else 0.0


def to_the_point(
    scored: Sequence[Scored], whole: Aspect, documents: Mapping[str, DocumentCard]
) -> list[Scored]:
    """Without what a better statement makes superfluous: rows beside the one that the question
    names, and what a superseded document says when its successor answers."""
    if not scored:
        return []
    best = scored[0]
    kept = [unit for unit in scored if not _is_beside_the_row_named(unit, best, whole)]
    if asks_about_the_past(whole.text):
        return kept
    current = [unit for unit in kept if not is_out_of_force(documents.get(unit.chunk.document_id))]
    enough = min(best.strength - _NEARLY, _LIKELY)
    return current if current and current[0].strength > enough else kept


def _is_beside_the_row_named(unit: Scored, best: Scored, whole: Aspect) -> bool:
    """The question names more of the best row's label than of this row's, or exactly the best
    row's label where this one's says more (`Laptop` against `Laptop, shared`)."""
    table, other = best.chunk.table, unit.chunk.table
    if unit is best or table is None or other is None or table.id != other.id:
        return False
    if best.unit.row is None or unit.unit.row is None:
        return False
    label = naming_words(row_label(table, best.unit.row)).keys()
    beside = naming_words(row_label(other, unit.unit.row)).keys()
    named, named_beside = whole.named_in(label), whole.named_in(beside)
    if named_beside == named:
        return bool(named) and label < beside
    surely = best.strength - unit.strength > _SURELY or any(map(is_code, named - named_beside))
    return named_beside < named and (surely or len(named) == len(label))


def statement_of(scored: Scored, aspects: Sequence[Aspect]) -> Statement:
    """The row in words, or the sentence or item verbatim."""
    unit, chunk = scored.unit, scored.chunk
    if unit.row is not None and chunk.table is not None:
        best = max(range(len(aspects)), key=lambda part: scored.aspects[part])
        aspect = Aspect(
            text="",
            weights={**aspects[best].weights, **aspects[0].weights},
            same={**aspects[best].same, **aspects[0].same},
        )
        said = row_in_words(chunk.table, unit.row, aspect)
    else:
        said = shortened(unit.text)
    return Statement(text=said, quote=unit.text, chunk=chunk, index=scored.index)


def written(
    statements: Sequence[Statement],
    documents: Mapping[str, DocumentCard],
    whole: Aspect | None = None,
) -> tuple[str, tuple[Citation, ...]]:
    """Markdown, with one number for each source: a line, or several as a list.

    Neighbouring sentences, and a list, are one line. An item hangs on its lead-in, or else on its
    heading, and is said with it. Given the question, several rows of one table are a table."""
    rows = _rows_of_one_table(statements) if whole else []
    others = [one for one in statements if one not in rows]
    in_order = [*rows, *others] if rows and rows[0] is statements[0] else [*others, *rows]
    numbers: dict[str, int] = {}
    citations: list[Citation] = []
    for statement in in_order:
        if statement.source not in numbers:
            numbers[statement.source] = number = len(numbers) + 1
            citations.append(citation(statement.chunk, number, statement.quote, documents))
    parts = [_lines(others, numbers)]
    if whole and rows:
        table = small_table([_marked(row, numbers) for row in rows], whole)
        parts.insert(0 if in_order[0] is rows[0] else 1, table)
    return "\n\n".join(filter(None, parts)), tuple(citations)


def _lines(statements: Sequence[Statement], numbers: Mapping[str, int]) -> str:
    lines: list[tuple[str, int]] = []
    previous: Statement | None = None
    for statement in statements:
        chunk = statement.chunk
        if previous and statement.follows(previous):
            line, number = lines[-1]
            lines[-1] = (f"{line}{_joint(previous, statement)}{statement.text}", number)
        else:
            on = statement.unit.kind == "item" and chunk.heading_path
            heading = f"*{chunk.heading_path[-1]}*: " if on else ""
            lines.append((heading + statement.text, numbers[statement.source]))
        previous = statement
    said = [f"{text} [{number}]" for text, number in lines]
    return "\n".join(f"- {line}" for line in said) if len(said) > 1 else "".join(said)


def _rows_of_one_table(statements: Sequence[Statement]) -> list[Statement]:
    """The rows of the first table that has enough of them among the statements; else []."""
    tables: dict[str, list[Statement]] = {}
    for statement in statements:
        table = statement.chunk.table
        if table is not None and statement.unit.row is not None:
            tables.setdefault(table.id, []).append(statement)
    return next((rows for rows in tables.values() if len(rows) >= _ENOUGH_FOR_A_TABLE), [])


def _marked(statement: Statement, numbers: Mapping[str, int]) -> MarkedRow:
    table, row = statement.chunk.table, statement.unit.row
    if table is None or row is None:
        raise ValueError("not a row")
    return MarkedRow(table=table, row=row, mark=f"[{numbers[statement.source]}]")


def _joint(before: Statement, after: Statement) -> str:
    in_list = before.unit.kind == after.unit.kind == "item"
    return "; " if in_list and not before.text.endswith((".", ";", ":", "!", "?")) else " "


def citation(
    chunk: Chunk, number: int, quote: str, documents: Mapping[str, DocumentCard]
) -> Citation:
    card = documents.get(chunk.document_id)
    over = f" ({standing(card)})" if card and is_out_of_force(card) else ""
    return Citation(
        number=number,
        document=chunk.document_id,
        title=chunk.document_title + over,
        heading=chunk.heading_path[-1] if chunk.heading_path else chunk.document_title,
        url=chunk.url,
        quote=quote,
        modified_at=card.modified_at if card else None,
        page=chunk.page,
        chunk_id=chunk.id,
    )
