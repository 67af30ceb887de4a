"""The line above an alert's answer: how often it fired, and whether it is over. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any

from bot.blocks.kit import Json, local_time, section, short
from bot.blocks.sanitize.text import sanitize_mrkdwn
from bot.features.alerts.episodes import Episode, Tally

COURSE = "oncall_alert_course"
"""Id of the line's block."""
MAX_PLACES = 6
_MAX_BLOCKS, _MAX_CHARS = 50, 3_000
"""Of a message, and characters of a section."""


def with_course(
    blocks: Sequence[Mapping[str, Any]], tallies: Sequence[tuple[Episode, Tally]]
) -> list[Json]:
    """A message's blocks, as Slack returns them, with a new line; none where all fired once."""
    rest = [dict(block) for block in blocks if block.get("block_id") != COURSE]
    named = len(tallies) > 1
    lines = [line for episode, tally in tallies if (line := course(episode, tally, named=named))]
    if not lines or len(rest) >= _MAX_BLOCKS:
        return rest
    while len(text := "\n".join(lines)) > _MAX_CHARS:
        lines.pop()
    return [section(text, block_id=COURSE), *rest]


def course(episode: Episode, tally: Tally, *, named: bool = False) -> str:
    """mrkdwn; empty for an alert that fired once, as its own message says all."""
    parts = list(filter(None, (_state(episode, tally), _elsewhere(episode))))
    if not parts:
        return ""
    name = f"*{sanitize_mrkdwn(short(episode.name, 80))}*: " if named else ""
    return name + " · ".join(parts)


def _state(episode: Episode, tally: Tally) -> str:
    times = f"fired {tally.fired} times" if tally.fired > 1 else "fired once"
    if tally.resolved_at is not None:
        at, lasted = local_time(tally.resolved_at), _duration(tally.resolved_at - episode.began_at)
        return f":white_check_mark: *Resolved* {at}, after {lasted}; {times}"
    if tally.fired < 2 and not tally.over:
        return ""
    on = f", on {_listed(tally.firing)}" if tally.firing else ""
    over = f"; resolved on {_listed(tally.over)}" if tally.over else ""
    return f":rotating_light: *{times.capitalize()}*, last {local_time(tally.last_at)}{on}{over}"


def _elsewhere(episode: Episode) -> str:
    if not episode.elsewhere:
        return ""
    name = short(episode.name, 80).replace("`", "")
    return f"There is a runbook for `{sanitize_mrkdwn(name)}` in <#{episode.elsewhere}>"


def _listed(places: Sequence[str]) -> str:
    """`pod a, b and 3 more`; in full where one is a pod and the next a host."""
    kinds, more = {place.partition(" ")[0] for place in places}, len(places) - MAX_PLACES
    others = [place.partition(" ")[2] for place in places[1:]] if len(kinds) == 1 else places[1:]
    names = ", ".join(
        sanitize_mrkdwn(short(place, 60)) for place in [*places[:1], *others][:MAX_PLACES]
    )
    return f"{names} and {more} more" if more > 0 else names


def _duration(span: timedelta) -> str:
    """`17 min`, `2 h 5 min`, `3 days`."""
    minutes = max(0, round(span.total_seconds() / 60))
    if minutes < 1:
        return "less than a minute"
    if minutes < 60:
        return f"{minutes} min"
    if minutes < 48 * 60:
        hours, rest = divmod(minutes, 60)
        return f"{hours} h {rest} min" if rest else f"{hours} h"
    return f"{minutes // (24 * 60)} days"
