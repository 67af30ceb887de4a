"""A report of a domain's gaps, at the times that its file names: to its admins or its channel, once
for each planned time, over restarts and workers. Empty reports are not sent."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from zoneinfo import ZoneInfo

import structlog

from bot.blocks.kit import Json, context
from bot.blocks.render import SlackMessage
from bot.blocks.sanitize.text import sanitize_mrkdwn
from bot.feature import FeatureContext
from bot.features.gaps.gap import Gap, gaps_of, is_growing, relevant_gaps
from bot.features.gaps.store import GapStore
from bot.features.gaps.views import WhereIs, header, line, sections, short_date
from bot.posting.posts import metadata_of, post_once
from bot.questions.store import QuestionStore
from bot.showing import Showing
from bot.slack.client import SlackRefused
from bot.slack.messages import question_id
from config.domain import Domain
from index.permissions.acts import Act
from index.permissions.words import Reader

log = structlog.get_logger()

SEND_REPORT = "gaps_report"
REPORT_DOOR = "gap_report"
REPORT = "oncall_gaps"
"""Type of its message's metadata."""
MAX_GAPS = 5
_WEEK = timedelta(days=7)
_CLOCK_CHANGE = timedelta(hours=3)
"""More than any clock change."""
_RECENT = 50
"""Messages of a channel that are searched for one that was sent already."""


@dataclass(frozen=True, kw_only=True)
class WeeklyReport:
    context: FeatureContext
    records: QuestionStore
    store: GapStore
    where: WhereIs

    def plan(self, domain: Domain, at: datetime) -> None:
        """`at`: now, aware. The first report comes at the first planned time after its setup."""
        _, reported = self.store.progress(domain.domain)
        if not domain.gaps.report:
            if reported:  # the first report comes at the first planned time after the next setup
                self.store.set_progress(domain.domain, reported="")
            return
        due = latest_planned(domain.gaps.report, domain.gaps.time_zone, at)
        if not reported:
            self.store.set_progress(domain.domain, reported=_key_of(due))
        elif reported < _key_of(due):
            self.context.timers.set(SEND_REPORT, f"{domain.domain}@{_key_of(due)}", due)

    def send(self, subject: str) -> None:
        """`subject`: domain and planned time."""
        name, _, planned = subject.partition("@")
        domain = self.context.domains().get(name)
        _, reported = self.store.progress(name)
        if domain is None or not domain.gaps.report or reported >= planned:
            return
        until = datetime.fromisoformat(planned)
        since = datetime.fromisoformat(reported) if reported else until - _WEEK
        if sections := self._sections(name, since, until):
            for place, reader in self._recipients(domain):
                key = f"gaps {subject} {place}"[:80]
                showing = self.context.readers.showing(reader, REPORT_DOOR, place)
                message = report_message(domain, sections, showing, self.where)
                showing.record(key)
                self._send_once(key, place, message)
        self.store.set_progress(name, reported=planned)

    def _sections(self, domain: str, since: datetime, until: datetime) -> dict[str, list[Gap]]:
        """Gaps by title. `since`, `until`: times of the last report and this one, UTC, naive."""
        waiting = relevant_gaps(self.store, domain)
        new = [gap for gap in waiting if gap.since >= since]
        more = [gap for gap in waiting if is_growing(gap, since, until)]
        accepted = [gap for gap in waiting if gap.state == "accepted"]
        reopened = [g for g in waiting if g.state == "reopened" and g.changed_at >= since]
        closed = gaps_of(self.store, domain, ["closed"])
        sections = {
            f"New since {short_date(since)}": new,
            "Asked more and more": more,
            "Accepted, and not answered yet": accepted,
            "Open again": reopened,
            "Answered by now": [gap for gap in closed if gap.changed_at >= since],
        }
        return {title: gaps for title, gaps in sections.items() if gaps}

    def _recipients(self, domain: Domain) -> Iterator[tuple[str, Reader]]:
        """Channel or user id, and who reads there."""
        readers = self.context.readers
        if domain.gaps.to == "channel":
            for channel in domain.channels[:1]:
                yield channel, readers.channel(domain, channel)
            return
        for admin in dict.fromkeys(domain.admins):
            if self.context.gate.open_to(Act.ADMINISTER, admin, [domain]):
                yield admin, readers.person(admin)

    def _send_once(self, key: str, place: str, message: SlackMessage) -> None:
        """`place`: a channel, or a person. Slack returns the id of a person's conversation only
        after a post, so after a crash a person may get the same message twice."""
        if self.records.place_of(key):
            return
        find = partial(self._find_sent, place, key)
        try:
            ts = find() or post_once(
                self.context.web,
                message,
                channel=place,
                metadata=metadata_of(REPORT, key),
                find=find,
            )
        except SlackRefused as refused:
            log.warning("slack refused the gap report", to=place, reason=refused.code)
            return
        self.records.own_post(key, 0, place, ts)

    def _find_sent(self, channel: str, key: str) -> str | None:
        """Timestamp of the message that an attempt before a crash sent; None of a person's."""
        if channel.startswith(("U", "W")):
            return None
        try:
            history = self.context.web.call(
                "conversations.history", channel=channel, limit=_RECENT, include_all_metadata=True
            )
        except SlackRefused:
            return None
        messages = history.get("messages") or ()
        return next((str(one["ts"]) for one in messages if question_id(one, REPORT) == key), None)


def report_message(
    domain: Domain, parts: Mapping[str, Sequence[Gap]], showing: Showing, where: WhereIs
) -> SlackMessage:
    """Lists a gap of two sections under the first. `parts`: gaps by title."""
    blocks: list[Json] = [header(domain)]
    listed: set[str] = set()
    for title, all_gaps in parts.items():
        gaps = [gap for gap in all_gaps if gap.id not in listed]
        listed |= {gap.id for gap in gaps}
        if not gaps:
            continue
        lines = [f"• {line(gap, showing, where)}" for gap in gaps[:MAX_GAPS]]
        if more := len(gaps) - len(lines):
            lines.append(f"… and {more} more")
        blocks += sections([f"*{title}*", *lines])
    blocks.append(context([f"All of them: `oncall gaps {domain.domain}`, or App Home for admins."]))
    return SlackMessage(
        text=f"Gaps in the documents of {sanitize_mrkdwn(domain.title)}", blocks=blocks
    )


def latest_planned(cron: str, time_zone: str, at: datetime) -> datetime:
    """The last planned time that is not later than `at`; UTC.

    A time that the clock skips in spring comes right after the change; one that comes twice in
    autumn counts the first time."""
    from croniter import croniter

    zone = ZoneInfo(time_zone)
    wall = at.astimezone(zone).replace(tzinfo=None)
    times = croniter(cron, wall + _CLOCK_CHANGE)
    last: datetime | None = None
    planned = wall
    while last is None or planned >= wall - _CLOCK_CHANGE:
        planned = times.get_prev(datetime)
        moment = planned.replace(tzinfo=zone).astimezone(UTC)
        if moment <= at and (last is None or moment > last):
            last = moment
    return last


def _key_of(planned: datetime) -> str:
    return f"{planned:%Y-%m-%dT%H:%M}"
