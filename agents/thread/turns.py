"""A question with its thread: bounded, limited to its reader, follow-ups resolved where plain; and
the time of a question on the user's clock."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from pathlib import Path
from zoneinfo import ZoneInfo

from agents.answer import EarlierTurn, Question, shorten, shorten_history
from enrichment.language.words import naming_words
from index.permissions.words import may_repeat


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
    earlier = visible_turns(question.earlier, documents, everything=question.readers is None)
    if reading := picked_option(question.text, earlier):
        return replace(question, text=shorten(reading), history=(), earlier=())
    return replace(
        question,
        text=shorten(question.text),
        history=shorten_history(question.history),
        earlier=earlier,
    )


def visible_turns(
    turns: Sequence[EarlierTurn], documents: Collection[str], *, everything: bool = False
) -> tuple[EarlierTurn, ...]:
    """Turns without content that a reader of these documents may not see.

    The resolved question may contain words of the documents that it was restated from, and the
    options words of all documents of the answer. When one of them is not readable, only the user's
    own words stay. `everything`: the reader may see every document, so unknown ones, too."""
    visible = []
    for turn in turns:
        whole = may_repeat(turn.documents, documents)
        unknown = turn.restated_from is None
        restated = everything if unknown else may_repeat(turn.restated_from, documents)
        restated = restated and whole
        visible.append(
            replace(
                turn,
                question=turn.question if restated else turn.asked,
                restated_from=turn.restated_from if restated else (),
                options=turn.options if whole else (),
                documents=tuple(one for one in turn.documents if one in documents),
                cited=tuple(one for one in turn.cited if whole or one.document in documents),
            )
        )
    return tuple(visible)


def restated_from(
    question: Question, text: str, documents: Collection[str], titles: Callable[[], Collection[str]]
) -> frozenset[str] | None:
    """Documents whose words may occur in `text`, the self-contained form of `question`.

    Empty where all naming words of it are people's: the asker's or those of others in the thread.
    Else all whose title a model was shown (`titles`) and all of the earlier turns, as a model may
    translate and paraphrase what it read. None where the thread has replies of unknown sources.
    `documents`: ids that the reader may see."""
    people = [turn.content for turn in question.history if turn.role == "user"]
    people += [turn.asked for turn in question.earlier]
    if _repeats(text, question.text, people):
        return frozenset()
    replies = any(turn.role == "assistant" for turn in question.history)
    if replies and not question.earlier:
        return None
    visible = visible_turns(question.earlier, frozenset(documents))
    sources = [(*turn.documents, *(turn.restated_from or ())) for turn in visible]
    return frozenset(titles()).union(*sources)


def _repeats(text: str, message: str, others: Sequence[str]) -> bool:
    """Whether all naming words of a text are in the message or the others."""
    covered = naming_words(message)
    new = {stem: word for stem, word in naming_words(text).items() if stem not in covered}
    if not new:
        return True
    plain = "\n".join(dict.fromkeys(others))
    # Word by word is slow for a long thread; inflections share their first letters.
    letters = plain.casefold()
    if any(word[:3].casefold() not in letters for word in new.values()):
        return False
    return new.keys() <= naming_words(plain).keys()


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
