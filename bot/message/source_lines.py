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
    """A heading, then a line for each place, those of one document together; empty without any.

    A document says its title and age once, and a place comes once: twice tells nothing."""
    if answer.passages:
        return _fitting("*Passages shown*", _lines(answer.citations, now, numbered=False))
    if not answer.citations:
        return _fitting("*Nearest documents*", _lines(answer.nearest, now, numbered=False))
    return _fitting("*Sources*", _lines(answer.citations, now, numbered=True))


def place(citation: Citation, now: datetime, *, bold: bool = False, dated: bool = True) -> str:
    """A link to it, with page and, unless it was told before, age."""
    opened = link(citation.url, place_name(citation))
    told = age(citation.modified_at, now) if dated else ""
    details = [part for part in (_page(citation), told, _pictured(citation)) if part]
    return " · ".join([f"*{opened}*" if bold else opened, *details])


def place_name(citation: Citation) -> str:
    """Title and heading."""
    parts = (citation.title, _heading(citation))
    return " › ".join(short(part, 120) for part in parts if part) or citation.document


def _lines(citations: Sequence[Citation], now: datetime, *, numbered: bool) -> list[str]:
    documents: dict[str, dict[str, list[Citation]]] = {}
    for one in citations:
        # What a tool said is of no document, and comes under its own title.
        places = documents.setdefault(one.document or one.title, {})
        key = f"{one.url} {_heading(one)} {one.page} {one.from_picture}"
        places.setdefault(key, []).append(one)
    lines = []
    for places in documents.values():
        for number, same in enumerate(places.values()):
            mark = " ".join(f"[{one.number}]" for one in same) if numbered else "•"
            lines.append(f"{mark} {_further(same[0]) if number else place(same[0], now)}")
    return lines


def _further(citation: Citation) -> str:
    """Another place in the document of the line above."""
    opened = link(citation.url, f"… › {short(_heading(citation) or citation.title, 120)}")
    return " · ".join(part for part in (opened, _page(citation), _pictured(citation)) if part)


def _heading(citation: Citation) -> str:
    return citation.heading if citation.heading != citation.title else ""


def _page(citation: Citation) -> str:
    return f"page {citation.page}" if citation.page else ""


def _pictured(citation: Citation) -> str:
    return PICTURED if citation.from_picture else ""


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
