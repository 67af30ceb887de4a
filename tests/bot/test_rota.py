"""Who is on call, from the rotas that teams already keep."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest
from pytest_httpserver import HTTPServer

from bot.handoff.rota import on_call
from config.errors import ConfigError

NOON = datetime(2026, 11, 4, 12, tzinfo=UTC)

ICAL = """BEGIN:VCALENDAR\r
BEGIN:VEVENT\r
DTSTART:20261102T090000Z\r
DTEND:20261109T090000Z\r
SUMMARY:SecEng primary\r
ATTENDEE;CN=Ines:mailto:ines.okafor@tide\r
 water.example\r
END:VEVENT\r
BEGIN:VEVENT\r
DTSTART;TZID=Europe/Amsterdam:20261104T120000\r
DTEND;TZID=Europe/Amsterdam:20261104T140000\r
SUMMARY:override U0DANA00\r
END:VEVENT\r
BEGIN:VEVENT\r
DTSTART;VALUE=DATE:20261110\r
SUMMARY:a whole day U0MAREK0\r
END:VEVENT\r
END:VCALENDAR\r
"""


@pytest.mark.parametrize(
    ("at", "who"),
    [
        (datetime(2026, 11, 3, tzinfo=UTC), "ines.okafor@tidewater.example"),
        (NOON, "U0DANA00"),
        (datetime(2026, 11, 10, 20, tzinfo=UTC), "U0MAREK0"),
        (datetime(2026, 12, 1, tzinfo=UTC), ""),
    ],
)
def test_a_calendar_names_the_shift_or_its_override(tmp_path: Path, at: datetime, who: str) -> None:
    (tmp_path / "rota.ics").write_text(ICAL)
    assert on_call("rota.ics", at, relative_to=tmp_path) == who


def test_a_rota_may_be_yaml_behind_a_url(httpserver: HTTPServer) -> None:
    rota = "- {from: 2026-11-02, to: 2026-11-09T09:00+01:00, user: U0INES}"
    httpserver.expect_request("/rota.yaml").respond_with_data(rota)
    assert on_call(httpserver.url_for("/rota.yaml"), NOON) == "U0INES"


@pytest.mark.parametrize("text", ["- {from: yesterday, to: 2026-11-09, user: U0}", "- 5", "a: ["])
def test_a_broken_rota_is_named(tmp_path: Path, text: str) -> None:
    path = tmp_path / "rota.yaml"
    path.write_text(text)
    with pytest.raises(ConfigError, match=r"rota\.yaml") as caught:
        on_call(str(path), NOON)
    assert "\n" not in str(caught.value)


def test_a_missing_rota_is_named() -> None:
    with pytest.raises(ConfigError, match="nowhere"):
        on_call("nowhere.ics", NOON)
