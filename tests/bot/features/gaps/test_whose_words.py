"""What was said in private, or restated from documents that not everyone may read, reaches nobody
else: the real bot, its gaps and drafts, the agents with a scripted model, permissions by reader."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

import pytest
from sqlalchemy import text

from agents.answer import Answer, Question
from agents.freshness.cited_places import CitedSection
from agents.graph import build_ask
from bot.app import Bot
from bot.blocks.render import FEEDBACK
from bot.feature import Feature, PublishedIndex
from bot.features.digest.store import Period
from bot.features.freshness.places import dump_place
from bot.features.freshness.store import FlagStore
from bot.features.gaps.store import GapStore
from bot.features.owner_drafts.proposals import propose, to_yaml
from bot.questions.tables import HandoffRow
from index.permissions.rules import Guarded, PermissionIndex, all_may_read
from loaders.document import Permission
from loaders.google.owners import Commented, OwnersFound
from playground.slack.tidewater import YOU
from playground.slack_stand_in import SlackStandIn
from tests.agents.corpus import LAPTOPS, snapshot
from tests.agents.scripted import ScriptedModel
from tests.bot.conftest import Desk, eventually, running, words
from tests.bot.fakes import CHANNEL, Agents, domain

HERON = """---
id: heron
title: Payout of Project Heron
---
# Payout of Project Heron

## Bonus

Whoever works on Project Heron gets a bonus of 14 days of leave.
"""
READERS = ("sam.rivers@tidewater.example", "dana.whitlock@tidewater.example")
"""Sam asks, Dana is an admin; the admin Ines and the owner Marek may not read it."""
ASKED = "what do contractors get at the end?"
RESTATED = "What do contractors get from the Payout of Project Heron at the end?"
NAME = "Project Heron payout for contractors"
LEAK = "Heron"
ADMINS = ["U0INES", "U0DANA"]


class Owners:
    """Marek owns whatever is asked about."""

    comments_are_on = True

    def __init__(self) -> None:
        self.comments: list[str] = []

    def owners(self, document: str) -> OwnersFound:
        return OwnersFound(people=(("marek.vos@tidewater.example", "owner"),))

    def comment(self, document: str, *, mark: str, content: str, quoted: str) -> Commented:
        self.comments.append(content)
        return Commented(outcome="made")


@dataclass
class Office:
    desk: Desk
    owners: Owners
    model: ScriptedModel

    @property
    def slack(self) -> SlackStandIn:
        return self.desk.slack

    @property
    def bot(self) -> Bot:
        return self.desk.bot

    @property
    def gaps(self) -> Feature:
        return next(one for one in self.bot.features if "gaps_look" in one.timers)

    def look(self) -> None:
        self.desk.settle()
        self.gaps.timers["gaps_look"]("security")
        self.desk.settle()

    def ask(self, question: str, user: str = YOU, channel: str = CHANNEL) -> str:
        """The question's id; it may be answered privately."""
        ts = self.slack.post_as_user(channel, f"{self.desk.at} {question}", user=user)
        question_id = f"{channel}:{ts}"

        def is_posted() -> bool:
            record = self.bot.records.get(question_id)
            return bool(record and record.state == "posted")

        eventually(is_posted)
        return question_id

    def home(self, user: str) -> str:
        self.slack.open_app("home", user)
        self.desk.settle()
        return json.dumps(self.slack.home(user), ensure_ascii=False)

    def told(self, user: str) -> str:
        """All that the bot wrote to somebody directly."""
        self.desk.settle()
        messages = self.slack.messages(f"D{user[1:]}")
        return "".join(words(one) for one in messages if one.get("user") == self.slack.bot_user_id)

    def correct(self, question_id: str, user: str, correction: str) -> None:
        """By the buttons and the form, wherever the answer is."""
        record = self.bot.records.get(question_id)
        assert record
        keys = (question_id, f"{record.event_id}/private"[:80])
        channel, ts = self.bot.records.places(*keys)[-1]
        if channel.startswith("U"):
            channel = self.slack.workspace.direct(channel).id
        chosen = {"value": f"unhelpful {question_id}"}
        self.slack.click(channel, ts, FEEDBACK, user, chosen=chosen)
        self.slack.wait_for(lambda: self.slack.view(user))
        reason = {"type": "radio_buttons", "selected_option": {"value": "wrong"}}
        entered = {"type": "plain_text_input", "value": correction}
        self.slack.submit_view(
            {"reason": {"value": reason}, "correction": {"value": entered}}, user
        )

    def resolve(self, question_id: str, resolution: str, by: str) -> None:
        self.bot.inbox.put(f"human-{question_id}", {
            "human": {"question_id": question_id, "user": YOU},
        })  # fmt: skip
        eventually(lambda: self.bot.handoffs.get(question_id))
        self.bot.inbox.put(f"resolved-{question_id}", {
            "resolve": {"question_id": question_id, "user": by, "resolution": resolution},
        })  # fmt: skip
        eventually(lambda: (self.bot.handoffs.get(question_id) or HandoffRow()).resolution)


@pytest.fixture
def office(tmp_path: Any) -> Iterator[Office]:
    only = {"heron": tuple(Permission(kind="user", value=email) for email in READERS)}
    whole = snapshot(LAPTOPS, HERON, permissions=only)
    cards = {one.id: replace(one, source="google_drive") for one in whole.documents.values()}
    whole.documents = cards
    published = Guarded(whole, PermissionIndex({one.id: one.permissions for one in cards.values()}))
    model = ScriptedModel({
        "plan": {"question": RESTATED, "kind": "in_domain"}, "answer": "NO_ANSWER",
        "sources": {"documents": []}, "gap_name": {"name": NAME},
    })  # fmt: skip
    house = domain(
        admins=ADMINS, access={"audience": "asker"}, gaps={"report": "0 9 * * 1"},
        digest={"at": "0 9 * * *", "to": "channel", "time_zone": "UTC"},
    )  # fmt: skip
    ask = build_ask(snapshot=lambda: published, domain=house, model=model)
    agents, owners = Agents(), Owners()

    def reply(question: Question) -> Answer:
        return ask(question, None)

    agents.reply = reply
    with (
        SlackStandIn(enforce_rate_limits=False) as slack,
        running(
            slack, tmp_path, agents, {"security": house}, model=model, owners=owners,
            ask_unattended=agents,
            published=PublishedIndex(snapshot=lambda name: published, embed=_embed),
            everyone_may_read=lambda name, documents: all_may_read(published, documents),
        ) as bot,
    ):  # fmt: skip
        yield Office(Desk(slack, bot, agents), owners, model)


def _embed(texts: Any) -> Any:
    from tests.agents.memory import bag_of_words

    return bag_of_words(texts)


def test_a_title_in_a_restated_question_is_for_its_readers_alone(office: Office) -> None:
    first = office.ask(ASKED)
    office.ask(ASKED, user="U0DANA")
    office.resolve(first, "They get nothing.", by="U0DANA")
    office.look()
    places: dict[str, Callable[[], str]] = {
        "home": lambda: office.home("U0INES"),
        "weekly report": lambda: _report(office, "U0INES"),
        "digest": lambda: _digest(office),
        "draft": lambda: office.told("U0MAREK"),
        "proposals": lambda: to_yaml(propose(office.bot.engine)),
    }
    shown = {name: read() for name, read in places.items()}
    assert {name: LEAK in words_shown for name, words_shown in shown.items()} == dict.fromkeys(
        places, False
    )
    assert {name: ASKED in words_shown for name, words_shown in shown.items()} == dict.fromkeys(
        places, True
    )
    assert NAME in office.home("U0DANA"), "who may read the document reads the name"


def test_a_private_correction_reaches_no_owner(office: Office) -> None:
    secret = "Contractors get the bonus as well, says the board."
    privately = office.ask(ASKED)
    record = office.bot.records.get(privately)
    assert record
    assert office.bot.records.places(f"{record.event_id}/private"[:80]), "answered privately"
    office.correct(privately, YOU, secret)
    assert "goes to the owners" not in json.dumps(office.slack.ephemerals(YOU))
    office.look()
    assert secret not in office.told("U0MAREK") + office.home("U0MAREK") + office.home("U0INES")
    assert office.owners.comments == []


def _report(office: Office, user: str) -> str:
    store = GapStore(office.bot.engine)
    store.set_progress("security", reported="2026-01-05T08:00")
    office.gaps.timers["gaps_report"](f"security@{datetime.now(UTC):%Y-%m-%dT%H:%M}")
    return office.told(user)


def _digest(office: Office) -> str:
    feature = next(one for one in office.bot.features if "digest" in one.timers)
    today = datetime.now(UTC).replace(hour=9, minute=0, second=0, microsecond=0)
    feature.timers["digest"](Period("security", today).subject)
    office.desk.settle()
    found = [one for one in office.slack.messages(CHANNEL) if "what is open" in words(one)]
    return "".join(map(words, found))


def test_what_is_shown_of_documents_is_on_record_by_its_door(office: Office) -> None:
    first = office.ask(ASKED)
    office.ask(ASKED, user="U0DANA")
    office.resolve(first, "They get nothing.", by="U0DANA")
    place = CitedSection(document="laptops", title="Laptop Guide", path="Screen lock")
    FlagStore(office.bot.engine).add(
        "f1", domain="security", document="laptops", place=place.key, kept=dump_place(place),
        words="old", flagged_by=YOU, question_id=first, outcome="", decided_by="",
    )  # fmt: skip
    office.look()
    office.told("U0MAREK")
    _report(office, "U0INES")
    _digest(office)
    office.home("U0DANA")
    rows = {
        (row["door"], row["asker"], row["place"]): row["documents"]
        for row in office.bot.audit.export()
    }
    assert rows["owner_draft", "U0MAREK", ""] == {"listed": ["laptops"]}
    assert rows["gap_report", "U0INES", "U0INES"] == {"listed": ["laptops"]}
    assert rows["digest", "", CHANNEL] == {"listed": ["laptops"]}
    assert rows["home", "U0DANA", ""] == {"listed": ["laptops"], "drawn_from": ["heron", "laptops"]}


def test_what_cannot_be_recorded_is_not_shown(office: Office) -> None:
    for user in (YOU, "U0DANA"):
        office.ask(ASKED, user=user)
    office.look()
    assert "Laptop Guide" in office.home("U0INES")
    with office.bot.engine.begin() as connection:
        connection.execute(text("ALTER TABLE audit_shown RENAME TO elsewhere"))
    shown = office.home("U0INES")
    assert "What can I ask?" in shown
    assert "Laptop Guide" not in shown
