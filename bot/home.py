"""App Home: for everybody what can be asked and their own questions; for admins how it goes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import structlog

from bot.blockkit import Json, age, context, link, section
from bot.defang import mrkdwn
from bot.feedback import Feedback, Verdicts
from bot.records import Record, Records, now
from bot.web import SlackBusy, SlackRefused, SlackUnsure, Web
from config.domain import Domain

log = structlog.get_logger()

WEEK = timedelta(days=7)


@dataclass(frozen=True, kw_only=True)
class IndexStatus:
    """What a domain answers from."""

    generation: int
    documents: int
    published_at: datetime | None = None
    failed: int = 0
    """Documents that the last ingestion could not read."""


StatusOf = Callable[[str], IndexStatus | None]
"""Domain name → its index; None when nothing was ever published."""


@dataclass(frozen=True, kw_only=True)
class Report:
    """A domain as its admins see it."""

    domain: Domain
    index: IndexStatus | None
    this_week: Verdicts
    last_week: Verdicts
    asked: int
    failing: Sequence[Record]


class Home:
    def __init__(
        self,
        web: Web,
        records: Records,
        feedback: Feedback,
        *,
        domains: Callable[[], Mapping[str, Domain]],
        status: StatusOf,
        team_url: str,
    ) -> None:
        self._web = web
        self._records = records
        self._feedback = feedback
        self._domains = domains
        self._status = status
        self._team_url = team_url.rstrip("/")

    def publish(self, user: str) -> None:
        """Show the user their home."""
        domains = list(self._domains().values())
        reports = [self._report(domain) for domain in domains if user in domain.admins]
        mine = self._records.recent(asker=user, limit=5)
        view = {
            "type": "home",
            "blocks": list(blocks(domains, reports, mine, self._team_url))[:100],
        }
        try:
            self._web.once("views.publish", user_id=user, view=view)
        except (SlackRefused, SlackUnsure, SlackBusy) as error:
            log.warning("the app home was not published", reason=str(error))

    def _report(self, domain: Domain) -> Report:
        today = now()
        recent = self._records.recent(domain=domain.domain, limit=200)
        failing = [
            record
            for record in recent
            if record.asked_at >= today - WEEK
            and (record.state == "failed" or record.confidence < 0.5)
            and not record.resolved_by
        ]
        return Report(
            domain=domain,
            index=self._status(domain.domain),
            this_week=self._feedback.verdicts(domain.domain, today - WEEK, today),
            last_week=self._feedback.verdicts(domain.domain, today - 2 * WEEK, today - WEEK),
            asked=self._records.count(today - WEEK, domain=domain.domain),
            failing=failing[:5],
        )


def blocks(
    domains: Sequence[Domain], reports: Sequence[Report], mine: Sequence[Record], team_url: str
) -> Iterator[Json]:
    """The home's blocks, at most a hundred."""
    yield {"type": "header", "text": {"type": "plain_text", "text": "What can I ask?"}}
    for domain in domains[:20]:
        channels = " ".join(f"<#{channel}>" for channel in domain.channels[:5])
        asked = "\n".join(f"• {mrkdwn(example.question)}" for example in domain.examples[:3])
        yield section(f"*{mrkdwn(domain.title)}* {channels}\n{asked}".strip())
    yield {"type": "header", "text": {"type": "plain_text", "text": "My recent questions"}}
    yield section(
        _questions(mine, team_url) or "None yet. Mention me in a channel, or write to me here."
    )
    for report in reports[:8]:
        yield {"type": "divider"}
        title = f"{report.domain.title}, for admins"
        yield {"type": "header", "text": {"type": "plain_text", "text": title[:150]}}
        yield section("\n".join(_facts(report)))
        if report.failing:
            yield section(f"*Failing this week*\n{_questions(report.failing, team_url)}")
    yield context(
        [
            "Answers come from your team's documents, with sources. "
            "Press *Not helpful* when one is wrong."
        ]
    )


def _facts(report: Report) -> Iterable[str]:
    index = report.index
    if index is None:
        yield ":warning: No documents yet. Run `oncall ingest " + report.domain.domain + "`"
    else:
        when = age(index.published_at, datetime.now(UTC)) or "no date"
        failed = f", {index.failed} could not be read" if index.failed else ""
        yield f"{index.documents} documents{failed} · generation {index.generation}, {when}"
    week, before = report.this_week, report.last_week
    yield f"{report.asked} questions in 7 days"
    yield (
        f"Helpful {week.helpful}, not helpful {week.unhelpful} "
        f"(the week before: {before.helpful}, {before.unhelpful})"
    )


def _questions(records: Sequence[Record], team_url: str) -> str:
    lines = []
    for record in records:
        words = " ".join(record.text.split())[:150] or "(no words)"
        where = permalink(team_url, record.channel, record.ts)
        lines.append(f"• {link(where, words)} · {_outcome(record)}")
    return "\n".join(lines)


def _outcome(record: Record) -> str:
    if record.resolved_by:
        return "resolved"
    if record.state == "failed":
        return f"failed, reference `{record.reference}`"
    if record.state == "posted":
        return f"answered, confidence {record.confidence:.0%}"
    return record.state


def permalink(team_url: str, channel: str, ts: str) -> str:
    return f"{team_url}/archives/{channel}/p{ts.replace('.', '')}" if team_url else ""
