"""Deletes once a day what is older than `retention.days` of its domain. See docs/privacy.md."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import structlog
from sqlalchemy import Connection, Engine, String, delete, select, update
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from agents.answer_cache import store as kept_answers
from agents.thread.store import forget_begun_before, stored_domains
from bot.connection import INBOX_FILE
from bot.privacy.deleted_documents import forget_documents, named_documents
from bot.privacy.stored_answers import slim_answers
from bot.privacy.tables import (
    FeatureTables,
    delete_questions,
    ids_of,
    purge_features,
)
from bot.questions.explanations import forget_before
from bot.questions.store import forget_details
from bot.questions.tables import (
    FORGOTTEN,
    PRIVATE_POST_KEY,
    FeedbackRow,
    HandoffRow,
    PostRow,
    QuestionRow,
)
from config.domain import Domain, RetentionPolicy
from config.settings import Settings
from durable.database import insert_once, now
from durable.migration import migrate
from index.audit import AuditLog, days_ago
from index.store.database import create_index_tables, scrub
from index.store.documents import Store

log = structlog.get_logger()


class Base(DeclarativeBase):
    """Migration part `upkeep`."""


class UpkeepRow(Base):
    __tablename__ = "bot_upkeep"
    task: Mapped[str] = mapped_column(String(40), primary_key=True)
    done_on: Mapped[date] = mapped_column(comment="UTC")


_PURGE, _SLIM, _SEARCH = "purge", "slim answers", "search for deleted documents"
_MONTH = timedelta(days=30)
"""How often stored text is searched for documents that are not on record as deleted: those that a
worker of an older release withdrew."""
_STRAGGLERS = timedelta(days=2)
"""How long a worker of an older release may go on beside this one, or a question that was being
answered when its document was deleted may be stored late."""


@dataclass(frozen=True, kw_only=True)
class Purged:
    """Counts of deleted rows."""

    questions: int = 0
    """Questions, with their answers, feedback, hand-offs and posts."""
    open_handoffs: int = 0
    """Questions whose text was deleted, and whose hand-off is still open."""
    threads: int = 0
    """State for follow-ups, also of threads at the API."""
    audit_rows: int = 0


@dataclass(frozen=True, kw_only=True)
class Retention:
    engine: Engine
    features: FeatureTables
    domains: Callable[[], Mapping[str, Domain]]
    audit: AuditLog
    settings: Settings
    unfinished: Callable[[], Collection[str]]
    """Events that are not done yet: their questions stay until then."""

    def __post_init__(self) -> None:
        self.features.create(self.engine)
        migrate(self.engine, Base.metadata, "upkeep")
        create_index_tables(self.engine)
        for task in (_PURGE, _SLIM, _SEARCH):
            insert_once(self.engine, UpkeepRow, task=task, done_on=date.min)

    def daily(self) -> Purged | None:
        """Purge, unless a worker has done so today.

        Claim and purge are one transaction: one worker does it, or another one if that one dies.
        After a downtime it is done once."""
        today = datetime.now(UTC).date()
        unfinished = self.unfinished()
        with self.engine.begin() as connection:
            claim = connection.execute(
                update(UpkeepRow)
                .where(UpkeepRow.task == _PURGE, UpkeepRow.done_on < today)
                .values(done_on=today)
            )
            if not claim.rowcount:
                return None
            purged = self._purge(connection, unfinished)
        self._finish(purged)
        return purged

    def purge(self, *, at: datetime | None = None) -> Purged:
        """Purge now. `at`: the present for text of deleted documents, UTC without a zone."""
        unfinished = self.unfinished()
        with self.engine.begin() as connection:
            purged = self._purge(connection, unfinished)
        self._finish(purged, at)
        return purged

    def _finish(self, purged: Purged, at: datetime | None = None) -> None:
        log.info("retention purge finished", **asdict(purged))
        self._slim()
        self._forget_deleted(at or now())
        scrub_all(self.engine, self.settings)

    def _slim(self) -> None:
        """After a release that stored more with each answer: once for all, then for stragglers."""
        began, done_on, since = now(), self._done_on(_SLIM), datetime.min
        if done_on > date.min:
            since = datetime.combine(done_on, datetime.min.time()) - _STRAGGLERS
        if slimmed := slim_answers(self.engine, since):
            log.info("stored answers slimmed", answers=slimmed)
        self._mark_done(_SLIM, began.date())

    def _forget_deleted(self, present: datetime) -> None:
        store = Store(self.engine)
        if self._done_on(_SEARCH) < present.date() - _MONTH:
            for domain, ids in named_documents(self.engine, self.features.every).items():
                store.withdraw(domain, ids)
            self._mark_done(_SEARCH, present.date())
        before = present - timedelta(hours=self.settings.deleted_text_hours)
        if documents := store.withdrawn(before):
            answers = forget_documents(self.engine, self.features.every, documents, before)
            count = sum(map(len, documents.values()))
            log.info("text of deleted documents removed", documents=count, answers=answers)
        store.forget_withdrawn(before - _STRAGGLERS)

    def _done_on(self, task: str) -> date:
        with self.engine.connect() as connection:
            query = select(UpkeepRow.done_on).where(UpkeepRow.task == task)
            return connection.execute(query).scalar_one()

    def _mark_done(self, task: str, day: date) -> None:
        with self.engine.begin() as connection:
            mine = update(UpkeepRow).where(UpkeepRow.task == task)
            connection.execute(mine.values(done_on=day))

    def _purge(self, connection: Connection, unfinished: Collection[str]) -> Purged:
        domains = self.domains()
        shortest = min(
            (domain.retention.days for domain in domains.values()), default=RetentionPolicy().days
        )

        def days_of(name: str) -> int:
            # Of no domain, or of a removed one: the shortest time of all domains.
            return domains[name].retention.days if name in domains else shortest

        def days_cached(name: str) -> int:
            domain = domains.get(name)  # a removed one answers no questions
            return min(domain.retention.days, domain.answer.cache.days) if domain else 0

        deleted = blanked = 0
        for name in connection.scalars(select(QuestionRow.domain).distinct()).all():
            days = days_of(name)
            expired = _asked_before(connection, name, days, unfinished)
            is_open = select(HandoffRow.question_id).where(HandoffRow.resolved_by == "")
            waiting = expired & ids_of(connection, is_open)
            waiting -= _asked_before(connection, name, 2 * days, unfinished)
            blanked += _blank(connection, waiting)
            deleted += delete_questions(connection, expired - waiting, self.features.tables)
        threads = 0
        for name in stored_domains(connection):
            days = days_of(name)
            threads += forget_begun_before(connection, name, now() - timedelta(days=days))
        purge_features(connection, days_of, self.features.every)
        _delete_orphans(connection, shortest)
        forget_before(connection, now() - timedelta(days=self.settings.explanation_days))
        kept_answers.purge(connection, days_cached)
        rows = self.audit.forget(connection, before=days_ago(self.settings.audit_days))
        return Purged(questions=deleted, open_handoffs=blanked, threads=threads, audit_rows=rows)


def scrub_all(engine: Engine, settings: Settings) -> None:
    """Remove deleted bytes from SQLite's files; PostgreSQL does so itself."""
    if engine.dialect.name == "sqlite" and engine.url.database:
        scrub(Path(engine.url.database))
        scrub(settings.data_dir / INBOX_FILE)


def _asked_before(
    connection: Connection, domain: str, days: int, unfinished: Collection[str]
) -> set[str]:
    query = select(QuestionRow.id, QuestionRow.event_id).where(
        QuestionRow.domain == domain, QuestionRow.asked_at < now() - timedelta(days=days)
    )
    return {row.id for row in connection.execute(query) if row.event_id not in unfinished}


def _blank(connection: Connection, ids: Collection[str]) -> int:
    """Delete the text of questions whose hand-off is open; the card still works."""
    count = 0
    for one in ids:
        changed = connection.execute(
            update(QuestionRow)
            .where(QuestionRow.id == one, QuestionRow.state != FORGOTTEN)
            .values(text="", answer=None, state=FORGOTTEN)
        )
        count += changed.rowcount
        connection.execute(delete(FeedbackRow).where(FeedbackRow.question_id == one))
        forget_details(connection, [one])
    return count


def _delete_orphans(connection: Connection, days: int) -> None:
    """Delete what arrived after its question was deleted, e.g. by a click on an old button."""
    before = now() - timedelta(days=days)
    existing = select(QuestionRow.id)
    for row, at in ((FeedbackRow, FeedbackRow.given_at), (HandoffRow, HandoffRow.requested_at)):
        orphans = delete(row).where(at < before, row.question_id.not_in(existing))
        connection.execute(orphans)
    private = select(PRIVATE_POST_KEY)
    connection.execute(
        delete(PostRow).where(
            PostRow.question_id.not_in(existing), PostRow.question_id.not_in(private)
        )
    )
