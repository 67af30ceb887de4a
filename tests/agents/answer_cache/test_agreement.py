"""Near misses and paraphrases about many everyday subjects; the rules were fitted on one half."""

from __future__ import annotations

from pathlib import Path

import pytest

from agents.answer_cache.same_question import difference

PAIRS = Path(__file__).parent / "pairs"


def pairs(name: str) -> list[tuple[str, str]]:
    lines = (PAIRS / f"{name}.tsv").read_text(encoding="utf-8").splitlines()
    return [(one, other) for one, _, other in (line.partition("\t") for line in lines)]


@pytest.mark.parametrize("half", ["fitted", "left_out"])
def test_no_near_miss_passes_for_the_same_question(half: str) -> None:
    found = pairs(f"near_misses_{half}")
    assert len(found) == 100
    for turned in (found, [(other, one) for one, other in found]):
        assert [pair for pair in turned if not difference(*pair, {})] == []


@pytest.mark.parametrize("half", ["fitted", "left_out"])
def test_most_paraphrases_pass(half: str) -> None:
    found = pairs(f"paraphrases_{half}")
    assert len(found) == 100
    assert sum(not difference(*pair, {}) for pair in found) >= 60


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Are contractors allowed to park?", "Are employees allowed to park?"),
        ("How long do we keep logs in the US?", "How long do we keep logs?"),
        ("Can I call at night?", "Can I be called at night?"),
        ("Who must contact the press?", "Who can contact the press?"),
        ("Can you let guests in?", "Can you show guests in?"),
    ],
)
def test_what_frames_a_question_takes_no_meaning_with_it(one: str, other: str) -> None:
    assert difference(one, other, {})
    assert difference(other, one, {})


def test_a_short_form_of_the_glossary_is_its_meaning() -> None:
    one, other = "How often is the KD?", "How often is the kettle descaling?"
    assert difference(one, other, {})
    assert difference(one, other, {"KD": ["kettle descaling"]}) == ""
    assert difference(one, other, {"KD": ["kettle descaling", "key delivery"]})


def test_whoever_asks_the_same_words_asks_the_same() -> None:
    assert difference("order 48213?", "ORDER 48213?", {}) == ""
