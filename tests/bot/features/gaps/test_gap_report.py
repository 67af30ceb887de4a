"""What a report of gaps says to whom, and that Slack takes it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from slack_sdk import WebClient

from bot.access.gate import Gate
from bot.features.gaps.report import WeeklyReport, latest_planned
from bot.slack.client import SlackClient
from playground.slack import tidewater
from playground.slack.rules.block_rules import problems
from playground.slack_stand_in import SlackStandIn
from tests.bot.conftest import words
from tests.bot.fakes import domain
from tests.bot.features.gaps.room import CLOSED, DIRECT, OPEN, GapRoom, gap_room
from tests.bot.features.gaps.test_gaps import OTHER, WAYS

ADMIN = "U0INES"
ELSEWHERE = "C0PRIVACY"
FAR = f"https://docs.example/d/{'x' * 300}"


@dataclass
class Office:
    room: GapRoom
    slack: SlackStandIn

    def ask(self, text: str, day: int = 2, **more: Any) -> str:
        """On this day of January."""
        return self.room.ask(text, asked_at=datetime(2099, 1, day), **more)

    def report(self, day: int = 4, **more: Any) -> None:
        """As two workers send it at the planned time: on this day of January."""
        told = domain(**{"admins": [ADMIN], "gaps": {"report": "0 8 * * 1"}, **more})
        client = WebClient(self.slack.bot_token, base_url=self.slack.api_url)
        web = SlackClient(client, sleep=lambda _: None)
        context = replace(
            self.room.context,
            web=web,
            gate=Gate(web, frozenset({tidewater.TEAM_ID})),
            domains=lambda: {"security": told},
        )
        weekly = WeeklyReport(
            context=context,
            records=self.room.records,
            store=self.room.store,
            where=lambda gap: (FAR, f"Guide & more › {'Heading & ' * 20}"),
        )
        for _ in range(2):
            weekly.send(f"security@2099-01-{day:02}T08:00")

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
        room.store.set_progress("security", reported="2098-12-29T08:00")
        yield Office(room, slack)


def test_a_channel_reads_what_all_may_see_and_counts_of_the_rest(office: Office) -> None:
    office.ask(WAYS[0], channel=CLOSED)
    office.ask(WAYS[1], channel=DIRECT, user="U0DANA")
    office.ask(OTHER, user="U0PRIYA")
    office.room.look()
    office.report(gaps={"report": "0 9 * * 1", "to": "channel"})
    (told,) = office.read(OPEN)
    assert OTHER in told
    assert "asked 2 times by 2 people" in told
    assert "loaner" not in told


def test_where_guests_are_let_in_a_channel_reads_nothing_of_another_one(office: Office) -> None:
    office.ask(WAYS[0], day=10, channel=ELSEWHERE)
    office.room.look()
    to_channel = {"gaps": {"report": "0 9 * * 1", "to": "channel"}}
    office.report(day=3, **to_channel)
    office.report(day=4, **to_channel, access={"external": True})
    first, second = office.read(OPEN)
    assert "loaner" in first
    assert "loaner" not in second


def test_a_channel_shared_with_another_organisation_reads_nothing_of_another_one(
    office: Office,
) -> None:
    office.ask(WAYS[0], day=10, channel=ELSEWHERE)
    office.room.look()
    office.slack.workspace.channel(OPEN).shared = True
    office.report(gaps={"report": "0 9 * * 1", "to": "channel"})
    (told,) = office.read(OPEN)
    assert "loaner" not in told
    assert "asked" in told


def test_an_admin_reads_what_they_may_see_themselves(office: Office) -> None:
    office.ask(WAYS[0], day=10, channel=CLOSED)
    office.ask(OTHER, day=10, channel=DIRECT)
    office.room.look()
    office.report(day=3)
    office.slack.workspace.channel(CLOSED).members.add(ADMIN)
    office.report(day=4)
    first, second = office.read(f"D{ADMIN[1:]}")
    assert "loaner" not in first
    assert "loaner" in second
    assert OTHER not in second


def test_long_questions_and_addresses_are_not_cut_in_the_middle(office: Office) -> None:
    for number in range(1001, 1008):
        text = f"why was <order {number}> & its invoice cancelled? {'& ' * 70}"
        office.room.dislike(office.ask(text), "no_answer")
    assert len(office.room.look()) == 7
    office.report()
    (told,) = office.read(f"D{ADMIN[1:]}")
    assert told.count(FAR) == 5
    assert told.count("· open") == 5
    assert office.room.home().count("· open") == 5


def test_an_admin_who_left_holds_up_nobody(office: Office) -> None:
    office.ask(WAYS[0])
    office.room.look()
    office.report(admins=["U0NOBODY", ADMIN])
    assert len(office.read(f"D{ADMIN[1:]}")) == 1


def test_a_report_tells_of_all_since_the_one_before_it_however_long_that_is(
    office: Office,
) -> None:
    office.ask(WAYS[0], day=2)
    office.ask(OTHER, day=23, user="U0PRIYA")
    office.room.look()
    office.report(day=20)
    office.report(day=27)
    first, second = office.read(f"D{ADMIN[1:]}")
    assert "New since 29 Dec" in first
    assert first.count("· open") == 2
    assert "New since 20 Jan" in second
    assert second.count("· open") == 1


@pytest.mark.parametrize(
    ("cron", "zone"),
    [
        ("30 2 * * *", "Europe/Berlin"),
        ("30 1 * * *", "America/New_York"),
        ("45 1 * * *", "Australia/Lord_Howe"),
        ("0 0 * * *", "America/Santiago"),
    ],
)
def test_a_time_that_the_clock_shows_twice_or_skips_has_one_report(cron: str, zone: str) -> None:
    moment, planned = datetime(2026, 1, 1, tzinfo=UTC), []
    while moment < datetime(2027, 1, 1, tzinfo=UTC):
        planned.append(latest_planned(cron, zone, moment))
        assert planned[-1] <= moment
        moment += timedelta(minutes=30)
    assert planned == sorted(planned)
    assert len(set(planned)) == 366  # one of the day before the first, or of the last


def test_a_planned_time_counts_from_its_own_minute_on() -> None:
    nine = datetime(2026, 11, 23, 8, tzinfo=UTC)
    assert latest_planned("0 9 * * 1", "Europe/Berlin", nine) == nine
    before = latest_planned("0 9 * * 1", "Europe/Berlin", nine - timedelta(seconds=1))
    assert before == nine - timedelta(days=7)
