from __future__ import annotations

import pytest

from enrichment.language.quantities import figures, intervals, quantities


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


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("an hour and a half", ["5400"]),
        ("2 and a half hours", ["9000"]),
        ("a minute and three quarters, then 10 s", ["105", "10"]),
        ("5 hours and a quarter of it", ["18900"]),
    ],
)
def test_a_fraction_belongs_to_the_span_before_it(text: str, seconds: list[str]) -> None:
    assert [one.value for one in quantities(text)] == seconds


def test_adverbs_of_frequency_are_intervals() -> None:
    found = {(one.value, one.measure) for one in intervals("Weekly, bi-monthly or semi-annually")}
    assert found == {("604800", "time"), ("6", "months")}
    assert intervals("a second every day") == ()


@pytest.mark.parametrize(
    ("text", "value", "measure"),
    [
        ("11+ years", "132", "months"),
        ("2 Stunden", "7200", "time"),
        ("90 jours", "7.776e+06", "time"),
        ("3 años", "36", "months"),
        ("26 mai", "5-26", "date"),
        ("3 de maio de 2026", "5-3", "date"),
        ("12. März 2026", "3-12", "date"),
        ("Sept. 4, 2026", "9-4", "date"),
        ("Marketing 2024", "2024", ""),
        ("1,50 €", "1.5", "euro"),
        ("12 ct", "12", "cent"),
        ("512Mi", "5.36871e+08", "bytes"),
        ("32 Go", "3.2e+10", "bytes"),
        ("5 consecutive working days", "432000", "working time"),
        ("marathon 12", "12", ""),
    ],
)
def test_units_and_months_of_several_languages(text: str, value: str, measure: str) -> None:
    (found,) = quantities(text)
    assert (found.value, found.measure) == (value, measure)
