"""The rows of runs, and what they use of a day's budgets, in tokens and in dollars."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import (
    ColumnElement,
    Connection,
    Engine,
    Float,
    Index,
    String,
    and_,
    case,
    func,
    literal,
    select,
)
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from agents.answer import Budget
from config.domain import Domain
from config.models import Prices
from durable.database import now
from durable.migration import expanding, migrate
from telemetry import metrics
from telemetry.health import PeriodicLook

TOKENS_OF_A_RUN = 11_000
"""What an unfinished run counts before a day's first one has cost anything: the mean of the
evaluation in docs/measuring-answers.md."""


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
    dollars: Mapped[float | None] = mapped_column(
        Float, comment="of all finished attempts; null where no prices were set"
    )
    quoted: Mapped[str] = mapped_column(
        String(8), server_default="", comment="the spent budget that it was answered without"
    )


_STEPS = (
    expanding(
        "ALTER TABLE agent_runs ADD COLUMN dollars FLOAT",
        "ALTER TABLE agent_runs ADD COLUMN quoted VARCHAR(8) DEFAULT '' NOT NULL",
    ),
)


def create_run_table(engine: Engine) -> None:
    """Safe when several workers start at once."""
    migrate(engine, _Base.metadata, "agent runs", _STEPS)


@dataclass(frozen=True, kw_only=True)
class BudgetUse:
    """What was used in a day, of a domain's budget or of one person's."""

    tokens: int = 0
    dollars: float = 0.0
    share: float = 0.0
    """Of the budget in tokens or in dollars, whichever is nearer its end; 0 without a budget."""


@dataclass(frozen=True, kw_only=True)
class Budgets:
    """Sums over the rows of the last day."""

    prices: Prices | None = None
    """Of the chat model."""
    has_model: bool = True
    """False where no run costs anything."""

    def spent(self, connection: Connection, domain: Domain, asker: str) -> Budget | None:
        """The budget that is used up; None while the model may be asked. `asker`: '' for one
        without a budget of their own."""
        if self.has_model and self.of_domain(connection, domain).share >= 1:
            return "domain"
        if self.has_model and asker and self._of_person(connection, domain, asker).share >= 1:
            return "person"
        return None

    def of_domain(self, connection: Connection, domain: Domain) -> BudgetUse:
        limits = domain.limits
        max_dollars = limits.dollars_per_day or 0.0
        which = RunRow.domain == domain.domain
        return self._use(connection, which, limits.tokens_per_day, max_dollars)

    def _of_person(self, connection: Connection, domain: Domain, asker: str) -> BudgetUse:
        limits = domain.limits
        max_dollars = limits.dollars_per_user_per_day or 0.0
        which = and_(RunRow.asker == asker, RunRow.domain == domain.domain)
        return self._use(connection, which, limits.tokens_per_user_per_day, max_dollars)

    def _use(
        self,
        connection: Connection,
        which: ColumnElement[bool],
        max_tokens: int,
        max_dollars: float,
    ) -> BudgetUse:
        """Nothing is read where there is no limit (0)."""
        if not (max_tokens or max_dollars):
            return BudgetUse()
        unfinished = func.coalesce(func.sum(RunRow.attempts - RunRow.finished), 0)
        tokens = func.coalesce(func.sum(RunRow.tokens), 0)
        paid = func.count(case((RunRow.tokens > 0, 1)))
        # Only where dollars count: they stand in no index.
        dollars = self._dollars() if max_dollars else literal(0.0)
        row = connection.execute(
            select(tokens, unfinished, paid, dollars).where(
                which, RunRow.started_at >= now() - timedelta(days=1)
            )
        ).one()
        used, broken_off, runs, cost = int(row[0]), int(row[1]), int(row[2]), float(row[3] or 0)
        of_a_run = TOKENS_OF_A_RUN if self.has_model else 0
        # Many cheap runs, such as a planner's refusals, make an unfinished one no cheaper.
        mean = max(used // runs, of_a_run // 2) if runs else of_a_run
        used += broken_off * mean
        if max_dollars:
            cost += broken_off * max(cost / runs if runs else 0.0, self._dearest(mean))
        shares = (
            used / max_tokens if max_tokens else 0.0,
            cost / max_dollars if max_dollars else 0,
        )
        return BudgetUse(tokens=used, dollars=cost, share=max(shares))

    def _dollars(self) -> ColumnElement[float]:
        """Runs of unknown cost, such as those of an older release, cost as much as they can."""
        unknown = RunRow.tokens * self._dearest(1_000_000) / 1_000_000
        return func.sum(func.coalesce(RunRow.dollars, unknown))

    def _dearest(self, tokens: int) -> float:
        prices = self.prices or Prices(input=0.0, output=0.0)
        return tokens * max(prices.input, prices.output) / 1_000_000


USED = metrics.gauge(
    "oncall_budget_used_ratio",
    "Share of a day's budget that is used, in tokens or dollars; no value without a budget",
    "domain",
)


class BudgetGauges:
    """Implements `telemetry.health.HealthSource`. A scrape gets the cached values at once."""

    def __init__(
        self, domains: Callable[[], Mapping[str, Domain]], use: Callable[[Domain], BudgetUse]
    ) -> None:
        self._domains = domains
        self._use = use
        self._shares: Mapping[str, float] = {}
        self._look_if_old = PeriodicLook(self.look, name="use of budgets")

    def missing(self) -> dict[str, str]:
        """Returns nothing: beyond a budget questions are quoted."""
        return {}

    def observe(self) -> None:
        self._look_if_old()
        USED.clear()
        for name, share in self._shares.items():
            USED.labels(name).set(share)

    def look(self) -> None:
        """Read the use of all budgets. Raises database errors."""
        self._shares = {
            name: self._use(domain).share
            for name, domain in self._domains().items()
            if domain.limits.tokens_per_day or domain.limits.dollars_per_day
        }
