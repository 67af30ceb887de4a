"""Every route of `effort: thorough`, by a model that follows a script, with what it was asked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from itertools import count, product
from typing import Any

import pytest

from agents.answer import Answer
from agents.plan import Plan, Trace
from agents.thorough.routing import (
    MAX_CALLS,
    MAX_ROUNDS,
    MAX_TRIES,
    Issue,
    advice_for,
    other_strategy,
)
from config.errors import InvalidModelOutput, ModelUnavailable
from config.models import Prompt
from config.parsing.fields import Strategy
from tests.agents.corpus import DRILLS, LAPTOPS, ROTATION, asking, snapshot
from tests.agents.scripted import PLAN, Says, ScriptedModel, Watching, in_turn

ASKED = "how soon is a leaked key replaced?"
DOCUMENTS = snapshot(LAPTOPS, ROTATION, *DRILLS)
ASTRAY = {"documents": [{"id": "laptops", "reason": "wrong"}]}
RIGHT = {"documents": [{"id": "key-rotation", "reason": "right"}]}

LEAK = "A leaked key is replaced within 24 hours of its discovery"
OWNER = "The owner of the system decides who replaces it"


def says(text: str) -> Callable[[Prompt], str]:
    """An answer that cites the source about leaks; without that one, it finds nothing."""

    def reply(prompt: Prompt) -> str:
        sources = prompt.user.split(" source ")[1:]
        held = next((one.split()[0] for one in sources if "overlap window" in one), None)
        return f"ANSWER\n{text} [{held}]." if held else "NOTHING"

    return reply


def judged(score: float, *issues: str, requests: tuple[str, ...] = ()) -> dict[str, Any]:
    return {"score": score, "issues": issues, "missing": ["the deadline"], "requests": requests}


def marks(score: float, *unsupported: str, **more: Any) -> dict[str, Any]:
    fine = {"score": 1.0, "reason": ""}
    weak = {"score": score, "reason": "the deadline is not said"}
    marked = {"relevant": fine, "complete": weak, "accurate": fine, "unsupported": unsupported}
    return {**marked, **more}


ENOUGH = judged(0.9)
FAIR = judged(0.5, "partial_coverage")
BAD = judged(0.1, "off_topic")
PASSED, FAILED = marks(0.9), marks(0.4, in_sources=True)
LACKING = marks(0.4)
UNTRUE = marks(0.9, LEAK, accurate={"score": 0.3, "reason": "that is of another key"})
REWORDED = {"paraphrases": ["deadline after a leak"], "keywords": ["discovery"]}
USUAL: Mapping[str, Says] = {
    "plan": {**PLAN, "question": ASKED, "sub_questions": [ASKED, "which pineapple approves?"]},
    "sources": RIGHT,
    "judge": ENOUGH,
    "rewrite": REWORDED,
    "answer": says(LEAK),
    "critique": PASSED,
}


def asked(script: Mapping[str, Says], watching: Watching | None = None) -> tuple[Answer, list[str]]:
    """The answer, and the prompts in order from the judge on."""
    answer, model = asked_of(script, watching)
    assert model.called[0] == "plan"
    return answer, [name for name in model.called if name not in ("plan", "sources")]


def asked_of(
    script: Mapping[str, Says], watching: Watching | None = None
) -> tuple[Answer, ScriptedModel]:
    model = ScriptedModel({**USUAL, **script})
    return asking(DOCUMENTS, model, "thorough")(ASKED, progress=watching), model


def traced(answer: Answer) -> Trace:
    assert answer.trace is not None
    return answer.trace


def searched(answer: Answer) -> Plan:
    """With what it was searched last."""
    plan = traced(answer).plan
    assert plan is not None
    return plan


def noted(answer: Answer) -> str:
    return "\n".join(traced(answer).notes)


def test_what_is_enough_and_good_costs_two_calls_more_than_standard() -> None:
    answer, called = asked({})
    assert called == ["judge", "answer", "critique"]
    assert answer.text == f"{LEAK} [1]."
    assert answer.confidence_parts["critique"] == 0.9
    assert answer.degraded == ()
    assert "judge: 0.90, by the model" in noted(answer)
    assert "critique: 0.90" in noted(answer)


def test_a_judge_that_has_searched_enough_ends_the_search() -> None:
    enough = {**FAIR, "requests": ["find: deadline"], "searched_enough": True}
    answer, called = asked({"judge": enough, "critique": LACKING})
    assert called == ["judge", "answer", "critique"]
    assert "judge: 0.50" in noted(answer)
    _, called = asked({"judge": {**BAD, "searched_enough": True}})
    assert called == ["judge"]


def test_passages_that_cover_every_part_are_not_judged_by_the_model() -> None:
    answer, called = asked({"plan": {**PLAN, "question": ASKED}, "judge": BAD})
    assert called == ["answer", "critique"]
    assert "every part is covered" in noted(answer)


def test_what_the_judge_misses_is_fetched_before_anything_is_answered() -> None:
    missed = judged(0.5, "missing_key_info", requests=("open: Key Rotation Standard",))
    answer, called = asked({"sources": ASTRAY, "judge": in_turn(missed, ENOUGH)})
    assert called == ["judge", "judge", "answer", "critique"]
    assert answer.text == f"{LEAK} [1]."
    assert "missing_key_info, the deadline; looked for more" in noted(answer)


def test_the_judge_sees_which_sections_there_are_beside_what_was_found() -> None:
    _, model = asked_of({"sources": ASTRAY})
    assert "further sections of these documents" in model.prompts[2].user


def test_what_the_answerer_asks_for_is_not_judged_again() -> None:
    look = "LOOK\nopen: Key Rotation Standard"
    script: dict[str, Says] = {"sources": ASTRAY, "answer": in_turn(look, says(LEAK))}
    answer, called = asked(script)
    assert called == ["judge", "answer", "answer", "critique"]
    assert answer.text == f"{LEAK} [1]."


def test_a_fair_search_is_reworded_by_the_advice_for_its_issue() -> None:
    answer, model = asked_of({"judge": FAIR, "critique": PASSED})
    prompt = next(one for one in model.prompts if one.name == "rewrite")
    assert advice_for(["partial_coverage"]) in prompt.system
    assert "the deadline" in prompt.user
    assert searched(answer).question == ASKED
    assert "rewrote the query: deadline after a leak / discovery" in noted(answer)


def test_a_poor_first_search_changes_its_strategy_and_drops_the_narrowing() -> None:
    answer, called = asked({"sources": ASTRAY, "judge": in_turn(BAD, ENOUGH)})
    assert called == ["judge", "rewrite", "judge", "answer", "critique"]
    assert searched(answer).strategy == "keyword"
    assert traced(answer).sources.documents == ()
    assert "searched by keyword in all documents: deadline" in noted(answer)
    assert answer.text == f"{LEAK} [1]."


@pytest.mark.parametrize(
    ("issues", "tried", "strategy"),
    [
        (("missing_key_info",), ("hybrid",), "semantic"),
        (("wrong_domain",), ("hybrid",), "keyword"),
        (("wrong_domain",), ("keyword",), "semantic"),
        (("too_general", "partial_coverage"), ("semantic",), "keyword"),
        ((), ("hybrid", "semantic"), "keyword"),
        (("off_topic",), ("hybrid", "keyword", "semantic"), "hybrid"),
    ],
)
def test_what_was_wrong_with_a_search_decides_the_strategy_of_the_next(
    issues: tuple[Issue, ...], tried: tuple[Strategy, ...], strategy: Strategy
) -> None:
    plans = [Plan(question=ASKED, kind="in_domain", strategy=one) for one in tried]
    assert other_strategy(issues, plans) == strategy


def test_a_fair_first_search_that_went_astray_changes_its_strategy_too() -> None:
    astray = judged(0.5, "wrong_domain")
    answer, _ = asked({"sources": ASTRAY, "judge": in_turn(astray, ENOUGH)})
    assert searched(answer).strategy == "keyword"
    assert traced(answer).sources.documents == ()


def test_a_second_search_that_falls_short_changes_its_strategy_late() -> None:
    other = {"paraphrases": ["hours until it is exchanged"], "strategy": "keyword"}
    script: dict[str, Says] = {"judge": FAIR, "rewrite": in_turn(REWORDED, other)}
    answer, called = asked({"sources": ASTRAY, **script})
    assert called.count("rewrite") == MAX_TRIES - 1
    assert traced(answer).sources.documents == ()
    assert searched(answer).strategy == "semantic"
    assert noted(answer).index("rewrote the query") < noted(answer).index("in all documents")


def test_a_search_that_was_made_before_is_not_made_again() -> None:
    answer, _ = asked({"sources": ASTRAY, "judge": FAIR})
    assert searched(answer).strategy == "semantic"
    assert "searched by semantic in all documents: deadline after a leak" in noted(answer)


@pytest.mark.parametrize(("judgment", "is_told"), [(FAIR, True), (ENOUGH, False)])
def test_the_answerer_is_told_what_sources_lack_that_no_search_completed(
    judgment: dict[str, Any], is_told: bool
) -> None:
    _, model = asked_of({"judge": judgment})
    prompt = next(one for one in model.prompts if one.name == "answer")
    assert ("the deadline: no search brought it" in prompt.user) == is_told


def test_when_no_search_brought_anything_relevant_it_refuses() -> None:
    answer, called = asked({"judge": BAD})
    assert answer.path == "no_answer_found"
    assert "answer" not in called
    assert called.count("rewrite") == MAX_TRIES - 1
    assert answer.nearest


def test_a_score_of_nothing_without_a_second_sign_is_left_to_the_answerer() -> None:
    answer, called = asked({"judge": judged(0.0)})
    assert called[-2:] == ["answer", "critique"]
    assert answer.text == f"{LEAK} [1]."


def test_an_answer_that_falls_short_is_written_again_with_what_was_found_wanting() -> None:
    replies = in_turn(says(OWNER), says(LEAK))
    answer, model = asked_of({"answer": replies, "critique": in_turn(FAILED, PASSED)})
    assert model.called[2:] == ["judge", "answer", "critique", "answer", "critique"]
    again = model.prompts[-2].user
    assert "complete: the deadline is not said" in again
    assert OWNER in again
    assert answer.text == f"{LEAK} [1]."
    assert "written again" in noted(answer)


def test_a_claim_that_its_source_does_not_hold_up_never_leaves_without_a_mark() -> None:
    answer, called = asked({"critique": UNTRUE})
    assert called == ["judge", *["answer", "critique"] * MAX_TRIES]
    assert LEAK in answer.text.split("\n\n")[-1]
    assert answer.confidence <= 0.3
    assert "marked" in noted(answer)


def test_what_the_sources_lack_is_searched_for_in_another_way() -> None:
    replies = in_turn(says(OWNER), says(LEAK))
    answer, called = asked({"answer": replies, "critique": in_turn(LACKING, PASSED)})
    assert called == ["judge", "answer", "critique", "rewrite", "judge", "answer", "critique"]
    assert searched(answer).strategy == "semantic"
    assert traced(answer).sources.documents == ()
    assert answer.text == f"{LEAK} [1]."


@pytest.mark.parametrize(("retrieval", "written"), [(0.9, MAX_TRIES), (0.1, 1)])
def test_less_is_asked_of_an_answer_when_the_documents_hold_less(
    retrieval: float, written: int
) -> None:
    _, called = asked({"judge": judged(retrieval), "critique": marks(0.55)})
    assert called.count("answer") == written


def test_the_best_of_all_tries_stands_and_is_marked() -> None:
    replies = in_turn(says(LEAK), says(OWNER))
    answer, _ = asked({"answer": replies, "critique": in_turn(marks(0.5), marks(0.2))})
    assert answer.text.startswith(f"{LEAK} [1].\n\n_")
    assert "not convinced" in answer.text
    assert answer.confidence <= 0.5
    assert answer.citations


def test_a_refusal_of_sources_that_looked_enough_is_searched_for_once_more() -> None:
    answer, called = asked({"answer": "NOTHING"})
    assert called.count("rewrite") == 1
    assert answer.path == "no_answer_found"
    assert "critique" not in called


def test_from_the_same_passages_nothing_is_written_twice_without_an_objection() -> None:
    same: dict[str, Says] = {"sources": {"documents": []}, "rewrite": {"paraphrases": []}}
    answer, called = asked({**same, "critique": LACKING})
    assert called == ["judge", "answer", "critique", "rewrite"]
    assert "nothing better was written" in noted(answer)


def test_an_answer_after_a_refusal_is_taken() -> None:
    # The answerer's own search in all documents is what finds it when nothing narrows any more.
    answer, called = asked({"answer": in_turn("NOTHING", says(LEAK))})
    assert answer.text == f"{LEAK} [1]."
    assert called[-1] == "critique"


def test_words_are_shown_once_and_only_those_that_leave() -> None:
    watching = Watching()
    replies = in_turn(says(OWNER), says(LEAK))
    answer, _ = asked({"answer": replies, "critique": in_turn(FAILED, PASSED)}, watching)
    assert watching.text == answer.text
    assert watching.lines[-3:] == [
        "Weighing what was found…",
        "Writing the answer…",
        "Checking the answer…",
    ]


def test_a_search_in_other_words_tells_what_the_first_was_worth() -> None:
    watching = Watching()
    asked({"sources": ASTRAY, "judge": in_turn(FAIR, ENOUGH)}, watching)
    assert "Searching in other words…" in watching.lines
    assert watching.scores["sufficiency"] == FAIR["score"]
    assert 0 < watching.scores["similarity"] < 1


NO_REPLY: list[Says] = [
    ModelUnavailable("timed out"),
    InvalidModelOutput("nonsense"),
    {},
    {"score": 7, "relevant": {"score": -1}, "paraphrases": 3},
    "",
]


@pytest.mark.parametrize("failure", NO_REPLY)
@pytest.mark.parametrize("gate", ["judge", "critique"])
def test_a_gate_that_fails_lets_pass_what_is_there(gate: str, failure: Says) -> None:
    answer, called = asked({gate: failure})
    assert called == ["judge", "answer", "critique"]
    assert answer.text == f"{LEAK} [1]."
    assert answer.degraded == (gate,)
    assert f"{gate} went on without the model" in noted(answer)


@pytest.mark.parametrize("failure", NO_REPLY)
def test_a_rewriter_that_fails_still_changes_the_strategy(failure: Says) -> None:
    script: dict[str, Says] = {"sources": ASTRAY, "judge": in_turn(BAD, ENOUGH), "rewrite": failure}
    answer, _ = asked(script)
    assert answer.degraded == ("rewrite",)
    assert searched(answer).strategy == "keyword"
    assert answer.text == f"{LEAK} [1]."


@pytest.mark.parametrize(
    "failure", [ModelUnavailable("timed out"), "", " \n", "LOOK", "LOOK\nopen: Pineapple Atlas"]
)
def test_the_best_answer_so_far_stands_when_the_next_one_fails(failure: Says) -> None:
    replies = in_turn(says(LEAK), failure)
    answer, called = asked({"answer": replies, "critique": in_turn(FAILED, PASSED)})
    assert answer.text.startswith(f"{LEAK} [1].\n\n_")
    assert "not convinced" in answer.text
    assert called.count("critique") == 1


def test_an_outage_of_everything_quotes_the_documents() -> None:
    down = ModelUnavailable("down")
    answer, _ = asked(dict.fromkeys(USUAL, down))
    assert "24 hours" in answer.text
    assert answer.citations
    assert "critique" not in answer.confidence_parts


def test_a_critic_who_contradicts_itself_is_believed_as_far_as_the_sources_go() -> None:
    answer, called = asked({"critique": marks(0.9, LEAK, "Pineapples are blue.")})
    assert called == ["judge", "answer", "critique"]
    assert answer.text == f"{LEAK} [1]."


def test_a_judge_who_asks_for_what_there_is_not_is_asked_once_for_each_context() -> None:
    lost = judged(0.5, requests=("open: Pineapple Atlas › Handsets", "around: 99"))
    answer, called = asked({"judge": lost, "rewrite": {"paraphrases": []}})
    assert called.count("judge") <= MAX_TRIES
    assert "nothing new was found" in noted(answer)


def test_a_reply_of_100_kb_is_cut() -> None:
    flood = ["pineapple " * 5_000] * 20
    answer, model = asked_of(
        {
            "judge": in_turn({**FAIR, "missing": flood, "requests": flood}, ENOUGH),
            "rewrite": {"paraphrases": flood, "keywords": flood, "hypothetical_answer": flood[0]},
            "critique": in_turn({**FAILED, "superfluous": flood, "unsupported": flood}, PASSED),
        }
    )
    assert max(len(prompt.user) for prompt in model.prompts) < 15_000
    assert len(noted(answer)) < 10_000
    assert all(len(text) <= 200 for text in searched(answer).paraphrases)


def never_the_same(score: float) -> Callable[[Prompt], Any]:
    numbers = count()
    return lambda _: judged(
        score, "off_topic", requests=(f"around: {next(numbers)}", "open: laptops", "find: drill")
    )


def other_words() -> Callable[[Prompt], Any]:
    numbers = count()
    return lambda _: {"paraphrases": [f"wording {next(numbers)}"], "strategy": "keyword"}


LOOK = "LOOK\nopen: Laptop Guide\naround: 1"
ANSWERS: list[Says] = [
    says(LEAK),
    says("A leaked key is replaced within 999 hours by the pineapple"),
    LOOK,
    "NOTHING",
    "NOTHING\nThe nearest is this [1].",
    "WHICH\nWhich?\n- key: 24 hours [1]\n- laptop: never [2]",
    "x",
    ModelUnavailable("down"),
]


@pytest.mark.parametrize("retrieval", [0.0, 0.4, 0.9])
@pytest.mark.parametrize("chosen", [ASTRAY, RIGHT])
def test_no_route_costs_more_calls_than_its_bound(retrieval: float, chosen: dict[str, Any]) -> None:
    """General questions cost one call more: they are looked up after all."""
    for first, looks, critique in product(ANSWERS, [0, 5], [marks(0.0), UNTRUE]):
        model = ScriptedModel(
            {
                "plan": {**PLAN, "question": ASKED, "kind": "general"},
                "sources": chosen,
                "general": "NOTHING",
                "judge": never_the_same(retrieval),
                "rewrite": other_words(),
                "answer": in_turn(*[LOOK] * looks, first, *[LOOK] * looks, says(LEAK), first),
                "critique": critique,
            }
        )
        answer = asking(DOCUMENTS, model, "thorough")(ASKED)
        called = Counter(model.called)
        assert answer.text
        assert called["rewrite"] < MAX_TRIES
        assert called["critique"] <= MAX_TRIES
        assert called["judge"] <= MAX_TRIES + MAX_ROUNDS
        assert called["answer"] <= MAX_TRIES + MAX_ROUNDS + 1
        assert called.total() <= MAX_CALLS


def test_without_a_model_there_is_nobody_to_judge() -> None:
    answer = asking(effort="thorough")(ASKED)
    assert "24 hours" in answer.text
    assert "judge" not in answer.timings_ms
