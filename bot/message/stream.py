"""What can be shown of a text that is still being written. Pure."""

from __future__ import annotations

from typing import Any, Literal


def safe_end(text: str) -> int:
    """How much of a growing text can be shown: up to the last space outside a link or mention
    that may still be unfinished."""
    end = max(text.rfind(" "), text.rfind("\n")) + 1
    line = text.rfind("\n", 0, end) + 1
    for opener, closer in (("<", ">"), ("[", ")"), ("`", "`")):
        at = text.rfind(opener, line, end)
        if at >= 0 and text.find(closer, at + 1, end) < 0 and not _is_citation(text, at):
            end = min(end, at)
    return end


def _is_citation(text: str, at: int) -> bool:
    close = text.find("]", at)
    return close > 0 and text[at + 1 : close].isdigit() and text[close + 1 : close + 2] != "("


def task(status: str, state: Literal["in_progress", "complete"]) -> dict[str, Any]:
    """A chunk that says what is being done, or was."""
    title = status if state == "in_progress" else status.rstrip("….")
    return {"type": "task_update", "id": "progress", "title": title[:250], "status": state}


def words(text: str) -> dict[str, Any]:
    """A chunk of the answer."""
    return {"type": "markdown_text", "text": text}
