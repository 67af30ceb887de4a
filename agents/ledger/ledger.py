"""One row for each run of the agents: who asked through which door, and how many tokens it took.

A domain's `limits` are computed from these rows and from nothing else. Beyond a limit of questions
a run is refused; beyond a budget it goes on without the model. A run keeps its id when it is
repeated after a crash: it stays one question, and the tokens of all its attempts add up."""

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
    func,
    insert,
    select,
    text,
    update,
)
from sqlalchemy.exc import SQLAlchemyError

from agents.answer import Budget
from agents.ledger.runs import Budgets, BudgetUse, RunRow, create_run_table
from config.domain import Domain
from config.errors import CopilotError
from config.models import Prices, Usage, lost_usage
from durable.database import now
from durable.failures import storage_failure
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


Limit = Literal["person", "channel"]

QUOTED = metrics.counter(
    "oncall_questions_quoted_total",
    "Questions answered without the model because a budget of the day was spent",
    "domain",
    "budget",
)


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
    spent: dict[str, Budget] = field(default_factory=dict)
    """Domain → the budget that is used up there: no model may be asked for it."""
    may_cost: bool = True
    """Whether a model may be asked for any of the domains."""
    prices: Prices | None = None
    """Of the model that it asks; None without prices."""

    def add(self, usage: Usage) -> None:
        self.usage += usage


class RunLedger:
    """Safe to use from several threads and processes.

    While the database is away or can't be written, questions are answered and not counted, and the
    log says so: people on call ask during outages. Any other error of the database is raised."""

    def __init__(
        self, engine: Engine, *, has_model: bool = True, prices: Prices | None = None
    ) -> None:
        """`has_model`: False where no run costs anything. `prices` of the chat model."""
        self._engine = engine
        self._budgets = Budgets(prices=prices, has_model=has_model)
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
    def attempt(self, through: QuestionOrigin, domains: Sequence[Domain]) -> Iterator[Attempt]:
        """Counts an attempt at an admitted run, with what it reports in the end; its `spent` says
        for which of `domains` it may ask no model.

        One that breaks off, by a crash or because its client leaves, stays unfinished: it counts
        as much as a run of the same day that cost something, on average, and at least half of
        `TOKENS_OF_A_RUN`."""
        attempt = Attempt(prices=self._budgets.prices)
        is_counted = self._begin(through, domains, attempt)
        with lost_usage() as lost:
            try:
                yield attempt
            except CopilotError:  # an honest end: what was used is known
                if is_counted:
                    self._finish(through, attempt, lost.usage)
                raise
        if is_counted:
            self._finish(through, attempt, lost.usage)

    def has_used(self, share: float, domain: Domain) -> bool:
        """Whether at least this share of the domain's budget of the day is used up."""
        return 0 < share <= self.use(domain).share

    def use(self, domain: Domain) -> BudgetUse:
        """What the domain used in the last day. Raises database errors."""
        with self._transaction() as connection:
            return self._budgets.of_domain(connection, domain)

    def quoted(self, domain: Domain, since: datetime) -> int:
        """Questions that were answered without the model because of a budget. `since`: UTC without
        a zone. Raises database errors."""
        count = select(func.count()).where(
            RunRow.domain == domain.domain, RunRow.started_at >= since, RunRow.quoted != ""
        )
        with self._transaction() as connection:
            return connection.scalar(count) or 0

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
            if reached := _reached(connection, through, domain):
                allowed.remove(domain)
                refused.append(reached)
        if not allowed:
            metrics.REFUSALS.labels(refused[0].domain.domain, "limit").inc()
            raise refused[0]
        if own is not None:
            return allowed
        row = insert(RunRow).values(
            id=through.run_id, domain=allowed[0].domain, door=through.door, asker=through.asker,
            place=through.place, tokens=0, attempts=0, finished=0, started_at=now(), quoted="",
        )  # fmt: skip
        connection.execute(row)
        return allowed

    def _begin(self, through: QuestionOrigin, domains: Sequence[Domain], attempt: Attempt) -> bool:
        """Whether the database counts the attempt. One that can cost nothing is not in progress."""
        try:
            with self._turn(), self._transaction() as connection:
                # Attempts take turns, so that simultaneous ones count each other.
                _wait_for_turn(connection, through)
                asker = "" if through.door == "alert" else through.asker
                for one in domains:
                    if budget := self._budgets.spent(connection, one, asker):
                        attempt.spent[one.domain] = budget
                attempt.may_cost = not domains or len(attempt.spent) < len(domains)
                this = update(RunRow).where(RunRow.id == through.run_id)
                if attempt.may_cost:
                    connection.execute(this.values(attempts=RunRow.attempts + 1))
        except SQLAlchemyError as error:
            _raise_unless_away(error)
            return False
        return True

    def _finish(self, through: QuestionOrigin, attempt: Attempt, lost: Usage) -> None:
        usage = attempt.usage + lost
        used = usage.input_tokens + usage.output_tokens
        values: dict[str, Any] = {"tokens": RunRow.tokens + used}
        if attempt.may_cost:
            values["finished"] = RunRow.finished + 1
        if attempt.domain:
            values["domain"] = attempt.domain
        if attempt.prices:
            cost = attempt.prices.of(usage)
            values["dollars"] = func.coalesce(RunRow.dollars, 0.0) + cost
        if budget := attempt.spent.get(attempt.domain):
            values["quoted"] = budget
            QUOTED.labels(attempt.domain, budget).inc()
        try:
            with self._transaction() as connection:
                this = update(RunRow).where(RunRow.id == through.run_id)
                connection.execute(this.values(**values))
        except SQLAlchemyError as error:
            _raise_unless_away(error)

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
    if through.asker and through.door != "retrieve":  # a search is no question
        of_asker = (
            RunRow.asker == through.asker,
            RunRow.domain == domain.domain,
            RunRow.door != "retrieve",
        )
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
