"""Deletes what answers, threads, caches and features repeat of deleted documents.

People's own words stay: a question loses its answer. See docs/privacy.md."""

from __future__ import annotations

import zlib
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime

from sqlalchemy import (
    Column,
    ColumnElement,
    Connection,
    Engine,
    MetaData,
    Table,
    and_,
    delete,
    func,
    inspect,
    or_,
    select,
    update,
)

from agents.answer import document_uses_by_domain
from agents.thread.store import documents_in_threads, id_in_json
from agents.thread.store import forget_documents as forget_in_threads
from bot.privacy.other_tables import OTHER_TABLES
from bot.privacy.stored_answers import StoredAnswer, answers_where, replace_answer
from bot.questions.explanations import forget_explanations
from bot.questions.personal import PersonalTable
from bot.questions.store import decode_answer
from bot.questions.tables import ExplanationRow, QuestionRow
from config.errors import StorageFailed
from durable.database import batches, table_of

_AT_ONCE = 40
"""Documents in one statement, each a pattern."""
Documents = Mapping[str, Collection[str]]
"""Domain → ids of deleted documents."""


def forget_documents(
    engine: Engine, tables: Sequence[PersonalTable], documents: Documents, before: datetime
) -> int:
    """Safe to repeat. `tables`: of the bot; `before`: when the last of these documents was deleted,
    UTC without a zone. Returns how many answers were deleted."""
    count = 0
    for domain, ids in documents.items():
        for some in batches(sorted(ids), _AT_ONCE):
            count += _forget_answers(engine, domain, some, tables)
            with engine.begin() as connection:
                forget_in_threads(connection, domain, some)
                _forget_in_features(connection, domain, some, tables)
                _forget_elsewhere(connection, domain, some, before)
    return count


def named_documents(engine: Engine, tables: Sequence[PersonalTable]) -> Documents:
    """Documents that answers, threads and features may repeat."""
    named: dict[str, set[str]] = defaultdict(set)
    for answers in answers_where(engine):
        for stored in answers:
            for domain, document in _sources(stored) or ():
                named[domain].add(document)
    with engine.connect() as connection:
        for domain, documents in documents_in_threads(connection):
            named[domain].update(documents)
        for one in (one for one in tables if "document" in one.drawn_from.split()):
            columns = one.table.c[one.domain], one.table.c.document
            for domain, document in connection.execute(select(*columns).distinct()):
                named[domain].add(document)
    return named


_DOCUMENTS = '"documents":'
"""Key of an answer's documents; older releases did not store it."""


def _sources(stored: StoredAnswer) -> set[tuple[str, str]] | None:
    """(domain, document) of all that the answer may repeat; None: unknown."""
    if _DOCUMENTS not in stored.answer:
        return None
    try:
        answer = decode_answer(stored.answer)
    except StorageFailed:
        return None
    sides = (side.document for both in answer.contradictions for side in (both.one, both.other))
    own = {(stored.domain, one) for one in (*sides, *(answer.restated_from or ())) if one}
    by_domain = document_uses_by_domain(answer, stored.domain)
    used = ((name, one) for name, _, uses in by_domain for some in uses.values() for one in some)
    return own.union(used)


def _forget_answers(
    engine: Engine, domain: str, ids: Collection[str], tables: Sequence[PersonalTable]
) -> int:
    """Answers drawn from these documents, with all that repeats their self-contained questions."""
    unknown = and_(QuestionRow.domain == domain, QuestionRow.answer.not_like(f"%{_DOCUMENTS}%"))
    which = or_(unknown, _names(table_of(QuestionRow).c.answer, ids))
    deleted, count = {(domain, one) for one in ids}, 0
    for answers in answers_where(engine, which):
        drawn = []
        for stored in answers:
            sources = _sources(stored)
            is_drawn = stored.domain == domain if sources is None else bool(sources & deleted)
            drawn += [stored] if is_drawn else []
        with engine.begin() as connection:
            questions = [one.id for one in drawn]
            forget_explanations(connection, questions)
            for one in (one for one in tables if one.restated):
                mine = update(one.table).where(one.table.c[one.question].in_(questions))
                connection.execute(mine.values({one.restated: ""}))
            count += sum(replace_answer(connection, one, None) for one in drawn)
    return count


def _forget_in_features(
    connection: Connection, domain: str, ids: Collection[str], tables: Sequence[PersonalTable]
) -> None:
    explanation = table_of(ExplanationRow).c.explanation
    connection.execute(delete(ExplanationRow).where(_names(explanation, ids)))
    for one in (one for one in tables if one.drawn_from):
        columns = one.table.c
        names = or_(*(_names(columns[name], ids) for name in one.drawn_from.split()))
        mine = and_(columns[one.domain] == domain, names)
        if one.emptied:
            change = update(one.table).where(mine)
            connection.execute(change.values(dict.fromkeys(one.emptied.split(), "")))
            mine = and_(mine, one.moot)
        connection.execute(delete(one.table).where(mine))


def _forget_elsewhere(
    connection: Connection, domain: str, ids: Collection[str], before: datetime
) -> None:
    existing = set(inspect(connection).get_table_names())
    for name, one in OTHER_TABLES.items():
        if name not in existing or not (one.drawn_from or one.aged or one.packed):
            continue
        table = Table(name, MetaData(), autoload_with=connection)
        if one.packed:
            _forget_packed(connection, table, table.c[one.packed], ids)
            continue
        if one.aged:
            mine = table.c[one.aged] < before.replace(tzinfo=UTC)
        else:
            column = table.c[one.drawn_from]
            mine = or_(_names(column, ids), column.is_(None))
        if "domain" in table.c:
            mine = and_(mine, table.c.domain == domain)
        connection.execute(delete(table).where(mine))


def _forget_packed(
    connection: Connection, table: Table, column: Column[bytes], ids: Collection[str]
) -> None:
    (key,) = table.primary_key
    forms = [form for one in ids for form in id_in_json(one)]
    for row in connection.execute(select(key, column).where(column.is_not(None))).all():
        text = zlib.decompress(row[1]).decode()
        if any(form in text for form in forms):
            connection.execute(update(table).where(key == row[0]).values({column.name: None}))


def _names(column: ColumnElement[str], ids: Collection[str]) -> ColumnElement[bool]:
    """Whether a column is the id of one of these documents, or JSON with it."""
    # LIKE ignores case in SQLite, and ids differ by it.
    in_json = (func.replace(column, form, "") != column for one in ids for form in id_in_json(one))
    return or_(column.in_(list(ids)), *in_json)
