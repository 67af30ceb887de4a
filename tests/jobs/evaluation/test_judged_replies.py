"""Replies put before a judge: all of them, each once, and no score made up."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import create_engine

from agents.answer import Answer, Citation
from agents.judging.judge import AnswerJudge, JudgeRequest, JudgeVerdict, verdict_cache
from config.chat_model import build_judge_model
from config.errors import InvalidModelOutput, ModelUnavailable
from config.models import Usage
from config.settings import Settings
from enrichment.chunk import Chunk
from jobs.evaluation.judging import judge_metrics, judged, request_from_report, request_of
from jobs.evaluation.metrics.retrieval import GivenReply, given_reply
from jobs.evaluation.report_questions import report_questions
from jobs.golden.questions import GoldenQuestion
from playground.openai_stand_in import OpenAIStandIn, Request

GOOD: dict[str, Any] = {
    "reasoning": "As the standard says.",
    "missing": [],
    "unsupported": [],
    "incorrect": False,
    "feedback": "",
    "score": 5,
}
ONE_CALL = Usage(calls=1, input_tokens=100, output_tokens=10)


def reply(number: int, *, text: str = "", repeat: int = 1, **more: Any) -> GivenReply:
    question: dict[str, Any] = {
        "id": f"keys-{number:03}",
        "kind": "lookup",
        "question": f"how old may key {number} get?",
        "reference": "90 days",
        "must_include": ["90 days"],
        "evidence": [{"document": "keys", "heading": "Ages", "quote": "90 days"}],
        **more,
    }
    chunk = Chunk(
        id=f"keys#{number}",
        document_id="keys",
        document_title="Key Rotation",
        heading_path=("Key Rotation", "Ages"),
        text=f"Key {number} may be 90 days old.",
        position=number,
        kind="text",
        index_text=f"key {number}",
        tokens=8,
        url="https://docs.example/keys",
    )
    answer = Answer(
        text=text or f"Key {number} may be 90 days old [1].",
        path="company_specific_rag_success",
        confidence=0.9,
        context=(chunk,),
        options=("Key of the office?",),
        citations=(
            Citation(
                number=1, document="keys", title="Key Rotation", heading="Ages",
                url="https://docs.example/keys", quote=f"90   days {'x' * 400}",
            ),
        ),
    )  # fmt: skip
    return given_reply(GoldenQuestion.model_validate(question), answer, repeat=repeat)


def giving(**more: Any) -> Callable[[JudgeRequest], tuple[JudgeVerdict, Usage]]:
    return lambda request: (JudgeVerdict(**{**GOOD, **more}), ONE_CALL)


def failing_on(
    names: Sequence[str], error: Exception
) -> Callable[[JudgeRequest], tuple[JudgeVerdict, Usage]]:
    def give(request: JudgeRequest) -> tuple[JudgeVerdict, Usage]:
        if request.id in names:
            raise error
        return JudgeVerdict(**GOOD), ONE_CALL

    return give


def test_every_reply_is_judged_and_tells_its_metrics() -> None:
    replies = [reply(1), reply(1, repeat=2), reply(2)]
    told: list[GivenReply] = []
    found = judged(replies, giving(), model="strict", parallel=2, on_verdict=told.append)
    assert list(found.verdicts) == [("keys-001", 1), ("keys-001", 2), ("keys-002", 1)]
    assert found.usage == Usage(calls=3, input_tokens=300, output_tokens=30)
    assert len(told) == 3
    assert judge_metrics(found.verdicts["keys-001", 1]) == {
        "acceptable": 1.0,
        "incorrect": 0.0,
        "judge_score": 5.0,
        "judge_supported": 1.0,
    }
    assert judge_metrics(None) == {}


def test_unsupported_sentences_are_counted_among_those_of_the_answer() -> None:
    said = "Key 1 may be 90 days old [1]. It is red [1]. It is round. It is new."
    found = judged(
        [reply(1, text=said)], giving(unsupported=["It is red."], score=3), model="strict"
    )
    assert found.verdicts["keys-001", 1].supported == 0.75
    assert not found.verdicts["keys-001", 1].acceptable


def test_so_many_are_judged_at_a_time_and_no_more() -> None:
    together = threading.Barrier(3)
    lock, now, most = threading.Lock(), 0, 0

    def give(request: JudgeRequest) -> tuple[JudgeVerdict, Usage]:
        nonlocal now, most
        with lock:
            now += 1
            most = max(most, now)
        together.wait(timeout=120)  # passes only when three are under way
        with lock:
            now -= 1
        return JudgeVerdict(**GOOD), ONE_CALL

    assert len(judged([reply(n) for n in range(9)], give, model="m", parallel=3).verdicts) == 9
    assert most == 3


def test_an_answer_that_could_not_be_judged_has_no_score_and_is_named() -> None:
    give = failing_on(["keys-003"], InvalidModelOutput("the reply is still invalid"))
    found = judged([reply(n) for n in range(20)], give, model="strict")
    assert ("keys-003", 1) not in found.verdicts
    assert found.unjudged == {("keys-003", 1): "the reply is still invalid"}
    assert found.notes == (
        "1 of 20 answers could not be judged and count in no figure of the judge: keys-003 (the "
        "reply is still invalid). Run it again: only these are judged then.",
    )


def test_a_run_that_is_judged_in_part_only_says_so_loudly() -> None:
    give = failing_on(["keys-001", "keys-002", "keys-003"], InvalidModelOutput("no"))
    notes = judged([reply(n) for n in range(20)], give, model="strict").notes
    assert notes[0].startswith("WARNING: the judge's figures rest on 17 of 20 answers only.")


def test_a_judge_that_is_not_there_is_not_asked_for_ever() -> None:
    asked: list[str] = []

    def give(request: JudgeRequest) -> tuple[JudgeVerdict, Usage]:
        asked.append(request.id)
        raise ModelUnavailable("nobody there")

    found = judged([reply(n) for n in range(50)], give, model="strict")
    assert found.verdicts == {}
    assert len(found.unjudged) == 50
    assert len(asked) == 8


def test_a_model_that_judges_its_own_answers_is_said_to() -> None:
    own = judged([reply(1)], giving(), model="one", answered_by="one").notes
    other = judged([reply(1)], giving(), model="two", answered_by="one").notes
    assert len(own) == 1
    assert own[0].startswith("one judged its own answers")
    assert other == ()


def test_score_and_length_are_reported_together() -> None:
    def by_words(request: JudgeRequest) -> tuple[JudgeVerdict, Usage]:
        return JudgeVerdict(**{**GOOD, "score": min(5, request.answer.count("word"))}), ONE_CALL

    replies = [reply(n, text="word " * n) for n in range(1, 6)]
    note = judged(replies, by_words, model="strict").notes[0]
    assert note.startswith("Score and length: Spearman +1.00 over 5 answers")
    assert judged(replies, giving(), model="strict").notes == ()  # all scores alike


def test_a_judge_needs_no_library_of_statistics(monkeypatch: pytest.MonkeyPatch) -> None:
    """SciPy is in the extra `evaluation` only."""
    monkeypatch.setitem(sys.modules, "scipy", None)
    monkeypatch.setitem(sys.modules, "scipy.stats", None)
    test_score_and_length_are_reported_together()


def test_proposed_questions_are_not_judged() -> None:
    assert judged([reply(1, kind="proposed")], giving(), model="strict").verdicts == {}


def test_a_judge_sees_options_and_short_quotes_and_no_system() -> None:
    asked = request_of(reply(1, category="false_presupposition", kind="unanswerable"))
    assert asked.kind == "unanswerable: false_presupposition"
    assert asked.answer.endswith("Options to choose from:\n- Key of the office?")
    assert asked.evidence[0].title == "Key Rotation"
    assert asked.passages[0].heading == "Ages"
    assert asked.citations[0].text.startswith("90 days x")
    assert len(asked.citations[0].text) == 241


def test_an_answer_in_a_report_is_judged_as_it_was_when_it_was_given() -> None:
    given = reply(1, rubric=["the age"], instructions="Be kind.")
    entry = report_questions([given], judged={})[0]
    assert request_from_report(entry) == request_of(given)


def test_a_run_that_was_killed_goes_on_and_judges_nothing_twice(tmp_path: Path) -> None:
    engine = create_engine(f"sqlite:///{tmp_path}/state.db")
    replies = [reply(n) for n in range(12)]

    told: list[GivenReply] = []
    go_on = threading.Event()

    def script(request: Request) -> dict[str, Any]:
        if len(server.requests) > 4:
            go_on.wait(timeout=120)
        return GOOD

    def killed(one: GivenReply) -> None:
        told.append(one)
        if len(told) == 3:
            go_on.set()
            raise KeyboardInterrupt

    with OpenAIStandIn(script) as server:
        settings = {"openai_base_url": server.base_url, "chat_model": "strict"}
        model = build_judge_model(Settings.model_validate(settings))
        assert model is not None
        judge = AnswerJudge(model=model, verdicts=verdict_cache(engine))
        with pytest.raises(KeyboardInterrupt):
            judged(replies, judge, model="strict", parallel=2, on_verdict=killed)
        before = len(server.requests)
        found = judged(replies, judge, model="strict", parallel=2)
    engine.dispose()
    assert 4 <= before < 12
    assert len(found.verdicts) == len(server.requests) == 12
    assert found.usage.calls == 12 - before
