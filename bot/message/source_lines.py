"""Where an answer was read, as lines that open it. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from agents.answer import Answer, Citation
from bot.message.blockkit import age, link, short

LIMIT = 2_700
"""Characters of all lines; a section takes 3,000."""


def source_lines(answer: Answer, now: datetime) -> list[str]:
    """A heading, then a line for each place; empty without any.

    Citations of one place share a line: the same link twice tells nothing."""
    if not answer.citations:
        return _fitting("*Nearest documents*", [f"• {_place(c, now)}" for c in answer.nearest])
    numbers: dict[str, list[str]] = {}
    for citation in answer.citations:
        numbers.setdefault(_place(citation, now), []).append(f"[{citation.number}]")
    return _fitting("*Sources*", [f"{' '.join(marks)} {place}" for place, marks in numbers.items()])


def _place(citation: Citation, now: datetime) -> str:
    heading = citation.heading if citation.heading != citation.title else ""
    name = " › ".join(short(part, 120) for part in (citation.title, heading) if part)
    page = f"page {citation.page}" if citation.page else ""
    details = [part for part in (page, age(citation.modified_at, now)) if part]
    return " · ".join([link(citation.url, name or citation.document), *details])


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
