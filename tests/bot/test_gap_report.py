"""What a report of gaps says to whom, and that Slack takes it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from slack_sdk import WebClient

from bot.access.gate import Gate
from bot.gaps.weekly_report import WeeklyReport
from bot.slack.web import Web
from playground.slack import tidewater
from playground.slack.rules.block_rules import problems
from playground.slack_stand_in import SlackStandIn
from tests.bot.conftest import words
from tests.bot.fakes import domain
from tests.bot.gap_room import CLOSED, DIRECT, OPEN, GapRoom, gap_room
from tests.bot.test_gaps import OTHER, WAYS

ADMIN = "U0INES"
ELSEWHERE = "C0PRIVACY"
FAR = f"https://docs.example/d/{'x' * 300}"


@dataclass
class Office:
    room: GapRoom
    slack: SlackStandIn

    def report(self, week: int = 1, **more: Any) -> None:
        """As two workers send it at the planned time."""
        told = domain(**{"admins": [ADMIN], **more})
        client = WebClient(self.slack.bot_token, base_url=self.slack.api_url)
        web = Web(client, sleep=lambda _: None)
        weekly = WeeklyReport(
            web=web,
            records=self.room.records,
            kept=self.room.kept,
            gate=Gate(web, frozenset({tidewater.TEAM_ID})),
            timers=self.room.timers,
            domains=lambda: {"security": told},
            where=lambda gap: (FAR, f"Guide & more › {'Heading & ' * 20}"),
        )
        for _ in range(2):
            weekly.send(f"security@2099-01-0{week}T08:00")

    def read(self, place: str) -> list[str]:
        """The reports in a conversation."""
        found = [one for one in self.slack.messages(place) if "gaps in the documents" in words(one)]
        assert [problems(one["blocks"]) for one in found] == [[] for _ in found]
        return [words(one) for one in found]


@pytest.fixture
def office() -> Iterator[Office]:
    with gap_room() as room, SlackStandIn(enforce_rate_limits=False) as slack:
        secret = tidewater.Channel(id=CLOSED, name="secret", kind="group")
        secret.members = {slack.bot_user_id, "U0YOU"}
        slack.workspace.add_channel(secret)
        yield Office(room, slack)


def test_a_channel_reads_what_all_may_see_and_counts_of_the_rest(office: Office) -> None:
    office.room.ask(WAYS[0], channel=CLOSED)
    office.room.ask(WAYS[1], channel=DIRECT, user="U0DANA")
    office.room.ask(OTHER, user="U0PRIYA")
    office.room.look()
    office.report(gaps={"report": "0 9 * * 1", "to": "channel"})
    (told,) = office.read(OPEN)
    assert OTHER in told
    assert "asked 2 times by 2 people" in told
    assert "loaner" not in told


def test_where_guests_are_let_in_a_channel_reads_nothing_of_another_one(office: Office) -> None:
    office.room.ask(WAYS[0], channel=ELSEWHERE)
    office.room.look()
    to_channel = {"gaps": {"report": "0 9 * * 1", "to": "channel"}}
    office.report(week=1, **to_channel)
    office.report(week=2, **to_channel, access={"external": True})
    first, second = office.read(OPEN)
    assert "loaner" in first
    assert "loaner" not in second


def test_an_admin_reads_what_they_may_see_themselves(office: Office) -> None:
    office.room.ask(WAYS[0], channel=CLOSED)
    office.room.ask(OTHER, channel=DIRECT)
    office.room.look()
    office.report(week=1, gaps={"report": "0 9 * * 1"})
    office.slack.workspace.channel(CLOSED).members.add(ADMIN)
    office.report(week=2, gaps={"report": "0 9 * * 1"})
    first, second = office.read(f"D{ADMIN[1:]}")
    assert "loaner" not in first
    assert "loaner" in second
    assert OTHER not in second


def test_long_questions_and_addresses_are_not_cut_in_the_middle(office: Office) -> None:
    for number in range(1001, 1008):
        text = f"why was <order {number}> & its invoice cancelled? {'& ' * 70}"
        office.room.dislike(office.room.ask(text), "no_answer")
    assert len(office.room.look()) == 7
    office.report(gaps={"report": "0 9 * * 1"})
    (told,) = office.read(f"D{ADMIN[1:]}")
    assert told.count(FAR) == 5
    assert told.count("· open") == 5
    assert office.room.home().count("· open") == 5


def test_an_admin_who_left_holds_up_nobody(office: Office) -> None:
    office.room.ask(WAYS[0])
    office.room.look()
    told = {"gaps": {"report": "0 9 * * 1"}, "admins": ["U0NOBODY", ADMIN]}
    office.report(**told)
    assert len(office.read(f"D{ADMIN[1:]}")) == 1
