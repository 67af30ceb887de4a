"""Gaps as lines of Slack's mrkdwn. Pure, but for what it asks: who may see a channel."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from datetime import datetime

from bot.blocks.kit import LONGEST_WORDS, Json, context, link, section, short
from bot.blocks.sanitize.text import sanitize_mrkdwn, sanitize_plain
from bot.features.gaps.gap import Gap, UnansweredQuestion
from bot.features.gaps.questions import SAID, is_of_alerts
from config.domain import Domain

MaySee = Callable[[str], bool]
WhereIs = Callable[[Gap], tuple[str, str]]
"""A gap → address and name of the nearest place in the documents, as everybody may read them."""
MOST_SHOWN = 5
_LONGEST_TITLE = 150


def titled(gap: Gap, may_see: MaySee) -> str:
    """In the model's words or people's, as far as the reader may see them."""
    seen = gap.seen(may_see)
    if not seen:
        return f"_asked {_hidden(gap.questions)}_"
    leader = seen[0]
    said = leader.name if leader is gap.questions[0] and leader.name else leader.text
    return f"*{sanitize_mrkdwn(short(said, _LONGEST_TITLE))}*"


def counted(gap: Gap) -> str:
    """`asked 3 times by 2 people since 12 Nov`."""
    if is_of_alerts(gap.id):
        times = f"{gap.times} times since" if gap.times > 1 else "once,"
        return f"alert without a runbook, {times} {day(gap.since)}"
    times = "once" if gap.times == 1 else f"{gap.times} times by {_people(gap.people)}"
    return (
        f"asked {times} since {day(gap.since)}"
        if gap.times > 1
        else f"asked once, {day(gap.since)}"
    )


def line(gap: Gap, may_see: MaySee, where: WhereIs) -> str:
    parts = [counted(gap)]
    seen = gap.seen(may_see)
    hidden = [one for one in gap.questions if one not in seen]
    if seen and hidden:
        parts.append(f"{len(hidden)} of them {_hidden(hidden)}")
    address, place = where(gap)
    if place:
        parts.append(f"nearest: {link(address, short(place, 120))}")
    parts.append(SAID[gap.state])
    return f"{titled(gap, may_see)}\n{' · '.join(parts)}"


def blocks(domain: Domain, gaps: Sequence[Gap], may_see: MaySee, where: WhereIs) -> Iterator[Json]:
    """For App Home; nothing where there is no gap."""
    if not gaps:
        return
    title = f"{sanitize_plain(domain.title)}: gaps in the documents"
    yield {"type": "header", "text": {"type": "plain_text", "text": title[:150]}}
    shown = [line(gap, may_see, where) for gap in gaps[:MOST_SHOWN]]
    yield from in_sections([f"{number}. {one}" for number, one in enumerate(shown, start=1)])
    if more := len(gaps) - len(shown):
        yield context([f"{more} more: `oncall gaps {domain.domain}` lists them all."])


def in_sections(lines: Sequence[str]) -> Iterator[Json]:
    """As few as hold these lines whole: Slack takes so many characters of each, and no more."""
    text = ""
    for one in lines:
        if text and len(text) + 1 + len(one) > LONGEST_WORDS:
            yield section(text)
            text = ""
        text = f"{text}\n{one}" if text else one
    yield section(text)


def day(at: datetime) -> str:
    return f"{at.day} {at:%b}"


def _people(count: int) -> str:
    return "1 person" if count == 1 else f"{count} people"


def _hidden(asked: Collection[UnansweredQuestion]) -> str:
    """Where it was asked, for somebody who may not read it."""
    direct = sum(one.channel.startswith("D") for one in asked)
    if direct == len(asked):
        return "in a direct message" if direct == 1 else "in direct messages"
    if direct:
        return "in private channels and direct messages"
    return "in a private channel" if len(asked) == 1 else "in private channels"
