"""Agent 5 without a model: says the cells and sentences that answer, verbatim, each cited."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from agents.answer import Citation
from agents.plan import Plan
from agents.relevance import Aspect, Scored, aspects_of
from agents.source_identifier import asks_about_the_past, is_superseded
from agents.table_answer import row_in_words, row_label
from agents.words import is_code, stems, terms
from enrichment.chunk import Chunk, DocumentCard
from index.search import Snapshot

LONGEST_ANSWER = 700
"""Characters. Someone reads this in a thread, at night, on a phone."""
_LONGEST_STATEMENT = 360
_MOST_STATEMENTS = 5
_FURTHER = 3.0
"""Log-odds by which a further statement may be weaker than the best one."""
_SURELY = 1.5
"""Log-odds by which the row that a question names has to be ahead of a row beside it."""
_SAME_CHUNK, _SAME_SECTION, _SAME_DOCUMENT = 1.0, 0.7, 0.3
"""Log-odds that a statement gains by standing near the best one: an answer has one place more
often than five."""

_TO_THE_READER_MODEL = re.compile(
    r"\b(?:ignore|disregard|forget|override)\b.{0,40}\b(?:instruction|rule|prompt|above|previous)"
    r"|\bsystem prompt\b|\byou are (?:now )?(?:an? )?(?:ai|assistant|chatbot|language model)\b"
    r"|\b(?:ai|assistant|chatbot|language model)s?\b.{0,30}\b(?:must|should|shall)\b",
    re.IGNORECASE | re.DOTALL,
)


@dataclass(frozen=True, kw_only=True)
class Statement:
    """One line of the answer."""

    text: str
    quote: str
    chunk: Chunk
    index: int
    """Of the unit, in `chunk.units`."""

    def follows(self, other: Statement) -> bool:
        """Whether both are running text and this one comes right after."""
        kinds = {self.chunk.units[self.index].kind, other.chunk.units[other.index].kind}
        return (
            self.chunk.id == other.chunk.id
            and self.index == other.index + 1
            and kinds == {"sentence"}
        )


def extractive_answer(
    plan: Plan, snapshot: Snapshot, context: Sequence[Chunk], scored: Sequence[Scored]
) -> tuple[str, tuple[Citation, ...]]:
    """Markdown and its citations; ("", ()) when the context holds nothing to say."""
    aspects = aspects_of(plan, snapshot)
    chosen = choose(to_the_point(scored, aspects[0], snapshot.documents), context)
    statements = [statement_of(unit, aspects) for unit in chosen]
    return written(statements, snapshot.documents)


def to_the_point(
    scored: Sequence[Scored], whole: Aspect, documents: Mapping[str, DocumentCard]
) -> list[Scored]:
    """Without what a better statement makes superfluous: rows beside the one that the question
    names, and what a superseded document says when its successor answers."""
    if not scored:
        return []
    best = scored[0]
    past = asks_about_the_past(whole.text)
    kept = [unit for unit in scored if not _is_beside_the_row_named(unit, best, whole)]
    if past or is_superseded(documents, best.chunk.document_id):
        return kept
    return [unit for unit in kept if not is_superseded(documents, unit.chunk.document_id)]


def _is_beside_the_row_named(unit: Scored, best: Scored, whole: Aspect) -> bool:
    """The question names more of the best row's label than of this row's, or exactly the best
    row's label where this one's says more (`Restricted` against `Restricted-Cardholder`)."""
    table, other = best.chunk.table, unit.chunk.table
    if unit is best or table is None or other is None or table.id != other.id:
        return False
    if best.unit.row is None or unit.unit.row is None:
        return False
    label = terms(row_label(table, best.unit.row)).keys()
    beside = terms(row_label(other, unit.unit.row)).keys()
    named, named_beside = label & whole.weights.keys(), beside & whole.weights.keys()
    if named_beside == named:
        return bool(named) and label < beside
    surely = best.strength - unit.strength > _SURELY or any(map(is_code, named - named_beside))
    return named_beside < named and (surely or named == label)


def choose(scored: Sequence[Scored], context: Sequence[Chunk]) -> list[Scored]:
    """The best statement, the best one of each part of the question, then the next best while
    there is room; what stands near the best one counts more."""
    visible = {chunk.id for chunk in context}
    usable = [
        unit
        for unit in scored
        if unit.chunk.id in visible and not _TO_THE_READER_MODEL.search(unit.unit.text)
    ]
    if not usable:
        return []
    best = usable[0]
    leaders = [
        max(usable, key=lambda unit: unit.aspects[part]) for part in range(1, len(best.aspects))
    ]
    others = sorted(usable[1:], key=lambda unit: -(unit.strength + _nearness(unit, best)))
    chosen = [best]
    room = LONGEST_ANSWER - _length(best)
    for unit in (*leaders, *others):
        worth = unit.strength + _nearness(unit, best) > best.strength - _FURTHER
        fits = len(chosen) < _MOST_STATEMENTS and _length(unit) <= room
        if worth and fits and not any(_says_the_same(unit, other) for other in chosen):
            chosen.append(unit)
            room -= _length(unit)
    return _together(chosen)


def _nearness(unit: Scored, best: Scored) -> float:
    chunk, center = unit.chunk, best.chunk
    if chunk.id == center.id:
        return _SAME_CHUNK
    if chunk.document_id != center.document_id:
        return 0.0
    return _SAME_SECTION if chunk.heading_path == center.heading_path else _SAME_DOCUMENT


def _together(chosen: Sequence[Scored]) -> list[Scored]:
    """Chunks in the order of their best statement, each one's statements in reading order."""
    order = {chunk: place for place, chunk in enumerate(dict.fromkeys(u.chunk.id for u in chosen))}
    return sorted(chosen, key=lambda unit: (order[unit.chunk.id], unit.index))


def _length(unit: Scored) -> int:
    return min(len(unit.unit.text), _LONGEST_STATEMENT)


def statement_of(scored: Scored, aspects: Sequence[Aspect]) -> Statement:
    """The row in words, or the sentence verbatim with the heading it hangs on."""
    unit, chunk = scored.unit, scored.chunk
    if unit.row is not None and chunk.table is not None:
        best = max(range(len(aspects)), key=lambda part: scored.aspects[part])
        aspect = Aspect(text="", weights={**aspects[best].weights, **aspects[0].weights})
        said = row_in_words(chunk.table, unit.row, aspect)
    else:
        said = _shortened(unit.text)
        if unit.kind == "item" and chunk.heading_path:
            said = f"*{chunk.heading_path[-1]}*: {said}"
    return Statement(text=said, quote=unit.text, chunk=chunk, index=scored.index)


def written(
    statements: Sequence[Statement], documents: Mapping[str, DocumentCard]
) -> tuple[str, tuple[Citation, ...]]:
    """One statement as a line, several as a list; one number for each chunk.

    Neighbouring sentences of a chunk are one line."""
    numbers: dict[str, int] = {}
    citations: list[Citation] = []
    lines: list[tuple[str, int]] = []
    previous: Statement | None = None
    for statement in statements:
        chunk = statement.chunk
        if chunk.id not in numbers:
            numbers[chunk.id] = len(numbers) + 1
            citations.append(citation(chunk, numbers[chunk.id], statement.quote, documents))
        number = numbers[chunk.id]
        if previous and statement.follows(previous):
            lines[-1] = (f"{lines[-1][0]} {statement.text}", number)
        else:
            lines.append((statement.text, number))
        previous = statement
    said = [f"{text} [{number}]" for text, number in lines]
    return ("\n".join(f"- {line}" for line in said) if len(said) > 1 else "".join(said)), tuple(
        citations
    )


def citation(
    chunk: Chunk, number: int, quote: str, documents: Mapping[str, DocumentCard]
) -> Citation:
    card = documents.get(chunk.document_id)
    return Citation(
        number=number,
        document=chunk.document_id,
        title=chunk.document_title,
        heading=chunk.heading_path[-1] if chunk.heading_path else chunk.document_title,
        url=chunk.url,
        quote=quote,
        modified_at=card.modified_at if card else None,
        page=chunk.page,
        chunk_id=chunk.id,
    )


def _says_the_same(unit: Scored, other: Scored) -> bool:
    mine, theirs = stems(unit.unit.text), stems(other.unit.text)
    smaller = min(len(mine), len(theirs))
    return smaller > 0 and len(mine & theirs) / smaller > 0.85 and unit.unit.kind == other.unit.kind


def _shortened(text: str) -> str:
    """At a word's end, with a sign that something follows."""
    if len(text) <= _LONGEST_STATEMENT:
        return text
    return text[:_LONGEST_STATEMENT].rsplit(" ", 1)[0].rstrip(",;:") + " …"
