from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import Engine

from agents.confidence import (
    MEDIUM,
    NEVER,
    RISK,
    JudgedAnswer,
    ThresholdStore,
    answers_needed,
    chance_of_so_few,
    measure_threshold,
    read_threshold,
    threshold_for,
)
from config.settings import Settings
from index.store.database import open_database


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    opened = open_database(Settings.model_validate({"data_dir": tmp_path}))
    yield opened
    opened.dispose()


def judged(*groups: tuple[float, int, int]) -> list[JudgedAnswer]:
    """(confidence, right, wrong) of each group."""
    return [
        JudgedAnswer(confidence=sure, acceptable=accepted)
        for sure, right, wrong in groups
        for accepted, count in ((True, right), (False, wrong))
        for _ in range(count)
    ]


def test_the_tail_is_that_of_the_binomial() -> None:
    assert chance_of_so_few(0, 45, 0.05) == pytest.approx(0.95**45)
    assert chance_of_so_few(3, 3, 0.05) == pytest.approx(1)


def test_too_few_answers_show_nothing_however_right_they_are() -> None:
    needed = answers_needed(0.05)
    assert needed == 45
    assert threshold_for(0.05, judged((0.9, needed - 1, 0))) is None
    assert threshold_for(0.05, judged((0.9, needed, 0))) == 0.9


def test_the_threshold_is_the_lowest_that_the_answers_bear_out() -> None:
    assert threshold_for(0.1, judged((0.9, 60, 0), (0.8, 60, 2), (0.3, 10, 40))) == 0.8
    assert threshold_for(0.1, judged((0.9, 40, 40), (0.8, 400, 0))) is None


def test_more_wrong_answers_than_asked_for_come_through_once_in_ten_times_at_most() -> None:
    chance = random.Random(7)
    failures = 0
    for _ in range(400):
        sure = [chance.random() for _ in range(120)]
        found = threshold_for(
            0.2, [JudgedAnswer(confidence=c, acceptable=chance.random() < c) for c in sure]
        )
        # Of confidences spread evenly from t to 1, (1 - t) / 2 are wrong.
        failures += found is not None and (1 - found) / 2 > 0.2
    assert failures / 400 <= RISK


def test_until_golden_questions_show_more_the_built_in_calibration_counts(engine: Engine) -> None:
    kept = ThresholdStore(engine, "")
    assert kept.needed("tea", None) == MEDIUM
    assert kept.needed("tea", 0.05) == 0.95
    few = measure_threshold(0.05, judged((0.97, 10, 0)))
    kept.keep("tea", few)
    assert kept.of("tea", 0.05) == few
    assert kept.needed("tea", 0.05) == 0.95
    assert "built-in calibration: 10 answers to golden questions, 0 of them wrong" in str(few)


def test_a_threshold_is_kept_for_one_domain_one_model_and_one_share(engine: Engine) -> None:
    found = measure_threshold(0.05, judged((0.8, 60, 0)))
    ThresholdStore(engine, "scripted").keep("tea", found)
    ThresholdStore(engine, "scripted").keep("tea", replace(found, threshold=0.7))
    kept = ThresholdStore(engine, "scripted")
    assert kept.needed("tea", 0.05) == 0.7
    assert kept.needed("tea", 0.1) == 0.9
    assert kept.needed("coffee", 0.05) == 0.95
    assert ThresholdStore(engine, "").needed("tea", 0.05) == 0.95


def test_golden_questions_that_contradict_the_calibration_leave_nothing_without_reserve() -> None:
    found = measure_threshold(0.05, judged((0.97, 30, 30)))
    assert found.threshold == NEVER
    assert "no answer is shown without reserve" in str(found)


def test_a_threshold_is_looked_up_without_creating_anything(tmp_path: Path) -> None:
    settings = Settings.model_validate({"data_dir": tmp_path})
    assert read_threshold(settings, "tea", "", 0.05).threshold == 0.95
    assert list(tmp_path.iterdir()) == []
