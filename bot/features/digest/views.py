"""A digest as a Slack message, within Slack's limits. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from bot.blocks.kit import Json, section
from bot.blocks.render import SlackMessage
from bot.blocks.sanitize.text import sanitize_mrkdwn
from bot.feature import DigestPart
from bot.rotas.on_call import OnCall
from bot.rotas.rota import format_local
from bot.slack.messages import mention
from config.domain import Domain

MaySee = Callable[[str], bool]
"""Channel id → whether the reader may see its messages."""
MAX_LINES = 10
MAX_PARTS = 40
"""A message has 50 blocks."""
MAX_PART_CHARS, MAX_CHARS = 2_900, 11_000
"""A section has 3,000 characters, and a message of several blocks fails near 13,200."""


def digest(
    domain: Domain, parts: Sequence[DigestPart], on_call: OnCall | None, *, to: str
) -> SlackMessage:
    """`on_call`: None where no rota can be read. `to`: a person or a channel."""
    head = title = f"*{sanitize_mrkdwn(domain.title)}: what is open*"
    if line := _shift_line(domain, on_call, to):
        head += f"\n{line}"
    return _message(head, title, parts)


def open_parts(parts: Sequence[DigestPart]) -> SlackMessage:
    """What is open in the channel where it is posted."""
    title = "*Open in this channel*" if parts else "Nothing is open in this channel."
    return _message(title, title, parts)


def _message(head: str, title: str, parts: Sequence[DigestPart]) -> SlackMessage:
    parts = parts[:MAX_PARTS]
    room = min(MAX_PART_CHARS, (MAX_CHARS - len(head)) // max(1, len(parts)))
    blocks: list[Json] = [section(head), *(section(part_text(part, room)) for part in parts)]
    names = ", ".join(part.title for part in parts)
    text = f"{title}: {sanitize_mrkdwn(names)}" if names else title
    return SlackMessage(text=text[:2_000], blocks=blocks)


def part_text(part: DigestPart, room: int) -> str:
    """Whole lines, as many as fit `room` characters; then how many more there are."""
    title = f"*{sanitize_mrkdwn(part.title)}*"
    lines = list(_fitting(part.lines, room - len(title) - 30))
    more = len(part.lines) - len(lines)
    rest = [f"and {more} more"] if more else []
    return "\n".join([title, *(f"• {line}" for line in lines), *rest])


def visible_part(part: DigestPart, may_see: MaySee) -> DigestPart:
    """Lines of places that the reader may not see become a count."""
    if not part.places:
        return part
    visible = [is_visible(place, may_see) for place in part.places]
    lines = [line for line, show in zip(part.lines, visible, strict=True) if show]
    if elsewhere := visible.count(False):
        more = " more" if lines else ""
        lines.append(f"{elsewhere}{more} in direct messages, or where not everyone here may read")
    return DigestPart(title=part.title, lines=lines)


def part_of(part: DigestPart, channel: str) -> DigestPart:
    """Its lines of one channel."""
    pairs = zip(part.lines, part.places, strict=False)
    return DigestPart(title=part.title, lines=[line for line, place in pairs if place == channel])


def is_visible(channel: str, may_see: MaySee) -> bool:
    return not channel.startswith("D") and may_see(channel)


def _fitting(lines: Sequence[str], room: int) -> Iterator[str]:
    for line in lines[:MAX_LINES]:
        room -= len(line) + 3
        if room < 0:
            return
        yield line


def _shift_line(domain: Domain, on_call: OnCall | None, to: str) -> str:
    if on_call is None:
        broken = "The rota can't be read, so I can't say who is on call."
        return broken if domain.escalation.rota else ""
    until = ""
    if on_call.until:
        until = f"until {format_local(on_call.until, on_call.zone)} ({on_call.zone})"
    if on_call.named and not on_call.who:
        return f"The rota names somebody whom Slack doesn't know, {until}".rstrip(" ,") + "."
    if not on_call.who:
        return f"Nobody is on call {until}".strip() + "."
    if on_call.who == to:
        return f"Your shift: {until or 'it has no end yet'}"
    return f"{mention(on_call.who)} is on call {until}".strip() + "."
