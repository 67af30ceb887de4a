"""The moment and the place of a question, as prompts say it."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path

import pytest

from agents.answer import Question
from agents.graph import build_ask
from agents.thread.turns import is_zone, question_time, zone_of_this_machine
from tests.agents.corpus import domain, snapshot

NOON = datetime(2026, 11, 22, 10, 5, tzinfo=UTC)


@pytest.mark.parametrize(
    ("zone", "said"),
    [
        ("Asia/Singapore", "Sunday 22 November 2026, 18:05 (Asia/Singapore)"),
        ("Pacific/Kiritimati", "Monday 23 November 2026, 00:05 (Pacific/Kiritimati)"),
        ("UTC", "Sunday 22 November 2026, 10:05 (UTC)"),
        ("Mars/Olympus", "Sunday 22 November 2026, 10:05 (UTC)"),
        ("", "Sunday 22 November 2026, 10:05 (UTC)"),
    ],
)
def test_a_moment_is_said_as_the_asker_s_clock_shows_it(zone: str, said: str) -> None:
    assert question_time(Question(text="x", asked_at=NOON, time_zone=zone)) == said


@pytest.mark.parametrize(
    "name",
    ["../../etc/passwd", "/etc/passwd", "America", "", "a\x00b", "Z" * 5_000, "Europe/ Rome"],
)
def test_what_is_no_zone_is_told_without_a_failure(name: str) -> None:
    assert not is_zone(name)


def test_an_unknown_zone_is_answered_in_utc_and_noted() -> None:
    ask = build_ask(snapshot=snapshot, domain=domain("standard"), model=None)
    answer = ask(Question(text="how old may a signing key get?", time_zone="Mars/Olympus"), None)
    assert answer.trace is not None
    assert "the asker's time zone is unknown: UTC" in answer.trace.notes


def test_the_zone_of_this_machine_is_its_link_unless_tz_says_another(tmp_path: Path) -> None:
    (tmp_path / "zoneinfo" / "Europe").mkdir(parents=True)
    (tmp_path / "zoneinfo" / "Europe" / "Rome").touch()
    link = tmp_path / "localtime"
    link.symlink_to(tmp_path / "zoneinfo" / "Europe" / "Rome")
    os.environ.pop("TZ", None)
    assert zone_of_this_machine(link) == "Europe/Rome"
    assert zone_of_this_machine(tmp_path / "nothing") == "UTC"
    os.environ["TZ"] = ":Asia/Tokyo"
    assert zone_of_this_machine(link) == "Asia/Tokyo"
