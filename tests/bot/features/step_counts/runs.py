"""The real bot over published runbooks, and people who work through their checklists."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

from bot.bus.events import TimerDue
from bot.features.step_counts.feature import WEEK
from tests.bot.conftest import eventually, words
from tests.bot.features.alerts.office import PLATFORM, AlertHouse, alert_house

PEOPLE = ("U0INES", "U0DANA", "U0YOU", "U0PRIYA", "U0MAREK")
ADMIN = "U0INES"
SWITCH = "runbooks: {step_counts: true}\nlimits: {questions_per_user_per_hour: 1000}\n"
_number = count()


def runbook(name: str, *steps: str) -> str:
    head = f"---\nid: {name.lower()}\ntitle: {name} Runbook\n---\n# {name} Runbook\n\n## {name}\n\n"
    return head + "\n".join(steps) + "\n"


STEPS = (
    "1. Declare the incident in the channel.",
    "2. Fence the node: `ledgerctl fence --node ldg-eu-a`.",
    "3. If the lag is above a minute, wait for it.",
    "4. Fail over the read replica first.",
    "   1. Name the replica.",
    "   2. Run `ledgerctl promote --to ldg-eu-b`.",
    "5. Tell the duty manager.",
)
"""At places 0 to 6."""


@dataclass(frozen=True)
class Runs:
    house: AlertHouse

    def start(self, name: str, driver: str) -> dict[str, Any]:
        """A checklist in a thread of its own; its message."""
        slack = self.house.slack
        at = f"<@{slack.bot_user_id}>"
        ts = slack.post_as_user(PLATFORM, f"{at} what are the steps of {name}?", user=driver)
        self.house.settle()
        (reply,) = [one for one in self.house.replies(ts) if "Start checklist" in words(one)]
        slack.click(PLATFORM, reply["ts"], "checklist_start", driver)
        self.house.settle()
        message = self._checklist(ts)
        assert message
        return message

    def _checklist(self, ts: str) -> dict[str, Any] | None:
        kind = "oncall_checklist"
        found = [
            one
            for one in self.house.replies(ts)
            if (one.get("metadata") or {}).get("event_type") == kind
        ]
        return found[0] if found else None

    def choose(self, message: dict[str, Any], step: int, act: str, user: str) -> None:
        about = message["metadata"]["event_payload"]["checklist"]
        chosen = {"option": f"{act} {step} {about}"}
        self.house.slack.click(
            PLATFORM, message["ts"], f"checklist_more_{step}", user, chosen=chosen
        )

    def run(
        self, name: str, driver: str, *, done: Sequence[int] = (), skipped: Sequence[int] = ()
    ) -> dict[str, Any]:
        """A finished checklist."""
        message = self.start(name, driver)
        for step in done:
            self.house.slack.click(PLATFORM, message["ts"], f"checklist_done_{step}", driver)
        for step in skipped:
            self.choose(message, step, "skipped", driver)
        self.house.slack.click(PLATFORM, message["ts"], "checklist_finish", driver)
        self.house.settle()
        return message

    def week(self) -> None:
        """The weekly timer goes off."""
        event = TimerDue(timer=WEEK, subject="platform")
        self.house.bot.inbox.put(f"week-{next(_number)}", event.item())
        self.house.settle()

    def suggestions(self, about: str) -> list[str]:
        """Of a runbook, as the domain's admin got them."""
        return [
            words(message)
            for message in self.house.slack.messages(f"D{ADMIN[1:]}")
            if f"{about} Runbook" in words(message)
        ]

    def home(self, user: str = ADMIN) -> str:
        self.house.slack.open_app("home", user)
        self.house.settle()
        return json.dumps(self.house.slack.home(user), ensure_ascii=False)


@contextmanager
def runs_house(folder: Path, *texts: str) -> Iterator[Runs]:
    with alert_house(folder, {"platform": texts}) as house:
        file = folder / "config/domains/platform.yaml"
        file.write_text(file.read_text("utf-8") + SWITCH, "utf-8")
        eventually(lambda: house.copilot.domains["platform"].runbooks.step_counts, timeout=30)
        yield Runs(house)
