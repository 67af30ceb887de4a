from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from index.vectors.quantized import best

scores = st.lists(st.sampled_from([0.0, 0.25, 0.5, 0.5, 1.0, -1.0]), min_size=1, max_size=40)


@given(scores, st.integers(1, 50))
def test_best_is_the_head_of_a_stable_sort(values: list[float], depth: int) -> None:
    array = np.array(values, dtype=np.float32)
    expected = sorted(range(len(values)), key=lambda row: (-values[row], row))[:depth]
    found = best(array, depth)
    assert found.rows.tolist() == expected
    assert found.scores.tolist() == array[expected].tolist()


@given(scores)
def test_rows_at_or_below_the_bound_are_left_out(values: list[float]) -> None:
    found = best(np.array(values, dtype=np.float32), 5, above=0.0)
    assert all(values[row] > 0 for row in found.rows)
