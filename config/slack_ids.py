"""Shapes of Slack's ids, as regular expressions without anchors or groups."""

from __future__ import annotations

CHANNEL = "[CG][A-Z0-9]{4,}"
"""G: an older private channel."""
USER = "[UW][A-Z0-9]{3,}"
"""W: of an organisation on Enterprise Grid."""
GROUP = "S[A-Z0-9]{3,}"
BOT = "[BAUW][A-Z0-9]{3,}"

PINGED_IN_PROSE = r"[UWS][A-Z0-9]{6,}\b"
"""Whom an `@` in prose may ping: ids are this long, and what is shorter is a word in capitals."""
ON_CALL = r"[UWS](?:[0-9][A-Z0-9]{2,}|(?=[A-Z]*[0-9])[A-Z0-9]{5,})"
"""A user or group where it stands alone: with a digit, which SUPPORT and WEEKEND lack."""
ON_CALL_IN_PROSE = r"\b[UWS][0-9][A-Z0-9]{4,}\b"
"""As Slack makes ids today, `U0…`: no word of a calendar looks so."""
MAYBE_ON_CALL_IN_PROSE = r"\b[UWS](?=[A-Z]*[0-9])[A-Z0-9]{6,}\b"
"""As Slack once made ids, `UG4KX7Q2P`; SPRINT42 looks so too."""
MENTION = r"<(?:@|!subteam\^)([UWS][A-Z0-9]{3,})(?:\|[^<>]*+)?>"
"""The id is its group."""
EMAIL = r"(?<![\w.+-])[\w.+-]++@[\w-]+(?:\.[\w-]+)+"
"""Slack finds its members by their address, too."""
