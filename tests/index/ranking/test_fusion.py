from __future__ import annotations

import math
import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from index.ranking.fusion import Ranking, blend, fuse

rows = st.lists(st.integers(0, 20), unique=True, max_size=10)


def test_scores_are_sums_of_weighted_reciprocal_ranks() -> None:
    fused = fuse(
        [Ranking(name="chunks", rows=[7, 8]), Ranking(name="keywords", rows=[8], weight=2.0)]
    )
    assert [one.row for one in fused] == [8, 7]
    assert fused[0].score == pytest.approx(1 / 62 + 2 / 61)
    assert fused[0].ranks == {"chunks": 2, "keywords": 1}


def test_the_best_rank_of_several_variants_is_told() -> None:
    fused = fuse([Ranking(name="units", rows=[1, 2]), Ranking(name="units", rows=[2, 1])])
    assert all(one.ranks == {"units": 1} for one in fused)


def test_ties_keep_first_seen_order() -> None:
    fused = fuse([Ranking(name="chunks", rows=[3]), Ranking(name="keywords", rows=[1])])
    assert [one.row for one in fused] == [3, 1]


@given(st.lists(rows, max_size=4))
def test_every_row_comes_once_best_first(found: list[list[int]]) -> None:
    fused = fuse([Ranking(name=str(n), rows=one) for n, one in enumerate(found)])
    assert {one.row for one in fused} == {row for one in found for row in one}
    assert len({one.row for one in fused}) == len(fused)
    assert [one.score for one in fused] == sorted((one.score for one in fused), reverse=True)


def test_blending_keeps_the_lead_of_a_row_far_ahead() -> None:
    near = Ranking(name="chunks", rows=[1, 2, 3], scores=[0.50, 0.49, 0.10], weight=0.6)
    far = Ranking(name="keywords", rows=[2, 1], scores=[9.0, 1.0], weight=0.4, blanks=8)
    blended = blend([near, far])
    assert [one.row for one in blended] == [2, 1, 3]
    assert blended[0].ranks == {"chunks": 2, "keywords": 1}


def test_a_blended_score_is_made_of_deviations() -> None:
    scores = [5.0, 1.0]
    (first, second) = blend([Ranking(name="keywords", rows=[7, 8], scores=scores, blanks=2)])
    padded = [*scores, 0.0, 0.0]
    mean, deviation = statistics.mean(padded), statistics.pstdev(padded)
    assert first.score == pytest.approx(1 + (5 - mean) / deviation)
    assert second.score == pytest.approx(1 + (1 - mean) / deviation)


def test_what_is_usual_does_not_change_with_how_many_are_asked_for() -> None:
    scores = [1 / (rank + 1) for rank in range(400)]
    few = blend([Ranking(name="units", rows=range(100), scores=scores[:100])])
    many = blend([Ranking(name="units", rows=range(400), scores=scores)])
    assert few == many[:100]


def test_equal_scores_count_alike() -> None:
    blended = blend([Ranking(name="units", rows=[4, 5], scores=[0.3, 0.3])])
    assert [(one.row, one.score) for one in blended] == [(4, 1.0), (5, 1.0)]


def test_nothing_blends_to_nothing() -> None:
    assert blend([]) == [] == blend([Ranking(name="units", rows=[])])


@given(st.lists(st.lists(st.floats(-1, 1, width=32), max_size=8), max_size=4))
def test_blended_scores_are_finite_and_never_negative(found: list[list[float]]) -> None:
    rankings = [
        Ranking(name=str(n), rows=range(len(one)), scores=sorted(one, reverse=True), blanks=n)
        for n, one in enumerate(found)
    ]
    assert all(one.score >= 0 and math.isfinite(one.score) for one in blend(rankings))
