"""A report of a domain's gaps, when its file says so: to its admins or to its channel, once for
each planned time, over restarts and workers. With nothing to say, nothing is sent."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from zoneinfo import ZoneInfo

import structlog

from bot.access.gate import Gate
from bot.blocks.kit import Json, context
from bot.blocks.render import SlackMessage
from bot.blocks.sanitize.text import sanitize_mrkdwn, sanitize_plain
from bot.bus.timers import TimerStore
from bot.features.gaps.gap import Gap, gaps_of, growing, shown_gaps
from bot.features.gaps.store import GapStore
from bot.features.gaps.views import MaySee, WhereIs, day, in_sections, line
from bot.posting.posts import metadata_of, post_once
from bot.questions.store import QuestionStore
from bot.slack.client import SlackClient, SlackRefused
from bot.slack.messages import question_id
from config.domain import Domain

log = structlog.get_logger()

SEND_REPORT = "gaps_report"
REPORT = "oncall_gaps"
"""Type of its message's metadata."""
MOST_OF_EACH = 5
_WEEK = timedelta(days=7)
_CLOCK_CHANGE = timedelta(hours=3)
"""More than a clock is ever set on or back."""
_RECENT = 50
"""Messages of a channel in which one that was sent already is looked for."""


@dataclass(frozen=True, kw_only=True)
class ReportSection:
    """The gaps of one title."""

    title: str
    gaps: Sequence[Gap]


@dataclass(frozen=True, kw_only=True)
class WeeklyReport:
    web: SlackClient
    records: QuestionStore
    kept: GapStore
    gate: Gate
    timers: TimerStore
    domains: Callable[[], Mapping[str, Domain]]
    where: WhereIs

    def plan(self, domain: Domain, at: datetime) -> None:
        """`at`: now, aware. A planned time before the report was first asked for sends none."""
        _, reported = self.kept.last(domain.domain)
        if not domain.gaps.report:
            if reported:  # switched on again, it begins with the next planned time
                self.kept.noted(domain.domain, reported="")
            return
        due = latest(domain.gaps.report, domain.gaps.time_zone, at)
        if not reported:
            self.kept.noted(domain.domain, reported=_told_as(due))
        elif reported < _told_as(due):
            self.timers.set(SEND_REPORT, f"{domain.domain}@{_told_as(due)}", due)

    def send(self, subject: str) -> None:
        """`subject`: domain and planned time."""
        name, _, planned = subject.partition("@")
        domain = self.domains().get(name)
        _, reported = self.kept.last(name)
        if domain is None or not domain.gaps.report or reported >= planned:
            return
        until = datetime.fromisoformat(planned)
        since = datetime.fromisoformat(reported) if reported else until - _WEEK
        told = list(self._told(name, since, until))
        if told:
            for place, may_see in self._readers(domain):
                message = report(domain, told, may_see, self.where)
                self._send_once(f"gaps {subject} {place}"[:80], place, message)
        self.kept.noted(name, reported=planned)

    def _told(self, domain: str, since: datetime, until: datetime) -> Iterator[ReportSection]:
        """Planned times of the report before and of this one, UTC without a zone."""
        waiting = shown_gaps(self.kept, domain)
        new = [gap for gap in waiting if gap.since >= since]
        more = [gap for gap in waiting if growing(gap, since, until)]
        accepted = [gap for gap in waiting if gap.state == "accepted"]
        again = [g for g in waiting if g.state == "reopened" and g.changed_at >= since]
        closed = gaps_of(self.kept, domain, ["closed"])
        done = [gap for gap in closed if gap.changed_at >= since]
        for title, found in (
            (f"New since {day(since)}", new),
            ("Asked more and more", more),
            ("Accepted, and not answered yet", accepted),
            ("Open again", again),
            ("Answered by now", done),
        ):
            if found:
                yield ReportSection(title=title, gaps=found)

    def _readers(self, domain: Domain) -> Iterator[tuple[str, MaySee]]:
        """To whom it goes, each with what they may see."""
        if domain.gaps.to == "channel":
            for channel in domain.channels[:1]:
                yield channel, partial(self._open_here, domain, channel)
            return
        for admin in dict.fromkeys(domain.admins):
            yield admin, partial(self.gate.may_see, admin)

    def _open_here(self, domain: Domain, here: str, channel: str) -> bool:
        """Whether everybody in `here` may see another channel: guests and other organisations see
        no public ones."""
        channels = self.gate.channels
        if channel == here or domain.access.external or channels.is_shared_outside(here):
            return channel == here
        return channels.is_public(channel)

    def _send_once(self, key: str, place: str, message: SlackMessage) -> None:
        """`place`: a channel, or a person, of whose conversation Slack doesn't tell the id before
        something is posted there: better the same twice in private than nothing."""
        if self.records.place_of(key):
            return
        is_channel = not place.startswith(("U", "W"))

        def find() -> str | None:
            return self._found(place, key) if is_channel else None

        try:
            ts = find() or post_once(
                self.web,
                message,
                channel=place,
                thread_ts=None,
                metadata=metadata_of(REPORT, key),
                find=find,
            )
        except SlackRefused as refused:
            log.warning("a report of gaps was not taken", to=place, reason=refused.code)
            return
        self.records.own_post(key, 0, place, ts)

    def _found(self, channel: str, key: str) -> str | None:
        """What an attempt before a crash had sent."""
        try:
            held = self.web.call(
                "conversations.history", channel=channel, limit=_RECENT, include_all_metadata=True
            )
        except SlackRefused:
            return None
        found = (one for one in held.get("messages") or () if question_id(one, REPORT) == key)
        return next((str(one["ts"]) for one in found), None)


def report(
    domain: Domain, told: Sequence[ReportSection], may_see: MaySee, where: WhereIs
) -> SlackMessage:
    """Gaps that are told of under two titles stand under the first."""
    title = f"{sanitize_plain(domain.title)}: gaps in the documents"
    shown: list[Json] = [{"type": "header", "text": {"type": "plain_text", "text": title[:150]}}]
    before: set[str] = set()
    for one in told:
        gaps = [gap for gap in one.gaps if gap.id not in before]
        before |= {gap.id for gap in gaps}
        if not gaps:
            continue
        lines = [f"• {line(gap, may_see, where)}" for gap in gaps[:MOST_OF_EACH]]
        if more := len(gaps) - len(lines):
            lines.append(f"… and {more} more")
        shown += in_sections([f"*{one.title}*", *lines])
    shown.append(context([f"All of them: `oncall gaps {domain.domain}`, or App Home for admins."]))
    return SlackMessage(
        text=f"Gaps in the documents of {sanitize_mrkdwn(domain.title)}", blocks=shown
    )


def latest(cron: str, time_zone: str, at: datetime) -> datetime:
    """The last planned time that is not later than `at`; UTC.

    A time that the clock skips in spring comes when it goes on, one that comes twice in autumn
    counts the first time."""
    from croniter import croniter

    zone = ZoneInfo(time_zone)
    wall = at.astimezone(zone).replace(tzinfo=None)
    times = croniter(cron, wall + _CLOCK_CHANGE)
    found: datetime | None = None
    planned = wall
    while found is None or planned >= wall - _CLOCK_CHANGE:
        planned = times.get_prev(datetime)
        moment = planned.replace(tzinfo=zone).astimezone(UTC)
        if moment <= at and (found is None or moment > found):
            found = moment
    return found


def _told_as(planned: datetime) -> str:
    return f"{planned:%Y-%m-%dT%H:%M}"
