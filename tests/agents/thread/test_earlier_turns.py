"""Follow-ups by what is kept of the turns before them."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from agents.answer import Cited, EarlierTurn, Question, Turn
from agents.extractive.conversation import leans_on
from agents.graph import build_ask
from agents.thread.turns import (
    picked_option,
    resolve,
    restated_from,
    thread_lines,
    visible_turns,
)
from tests.agents.corpus import domain, snapshot
from tests.agents.scripted import ScriptedModel

OFFERED = EarlierTurn(
    id="a", asker="U1", asked="how old?", question="How old may a key get?",
    path="ambiguous_query", documents=("keys", "secrets"),
    cited=(Cited(document="keys", heading="Age"), Cited(document="secrets", heading="Webhooks")),
    options=("How old may a signing key get?", "How old may a webhook secret get?"),
    restated_from=(),
)  # fmt: skip
ANSWERED = replace(OFFERED, options=(), path="company_specific_rag_success")


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("the second one", 1), ("second", 1), ("2", 1), ("2.", 1), ("#2", 1), ("option 2", 1),
        ("Number 1, please", 0), ("the first one, thanks!", 0), ("sorry, I meant the first one", 0),
        ("the last one", 1), ("the former", 0), ("1st", 0), ("ok, the latter", 1),
    ],
)  # fmt: skip
def test_a_place_picks_the_reading_that_was_offered_there(text: str, place: int) -> None:
    assert picked_option(text, [OFFERED]) == OFFERED.options[place]


@pytest.mark.parametrize(
    "text",
    [
        "the second approver?", "2 days?", "last week", "first, who approves it?", "the third one",
        "which one?", "5", "is it the first one that leaks?", "one", "",
    ],
)  # fmt: skip
def test_other_words_pick_nothing(text: str) -> None:
    assert picked_option(text, [OFFERED]) == ""


def test_only_what_was_offered_last_is_picked_from() -> None:
    assert picked_option("the second one", [OFFERED, ANSWERED]) == ""
    assert picked_option("the second one", []) == ""


def test_a_picked_reading_stands_alone() -> None:
    asked = Question(text="2", history=(Turn(role="user", content="how old?"),), earlier=(OFFERED,))
    seen = resolve(asked, ["keys", "secrets"])
    assert (seen.text, seen.history, seen.earlier) == (OFFERED.options[1], (), ())


def test_of_what_is_closed_the_asker_s_own_words_are_left() -> None:
    (left,) = visible_turns([OFFERED], ["keys"])
    assert (left.asked, left.question, left.options) == ("how old?", "how old?", ())
    assert (left.documents, left.cited) == (("keys",), OFFERED.cited[:1])
    assert visible_turns([OFFERED], ["keys", "secrets", "more"]) == (OFFERED,)


def test_a_question_that_may_repeat_a_closed_title_is_left_in_the_asker_s_own_words() -> None:
    open_to_reader = ["keys", "secrets"]
    for sources, everything, left in (
        (("heron",), False, "how old?"), (("heron",), True, "how old?"),
        (("keys",), False, OFFERED.question), (None, False, "how old?"),
        (None, True, OFFERED.question),
    ):  # fmt: skip
        turn = replace(OFFERED, restated_from=sources)
        (seen,) = visible_turns([turn], open_to_reader, everything=everything)
        assert seen.question == left, (sources, everything)
        assert seen.options == OFFERED.options


@pytest.mark.parametrize(
    ("question", "text", "sources"),
    [
        (Question(text="How old may keys get?"), "how old may a key get", frozenset()),
        (Question(text="how old?"), "How old may a Heron key get?", frozenset({"heron"})),
        (Question(text="ile lat?"), "Wie alt ist der Fischreiher?", frozenset({"heron"})),
        (Question(text="and 2?", history=(Turn(role="user", content="Heron keys"),)),
         "Heron keys 2", frozenset()),
        (Question(text="and 2?", history=(Turn(role="assistant", content="Heron keys"),)),
         "Heron keys 2", None),
        (Question(text="and 2?", history=(Turn(role="assistant", content="Heron"),),
                  earlier=(OFFERED,)), "Heron 2", frozenset({"heron", "keys", "secrets"})),
        (Question(text="2", earlier=(replace(OFFERED, restated_from=("hidden",)),)),
         OFFERED.options[1], frozenset({"heron", "keys", "secrets"})),
    ],
)  # fmt: skip
def test_a_restated_question_is_drawn_from_all_titles_unless_its_words_are_people_s(
    question: Question, text: str, sources: frozenset[str] | None
) -> None:
    readable = ["keys", "secrets", "heron"]
    assert restated_from(question, text, readable, lambda: ["heron"]) == sources


def test_a_follow_up_leans_on_what_a_model_made_of_the_question() -> None:
    history = (Turn(role="user", content="how old?"), Turn(role="assistant", content="90 days"))
    assert leans_on("and webhooks?", history, (ANSWERED,)) == "How old may a key get?"


def test_a_follow_up_leans_on_what_was_said_since() -> None:
    history = (
        Turn(role="user", content="how old?"),
        Turn(role="user", content="the signing key for the ledger leaked on Friday"),
    )
    said = "the signing key for the ledger leaked on Friday"
    assert leans_on("and webhooks?", history, (ANSWERED,)) == said


def test_what_was_only_put_together_is_put_together_anew() -> None:
    """All turns in one find no more than the last two, and a thread may be long."""
    together = replace(ANSWERED, asked="and read?", question="how old, and write, and read?")
    history = (Turn(role="user", content="and write?"), Turn(role="user", content="and read?"))
    assert leans_on("and webhooks?", history, (together,)) == "and write, and read?"


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("company_specific_rag_success", "answered from the sections"),
        ("passages_found", "passages shown from the sections"),
    ],
)
def test_passages_that_were_shown_are_not_called_an_answer(path: str, said: str) -> None:
    kept = replace(ANSWERED, path=path)
    told = dict(thread_lines(Question(text="and for webhooks?", earlier=(kept,))))
    assert told[said] == "Age; Webhooks"


def test_a_model_is_told_the_time_and_what_is_kept_of_the_thread() -> None:
    model = ScriptedModel({})
    ask = build_ask(snapshot=snapshot, domain=domain("standard"), model=model)
    kept = replace(OFFERED, documents=(), cited=OFFERED.cited)
    ask(
        Question(
            text="and for webhooks in staging?", earlier=(kept,), time_zone="Asia/Singapore",
            asked_at=datetime(2026, 11, 22, 10, 5, tzinfo=UTC),
        ),
        None,
    )  # fmt: skip
    plan = model.prompts[0]
    said = plan.system + plan.user
    assert "Sunday 22 November 2026, 18:05 (Asia/Singapore)" in said
    for words in ("how old?", "How old may a key get?", "2. How old may a webhook secret get?"):
        assert words in said
