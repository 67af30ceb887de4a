"""Where an answer was read, as lines that open it. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from agents.answer import Answer, Citation
from bot.message.blockkit import age, link, short

PICTURED = ":frame_with_picture: a model's description of a picture there"
LIMIT = 2_700
"""Characters of all lines; a section takes 3,000."""


def source_lines(answer: Answer, now: datetime) -> list[str]:
    """A heading, then a line for each place; empty without any.

    Citations of one place share a line: the same link twice tells nothing."""
    if answer.passages:
        return _fitting("*Passages shown*", [f"• {place(c, now)}" for c in answer.citations])
    if not answer.citations:
        return _fitting("*Nearest documents*", [f"• {place(c, now)}" for c in answer.nearest])
    numbers: dict[str, list[str]] = {}
    for citation in answer.citations:
        numbers.setdefault(place(citation, now), []).append(f"[{citation.number}]")
    return _fitting("*Sources*", [f"{' '.join(marks)} {where}" for where, marks in numbers.items()])


def place(citation: Citation, now: datetime, *, bold: bool = False) -> str:
    """A link to it, with page and age."""
    heading = citation.heading if citation.heading != citation.title else ""
    name = " › ".join(short(part, 120) for part in (citation.title, heading) if part)
    page = f"page {citation.page}" if citation.page else ""
    pictured = PICTURED if citation.from_picture else ""
    details = [part for part in (page, age(citation.modified_at, now), pictured) if part]
    opened = link(citation.url, name or citation.document)
    return " · ".join([f"*{opened}*" if bold else opened, *details])


def _fitting(heading: str, lines: Sequence[str]) -> list[str]:
    if not lines:
        return []
    shown, used = [heading], len(heading)
    for line in lines:
        if used + len(line) > LIMIT:
            shown.append(f"…and {len(lines) - len(shown) + 1} more")
            break
        shown.append(line)
        used += len(line) + 1
    return shown
