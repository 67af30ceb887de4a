"""Where an answer was read, as lines that open it. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from agents.answer import Answer, Citation
from bot.message.blockkit import age, link, short
from bot.message.harmless.harmless_words import mrkdwn

PICTURED = ":frame_with_picture: a picture there"
DESCRIBED = f"{PICTURED}, as a model described it"
"""Above a passage; an answer says so in its own words."""
LIMIT = 2_700
"""Characters of all lines; a section takes 3,000."""


def source_lines(answer: Answer, now: datetime) -> list[str]:
    """A heading, then a line for each place, those of one document together; empty without any.

    A document says its title and age once, and a place comes once: twice tells nothing."""
    if answer.passages:
        return _fitting("*Passages shown*", _lines(answer.citations, now, numbered=False))
    if not answer.citations:
        return _fitting("*Nearest documents*", _lines(answer.nearest, now, numbered=False))
    origin = f" from *{mrkdwn(answer.from_title)}*" if answer.from_title else ""
    return _fitting(f"*Sources*{origin}", _lines(answer.citations, now, numbered=True))


def titled(citation: Citation, now: datetime, *, dated: bool) -> str:
    """What stands above a passage: a link to it, and its age unless that was told before."""
    opened = f"*{link(citation.url, place_name(citation))}*"
    return _told(opened, citation, now if dated else None, DESCRIBED)


def place_name(citation: Citation) -> str:
    """Title and heading."""
    parts = (citation.title, _heading(citation))
    return " › ".join(short(part, 120) for part in parts if part) or citation.document


def part_name(citation: Citation) -> str:
    """Its heading, for where the title is told below."""
    return short(_heading(citation) or citation.title, 120) or citation.document


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
            lines.append(f"{mark} {_place(same[0], now if number == 0 else None)}")
    return lines


def _place(citation: Citation, first_at: datetime | None) -> str:
    """A link to it; `first_at`: now, of the first place of a document, which says title and age."""
    further = f"… › {short(_heading(citation) or citation.title, 120)}"
    opened = link(citation.url, place_name(citation) if first_at else further)
    return _told(opened, citation, first_at, PICTURED)


def _told(opened: str, citation: Citation, now: datetime | None, picture: str) -> str:
    """With its page, its age where it is `now`, and whether it is a picture."""
    page = f"page {citation.page}" if citation.page else ""
    told = age(citation.modified_at, now) if now else ""
    pictured = picture if citation.from_picture else ""
    return " · ".join(part for part in (opened, page, told, pictured) if part)


def _heading(citation: Citation) -> str:
    return citation.heading if citation.heading != citation.title else ""


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
