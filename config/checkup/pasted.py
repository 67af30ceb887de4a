"""What people paste where a secret, a channel or a folder is asked for."""

from __future__ import annotations

import re

from config.domain import drive_id_of
from config.slack_ids import CHANNEL

_QUOTES = "\"'`“”‘’"
_INVISIBLE = dict.fromkeys(map(ord, "\u200b\u200c\u200d\u2060\ufeff"))
_ASSIGNED = re.compile(r"(?:export\s+)?[A-Z][A-Z0-9_]+\s*=\s*(?=\S)")
_CHANNEL_LINK = re.compile(rf"(?:/archives/|/client/[TE][A-Z0-9]+/|<#)({CHANNEL})")

_BOT_TOKEN_AT = "api.slack.com/apps › your app › Install App › Bot User OAuth Token"  # noqa: S105 - where it stands
_APP_TOKEN_AT = "api.slack.com/apps › your app › Basic Information › App-Level Tokens"  # noqa: S105
WHERE = {"SLACK_BOT_TOKEN": _BOT_TOKEN_AT, "SLACK_APP_TOKEN": _APP_TOKEN_AT}
"""Variable → where Slack shows it."""
_STARTS = {"SLACK_BOT_TOKEN": "xoxb-", "SLACK_APP_TOKEN": "xapp-"}
_KINDS = (
    (r"xoxb-", "a bot token"),
    (r"xapp-", "an app-level token"),
    (r"xoxp-", "a person's token"),
    (r"xoxe", "a token of an app with token rotation, which ends after some hours"),
    (r"xox[a-z]-", "a token of another kind"),
    (r"[0-9a-f]{32}$", "a signing secret, client secret or the like"),
    (r"[0-9]+\.[0-9]+$", "a client id"),
    (r"A[A-Z0-9]{8,}$", "the app's id"),
    (r"https?://", "an address"),
)


def bare(text: str) -> str:
    """Without what comes along when something is copied: blanks, quotes, `NAME=` before it."""
    text = text.translate(_INVISIBLE).strip()
    text = _ASSIGNED.sub("", text, count=1) if _ASSIGNED.match(text) else text
    return text.strip().strip(_QUOTES).strip()


def misplaced(variable: str, token: str) -> str:
    """Why this can't be the token that the variable is for; empty when it may be.

    Never says the token itself, nor a part of it."""
    start = _STARTS[variable]
    if re.search(r"…|\.\.\.|your|<.*>", token):
        return "that is a placeholder"
    if any(mark.isspace() for mark in token):
        return "there is a blank or a line break inside it: it was not copied whole"
    if not token.isascii():
        return "there are characters in it that no token has"
    if token.startswith(start):
        return "" if len(token) >= len(start) + 10 else "it was not copied whole"
    kind = next((kind for shape, kind in _KINDS if re.match(shape, token)), "no token of Slack")
    return f"that is {kind}"


def token_remedy(variable: str) -> str:
    return f"copy the one that begins with {_STARTS[variable]}: {WHERE[variable]}"


def channel_id_in(text: str) -> str:
    """The id that was pasted alone, in a link or in a mention; empty for a name."""
    text = bare(text)
    if re.fullmatch(CHANNEL, text):
        return text
    found = _CHANNEL_LINK.search(text)
    return found[1] if found else ""


def drive_id_in(text: str) -> str:
    """The id of a folder or document, pasted alone or in its address; empty for neither."""
    return drive_id_of(bare(text))
