"""An incident of one night in a channel: an alert, people, a checklist, a hand-off, an hour."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.bot.conftest import eventually
from tests.bot.features.alerts import office
from tests.bot.features.alerts.office import PLATFORM, AlertHouse, alert_house
from tests.bot.features.alerts.test_alert_desk import firing

DANA, INES, MAREK = "U0DANA", "U0INES", "U0MAREK"
RUNBOOKS = "\nrunbooks: {timeline: true}"


@dataclass
class Night:
    house: AlertHouse
    ago: float = 3_600.0
    """Seconds before now, by Slack's clock."""

    def __post_init__(self) -> None:
        self.house.slack.workspace.clock = lambda: time.time() - self.ago

    @property
    def at(self) -> str:
        return f"<@{self.house.slack.bot_user_id}>"

    def wait(self, minutes: float) -> None:
        self.house.settle()
        self.ago -= minutes * 60

    def fires(self, name: str, *labels: str, **more: Any) -> str:
        ts = self.house.fires(firing(name, *labels, **more))
        self.house.settle()
        return ts

    def says(self, ts: str, text: str, user: str = DANA, **more: Any) -> str:
        return self.house.slack.post_as_user(PLATFORM, text, thread_ts=ts, user=user, **more)

    def press(self, ts: str, action: str, user: str = DANA) -> None:
        """The button, on whichever of the thread's messages has it."""

        def holder() -> Any:
            said = self.house.desk.said(PLATFORM, ts)
            return next((one for one in said if f'"{action}"' in str(one).replace("'", '"')), None)

        self.house.slack.click(PLATFORM, eventually(holder)["ts"], action, user)
        self.house.settle()

    def timelines(self, ts: str, channel: str = PLATFORM) -> list[dict[str, Any]]:
        return [
            one
            for one in self.house.desk.said(channel, ts)
            if (one.get("metadata") or {}).get("event_type") == "oncall_timeline"
        ]

    def asks(self, ts: str, text: str = "timeline", user: str = DANA) -> dict[str, Any]:
        """The new timeline."""
        before = len(self.timelines(ts))
        self.says(ts, f"{self.at} {text}", user)
        self.house.settle()
        found = self.timelines(ts)
        assert len(found) == before + 1
        return found[-1]

    def incident(self) -> str:
        """The alert's ts; it is over after 40 minutes."""
        ts = self.fires("TillOffline", "till = 4")
        self.wait(2)
        self.says(ts, "on it")
        self.says(ts, f"<@{INES}> can you look at till 4 with me?\nIt doesn't come back.")
        self.wait(3)
        self.press(ts, "checklist_start", DANA)
        self.press(ts, "checklist_done_0", DANA)
        self.wait(1)
        self.fires("TillOffline", "till = 5")
        self.fires("TillOffline", "till = 6")
        self.wait(24)
        self.says(ts, "promoted the standby, takings are back", INES)
        self.wait(10)
        self.fires("TillOffline", status="RESOLVED")
        self.wait(20)
        return ts


@contextmanager
def night(folder: Path, runbooks: str = RUNBOOKS) -> Iterator[Night]:
    with pytest.MonkeyPatch.context() as patch:
        for name in ("platform", "privacy"):
            channel, more = office.DOMAINS[name]
            patch.setitem(office.DOMAINS, name, (channel, more + runbooks))
        with alert_house(folder) as house:
            yield Night(house)
