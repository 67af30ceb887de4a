"""A domain that answers each asker from what they may read, with every part real but the servers:
permissions change in Drive, and nothing is ingested again."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from agents.answer import Answer, Question
from config.errors import ConfigError, PermissionsUnknown
from config.settings import Settings
from index.permissions.rules import Person
from oncall import Copilot
from playground.google_stand_in import GoogleFault, GoogleStandIn
from playground.slack_stand_in import SlackStandIn
from tests.api.front import here
from tests.stand_ins import connected_settings, security_documents

CHANNEL = "C0SECURITY"
KEYS, DEVICES = "key-rotation-standard", "device-security-standard"
ASKED = "how old may an API signing key on Restricted data get in Singapore?"
DOMAIN = f"""\
domain: security
title: Security help
channels: [{CHANNEL}]
sources:
  google_drive: {{folders: [demo-security]}}
access:
  audience: asker
  groups:
    seceng@tidewater.example: [S0SECENG]
"""
SECENG = {"id": "g", "type": "group", "role": "reader", "emailAddress": "seceng@tidewater.example"}
INES = Person(email="ines.okafor@tidewater.example", slack_user="U0INES")
SAM = Person(email="sam.rivers@tidewater.example", slack_user="U0SAM")
DOWN = GoogleFault(method="batch", status=503, times=None)


@dataclass(frozen=True)
class House:
    google: GoogleStandIn
    slack: SlackStandIn
    settings: Settings

    def copilot(self, **changed: Any) -> Copilot:
        """As another process would have it: it knows of permissions what was published."""
        return Copilot(self.settings.model_copy(update=changed))

    def ask(self, person: Person, text: str = ASKED) -> Answer:
        copilot = self.copilot()
        try:
            readers = copilot.groups(copilot.domain("security"), person)
            return copilot.ask("security")(Question(text=text, readers=readers), None)
        finally:
            copilot.index.close()


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    folder = tmp_path_factory.mktemp("house")
    documents = security_documents(folder, (KEYS, DEVICES))
    (folder / "config" / "domains").mkdir(parents=True)
    (folder / "config" / "domains" / "security.yaml").write_text(DOMAIN)
    with GoogleStandIn(documents) as google, SlackStandIn() as slack:
        google.drive.share(KEYS, SECENG)
        house = House(google, slack, connected_settings(folder, google, slack))
        copilot = house.copilot()
        assert copilot.ingest("security").failed == ()
        copilot.index.close()
        yield house


@pytest.fixture
def house(published: House) -> House:
    published.google.faults.clear()
    published.google.drive.inherit(KEYS, SECENG)
    return published


def assert_hidden(answer: Answer) -> None:
    everything = repr((answer, answer.trace)).lower()
    assert "key-rotation" not in everything
    assert "key rotation standard" not in everything
    assert "60 days" not in answer.text


def test_a_member_of_the_group_is_answered_and_nobody_else(house: House) -> None:
    answer = house.ask(INES)
    assert "60 days" in answer.text
    assert {citation.document for citation in answer.citations} == {KEYS}
    for stranger in (SAM, Person(email=INES.email), Person()):
        assert_hidden(house.ask(stranger))


def test_what_was_revoked_since_is_neither_told_nor_named(house: House) -> None:
    house.google.drive.inherit(KEYS)
    assert_hidden(house.ask(INES))


def test_who_was_let_in_since_is_answered(house: House) -> None:
    sam = {"id": "s", "type": "user", "role": "reader", "emailAddress": SAM.email}
    house.google.drive.inherit(KEYS, sam)
    assert "60 days" in house.ask(SAM).text


def test_documents_are_listed_and_dated_for_those_who_may_read_them(house: House) -> None:
    listed = house.ask(INES, "which documents do you know?")
    assert [one.document for one in listed.citations] == [DEVICES, KEYS]
    dated = house.ask(INES, "when was the key rotation standard last updated?")
    assert "**Key Rotation Standard** was last edited on " in dated.text
    assert [one.document for one in house.ask(SAM, listed.standalone_question).citations] == [
        DEVICES
    ]
    hidden = house.ask(SAM, dated.standalone_question)
    assert KEYS not in hidden.drawn_from
    assert "last edited" not in hidden.text


def test_a_list_that_not_everybody_may_read_is_sent_to_its_asker_alone(house: House) -> None:
    copilot = house.copilot()
    bot = copilot.bot()
    bot.start()
    try:
        at = f"<@{house.slack.bot_user_id}>"
        ts = house.slack.post_as_user(CHANNEL, f"{at} which documents do you know?", user="U0INES")
        reply = house.slack.wait_for_reply(
            CHANNEL, ts, 60, until=lambda message: "privately" in str(message)
        )
        assert "Key Rotation" not in str(reply)
        mine = house.slack.messages(house.slack.workspace.direct("U0INES").id)
        assert "Key Rotation Standard" in str(mine)
    finally:
        bot.stop(5)
        copilot.index.close()


def test_while_google_is_away_nobody_is_answered_and_nobody_misled(house: House) -> None:
    house.google.faults.add(DOWN)
    with pytest.raises(PermissionsUnknown, match="I can't check who may read"):
        house.ask(INES)
    copilot = house.copilot()
    with here(copilot.api(slack=False)) as client:
        for path, body in (
            ("/api/agentic_qna", {"query": ASKED}),
            ("/api/retrieve", {"query": ASKED}),
        ):
            reply = client.post(path, json=body)
            assert reply.status_code == 503
            assert "can't check who may read" in reply.json()["detail"]
    copilot.index.close()


def test_in_slack_it_is_said_in_plain_words(house: House) -> None:
    house.google.faults.add(DOWN)
    copilot = house.copilot()
    bot = copilot.bot()
    bot.start()
    try:
        ts = house.slack.post_as_user(CHANNEL, f"<@{house.slack.bot_user_id}> {ASKED}")
        reply = house.slack.wait_for_reply(
            CHANNEL, ts, 60, until=lambda message: "check who may read" in str(message)
        )
        assert "I can't check who may read these documents right now" in str(reply)
        assert "found nothing that answers" not in str(reply)
    finally:
        bot.stop(5)
        copilot.index.close()


def test_without_credentials_no_door_opens(house: House) -> None:
    copilot = house.copilot(google_credentials=None)
    for start in (copilot.bot, lambda: copilot.api(slack=False)):
        with pytest.raises(ConfigError, match=r"security .*GOOGLE_APPLICATION_CREDENTIALS; put "):
            start()


def test_status_names_the_groups_that_open_nothing(
    house: House, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from cli.commands.status import print_status

    domains = tmp_path / "domains"
    domains.mkdir()
    (domains / "security.yaml").write_text(DOMAIN.replace("S0SECENG", "S0NOSUCH"))
    shutil.copytree(house.settings.data_dir, tmp_path / "var")
    shutil.rmtree(tmp_path / "var" / "index")
    for config, said in (
        (house.settings.config_dir, ""),
        (tmp_path, "group S0NOSUCH opens nothing: Slack refuses to list it (no_such_subteam)"),
    ):
        copilot = house.copilot(config_dir=config, data_dir=tmp_path / "var")
        print_status(copilot)
        copilot.index.close()
        printed = " ".join(capsys.readouterr().out.split())
        assert said in printed
        assert ("opens nothing" in printed) == bool(said)
        assert "not on this machine yet" in printed
        assert not list((tmp_path / "var").rglob("*.npy")), "status builds no index"
