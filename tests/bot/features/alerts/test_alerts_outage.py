"""The database is away while alerts come in: they are answered when it is back, each kind once."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.bot.conftest import answered
from tests.bot.features.alerts.office import PLATFORM, TEXTS, alert_house
from tests.bot.features.alerts.test_alert_desk import firing
from tests.databases import breakable_postgresql

pytestmark = pytest.mark.outage


def test_alerts_of_an_outage_are_answered_and_counted_after_it(tmp_path: Path) -> None:
    texts = {"platform": TEXTS["platform"]}
    with (
        breakable_postgresql() as server,
        alert_house(tmp_path, texts, database_url=server.url) as house,
    ):
        house.slack.retry_delays = (0.5, *[1.0] * 60)  # Slack's own take six minutes
        before = house.fires(firing("CartErrors", "pod = a"))
        house.settle()
        server.stop()
        during = [house.fires(firing(name, "pod = b")) for name in ("CartErrors", "TillSlow")]
        server.start()
        house.slack.wait_for(
            lambda: any(answered(one) for one in house.replies(during[1], PLATFORM)), timeout=240
        )
        house.slack.wait_for(lambda: house.counted("CartErrors") == [2], timeout=240)
        house.settle()
        assert house.answers_to(before, *during) == 2
        assert house.replies(during[0]) == []
