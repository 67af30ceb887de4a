"""A digest as Slack shows it, within its limits. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from bot.feature import DigestPart
from bot.handoff.known_rotas import said_at
from bot.handoff.whom_to_call import OnCall
from bot.message.blockkit import Json, section
from bot.message.harmless.harmless_words import mrkdwn
from bot.message.render import Outgoing
from bot.slack.message_words import mention
from config.domain import Domain

MOST_LINES = 10
MOST_PARTS = 40
"""A message has 50 blocks."""
PART, WHOLE = 2_900, 11_000
"""Characters: a section has 3,000, and a message of several blocks fails near 13,200."""


def digest(
    domain: Domain, parts: Sequence[DigestPart], on_call: OnCall | None, *, to: str
) -> Outgoing:
    """`on_call`: None where no rota can be read. `to`: a person or a channel."""
    title = f"*{mrkdwn(domain.title)}: what is open*"
    head = title
    if line := _shift_line(domain, on_call, to):
        head += f"\n{line}"
    told = parts[:MOST_PARTS]
    room = min(PART, (WHOLE - len(head)) // max(1, len(told)))
    blocks: list[Json] = [section(head)]
    blocks += [section(part_text(part, room)) for part in told]
    names = ", ".join(part.title for part in told)
    return Outgoing(text=f"{title}: {mrkdwn(names)}"[:2_000], blocks=blocks)


def part_text(part: DigestPart, room: int) -> str:
    """Whole lines, as many as there is room for; then how many more there are."""
    title = f"*{mrkdwn(part.title)}*"
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
