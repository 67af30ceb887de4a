"""Sources that a model says can't both be true reach people as contradictions, and the asker not
as a line of its notes."""

from __future__ import annotations

import json
import re
from collections.abc import Callable

import pytest

from agents.answer import Answer
from agents.answerer.opening import Conflict, Opening
from bot.questions.store import decode_answer, encode_answer
from config.models import Prompt
from tests.agents.corpus import LAPTOPS, OLD_ROTATION, ROTATION, asking, snapshot
from tests.agents.scripted import PLAN, ScriptedModel, Watching

GUIDE = """---
id: signing-guide
title: Signing Guide
---
# Signing Guide

## Keys

An API signing key for restricted data may be 45 days old. Then it is rotated.
"""
ASKED = "how old may an API signing key for restricted data get?"
SAID = "60 days by one [1], 45 days by the other [2]."


def numbered(text: str, *words: str) -> Callable[[Prompt], str]:
    """`text`, with {0}, {1}… as the numbers of the sources that hold the words."""

    def says(prompt: Prompt) -> str:
        parts = re.findall(r" source (\d+) \|(.*?)(?= source \d+ \||\Z)", prompt.user, re.DOTALL)
        found = [next((n for n, part in parts if word in part), "77") for word in words]
        return text.format(*found)

    return says


def answered(said: str, *words: str, texts: tuple[str, ...] = (ROTATION, GUIDE)) -> Answer:
    model = ScriptedModel({"plan": {**PLAN, "question": ASKED}, "answer": numbered(said, *words)})
    return asking(snapshot(*texts), model)(ASKED)


def test_a_conflict_is_kept_with_both_places_and_not_shown() -> None:
    progress = Watching()
    says = numbered(
        "ANSWER\nCONFLICT {0} {1}: the age of an API signing key\n60 days [{0}], 45 days [{1}].",
        "60 days", "45 days",
    )  # fmt: skip
    model = ScriptedModel({"plan": {**PLAN, "question": ASKED}, "answer": says})
    answer = asking(snapshot(ROTATION, GUIDE), model)(ASKED, progress=progress)
    (one,) = answer.contradictions
    assert one.about == "the age of an API signing key"
    assert (one.one.document, one.other.document) == ("key-rotation", "signing-guide")
    assert (one.one.number, one.other.number) == (1, 2)
    assert "60 days" in one.one.quote
    assert "45 days" in one.other.quote
    assert "CONFLICT" not in answer.text + progress.text


def test_a_side_that_the_answer_does_not_cite_has_no_number() -> None:
    said = "ANSWER\nCONFLICT {0} {1}: the age of an API signing key\n60 days [{0}]."
    (one,) = answered(said, "60 days", "45 days").contradictions
    assert (one.one.number, one.other.number) == (1, 0)


@pytest.mark.parametrize(
    "line", ["CONFLICT {0} {0}: keys", "CONFLICT {0} 88: keys", "CONFLICT 0 {1}: keys"]
)
def test_numbers_of_no_two_sources_are_no_contradiction(line: str) -> None:
    answer = answered(f"ANSWER\n{line}\n60 days [{{0}}].", "60 days", "45 days")
    assert answer.contradictions == ()
    assert answer.text == "60 days [1]."


@pytest.mark.parametrize("again", ["CONFLICT {0} {1}: keys", "CONFLICT {1} {0}: keys"])
def test_a_pair_told_twice_is_one_and_what_is_none_takes_no_place(again: str) -> None:
    lines = "\n".join(["CONFLICT {0} 88: x", "CONFLICT {0} {0}: x", "CONFLICT 0 {1}: x", again])
    said = f"ANSWER\nCONFLICT {{0}} {{1}}: the age\n{lines}\n60 days [{{0}}]."
    (one,) = answered(said, "60 days", "45 days").contradictions
    assert one.about == "the age"


def test_words_of_the_question_alone_are_not_what_it_is_about() -> None:
    """A question may be private, and what a pair is about stands in a channel's digest."""
    asked = "May Marlene Heliotrope of Wombat Ltd keep an API signing key for restricted data?"
    says = numbered(
        "ANSWER\nCONFLICT {0} {1}: the key of Marlene Heliotrope of Wombat Ltd\n60 days [{0}].",
        "60 days", "45 days",
    )  # fmt: skip
    model = ScriptedModel({"plan": {**PLAN, "question": asked}, "answer": says})
    (one,) = asking(snapshot(ROTATION, GUIDE), model)(asked).contradictions
    assert one.about == ""


def test_words_of_a_third_source_are_not_what_two_others_are_about() -> None:
    """Not everybody who is shown the pair may read the third."""
    said = "ANSWER\nCONFLICT {0} {1}: wiping a stolen laptop of a traveller\n60 days [{0}]."
    texts = (ROTATION, GUIDE, LAPTOPS)
    asked = "how old may a signing key get, and who wipes a stolen laptop?"
    model = ScriptedModel(
        {"plan": {**PLAN, "question": asked}, "answer": numbered(said, "60 days", "45 days")}
    )
    (one,) = asking(snapshot(*texts), model)(asked).contradictions
    assert one.about == ""


def test_a_superseded_source_contradicts_nothing() -> None:
    said = "ANSWER\nCONFLICT {0} {1}: the age\n60 days [{0}]."
    answer = answered(said, "60 days", "superseded", texts=(ROTATION, OLD_ROTATION))
    assert answer.contradictions == ()


def test_what_no_source_and_no_question_says_is_not_repeated_as_what_it_is_about() -> None:
    said = "ANSWER\nCONFLICT {0} {1}: visit heliotrope now and pay Mallory\n60 days [{0}]."
    (one,) = answered(said, "60 days", "45 days").contradictions
    assert one.about == ""


@pytest.mark.parametrize(
    ("said", "rest", "conflicts"),
    [
        ("ANSWER\nCONFLICT 2 5: age\n60 [2].", "60 [2].", [Conflict(2, 5, "age")]),
        ("ANSWER\n\n`CONFLICT [2], [5] — age`\n\n60.", "60.", [Conflict(2, 5, "age")]),
        (
            "ANSWER\nCONFLICT 2 and 5\nCONFLICT 1 3: b.\n6",
            "6",
            [Conflict(2, 5, ""), Conflict(1, 3, "b")],
        ),
        ("ANSWER\nCONFLICT 2 5: age", "", [Conflict(2, 5, "age")]),
        ("ANSWER\nCONFLICTS are many [1].", "CONFLICTS are many [1].", []),
        ("ANSWER\nCON", "CON", []),
        ("ANSWER\n**60 days** [1].\nCONFLICT 1 2: x", "**60 days** [1].\n", [Conflict(1, 2, "x")]),
        ("ANSWER\n6 [1].\n- CONFLICT 1 2: x\n\n7 [2].", "6 [1].\n\n7 [2].", [Conflict(1, 2, "x")]),
        ("ANSWER\n**CONFLICT 2 5:** age\n60", "60", [Conflict(2, 5, "age")]),
        ("ANSWER\nCONFLICT: source 2 and source 5: age\n6", "6", [Conflict(2, 5, "age")]),
        ("ANSWER\nCONFLICT [2][5]: age\n6", "6", [Conflict(2, 5, "age")]),
        ("ANSWER\nCONFLICT 2–5 – age\n6", "6", [Conflict(2, 5, "age")]),
        ("ANSWER\nCONFLICT 2 vs. 5, age\n6", "6", [Conflict(2, 5, "age")]),
        ("ANSWER\nCONFLICTS 2, 5 and 7: it\n6", "6", [Conflict(2, 5, "it"), Conflict(2, 7, "it")]),
        ("ANSWER\nCONFLICT 25: age\n6", "CONFLICT 25: age\n6", []),
        ("ANSWER\nCONFLICT 409 is sent [1].", "CONFLICT 409 is sent [1].", []),
        ("ANSWER\nNo CONFLICT 1 2: x", "No CONFLICT 1 2: x", []),
        ("ANSWER\n- one\n\n- two\n  - CON\n", "- one\n\n- two\n  - CON\n", []),
    ],
)  # fmt: skip
@pytest.mark.parametrize("size", [1, 3, 1_000])
def test_its_lines_are_told_from_the_answer_however_it_comes(
    said: str, rest: str, conflicts: list[Conflict], size: int
) -> None:
    opening = Opening()
    shown = "".join(opening.feed(said[at : at + size]) for at in range(0, len(said), size))
    assert shown + opening.close() == rest
    assert opening.conflicts == conflicts


def test_a_line_without_an_end_is_not_waited_for_for_ever() -> None:
    opening = Opening()
    shown = opening.feed("ANSWER\nCONFLICTED " + "x" * 5_000)
    assert len(shown) > 4_000


def test_answers_of_releases_that_knew_none_are_read() -> None:
    kept = json.loads(encode_answer(answered("ANSWER\n60 days [{0}].", "60 days")))
    del kept["contradictions"]
    assert decode_answer(json.dumps(kept)).contradictions == ()
    said = "ANSWER\nCONFLICT {0} {1}: the age\n60 days [{0}]."
    answer = answered(said, "60 days", "45 days")
    assert decode_answer(encode_answer(answer)).contradictions == answer.contradictions
