"""Alerts with runbooks whose track record is kept, and people who work with them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from bot.features.track_record.record import EntryUse, Outcome
from bot.features.track_record.store import TrackRecordStore
from durable.database import now
from playground.slack.tidewater import SlackUser
from tests.bot.features.alerts import office
from tests.bot.features.alerts.office import PLATFORM, AlertHouse, alert_house, longer_ago
from tests.bot.features.alerts.test_alert_desk import firing

ON = "runbooks: {track_record: true}"
GUEST = SlackUser(id="U0GUEST", handle="guest", name="A Guest", title="", guest="single_channel")


@dataclass(frozen=True)
class Incidents:
    house: AlertHouse

    @property
    def store(self) -> TrackRecordStore:
        return TrackRecordStore(self.house.bot.engine)

    def fires(self, name: str, *labels: str, status: str = "FIRING:1") -> str:
        """The ts of the alert's message, which is answered by then."""
        ts = self.house.fires(firing(name, *labels, status=status))
        self.house.settle()
        return ts

    def resolves(self, name: str) -> None:
        self.fires(name, status="RESOLVED")

    def check(self) -> None:
        """Timers of the next minutes go off."""
        self.house.pass_time(301)

    def start_checklist(self, ts: str) -> None:
        (answer,) = self.house.desk.said(PLATFORM, ts)
        self.house.slack.click(PLATFORM, answer["ts"], "checklist_start", "U0INES")
        self.house.settle()

    def work_through(self, ts: str) -> None:
        """A checklist is begun and finished."""
        self.start_checklist(ts)
        (message,) = self.messages(ts, "oncall_checklist")
        self.house.slack.click(PLATFORM, message["ts"], "checklist_finish", "U0INES")
        self.house.settle()

    def ask_human(self, ts: str) -> None:
        (answer,) = self.messages(ts, "oncall_answer")
        self.house.slack.click(PLATFORM, answer["ts"], "ask_human", "U0INES")
        self.house.settle()

    def verdict(self, ts: str, verdict: str, user: str = "U0INES") -> None:
        (answer,) = self.messages(ts, "oncall_answer")
        value = {"value": f"{verdict} {PLATFORM}:{ts}"}
        self.house.slack.click(PLATFORM, answer["ts"], "answer_feedback", user, chosen=value)
        self.house.settle()

    def messages(self, ts: str, kind: str = "oncall_runbook_grade") -> list[dict[str, Any]]:
        """The bot's of that kind, in a thread."""
        thread = self.house.slack.thread(PLATFORM, ts)
        return [m for m in thread if (m.get("metadata") or {}).get("event_type") == kind]

    def grade(self, ts: str, grade: str, user: str = "U0INES", entry: str = "") -> None:
        (message,) = self.messages(ts)
        use = self.use(ts)
        chosen = {"value": f"{use.question_id} {entry or use.entry}"}
        action = f"runbook_grade_{grade}"
        self.house.slack.click(PLATFORM, message["ts"], action, user, chosen=chosen)
        self.house.settle()

    def uses(self, ts: str) -> list[EntryUse]:
        return self.store.of_question(f"{PLATFORM}:{ts}")

    def use(self, ts: str) -> EntryUse:
        return self.uses(ts)[0]

    def outcomes(self, ts: str) -> list[str]:
        return [one.outcome for one in self.uses(ts)]

    def shown(self, ts: str) -> str:
        """What the answer says of the record; empty where it says nothing."""
        (answer,) = self.messages(ts, "oncall_answer")
        notes = [one for one in answer["blocks"] if one.get("block_id") == "oncall_notes"]
        lines = [element["text"] for one in notes for element in one["elements"]]
        return "\n".join(line for line in lines if line.startswith("Track record"))

    def counts(self, ts: str) -> str:
        (message,) = self.messages(ts)
        shown = [one for one in message["blocks"] if one["type"] == "context"]
        return "\n".join(one["elements"][0]["text"] for one in shown)

    def apart(self) -> None:
        """What fires from now on is another episode."""
        self.house.settle()
        longer_ago(self.house.bot.engine, timedelta(days=30))

    def past(
        self, like: EntryUse, outcomes: Sequence[Outcome], *, minutes: float = 14, channel: str = ""
    ) -> list[EntryUse]:
        """Earlier uses of the same entry, a day apart; the latest was yesterday."""
        uses = []
        for days, outcome in enumerate(outcomes, start=1):
            began = now() - timedelta(days=days)
            uses.append(
                replace(
                    like, question_id=f"{channel or PLATFORM}:{began.timestamp():.6f}",
                    began_at=began, outcome=outcome,
                    resolved_at=began + timedelta(minutes=minutes),
                )
            )  # fmt: skip
            self.store.begin(uses[-1])
        return uses


def dated(at: datetime) -> str:
    """`3 November`, with the year where it is another one."""
    return f"{at.day} {at:%B}" if at.year == now().year else f"{at.day} {at:%B %Y}"


@contextmanager
def incidents(folder: Path) -> Iterator[Incidents]:
    """Track records are kept in `platform`, not in `security`."""
    channel, options = office.DOMAINS["platform"]
    texts = {name: office.TEXTS[name] for name in ("platform", "security")}
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(office.DOMAINS, "platform", (channel, f"{options}\n{ON}"))
        with alert_house(folder, texts) as house:
            yield Incidents(house)
