"""The audit log: who was shown which documents, when, and by which entry point. It stores no text.

Rows are only ever added: the database itself refuses to change one, or to delete one that no
`audit_purges` row covers. See docs/decisions/075-kept-and-shown.md."""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import structlog
from sqlalchemy import (
    DDL,
    Connection,
    Engine,
    Index,
    String,
    Text,
    delete,
    event,
    insert,
    select,
    text,
)
from sqlalchemy.exc import IntegrityError, SQLAlchemyError
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from config.domain import Domain
from config.errors import CopilotError
from durable.database import naive_utc, now
from durable.failures import cause_of
from durable.migration import migrate
from index.store.database import RowId

log = structlog.get_logger()

LEAST_DAYS = 30
"""The database keeps a row at least this long, whatever the setting."""


class _Base(DeclarativeBase):
    pass


class ShownRow(_Base):
    __tablename__ = "audit_shown"
    __table_args__ = (Index("audit_shown_at", "at"),)
    id: Mapped[RowId]
    showing: Mapped[str] = mapped_column(String(160), unique=True, comment="the same is shown once")
    at: Mapped[datetime] = mapped_column(comment="UTC")
    door: Mapped[str] = mapped_column(String(40))
    place: Mapped[str] = mapped_column(String(80), comment="Slack channel, or name of an API token")
    asker: Mapped[str] = mapped_column(String(320), comment="Slack user id or e-mail address")
    domain: Mapped[str] = mapped_column(String(64))
    generation: Mapped[int]
    documents: Mapped[str] = mapped_column(Text, comment="JSON: how → ids")


class PurgeRow(_Base):
    __tablename__ = "audit_purges"
    id: Mapped[RowId]
    at: Mapped[datetime] = mapped_column(comment="UTC")
    before: Mapped[datetime] = mapped_column(comment="older rows may be deleted")


_REFUSED = "the audit log is append-only"
_GIVEN_UP = "SELECT max(before) FROM audit_purges"
_SQLITE = (
    *(
        f"CREATE TRIGGER IF NOT EXISTS {table}_fixed BEFORE UPDATE ON {table} "
        f"BEGIN SELECT RAISE(ABORT, '{_REFUSED}'); END"
        for table in ("audit_shown", "audit_purges")
    ),
    "CREATE TRIGGER IF NOT EXISTS audit_shown_kept BEFORE DELETE ON audit_shown "
    f"WHEN OLD.at >= coalesce(({_GIVEN_UP}), '') "
    f"BEGIN SELECT RAISE(ABORT, '{_REFUSED}'); END",
    "CREATE TRIGGER IF NOT EXISTS audit_purges_kept BEFORE DELETE ON audit_purges "
    f"BEGIN SELECT RAISE(ABORT, '{_REFUSED}'); END",
    "CREATE TRIGGER IF NOT EXISTS audit_purges_late BEFORE INSERT ON audit_purges "
    f"WHEN NEW.before > datetime('now', '-{LEAST_DAYS} days') "
    f"BEGIN SELECT RAISE(ABORT, '{_REFUSED}'); END",
)
_POSTGRESQL = (
    "CREATE OR REPLACE FUNCTION audit_refuses() RETURNS trigger LANGUAGE plpgsql AS $$ "
    f"BEGIN RAISE EXCEPTION '{_REFUSED}'; END $$",
    "CREATE OR REPLACE FUNCTION audit_keeps() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
    f"IF OLD.at >= coalesce(({_GIVEN_UP}), '-infinity') THEN RAISE EXCEPTION '{_REFUSED}'; END IF; "
    "RETURN OLD; END $$",
    "CREATE OR REPLACE FUNCTION audit_gives_up() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
    f"IF NEW.before > (now() AT TIME ZONE 'utc') - interval '{LEAST_DAYS} days' "
    f"THEN RAISE EXCEPTION '{_REFUSED}'; END IF; RETURN NEW; END $$",
    "CREATE TRIGGER audit_shown_kept BEFORE DELETE ON audit_shown "
    "FOR EACH ROW EXECUTE FUNCTION audit_keeps()",
    "CREATE TRIGGER audit_shown_fixed BEFORE UPDATE OR TRUNCATE ON audit_shown "
    "FOR EACH STATEMENT EXECUTE FUNCTION audit_refuses()",
    "CREATE TRIGGER audit_purges_fixed BEFORE UPDATE OR DELETE OR TRUNCATE ON audit_purges "
    "FOR EACH STATEMENT EXECUTE FUNCTION audit_refuses()",
    "CREATE TRIGGER audit_purges_late BEFORE INSERT ON audit_purges "
    "FOR EACH ROW EXECUTE FUNCTION audit_gives_up()",
)
for _statement in _POSTGRESQL:
    # Tables and triggers are created in one transaction: neither exists without the other.
    event.listen(_Base.metadata, "after_create", DDL(_statement).execute_if(dialect="postgresql"))  # type: ignore[no-untyped-call]


@dataclass(frozen=True, kw_only=True)
class AuditEntry:
    """Documents whose content is about to be shown to someone."""

    door: str
    """channel | thread | direct | private | api/… | mcp/… | page/…"""
    domain: str
    generation: int
    documents: Mapping[str, Sequence[str]]
    """How → ids. How: cited, nearest, drawn_from (seen by the answerer only), passages, listed."""
    asker: str = ""
    """Slack user id or e-mail address; empty for an unknown asker."""
    place: str = ""
    """Slack channel, or the API token's name."""
    showing: str = ""
    """Id under which the entry is recorded only once; empty: it is always recorded."""


Audit = Callable[[AuditEntry, Domain], None]
"""Called before documents of a domain are shown. An exception prevents showing them."""


class AuditUnavailable(CopilotError):
    """The audit log can't be written, so documents with reader permissions are not shown."""


class AuditLog:
    """The audit tables in the state database. Safe for several threads and processes."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        migrate(engine, _Base.metadata, "audit")
        if engine.dialect.name == "sqlite":
            # SQLite creates tables and triggers one by one; a process may die between them.
            with engine.begin() as connection:
                for statement in _SQLITE:
                    connection.execute(text(statement))

    def __call__(self, entry: AuditEntry, domain: Domain) -> None:
        """Records the entry. If the log can't be written, raises AuditUnavailable where permissions
        differ between readers; where the whole channel reads everything, it only logs an error."""
        try:
            self.record(entry)
        except SQLAlchemyError as error:
            log.error("the audit log can't be written", domain=entry.domain, cause=cause_of(error))
            if domain.access.audience == "asker":
                raise AuditUnavailable(
                    "what was shown can't be recorded, so it is not shown",
                    remedy="an operator sees the cause in the log",
                ) from error

    def record(self, entry: AuditEntry, at: datetime | None = None) -> None:
        documents = {how: sorted(set(ids)) for how, ids in entry.documents.items() if ids}
        if not documents:
            return
        values = {
            "showing": (entry.showing or secrets.token_hex(16))[:160],
            "at": naive_utc(at or datetime.now(UTC)),
            "door": entry.door, "place": entry.place[:80], "asker": entry.asker[:320],
            "domain": entry.domain, "generation": entry.generation,
            "documents": json.dumps(documents, ensure_ascii=False),
        }  # fmt: skip
        with self._engine.connect() as connection:
            try:
                connection.execute(insert(ShownRow).values(**values))
            except IntegrityError:
                return  # already recorded before a crash
            connection.commit()

    def export(
        self,
        *,
        since: datetime | None = None,
        askers: Sequence[str] = (),
        domain: str = "",
        document: str = "",
    ) -> Iterator[dict[str, Any]]:
        """Yields recorded entries, oldest first, in batches: the log may be longer than memory."""
        query = select(ShownRow).order_by(ShownRow.id)
        if since:
            query = query.where(ShownRow.at >= naive_utc(since))
        if askers:
            query = query.where(ShownRow.asker.in_(list(askers)))
        if domain:
            query = query.where(ShownRow.domain == domain)
        with self._engine.connect().execution_options(yield_per=500) as connection:
            for row in connection.execute(query).mappings():
                documents = json.loads(row["documents"])
                if document and not any(document in ids for ids in documents.values()):
                    continue
                yield {
                    "at": row["at"].isoformat() + "Z", "door": row["door"], "place": row["place"],
                    "asker": row["asker"], "domain": row["domain"],
                    "generation": row["generation"], "documents": documents,
                }  # fmt: skip

    def forget(self, connection: Connection, *, before: datetime) -> int:
        """Deletes entries older than `before` and records the purge, in the given transaction.

        The database refuses a time less than `LEAST_DAYS` ago."""
        given_up = naive_utc(before)
        old = ShownRow.at < given_up
        if connection.scalar(select(ShownRow.id).where(old).limit(1)) is None:
            return 0
        connection.execute(insert(PurgeRow).values(at=now(), before=given_up))
        return connection.execute(delete(ShownRow).where(old)).rowcount


def days_ago(days: int) -> datetime:
    return datetime.now(UTC) - timedelta(days=days)
