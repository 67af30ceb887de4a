"""What ends a snooze early: severities as tools write them, places, and rates of any size."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from bot.feature import AlertFired
from bot.features.snooze.views import shift_option
from bot.features.snooze.waking import Snooze, rate_of, waking_by
from bot.rotas.on_call import OnCall

SINCE = datetime(2026, 11, 22, 3)


def snooze(*severities: str, places: tuple[str, ...] = (), rate: float = 1.0) -> Snooze:
    return Snooze(
        id="s", kind="k", name="DiskFull", domain="platform", channel="C1", question_id="C1:1.0",
        by="U0INES", reason="known", severities=severities, places=places, rate=rate,
        since=SINCE, until=SINCE + timedelta(hours=4),
    )  # fmt: skip


def fired(*severities: str, places: tuple[str, ...] = (), minutes: float = 10) -> AlertFired:
    return AlertFired(
        kind="k", name="DiskFull", domain="platform", channel="C1", severities=severities,
        places=places, at=SINCE + timedelta(minutes=minutes),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("critical", "critical"), ("critical", "Warning"), ("CRIT", "critical"), ("P1", "p2"),
        ("P2", "P2 - High"), ("SEV1", "sev 3"), ("S2", "SEV-2"), ("high", "medium"),
        ("1 - Critical", "2 - High"), ("disaster", "average"), ("page", "ticket"),
        ("major", "minor"), ("error", "warn"), ("mauve", "Mauve"), ("3", "3"),
        ("严重", "严重"), ("critical", "moderate"),
    ],
)  # fmt: skip
def test_the_same_or_a_lower_severity_stays_quiet(before: str, after: str) -> None:
    assert waking_by(snooze(before), fired(after), 1) is None


@pytest.mark.parametrize(
    ("before", "after", "is_higher"),
    [
        ("warning", "critical", True), ("info", "page", True), ("P3", "P1", True),
        ("P1", "P0", True), ("SEV3", "SEV2", True), ("low", "high", True),
        ("average", "disaster", True), ("minor", "major", True), ("err", "CRITICAL", True),
        ("warning", "P1", False), ("1", "2", False), ("2", "1", False), ("mauve", "beige", False),
        ("warning", "medium", False), ("警告", "严重", False), ("P2", "SEV2", False),
    ],
)  # fmt: skip
def test_a_higher_one_wakes_and_so_does_one_that_cannot_be_compared(
    before: str, after: str, is_higher: bool
) -> None:
    waking = waking_by(snooze(before), fired(after), 1)
    assert waking
    assert (waking.end, waking.before, waking.after) == ("severity", before, after)
    assert waking.is_higher == is_higher


def test_a_message_without_a_severity_says_nothing_about_it() -> None:
    assert waking_by(snooze("warning"), fired(), 1) is None
    assert waking_by(snooze(), fired(), 1) is None
    assert waking_by(snooze(), fired("info"), 1)


def test_any_severity_that_it_had_before_counts() -> None:
    assert waking_by(snooze("critical", "warning"), fired("high", "error"), 1) is None
    assert waking_by(snooze("info", "warning"), fired("info", "critical"), 1)


def test_another_place_wakes_and_one_place_of_several_does_not() -> None:
    known = ("pod a", "pod b")
    assert waking_by(snooze(places=known), fired(places=("pod b",)), 1) is None
    waking = waking_by(snooze(places=known), fired(places=("pod b", "pod c")), 1)
    assert waking
    assert (waking.end, waking.after) == ("place", "pod c")


@pytest.mark.parametrize(
    ("before_an_hour", "recent", "minutes", "wakes"),
    [
        (0, 3, 60, False), (0, 4, 60, True),  # tiny numbers
        (1, 3, 5, False), (1, 4, 60, True), (2, 4, 60, False), (2, 5, 60, True),
        (12, 4, 1, False), (12, 7, 1, True), (12, 24, 60, False), (12, 25, 60, True),
        (10_000, 20_000, 60, False), (10, 10_000, 1, True),
    ],
)  # fmt: skip
def test_more_than_twice_the_rate_wakes(
    before_an_hour: float, recent: int, minutes: float, wakes: bool
) -> None:
    waking = waking_by(snooze(rate=before_an_hour), fired(minutes=minutes), recent)
    assert bool(waking) == wakes


def test_until_the_shift_ends_is_no_option_in_a_gap_or_for_weeks() -> None:
    at = SINCE.replace(tzinfo=UTC)
    until = at + timedelta(hours=5)
    shift = OnCall(who="U0DANA", named=True, until=until, zone="Europe/Berlin")
    assert list(shift_option(shift, "U0DANA", at)) == ["2026-11-22T08:00:00"]
    (text,) = shift_option(shift, "U0DANA", at).values()
    assert text.startswith("Until my shift ends, ")
    assert text.endswith(" 09:00 (Europe/Berlin)")
    gap, open_end = replace(shift, named=False, who=""), replace(shift, until=None)
    weeks = replace(shift, until=at + timedelta(days=8))
    assert [shift_option(one, "U0INES", at) for one in (None, gap, open_end, weeks)] == [{}] * 4


def test_a_rate_over_less_than_a_quarter_of_an_hour_is_that_of_a_quarter() -> None:
    assert rate_of(2, timedelta(minutes=1)) == rate_of(2, timedelta(minutes=15)) == 8
    assert rate_of(2, timedelta(hours=9)) == 2
    assert rate_of(1, timedelta(seconds=-5)) == 4
