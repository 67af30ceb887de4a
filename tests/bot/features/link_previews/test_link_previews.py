"""Links to documents, previewed over the real Bolt: to whom, of what, in which form."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, cast

import pytest

from agents.context.linked_section import find
from bot.feature import PublishedIndex
from config.domain import Domain
from config.errors import NothingPublished, PermissionsUnknown
from index.audit import AuditEntry, AuditLog
from index.search import Snapshot
from playground.slack_stand_in import SlackStandIn
from tests.bot.conftest import Desk, eventually, running
from tests.bot.crowd import GUEST, PARTNER, PRIVATE, PUBLIC, gather
from tests.bot.fakes import CHANNEL, Agents, domain
from tests.bot.shelf import AGE, Shelf, embed

KEYS = "https://docs.google.com/document/d/KEYS/edit?usp=sharing"
OLD = "https://docs.google.com/document/d/OLD/edit"
HIDDEN = "https://docs.google.com/document/d/HIDDEN/edit"
DOMAINS = {
    "security": domain(),
    "plain": domain("plain", "C0PLATFORM", answer={"link_previews": False}),
    "single": domain("single", "C0PRIVACY", access={"audience": "asker"}),
    "tea": domain("tea", PUBLIC),
}


def shelf_of(name: str) -> Snapshot:
    return cast("Snapshot", Shelf(everybody=name == "single"))


class Source:
    """What is published; a test may put something else there."""

    def __init__(self) -> None:
        self.of: Callable[[str], Snapshot] = shelf_of

    def __call__(self, name: str) -> Snapshot:
        return self.of(name)


@pytest.fixture(scope="module")
def shelves() -> Source:
    return Source()


@pytest.fixture
def source(shelves: Source) -> Source:
    shelves.of = shelf_of
    return shelves


@pytest.fixture(scope="module")
def running_desk(tmp_path_factory: pytest.TempPathFactory, shelves: Source) -> Iterator[Desk]:
    agents, folder = Agents(), tmp_path_factory.mktemp("links")
    published = PublishedIndex(snapshot=shelves, embed=embed)
    domains: dict[str, Domain] = dict(DOMAINS)
    with SlackStandIn(enforce_rate_limits=False) as slack:
        gather(slack)
        with running(slack, folder, agents, domains, published=published) as bot:
            yield Desk(slack, bot, agents)


@pytest.fixture
def desk(running_desk: Desk, source: Source) -> Desk:
    """Slack takes Work Objects, and nothing was refused yet."""
    slack, previews = running_desk.slack, running_desk.bot.extras.previews
    slack.faults.clear()
    slack.api.calls.clear()
    slack.api.scopes |= {"links:write"}
    slack.workspace.work_objects = True
    slack.workspace.details.clear()
    running_desk.bot.web.unsupported.forget()
    previews.problem = ""
    return running_desk


def attached(desk: Desk, channel: str, text: str, **more: Any) -> list[dict[str, Any]]:
    """What stands below a posted message once all is worked off."""
    ts = desk.slack.post_as_user(channel, text, **more)
    desk.settle()
    found = desk.slack.workspace.message(channel, ts).get("attachments", [])
    return list(found)


def shown_in(attachment: dict[str, Any]) -> str:
    return json.dumps(attachment, ensure_ascii=False)


def test_a_link_to_a_section_shows_that_section_as_a_work_object(desk: Desk) -> None:
    [attachment] = attached(desk, CHANNEL, f"it is all in {AGE}")
    assert attachment["title"] == "Key Rotation Standard"
    assert attachment["title_link"] == AGE
    facts = {field["title"]: field["value"] for field in attachment["fields"]}
    assert facts["Section"] == "Maximum age"
    assert "60 days in SG" in attachment["text"]
    assert facts["Owner"] == "Security Engineering"
    assert facts["Updated"] == "3 months ago"
    assert attachment["work_object"]["external_ref"] == {
        "id": "KEYS#heading=h.age", "type": "document"
    }  # fmt: skip


def test_where_work_objects_are_refused_it_is_shown_in_blocks(desk: Desk) -> None:
    desk.slack.workspace.work_objects = False
    for _ in range(2):
        [attachment] = attached(desk, CHANNEL, AGE)
        text = shown_in(attachment["blocks"])
        assert f"<{AGE}|Key Rotation Standard › Maximum age>" in text
        assert "> How often do we rotate keys?" in text
        assert "updated 3 months ago · owner: Security Engineering" in text
    assert list(desk.slack.api.calls).count("chat.unfurl") == 3  # the refusal is remembered


def test_a_superseded_document_names_its_successor(desk: Desk) -> None:
    [attachment] = attached(desk, CHANNEL, OLD)
    assert "superseded by Key Rotation Standard" in shown_in(attachment)
    desk.slack.workspace.work_objects = False
    [attachment] = attached(desk, CHANNEL, OLD)
    assert ":warning: superseded by <https://docs.google.com/document/d/KEYS/edit|Key" in shown_in(
        attachment
    )


@pytest.mark.parametrize(
    ("channel", "text"),
    [
        (CHANNEL, "https://docs.google.com/document/d/UNKNOWN/edit"),
        (CHANNEL, "https://docs.google.com.evil.example/document/d/KEYS/edit"),
        (CHANNEL, "https://evil.example/document/d/KEYS/edit"),
        (CHANNEL, f"`{AGE}`"),
        (CHANNEL, "https://docs.google.com/document/d/" + "K" * 3_000),
        (CHANNEL, " ".join(f"{KEYS}&n={n}" for n in range(6))),
        ("C0PLATFORM", AGE),
        ("C0GENERAL", AGE),
        ("C0PRIVACY", HIDDEN),
        ("D0YOU", AGE),
    ],
    ids=lambda value: str(value)[:60],
)
def test_nothing_is_shown_of_anything_else(desk: Desk, channel: str, text: str) -> None:
    assert attached(desk, channel, text) == []


def test_a_domain_for_single_readers_shows_what_is_open_to_everyone(desk: Desk) -> None:
    assert len(attached(desk, "C0PRIVACY", AGE)) == 1
    assert len(attached(desk, CHANNEL, HIDDEN)) == 1  # where everybody is answered from all


@pytest.mark.parametrize("user", [GUEST, PARTNER])
def test_an_outsider_gets_no_preview(desk: Desk, user: str) -> None:
    assert attached(desk, PUBLIC, AGE, user=user) == []
    assert len(attached(desk, PUBLIC, AGE, user="U0MAY")) == 1


def test_a_link_that_is_still_being_typed_shows_nothing(desk: Desk) -> None:
    desk.slack.compose_link(AGE)
    desk.settle()
    assert "chat.unfurl" not in desk.slack.api.calls


@pytest.mark.parametrize(
    "trouble", [NothingPublished("security"), PermissionsUnknown("Drive is away")]
)
def test_while_nobody_can_tell_nothing_is_shown(
    desk: Desk, source: Source, trouble: Exception
) -> None:
    def away(name: str) -> Snapshot:
        raise trouble

    source.of = away
    assert attached(desk, CHANNEL, AGE) == []


def test_who_was_shown_what_is_on_record(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    recorded: list[AuditEntry] = []
    previews = desk.bot.extras.previews
    listening = replace(previews.context, audit=lambda shown, of: recorded.append(shown))
    monkeypatch.setattr(previews, "context", listening)
    attached(desk, CHANNEL, f"{AGE} and {OLD}", user="U0INES")
    [shown] = recorded
    assert (shown.door, shown.place, shown.asker) == ("link", CHANNEL, "U0INES")
    assert shown.documents == {"cited": ["KEYS", "OLD"]}
    assert isinstance(desk.bot.audit, AuditLog)


def test_an_app_without_the_scope_goes_on_and_says_so_to_its_operators(desk: Desk) -> None:
    desk.slack.api.scopes -= {"links:write"}
    assert attached(desk, CHANNEL, AGE) == []
    assert "missing_scope" in desk.bot.extras.problems()[0]
    desk.ask("how often?")


def test_busy_slack_is_asked_again(desk: Desk) -> None:
    desk.slack.faults.add("chat.unfurl", status=429, retry_after=1)
    assert len(attached(desk, CHANNEL, AGE)) == 1


# The pane beside a conversation


def details(desk: Desk, user: str, text: str = AGE) -> dict[str, Any]:
    ts = desk.slack.post_as_user(PRIVATE if user == "U0MAY" else CHANNEL, text, user=user)
    desk.settle()
    channel = PRIVATE if user == "U0MAY" else CHANNEL
    desk.slack.open_details(channel, ts, text, user)
    found: dict[str, Any] = eventually(lambda: desk.slack.details(user))
    return found


def test_the_pane_shows_more_of_the_section_to_whoever_opened_it(desk: Desk) -> None:
    shown = details(desk, "U0YOU")["metadata"]
    assert "app_unfurl_url" not in shown
    payload = shown["entity_payload"]
    assert payload["attributes"]["title"]["text"] == "Key Rotation Standard"
    assert "the CISO may" in payload["fields"]["description"]["value"]


def test_the_pane_says_nothing_of_what_is_gone(desk: Desk, source: Source) -> None:
    ts = desk.slack.post_as_user(CHANNEL, AGE)
    desk.settle()
    source.of = lambda name: cast("Snapshot", _Empty())
    desk.slack.open_details(CHANNEL, ts, AGE)
    assert eventually(desk.slack.details) == {"metadata": None, "error": {"status": "not_found"}}


class _Empty(Shelf):
    def __init__(self) -> None:
        super().__init__()
        self._cards = {}


# Which document a link opens


@pytest.mark.parametrize(
    ("url", "document", "heading"),
    [
        (AGE, "KEYS", "Maximum age"),
        ("https://docs.google.com/document/d/KEYS/edit#heading=h.overlap", "KEYS", "Overlap"),
        ("https://docs.google.com/document/u/1/d/KEYS/view", "KEYS", ""),
        ("https://drive.google.com/file/d/KEYS/view", "KEYS", ""),
        ("https://drive.google.com/open?id=KEYS", "KEYS", ""),
        ("https://docs.google.com/document/d/KEYS/edit#heading=h.gone", "KEYS", ""),
        ("https://docs.google.com/document/d/KEYS/edit?tab=t.9#heading=h.age", "KEYS", ""),
        ("https://docs.google.com/document/d/KEYS/edit?tab=t.0", "KEYS", "Maximum age"),
    ],
)
def test_a_link_opens_a_document_and_a_section(url: str, document: str, heading: str) -> None:
    found = find(shelf_of("security"), url)
    assert found
    assert (found.card.id, found.heading) == (document, heading)


@pytest.mark.parametrize("url", ["", "https://[", "KEYS", "https://docs.google.com/", "//d/KEYS"])
def test_a_broken_link_opens_nothing(url: str) -> None:
    assert find(shelf_of("security"), url) is None
