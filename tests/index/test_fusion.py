from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from index.fusion import Ranking, fuse

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
