"""Sources of which nothing can be read: since when, and until when their documents stay.

A source is lost when a run confirms none of its documents: it refuses all of them or itself, its
credentials are refused, or it lists nothing where there were documents, and doesn't show that they
were taken away. A place of it, such as one of several folders, is lost when it is refused and
documents are missing. Then the run fails, and the documents stay for the days of grace that the
domain file gives them; where the source only asks to wait, until it can be read."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Sequence, Set
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
from loaders.source import SourceChanges
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
    source: Mapped[str] = mapped_column(String(300), primary_key=True)
    since: Mapped[datetime] = mapped_column(comment="UTC; start of the first run that read nothing")
    tried_at: Mapped[datetime] = mapped_column(comment="UTC; start of the last one")
    reason: Mapped[str] = mapped_column(Text)
    documents: Mapped[str] = mapped_column(
        Text, comment="JSON: ids of those that may be of a lost place; '' for the whole source"
    )


@dataclass(frozen=True, kw_only=True)
class LostSource:
    source: str
    """Its key below `sources` in the domain file; for one place of it, with the place's name."""
    since: datetime
    """UTC."""
    tried_at: datetime
    reason: str
    documents: frozenset[str] | None = None
    """Those that may be of a lost place; None: all of the source."""


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
                documents=frozenset(json.loads(row.documents)) if row.documents else None,
            )
            for row in rows
        ]  # fmt: skip

    def unread_since(self, domain: str, cards: Iterable[DocumentCard]) -> datetime | None:
        """Since when the first of these documents' sources can't be read; None if all can be."""
        named = [(source_of(card), card.id) for card in cards]
        return min(
            (
                one.since
                for one in self.of(domain)
                for source, document in named
                if (source == one.source if one.documents is None else document in one.documents)
            ),
            default=None,
        )

    def keep(self, domain: str, lost: LostSource) -> None:
        self.create_tables()
        with self._engine.begin() as connection:
            replace_row(
                connection, LostSourceRow, domain=domain, source=lost.source, reason=lost.reason,
                since=naive_utc(lost.since), tried_at=naive_utc(lost.tried_at),
                documents="" if lost.documents is None else json.dumps(sorted(lost.documents)),
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
        return any(one.partition(" ")[0] == source for one in self._before)

    def refused(self, source: str, failures: Sequence[LoadError]) -> None:
        """Count what the source refuses while the rest of it is read."""
        REFUSED.labels(self._domain, source).inc(sum(one.refused for one in failures))

    def lose(
        self,
        source: str,
        failures: Sequence[LoadError],
        documents: Collection[str],
        place: str = "",
    ) -> bool:
        """Put the source, or one place of it, on record. Returns whether the documents stay."""
        name = _name(source, place)
        before = self._before.get(name) or self._before.get(source)
        reason = failures[0].reason if failures else "it lists no document any more"
        lost = LostSource(
            source=name,
            since=min(before.since, self._now) if before else self._now,
            tried_at=self._now,
            reason=reason,
            documents=frozenset(documents) if place else None,
        )
        self._lost[name] = lost
        passes = any(one.temporary for one in failures)
        stay = passes or self._now - lost.since < self._grace
        self.withdraws = self.withdraws or (bool(documents) and not stay)
        end = lost.since + self._grace
        until = "until it can be read" if passes else f"until {end:%Y-%m-%d %H:%M} UTC"
        outcome = _outcome(len(documents), until if stay else "")
        self.lines.append(f"{_sentence(lost)}; {outcome}")
        return stay

    def lose_places(
        self, source: str, changes: SourceChanges, absent: Set[str]
    ) -> tuple[frozenset[str], frozenset[str]]:
        """Put places on record, while others of the source are read. Returns the documents that
        stay, and those that don't. `absent`: neither read nor unchanged."""
        missing = absent - changes.changed.keys() - changes.moved_away
        rows = {place: self._before.get(_name(source, place)) for place in changes.lost}
        before = {place: row.documents or () for place, row in rows.items() if row}
        # What was not listed for now says nothing about a place.
        new = missing.difference(*before.values()) if changes.complete else frozenset[str]()
        stay, leave = frozenset[str](), frozenset[str]()
        for place, error in changes.lost.items():
            documents = missing.intersection(before.get(place, ())) | new
            if not documents and place not in before:
                continue
            # Nobody knows which of several places that are lost at once a document is of.
            new = frozenset()
            if self.lose(source, [error], documents, place):
                stay |= documents
            else:
                leave |= documents
        return stay, leave

    def store(self) -> None:
        """Call it once what the run publishes is published."""
        for lost in self._lost.values():
            self._store.keep(self._domain, lost)
        if self._before or self._lost:
            self._store.forget_all_but(self._domain, self._lost)


def _name(source: str, place: str) -> str:
    return f"{source} {place}".strip()[:300]


def _outcome(documents: int, until: str) -> str:
    """`until`: empty when they don't stay."""
    if not documents:
        return "no document of it is answered from"
    those = "its document is" if documents == 1 else f"its {documents} documents are"
    return f"{those} answered from {until}" if until else f"{those} withdrawn"


def _sentence(lost: LostSource) -> str:
    # With the day of the last try, so that admins hear of it once a day.
    return (
        f"{lost.source} can't be read since {lost.since:%Y-%m-%d %H:%M} UTC "
        f"(tried last on {lost.tried_at:%Y-%m-%d}): {lost.reason}"
    )
