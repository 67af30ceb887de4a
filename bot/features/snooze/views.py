"""A snooze's form, its line in the thread, and the message that ends it early. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from bot.blocks.kit import (
    Json,
    actions,
    button,
    context,
    input_block,
    local_date_time,
    local_time,
    modal,
    radio_buttons,
    section,
    short,
    text_input,
)
from bot.blocks.render import SlackMessage
from bot.blocks.sanitize.text import sanitize_mrkdwn, sanitize_plain
from bot.features.snooze.waking import End, Snooze, Waking
from bot.rotas.on_call import OnCall
from bot.rotas.rota import format_local
from durable.database import naive_utc

SNOOZE, STOP, FORM = "alert_snooze", "alert_snooze_end", "alert_snooze_form"
HOURS: Mapping[str, str] = {"1": "1 hour", "4": "4 hours"}
MAX_KINDS = 10
"""Options of Slack's radio buttons."""
MAX_REASON, MAX_SHIFT = 300, timedelta(days=7)
AGAIN = "That didn't work just now. Please press the button again."
NOT_YOURS = "Only people who may ask here can snooze an alert."
PAST = "That shift is over already, so nothing is snoozed."
_SIGN = ":hourglass_flowing_sand:"
_RULE = (
    "Counted, not answered. It ends early on a higher severity, another place or twice the rate. "
    "The alert tool itself goes on."
)


@dataclass(frozen=True, kw_only=True)
class Meanwhile:
    """What became of the alert during a snooze."""

    fired: int
    resolved_at: datetime | None


def form(
    alerts: Mapping[str, str], running: Sequence[Snooze], shift: Mapping[str, str], remember: str
) -> Json:
    """`alerts`: key of a kind → name; `shift`: the option of the shift's end, if there is one."""
    names = {key: sanitize_plain(name) for key, name in list(alerts.items())[:MAX_KINDS]}
    blocks = [input_block("alert", "Which alert?", radio_buttons(names), optional=False)]
    if running:
        lines = [f"{_named(one)} is snoozed until {_time(one)}: a new one replaces it."
                 for one in running]  # fmt: skip
        blocks.append(context(lines))
    reason = {**text_input(multiline=False), "max_length": MAX_REASON}
    blocks += [
        input_block("until", "How long?", radio_buttons({**HOURS, **shift}), optional=False),
        input_block("reason", "Why?", reason, optional=False, hint="Everybody here can read it."),
    ]
    return modal(
        FORM, "Snooze an alert", blocks, remember=remember, submit="Snooze", close="Cancel"
    )


def shift_option(shift: OnCall | None, user: str, at: datetime) -> dict[str, str]:
    """The end of the shift that somebody has now: its time → its text; empty without one, and for
    one that lasts too long. `at`: aware."""
    if shift is None or not shift.named or shift.until is None or shift.until - at > MAX_SHIFT:
        return {}
    whose = "my" if shift.who == user else "the"
    until = f"{format_local(shift.until, shift.zone)} ({shift.zone})"
    return {naive_utc(shift.until).isoformat(): f"Until {whose} shift ends, {until}"}


def line(snooze: Snooze, name: str) -> SlackMessage:
    """`name`: mrkdwn of whoever snoozed it."""
    text = f"{_SIGN} {snoozed(snooze, name)}"
    end = actions([button("End snooze", STOP, snooze.id)])
    return SlackMessage(text=text, blocks=[section(text), context([_RULE]), end])


def ended_line(snooze: Snooze, name: str, by: str, end: End, meanwhile: Meanwhile) -> SlackMessage:
    """In place of the line. `name`, `by`: mrkdwn of who snoozed it, and of who ended it."""
    how = {
        "time": "The snooze is over",
        "person": f"{by} ended the snooze",
        "replaced": "Another snooze took its place",
    }.get(end, "The snooze ended early")
    text = f"{_SIGN} {snoozed(snooze, name)}\n{how}; {_counted(meanwhile)}."
    return SlackMessage(text=text, blocks=[section(text)])


def waking_message(snooze: Snooze, waking: Waking, whom: str, meanwhile: Meanwhile) -> SlackMessage:
    """`whom`: mrkdwn that mentions whoever snoozed it; empty for nobody."""
    lead, counted = f":rotating_light: {whom}".strip(), _times(meanwhile.fired)
    text = f"{lead} {_named(snooze)} is no longer snoozed: {_why(waking)}. "
    text += f"During the snooze it {counted}."
    return SlackMessage(text=text, blocks=[section(text)])


def snoozed(snooze: Snooze, name: str) -> str:
    """mrkdwn."""
    reason = sanitize_mrkdwn(short(snooze.reason, MAX_REASON))
    return f"{_named(snooze)} snoozed by {name} until {_time(snooze)}: {reason}"


def _why(waking: Waking) -> str:
    before, after = _quoted(waking.before), _quoted(waking.after)
    if waking.end == "place":
        return f"it fires on {after}, where it didn't fire before"
    if waking.end == "rate":
        return f"it fired {waking.after}, and before the snooze {waking.before}"
    if not waking.before:
        return f"it says severity {after}, and said none before"
    change = "rose" if waking.is_higher else "changed"
    return f"its severity {change} from {before} to {after}"


def _quoted(text: str) -> str:
    return f"*{sanitize_mrkdwn(short(text.replace('*', ''), 80))}*" if text else ""


def _named(snooze: Snooze) -> str:
    return f"`{sanitize_mrkdwn(short(snooze.name, 80).replace('`', ''))}`"


def _counted(meanwhile: Meanwhile) -> str:
    text = f"it {_times(meanwhile.fired)} meanwhile"
    if meanwhile.resolved_at is None:
        return text
    return f"{text}, and was resolved at {local_time(meanwhile.resolved_at)}"


def _times(fired: int) -> str:
    if not fired:
        return "didn't fire"
    return "fired once" if fired == 1 else f"fired {fired} times"


def _time(snooze: Snooze) -> str:
    """With the day where it isn't within a day of the beginning."""
    is_near = snooze.until - snooze.since < timedelta(hours=20)
    return local_time(snooze.until) if is_near else local_date_time(snooze.until)
