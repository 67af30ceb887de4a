"""Every route of `effort: thorough`, by a model that follows a script, with what it was asked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import chain, repeat
from typing import Any

import pytest

from agents.answer import Answer
from agents.thorough.issues import advice_for
from agents.thorough.routes import MOST_ROUNDS, MOST_TRIES
from config.errors import InvalidModelOutput, ModelUnavailable
from config.models import Prompt
from tests.agents.corpus import asking
from tests.agents.scripted import PLAN, SOURCES, Says, ScriptedModel, Watching

MOST_CALLS = 20
"""As docs/answers-with-a-model.md has it."""

ASKED = "who decides who replaces a leaked key, and which pineapple has the handset?"
BY_PARTS = {
    **PLAN,
    "question": ASKED,
    "sub_questions": ["who decides who replaces a leaked key?", "which pineapple has the handset?"],
}
GOOD = "ANSWER\nThe owner of the system decides who replaces it [{}]."
HALF = "ANSWER\nA leaked key is replaced within 24 hours of its discovery [{}]."
WRONG = "ANSWER\nA leaked key is replaced within 999 hours of its discovery [{}]."
LOOK = "LOOK\nfind: laptops stolen"


def cited(says: str) -> Says:
    """Citing the source about leaks, whatever its number is."""

    def reply(prompt: Prompt) -> str:
        leaks = next(part for part in prompt.user.split(" source ") if "overlap window" in part)
        return says.format(leaks.split()[0])

    return reply


def in_turn(*replies: Says) -> Says:
    """One after the other, then the last for ever."""
    left: Iterator[Says] = chain(replies, repeat(replies[-1]))

    def reply(prompt: Prompt) -> Any:
        says = next(left)
        if isinstance(says, Exception):
            raise says
        return says(prompt) if callable(says) else says

    return reply


def judged(score: float, *issues: str, requests: tuple[str, ...] = ()) -> dict[str, Any]:
    missing = ["which pineapple"] if issues else []
    return {"score": score, "issues": issues, "missing": missing, "requests": requests}


def marks(score: float, *unsupported: str, **more: Any) -> dict[str, Any]:
    mark = {"score": score, "reason": "the pineapple is not named"}
    return {
        "relevant": {"score": 1.0},
        "complete": mark,
        "accurate": {"score": 1.0},
        "unsupported": unsupported,
        **more,
    }


ENOUGH = judged(0.9)
FAIR = judged(0.5, "partial_coverage")
BAD = judged(0.1, "off_topic")
PASSED, FAILED = marks(0.9), marks(0.4)
REWORDED = {"paraphrases": ["pineapple allocation"], "keywords": ["laptop"]}


def asked(
    watching: Watching | None = None, **script: Says
) -> tuple[Answer, list[str], ScriptedModel]:
    """The answer, the prompts in order from the judge on, and the model."""
    usual: dict[str, Says] = {"plan": BY_PARTS, "answer": cited(GOOD), "rewrite": REWORDED}
    model = ScriptedModel({**usual, **script})
    answer = asking(model=model, effort="thorough")(ASKED, progress=watching)
    assert model.called[:2] == ["plan", "sources"]
    return answer, model.called[2:], model


def noted(answer: Answer) -> str:
    assert answer.trace is not None
    return "\n".join(answer.trace.notes)


def test_what_is_enough_and_good_costs_two_calls_more_than_standard() -> None:
    answer, called, _ = asked(judge=ENOUGH, critique=PASSED)
    assert called == ["judge", "answer", "critique"]
    assert answer.text == "The owner of the system decides who replaces it [1]."
    assert answer.path == "company_specific_rag_success"
    assert answer.confidence_parts["critique"] == 0.9
    assert answer.degraded == ()


def test_passages_that_cover_every_part_are_not_judged_by_the_model() -> None:
    question = "the owner of the system decides who replaces a leaked key?"
    plan = {**PLAN, "question": question}
    answer, called, _ = asked(plan=plan, judge=BAD, critique=PASSED)
    assert called == ["answer", "critique"]
    assert "every part is covered" in noted(answer)


def test_what_the_judge_misses_is_fetched_before_anything_is_answered() -> None:
    fair = judged(0.5, "partial_coverage", requests=("find: stolen laptops",))
    answer, called, model = asked(judge=in_turn(fair, ENOUGH), critique=PASSED)
    assert called[0] == "judge"
    assert "find: stolen laptops" in noted(answer)
    assert model.called.count("judge") + model.called.count("rewrite") >= 2


def test_a_fair_search_is_reworded_by_the_advice_for_its_issue() -> None:
    answer, called, model = asked(judge=in_turn(FAIR, ENOUGH), critique=PASSED)
    assert called[:2] == ["judge", "rewrite"]
    assert called[-2:] == ["answer", "critique"]
    prompt = next(one for one in model.prompts if one.name == "rewrite")
    assert advice_for(["partial_coverage"]) in prompt.system
    assert "rewrote the query: pineapple allocation" in noted(answer)
    assert answer.trace is not None and answer.trace.plan is not None
    assert answer.trace.plan.question == ASKED
    assert answer.trace.sources.documents == ("key-rotation",)


def test_a_poor_first_search_changes_its_strategy_and_drops_the_narrowing() -> None:
    answer, called, model = asked(judge=in_turn(BAD, ENOUGH), critique=PASSED)
    assert called[:2] == ["judge", "rewrite"]
    assert answer.trace is not None and answer.trace.plan is not None
    assert answer.trace.plan.strategy == "semantic"
    assert answer.trace.sources.documents == ()
    assert "searched by semantic in all documents" in noted(answer)


def test_a_second_search_that_falls_short_changes_the_strategy_late() -> None:
    other = {"paraphrases": ["handset fruit"], "keywords": ["approved"], "strategy": "semantic"}
    answer, _, _ = asked(
        judge=FAIR, rewrite=in_turn({**REWORDED, "strategy": "hybrid"}, other), critique=PASSED
    )
    assert answer.trace is not None and answer.trace.plan is not None
    assert answer.trace.sources.documents == ()
    assert "rewrote the query" in noted(answer)
    assert "in all documents" in noted(answer)


def test_after_every_search_brought_something_else_it_refuses() -> None:
    answer, called, _ = asked(judge=BAD)
    assert answer.path == "no_answer_found"
    assert "answer" not in called
    assert called.count("rewrite") == MOST_TRIES - 1
    assert answer.nearest


def test_a_score_of_nothing_without_a_second_sign_is_left_to_the_answerer() -> None:
    answer, called, _ = asked(judge=judged(0.0), critique=PASSED)
    assert called[-2:] == ["answer", "critique"]
    assert answer.path == "company_specific_rag_success"


def test_an_answer_that_falls_short_is_written_again_with_what_was_found_wanting() -> None:
    answer, called, model = asked(
        judge=ENOUGH,
        answer=in_turn(cited(HALF), cited(GOOD)),
        critique=in_turn(FAILED, PASSED),
    )
    assert called == ["judge", "answer", "critique", "answer", "critique"]
    assert "the pineapple is not named" in model.prompts[-2].user
    assert "24 hours" in model.prompts[-2].user
    assert answer.text.startswith("The owner of the system")


def test_a_claim_that_its_source_does_not_hold_up_is_never_shown_without_a_mark() -> None:
    claim = "A leaked key is replaced within 24 hours of its discovery"
    failed = {**marks(0.9, claim), "accurate": {"score": 0.3, "reason": "that is of another key"}}
    answer, called, _ = asked(judge=ENOUGH, answer=cited(HALF), critique=failed)
    assert called == ["judge", *["answer", "critique"] * MOST_TRIES]
    assert claim in answer.text.split("\n\n")[-1]
    assert answer.confidence <= 0.3
    assert "marked" in noted(answer)


def test_what_the_sources_lack_is_searched_for_after_a_poor_retrieval() -> None:
    answer, called, _ = asked(
        judge=in_turn(FAIR, FAIR, ENOUGH),
        rewrite=ModelUnavailable("down"),
        answer=in_turn(cited(HALF), cited(GOOD)),
        critique=in_turn(FAILED, PASSED),
    )
    assert answer.path == "company_specific_rag_success"


@pytest.mark.parametrize(("retrieval", "shown"), [(0.9, 3), (0.1, 1)])
def test_less_is_asked_of_an_answer_when_the_documents_hold_less(
    retrieval: float, shown: int
) -> None:
    _, called, _ = asked(judge=judged(retrieval), critique=marks(0.55))
    assert called.count("answer") == shown


def test_the_best_of_all_tries_stands_and_is_marked() -> None:
    answer, _, _ = asked(
        judge=ENOUGH,
        answer=in_turn(cited(GOOD), cited(HALF)),
        critique=in_turn(marks(0.5), marks(0.2)),
    )
    assert answer.text.startswith("The owner of the system decides")
    assert "not convinced" in answer.text
    assert answer.confidence <= 0.5
    assert answer.citations


def test_a_refusal_of_sources_that_looked_enough_is_searched_for_once_more() -> None:
    answer, called, _ = asked(judge=ENOUGH, answer="NOTHING")
    assert called.count("rewrite") == 1
    assert answer.path == "no_answer_found"


def test_an_answer_after_a_refusal_is_taken() -> None:
    answer, _, _ = asked(
        judge=ENOUGH,
        answer=in_turn("NOTHING", "NOTHING", cited(GOOD)),
        critique=PASSED,
    )
    assert answer.path == "company_specific_rag_success"


def test_words_are_shown_once_and_only_those_that_leave() -> None:
    watching = Watching()
    answer, _, _ = asked(
        watching,
        judge=ENOUGH,
        answer=in_turn(cited(HALF), cited(GOOD)),
        critique=in_turn(FAILED, PASSED),
    )
    assert watching.text == answer.text
    assert watching.lines[-4:] == ["Writing the answer…", "Checking the answer…"] * 2


FAILURES = [
    ModelUnavailable("down"),
    InvalidModelOutput("nonsense"),
    {},
    {"score": 7, "relevant": {"score": -1}},
    "",
]


@pytest.mark.parametrize("failure", FAILURES)
@pytest.mark.parametrize("gate", ["judge", "critique"])
def test_a_gate_that_fails_lets_pass_what_is_there(gate: str, failure: Says) -> None:
    script: dict[str, Says] = {"judge": ENOUGH, "critique": PASSED, gate: failure}
    answer, called, _ = asked(**script)
    assert called == ["judge", "answer", "critique"]
    assert answer.text == "The owner of the system decides who replaces it [1]."
    assert answer.degraded == (gate,)
    assert f"{gate} went on without the model" in noted(answer)


@pytest.mark.parametrize("failure", FAILURES)
def test_a_rewriter_that_fails_still_changes_the_strategy(failure: Says) -> None:
    answer, _, _ = asked(judge=in_turn(BAD, ENOUGH), rewrite=failure, critique=PASSED)
    assert answer.degraded == ("rewrite",)
    assert answer.trace is not None and answer.trace.plan is not None
    assert answer.trace.plan.strategy == "semantic"
    assert answer.path == "company_specific_rag_success"


@pytest.mark.parametrize("failure", [ModelUnavailable("timed out"), "", LOOK, " \n"])
def test_the_best_answer_so_far_stands_when_the_second_one_fails(failure: Says) -> None:
    answer, called, _ = asked(
        judge=ENOUGH, answer=in_turn(cited(GOOD), failure), critique=in_turn(FAILED, PASSED)
    )
    assert answer.text.startswith("The owner of the system decides")
    assert "not convinced" in answer.text
    assert called.count("critique") == 1


def test_an_outage_of_everything_but_the_plan_quotes_the_documents() -> None:
    down = ModelUnavailable("down")
    answer, _, _ = asked(
        plan={**PLAN, "question": "who decides who replaces a leaked key?"},
        judge=down, rewrite=down, answer=down, critique=down,
    )  # fmt: skip
    assert "owner of the system" in answer.text
    assert "critique" not in answer.confidence_parts


def test_a_critic_who_contradicts_itself_is_believed_as_far_as_the_sources_go() -> None:
    claim = "The owner of the system decides who replaces it"
    answer, called, _ = asked(judge=ENOUGH, critique=marks(0.9, claim, "Pineapples are blue."))
    assert called == ["judge", "answer", "critique"]
    assert "not convinced" not in answer.text


def test_requests_for_documents_that_do_not_exist_are_not_repeated() -> None:
    lost = judged(0.5, requests=("open: Pineapple Atlas › Handsets", "around: 99"))
    _, called, _ = asked(judge=lost, critique=PASSED)
    assert called.count("judge") <= MOST_TRIES


def test_a_reply_of_100_kb_is_cut() -> None:
    flood = ["pineapple " * 5_000] * 100
    answer, _, model = asked(
        judge=in_turn({**FAIR, "missing": flood, "requests": flood}, ENOUGH),
        rewrite={"paraphrases": flood, "keywords": flood},
        critique=in_turn({**FAILED, "superfluous": flood, "unsupported": flood}, PASSED),
    )
    assert max(len(prompt.user) for prompt in model.prompts) < 20_000
    assert len(noted(answer)) < 10_000


SCORES = [0.0, 0.5, 0.9]
REQUESTS = [(), ("find: laptops", "around: 1")]
ANSWERS: list[Says] = [
    cited(GOOD),
    cited(WRONG),
    LOOK,
    "NOTHING",
    "WHICH\n- x: y [1]\n- z: q [1]",
    "x",
]


def never_the_same(score: float) -> Says:
    """Asks for something else each time."""
    count = iter(range(1_000))

    def reply(_: Prompt) -> Any:
        return judged(score, "off_topic", requests=(f"around: {next(count)}", "find: laptop"))

    return reply


def reworded() -> Says:
    count = iter(range(1_000))
    return lambda _: {"paraphrases": [f"wording {next(count)}"], "strategy": "keyword"}  # type: ignore[return-value]


@pytest.mark.parametrize("retrieval", [0.0, 0.3, 0.5, 0.9])
@pytest.mark.parametrize("answers", ANSWERS)
@pytest.mark.parametrize("quality", [0.0, 0.55, 0.9])
@pytest.mark.parametrize("kind", ["in_domain", "general"])
def test_no_script_costs_more_calls_than_the_documents_say(
    retrieval: float, answers: Says, quality: float, kind: str
) -> None:
    loops = in_turn(LOOK, LOOK, answers, LOOK, answers, LOOK, answers)
    model = ScriptedModel(
        {
            "plan": {**BY_PARTS, "kind": kind},
            "general": "NOTHING",
            "judge": never_the_same(retrieval),
            "rewrite": reworded(),
            "answer": loops,
            "critique": marks(quality),
        }
    )
    answer = asking(model=model, effort="thorough")(ASKED)
    count = Counter(model.called)
    assert answer.text
    assert count["rewrite"] < MOST_TRIES
    assert count["critique"] <= MOST_TRIES
    assert count["judge"] <= MOST_TRIES + MOST_ROUNDS
    assert model.called.count("answer") <= MOST_TRIES + MOST_ROUNDS + 1
    assert len(model.called) <= MOST_CALLS


def test_without_a_model_there_is_nobody_to_judge() -> None:
    answer = asking(effort="thorough")("who decides who replaces a leaked key?")
    assert "owner of the system" in answer.text
    assert "judge" not in answer.timings_ms


def test_the_sources_that_were_chosen_reach_the_first_search_alone() -> None:
    assert SOURCES["documents"][0]["id"] == "key-rotation"
