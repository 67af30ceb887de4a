"""Gaps as Slack mrkdwn. Pure, but for asking what the reader may see."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from datetime import datetime

from bot.blocks.kit import MAX_TEXT_CHARS, Json, context, link, section, short
from bot.blocks.sanitize.text import sanitize_mrkdwn, sanitize_plain
from bot.features.gaps.gap import Gap, UnansweredQuestion
from bot.features.gaps.questions import STATE_LABELS, is_of_alerts
from bot.showing import Showing
from config.domain import Domain

WhereIs = Callable[[Gap], tuple[str, str]]
"""A gap → address and name of the nearest place in the documents, as everyone may read them."""
MAX_GAPS = 5
_MAX_TITLE_CHARS = 150


def title(gap: Gap, showing: Showing) -> str:
    """The model's name for it or a question's text, as far as the reader may see it."""
    visible = gap.visible_questions(showing.reader)
    if not visible:
        return f"_asked {_hidden(gap.questions)}_"
    leader = visible[0]
    words = leader.named if leader is gap.questions[0] else leader.words
    text = showing.text(words) if words else ""
    return f"*{sanitize_mrkdwn(short(text, _MAX_TITLE_CHARS))}*"


def summary(gap: Gap) -> str:
    """`asked 3 times by 2 people since 12 Nov`."""
    if is_of_alerts(gap.id):
        times = f"{gap.times} times since" if gap.times > 1 else "once,"
        return f"alert without a runbook, {times} {short_date(gap.since)}"
    if gap.times == 1:
        return f"asked once, {short_date(gap.since)}"
    return f"asked {gap.times} times by {people(gap.people)} since {short_date(gap.since)}"


def people(count: int) -> str:
    return "1 person" if count == 1 else f"{count} people"


def line(gap: Gap, showing: Showing, where: WhereIs) -> str:
    parts = [summary(gap)]
    visible = gap.visible_questions(showing.reader)
    hidden = [one for one in gap.questions if one not in visible]
    if visible and hidden:
        parts.append(f"{len(hidden)} of them {_hidden(hidden)}")
    address, place = where(gap)
    if place and showing.names(gap.domain, gap.document):
        parts.append(f"nearest: {link(address, short(place, 120))}")
    parts.append(STATE_LABELS[gap.state])
    return f"{title(gap, showing)}\n{' · '.join(parts)}"


def home_blocks(
    domain: Domain, gaps: Sequence[Gap], showing: Showing, where: WhereIs
) -> Iterator[Json]:
    """Blocks for App Home; none without a gap."""
    if not gaps:
        return
    yield header(domain)
    lines = [line(gap, showing, where) for gap in gaps[:MAX_GAPS]]
    yield from sections([f"{number}. {one}" for number, one in enumerate(lines, start=1)])
    if more := len(gaps) - len(lines):
        yield context([f"{more} more: `oncall gaps {domain.domain}` lists them all."])


def header(domain: Domain) -> Json:
    text = f"{sanitize_plain(domain.title)}: gaps in the documents"
    return {"type": "header", "text": {"type": "plain_text", "text": text[:150]}}


def sections(lines: Sequence[str]) -> Iterator[Json]:
    """As few sections as possible: Slack limits the characters of each. No line is cut."""
    text = ""
    for one in lines:
        if text and len(text) + 1 + len(one) > MAX_TEXT_CHARS:
            yield section(text)
            text = ""
        text = f"{text}\n{one}" if text else one
    yield section(text)


def short_date(at: datetime) -> str:
    return f"{at.day} {at:%b}"


def _hidden(questions: Collection[UnansweredQuestion]) -> str:
    """The channels of hidden questions, for a reader who may not see the questions."""
    direct = sum(one.channel.startswith("D") for one in questions)
    if direct == len(questions):
        return "in a direct message" if direct == 1 else "in direct messages"
    if direct:
        return "in private channels and direct messages"
    return "in a private channel" if len(questions) == 1 else "in private channels"
