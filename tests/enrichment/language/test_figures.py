from __future__ import annotations

import pytest

from enrichment.language.quantities import figures, quantities


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("1,200 or 1200", {"1200"}),
        ("1,200,000.50 euros", {"1200000.50"}),
        ("from 30, at 10:30, v1.2.3", {"30", "10:30", "1.2.3"}),
        ("1,5 and 12,34", {"1,5", "12,34"}),
        ("SEC-1234.", {"1234"}),
        ("thirty", set()),
    ],
)
def test_figures_are_told_without_the_commas_of_thousands(text: str, found: set[str]) -> None:
    assert figures(text) == found


@pytest.mark.parametrize("text", ["at 10:30 hours", "a 1:1 every week", "1:1 months", "1.2.3 days"])
def test_a_time_a_ratio_or_a_version_is_no_span(text: str) -> None:
    for one in quantities(text):
        assert not one.measure or float(one.value) > 0
