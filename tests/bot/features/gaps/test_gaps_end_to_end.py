"""From three people who ask in vain to the document that answers, every part real but Slack: the
bot, its clock and inbox, the index over files, MiniLM."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr
from sqlalchemy import select

from bot.app import Bot
from bot.blocks.render import FEEDBACK
from bot.feature import Feature
from bot.features.gaps.gap import Gap, gaps_of
from bot.features.gaps.questions import STATE_LABELS
from bot.features.gaps.report import latest_planned
from bot.features.gaps.store import GapDraftRow, GapStore
from bot.questions.tables import HandoffRow
from config.settings import Settings
from oncall import Copilot
from playground.slack.rules.block_rules import problems
from playground.slack_stand_in import SlackStandIn
from telemetry import metrics
from tests.bot.conftest import Desk, answered, eventually, words
from tests.bot.fakes import CHANNEL
from tests.bot.features.gaps.room import LAPTOPS, TRAVEL, WITH_TRAVEL
from tests.cli.test_commands import oncall

DOMAIN = """\
domain: security
title: Security help
channels: [C0SECURITY]
admins: [U0INES, U0DANA]
sources: {files: [documents]}
answer: {alert_bots: [B0BEACON]}
gaps: {report: "0 9 * * 1", time_zone: Europe/Berlin}
"""
ASKED = {
    "U0YOU": "where do I pick up a loaner laptop for a trip?",
    "U0DANA": "who hands out loaner laptops for travel?",
    "U0PRIYA": "I travel next week, how do I get a loaner laptop",
}


@dataclass(frozen=True)
class House:
    folder: Path
    copilot: Copilot
    slack: SlackStandIn
    bot: Bot

    @property
    def desk(self) -> Desk:
        return Desk(self.slack, self.bot, agents=None)  # type: ignore[arg-type]

    @property
    def gaps(self) -> Feature:
        return next(one for one in self.bot.features if "gap_ask" in one.timers)

    def write(self, text: str) -> int:
        """Edit the document and ingest it; the new generation."""
        (self.folder / "config/domains/documents/laptops.md").write_text(text, "utf-8")
        assert self.copilot.ingest("security").failed == ()
        return self.copilot.index.snapshot("security").generation

    def known(self) -> list[Gap]:
        store = GapStore(self.bot.engine)
        return gaps_of(store, "security", STATE_LABELS, history=True)

    def states(self) -> list[str]:
        return [gap.state for gap in self.known()]

    def history(self) -> list[str]:
        return [one.state for gap in self.known() for one in gap.history]

    def due(self) -> None:
        """What the clock's next minute would do."""
        assert self.gaps.plan
        self.gaps.plan()


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    folder = tmp_path_factory.mktemp("gaps")
    (folder / "config/domains/documents").mkdir(parents=True)
    (folder / "config/domains/security.yaml").write_text(DOMAIN)
    (folder / "config/domains/documents/laptops.md").write_text(LAPTOPS)
    with SlackStandIn(enforce_rate_limits=False) as slack:
        settings = Settings(_env_file=None).model_copy(
            update={
                "slack_api_url": slack.api_url,
                "slack_bot_token": SecretStr(slack.bot_token),
                "slack_app_token": SecretStr(slack.app_token),
                "config_dir": folder / "config",
                "data_dir": folder / "var",
            }
        )
        copilot = Copilot(settings)
        assert copilot.ingest("security").failed == ()
        bot = copilot.bot()
        bot.inbox.poll_seconds = 0.05
        bot.start()
        try:
            yield House(folder, copilot, slack, bot)
        finally:
            bot.stop(5)
            copilot.index.close()


def gaps_of_the_house(house: House, *words: str) -> subprocess.CompletedProcess[str]:
    return oncall(house.folder, "gaps", *words, ONCALL_CONFIG_DIR=str(house.folder / "config"))


def asked(house: House) -> list[str]:
    """Three people ask the same in other words, and it didn't help them; the questions' ids."""
    ids = []
    for user, text in ASKED.items():
        ts = house.slack.post_as_user(CHANNEL, f"{house.desk.at} {text}", user=user)
        reply = house.slack.wait_for_reply(CHANNEL, ts, until=answered)
        house.slack.click(
            CHANNEL, reply["ts"], FEEDBACK, user, chosen={"value": f"unhelpful {CHANNEL}:{ts}"}
        )
        ids.append(f"{CHANNEL}:{ts}")
    return ids


@pytest.fixture
def asked_house(house: House) -> House:
    """Three people have asked in vain, whichever tests came before."""
    if not house.known():
        asked(house)
        house.desk.settle()

        def is_found() -> bool:
            house.due()
            return [gap.times for gap in house.known()] == [3]

        eventually(is_found)
    return house


def test_three_people_ask_a_human_answers_and_the_document_closes_and_opens_the_gap(
    house: House,
) -> None:
    ids = asked(house)
    house.slack.wait_until_delivered()
    house.desk.settle()
    resolved = {"question_id": ids[0], "user": "U0INES", "resolution": TRAVEL}
    human = {"question_id": ids[0], "user": "U0YOU"}
    house.bot.inbox.put("human", {"human": human})
    eventually(lambda: _handoff(house, ids[0], "card_ts"))
    house.bot.inbox.put("resolved", {"resolve": resolved})
    eventually(lambda: _handoff(house, ids[0], "resolution") == TRAVEL)

    def proposed() -> bool:
        house.due()  # a plan while somebody looks leaves it to the next
        return [(gap.state, gap.times) for gap in house.known()] == [("proposed", 3)]

    eventually(proposed)
    (gap,) = house.known()
    assert (gap.people, gap.document) == (3, "laptops")
    with house.bot.engine.connect() as connection:
        (draft,) = connection.execute(select(GapDraftRow)).all()
    decided = {
        "id": draft.id, "outcome": "accepted", "by": "U0DANA", "document": "laptops",
        "heading": "Lost or stolen", "words": TRAVEL,
    }  # fmt: skip
    house.bot.inbox.put("decided", {"suggestion_outcome": decided})
    eventually(lambda: house.states() == ["accepted"])
    eventually(lambda: _asked_of(house, gap.id))  # at once, in case it stands there already
    assert house.states() == ["accepted"]

    before = _answers_counted()
    house.write(WITH_TRAVEL)
    house.gaps.timers["gaps_ask"]("security")
    eventually(lambda: house.states() == ["closed"])
    house.write(LAPTOPS)
    house.gaps.timers["gaps_ask"]("security")
    eventually(lambda: house.states() == ["reopened"])
    assert house.history() == ["open", "proposed", "accepted", "closed", "reopened"]
    assert _answers_counted() == before  # nobody asked
    assert len(house.bot.records.recent(limit=50)) == len(ids)


def test_operators_list_them_and_their_scripts_read_them(asked_house: House) -> None:
    house = asked_house
    listed = gaps_of_the_house(house, "security")
    assert listed.returncode == 0, listed.stderr
    assert "asked 3 times by 3 people" in listed.stdout
    assert "nearest: Laptop Guide" in listed.stdout
    (gap,) = json.loads(gaps_of_the_house(house, "--json").stdout)
    assert (gap["state"], gap["times"], gap["people"]) == (*house.states(), 3, 3)
    assert {one["text"] for one in gap["questions"]} == set(ASKED.values())
    wrong = gaps_of_the_house(house, "securty")
    assert wrong.returncode == 2
    assert "'security'" in wrong.stderr


def test_admins_see_them_in_home(asked_house: House) -> None:
    house = asked_house
    house.slack.open_app("home", "U0INES")
    shown = house.slack.wait_for(lambda: "gaps in the documents" in str(house.slack.home("U0INES")))
    assert shown
    view = house.slack.home("U0INES")
    assert view is not None
    assert problems(view["blocks"]) == []
    assert "asked 3 times by 3 people" in str(view)


def test_each_admin_gets_the_report_once_whichever_worker_sends_it(asked_house: House) -> None:
    house = asked_house
    due = latest_planned("0 9 * * 1", "Europe/Berlin", datetime.now(UTC))
    house.due()  # the first look notes the last planned time, and sends nothing
    house.desk.settle()
    assert not _reports(house, "U0INES")
    store, planned = GapStore(house.bot.engine), f"{due:%Y-%m-%dT%H:%M}"
    store.set_progress("security", reported="2026-01-05T08:00")
    for _ in range(2):
        house.due()
    eventually(lambda: store.progress("security")[1] == planned)
    for _ in range(2):  # as after a crash before that was noted
        store.set_progress("security", reported="2026-01-05T08:00")
        house.gaps.timers["gaps_report"](f"security@{planned}")
    for user in ("U0INES", "U0DANA"):
        (message,) = _reports(house, user)
        assert "New since" in words(message)
        assert problems(message["blocks"]) == []


def test_a_week_in_which_nothing_happened_is_not_told(asked_house: House) -> None:
    house = asked_house
    store = GapStore(house.bot.engine)
    (gap,) = store.in_domain("security")
    store.move(gap, "dismissed")
    before = len(_reports(house, "U0INES"))
    house.gaps.timers["gaps_report"]("security@2099-01-05T08:00")
    assert len(_reports(house, "U0INES")) == before
    assert store.progress("security")[1] == "2099-01-05T08:00"


def test_an_alert_that_comes_again_without_a_runbook_is_one_gap(house: House) -> None:
    before = {gap.id for gap in house.known()}
    for pod in ("checkout-1f9", "checkout-2f9"):
        text = f"[FIRING:1] HighErrorRate\nalertname = HighErrorRate\npod = {pod}"
        house.slack.post_as_app(CHANNEL, text)

    def found() -> list[Gap]:
        house.due()
        return [gap for gap in house.known() if gap.id not in before]

    (gap,) = eventually(found)
    assert (gap.questions[0].why, gap.questions[0].name) == ("alert", "Runbook for HighErrorRate")
    assert gap.times == 1  # the second time is counted where the first was answered


def test_the_planned_time_is_read_by_the_clock_of_its_zone() -> None:
    monday = datetime(2026, 11, 23, 8, 0, tzinfo=UTC)  # 9:00 in Berlin
    assert latest_planned("0 9 * * 1", "Europe/Berlin", monday) == monday
    before = monday - timedelta(seconds=5)
    assert latest_planned("0 9 * * 1", "Europe/Berlin", before) == monday - timedelta(days=7)


def _handoff(house: House, question_id: str, column: str) -> str:
    with house.bot.engine.connect() as connection:
        query = select(HandoffRow.__table__.c[column]).where(HandoffRow.question_id == question_id)
        return str(connection.execute(query).scalar() or "")


def _asked_of(house: House, gap: str) -> str:
    found = GapStore(house.bot.engine).get(gap)
    return found.asked_of if found else ""


def _answers_counted() -> float:
    return sum(
        sample.value
        for metric in metrics.ANSWER_SECONDS.collect()
        for sample in metric.samples
        if sample.name.endswith("_count")
    )


def _reports(house: House, user: str) -> list[dict[str, Any]]:
    return [
        one for one in house.slack.messages(f"D{user[1:]}") if "gaps in the documents" in words(one)
    ]
