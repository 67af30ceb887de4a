"""Figures of hand-offs: for Prometheus each minute, for admins in App Home."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from statistics import median

from bot.blocks.kit import Json, link, section, short
from bot.blocks.sanitize.text import sanitize_mrkdwn
from bot.feature import FeatureContext, IncidentThread, TimelineEntry
from bot.features.handoff.service import HandoffService
from bot.features.handoff.store import Handoff, HandoffCall
from bot.features.handoff.views import duration_text
from bot.questions.store import QuestionRecord, QuestionStore
from bot.questions.tables import WITHDRAWN
from bot.showing import Showing
from bot.slack.messages import mention, permalink
from config.domain import Domain
from durable.database import now
from telemetry import metrics

HANDOFFS_WAITING = metrics.gauge(
    "oncall_handoffs_waiting", "Hand-offs of the last week that nobody has taken", "domain"
)
HANDOFFS_OLDEST = metrics.gauge(
    "oncall_handoffs_oldest_seconds",
    "Age of the one among them that waits longest; 0 for none",
    "domain",
)

WEEK = timedelta(days=7)
MAX_OPEN, MAX_PROBLEMS = 5, 2
"""Lines: together they fit a section, however long a question is."""


@dataclass(frozen=True)
class HandoffEntry:
    """A hand-off with its question."""

    handoff: Handoff
    record: QuestionRecord

    @property
    def age(self) -> timedelta:
        at = self.handoff.requested_at
        return now() - at if at else timedelta()


@dataclass(frozen=True)
class HandoffReport:
    context: FeatureContext
    records: QuestionStore
    handoffs: HandoffService

    def by_domain(self, since: timedelta = WEEK) -> dict[str, list[HandoffEntry]]:
        """Hand-offs of the last `since`, oldest first, without withdrawn questions."""
        entries: dict[str, list[HandoffEntry]] = {name: [] for name in self.context.domains()}
        for handoff in self.handoffs.store.since(now() - since):
            record = self.records.get(handoff.question_id)
            domain = self.handoffs.domain_of(record) if record else None
            if record and record.state != WITHDRAWN and domain and domain.domain in entries:
                entries[domain.domain].append(HandoffEntry(handoff, record))
        return entries

    def waiting(self, domain: Domain, within: timedelta) -> list[tuple[QuestionRecord, str]]:
        """Open hand-offs, each with its state as text; those that nobody took come first."""
        still_open = [
            one for one in self.by_domain(within)[domain.domain] if not one.handoff.resolved_by
        ]
        still_open.sort(key=lambda one: one.handoff.is_taken)
        return [(one.record, state_of(one)) for one in still_open]

    def timeline(self, thread: IncidentThread) -> Iterator[TimelineEntry]:
        """Requests, calls, takes and resolutions of the thread's hand-offs."""
        for question in thread.questions:
            if (one := self.handoffs.get(question)) and one.requested_at:
                by, card = one.requested_by, one.card_ts
                yield TimelineEntry(at=one.requested_at, what="asked for a human", by=by, ts=card)
                yield from (
                    _call(call, one.requested_at) for call in self.handoffs.calls.of(question)
                )
                if one.taken_by and one.taken_at:
                    yield TimelineEntry(at=one.taken_at, what="took it", by=one.taken_by, ts=card)
                if one.resolved_by and one.resolved_at:
                    # Words of somebody else stand in the thread, by their author.
                    is_others = self.records.authors.of(question, "resolution")
                    yield TimelineEntry(
                        at=one.resolved_at, what="marked it as resolved", by=one.resolved_by,
                        quote="" if is_others else one.resolution, ts=card,
                    )  # fmt: skip

    @staticmethod
    def observe(by_domain: Mapping[str, Sequence[HandoffEntry]]) -> None:
        """Sets the gauges."""
        for name, entries in by_domain.items():
            waiting = [
                one.age for one in entries if not (one.handoff.is_taken or one.handoff.resolved_by)
            ]
            HANDOFFS_WAITING.labels(name).set(len(waiting))
            oldest = max(waiting, default=timedelta())
            HANDOFFS_OLDEST.labels(name).set(oldest.total_seconds())

    def home(self, showing: Showing, domains: Sequence[Domain]) -> Iterator[Json]:
        """Blocks for admins: the week's figures, open hand-offs, and rotas that can't be read."""
        entries = self.by_domain() if domains else {}
        for domain in domains:
            problems = list(self._rota_problems(domain))
            lines = [
                f":warning: {sanitize_mrkdwn(short(one, 300))}" for one in problems[:MAX_PROBLEMS]
            ]
            if len(problems) > MAX_PROBLEMS:
                lines.append(f"and {len(problems) - MAX_PROBLEMS} more rotas can't be read")
            if week := entries.get(domain.domain):
                lines += self._lines(showing, week)
            if lines:
                title = f"*Hand-offs of {sanitize_mrkdwn(domain.title)}, 7 days*"
                yield section("\n".join([title, *lines]))

    def _rota_problems(self, domain: Domain) -> Iterator[str]:
        rotas = [domain.escalation.rota, *(level.rota for level in domain.escalation.levels)]
        for rota in dict.fromkeys(filter(None, rotas)):
            if problem := self.handoffs.rotas.problem(domain, rota):
                yield problem

    def _lines(self, showing: Showing, week: Sequence[HandoffEntry]) -> Iterator[str]:
        until_taken = _durations(week, lambda one: one.taken_at)
        until_resolved = _durations(week, lambda one: one.resolved_at)
        yield f"{len(week)} asked for"
        if until_taken:
            yield f"Taken: {len(until_taken)}, {_figures(until_taken)}"
        if until_resolved:
            yield f"Resolved: {len(until_resolved)}, {_figures(until_resolved)}"
        still_open = [one for one in week if not one.handoff.resolved_by]
        for one in still_open[:MAX_OPEN]:
            yield f"• {self._where(showing, one.record)} · {state_of(one)}"
        if len(still_open) > MAX_OPEN:
            yield f"and {len(still_open) - MAX_OPEN} more are open"

    def _where(self, showing: Showing, record: QuestionRecord) -> str:
        if record.channel.startswith("D"):
            return "a direct message"
        if not showing.reader.sees(record.channel):
            return "a channel that you are not in"
        text = record.text.strip() or "a question asked long ago"
        return link(permalink(self.context.identity.team_url, record), short(text, 80))


def _call(call: HandoffCall, requested_at: datetime) -> TimelineEntry:
    """The first call is on record just before the request that it answers."""
    what = "was called" if call.who else "Nobody was called"
    reasons = "; ".join(filter(None, (call.label, call.why)))
    return TimelineEntry(
        at=max(call.called_at, requested_at), whom=call.who,
        what=f"{what} ({reasons})" if reasons else what,
        ts="" if call.channel else call.ts,
    )  # fmt: skip


def state_of(one: HandoffEntry) -> str:
    if one.handoff.is_taken:
        return f"{mention(one.handoff.taken_by)} is on it, asked {duration_text(one.age)} ago"
    return f"*nobody has taken it* for {duration_text(one.age)}"


def _durations(
    week: Sequence[HandoffEntry], moment: Callable[[Handoff], datetime | None]
) -> list[timedelta]:
    ends = ((moment(one.handoff), one.handoff.requested_at) for one in week)
    return [end - start for end, start in ends if end and start]


def _figures(times: Sequence[timedelta]) -> str:
    if len(times) == 1:
        return f"after {duration_text(times[0])}"
    middle = timedelta(seconds=median(one.total_seconds() for one in times))
    return f"median {duration_text(middle)}, worst {duration_text(max(times))}"
