"""Who used a button, a form or the shortcut, and where; and what is shown to them at once."""

from __future__ import annotations

from typing import Any

import structlog

from bot.slack.client import SlackBusy, SlackClient, SlackRefused, SlackUnsure

log = structlog.get_logger()

Json = dict[str, Any]


def user_of(body: Json) -> str:
    return str((body.get("user") or {}).get("id") or "")


def team_of(body: Json) -> str:
    """Of the person; `team` is null where an app is installed for a whole organisation."""
    person, team = body.get("user") or {}, body.get("team") or {}
    return str(person.get("team_id") or team.get("id") or "")


def place_of(body: Json) -> tuple[str, str]:
    """Channel and thread of the message that was acted on; Slack leaves out what it can."""
    container, message = body.get("container") or {}, body.get("message") or {}
    channel = (body.get("channel") or {}).get("id") or container.get("channel_id")
    return str(channel or ""), str(message.get("thread_ts") or container.get("thread_ts") or "")


def posted_at(body: Json) -> str:
    """Timestamp of the message that was acted on."""
    message_ts = (body.get("container") or {}).get("message_ts")
    return str((body.get("message") or {}).get("ts") or message_ts or "")


def open_modal(web: SlackClient, body: Json, view: Json) -> None:
    try:
        web.once("views.open", trigger_id=body.get("trigger_id"), view=view)
    except (SlackRefused, SlackUnsure, SlackBusy) as error:
        log.warning("a modal did not open", reason=str(error))
        again = "Noted. The form did not open; please press the button again."
        whisper(web, user_of(body), *place_of(body), again)


def whisper(web: SlackClient, user: str, channel: str, thread_ts: str, text: str) -> None:
    try:
        web.once(
            "chat.postEphemeral",
            channel=channel,
            user=user,
            thread_ts=thread_ts or None,
            text=text,
        )
    except (SlackRefused, SlackUnsure, SlackBusy) as error:
        log.debug("a note was not shown", reason=str(error))
