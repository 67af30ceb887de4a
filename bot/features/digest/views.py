"""What a digest says of questions and hand-offs, as far as its reader may see them.

A digest as Slack shows it, within its limits. Pure."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence, Set
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from sqlalchemy import Engine, select

from bot.blocks.kit import Json, link, section, short
from bot.blocks.render import SlackMessage
from bot.blocks.sanitize.text import sanitize_mrkdwn
from bot.feature import DigestPart, WaitingForHuman
from bot.questions.outcomes import is_question, outcome, went_wrong
from bot.questions.store import QuestionRecord, QuestionStore
from bot.questions.tables import WITHDRAWN, FeedbackRow, QuestionRow
from bot.rotas.on_call import OnCall
from bot.rotas.rota import said_at
from bot.slack.messages import mention, permalink
from config.domain import Domain

MaySee = Callable[[str], bool]
"""Channel id → whether the reader may see what stands in it."""
LOOKED_AT = 1_000
"""Questions, the newest."""
OPEN_FOR = timedelta(days=30)
TEXT = 120
"""Characters of a question."""


@dataclass(frozen=True, kw_only=True)
class OpenQuestions:
    records: QuestionStore
    engine: Engine
    waiting: WaitingForHuman
    alerts: Callable[[str], Set[str]]
    """Domain name → ids of questions that are alerts of bots: they have a part of their own."""
    team_url: str

    def parts(self, domain: Domain, since: datetime, may_see: MaySee) -> Iterator[DigestPart]:
        """Those that say something, the most urgent first."""
        waiting = self.waiting(domain, OPEN_FOR)
        known = {record.id for record, _ in waiting}
        since = since.astimezone(UTC).replace(tzinfo=None)
        alerts = self.alerts(domain.domain)
        asked = [
            record
            for record in self.records.recent(domain=domain.domain, limit=LOOKED_AT)
            if record.asked_at >= since and record.id not in alerts
        ]
        unanswered = [one for one in asked if _is_unanswered(one) and one.id not in known]
        unhelped = [
            one
            for one in self._unhelped(domain, since)
            if one.id not in known and one not in unanswered
        ]
        asked = [one for one in asked if one not in unanswered]
        told = (
            ("Waiting for a human", waiting),
            ("Without an answer", list(_each_once(unanswered))),
            (
                "Answered, and not helped",
                [(one, "*Not helpful*, not resolved") for one in unhelped],
            ),
            ("Asked more than once", list(_repeated(asked, may_see))),
        )
        for title, found in told:
            part = DigestPart(
                title=title,
                lines=[self._line(*one) for one in found],
                places=[record.channel for record, _ in found],
            )
            if part.lines:
                yield as_read_by(part, may_see)

    def _unhelped(self, domain: Domain, since: datetime) -> list[QuestionRecord]:
        query = (
            select(QuestionRow.id)
            .join(FeedbackRow, FeedbackRow.question_id == QuestionRow.id)
            .where(QuestionRow.domain == domain.domain, QuestionRow.resolved_by == "")
            .where(QuestionRow.state != WITHDRAWN)
            .where(FeedbackRow.verdict == "unhelpful", FeedbackRow.given_at >= since)
        )
        with self.engine.connect() as connection:
            ids = sorted(set(connection.scalars(query)))
        return [record for one in ids if (record := self.records.get(one))]

    def _line(self, record: QuestionRecord, said: str) -> str:
        text = short(record.text, TEXT) or "a question asked long ago"
        return f"{link(permalink(self.team_url, record), text)} · {said}"


def as_read_by(part: DigestPart, may_see: MaySee) -> DigestPart:
    """What stands elsewhere is counted, never told."""
    if not part.places:
        return part
    seen = [_is_seen(place, may_see) for place in part.places]
    lines = [line for line, is_seen in zip(part.lines, seen, strict=True) if is_seen]
    if elsewhere := seen.count(False):
        more = " more" if lines else ""
        lines.append(f"{elsewhere}{more} in direct messages, or where not everyone here may read")
    return DigestPart(title=part.title, lines=lines)


def _is_seen(channel: str, may_see: MaySee) -> bool:
    return not channel.startswith("D") and may_see(channel)


def _is_unanswered(record: QuestionRecord) -> bool:
    return not record.resolved_by and (went_wrong(record) or record.state == "limited")


def _repeated(
    asked: Sequence[QuestionRecord], may_see: MaySee
) -> Iterator[tuple[QuestionRecord, str]]:
    """The last of each, the most often asked first; alike but for case and punctuation. Where else
    it was asked the count doesn't tell."""
    alike: dict[str, list[QuestionRecord]] = defaultdict(list)
    for record in asked:  # the newest first
        if is_question(record) and _is_seen(record.channel, may_see):
            alike[" ".join(re.findall(r"\w+", record.text.casefold()))].append(record)
    for records in sorted(alike.values(), key=len, reverse=True):
        if len(records) > 1:
            yield records[0], f"asked {len(records)} times"


def _each_once(unanswered: Sequence[QuestionRecord]) -> Iterator[tuple[QuestionRecord, str]]:
    """The last of each in its channel, and how often; alike as above."""
    alike: dict[tuple[str, ...], list[QuestionRecord]] = defaultdict(list)
    for record in unanswered:  # the newest first
        alike[record.channel, *re.findall(r"\w+", record.text.casefold())].append(record)
    for first, *more in alike.values():
        yield first, outcome(first) + (f", asked {len(more) + 1} times" if more else "")


MOST_LINES = 10
MOST_PARTS = 40
"""A message has 50 blocks."""
PART, WHOLE = 2_900, 11_000
"""Characters: a section has 3,000, and a message of several blocks fails near 13,200."""


def digest(
    domain: Domain, parts: Sequence[DigestPart], on_call: OnCall | None, *, to: str
) -> SlackMessage:
    """`on_call`: None where no rota can be read. `to`: a person or a channel."""
    title = f"*{sanitize_mrkdwn(domain.title)}: what is open*"
    head = title
    if line := _shift_line(domain, on_call, to):
        head += f"\n{line}"
    told = parts[:MOST_PARTS]
    room = min(PART, (WHOLE - len(head)) // max(1, len(told)))
    blocks: list[Json] = [section(head)]
    blocks += [section(part_text(part, room)) for part in told]
    names = ", ".join(part.title for part in told)
    return SlackMessage(text=f"{title}: {sanitize_mrkdwn(names)}"[:2_000], blocks=blocks)


def part_text(part: DigestPart, room: int) -> str:
    """Whole lines, as many as there is room for; then how many more there are."""
    title = f"*{sanitize_mrkdwn(part.title)}*"
    shown = list(_that_fit(part.lines, room - len(title) - 30))
    more = len(part.lines) - len(shown)
    rest = [f"and {more} more"] if more else []
    return "\n".join([title, *(f"• {line}" for line in shown), *rest])


def _that_fit(lines: Sequence[str], room: int) -> Iterator[str]:
    for line in lines[:MOST_LINES]:
        room -= len(line) + 3
        if room < 0:
            return
        yield line


def _shift_line(domain: Domain, on_call: OnCall | None, to: str) -> str:
    if on_call is None:
        broken = "The rota can't be read, so I can't say who is on call."
        return broken if domain.escalation.rota else ""
    until = (
        f"until {said_at(on_call.until, on_call.zone)} ({on_call.zone})" if on_call.until else ""
    )
    if on_call.named and not on_call.who:
        return f"The rota names somebody whom Slack doesn't know, {until}".rstrip(" ,") + "."
    if not on_call.who:
        return f"Nobody is on call {until}".strip() + "."
    if on_call.who == to:
        return f"Your shift: {until or 'it has no end yet'}"
    return f"{mention(on_call.who)} is on call {until}".strip() + "."
