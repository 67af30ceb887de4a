"""App Home: what a person can ask, their own questions, and reports for admins. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass
from datetime import UTC, datetime

from bot.blocks.kit import Json, age, button, context, link, section, short, text_object
from bot.blocks.sanitize.text import sanitize_mrkdwn, sanitize_plain
from bot.feature import Verdicts
from bot.questions.store import QuestionRecord, outcome
from bot.slack.messages import permalink
from config.domain import Domain

EXAMPLE = "ask_example"
EXAMPLES = 3
"""Per domain, where there are few domains."""
MAX_DOMAINS = 20
MAX_EXAMPLES = 45
"""A home has a hundred blocks."""


@dataclass(frozen=True, kw_only=True)
class IndexStatus:
    """The index of a domain."""

    generation: int
    documents: int
    published_at: datetime | None = None
    refreshed: str = ""
    """The last run and the next, in a line."""
    problems: Sequence[str] = ()
    """Problems of the last runs, for admins."""


@dataclass(frozen=True, kw_only=True)
class Report:
    """A domain as its admins see it."""

    domain: Domain
    index: IndexStatus | None
    this_week: Verdicts
    last_week: Verdicts
    questions: int
    passages: int
    """Questions whose answer was passages only."""
    failing: Sequence[QuestionRecord]
    readable: Set[str]
    """Channels whose questions this admin may read."""
    problems: Sequence[str] = ()
    """Missing Slack permissions, with the remedy."""


@dataclass(frozen=True, kw_only=True)
class Offered:
    """A domain that the viewer may ask, with questions to begin with."""

    domain: Domain
    questions: Sequence[str]


@dataclass(frozen=True, kw_only=True)
class JustAsked:
    """A question that the viewer chose here, and where its answer appears."""

    question: str
    address: str
    """Opens the conversation; empty while the question isn't posted."""


def blocks(
    offered: Sequence[Offered],
    reports: Sequence[Report],
    mine: Sequence[QuestionRecord],
    team_url: str,
    why_not: str = "",
    just_asked: JustAsked | None = None,
    more: Sequence[Json] = (),
) -> Iterator[Json]:
    """`why_not`: why nothing is offered. `more`: blocks of other features, below the reports."""
    yield {"type": "header", "text": {"type": "plain_text", "text": "What can I ask?"}}
    if just_asked:
        yield _just_asked(just_asked)
    if why_not:
        yield section(why_not)
    yield from _examples(offered[:MAX_DOMAINS])
    yield {"type": "header", "text": {"type": "plain_text", "text": "My recent questions"}}
    none_yet = "None yet. Mention me in a channel, or write to me under *Messages*."
    none = "The first one is on its way." if just_asked else none_yet
    yield section(_questions(mine, team_url, readable=None) or none)
    for report in reports[:8]:
        yield {"type": "divider"}
        title = f"{sanitize_plain(report.domain.title)}, for admins"
        yield {"type": "header", "text": {"type": "plain_text", "text": title[:150]}}
        yield {"type": "section", "fields": [text_object(fact) for fact in _facts(report)]}
        if report.index and report.index.problems:
            lines = [f":warning: {sanitize_mrkdwn(one)}" for one in report.index.problems[:5]]
            yield section("\n".join(lines))
        if report.problems:
            lines = [f":warning: {sanitize_mrkdwn(short(one, 400))}" for one in report.problems[:5]]
            yield section("\n".join(lines))
        if report.failing:
            failing = _questions(report.failing, team_url, readable=report.readable)
            yield section(f"*Failing this week*\n{failing}")
    yield from more[:40]
    yield context(
        [
            "Answers come from your team's documents, with sources. "
            "Press *Not helpful* when one is wrong."
        ]
    )


def _examples(offered: Sequence[Offered]) -> Iterator[Json]:
    """A button next to each question: a longer question would be cut as the button's label."""
    each = max(1, min(EXAMPLES, MAX_EXAMPLES // max(1, len(offered))))
    for place, one in enumerate(offered):
        channels = " ".join(f"<#{channel}>" for channel in one.domain.channels[:5])
        yield section(f"*{sanitize_mrkdwn(one.domain.title)}* {channels}".strip())
        for number, question in enumerate(one.questions[:each]):
            value = json.dumps({"domain": one.domain.domain, "question": question})
            label = f"Ask: {sanitize_plain(short(question, 60))}"
            ask = button("Ask", f"{EXAMPLE}_{place}_{number}", value, accessibility_label=label)
            yield section(sanitize_mrkdwn(short(question, 300)), accessory=ask)
    if any(one.questions for one in offered):
        yield context(["The answer comes as a direct message, under *Messages*."])


def _just_asked(question: JustAsked) -> Json:
    text = sanitize_mrkdwn(short(question.question, 200))
    where = link(question.address, "Open the answer in Messages") if question.address else ""
    return section(
        f"You asked: *{text}*\n{where or 'The answer is on its way.'}",
        block_id="oncall_just_asked",
    )


def _facts(report: Report) -> Iterator[str]:
    index, week, before = report.index, report.this_week, report.last_week
    if index is None:
        yield f"*Documents*\n:warning: None yet. Run `oncall ingest {report.domain.domain}`"
    else:
        yield f"*Documents*\n{index.documents}"
        when = age(index.published_at, datetime.now(UTC)).removeprefix("updated ") or "unknown"
        yield f"*Last change*\n{when} (generation {index.generation})"
        if index.refreshed:
            yield f"*Refreshed*\n{sanitize_mrkdwn(index.refreshed)}"
    passages = f" ({report.passages} of them given passages only)" if report.passages else ""
    yield f"*Asked in 7 days*\n{report.questions}{passages}"
    yield (
        f"*Feedback in 7 days*\n{week.helpful} helpful, {week.unhelpful} not\n"
        f"(the week before: {before.helpful} and {before.unhelpful})"
    )


def _questions(
    records: Sequence[QuestionRecord], team_url: str, *, readable: Set[str] | None
) -> str:
    """One line each. `readable`: channels whose questions are visible; None for the viewer's own
    questions. Others' direct messages stay between them and the bot."""
    lines = []
    for record in records:
        if readable is None or record.channel in readable:
            label = link(permalink(team_url, record), short(record.text, 150))
        elif record.channel.startswith("D"):
            label = "a direct message"
        else:
            label = "a channel that you are not in"
        lines.append(f"• {label} · {outcome(record)}")
    return "\n".join(lines)
