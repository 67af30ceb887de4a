"""One row for each run of the agents: who asked through which door, and how many tokens it took.

A domain's `limits` are computed from these rows and from nothing else. A run keeps its id when it
is repeated after a crash: it stays one question, and the tokens of all its attempts add up."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Literal

import structlog
from sqlalchemy import (
    ColumnElement,
    Connection,
    Engine,
    Index,
    String,
    case,
    func,
    insert,
    select,
    text,
    update,
)
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from config.domain import Domain
from config.errors import CopilotError
from config.models import Usage
from durable.database import now
from durable.failures import storage_failure
from durable.migration import migrate
from telemetry import metrics

log = structlog.get_logger()

QuestionDoor = Literal[
    "mention", "follow_up", "channel", "alert", "direct_message",
    "api", "api_stream", "mcp", "retrieve", "cli", "recheck",
]  # fmt: skip
"""`retrieve`: passages by the API, where a model helps to find them. `recheck`: a gap's question,
asked again by nobody."""
_IN_CHANNELS = frozenset(("mention", "follow_up", "channel", "alert", "direct_message"))
_LOCK = 5053
"""PostgreSQL's advisory lock of admissions."""
TURN_SECONDS = 2.0
TOKENS_OF_A_RUN = 11_000
"""What an unfinished run counts before a day's first one has cost anything: the mean of the
evaluation in docs/measuring-answers.md."""


@dataclass(frozen=True, kw_only=True)
class QuestionOrigin:
    id: str
    door: QuestionDoor
    text: str
    run: str = ""
    """Id of the run, the same when it is repeated after a crash; empty: `id`."""
    asker: str = ""
    """Slack id or e-mail address; empty: a program, or the operator at this machine."""
    place: str = ""
    """Slack channel, or name of a token."""

    @property
    def run_id(self) -> str:
        return self.run or self.id


Limit = Literal["person", "channel", "budget"]


class LimitReached(Exception):
    """No domain answers this question now; the fields are of the first one."""

    def __init__(self, limit: Limit, domain: Domain, free_at: datetime) -> None:
        """`free_at`: UTC without a zone; from then on the limit may allow it."""
        super().__init__(limit)
        self.limit = limit
        self.domain = domain
        self.free_at = free_at


@dataclass
class Attempt:
    """One attempt at a run; whoever makes it fills in what it took."""

    usage: Usage = field(default_factory=Usage)
    domain: str = ""
    """The answering domain; empty: none yet."""

    def add(self, usage: Usage) -> None:
        self.usage += usage


class _Base(DeclarativeBase):
    pass


class RunRow(_Base):
    __tablename__ = "agent_runs"
    __table_args__ = (
        Index("agent_runs_asker", "asker", "started_at"),
        Index("agent_runs_place", "place", "started_at"),
        # Covers the sums of the budget: 20,000 runs a day are read in 2 ms instead of 7.
        Index("agent_runs_domain", "domain", "started_at", "tokens", "attempts", "finished"),
    )
    id: Mapped[str] = mapped_column(
        String(120), primary_key=True, comment="the event or request that asked"
    )
    domain: Mapped[str] = mapped_column(String(64))
    door: Mapped[str] = mapped_column(String(16))
    asker: Mapped[str] = mapped_column(String(320), comment="Slack id or e-mail; '' for a program")
    place: Mapped[str] = mapped_column(String(80), comment="Slack channel or name of a token")
    tokens: Mapped[int] = mapped_column(comment="of all finished attempts")
    attempts: Mapped[int] = mapped_column(comment="begun")
    finished: Mapped[int] = mapped_column(comment="attempts whose tokens are known")
    started_at: Mapped[datetime] = mapped_column(comment="UTC")


def create_run_table(engine: Engine) -> None:
    """Safe when several workers start at once."""
    migrate(engine, _Base.metadata, "agent runs")


class RunLedger:
    """Safe to use from several threads and processes.

    While the database is away or can't be written, questions are answered and not counted, and the
    log says so: people on call ask during outages. Any other error of the database is raised."""

    def __init__(self, engine: Engine, *, has_model: bool = True) -> None:
        """`has_model`: False where no run costs anything."""
        self._engine = engine
        self._tokens_of_a_run = TOKENS_OF_A_RUN if has_model else 0
        self._has_table = False
        self._turns = threading.Lock()

    def admit(
        self, through: QuestionOrigin, domains: Sequence[Domain], *, limited: bool = True
    ) -> list[Domain]:
        """Record a run, and return the domains whose limits allow it. A recorded run is always
        admitted to its own domain.

        `limited`: False admits it everywhere. Raises LimitReached when no domain allows it; then
        the run is not recorded."""
        try:
            with self._turn(), self._transaction() as connection:
                _wait_for_turn(connection, through)
                return self._admit(connection, through, domains, limited=limited)
        except SQLAlchemyError as error:
            _raise_unless_away(error)
            return list(domains)

    @contextmanager
    def _turn(self) -> Iterator[None]:
        """Whoever waits for a turn in the database holds one of the process's few connections, so
        threads wait here first; not for long, as the database may hang."""
        is_mine = self._turns.acquire(timeout=TURN_SECONDS)
        try:
            yield
        finally:
            if is_mine:
                self._turns.release()

    @contextmanager
    def attempt(self, through: QuestionOrigin) -> Iterator[Attempt]:
        """Counts an attempt at an admitted run, with what it reports in the end.

        One that breaks off, by a crash or because its client leaves, stays unfinished: it counts
        as much as a run of the same day that cost something, on average, and at least half of
        `TOKENS_OF_A_RUN`."""
        attempt = Attempt()
        is_counted = self._change(through, attempts=RunRow.attempts + 1)
        try:
            yield attempt
        except CopilotError:  # an honest end: what was used is known
            if is_counted:
                self._finish(through, attempt)
            raise
        if is_counted:
            self._finish(through, attempt)

    def has_used(self, share: float, domain: Domain) -> bool:
        """Whether at least this share of the day's tokens is used up. `share`: 0–1."""
        limit = domain.limits.tokens_per_day
        with self._transaction() as connection:
            return limit > 0 and self._tokens_of_today(connection, domain) >= share * limit

    def _admit(
        self,
        connection: Connection,
        through: QuestionOrigin,
        domains: Sequence[Domain],
        *,
        limited: bool,
    ) -> list[Domain]:
        own = connection.scalar(select(RunRow.domain).where(RunRow.id == through.run_id))
        allowed, refused = list(domains), list[LimitReached]()
        for domain in domains if limited else ():
            if domain.domain == own:
                continue
            reached = _reached(connection, through, domain) or self._over_budget(connection, domain)
            if reached:
                allowed.remove(domain)
                refused.append(reached)
        if not allowed:
            metrics.REFUSALS.labels(refused[0].domain.domain, "limit").inc()
            raise refused[0]
        if own is not None:
            return allowed
        row = insert(RunRow).values(
            id=through.run_id, domain=allowed[0].domain, door=through.door, asker=through.asker,
            place=through.place, tokens=0, attempts=0, finished=0, started_at=now(),
        )  # fmt: skip
        connection.execute(row)
        return allowed

    def _over_budget(self, connection: Connection, domain: Domain) -> LimitReached | None:
        limit = domain.limits.tokens_per_day
        if not limit or self._tokens_of_today(connection, domain) < limit:
            return None
        return LimitReached("budget", domain, now() + timedelta(hours=1))

    def _tokens_of_today(self, connection: Connection, domain: Domain) -> int:
        of_today = select(
            func.coalesce(func.sum(RunRow.tokens), 0),
            func.coalesce(func.sum(RunRow.attempts - RunRow.finished), 0),
            func.count(case((RunRow.tokens > 0, 1))),
        ).where(RunRow.domain == domain.domain, RunRow.started_at >= now() - timedelta(days=1))
        tokens, unfinished, paid = map(int, connection.execute(of_today).one())
        # Many cheap runs, such as a planner's refusals, make an unfinished one no cheaper.
        mean = max(tokens // paid, self._tokens_of_a_run // 2) if paid else self._tokens_of_a_run
        return tokens + unfinished * mean

    def _finish(self, through: QuestionOrigin, attempt: Attempt) -> None:
        used = attempt.usage.input_tokens + attempt.usage.output_tokens
        domain = {"domain": attempt.domain} if attempt.domain else {}
        self._change(through, finished=RunRow.finished + 1, tokens=RunRow.tokens + used, **domain)

    def _change(self, through: QuestionOrigin, **values: Any) -> bool:
        """Whether the database took it."""
        try:
            with self._transaction() as connection:
                this = update(RunRow).where(RunRow.id == through.run_id)
                connection.execute(this.values(**values))
        except SQLAlchemyError as error:
            _raise_unless_away(error)
            return False
        return True

    @contextmanager
    def _transaction(self) -> Iterator[Connection]:
        if not self._has_table:
            create_run_table(self._engine)
            self._has_table = True
        with self._engine.begin() as connection:
            yield connection


def _wait_for_turn(connection: Connection, through: QuestionOrigin) -> None:
    """One admission at a time, so that simultaneous questions count each other."""
    if connection.dialect.name == "postgresql":
        connection.execute(text(f"SELECT pg_advisory_xact_lock({_LOCK})"))
    else:
        # Takes SQLite's only write lock. Python's driver begins at a statement that writes.
        connection.execute(update(RunRow).where(RunRow.id == through.run_id).values(id=RunRow.id))


def _reached(
    connection: Connection, through: QuestionOrigin, domain: Domain
) -> LimitReached | None:
    """The personal or the channel's limit."""
    limits = domain.limits
    counted: list[tuple[Limit, int, tuple[ColumnElement[bool], ...]]] = []
    if through.asker:
        of_asker = (RunRow.asker == through.asker, RunRow.domain == domain.domain)
        counted.append(("person", limits.questions_per_user_per_hour, of_asker))
    if through.door in _IN_CHANNELS:
        in_channel = (RunRow.place == through.place,)
        counted.append(("channel", limits.questions_per_channel_per_hour, in_channel))
    for limit, most, which in counted:
        recent = select(RunRow.started_at).where(
            *which, RunRow.started_at >= now() - timedelta(hours=1)
        )
        newest_first = recent.order_by(RunRow.started_at.desc())
        if first := connection.scalar(newest_first.offset(most - 1).limit(1)):
            return LimitReached(limit, domain, first + timedelta(hours=1))
    return None


def _raise_unless_away(error: SQLAlchemyError) -> None:
    failure = storage_failure(error)
    if failure is None:
        raise error
    log.warning("run not counted", cause=failure.problem)
