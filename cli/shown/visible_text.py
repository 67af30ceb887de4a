"""Text of others on a terminal, which obeys control characters."""

from __future__ import annotations

_OBEYED = {code: " " for code in (*range(32), *range(127, 160)) if chr(code) not in "\n\t"}


def visible(text: str) -> str:
    """Without what would move the cursor, colour the screen or name a window."""
    return text.translate(_OBEYED)
