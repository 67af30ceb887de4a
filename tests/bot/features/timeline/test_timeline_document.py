"""A timeline is saved as one Google Doc, where the domain file names a folder."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from sqlalchemy import select

from bot.app import Bot
from bot.features.timeline.service import TimelineRequested
from bot.features.timeline.store import TimelineDocumentRow
from loaders.google.owners import GoogleOwners
from playground.google.memory_drive import DOCUMENT, FOLDER
from playground.google_stand_in import ACCOUNT, GoogleFault, GoogleStandIn, StoredFile
from playground.slack_stand_in import SlackStandIn
from tests.bot.conftest import Desk, running, settings_for, words
from tests.bot.fakes import CHANNEL, Agents, domain
from tests.bot.features.checklists.runbooks import (
    FAILOVER,
    Published,
    RunbookShelf,
    citing,
    demo_text,
)

SHELF = RunbookShelf(demo_text(FAILOVER))
FILES = (
    StoredFile(id="REVIEWS", name="Reviews", mime_type=FOLDER, drive_id="D", account_role="writer"),
    StoredFile(id="READ", name="Read", mime_type=FOLDER, drive_id="D", account_role="reader"),
    StoredFile(id="MINE", name="My Drive", mime_type=FOLDER, account_role="writer"),
)
FOLDERS = {"security": "REVIEWS", "privacy": "READ", "platform": "MINE"}
CHANNELS = {"security": CHANNEL, "privacy": "C0PRIVACY", "platform": "C0PLATFORM"}


class Office(Desk):
    def __init__(self, slack: SlackStandIn, bot: Bot, agents: Agents, google: GoogleStandIn):
        super().__init__(slack, bot, agents)
        self.google = google

    def saved(self) -> list[StoredFile]:
        files = self.google.drive.all_visible()
        return [one for one in files if one.mime_type == DOCUMENT]

    def asks(self, ts: str, channel: str = CHANNEL) -> dict[str, Any]:
        self.slack.post_as_user(channel, f"{self.at} timeline", thread_ts=ts)
        return self.slack.wait_for_reply(
            channel, ts, until=lambda one: '"timeline_markdown"' in words(one)
        )

    def press(self, message: dict[str, Any], channel: str = CHANNEL) -> None:
        self.slack.click(channel, message["ts"], "timeline_document")
        self.settle()

    def notes(self, ts: str) -> list[str]:
        return [one["text"] for one in self.slack.ephemerals() if one.get("thread_ts") == ts]

    def links(self, ts: str) -> list[str]:
        """Messages of a thread that say where it is saved."""
        said = self.said(CHANNEL, ts)
        return [words(one) for one in said if "Saved as a Google Doc" in words(one)]


@pytest.fixture(scope="module")
def running_office(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Office]:
    folder, agents = tmp_path_factory.mktemp("saved"), Agents()
    domains = {
        name: domain(
            name,
            CHANNELS[name],
            runbooks={"timeline": True, "timeline_folder": FOLDERS[name]},
            limits={"questions_per_user_per_hour": 10_000},
        )
        for name in FOLDERS
    }
    with SlackStandIn(enforce_rate_limits=False) as slack, GoogleStandIn(FILES) as google:
        google_settings = {
            "google_credentials": google.write_credentials(folder / "key.json"),
            "google_api_url": google.url,
        }
        settings = settings_for(slack, folder).model_copy(update=google_settings)
        owners = GoogleOwners(settings, attempts=3, sleep=lambda seconds: time.sleep(0.01))
        with running(
            slack, folder, agents, domains, owners=owners, published=Published(SHELF).domains()
        ) as bot:
            yield Office(slack, bot, agents, google)


@pytest.fixture
def office(running_office: Office) -> Office:
    office = running_office
    office.agents.reset(citing(SHELF, "ledger-db-failover-runbook", "Unplanned failover"))
    office.google.faults.clear()
    office.settle()
    for one in office.saved():
        office.google.drive.delete(one.id)
    return office


def incident(office: Office, channel: str = CHANNEL) -> str:
    ts = office.slack.post_as_user(channel, "the ledger is down")
    office.slack.post_as_user(channel, "*fencing* [now](x) <!channel>", ts, "U0DANA")
    return ts


def test_it_is_saved_once_and_the_thread_gets_the_link(office: Office) -> None:
    ts = incident(office)
    message = office.asks(ts)
    assert office.saved() == []  # not before somebody wants it
    office.press(message)
    (document,) = office.saved()
    assert document.parents == ("REVIEWS",)
    assert re.fullmatch(r"Timeline \d{4}-\d\d-\d\d", document.name)
    text = str(document.content)
    assert "the ledger is down" in text
    assert r"\*fencing\* \[now\] (x)" in text
    assert "<!channel>" not in text
    (link,) = office.links(ts)
    assert document.id in link
    office.press(message)
    office.press(office.asks(ts))
    assert [one.id for one in office.saved()] == [document.id]
    assert len(office.links(ts)) == 1
    with office.bot.engine.connect() as connection:
        (row,) = connection.execute(
            select(TimelineDocumentRow.event_id).where(TimelineDocumentRow.thread_ts == ts)
        )
    assert not re.search(r"U0\w+", row.event_id)  # it outlives the data of whoever pressed
    assert all(document.id in note for note in office.notes(ts))
    assert len(office.notes(ts)) == 2


def test_what_documents_say_is_not_taken_there(office: Office) -> None:
    ts, answer = office.ask("ledger is down, what now?")
    office.slack.click(CHANNEL, answer["ts"], "checklist_start")
    card = office.slack.wait_for_reply(
        CHANNEL, ts, until=lambda one: '"checklist_done_0"' in words(one)
    )
    office.slack.click(CHANNEL, card["ts"], "checklist_done_0")
    office.settle()
    message = office.asks(ts)
    assert "ticked off step 1: “" in words(message)
    office.press(message)
    (document,) = office.saved()
    assert "ticked off step 1](" in str(document.content)
    assert "Failover" not in str(document.content)


@pytest.mark.parametrize("kind", ["drop", "truncate", "garble"])
def test_a_reply_that_is_lost_makes_no_second_document(office: Office, kind: Any) -> None:
    ts = incident(office)
    message = office.asks(ts)
    office.google.faults.add(GoogleFault(kind=kind, method="files.create", times=2))
    office.press(message)
    assert len(office.saved()) == 1
    assert len(office.links(ts)) == 1


def test_a_crash_before_it_is_on_record_makes_no_second_document(office: Office) -> None:
    ts = incident(office)
    event = TimelineRequested(
        channel=CHANNEL, thread_ts=ts, user="U0YOU", at="1.0", form="document"
    )
    feature = next(one for one in office.bot.features if TimelineRequested in one.handlers)
    feature.handlers[TimelineRequested](event.id, event)
    with office.bot.engine.begin() as connection:
        connection.execute(
            TimelineDocumentRow.__table__.update()  # type: ignore[attr-defined]
            .where(TimelineDocumentRow.thread_ts == ts)
            .values(url="")
        )
    feature.handlers[TimelineRequested](event.id, event)
    assert len(office.saved()) == 1
    assert len(office.links(ts)) == 1
    other = replace(event, user="U0DANA", at="2.0")
    feature.handlers[TimelineRequested](other.id, other)
    assert len(office.saved()) == 1


@pytest.mark.parametrize(
    ("channel", "says"),
    [
        ("C0PRIVACY", "my account may only read that folder: make it a Contributor"),
        ("C0PLATFORM", "Google lets my account store on shared drives only"),
    ],
)
def test_a_refusal_says_what_to_do_and_the_next_press_tries_again(
    office: Office, channel: str, says: str
) -> None:
    ts = incident(office, channel)
    message = office.asks(ts, channel)
    for presses in (1, 2):
        office.press(message, channel)
        assert len([note for note in office.notes(ts) if says in note]) == presses
    assert office.saved() == []
    with office.bot.engine.connect() as connection:
        rows = select(TimelineDocumentRow).where(TimelineDocumentRow.thread_ts == ts)
        assert connection.execute(rows).all() == []


def test_google_away_is_said(office: Office) -> None:
    ts = incident(office)
    message = office.asks(ts)
    office.google.faults.add(GoogleFault(method="files.create", status=503, times=None))
    office.press(message)
    (note,) = office.notes(ts)
    assert "did not answer properly" in note
    assert ACCOUNT not in note
