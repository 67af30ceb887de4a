"""The bot is killed between a press and its post: the snooze is there once, and so is its end."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import create_engine, select

from bot.features.snooze.store import SnoozeRow
from bot.features.snooze.views import SNOOZE
from oncall import Copilot
from playground.slack_stand_in import SlackStandIn
from tests.bot.conftest import answered, words
from tests.bot.features.alerts.office import (
    PLATFORM,
    TEXTS,
    add_channels,
    furnish,
    settings_in,
)
from tests.bot.features.alerts.test_alert_desk import firing
from tests.bot.features.answering.test_bot_crash import kill, up, worker
from tests.bot.features.snooze.test_snooze import INES, KEYS, chosen, options, written

pytestmark = pytest.mark.kill
MODULE = "tests.bot.features.alerts.worker_process"


def test_a_snooze_and_its_early_end_outlive_kills(slack: SlackStandIn, tmp_path: Path) -> None:
    slack.api.enforce_rate_limits = False
    slack.sockets.ack_timeout = 1.0
    slack.retry_delays = (0.5, 1.0, *[2.0] * 30)  # Slack's own take six minutes
    keys = re.sub(r"escalation.*\n", "", KEYS)
    furnish(tmp_path, {"platform": TEXTS["platform"]}, keys)
    add_channels(slack)
    copilot = Copilot(settings_in(tmp_path, slack))
    assert copilot.ingest("platform").failed == ()
    copilot.index.close()
    more = {"ONCALL_CONFIG_DIR": str(tmp_path / "config")}

    def said() -> list[dict[str, Any]]:
        return [one for one in slack.thread(PLATFORM, ts) if one["user"] == slack.bot_user_id]

    with worker(slack, tmp_path / "var", module=MODULE, **more) as process:
        up(process)
        ts = slack.post_as_app(PLATFORM, firing("CartErrors", "pod = a"))
        slack.wait_for(lambda: any(answered(one) for one in said()))
        slack.click(PLATFORM, said()[0]["ts"], SNOOZE, INES)
        view = slack.wait_for(lambda: slack.view(INES))
        kind = next(iter(options(view, "alert")))
        values = {"alert": chosen(kind), "until": chosen("1"), "reason": written("Known")}
        try:
            slack.submit_view(values, INES)
        finally:
            kill(process)
    with worker(slack, tmp_path / "var", module=MODULE, **more) as process:
        up(process)
        slack.wait_for(lambda: any("snoozed by" in words(one) for one in said()))
        slack.post_as_app(PLATFORM, firing("CartErrors", "pod = b"))
        kill(process)
    with worker(slack, tmp_path / "var", module=MODULE, **more) as process:
        up(process)
        slack.wait_for(lambda: any("no longer snoozed" in words(one) for one in said()), 240)
        slack.wait_for(lambda: any("ended early" in words(one) for one in said()), 240)
        kill(process)
    assert sum("snoozed by" in words(one) for one in said()) == 1
    assert sum("no longer snoozed" in words(one) for one in said()) == 1
    engine = create_engine(f"sqlite:///{tmp_path / 'var' / 'oncall.db'}")
    with engine.connect() as connection:
        (row,) = connection.execute(select(SnoozeRow)).all()
    engine.dispose()
    assert row.end == "place"
