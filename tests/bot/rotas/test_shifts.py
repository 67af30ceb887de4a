"""Whose turn it is, until when, and when digests are due: overlaps, gaps, changes of the clock."""

from __future__ import annotations

import time
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import Barrier, Event

import pytest

from bot.features.digest.service import is_due, next_due
from bot.features.digest.store import Period
from bot.rotas import rota
from bot.rotas.rota import (
    AHEAD,
    FRESH_SECONDS,
    USABLE_SECONDS,
    CachedRota,
    ParsedRota,
    RotaCache,
    read_rota,
)
from bot.rotas.shifts import RotaTurn, Shift, begins_after, turn_at
from config.domain import Domain
from config.errors import ConfigError
from tests.bot.fakes import domain

INES, DANA = "U0INES", "U0DANA"


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def shift(start: str, end: str, who: str) -> Shift:
    return Shift(at(start), at(end), who)


WEEKS = [
    shift("2026-11-02T09:00", "2026-11-09T09:00", INES),
    shift("2026-11-09T09:00", "2026-11-16T09:00", DANA),
    shift("2026-11-18T09:00", "2026-11-23T09:00", DANA),
    shift("2026-11-23T09:00", "2026-11-30T09:00", DANA),
]
OVERRIDE = shift("2026-11-04T12:00", "2026-11-04T14:00", DANA)
LONGER = shift("2026-11-04T12:00", "2026-11-04T18:00", "U0MAREK")


@pytest.mark.parametrize(
    ("now", "turn", "begins"),
    [
        ("2026-11-03T00:00", RotaTurn(INES, at("2026-11-09T09:00")), "2026-11-09T09:00"),
        ("2026-11-09T09:00", RotaTurn(DANA, at("2026-11-16T09:00")), "2026-11-18T09:00"),
        ("2026-11-17T00:00", RotaTurn("", at("2026-11-18T09:00")), "2026-11-18T09:00"),
        ("2026-11-20T00:00", RotaTurn(DANA, at("2026-11-23T09:00")), "2026-11-23T09:00"),
        ("2026-11-24T00:00", RotaTurn(DANA, at("2026-11-30T09:00")), None),
        ("2026-12-24T00:00", RotaTurn("", None), None),
        ("2026-11-01T00:00", RotaTurn("", at("2026-11-02T09:00")), "2026-11-02T09:00"),
    ],
)
def test_a_turn_lasts_until_the_next_shift_or_a_gap(
    now: str, turn: RotaTurn, begins: str | None
) -> None:
    assert turn_at(WEEKS, at(now)) == turn
    assert begins_after(WEEKS, at(now)) == (at(begins) if begins else None)


def test_an_override_begins_a_turn_and_gives_it_back() -> None:
    shifts = [*WEEKS, OVERRIDE]
    assert turn_at(shifts, at("2026-11-03T00:00")) == RotaTurn(INES, OVERRIDE.start)
    assert turn_at(shifts, OVERRIDE.start) == RotaTurn(DANA, OVERRIDE.end)
    assert begins_after(shifts, OVERRIDE.start) == OVERRIDE.end
    assert begins_after(shifts, OVERRIDE.end) == at("2026-11-09T09:00")


def test_of_overrides_that_overlap_the_shorter_counts_first() -> None:
    shifts = [*WEEKS, LONGER, OVERRIDE]
    assert turn_at(shifts, OVERRIDE.start).who == DANA
    assert turn_at(shifts, OVERRIDE.end) == RotaTurn("U0MAREK", LONGER.end)
    assert begins_after(shifts, OVERRIDE.start) == OVERRIDE.end


def test_a_shift_inside_ones_own_changes_nothing() -> None:
    shifts = [*WEEKS, shift("2026-11-04T12:00", "2026-11-04T14:00", INES)]
    assert turn_at(shifts, at("2026-11-03T00:00")).until == at("2026-11-09T09:00")


def test_a_shift_that_names_nobody_is_a_gap() -> None:
    shifts = [shift("2026-11-02T09:00", "2026-11-09T09:00", ""), *WEEKS[1:]]
    assert turn_at(shifts, at("2026-11-03T00:00")) == RotaTurn("", at("2026-11-09T09:00"))


CALENDAR = """BEGIN:VCALENDAR
X-WR-TIMEZONE:Europe/Berlin
BEGIN:VEVENT
UID:weekly
DTSTART;TZID=Europe/Berlin:20260928T090000
DTEND;TZID=Europe/Berlin:20261005T090000
RRULE:FREQ=WEEKLY;INTERVAL=2
SUMMARY:<@U0INES>
END:VEVENT
BEGIN:VEVENT
UID:other
DTSTART;TZID=Europe/Berlin:20261005T090000
DTEND;TZID=Europe/Berlin:20261012T090000
RRULE:FREQ=WEEKLY;INTERVAL=2
SUMMARY:<@U0DANA>
END:VEVENT
BEGIN:VEVENT
UID:other
RECURRENCE-ID;TZID=Europe/Berlin:20261102T090000
DTSTART;TZID=Europe/Berlin:20261102T120000
DTEND;TZID=Europe/Berlin:20261109T090000
SUMMARY:<@U0DANA>
END:VEVENT
END:VCALENDAR
"""


def test_a_calendars_turns_follow_its_rules_its_moved_shifts_and_its_clock(tmp_path: Path) -> None:
    (tmp_path / "rota.ics").write_text(CALENDAR)
    rota = read_rota("rota.ics", tmp_path)
    assert rota.zone == "Europe/Berlin"
    shifts = rota.shifts(at("2026-10-10T00:00"), at("2026-11-20T00:00"))
    found, moment = [], at("2026-10-12T00:00")
    while (begins := begins_after(shifts, moment)) and begins < at("2026-11-20T00:00"):
        found.append(f"{begins:%m-%d %H:%M}")
        moment = begins
    # Nine by a clock that goes back on the 25th of October; one shift begins three hours late.
    assert found == ["10-12 07:00", "10-19 07:00", "10-26 08:00", "11-02 11:00", "11-09 08:00",
                     "11-16 08:00"]  # fmt: skip
    assert turn_at(shifts, at("2026-11-02T09:00")) == RotaTurn("", at("2026-11-02T11:00"))


def seen_of(path: Path, written: str, zone: str) -> CachedRota:
    (path / "rota.yaml").write_text(written)
    made = domain(escalation={"rota": "rota.yaml", "time_zone": zone})
    return RotaCache().of(made.read_from(path / "security.yaml"), "rota.yaml")


def test_times_without_a_zone_are_by_the_domains_clock(tmp_path: Path) -> None:
    now = datetime.now(UTC)
    day = f"{now + timedelta(days=1):%Y-%m-%d}"
    written = f"- {{from: {day}T09:00, to: {day}T17:00, user: U0INES}}"
    (tokyo,) = seen_of(tmp_path, written, "Asia/Tokyo").shifts
    (utc,) = seen_of(tmp_path, written, "UTC").shifts
    assert utc.start - tokyo.start == timedelta(hours=9)


def test_a_calendar_that_names_no_zone_is_by_the_domains_clock(tmp_path: Path) -> None:
    (tmp_path / "rota.ics").write_text(
        "BEGIN:VCALENDAR\nBEGIN:VEVENT\nUID:1\nDTSTART:20261102T090000\nDTEND:20261102T170000\n"
        "SUMMARY:<@U0INES>\nEND:VEVENT\nEND:VCALENDAR\n"
    )
    from zoneinfo import ZoneInfo

    rota, around = read_rota("rota.ics", tmp_path), (at("2026-11-01T00:00"), at("2026-11-04T00:00"))
    (berlin,) = rota.shifts(*around, ZoneInfo("Europe/Berlin"))
    assert berlin.start == at("2026-11-02T08:00")
    (utc,) = rota.shifts(*around)
    assert utc.start == at("2026-11-02T09:00")


def test_a_shift_over_the_hour_that_comes_twice_is_an_hour_longer(tmp_path: Path) -> None:
    (tmp_path / "rota.yaml").write_text(
        "- {from: 2026-10-25T00:00, to: 2026-10-25T08:00, user: U0INES}"
    )
    from zoneinfo import ZoneInfo

    rota = read_rota("rota.yaml", tmp_path)
    (night,) = rota.shifts(
        at("2026-10-24T00:00"), at("2026-10-26T00:00"), ZoneInfo("Europe/Berlin")
    )
    assert night.end - night.start == timedelta(hours=9)


def by_cron(cron: str, zone: str = "Europe/Berlin") -> Domain:
    return domain(digest={"at": cron, "time_zone": zone})


@pytest.mark.parametrize(
    ("after", "due"),
    [
        ("2026-03-27T12:00", "2026-03-28T01:30"),
        ("2026-03-28T12:00", "2026-03-29T01:30"),  # half past two never came: half past three
        ("2026-03-29T12:00", "2026-03-30T00:30"),
        ("2026-10-24T12:00", "2026-10-25T00:30"),
        ("2026-10-25T00:30", "2026-10-26T01:30"),  # the second half past two is none
        ("2026-10-25T01:00", "2026-10-26T01:30"),
    ],
)
def test_a_cron_follows_the_clock_on_the_wall(after: str, due: str) -> None:
    assert next_due(by_cron("30 2 * * *"), None, at(after)) == at(due)
    assert is_due(by_cron("30 2 * * *"), None, Period("security", at(due)))
    assert not is_due(by_cron("31 2 * * *"), None, Period("security", at(due)))


def test_a_rota_that_cannot_be_read_is_believed_as_it_was() -> None:
    made = domain(digest="shift_change", escalation={"rota": "rota.ics"})
    assert next_due(made, None, at("2026-11-02T09:00")) is None
    period = Period("security", at("2026-11-02T09:00"))
    assert is_due(made, None, period)
    assert is_due(made, CachedRota(tuple(WEEKS), "", "rota"), period)
    assert not is_due(made, CachedRota(tuple(WEEKS[1:]), "", "rota"), period)


def test_a_period_is_told_by_its_timers_subject() -> None:
    period = Period("security", at("2026-11-02T09:00"))
    assert Period.of(period.subject) == period


def test_a_rota_is_read_every_ten_minutes_and_goes_on_for_a_day_without(tmp_path: Path) -> None:
    clock = [0.0]
    known = RotaCache(clock=lambda: clock[0])
    rota = tmp_path / "rota.yaml"
    now = datetime.now(UTC)
    line = f"- {{{{from: {now:%Y-%m-%dT%H:%M}, to: {now + AHEAD:%Y-%m-%dT%H:%M}, user: {{}}}}}}"
    rota.write_text(line.format("U0INES"))
    made = domain(escalation={"rota": str(rota)}).read_from(tmp_path / "security.yaml")

    def who(within: float = FRESH_SECONDS) -> str:
        return known.of(made, str(rota), within=within).shifts[0].who

    assert who() == "U0INES"
    rota.write_text(line.format("U0DANA"))
    assert who() == "U0INES"
    clock[0] += 61
    assert who(within=60) == "U0DANA"
    rota.write_text("[")
    clock[0] += FRESH_SECONDS + 1
    assert who() == "U0DANA"
    assert "rota.yaml" in known.problem(made, str(rota))
    clock[0] += USABLE_SECONDS
    with pytest.raises(ConfigError):
        who()
    rota.write_text(line.format("U0MAREK"))
    clock[0] += FRESH_SECONDS + 1
    assert who() == "U0MAREK"
    assert known.problem(made, str(rota)) == ""


def test_a_slow_read_holds_nobody_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The last copy counts meanwhile; without one it is as if the rota couldn't be read."""
    clock, goes_on, reads = [0.0], Event(), Barrier(2)
    known = RotaCache(clock=lambda: clock[0])
    made = domain(escalation={"rota": "rota.yaml"}).read_from(tmp_path / "security.yaml")
    now = datetime.now(UTC)
    who = ["U0INES"]

    def slow(*_: object) -> ParsedRota:
        reads.wait(5)
        goes_on.wait(5)
        line = f"- {{from: {now:%Y-%m-%dT%H:%M}, to: {now + AHEAD:%Y-%m-%dT%H:%M}, user: {who[0]}}}"
        return ParsedRota(line, "rota.yaml")

    def ask() -> str:
        return known.of(made, "rota.yaml").shifts[0].who

    def end_the_read() -> None:
        goes_on.set()
        for _ in range(500):
            with suppress(ConfigError):
                if ask() == who[0]:
                    break
            time.sleep(0.01)
        goes_on.clear()

    monkeypatch.setattr(rota, "read_rota", slow)
    monkeypatch.setattr(rota, "WAIT_SECONDS", 0.05)
    with pytest.raises(ConfigError, match="is still being read"):
        ask()
    reads.wait(5)
    with pytest.raises(ConfigError, match="is still being read"):
        ask()
    end_the_read()
    assert ask() == "U0INES"
    who[0] = "U0DANA"
    clock[0] += FRESH_SECONDS + 1
    assert [ask(), ask()] == ["U0INES", "U0INES"]  # while one thread reads it once
    assert not reads.broken
    reads.wait(5)
    end_the_read()
    assert ask() == "U0DANA"
