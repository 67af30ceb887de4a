"""Accounts of other organizations where a domain lets them in: what their profile says of an
address counts for nothing, and takes nothing from whose address it is."""

from __future__ import annotations

import dataclasses
import json
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from fastapi.testclient import TestClient

from api.auth.tokens import create_token
from oncall import Copilot
from playground.google.memory_drive import FOLDER
from playground.google_stand_in import GoogleStandIn, StoredFile
from playground.slack.tidewater import Channel, SlackUser
from playground.slack_stand_in import SlackStandIn
from tests.api.front import bearer, elsewhere
from tests.stand_ins import connected_settings

CHANNEL = "C0VAULT"
ADDRESS = "nora.colleague@tidewater.example"
NORA, EVA, OLAF = "U0NORA", "U0EVA", "U0OLAF"
SHARED = {
    "gondola": {"id": "u", "type": "user", "role": "reader", "emailAddress": ADDRESS},
    "windmill": {"id": "d", "type": "domain", "role": "reader", "domain": "tidewater.example"},
    "trawler": {"id": "g", "type": "group", "role": "reader",
                "emailAddress": "partners@tidewater.example"},
    "carousel": {"id": "p", "type": "domain", "role": "reader", "domain": "partner.example"},
}  # fmt: skip
CODES = {thing: f"QX7{number}4" for number, thing in enumerate(SHARED)}
DOMAIN = f"""\
domain: vault
title: Vault help
channels: [{CHANNEL}]
sources:
  google_drive: {{folders: [vault]}}
access:
  audience: asker
  external: true
  groups: {{partners@tidewater.example: [{EVA}, {ADDRESS}]}}
"""


@dataclass(frozen=True, kw_only=True)
class Account(SlackUser):
    address: str

    @property
    def email(self) -> str:
        return self.address


def account(user: str, address: str, team: str = "T0TIDEWATER") -> Account:
    return Account(id=user, handle=user[2:].lower(), name=user, title="", address=address,
                   team_id=team)  # fmt: skip


def paper(thing: str) -> StoredFile:
    return StoredFile(
        id=thing, name=thing.title(), parents=("vault",), permissions=(SHARED[thing],),
        content=f"# {thing.title()}\n\n## Ignition\n\nThe ignition code of the {thing} is "
        f"{CODES[thing]}.\n",
    )  # fmt: skip


@dataclass(frozen=True)
class Vault:
    slack: SlackStandIn
    bot: Any
    api: TestClient
    token: str
    desk: str

    def seen(self, user: str) -> set[str]:
        """Asks for everything by mention; the things whose codes they then see."""
        since = self.slack.workspace.next_ts()
        for thing in SHARED:
            asked = f"<@{self.slack.bot_user_id}> what is the ignition code of the {thing}?"
            self.slack.post_as_user(CHANNEL, asked, user=user)
        quiet = 0
        while quiet < 2:
            self.slack.wait_until_delivered(60)
            quiet = 0 if self.bot.inbox.backlog() else quiet + 1
            time.sleep(0.02)
        direct = self.slack.workspace.direct(user).id
        posted = [*self.slack.messages(CHANNEL), *self.slack.messages(direct)]
        theirs = [one for one in posted if one["ts"] > since] + self.slack.ephemerals(user)
        return {thing for thing, code in CODES.items() if code in json.dumps(theirs)}

    def read(self, token: str, **more: str) -> set[str] | int:
        asked = {"query": "what is the ignition code?", "domain": "vault", "top_k": 50, **more}
        reply = self.api.post("/api/retrieve", json=asked, headers=bearer(token))
        if reply.status_code != 200:
            return reply.status_code
        return {thing for thing, code in CODES.items() if code in reply.text}


@pytest.fixture(scope="module")
def vault(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Vault]:
    folder = tmp_path_factory.mktemp("vault")
    (folder / "config" / "domains").mkdir(parents=True)
    (folder / "config" / "domains" / "vault.yaml").write_text(DOMAIN)
    files = [StoredFile(id="vault", name="vault", mime_type=FOLDER), *map(paper, SHARED)]
    with GoogleStandIn(files) as google, SlackStandIn(enforce_rate_limits=False) as slack:
        slack.workspace.add_channel(
            Channel(id=CHANNEL, name="vault", shared=True, members={slack.bot_user_id})
        )
        # Slack finds the impostor first.
        slack.workspace.welcome(account(EVA, ADDRESS, "T0PARTNER"), CHANNEL)
        slack.workspace.welcome(account(OLAF, "olaf@partner.example", "T0PARTNER"), CHANNEL)
        slack.workspace.welcome(account(NORA, ADDRESS), CHANNEL)
        copilot = Copilot(connected_settings(folder, google, slack))
        assert copilot.ingest("vault").failed == ()
        bot = copilot.bot()
        bot.inbox.poll_seconds = 0.05
        bot.start()
        try:
            token = create_token(folder / "config", "nora", identity=ADDRESS)
            desk = create_token(folder / "config", "desk", speaks_for_people=True)
            with pytest.MonkeyPatch.context() as patch:
                # One cache of people for Slack and the API.
                patch.setattr("bot.connection.open_directory", lambda settings: bot.gate)
                app = copilot.api(slack=False)
            with elsewhere(app) as api:
                yield Vault(slack, bot, api, token, desk)
        finally:
            bot.stop(5)
            copilot.index.close()


def test_an_address_in_a_profile_from_elsewhere_opens_nothing(vault: Vault) -> None:
    """By their Slack id alone: the group that names it, and no document shared with an address."""
    assert vault.seen(EVA) == {"trawler"}
    assert vault.seen(OLAF) == set()


@pytest.mark.parametrize("method", ["users.lookupByEmail", "users.conversations"])
def test_while_slack_cannot_be_asked_a_colleague_is_told_so(vault: Vault, method: str) -> None:
    gate = vault.bot.gate
    for cache in (gate.people._by_email, gate.channels._channels_of):
        cache._entries.clear()
    vault.slack.faults.add(method, status=429, retry_after=7)
    asked = {"query": "what is the ignition code?", "domain": "vault"}
    reply = vault.api.post("/api/retrieve", json=asked, headers=bearer(vault.token))
    assert (reply.status_code, reply.headers["Retry-After"]) == (503, "7")
    assert reply.json() == {
        "detail": "Slack can't be asked now who this person is and what they may ask; "
        "try again in 7 seconds"
    }
    for cache in (gate.people._by_email, gate.channels._channels_of):
        cache._entries.clear()
    assert vault.read(vault.token) == {"gondola", "windmill", "trawler"}


def test_the_colleague_reads_on_as_before(vault: Vault) -> None:
    theirs = {"gondola", "windmill", "trawler"}
    assert vault.read(vault.token) == theirs
    assert vault.read(vault.desk, asker_email=ADDRESS) == theirs
    assert vault.seen(NORA) == theirs
    members = vault.slack.workspace.channels[CHANNEL].members
    members.discard(EVA)
    vault.bot.gate.channels._members._entries.clear()
    try:
        assert vault.read(vault.token) == theirs
    finally:
        members.add(EVA)


def test_the_colleague_is_called_and_nobody_with_their_address(vault: Vault) -> None:
    """A rota names people by address."""
    on_call = vault.bot.handoffs.on_call
    assert on_call._slack_id(ADDRESS) == NORA
    assert on_call._slack_id("olaf@partner.example") == ""


def test_nobody_is_named_by_an_address_that_only_their_own_workspace_gave(vault: Vault) -> None:
    assert vault.read(vault.desk, asker_email="olaf@partner.example") == 403


def test_who_becomes_a_colleague_is_one_within_half_a_minute(vault: Vault) -> None:
    people = vault.bot.gate.people
    olaf = vault.slack.workspace.people[OLAF]
    assert people.member(OLAF).kind == "external"
    hired = dataclasses.replace(olaf, team_id="T0TIDEWATER", address="olaf@tidewater.example")
    vault.slack.workspace.welcome(hired)
    try:
        for entry in people._by_id._entries.values():
            entry.fetched_at -= 31
        assert people.member(OLAF).kind == "member"
        assert people.member(OLAF).person.email == "olaf@tidewater.example"
    finally:
        vault.slack.workspace.welcome(olaf)
        people._by_id._entries.clear()


def test_the_token_of_somebody_who_left_an_hour_ago_opens_nothing(vault: Vault) -> None:
    people, nora = vault.bot.gate.people, vault.slack.workspace.people[NORA]
    assert vault.read(vault.token) != 403
    vault.slack.workspace.welcome(dataclasses.replace(nora, deleted=True))
    vault.api.get("/api/documents?domain=vault", headers=bearer(vault.token))
    try:
        for entry in people._by_email._entries.values():
            entry.fetched_at -= 3_600
        assert vault.read(vault.token) == vault.read(vault.desk, asker_email=ADDRESS) == 403
        for path in ("documents", "documents/gondola/summary", "entities"):
            reply = vault.api.get(f"/api/{path}?domain=vault", headers=bearer(vault.token))
            assert reply.status_code == 403
        # While Slack is away as well.
        vault.slack.faults.add("users.lookupByEmail", status=503, count=20)
        people._by_email._entries.clear()
        assert vault.read(vault.token) == 503
    finally:
        vault.slack.faults.clear()
        vault.slack.workspace.welcome(nora)
        people._by_email._entries.clear()


def test_a_channel_that_is_shared_no_longer_closes_what_was_asked_in_it(vault: Vault) -> None:
    """The question was posted while it was, and is answered afterwards."""
    members = vault.slack.workspace.channels[CHANNEL].members
    vault.bot.gate.channels._members._entries.clear()
    members.discard(EVA)
    try:
        event = {
            "type": "app_mention", "channel": CHANNEL, "user": EVA, "ts": "1700000000.000100",
            "text": f"<@{vault.slack.bot_user_id}> what is the ignition code of the trawler?",
        }  # fmt: skip
        vault.bot.inbox.put("Ev-late", {"event": event, "team": "T0TIDEWATER"})
        while vault.bot.inbox.backlog():
            time.sleep(0.02)
        assert vault.bot.records.get(f"{CHANNEL}:1700000000.000100") is None
    finally:
        members.add(EVA)
        vault.bot.gate.channels._members._entries.clear()
