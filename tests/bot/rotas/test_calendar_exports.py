"""Calendars as programs export them: guests, descriptions, zones by other names, sloppy files."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from bot.rotas.rota import ParsedRota, read_rota
from bot.rotas.shifts import named_at
from config.errors import ConfigError

INES, DANA = "ines@example.com", "dana@example.com"
NOON = "2026-11-25T12:00"
DAY = ("DTSTART:20261125T080000Z", "DTEND:20261125T160000Z")


def who(text: str, moment: str = NOON) -> str:
    at = datetime.fromisoformat(moment).replace(tzinfo=UTC)
    return named_at(ParsedRota(text, "rota.ics").shifts(at, at), at, rota="rota.ics")


def event(*lines: str) -> str:
    return "\r\n".join(["BEGIN:VEVENT", *lines, "END:VEVENT"])


def calendar(*parts: str) -> str:
    lines = ["BEGIN:VCALENDAR", "VERSION:2.0", "PRODID:-//rota//EN", *parts, "END:VCALENDAR", ""]
    return "\r\n".join(lines)


def shift(*lines: str) -> str:
    return calendar(event(*DAY, *lines))


def guest(address: str, **parameters: str) -> str:
    written = "".join(f";{key.upper()}={value}" for key, value in parameters.items())
    return f"ATTENDEE{written}:{address}"


ROOM = guest("mailto:c_188@resource.calendar.google.com", cutype="RESOURCE", partstat="ACCEPTED")
INVITED = guest(f"mailto:{INES}", partstat="NEEDS-ACTION", cn="Ines")


@pytest.mark.parametrize(
    "guests",
    [
        # Google invites the shared calendar, which accepts at once.
        (guest("mailto:c_52d@group.calendar.google.com", partstat="ACCEPTED"), INVITED),
        (ROOM, INVITED),
        # Outlook marks rooms by their role, and devices by their kind.
        (guest("mailto:room4@example.com", role="NON-PARTICIPANT", partstat="ACCEPTED"), INVITED),
        (guest("mailto:hall@example.com", cutype="ROOM", partstat="ACCEPTED"), INVITED),
        (guest("mailto:team@example.com", cutype="GROUP", partstat="ACCEPTED"), INVITED),
        (guest(f"mailto:{DANA}", partstat="DELEGATED"), INVITED),
        (guest(f"mailto:{DANA}", role="OPT-PARTICIPANT"), INVITED),
        # PagerDuty writes a bare address, Exchange one in capitals, Apple a path with EMAIL.
        (guest(INES),),
        (guest(f"MAILTO:{INES}"),),
        (guest("/1840/principal/", email=INES, partstat="ACCEPTED"), guest(f"mailto:{DANA}")),
        (guest("urn:uuid:C3B38B00-4166-11DD-B22C-A07C87E02F6A", email=f'"{INES}"'),),
        (guest("invalid:nomail", cn=f'"{INES}"'),),
        (guest("mailto:ines%40example.com"),),
    ],
)
def test_the_guest_who_is_a_person_is_called(guests: tuple[str, ...]) -> None:
    assert who(shift("SUMMARY:Payments on-call", *guests)) == INES


def test_an_address_is_taken_whole() -> None:
    assert who(shift("SUMMARY:x", guest("mailto:dana.o'neil@example.com"))) == (
        "dana.o'neil@example.com"
    )


@pytest.mark.parametrize("guests", [(), (ROOM,), (guest(f"mailto:{INES}", partstat="DECLINED"),)])
def test_a_contact_in_the_description_is_nobody(guests: tuple[str, ...]) -> None:
    notes = "DESCRIPTION:Swaps: ask admins@example.com\\nSIP: 4455@video.example"
    with pytest.raises(ConfigError, match="names no Slack id or e-mail"):
        who(shift("SUMMARY:On-call", notes, *guests))


@pytest.mark.parametrize(
    ("notes", "called"),
    [
        (f"Primary\\n{DANA}\\nno swaps", DANA),
        (f"- <{DANA}>", DANA),
        (f'<b>Primary</b><br><a href="mailto:{DANA}">{DANA}</a><p>no swaps</p>', DANA),
        (f'Questions to <a href="mailto:{DANA}">{DANA}</a>', ""),
        ("runs this week: <@U0DANA00>", "U0DANA00"),
        ("<p>&lt;@U0DANA00&gt;</p>", "U0DANA00"),
        ("see U0DANA00", "U0DANA00"),
    ],
)
def test_a_description_may_name_the_person_alone_on_a_line(notes: str, called: str) -> None:
    text = shift("SUMMARY:On-call", f"DESCRIPTION:{notes}")
    if called:
        assert who(text) == called
    else:
        with pytest.raises(ConfigError, match="names no Slack id"):
            who(text)


@pytest.mark.parametrize(
    ("lines", "called"),
    [
        ((f"SUMMARY:{DANA}", INVITED), DANA),
        (("SUMMARY:On-call", "DESCRIPTION:U0DANA00", INVITED), "U0DANA00"),
        (("SUMMARY:On-call", "DESCRIPTION:Swaps: <@U0DANA00>", INVITED), INES),
        (("SUMMARY:On-call", f"DESCRIPTION:Join by SIP\\n{DANA}", INVITED), INES),
    ],
)
def test_the_title_comes_first_and_a_guest_before_prose(
    lines: tuple[str, ...], called: str
) -> None:
    assert who(shift(*lines)) == called


def zone(name: str, winter: str = "+0100", summer: str = "+0200") -> str:
    """As Exchange writes it, which begins in 1601."""
    return "\r\n".join(
        ["BEGIN:VTIMEZONE", f"TZID:{name}", "BEGIN:STANDARD", "DTSTART:16010101T030000",
         f"TZOFFSETFROM:{summer}", f"TZOFFSETTO:{winter}",
         "RRULE:FREQ=YEARLY;INTERVAL=1;BYDAY=-1SU;BYMONTH=10", "END:STANDARD",
         "BEGIN:DAYLIGHT", "DTSTART:16010101T020000", f"TZOFFSETFROM:{winter}",
         f"TZOFFSETTO:{summer}", "RRULE:FREQ=YEARLY;INTERVAL=1;BYDAY=-1SU;BYMONTH=3",
         "END:DAYLIGHT", "END:VTIMEZONE"]
    )  # fmt: skip


def local(at: str, tzid: str) -> tuple[str, str]:
    tzid = f";TZID={tzid}" if tzid else ""
    return f"DTSTART{tzid}:{at}T090000", f"DTEND{tzid}:{at}T100000"


CITIES = "(UTC+01:00) Amsterdam, Berlin, Bern, Rome, Stockholm, Vienna"


@pytest.mark.parametrize(
    ("defined", "used"),
    [
        ("tzone://Microsoft/Custom", '"tzone://Microsoft/Custom"'),
        (CITIES.replace(",", "\\,"), f'"{CITIES}"'),
        ("Customized Time Zone", "Customized Time Zone"),
        ("W. Europe Standard Time", "W. Europe Standard Time"),
        ("", "W. Europe Standard Time"),
        ("", "Europe/Berlin"),
        ("", '"Europe/Berlin"'),
        ("", "/freeassociation.sourceforge.net/Europe/Berlin"),
    ],
)
def test_a_zone_has_many_names(defined: str, used: str) -> None:
    own = [zone(defined)] if defined else []
    for at, hour in (("20261023", 7), ("20261026", 8)):  # either side of the change of clocks
        shifts = event(*local(at, used), f"SUMMARY:{INES}")
        for parts in ([*own, shifts], [shifts, *own]):
            day = f"{at[:4]}-{at[4:6]}-{at[6:]}"
            assert who(calendar(*parts), f"{day}T{hour:02}:30") == INES
            assert who(calendar(*parts), f"{day}T{hour + 1:02}:30") == ""


def test_the_calendars_zone_may_have_its_name_of_windows() -> None:
    text = calendar(
        "X-WR-TIMEZONE:Eastern Standard Time",
        event(*local("20261125", ""), f"SUMMARY:{INES}"),
        event("DTSTART;VALUE=DATE:20261126", f"SUMMARY:{DANA}"),
    )
    assert [who(text, f"2026-11-25T{hour}:30") for hour in (13, 14, 15)] == ["", INES, ""]
    assert [who(text, f"2026-11-{at}") for at in ("26T04:59", "26T05:00", "27T04:59")] == [
        "", DANA, DANA,
    ]  # fmt: skip
    assert ParsedRota(text, "rota.ics").zone == "America/New_York"


def test_an_unknown_zone_matters_only_to_times_without_one() -> None:
    head = "X-WR-TIMEZONE:Mars/Base"
    assert who(calendar(head, event(*DAY, f"SUMMARY:{INES}"))) == INES
    for lines in (local("20261125", ""), ("DTSTART;VALUE=DATE:20261125",)):
        with pytest.raises(ConfigError, match="shift 2 has an unknown time zone"):
            who(calendar(head, event(*DAY, "SUMMARY:x"), event(*lines, f"SUMMARY:{INES}")))


@pytest.mark.parametrize(
    ("start", "end", "last", "after"),
    [
        # Autumn: the week is an hour longer than the first one was.
        ("20261005T090000", "20261012T090000", "2026-10-26T08:59", "2026-10-26T09:00"),
        # Spring: an hour shorter.
        ("20260309T090000", "20260316T090000", "2026-03-30T07:59", "2026-03-30T08:00"),
    ],
)
def test_a_week_ends_by_the_clock_on_the_wall(start: str, end: str, last: str, after: str) -> None:
    lines = (f"DTSTART;TZID=Europe/London:{start}", f"DTEND;TZID=Europe/London:{end}")
    text = calendar(event(*lines, "RRULE:FREQ=WEEKLY;INTERVAL=2", f"SUMMARY:{INES}"))
    assert who(text, last) == INES
    assert who(text, after) == ""


def test_a_file_may_hold_several_calendars_each_with_its_zone() -> None:
    one = calendar(
        "X-WR-TIMEZONE:America/New_York", event(*local("20261125", ""), f"SUMMARY:{INES}")
    )
    two = calendar("X-WR-TIMEZONE:Asia/Tokyo", event(*local("20261125", ""), f"SUMMARY:{DANA}"))
    assert who(one + two, "2026-11-25T14:30") == INES
    assert who(one + two, "2026-11-25T00:30") == DANA
    with pytest.raises(ConfigError, match="is a broken calendar"):
        who(one + two.replace("END:VCALENDAR", ""), "2026-11-25T14:30")


def test_shifts_that_share_a_uid_are_all_read() -> None:
    later = ("DTSTART:20261126T080000Z", "DTEND:20261126T160000Z")
    text = calendar(
        event("UID:rota", *DAY, f"SUMMARY:{INES}"), event("UID:rota", *later, f"SUMMARY:{DANA}")
    )
    assert who(text) == INES
    assert who(text, "2026-11-26T12:00") == DANA


def test_of_two_versions_of_a_shift_the_newer_counts() -> None:
    text = calendar(
        event("UID:1", "SEQUENCE:0", *DAY, f"SUMMARY:{INES}"),
        event("UID:1", "SEQUENCE:2", *DAY, f"SUMMARY:{DANA}"),
    )
    assert who(text) == DANA


@pytest.mark.parametrize("end", ["DTEND;VALUE=DATE:20261125", "DURATION:P1D", "X-NOTHING:1"])
def test_a_whole_day_has_no_end_or_its_own(end: str) -> None:
    text = calendar(event("DTSTART;VALUE=DATE:20261125", end, f"SUMMARY:{INES}"))
    assert who(text, "2026-11-25T23:59") == INES
    assert who(text, "2026-11-26T00:00") == ""


@pytest.mark.parametrize("length", ["PT168H", "P7D", "P1W"])
def test_a_week_may_be_written_as_its_length(length: str) -> None:
    text = calendar(event("DTSTART:20261123T090000Z", f"DURATION:{length}", f"SUMMARY:{INES}"))
    assert who(text, "2026-11-30T08:59") == INES
    assert who(text, "2026-11-30T09:00") == ""


WEEKLY = event(
    "UID:1", "DTSTART;TZID=Europe/Berlin:20261102T090000",
    "DTEND;TZID=Europe/Berlin:20261109T090000", "RRULE:FREQ=WEEKLY;WKST=MO",
    "EXDATE;TZID=Europe/Berlin:20261116T090000,20261123T090000", f"SUMMARY:{INES}",
)  # fmt: skip


@pytest.mark.parametrize(
    "moved",
    [
        "RECURRENCE-ID;TZID=Europe/Berlin:20261130T090000",
        "RECURRENCE-ID:20261130T080000Z",
        "RECURRENCE-ID;TZID=W. Europe Standard Time:20261130T090000",
    ],
)
def test_a_series_has_gaps_and_swaps(moved: str) -> None:
    swap = event("UID:1", moved, "DTSTART:20261130T080000Z", "DTEND:20261207T080000Z",
                 f"SUMMARY:{DANA}")  # fmt: skip
    days = ["11-10", "11-17", "11-24", "12-01", "12-08"]
    for parts in ((WEEKLY, swap), (swap, WEEKLY)):
        assert [who(calendar(*parts), f"2026-{day}T12:00") for day in days] == [
            INES, "", "", DANA, INES,
        ]  # fmt: skip


def test_from_a_date_on_a_series_is_somebody_elses() -> None:
    since = "RECURRENCE-ID;RANGE=THISANDFUTURE:20261130T080000Z"
    times = ("DTSTART:20261130T080000Z", "DTEND:20261207T080000Z")
    swap = event("UID:1", since, *times, f"SUMMARY:{DANA}")
    days = ["11-10", "12-01", "12-08", "12-15"]
    assert [who(calendar(WEEKLY, swap), f"2026-{day}T12:00") for day in days] == [
        INES, DANA, DANA, DANA,
    ]  # fmt: skip


def test_other_parts_of_a_calendar_have_no_shift() -> None:
    alarm = "BEGIN:VALARM\r\nACTION:EMAIL\r\nTRIGGER:-PT30M\r\nSUMMARY:dana@example.com\r\n"
    alarm += "DESCRIPTION:x\r\nATTENDEE:mailto:dana@example.com\r\nEND:VALARM"
    todo = "BEGIN:VTODO\r\nUID:2\r\nDTSTART:20261125T080000Z\r\nDUE:20261125T160000Z\r\n"
    todo += "SUMMARY:dana@example.com\r\nEND:VTODO"
    assert who(calendar(todo, event(*DAY, "SUMMARY:On-call", INVITED, alarm))) == INES


PLAIN = shift(f"SUMMARY:{INES}", "DESCRIPTION:Größe\\, 3 €")


@pytest.mark.parametrize(
    "data",
    [
        PLAIN.replace("\r\n", "\n").encode(),
        PLAIN.replace("\r\n", "\r").encode(),
        PLAIN.replace("ines@", "ines@\r\n ").replace("\r\n", "\r\r\n").encode(),
        b"\xef\xbb\xbf" + PLAIN.encode(),
        ("\r\n\r\n" + PLAIN + "\r\n\r\n").encode(),
        PLAIN.replace("SUMMARY", "\r\nSUMMARY").encode(),
        PLAIN.encode("utf-16"),
        PLAIN.encode("utf-16-le"),
        PLAIN.encode("cp1252"),
        PLAIN.replace("ines@", "ines@\r\n ").encode(),
        PLAIN.replace("ines@", "in\r\n\tes@").encode(),
        PLAIN.encode().replace("ö".encode(), b"\xc3\r\n \xb6"),
        PLAIN.replace("SUMMARY:", "SUMMARY;LANGUAGE=en-us:").encode(),
        PLAIN.replace("DTSTART:", "DTSTART;VALUE=DATE-TIME:").encode(),
        PLAIN.replace("DTSTART:", "dtstart:").replace("SUMMARY:", "Summary:").encode(),
        PLAIN.replace("PRODID:-//rota//EN\r\n", "").replace("VERSION:2.0\r\n", "").encode(),
    ],
)  # fmt: skip
def test_bytes_come_in_many_ways(data: bytes, tmp_path: Path) -> None:
    (tmp_path / "rota.ics").write_bytes(data)
    assert who(read_rota("rota.ics", tmp_path).text) == INES
