"""Tells a domain's admins when most of a day's budget is used, and what it was like without one.

Questions beyond a budget are answered by quoting; see docs/decisions/135-one-ledger-of-runs.md."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

import structlog

from agents.ledger.ledger import RunLedger
from agents.ledger.runs import BudgetUse
from bot.blocks.kit import Json, context
from bot.blocks.sanitize.text import sanitize_mrkdwn
from bot.feature import DigestPart, FeatureContext
from bot.showing import Showing
from bot.slack.client import SlackRefused
from config.domain import Domain
from durable.database import naive_utc

log = structlog.get_logger()

WARN = "budget_warning"
"""Kind of its timers. Their subject is a domain, a day and an admin: each message is sent once,
also where another one has to be repeated."""
WARNING_SHARE = 0.8
LOOK_SECONDS = 300.0
"""Time between two looks of one worker at all budgets."""


@dataclass
class BudgetService:
    context: FeatureContext
    ledger: RunLedger
    _looked_at: float = field(default=float("-inf"), init=False)

    def plan(self) -> None:
        """Set a timer for each admin of a domain whose budget is nearly spent. Its time is the
        day's beginning: all workers set the same one, so that it comes once a day."""
        if time.monotonic() - self._looked_at < LOOK_SECONDS:
            return
        self._looked_at = time.monotonic()
        day = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
        for name, domain in self.context.domains().items():
            if domain.admins and self.ledger.has_used(WARNING_SHARE, domain):
                for admin in sorted(set(domain.admins)):
                    subject = f"{name} {day:%Y-%m-%d} {admin}"
                    self.context.timers.set(WARN, subject, day, keep=True)

    def warn(self, subject: str) -> None:
        """Send the warning of a timer to its admin."""
        name, _, admin = subject.split(" ", 2)
        domain = self.context.domains().get(name)
        if domain is None or admin not in domain.admins:
            return
        used = budget_line(domain, self.ledger.use(domain))
        text = (
            f"*{sanitize_mrkdwn(domain.title)}* has used {used}. "
            "Beyond it, questions are answered by quoting the documents, without the language "
            "model. `limits` in the domain file holds the budget."
        )
        try:
            self.context.web.call("chat.postMessage", channel=admin, text=text)
        except SlackRefused as refused:
            log.warning("an admin could not be notified", user=admin, reason=refused.code)

    def home(self, showing: Showing, domains: Sequence[Domain]) -> Iterator[Json]:
        """A line for each domain with a budget that its admin sees."""
        for domain in domains:
            line = budget_line(domain, self.ledger.use(domain))
            if line:
                yield context([f"*{sanitize_mrkdwn(domain.title)}* used {line}."])

    def digest(self, domain: Domain, since: datetime, showing: Showing) -> Sequence[DigestPart]:
        count = self.ledger.quoted(domain, naive_utc(since))
        if not count:
            return []
        questions = "1 question was" if count == 1 else f"{count} questions were"
        line = f"{questions} answered without the language model"
        return [DigestPart(title="A daily budget was used up", lines=[line])]


def budget_line(domain: Domain, use: BudgetUse) -> str:
    """`81 % of its daily budget for the language model (…)`; empty without a budget."""
    limits, parts = domain.limits, list[str]()
    if limits.tokens_per_day:
        parts.append(f"{use.tokens:,} of {limits.tokens_per_day:,} tokens")
    if limits.dollars_per_day:
        parts.append(f"${use.dollars:,.2f} of ${limits.dollars_per_day:,.2f}")
    if not parts:
        return ""
    return f"{use.share:.0%} of its daily budget for the language model ({', '.join(parts)})"
