"""Who is on call by a calendar: repetition, exceptions, time zones, and what is broken or huge."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from bot.rotas.rota import MAX_BYTES, ParsedRota, on_call
from config.errors import ConfigError

INES, DANA = "U0INES00", "U0DANA00"
Who = Callable[[str, str], str]
"""(calendar, moment in UTC) → who is on call."""


@pytest.fixture
def who(tmp_path: Path) -> Who:
    def at(text: str, moment: str) -> str:
        (tmp_path / "rota.ics").write_text(text, newline="")
        noon = datetime.fromisoformat(moment).replace(tzinfo=UTC)
        return on_call("rota.ics", noon, relative_to=tmp_path)

    return at


def event(who: str, *lines: str) -> str:
    return "\r\n".join(["BEGIN:VEVENT", "UID:shift", f"SUMMARY:{who}", *lines, "END:VEVENT"])


def calendar(*events: str, head: str = "PRODID:-//rota//EN") -> str:
    return "\r\n".join(["BEGIN:VCALENDAR", "VERSION:2.0", head, *events, "END:VCALENDAR", ""])


def times(start: str, end: str, zone: str = "") -> tuple[str, str]:
    at = f";TZID={zone}" if zone else ""
    return f"DTSTART{at}:{start}", f"DTEND{at}:{end}"


WEEK = times("20260105T090000Z", "20260112T090000Z")
"""Monday to Monday."""
DAY = times("20260105T090000Z", "20260105T170000Z")


@pytest.mark.parametrize(
    ("rule", "on", "off"),
    [
        ("FREQ=WEEKLY", "2026-11-04T12:00", "2026-01-05T08:59"),
        ("FREQ=WEEKLY;COUNT=2", "2026-01-14T12:00", "2026-01-20T12:00"),
        ("FREQ=WEEKLY;INTERVAL=2", "2026-01-20T12:00", "2026-01-14T12:00"),
        ("FREQ=WEEKLY;INTERVAL=2", "2029-11-06T12:00", "2029-10-30T12:00"),
        ("FREQ=WEEKLY;UNTIL=20260119T090000Z", "2026-01-20T12:00", "2026-01-27T12:00"),
        ("FREQ=WEEKLY;UNTIL=20260118", "2026-01-14T12:00", "2026-01-20T12:00"),
    ],
)
def test_a_weekly_shift_comes_again_by_its_rule(who: Who, rule: str, on: str, off: str) -> None:
    rota = calendar(event(INES, *WEEK, f"RRULE:{rule}"))
    assert who(rota, on) == INES
    assert who(rota, off) == ""


@pytest.mark.parametrize(
    ("rule", "on", "off"),
    [
        ("FREQ=WEEKLY;BYDAY=MO,WE", "2026-01-14T12:00", "2026-01-13T12:00"),
        ("FREQ=MONTHLY;BYDAY=1MO", "2026-02-02T12:00", "2026-02-09T12:00"),
        ("FREQ=MONTHLY;BYDAY=-1FR", "2026-01-30T12:00", "2026-01-23T12:00"),
        ("FREQ=DAILY;INTERVAL=3", "2026-01-08T12:00", "2026-01-07T12:00"),
        ("FREQ=YEARLY", "2027-01-05T12:00", "2027-01-04T12:00"),
        ("FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=-1", "2026-02-27T12:00", "2026-02-26T12:00"),
    ],
)
def test_a_shift_of_a_day_comes_on_the_days_of_its_rule(
    who: Who, rule: str, on: str, off: str
) -> None:
    rota = calendar(event(INES, *DAY, f"RRULE:{rule}"))
    assert who(rota, on) == INES
    assert who(rota, off) == ""


def test_two_people_take_turns_every_other_week(who: Who) -> None:
    later = times("20260112T090000Z", "20260119T090000Z")
    fortnightly = "RRULE:FREQ=WEEKLY;INTERVAL=2"
    other = event(DANA, *later, fortnightly).replace("UID:shift", "UID:other")
    rota = calendar(event(INES, *WEEK, fortnightly), other)
    weeks = ["2026-01-06", "2026-01-13", "2026-01-20", "2026-01-27"]
    assert [who(rota, week) for week in weeks] == [INES, DANA, INES, DANA]


def test_a_date_that_is_excepted_is_nobodys(who: Who) -> None:
    rota = calendar(event(INES, *WEEK, "RRULE:FREQ=WEEKLY", "EXDATE:20260119T090000Z"))
    assert who(rota, "2026-01-20T12:00") == ""
    assert who(rota, "2026-01-27T12:00") == INES


def test_an_extra_date_counts(who: Who) -> None:
    rota = calendar(event(INES, *DAY, "RDATE:20260109T090000Z"))
    assert who(rota, "2026-01-09T12:00") == INES


def test_one_shift_of_a_series_may_be_somebody_elses(who: Who) -> None:
    swapped = event(
        DANA, *times("20260119T090000Z", "20260126T090000Z"), "RECURRENCE-ID:20260119T090000Z"
    )
    rota = calendar(event(INES, *WEEK, "RRULE:FREQ=WEEKLY"), swapped)
    weeks = ["2026-01-13", "2026-01-20", "2026-01-27"]
    assert [who(rota, week) for week in weeks] == [INES, DANA, INES]


def test_one_shift_of_a_series_may_move(who: Who) -> None:
    moved = event(
        INES, *times("20260113T090000Z", "20260113T170000Z"), "RECURRENCE-ID:20260112T090000Z"
    )
    rota = calendar(event(INES, *DAY, "RRULE:FREQ=WEEKLY"), moved)
    assert who(rota, "2026-01-12T12:00") == ""
    assert who(rota, "2026-01-13T12:00") == INES


def test_a_cancelled_shift_of_a_series_is_nobodys(who: Who) -> None:
    cancelled = event(
        INES,
        *times("20260119T090000Z", "20260126T090000Z"),
        "RECURRENCE-ID:20260119T090000Z",
        "STATUS:CANCELLED",
    )
    rota = calendar(event(INES, *WEEK, "RRULE:FREQ=WEEKLY"), cancelled)
    assert who(rota, "2026-01-20T12:00") == ""
    assert who(rota, "2026-01-27T12:00") == INES


def test_a_shift_begins_at_the_same_hour_on_the_clock_in_summer_and_in_winter(who: Who) -> None:
    week = times("20260105T090000", "20260112T090000", "Europe/Amsterdam")
    rota = calendar(event(INES, *week, "RRULE:FREQ=WEEKLY;INTERVAL=2"))
    # 09:00 in Amsterdam is 08:00 UTC in winter, 07:00 UTC from 29 March on.
    assert who(rota, "2026-03-16T08:00") == INES
    assert who(rota, "2026-03-16T07:59") == ""
    assert who(rota, "2026-03-30T07:00") == INES
    assert who(rota, "2026-03-30T06:59") == ""
    assert who(rota, "2026-04-06T06:59") == INES
    assert who(rota, "2026-04-06T07:00") == ""


def test_times_without_a_zone_are_in_the_calendars_own_zone(who: Who) -> None:
    day = times("20260105T090000", "20260105T170000")
    assert who(calendar(event(INES, *day)), "2026-01-05T08:30") == ""
    rota = calendar(event(INES, *day), head="X-WR-TIMEZONE:Europe/Amsterdam")
    assert who(rota, "2026-01-05T08:30") == INES


@pytest.mark.parametrize(
    ("head", "first", "last"),
    [
        ("PRODID:x", "2026-01-10T00:00", "2026-01-11T23:59"),
        ("X-WR-TIMEZONE:Europe/Amsterdam", "2026-01-09T23:00", "2026-01-11T22:59"),
    ],
)
def test_whole_days_last_to_the_end_of_the_last_one(
    who: Who, head: str, first: str, last: str
) -> None:
    weekend = ("DTSTART;VALUE=DATE:20260110", "DTEND;VALUE=DATE:20260112")
    rota = calendar(event(INES, *weekend, "RRULE:FREQ=WEEKLY"), head=head)
    assert who(rota, first) == who(rota, last) == INES
    after = datetime.fromisoformat(last).replace(second=59).isoformat()
    assert who(rota, after) == INES
    assert who(rota, "2026-01-12T00:00") == ""
    assert who(rota, "2026-01-17T12:00") == INES


def test_a_shift_may_have_a_duration_instead_of_an_end(who: Who) -> None:
    rota = calendar(event(INES, WEEK[0], "DURATION:PT8H"))
    assert who(rota, "2026-01-05T16:59") == INES
    assert who(rota, "2026-01-05T17:00") == ""


def test_of_overlapping_shifts_the_one_that_began_last_counts(who: Who) -> None:
    override = event(DANA, *times("20260106T090000Z", "20260106T170000Z"))
    holiday = event("Epiphany", *times("20260106T110000Z", "20260106T130000Z"))
    rota = calendar(
        event(INES, *WEEK, "RRULE:FREQ=WEEKLY"),
        override.replace("UID:shift", "UID:override"),
        holiday.replace("UID:shift", "UID:holiday"),
    )
    assert who(rota, "2026-01-06T12:00") == DANA
    assert who(rota, "2026-01-06T18:00") == INES


def test_of_shifts_that_began_together_the_shortest_counts(who: Who) -> None:
    override = event(DANA, *DAY).replace("UID:shift", "UID:override")
    for events in ([event(INES, *WEEK), override], [override, event(INES, *WEEK)]):
        assert who(calendar(*events), "2026-01-05T12:00") == DANA


def test_a_folded_line_is_one_word_again(who: Who) -> None:
    folded = "ATTENDEE;CN=Ines:mailto:ines.okafor@tide\r\n water.example"
    rota = calendar(event("SecEng primary", *WEEK, folded))
    assert who(rota, "2026-01-06T12:00") == "ines.okafor@tidewater.example"


INVITED = "ATTENDEE:mailto:ines@example.com"


@pytest.mark.parametrize(
    ("summary", "called"),
    [
        ("on call: W0INES00", "W0INES00"),
        ("on call: U0INES", "U0INES"),
        ("U0INES", "U0INES"),
        ("UINES1", "UINES1"),
        ("S0TEAM", "S0TEAM"),
        ("primary <@UINESOK>", "UINESOK"),
        ("primary <@UINESOK|ines>", "UINESOK"),
        ("all of <!subteam^S0TEAM>", "S0TEAM"),
        ("SUPPORT primary", "ines@example.com"),
        ("SUPPORT", "ines@example.com"),
        ("SPRINT42 primary", "ines@example.com"),
        ("WEEKEND dana@example.com", "dana@example.com"),
        ("UG4KX7Q2P primary", "ines@example.com"),
        ("UNAVAILABLE", "ines@example.com"),
    ],
)
def test_who_is_told_from_a_word_in_capitals(who: Who, summary: str, called: str) -> None:
    assert who(calendar(event(summary, *WEEK, INVITED)), "2026-01-06T12:00") == called


def test_an_id_of_an_older_workspace_is_found_where_no_address_stands(who: Who) -> None:
    assert who(calendar(event("UG4KX7Q2P primary", *WEEK)), "2026-01-06T12:00") == "UG4KX7Q2P"


@pytest.mark.parametrize("title", ["Ines Example", "WEEKEND", "SUPPORT primary"])
def test_a_running_shift_that_names_nobody_is_said(who: Who, title: str) -> None:
    with pytest.raises(ConfigError, match="the shift that is on names no Slack id or e-mail"):
        who(calendar(event(title, *WEEK)), "2026-01-06T12:00")
    assert who(calendar(event(title, *WEEK)), "2026-02-06T12:00") == ""


@pytest.mark.parametrize(
    ("replies", "called"),
    [
        (("DECLINED", "ACCEPTED"), "dana@example.com"),
        (("declined", "NEEDS-ACTION"), "dana@example.com"),
        (("NEEDS-ACTION", "ACCEPTED"), "dana@example.com"),
        (("ACCEPTED", "ACCEPTED"), "ines@example.com"),
        (("NEEDS-ACTION", "TENTATIVE"), "ines@example.com"),
    ],
)
def test_who_accepted_is_called_and_not_who_declined(
    who: Who, replies: tuple[str, str], called: str
) -> None:
    ines, dana = replies
    invited = (
        f"ATTENDEE;PARTSTAT={ines}:mailto:ines@example.com",
        f"ATTENDEE;PARTSTAT={dana}:mailto:dana@example.com",
    )
    assert who(calendar(event("primary", *WEEK, *invited)), "2026-01-06T12:00") == called


def test_a_shift_is_cancelled_however_that_is_written(who: Who) -> None:
    rota = calendar(event(INES, *WEEK, "STATUS:Cancelled"))
    assert who(rota, "2026-01-06T12:00") == ""


def test_a_calendar_may_be_written_in_small_letters(who: Who) -> None:
    rota = calendar(event("x", *WEEK)).lower().replace("summary:x", f"summary:{INES}")
    rota = rota.replace("t090000z", "T090000Z")
    assert who(rota, "2026-01-06T12:00") == INES


@pytest.mark.parametrize(
    "lines",
    [
        ("DTSTART:20260105T090000Z", "DTEND:99991231T235959Z"),
        ("DTSTART;VALUE=DATE:20260105", "DTEND;VALUE=DATE:99991231"),
        ("DTSTART:20260105T090000", "DTEND:99991231T235959"),
    ],
)
def test_a_shift_may_never_end(who: Who, lines: tuple[str, str]) -> None:
    assert who(calendar(event(INES, *lines)), "2029-01-06T12:00") == INES
    assert who(calendar(event(INES, *lines)), "2025-01-06T12:00") == ""


def test_a_zone_that_nobody_knows_is_no_matter_once_the_shift_is_over(who: Who) -> None:
    past = event(DANA, *times("20250105T090000", "20250106T090000", "Mars/Base"))
    rota = calendar(past.replace("UID:shift", "UID:past"), event(INES, *WEEK))
    assert who(rota, "2026-01-06T12:00") == INES
    with pytest.raises(ConfigError, match="shift 1 has an unknown time zone"):
        who(rota, "2025-01-05T12:00")


@pytest.mark.parametrize(
    ("lines", "problem"),
    [
        (times("20260112T090000Z", "20260105T090000Z"), "ends before it starts"),
        ((*WEEK, "RRULE:FREQ=DAILY;INTERVAL=0"), "an INTERVAL below 1"),
        ((*WEEK, "RRULE:INTERVAL=2"), "an RRULE without FREQ"),
        (("DTEND:20260112T090000Z",), "no DTSTART"),
    ],
)
def test_what_is_wrong_with_a_shift_is_said_with_its_number(
    who: Who, lines: tuple[str, ...], problem: str
) -> None:
    with pytest.raises(ConfigError, match=problem) as caught:
        who(calendar(event(DANA, *WEEK), event(INES, *lines)), "2026-01-06T12:00")
    assert "shift 2 " in str(caught.value)
    assert INES not in str(caught.value)


def test_an_empty_calendar_names_nobody(who: Who) -> None:
    assert who(calendar(), "2026-01-06T12:00") == ""


@pytest.mark.parametrize(
    "text",
    [
        "BEGIN:VCALENDAR\r\nBEGIN:VEVENT\r\nDTSTART:20260105T090000Z\r\n",
        "BEGIN:VCALENDAR\r\nno colon here\r\nEND:VCALENDAR\r\n",
        calendar(event(INES, "DTSTART:next Monday")),
        calendar(event(INES, *WEEK, "RRULE:FREQ=SOMETIMES")),
        calendar(event(INES, *WEEK, "RRULE:FREQ=DAILY;INTERVAL=0")),
        calendar(event(INES, *WEEK, "EXDATE:soon")),
        calendar(event(INES, *times("20260105T090000", "20260112T090000", "Mars/Base"))),
        calendar(event(INES, "DTEND:20260112T090000Z")),
        calendar(event(INES, "DTSTART:20260105T090000"), head="X-WR-TIMEZONE:Mars/Base"),
    ],
)
def test_a_broken_calendar_is_refused_in_one_line_with_a_remedy(who: Who, text: str) -> None:
    with pytest.raises(ConfigError, match=r"rota\.ics") as caught:
        who(text, "2026-01-06T12:00")
    assert "\n" not in str(caught.value)
    assert "export the calendar again" in str(caught.value)


@pytest.mark.parametrize(
    "rule",
    [
        "FREQ=SECONDLY",
        "FREQ=MINUTELY;COUNT=1000000000",
        "FREQ=DAILY;BYHOUR=0,6,12,18;BYMINUTE=0,15,30,45;BYSECOND=0,10,20,30,40,50",
        "FREQ=DAILY;BYMONTH=2;BYMONTHDAY=30",
        "FREQ=HOURLY;BYMONTHDAY=31;BYMONTH=6",
    ],
)
def test_a_rule_that_would_keep_us_counting_is_refused(who: Who, rule: str) -> None:
    long_ago = times("19700105T090000Z", "19700105T100000Z")
    with pytest.raises(ConfigError, match=r"rota\.ics.*repeats too often"):
        who(calendar(event(INES, *long_ago, f"RRULE:{rule}")), "2026-01-06T12:00")


def test_more_shifts_than_a_rota_has_are_refused_before_they_are_made(
    who: Who, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bot.rotas.formats.MAX_SHIFTS", 100)
    daily = event(INES, *times("20251201T090000Z", "20251201T100000Z"), "RRULE:FREQ=DAILY")
    assert who(calendar(daily), "2026-01-05T09:30") == INES
    rota = ParsedRota(calendar(*[daily] * 10), "rota.ics")
    with pytest.raises(ConfigError, match=r"rota\.ics.*more than 100 shifts"):
        rota.shifts(datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 2, 1, tzinfo=UTC))


def own_zone(rule: str, offset: str) -> str:
    """A calendar's own definition of a zone that no database has."""
    lines = (
        f"BEGIN:{part}\r\n{rule}\r\nTZOFFSETFROM:{offset}\r\nTZOFFSETTO:{offset}\r\nEND:{part}\r\n"
        for part in ("STANDARD", "DAYLIGHT")
    )
    return f"BEGIN:VTIMEZONE\r\nTZID:Mars/Base\r\n{''.join(lines)}END:VTIMEZONE"


MARS_DAY = times("20260105T090000", "20260105T170000", "Mars/Base")


def test_a_zone_that_would_keep_us_counting_is_refused(
    who: Who, monkeypatch: pytest.MonkeyPatch
) -> None:
    endless = own_zone("DTSTART:19700101T000000\r\nRRULE:FREQ=SECONDLY", "+0200")
    with monkeypatch.context() as patch:
        patch.setattr("bot.rotas.rota.MAX_PARSE_SECONDS", 0.3)
        with pytest.raises(ConfigError, match=r"rota\.ics.*takes too long"):
            who(calendar(endless, event(INES, *MARS_DAY)), "2026-01-05T12:00")
    # Without its definition the zone is unknown again, and with another the rota is read.
    with pytest.raises(ConfigError, match="shift 1 has an unknown time zone"):
        who(calendar(event(INES, *MARS_DAY)), "2026-01-05T12:00")
    mended = own_zone("DTSTART:19700101T000000", "+0200")
    assert who(calendar(mended, event(INES, *MARS_DAY)), "2026-01-05T12:00") == INES


def test_a_zone_is_that_of_its_own_calendar(who: Who) -> None:
    for offset, first, last in (("+0000", 9, 16), ("+0500", 4, 11), ("-0500", 14, 21)):
        zone = own_zone("DTSTART:19700101T000000", offset)
        on_shift = [
            hour
            for hour in range(24)
            if who(calendar(zone, event(INES, *MARS_DAY)), f"2026-01-05T{hour:02}:30")
        ]
        assert (on_shift[0], on_shift[-1]) == (first, last), offset


def test_a_daily_shift_of_fifty_years_is_still_counted(who: Who) -> None:
    long_ago = times("19760105T090000Z", "19760105T170000Z")
    assert who(calendar(event(INES, *long_ago, "RRULE:FREQ=DAILY")), "2026-01-06T12:00") == INES


def test_a_calendar_beyond_the_limit_is_refused_not_cut_short(who: Who) -> None:
    with pytest.raises(ConfigError, match="MB"):
        who(calendar(event(INES, *WEEK, "DESCRIPTION:" + "x" * MAX_BYTES)), "2026-01-06T12:00")
