"""What a judge learns from people who scored the same answers."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sqlalchemy import Engine, create_engine

from agents.judging.corrections import (
    CorrectionStore,
    ScoredPair,
    corrections_from,
    measure_learning,
    nearest_corrections,
)
from agents.judging.judge import AnswerJudge, Correction, JudgeRequest
from config.errors import ModelUnavailable
from config.models import Prompt, Vectors
from tests.agents.scripted import ScriptedModel

TOPICS = ("keys", "tokens", "audits", "badges", "laptops", "visitors", "cameras", "vaults")


class ByWords:
    """Vectors of the words that texts share."""

    name, dimensions, max_tokens, language = "words", 64, 256, ""

    def count_tokens(self, text: str) -> int:
        return len(text.split())

    def knows(self, word: str) -> bool:
        return True

    def __call__(self, texts: Sequence[str]) -> Vectors:
        vectors = np.full((len(texts), self.dimensions), 1e-3, dtype=np.float32)
        for row, text in enumerate(texts):
            for word in text.lower().split():
                vectors[row, hashlib.sha256(word.encode()).digest()[0] % self.dimensions] += 1
        return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def correction(number: int, *, judge: int = 5, human: int = 2, **more: Any) -> Correction:
    topic = TOPICS[number % len(TOPICS)]
    given: dict[str, Any] = {
        "question_id": f"q-{number:03}",
        "question": f"what about {topic} {topic} case {number}",
        "answer": f"{topic} are fine",
        "judge_score": judge,
        "human_score": human,
        "note": f"note {number}",
        **more,
    }
    return Correction(**given)


def request_for(one: Correction) -> JudgeRequest:
    return JudgeRequest(id=one.question_id, kind="lookup", question=one.question, answer=one.answer)


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    engine = create_engine(f"sqlite:///{tmp_path}/state.db")
    yield engine
    engine.dispose()


def test_the_five_nearest_corrections_are_shown() -> None:
    examples = nearest_corrections([correction(n) for n in range(48)], ByWords())
    asked = JudgeRequest(
        id="new", kind="lookup", question="what about badges badges", answer="badges are fine"
    )
    shown = examples(asked)
    assert len(shown) == 5
    assert all("badges" in one.question for one in shown)


def test_a_question_is_never_its_own_example() -> None:
    mine = correction(3)
    reworded = correction(11, question=f"  {mine.question.upper()} ")
    examples = nearest_corrections([mine, reworded, correction(19)], ByWords())
    assert [one.question_id for one in examples(request_for(mine))] == ["q-019"]


def test_only_scores_that_differ_correct_anything_and_the_furthest_are_kept() -> None:
    same = [correction(n, judge=3, human=3) for n in range(5)]
    near = [correction(n, judge=3, human=4) for n in range(100, 160)]
    far = [correction(n, judge=0, human=5) for n in range(200, 230)]
    kept = corrections_from([*same, *near, *far])
    assert len(kept) == 50
    assert {one.question_id for one in far} <= {one.question_id for one in kept}
    assert not {one.question_id for one in same} & {one.question_id for one in kept}


def test_corrections_are_kept_by_domain_until_others_replace_them(engine: Engine) -> None:
    kept = CorrectionStore(engine)
    assert kept.of("security") == ()
    kept.keep("security", [correction(1, human_incorrect=True), correction(2)])
    kept.keep("privacy", [correction(3)])
    assert CorrectionStore(engine).of("security") == (
        correction(1, human_incorrect=True),
        correction(2),
    )
    kept.keep("security", [])
    assert kept.of("security") == ()
    assert kept.of("privacy") == (correction(3),)


def lenient(prompt: Prompt) -> dict[str, Any]:
    """Gives 5, and 2 once somebody corrected it."""
    taught = "corrected example" in prompt.user
    return {
        "reasoning": "…", "missing": [], "unsupported": [], "incorrect": False, "feedback": "",
        "score": 2 if taught else 5,
    }  # fmt: skip


def scored(count: int) -> list[ScoredPair]:
    return [
        ScoredPair(request=request_for(correction(n)), scored=correction(n)) for n in range(count)
    ]


def test_what_was_learnt_is_measured_on_answers_that_taught_nothing() -> None:
    model = ScriptedModel({"score_answer": lenient})  # type: ignore[dict-item]
    outcome = measure_learning(scored(40), model=model, embedder=ByWords(), parallel=1)
    assert [one.scored.judge_score for one in outcome.answers] == [5] * 40
    assert [one.after.score for one in outcome.answers] == [2] * 40
    assert [one.scored.question_id for one in outcome.answers] == [f"q-{n:03}" for n in range(40)]
    assert {one.examples for one in outcome.answers} == {5}
    assert outcome.usage.calls == 40
    # Nobody saw an example of its own question, or of one in its fold.
    shown_with: dict[str, set[str]] = {}
    for prompt in model.prompts:
        asked = re.search(r" question>\n(?P<q>.*)", prompt.user)
        assert asked is not None
        shown_with[asked["q"]] = set(re.findall(r"Question: (.*)", prompt.user))
    assert all(question not in shown for question, shown in shown_with.items())
    taught = {(q, shown) for q, several in shown_with.items() for shown in several}
    assert taught


def test_answers_to_one_question_are_learnt_from_together_or_not_at_all() -> None:
    twice = [
        ScoredPair(request=request_for(one), scored=one)
        for one in (correction(1, answer="yes"), correction(1, answer="no"))
    ]
    model = ScriptedModel({"score_answer": lenient})  # type: ignore[dict-item]
    outcome = measure_learning(twice, model=model, embedder=ByWords())
    assert [one.examples for one in outcome.answers] == [0, 0]


def test_an_answer_that_could_not_be_judged_again_is_left_out_of_both() -> None:
    model = ScriptedModel({"score_answer": ModelUnavailable("down")})
    outcome = measure_learning(scored(3), model=model, embedder=ByWords(), parallel=2)
    assert outcome.answers == ()
    assert outcome.unjudged == ("q-000", "q-001", "q-002")
    assert len(outcome.corrections) == 3


def test_without_corrections_a_judge_is_as_it_was() -> None:
    model = ScriptedModel({"score_answer": lenient})  # type: ignore[dict-item]
    judge = AnswerJudge(model=model, examples=nearest_corrections((), ByWords()))
    assert judge(request_for(correction(1)))[0].score == 5
