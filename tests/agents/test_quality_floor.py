"""Answers stay good, and each part that makes them so is missed when it breaks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pytest

from agents.answer import Answer, Question
from agents.context import post_processor
from agents.extractive import relevance
from agents.graph import build_ask
from config.domain import AnswerPolicy, Domain, Sources
from index import snapshot as generations
from index.ranking.fusion import Fused, Ranking, blend
from index.search import Snapshot
from jobs.golden.check import says
from tests.agents.observatory import QUESTIONS, observatory

BUDGET = 2_000
"""Characters of context: so few that what comes in for nothing keeps something else out."""
FLOOR = {
    "facts": 0.94, "documents": 0.9, "quoted": 0.8, "in context": 0.9, "refused": 0.6,
    "said once": 1.0,
}  # fmt: skip


@pytest.fixture(scope="module")
def documents(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Snapshot]:
    with observatory(tmp_path_factory.mktemp("observatory")) as found:
        yield found


def quality(documents: Snapshot) -> dict[str, float]:
    """Shares of the questions, 0–1."""
    policy = AnswerPolicy(context_characters=BUDGET)
    domain = Domain(domain="observatory", title="Observatory", sources=Sources(), answer=policy)
    ask = build_ask(snapshot=lambda: documents, domain=domain, model=None)
    found: dict[str, list[bool]] = {name: [] for name in FLOOR}
    for expected in QUESTIONS:
        answer = ask(Question(text=expected.question))
        if not expected.facts:
            found["refused"].append(answer.path == "no_answer_found")
            continue
        found["facts"].append(all(says(answer.text, fact) for fact in expected.facts))
        cited = answer.citations[:1]
        found["documents"].append(any(one.document in expected.documents for one in cited))
        quotes = " ".join(one.quote for one in cited)
        found["quoted"].append(any(says(quotes, fact) for fact in expected.facts))
        context = " ".join(chunk.text for chunk in answer.context)
        found["in context"].append(all(says(context, fact) for fact in expected.facts))
        found["said once"].append(says_nothing_twice(answer))
    return {name: sum(each) / len(each) for name, each in found.items()}


def says_nothing_twice(answer: Answer) -> bool:
    """The two copies of a page have the same headings, and differ by a word."""
    copies = [c.heading_path for c in answer.context if c.document_id.startswith("night-rules")]
    return len(copies) == len(set(copies))


def below_the_floor(found: Mapping[str, float]) -> list[str]:
    return [name for name, least in FLOOR.items() if found[name] < least]


def test_answers_to_questions_that_no_fit_has_seen_stay_good(documents: Snapshot) -> None:
    found = quality(documents)
    assert below_the_floor(found) == [], found


def test_the_floor_leaves_room_for_a_single_question(documents: Snapshot) -> None:
    """So that it breaks by a defect, not by a wording."""
    found = quality(documents)
    answerable = sum(bool(expected.facts) for expected in QUESTIONS)
    for name in ("facts", "documents", "quoted"):
        assert found[name] - 1 / answerable >= FLOOR[name], found


Break = Callable[[pytest.MonkeyPatch], None]


def no_weights(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(relevance, "RELEVANCE_WEIGHTS", np.zeros_like(relevance.RELEVANCE_WEIGHTS))


def weights_upside_down(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(relevance, "RELEVANCE_WEIGHTS", -relevance.RELEVANCE_WEIGHTS)


def near_duplicates_kept(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(post_processor, "is_near_duplicate", lambda chunk, other: False)


def only_the_first_way_of_searching(patch: pytest.MonkeyPatch) -> None:
    def first(rankings: Sequence[Ranking], *, limit: int | None = None) -> list[Fused]:
        return blend(rankings[:1], limit=limit)

    patch.setattr(generations, "blend", first)


def statements_not_compared_with_the_question(patch: pytest.MonkeyPatch) -> None:
    def unknown(*_: Any) -> dict[str, Sequence[float]]:
        return {}

    patch.setattr(generations.Generation, "unit_similarities", unknown)


def everything_is_answered(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(relevance, "REFUSAL_BIAS", 0.0)


def nothing_is_answered(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(relevance, "REFUSAL_BIAS", 2 * relevance.REFUSAL_BIAS)


@pytest.mark.parametrize(
    "broken",
    [
        no_weights,
        weights_upside_down,
        near_duplicates_kept,
        only_the_first_way_of_searching,
        statements_not_compared_with_the_question,
        everything_is_answered,
        nothing_is_answered,
    ],
)
def test_answers_get_worse_when_a_part_breaks(
    documents: Snapshot, monkeypatch: pytest.MonkeyPatch, broken: Break
) -> None:
    whole = quality(documents)
    broken(monkeypatch)
    found = quality(documents)
    assert any(found[name] < whole[name] for name in FLOOR), found
