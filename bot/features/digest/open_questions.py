"""Questions and hand-offs that a digest lists, as far as its reader may see them."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence, Set
from dataclasses import dataclass
from datetime import datetime, timedelta

from bot.blocks.kit import link, short
from bot.feature import DigestPart, WaitingForHuman
from bot.features.digest.store import DigestStore
from bot.features.digest.views import MaySee, is_visible
from bot.questions.store import QuestionRecord, QuestionStore, is_question, outcome, went_wrong
from bot.slack.messages import permalink
from config.domain import Domain
from durable.database import naive_utc

MAX_QUESTIONS = 1_000
"""The newest ones are read."""
WAITING_WITHIN = timedelta(days=30)
MAX_QUESTION_CHARS = 120


@dataclass(frozen=True, kw_only=True)
class OpenQuestions:
    records: QuestionStore
    store: DigestStore
    waiting: WaitingForHuman
    alerts: Callable[[str], Set[str]]
    """Domain name → ids of questions that are alerts of bots: they have a part of their own."""
    team_url: str

    def parts(self, domain: Domain, since: datetime, may_see: MaySee) -> Iterator[DigestPart]:
        """Parts that have lines, the most urgent first, with the channel of each line."""
        waiting = self.waiting(domain, WAITING_WITHIN)
        waiting_ids = {record.id for record, _ in waiting}
        since = naive_utc(since)
        alerts = self.alerts(domain.domain)
        recent = [
            record
            for record in self.records.recent(domain=domain.domain, limit=MAX_QUESTIONS)
            if record.asked_at >= since and record.id not in alerts
        ]
        unanswered = [one for one in recent if _is_unanswered(one) and one.id not in waiting_ids]
        unhelpful = [
            record
            for one in self.store.unhelpful_answers(domain.domain, since)
            if (record := self.records.get(one))
            and record.id not in waiting_ids
            and record not in unanswered
        ]
        others = [one for one in recent if one not in unanswered]
        listed = (
            ("Waiting for a human", waiting),
            ("Without an answer", list(_each_once(unanswered))),
            (
                "Answered, and not helped",
                [(one, "*Not helpful*, not resolved") for one in unhelpful],
            ),
            ("Asked more than once", list(_repeated(others, may_see))),
        )
        for title, rows in listed:
            if rows:
                yield DigestPart(
                    title=title,
                    lines=[self._line(*row) for row in rows],
                    places=[record.channel for record, _ in rows],
                )

    def _line(self, record: QuestionRecord, status: str) -> str:
        text = short(record.text, MAX_QUESTION_CHARS) or "a question asked long ago"
        return f"{link(permalink(self.team_url, record), text)} · {status}"


def _is_unanswered(record: QuestionRecord) -> bool:
    return not record.resolved_by and (went_wrong(record) or record.state == "limited")


def _repeated(
    records: Sequence[QuestionRecord], may_see: MaySee
) -> Iterator[tuple[QuestionRecord, str]]:
    """The last of each repeated question, the most frequent first; case and punctuation don't
    count. `records`: newest first. Questions that the reader may not see are not counted."""
    alike: dict[str, list[QuestionRecord]] = defaultdict(list)
    for record in records:
        if is_question(record) and is_visible(record.channel, may_see):
            alike[_normalized(record.text)].append(record)
    for group in sorted(alike.values(), key=len, reverse=True):
        if len(group) > 1:
            yield group[0], f"asked {len(group)} times"


def _each_once(unanswered: Sequence[QuestionRecord]) -> Iterator[tuple[QuestionRecord, str]]:
    """The last of each question in its channel, and how often; compared as above."""
    alike: dict[tuple[str, str], list[QuestionRecord]] = defaultdict(list)
    for record in unanswered:
        alike[record.channel, _normalized(record.text)].append(record)
    for first, *more in alike.values():
        yield first, outcome(first) + (f", asked {len(more) + 1} times" if more else "")


def _normalized(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.casefold()))
