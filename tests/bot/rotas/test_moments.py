"""Times in words: what is understood, what is not, and the nights on which clocks change."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.rotas.moments import MAX_AWAY, Period, period_in
from bot.rotas.shifts import Shift, named_at, turn_at, turns_between

SATURDAY = datetime(2026, 11, 28, 0, 40, tzinfo=UTC)
"""01:40 in Berlin."""
BERLIN = "Europe/Berlin"
ZONES = (BERLIN, "UTC", "America/New_York", "Asia/Kathmandu", "Australia/Lord_Howe")


def label(words: str, *, was: bool = False, now: datetime = SATURDAY, zone: str = BERLIN) -> str:
    """Empty where no time is named."""
    found = period_in(words, now, zone, is_past=was)
    return found[0].label(zone, now) if found and not found[1] else ""


@pytest.mark.parametrize(
    ("words", "was", "meant"),
    [
        ("on tuesday night", True, "Tuesday 24 November, 22:00–06:00"),
        ("on tuesday night", False, "Tuesday 1 December, 22:00–06:00"),
        ("on tuesday", True, "Tuesday 24 November"),
        ("last tuesday", True, "Tuesday 24 November"),
        ("next tuesday at noon", False, "Tuesday 1 December, 12:00"),
        ("on saturday", False, "Saturday 28 November"),
        ("on saturday", True, "Saturday 21 November"),
        ("last night", True, "Friday 27 November, 22:00–06:00"),
        ("last night at 9 pm", True, "Friday 27 November, 21:00"),
        ("yesterday at 3 am", True, "Friday 27 November, 03:00"),
        ("at 3am yesterday", True, "Friday 27 November, 03:00"),
        ("yesterday morning", True, "Friday 27 November, 06:00–12:00"),
        ("the day before yesterday", True, "Thursday 26 November"),
        ("tonight", False, "Friday 27 November, 18:00–06:00"),
        ("tomorrow 14h00", False, "Sunday 29 November, 14:00"),
        ("tomorrow night at 3 am", False, "Monday 30 November, 03:00"),
        ("this evening", False, "Saturday 28 November, 18:00–22:00"),
        ("at 3 am", False, "Saturday 28 November, 03:00"),
        ("at 3 am", True, "Friday 27 November, 03:00"),
        ("on 24 december", False, "Thursday 24 December"),
        ("on 24 december", True, "Wednesday 24 December 2025"),
        ("on december 24th", False, "Thursday 24 December"),
        ("on the 24th of dec at 14h30", False, "Thursday 24 December, 14:30"),
        ("2026 12 24", False, "Thursday 24 December"),
        ("next weekend", False, "Saturday 5 December to Sunday 6 December"),
        ("this weekend", False, "Saturday 28 November to Sunday 29 November"),
        ("last week", True, "Monday 16 November to Sunday 22 November"),
        ("in 2 hours", False, "Saturday 28 November, 03:40"),
        ("20 minutes ago", True, "Saturday 28 November, 01:20"),
        ("in a week", False, "Saturday 5 December"),
    ],
)
def test_a_time_in_words_is_one_period_of_the_rota_s_zone(
    words: str, was: bool, meant: str
) -> None:
    assert label(words, was=was) == meant


@pytest.mark.parametrize(
    "words",
    [
        "", "may", "on weekends", "on sundays", "the week", "at night", "at 3", "12 10", "2 24",
        "at 25h00", "at 13 pm", "31 june", "2026 13 01", "2019 12 24", "in 999 weeks",
        "friday morning at 9 pm", "sometime", "during a sev1", "the second line", "in 2 months",
    ],
)  # fmt: skip
def test_what_is_no_time_or_one_that_cannot_be_is_not_guessed(words: str) -> None:
    assert label(words) == ""


def test_the_other_words_are_left_over() -> None:
    found = period_in("for the platform on tuesday night please", SATURDAY, BERLIN)
    assert found
    assert found[1] == "for the platform please"


def test_a_night_is_as_long_as_the_clocks_make_it() -> None:
    at = datetime(2026, 10, 24, 12, tzinfo=UTC)  # back an hour on the 25th
    fall = period_in("tonight", at, BERLIN)
    spring = period_in("tonight", datetime(2026, 3, 28, 12, tzinfo=UTC), BERLIN)
    assert fall
    assert spring
    assert fall[0].end - fall[0].start == timedelta(hours=13)
    assert spring[0].end - spring[0].start == timedelta(hours=11)
    assert fall[0].label(BERLIN, at) == "Saturday 24 October, 18:00–06:00"
    skipped = period_in("tomorrow at 2h30", datetime(2026, 3, 28, 12, tzinfo=UTC), BERLIN)
    assert skipped is None or skipped[0].start.tzinfo is UTC


WORDS = """on in at the last next this tuesday sunday night morning evening tonight yesterday
tomorrow weekend week 3 am pm noon 14h30 99h99 24 31 february december 2026 2 hours days ago for x
may day before after of"""
WORD = st.sampled_from(WORDS.split())
NOW = st.datetimes(datetime(2000, 1, 1), datetime(2090, 1, 1), timezones=st.just(UTC))


@given(words=st.lists(WORD, max_size=8).map(" ".join), now=NOW, zone=st.sampled_from(ZONES),
       was=st.booleans())  # fmt: skip
def test_any_words_give_a_period_near_now_and_the_words_left_over(
    words: str, now: datetime, zone: str, was: bool
) -> None:
    found = period_in(words, now, zone, is_past=was)
    if found is None:
        return
    period, rest = found
    assert period.start <= period.end <= period.start + timedelta(days=8)
    assert abs(period.start - now) <= MAX_AWAY
    assert period.label(zone, now)
    assert len(rest.split()) < len(words.split())


@given(now=NOW, zone=st.sampled_from(ZONES), day=st.sampled_from(["monday", "friday", "sunday"]))
def test_a_weekday_was_before_now_or_is_not_over(now: datetime, zone: str, day: str) -> None:
    past = period_in(f"on {day} night", now, zone, is_past=True)
    ahead = period_in(f"on {day} night", now, zone)
    assert past
    assert ahead
    assert past[0].start < now < ahead[0].end
    assert f"{ahead[0].start.astimezone(ZoneInfo(zone)):%A}".lower() == day


HOURS = st.integers(0, 60).map(lambda hours: SATURDAY + timedelta(hours=hours))
SHIFTS = st.lists(
    st.tuples(HOURS, st.integers(1, 30), st.sampled_from(["U0INES", "U0DANA", ""])).map(
        lambda one: Shift(one[0], one[0] + timedelta(hours=one[1]), one[2])
    ),
    max_size=8,
)


@given(shifts=SHIFTS, start=HOURS, hours=st.integers(0, 40))
def test_the_turns_of_a_period_follow_one_another_and_are_those_of_each_moment(
    shifts: list[Shift], start: datetime, hours: int
) -> None:
    end = start + timedelta(hours=hours)
    turns = list(turns_between(shifts, start, end))
    assert turns[0][0] == start
    assert [turn.until for _, turn in turns[:-1]] == [begins for begins, _ in turns[1:]]
    last = turns[-1][1].until
    assert last is None or last >= end
    named = [one for one in shifts if one.who]
    for begins, turn in turns:
        assert turn.who == named_at(named, begins, rota="rota")
    assert turns[0][1].who == turn_at(shifts, start).who


def test_a_moment_is_one_turn() -> None:
    shift = Shift(SATURDAY, SATURDAY + timedelta(hours=8), "U0INES")
    at = Period(SATURDAY, SATURDAY)
    ((begins, turn),) = turns_between([shift], at.start, at.end)
    assert (begins, turn.who, turn.until) == (SATURDAY, "U0INES", shift.end)
