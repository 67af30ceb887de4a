"""Nights on which something is in a drill's way, each with a bot of its own."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from pathlib import Path

import pytest

from bot.features.drills.service import DRILL
from bot.features.drills.store import DrillStore
from tests.bot.fakes import showing_to_all
from tests.bot.features.drills.ward import NIGHTLY, again, alerts, night, sentences, ward


def test_an_edited_entry_says_nothing_until_it_is_drilled(tmp_path: Path) -> None:
    with ward(tmp_path, [alerts(("BedFull", "SEV3", "Move a patient", "PRE"))]) as house:
        night(house)
        text = alerts(("BedFull", "SEV3", "Open another ward", "PRE"))
        (tmp_path / "config/domains/ward/0.md").write_text(text, "utf-8")
        assert house.copilot.ingest("ward").failed == ()
        ts = house.fires("[FIRING:1] BedFull")
        house.settle()
        assert "Open another ward" in house.reply(ts)
        assert "Drilled" not in house.reply(ts)
        again(house, "20990101T023000")
        assert DrillStore(house.bot.engine).counts("ward") == {"fine": 1}


def test_a_drill_waits_while_slack_limits_the_bot_and_goes_on(tmp_path: Path) -> None:
    rows = [(f"Bed{number}Full", "SEV3", "Call <@U0DANA>", "PRE") for number in range(250)]
    with ward(tmp_path, [alerts(*rows)]) as house:
        house.slack.faults.add("users.info", status=429, retry_after=60)
        night(house)
        assert DrillStore(house.bot.engine).counts("ward") == {}
        ts = house.fires("[FIRING:1] Bed7Full")
        house.settle()
        assert house.replies(ts)  # people are answered meanwhile
        house.slack.faults.clear()
        while not DrillStore(house.bot.engine).counts("ward"):  # a failure holds for 5 seconds
            time.sleep(0.5)
            house.pass_time(120)
        assert DrillStore(house.bot.engine).counts("ward") == {"fine": 250}


def test_without_the_switch_nothing_is_drilled_or_shown(tmp_path: Path) -> None:
    text = alerts(("BedFull", "SEV3", "Move a patient", "PRE"))
    with ward(tmp_path, [text], "answer: {alert_bots: [B0BEACON]}\n") as house:
        night(house)
        again(house, "20990101T023000")
        assert DrillStore(house.bot.engine).counts("ward") == {}
        ts = house.fires("[FIRING:1] BedFull")
        house.settle()
        assert "Drilled" not in house.reply(ts)


@pytest.mark.parametrize("rota", ["", "- {from: 2020-01-01, to: 2020-02-01, user: U0MAREK}\n"])
def test_a_rota_that_nobody_can_read_or_that_is_empty_is_found(tmp_path: Path, rota: str) -> None:
    more = f"{NIGHTLY}escalation: {{rota: ../rota.yaml}}\n"
    (tmp_path / "config").mkdir()
    if rota:
        (tmp_path / "config/rota.yaml").write_text(rota)
    with ward(tmp_path, [alerts(("BedFull", "SEV3", "Move a patient", "PRE"))], more) as house:
        night(house)
        says = "the rota has nobody for a week" if rota else "the rota can't be read"
        assert sentences(house, "The rota") == [says]
        digest = house.feature(DRILL).digest
        assert digest
        (part,) = digest(house.copilot.domain("ward"), datetime.now(UTC), showing_to_all())
        assert part.lines == [says]
