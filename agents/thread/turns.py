"""A question with its thread: bounded, limited to its reader, follow-ups resolved where plain; and
the time of a question on the user's clock."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path
from zoneinfo import ZoneInfo

from agents.answer import EarlierTurn, Question, shorten, shorten_history


def question_time(question: Question) -> str:
    """E.g. `Sunday 22 November 2026, 18:05 (Asia/Singapore)`; in UTC where the zone is unknown."""
    zone = question.time_zone if is_zone(question.time_zone) else "UTC"
    at = question.asked_at.astimezone(ZoneInfo(zone))
    return f"{at:%A} {at.day} {at:%B %Y, %H:%M} ({zone})"


def utc_offset(question: Question) -> str:
    """Of the user's clock, e.g. `+0800`."""
    zone = question.time_zone if is_zone(question.time_zone) else "UTC"
    return f"{question.asked_at.astimezone(ZoneInfo(zone)):%z}"


def zone_notes(question: Question) -> tuple[str, ...]:
    """For the trace."""
    return () if is_zone(question.time_zone) else ("the asker's time zone is unknown: UTC",)


def is_zone(name: str) -> bool:
    """Whether this machine knows the time zone."""
    try:
        ZoneInfo(name)
    except (KeyError, ValueError, OSError):  # OSError: a folder of zones
        return False
    return True


def zone_of_this_machine(link: Path = Path("/etc/localtime")) -> str:
    """From `TZ` or the system's zone link; else UTC."""
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


def resolve(question: Question, documents: Collection[str]) -> Question:
    """The question as the agents get it. `documents`: ids that its reader may see.

    A picked option replaces the message: it is a self-contained question."""
    earlier = visible_turns(question.earlier, documents)
    if reading := picked_option(question.text, earlier):
        return replace(question, text=shorten(reading), history=(), earlier=())
    return replace(
        question,
        text=shorten(question.text),
        history=shorten_history(question.history),
        earlier=earlier,
    )


def visible_turns(
    turns: Sequence[EarlierTurn], documents: Collection[str]
) -> tuple[EarlierTurn, ...]:
    """Turns without content that a reader of these documents may not see.

    The resolved question and the options may contain words of all documents of the answer. When one
    of them is not readable, only the user's own words stay."""
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


def picked_option(text: str, turns: Sequence[EarlierTurn]) -> str:
    """The option that a message like `the second one` picks from the last turn; else ''."""
    match = _PICK.match(text.strip())
    options = turns[-1].options if turns else ()
    if not match or not options:
        return ""
    word, last = (match["word"] or "").lower(), len(options) - 1
    places = {"last": last, "latter": last, "former": 0}
    places |= {ordinal: place for place, ordinal in enumerate(_ORDINALS)}
    place = places[word] if word else int(match["digit"]) - 1
    return options[place] if place <= last else ""


def thread_lines(question: Question) -> list[tuple[str, str]]:
    """(role, text) for a planner: the parts of the stored turns that the history lacks."""
    lines: list[tuple[str, str]] = []
    if not question.history:
        lines += [("user", turn.asked) for turn in question.earlier]
    for turn in question.earlier[-1:]:
        places = "; ".join(dict.fromkeys(one.heading for one in turn.cited))
        is_passages = turn.path == "passages_found"
        options = "; ".join(f"{n}. {one}" for n, one in enumerate(turn.options, start=1))
        lines += [
            ("the last question in full", turn.question if turn.question != turn.asked else ""),
            (f"{'passages shown' if is_passages else 'answered'} from the sections", places),
            ("readings offered", options),
        ]
    return [(who, words) for who, words in lines if words]
