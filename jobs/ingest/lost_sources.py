"""Sources of which nothing can be read: since when, and until when their documents stay.

A source is lost when a run confirms none of its documents: it refuses all of them or itself, its
credentials are refused, or it lists nothing where there were documents, and doesn't show that they
were taken away. Then the run fails, and the documents stay for the days of grace that the domain
file gives them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache

from sqlalchemy import Engine, String, Text, delete, inspect, select
from sqlalchemy.exc import DBAPIError
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from config.errors import LoadError
from durable.database import naive_utc, replace_row
from durable.migration import migrate
from enrichment.chunk import DocumentCard
from jobs.ingest.ids import source_of
from telemetry import metrics

REFUSED = metrics.counter(
    "oncall_source_refused_total",
    "Documents and folders that a source refused to a run",
    "domain",
    "source",
)


class _Base(DeclarativeBase):
    pass


class LostSourceRow(_Base):
    __tablename__ = "lost_sources"

    domain: Mapped[str] = mapped_column(String(63), primary_key=True)
    source: Mapped[str] = mapped_column(String(64), primary_key=True)
    since: Mapped[datetime] = mapped_column(comment="UTC; start of the first run that read nothing")
    tried_at: Mapped[datetime] = mapped_column(comment="UTC; start of the last one")
    reason: Mapped[str] = mapped_column(Text)


@dataclass(frozen=True, kw_only=True)
class LostSource:
    source: str
    """Its key below `sources` in the domain file."""
    since: datetime
    """UTC."""
    tried_at: datetime
    reason: str


class LostSourceStore:
    """Thread-safe. `of` reads without creating the table."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self.create_tables = cache(lambda: migrate(engine, _Base.metadata, "lost sources"))

    def of(self, domain: str) -> list[LostSource]:
        """Sorted by source. Raises database errors."""
        query = select(LostSourceRow).filter_by(domain=domain).order_by(LostSourceRow.source)
        try:
            with self._engine.connect() as connection:
                rows = connection.execute(query).all()
        except DBAPIError:
            if inspect(self._engine).has_table(LostSourceRow.__tablename__):
                raise
            return []
        return [
            LostSource(
                source=row.source, since=row.since.replace(tzinfo=UTC),
                tried_at=row.tried_at.replace(tzinfo=UTC), reason=row.reason,
            )
            for row in rows
        ]  # fmt: skip

    def unread_since(self, domain: str, cards: Iterable[DocumentCard]) -> datetime | None:
        """Since when the first of these documents' sources can't be read; None if all can be."""
        lost = {one.source: one.since for one in self.of(domain)}
        return min((lost[one] for one in map(source_of, cards) if one in lost), default=None)

    def keep(self, domain: str, lost: LostSource) -> None:
        self.create_tables()
        with self._engine.begin() as connection:
            replace_row(
                connection, LostSourceRow, domain=domain, source=lost.source, reason=lost.reason,
                since=naive_utc(lost.since), tried_at=naive_utc(lost.tried_at),
            )  # fmt: skip

    def forget_all_but(self, domain: str, sources: Collection[str]) -> None:
        """Delete the rows of other sources: they were read, or the domain file has them no more."""
        self.create_tables()
        others = LostSourceRow.source.not_in(list(sources))
        with self._engine.begin() as connection:
            connection.execute(delete(LostSourceRow).where(LostSourceRow.domain == domain, others))


class LostSources:
    """What one run finds lost, and what becomes of it."""

    def __init__(
        self,
        store: LostSourceStore,
        domain: str,
        *,
        days: int,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        """`days` of grace."""
        self._store = store
        self._domain = domain
        self._grace = timedelta(days=days)
        self._now = now()
        self._before = {one.source: one for one in store.of(domain)}
        self._lost: dict[str, LostSource] = {}
        self.lines: list[str] = []
        """One for each lost source, for admins."""
        self.withdraws = False
        """Whether this run withdraws the documents of a source."""

    def was_lost(self, source: str) -> bool:
        return source in self._before

    def refused(self, source: str, failures: Sequence[LoadError]) -> None:
        """Count what the source refuses while the rest of it is read."""
        REFUSED.labels(self._domain, source).inc(sum(one.refused for one in failures))

    def lose(self, source: str, failures: Sequence[LoadError], documents: int) -> bool:
        """Put the source on record. Returns whether its documents still stay. `documents`: how
        many there are."""
        before = self._before.get(source)
        reason = failures[0].reason if failures else "it lists no document any more"
        lost = LostSource(
            source=source,
            since=min(before.since, self._now) if before else self._now,
            tried_at=self._now,
            reason=reason,
        )
        self._lost[source] = lost
        stay = self._now - lost.since < self._grace
        self.withdraws = self.withdraws or (documents > 0 and not stay)
        self.lines.append(f"{_sentence(lost)}; {self._outcome(lost, documents, stay)}")
        return stay

    def store(self) -> None:
        """Call it once what the run publishes is published."""
        for lost in self._lost.values():
            self._store.keep(self._domain, lost)
        if self._before or self._lost:
            self._store.forget_all_but(self._domain, self._lost)

    def _outcome(self, lost: LostSource, documents: int, stay: bool) -> str:
        if not documents:
            return "no document of it is answered from"
        those = "its document is" if documents == 1 else f"its {documents} documents are"
        if not stay:
            return f"{those} withdrawn"
        return f"{those} answered from until {lost.since + self._grace:%Y-%m-%d %H:%M} UTC"


def _sentence(lost: LostSource) -> str:
    # With the day of the last try, so that admins hear of it once a day.
    return (
        f"{lost.source} can't be read since {lost.since:%Y-%m-%d %H:%M} UTC "
        f"(tried last on {lost.tried_at:%Y-%m-%d}): {lost.reason}"
    )
