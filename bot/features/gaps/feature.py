"""Gaps in the documents as a feature of the bot."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import Any

import structlog

from agents.answer import Ask
from bot.blocks.kit import Json
from bot.bus.events import SuggestionDecided
from bot.feature import DigestPart, Feature, FeatureContext
from bot.features.gaps import views as gap_lines
from bot.features.gaps.collect import GapCollector
from bot.features.gaps.drafts import GapDrafts
from bot.features.gaps.gap import Gap, shown_gaps
from bot.features.gaps.naming import name_gaps, where
from bot.features.gaps.questions import UNANSWERED, state_after
from bot.features.gaps.recheck import ASK_GAP, GapRecheck
from bot.features.gaps.report import SEND_REPORT, WeeklyReport
from bot.features.gaps.store import GapStore
from bot.questions.store import QuestionStore
from bot.slack.client import SlackBusy, SlackUnsure
from config.domain import Domain
from config.errors import CopilotError, IndexUnavailable
from telemetry import metrics

log = structlog.get_logger()

LOOK, ASK_ALL = "gaps_look", "gaps_ask"
"""Kinds of its timers: look over a domain's record; ask again after its documents changed."""


def build_gaps(
    context: FeatureContext, records: QuestionStore, ask_anew: Callable[[str], Ask] | None
) -> Feature:
    """`ask_anew`: domain name → its agents, answering from today's documents and never from a
    cache. Does nothing without it, or without a published index."""
    if context.published is None or ask_anew is None:
        return Feature()
    kept, drafts = GapStore(context.engine), GapDrafts(context.engine)
    room = _GapsRoom(
        tools=context,
        kept=kept,
        drafts=drafts,
        gathering=GapCollector(
            kept=kept,
            drafts=drafts,
            records=records,
            published=context.published,
            is_bot=lambda user: context.gate.people.known(user).standing == "bot",
            suggest=context.suggest,
            team_url=context.identity.team_url.rstrip("/"),
        ),
        again=GapRecheck(
            kept=kept,
            drafts=drafts,
            published=context.published,
            ask_anew=ask_anew,
            timers=context.timers,
            domains=context.domains,
            records=records,
        ),
        where=_where(context.published.snapshot),
    )
    weekly = WeeklyReport(
        web=context.web,
        records=records,
        kept=kept,
        gate=context.gate,
        timers=context.timers,
        domains=context.domains,
        where=room.where,
    )
    return Feature(
        handlers={SuggestionDecided: room.decided},
        timers={
            LOOK: room.look,
            ASK_ALL: room.ask_all,
            ASK_GAP: room.again.ask,
            SEND_REPORT: weekly.send,
        },
        plan=partial(room.plan, weekly),
        home=room.home,
        digest=room.digest,
    )


def _where(snapshot: Callable[[str], Any]) -> gap_lines.WhereIs:
    return lambda gap: where(snapshot, gap.domain, (gap.document, gap.heading))


@dataclass(frozen=True, kw_only=True)
class _GapsRoom:
    tools: FeatureContext
    kept: GapStore
    drafts: GapDrafts
    gathering: GapCollector
    again: GapRecheck
    where: gap_lines.WhereIs

    def plan(self, weekly: WeeklyReport) -> None:
        """Every minute, by every worker: what is found to do is done by one of them."""
        known, at = self.tools.domains(), datetime.now(UTC)
        for name in self.gathering.unseen() & set(known):
            self.tools.timers.set(LOOK, name, at)
        waiting = {domain for domain, _ in self.kept.counts()}
        for name, domain in known.items():
            weekly.plan(domain, at)
            if name in waiting and self._changed(name):
                self.tools.timers.set(ASK_ALL, name, at)
        self._observe(known)

    def look(self, domain: str) -> None:
        """What can't be done now is found undone by the next minute's plan."""
        try:
            self.gathering.look(domain)
            if self.tools.model:
                name_gaps(self.kept, self.tools.model, domain)
        except (CopilotError, SlackBusy, SlackUnsure) as error:
            log.info("gaps are looked for later", domain=domain, reason=str(error))

    def ask_all(self, domain: str) -> None:
        try:
            self.again.plan(domain)
        except CopilotError as error:
            log.info("gaps are asked again later", domain=domain, reason=str(error))

    def decided(self, event_id: str, event: SuggestionDecided) -> None:
        """An owner's decision about what was suggested."""
        gap_id = self.drafts.decided(event)
        gap = self.kept.get(gap_id) if gap_id else None
        if gap is None:
            return
        outcomes = {one.outcome for one in self.drafts.of(gap.id)}
        state = state_after(event.outcome, gap.state, outcomes)
        self.kept.move(gap, state, by=event.by)
        if event.outcome == state == "accepted":  # the document may say so already
            self.tools.timers.set(ASK_GAP, gap.id, datetime.now(UTC))

    def home(self, viewer: str, domains: Sequence[Domain]) -> Iterator[Json]:
        for domain in domains:
            gaps = shown_gaps(self.kept, domain.domain)
            may_see = partial(self._may_see, viewer)
            yield from gap_lines.blocks(domain, gaps, may_see, self.where)

    def digest(self, domain: Domain, since: datetime) -> Sequence[DigestPart]:
        """What was asked again, of what the documents don't answer."""
        after = since.astimezone(UTC).replace(tzinfo=None)
        again = [gap for gap in shown_gaps(self.kept, domain.domain) if gap.times_since(after) > 1]
        lines = [self._repeated(domain, gap, after) for gap in again[: gap_lines.MOST_SHOWN]]
        return [DigestPart(title="Asked again, and not answered", lines=lines)] if lines else []

    def _repeated(self, domain: Domain, gap: Gap, after: datetime) -> str:
        """For whoever reads a digest: only what everybody may see is in its own words."""
        title = gap_lines.titled(gap, partial(self._is_open, domain))
        times, people = gap.times_since(after), gap.people_since(after)
        return f"{title} · {times} times, by {people} {'person' if people == 1 else 'people'}"

    def _is_open(self, domain: Domain, channel: str) -> bool:
        """To all who read the digest, which may go to the domain's channel."""
        channels = self.tools.gate.channels
        try:
            if domain.access.external or channels.is_shared_outside(domain.channels[0]):
                return False
            return channels.is_public(channel)
        except (SlackBusy, SlackUnsure):
            return False

    def _may_see(self, viewer: str, channel: str) -> bool:
        try:
            return self.tools.gate.may_see(viewer, channel)
        except (SlackBusy, SlackUnsure):
            return False

    def _changed(self, domain: str) -> bool:
        try:
            return self.again.changed(domain)
        except IndexUnavailable:
            return False

    def _observe(self, known: Mapping[str, Domain]) -> None:
        counts = self.kept.counts()
        for name in known:
            open_now = sum(counts.get((name, state), 0) for state in UNANSWERED)
            metrics.GAPS_OPEN.labels(name).set(open_now)
