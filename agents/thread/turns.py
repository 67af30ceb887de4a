"""A question with what it may lean on: bounded, for its reader, resolved where that is plain.

When and where a question was asked, as its asker's clock shows it."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path
from zoneinfo import ZoneInfo

from agents.answer import EarlierTurn, Question, bounded, bounded_history


def said_at(question: Question) -> str:
    """E.g. `Sunday 22 November 2026, 18:05 (Asia/Singapore)`; in UTC where the zone is unknown."""
    zone = question.time_zone if is_zone(question.time_zone) else "UTC"
    at = question.asked_at.astimezone(ZoneInfo(zone))
    return f"{at:%A} {at.day} {at:%B %Y, %H:%M} ({zone})"


def zone_notes(question: Question) -> tuple[str, ...]:
    """For the trace."""
    return () if is_zone(question.time_zone) else ("the asker's time zone is unknown: UTC",)


def is_zone(name: str) -> bool:
    """Whether it names a time zone that this machine knows."""
    try:
        ZoneInfo(name)
    except (KeyError, ValueError, OSError):  # OSError: a folder of zones
        return False
    return True


def zone_of_this_machine(link: Path = Path("/etc/localtime")) -> str:
    """By `TZ`, or by where the system's own zone points to; UTC when neither says."""
    by_link = str(link.resolve()).partition("/zoneinfo/")[2]
    names = (os.environ.get("TZ", "").removeprefix(":"), by_link)
    return next((name for name in names if name and is_zone(name)), "UTC")


_ORDINALS = ("first", "second", "third", "fourth", "fifth")
_PICK = re.compile(
    r"^(?:(?:ok|okay|sorry|yes|well|i mean|i meant|it's|its|that's)\b[\s,.!:]*)*"
    r"(?:the |option |number |no\.? ?|#)*"
    rf"(?:(?P<word>{'|'.join(_ORDINALS)}|last|latter|former)|(?P<digit>[1-5])(?:st|nd|rd|th)?)"
    r"(?: (?:one|option|question|of (?:those|these|them)))?"
    r"(?:[\s,.!]*(?:please|thanks|thank you))?\W*$",
    re.IGNORECASE,
)


def resolved(question: Question, documents: Collection[str]) -> Question:
    """As the agents see it; `documents`: those that there are for its asker.

    A reading that was picked stands for the message: it was offered as a question of its own."""
    earlier = readable(question.earlier, documents)
    if chosen := picked(question.text, earlier):
        return replace(question, text=bounded(chosen), history=(), earlier=())
    return replace(
        question,
        text=bounded(question.text),
        history=bounded_history(question.history),
        earlier=earlier,
    )


def readable(turns: Sequence[EarlierTurn], documents: Collection[str]) -> tuple[EarlierTurn, ...]:
    """Of each turn, what may be leant on by somebody for whom there are these documents alone.

    A question and readings may carry words of all that the answer was drawn from: where some of it
    is gone or closed, the asker's own words are left."""
    return tuple(
        turn
        if all(one in documents for one in turn.documents)
        else replace(
            turn,
            question=turn.asked,
            options=(),
            documents=tuple(one for one in turn.documents if one in documents),
            cited=tuple(one for one in turn.cited if one.document in documents),
        )
        for turn in turns
    )


def picked(text: str, turns: Sequence[EarlierTurn]) -> str:
    """The reading that a message like `the second one` chooses of those offered last; else ''."""
    found = _PICK.match(text.strip())
    options = turns[-1].options if turns else ()
    if not found or not options:
        return ""
    word = (found["word"] or "").lower()
    places = {"last": len(options) - 1, "latter": len(options) - 1, "former": 0}
    if word in _ORDINALS:
        place = _ORDINALS.index(word)
    elif word:
        place = places[word]
    else:
        place = int(found["digit"]) - 1
    return options[place] if place < len(options) else ""


def in_words(question: Question) -> list[tuple[str, str]]:
    """Who → what, for a planner: what is kept of the thread and not in its history, where the
    readings that were offered are buttons."""
    found: list[tuple[str, str]] = []
    if not question.history:
        found += [("user", turn.asked) for turn in question.earlier]
    for turn in question.earlier[-1:]:
        places = "; ".join(dict.fromkeys(one.heading for one in turn.cited))
        shown = turn.path == "passages_found"
        offered = "; ".join(f"{n}. {one}" for n, one in enumerate(turn.options, start=1))
        found += [
            ("the last question in full", turn.question if turn.question != turn.asked else ""),
            (f"{'passages shown' if shown else 'answered'} from the sections", places),
            ("readings offered", offered),
        ]
    return [(who, words) for who, words in found if words]
