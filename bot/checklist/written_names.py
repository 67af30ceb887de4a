"""What people are called, written out."""

from __future__ import annotations

from bot.slack.message_words import ERASED
from bot.slack.web import SlackBusy, SlackRefused, SlackUnsure, Web

NOBODY_KNOWN = "somebody"


def written_name(web: Web, user: str) -> str:
    """The name on somebody's profile; `somebody` where they were erased, or Slack won't say."""
    if not user or user == ERASED:
        return NOBODY_KNOWN
    try:
        found = web.call("users.info", patience=30.0, user=user).get("user") or {}
    except (SlackRefused, SlackBusy, SlackUnsure):
        return NOBODY_KNOWN
    profile = found.get("profile") or {}
    return str(
        profile.get("real_name") or found.get("real_name") or found.get("name") or NOBODY_KNOWN
    )
