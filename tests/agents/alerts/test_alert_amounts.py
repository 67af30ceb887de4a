"""From how much on a row holds, and how much an alert says it is."""

from __future__ import annotations

import pytest

from agents.alerts.alert import amounts_in, condition_after, range_in


@pytest.mark.parametrize(
    ("cell", "inside", "outside"),
    [
        ("above 80 %", "81 %", "80 %"),
        ("≥ 90%", "90 %", "89.9 %"),
        ("5,000 – 20,000", "5000", "20,001"),
        ("more than 20,000", "20001", "20,000"),
        ("60 s to 10 min", "10 minutes", "59 s"),
        ("over 10 min", "742 s", "600 seconds"),
        ("1 or more", "1", "0"),
        ("less than 2 GB", "1999 MB", "3 GB"),
        ("30s-120s", "45s", "130s"),
    ],
)
def test_a_range_holds_what_is_in_it(cell: str, inside: str, outside: str) -> None:
    found = range_in(cell)
    assert found is not None
    assert next(found.contains(one) for one in amounts_in(f"it is {inside}"))
    assert not any(found.contains(one) for one in amounts_in(f"it is {outside}"))


@pytest.mark.parametrize("cell", ["P1 – P3", "EU, US", "both", "10 min", "", "2 – 1", "above it"])
def test_other_cells_are_no_range(cell: str) -> None:
    assert range_in(cell) is None


def test_another_measure_is_not_in_it() -> None:
    found = range_in("above 80 %")
    assert found is not None
    assert not any(found.contains(one) for one in amounts_in("it is 95, or 95 s"))


@pytest.mark.parametrize(
    "text",
    [
        "threshold 50000 for 10m",
        "limit: 10000",
        "above 95 %",
        "last triggered at Wed Nov 25 2026 03:12:44 UTC",
        "2026-11-25T03:12:44Z",
        "#48213, broker 7, port=9092, db-14, v1.2.3",
        "https://x.example/7719024?group=12",
        "max(last_5m):max:disk{host:1} > 0.92",
    ],
)
def test_limits_dates_and_numbers_of_things_are_no_amounts(text: str) -> None:
    assert amounts_in(text) == ()


def test_the_condition_at_the_end_of_a_name() -> None:
    assert condition_after("DiskFull above 92 %") == "above 92 %"
    assert condition_after("DiskFull above the line") == ""
