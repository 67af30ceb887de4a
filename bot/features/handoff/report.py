"""How hand-offs go: for Prometheus each minute, for admins in App Home."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from statistics import median

from bot.access.gate import Gate
from bot.blocks.kit import Json, link, section, short
from bot.blocks.sanitize.text import sanitize_mrkdwn
from bot.db import now
from bot.features.handoff.calls import lasting
from bot.features.handoff.service import HandoffService
from bot.features.handoff.views import Handoff
from bot.questions.store import QuestionRecord, QuestionStore
from bot.questions.tables import WITHDRAWN
from bot.slack.messages import mention, permalink
from config.domain import Domain
from telemetry import metrics

WEEK = timedelta(days=7)
OPEN_SHOWN, BROKEN_SHOWN = 5, 2
"""Lines: together they fit a section, however long a question is."""


@dataclass(frozen=True)
class AskedFor:
    """A hand-off with its question."""

    handoff: Handoff
    record: QuestionRecord

    @property
    def waits(self) -> timedelta:
        at = self.handoff.requested_at
        return now() - at if at else timedelta()


@dataclass(frozen=True, kw_only=True)
class HandoffReport:
    handoffs: HandoffService
    records: QuestionStore
    domains: Callable[[], Mapping[str, Domain]]
    gate: Gate
    team_url: str

    def by_domain(self, since: timedelta = WEEK) -> dict[str, list[AskedFor]]:
        """Hand-offs that were asked for since then, oldest first; without what was taken back."""
        found: dict[str, list[AskedFor]] = {name: [] for name in self.domains()}
        for handoff in self.handoffs.asked_since(now() - since):
            record = self.records.get(handoff.question_id)
            domain = self.handoffs.domain_of(record) if record else None
            if record and record.state != WITHDRAWN and domain and domain.domain in found:
                found[domain.domain].append(AskedFor(handoff, record))
        return found

    def waiting(self, domain: Domain, within: timedelta) -> list[tuple[QuestionRecord, str]]:
        """Open hand-offs, each with how it stands: those that nobody took before the others."""
        still_open = [
            one for one in self.by_domain(within)[domain.domain] if not one.handoff.resolved_by
        ]
        still_open.sort(key=lambda one: one.handoff.is_taken)
        return [(one.record, state_of(one)) for one in still_open]

    @staticmethod
    def observe(by_domain: Mapping[str, Sequence[AskedFor]]) -> None:
        """Sets the gauges."""
        for name, asked in by_domain.items():
            waiting = [one.waits for one in asked if not _is_taken(one.handoff)]
            metrics.HANDOFFS_WAITING.labels(name).set(len(waiting))
            oldest = max(waiting, default=timedelta())
            metrics.HANDOFFS_OLDEST.labels(name).set(oldest.total_seconds())

    def home(self, viewer: str, domains: Sequence[Domain]) -> Iterator[Json]:
        """For admins: the week's figures, what is open, and rotas that can't be read."""
        asked = self.by_domain() if domains else {}
        for domain in domains:
            broken = list(self._broken(domain))
            lines = [
                f":warning: {sanitize_mrkdwn(short(one, 300))}" for one in broken[:BROKEN_SHOWN]
            ]
            if len(broken) > BROKEN_SHOWN:
                lines.append(f"and {len(broken) - BROKEN_SHOWN} more rotas can't be read")
            if week := asked.get(domain.domain):
                lines += self._lines(viewer, week)
            if lines:
                title = f"*Hand-offs of {sanitize_mrkdwn(domain.title)}, 7 days*"
                yield section("\n".join([title, *lines]))

    def _broken(self, domain: Domain) -> Iterator[str]:
        rotas = [domain.escalation.rota, *(level.rota for level in domain.escalation.levels)]
        for rota in dict.fromkeys(filter(None, rotas)):
            if problem := self.handoffs.rotas.problem(domain, rota):
                yield problem

    def _lines(self, viewer: str, week: Sequence[AskedFor]) -> Iterator[str]:
        taken = _took(week, lambda one: one.taken_at)
        resolved = _took(week, lambda one: one.resolved_at)
        yield f"{len(week)} asked for"
        if taken:
            yield f"Taken: {len(taken)}, {_figures(taken)}"
        if resolved:
            yield f"Resolved: {len(resolved)}, {_figures(resolved)}"
        still_open = [one for one in week if not one.handoff.resolved_by]
        for one in still_open[:OPEN_SHOWN]:
            yield f"• {self._where(viewer, one.record)} · {state_of(one)}"
        if len(still_open) > OPEN_SHOWN:
            yield f"and {len(still_open) - OPEN_SHOWN} more are open"

    def _where(self, viewer: str, record: QuestionRecord) -> str:
        if record.channel.startswith("D"):
            return "a direct message"
        if not self.gate.may_see(viewer, record.channel):
            return "a channel that you are not in"
        text = record.text.strip() or "a question asked long ago"
        return link(permalink(self.team_url, record), short(text, 80))


def state_of(one: AskedFor) -> str:
    if one.handoff.is_taken:
        return f"{mention(one.handoff.taken_by)} is on it, asked {lasting(one.waits)} ago"
    return f"*nobody has taken it* for {lasting(one.waits)}"


def _is_taken(handoff: Handoff) -> bool:
    return handoff.is_taken or bool(handoff.resolved_by)


def _took(
    week: Sequence[AskedFor], moment: Callable[[Handoff], datetime | None]
) -> list[timedelta]:
    ends = ((moment(one.handoff), one.handoff.requested_at) for one in week)
    return [end - asked for end, asked in ends if end and asked]


def _figures(times: Sequence[timedelta]) -> str:
    if len(times) == 1:
        return f"after {lasting(times[0])}"
    middle = timedelta(seconds=median(one.total_seconds() for one in times))
    return f"median {lasting(middle)}, worst {lasting(max(times))}"
