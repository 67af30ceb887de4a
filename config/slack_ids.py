"""Shapes of Slack's ids, as regular expressions without anchors or groups."""

from __future__ import annotations

CHANNEL = "[CG][A-Z0-9]{4,}"
"""G: an older private channel."""
USER = "[UW][A-Z0-9]{3,}"
"""W: of an organisation on Enterprise Grid."""
GROUP = "S[A-Z0-9]{3,}"
BOT = "[BAUW][A-Z0-9]{3,}"

PINGED_IN_PROSE = r"[UWS][A-Z0-9]{6,}\b"
"""Whom an `@` in prose may ping: real ids are this long, and shorter words in capitals are words."""
ON_CALL_IN_PROSE = r"\b(?:[US]|W(?=[A-Z]*[0-9]))[A-Z0-9]{6,}\b"
"""A user or group in a calendar. WEEKEND and WEEKDAY, which stand there too, are nobody's id."""
