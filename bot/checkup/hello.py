"""The bot introduces itself in a channel, once."""

from __future__ import annotations

from bot.checkup.slack_checks import PATIENCE, SlackApp
from bot.message.harmless.harmless_words import mrkdwn
from bot.slack.web import SlackBusy, SlackRefused, SlackUnsure
from config.errors import CopilotError

SAID_HELLO = "oncall_hello"
"""The event type in the message's metadata, by which it is found again."""
LOOKED_AT = 100
"""Messages of the channel."""


def say_hello(app: SlackApp, channel: str, *, title: str, documents: int) -> bool:
    """False when it has already said so. Raises CopilotError."""
    try:
        told = app.web.call(
            "conversations.history",
            patience=PATIENCE,
            channel=channel,
            limit=LOOKED_AT,
            include_all_metadata=True,
        )
        kinds = {
            (one.get("metadata") or {}).get("event_type")
            for one in told.get("messages") or []
            if one.get("bot_id") == app.identity.bot
        }
        if SAID_HELLO in kinds:
            return False
        count = "one document" if documents == 1 else f"{documents} documents"
        app.web.once(
            "chat.postMessage",
            channel=channel,
            text=f"Hello! I answer questions here from {count} ({mrkdwn(title)}), and say where I "
            f"read it. Mention me with yours: <@{app.identity.user}>",
            metadata={"event_type": SAID_HELLO, "event_payload": {"channel": channel}},
        )
    except (SlackRefused, SlackUnsure, SlackBusy) as error:
        raise CopilotError(f"no hello in the channel: {error}", remedy="try again") from error
    return True
