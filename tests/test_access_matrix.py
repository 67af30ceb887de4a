"""Who sees what: every person, audience, way of sharing and door, and all that they then can see.

The statement is docs/who-sees-what.md; nothing is expected here that isn't written there."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest
from fastapi.testclient import TestClient
from pydantic import SecretStr
from sqlalchemy import select

from agents.answer import Conversation, EarlierTurn
from api.auth.routes import DOORS
from api.auth.tokens import create_token, hash_of
from api.mcp.tools import TOOLS
from bot.features.freshness.store import FlagRow
from bot.questions.tables import FeedbackRow
from index.permissions.acts import BY_HTTP, NEEDS, Act
from oncall import Copilot
from playground.google.memory_drive import FOLDER
from playground.google_stand_in import GoogleStandIn, StoredFile
from playground.slack import tidewater
from playground.slack.tidewater import Channel, SlackUser
from playground.slack_stand_in import SlackStandIn
from tests.api.front import bearer, elsewhere, reached
from tests.contracts.pins import read_json
from tests.stand_ins import connected_settings

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "who-sees-what.md").read_text(encoding="utf-8")
Table = Mapping[str, Mapping[str, bool]]


def table(first: str) -> Table:
    """The page's table whose first column is headed so: row → column → yes or no."""
    lines = PAGE[PAGE.index(f"| {first} |") :].split("\n\n", 1)[0].splitlines()
    head, _, *rows = ([cell.strip() for cell in line.strip("| ").split("|")] for line in lines)
    says = {"yes": True, "–": False}
    return {
        row[0]: dict(zip(head[1:], map(says.__getitem__, row[1:]), strict=True)) for row in rows
    }


COMES_IN = table("door")
MAY_READ = table("shared with")
MAY_DO = table("act")
PEOPLE = list(COMES_IN["mention"])
AUDIENCES = ["channel", "asker"]

SHARED: Mapping[str, tuple[Mapping[str, Any], ...]] = {
    "user": tuple(
        {"id": who, "type": "user", "role": "reader", "emailAddress": f"{who}@{where}.example"}
        for who, where in (
            ("mia.member", "tidewater"), ("eli.elsewhere", "tidewater"), ("gus.guest", "tidewater"),
            ("eva.external", "partner"), ("finn.former", "tidewater"),
        )
    ),
    "group": ({"id": "group", "type": "group", "role": "reader",
               "emailAddress": "crew@tidewater.example"},),
    "domain": ({"id": "domain", "type": "domain", "role": "reader",
                "domain": "tidewater.example"},),
    "anyone": ({"id": "anyoneWithLink", "type": "anyone", "role": "reader"},),
    "expired": ({"id": "expired", "type": "anyone", "role": "reader",
                 "expirationTime": "2026-01-01T00:00:00.000Z"},),
    "deleted account": ({"id": "gone", "type": "user", "role": "reader", "deleted": True},),
    "unlistable": ({"id": "any", "type": "anyone", "role": "reader"},),
}  # fmt: skip
CREW = [f"{person['id']}@{person['emailAddress'].partition('@')[2]}" for person in SHARED["user"]]
NAMED = {
    "channel": ["Larkspur", "Foxglove", "Tansy", "Yarrow", "Bryony", "Campion", "Burdock"],
    "asker": ["Teasel", "Sorrel", "Vetch", "Mallow", "Comfrey", "Ragwort", "Borage"],
}
"""Titles: asked for by nobody, so that whoever sees one was shown it."""
ABOUT = {
    "channel": ["turbine", "kiln", "lathe", "crane", "sluice", "furnace", "anvil"],
    "asker": ["gondola", "windmill", "trawler", "carousel", "harpoon", "aqueduct", "bellows"],
}


@dataclass(frozen=True)
class Paper:
    """A document that is shared in one way, with a code that stands in no other."""

    audience: str
    shared: str
    title: str
    about: str
    code: str

    @property
    def question(self) -> str:
        return f"what is the ignition code of the {self.about}?"

    @property
    def unanswerable(self) -> str:
        return f"which insurer covers the {self.about} against lightning strikes?"

    @property
    def file(self) -> StoredFile:
        return StoredFile(
            id=self.title.lower(),
            name=self.title,
            parents=(f"folder-{self.audience}",),
            permissions=SHARED[self.shared],
            can_list_permissions=self.shared != "unlistable",
            content=f"# {self.title}\n\n## Ignition\n\n"
            f"The ignition code of the {self.about} is {self.code}.\n\n## Upkeep\n\n"
            f"Every morning somebody oils the bearings of the {self.about} before it starts.\n",
        )


PAPERS = {
    audience: [
        Paper(audience, shared, title, about, f"QX{number}7{audience[0].upper()}{number}4")
        for number, (shared, title, about) in enumerate(
            zip(SHARED, NAMED[audience], ABOUT[audience], strict=True), start=1
        )
    ]
    for audience in AUDIENCES
}
CHANNELS = {"channel": "C0WORKS", "asker": "C0VAULT"}
ELSEWHERE = "C0GENERAL"
PUBLIC = "https://copilot.example.com"
DOMAIN = """\
domain: {audience}
title: {audience} works
channels: [{channel}]
sources:
  google_drive: {{folders: [folder-{audience}]}}
access:
  audience: {audience}
  groups: {{crew@tidewater.example: [{crew}]}}
limits: {{questions_per_user_per_hour: 100000, questions_per_channel_per_hour: 100000}}
examples:
  - {{question: "who oils the {about}?", documents: ["{title}"]}}
"""
PROGRAM = "program"
"""An app in Slack, and a token without a person."""
ID = {person: f"U0{person.upper()}" for person in PEOPLE} | {PROGRAM: "U0BEACON"}
EMAIL = {
    person: f"{name}@{'partner' if person == 'external' else 'tidewater'}.example"
    for person, name in zip(
        [person for person in PEOPLE if person != PROGRAM],
        [
            "mia.member",
            "col.colleague",
            "eli.elsewhere",
            "gus.guest",
            "eva.external",
            "finn.former",
        ],
        strict=True,
    )
}


@dataclass(frozen=True, kw_only=True)
class Visitor(SlackUser):
    """Somebody with an address of their own."""

    address: str

    @property
    def email(self) -> str:
        return self.address


def people() -> Iterator[Visitor]:
    more: Mapping[str, Any] = {
        "guest": {"guest": "single_channel"},
        "external": {"team_id": "T0PARTNER"},
        "former": {"deleted": True},
    }
    for person, address in EMAIL.items():
        yield Visitor(
            id=ID[person], handle=address.partition("@")[0], name=person.title(), title="Tester",
            address=address, **more.get(person, {}),
        )  # fmt: skip


@pytest.fixture(scope="module")
def works(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Works]:
    folder = tmp_path_factory.mktemp("works")
    (folder / "config" / "domains").mkdir(parents=True)
    for audience, channel in CHANNELS.items():
        paper = PAPERS[audience][0]
        said = DOMAIN.format(
            audience=audience, channel=channel, crew=", ".join(CREW), about=paper.about,
            title=paper.title.lower(),
        )  # fmt: skip
        (folder / "config" / "domains" / f"{audience}.yaml").write_text(said)
    files = [
        *(StoredFile(id=f"folder-{a}", name=a, mime_type=FOLDER) for a in AUDIENCES),
        *(paper.file for papers in PAPERS.values() for paper in papers),
    ]
    with GoogleStandIn(files) as google, SlackStandIn(enforce_rate_limits=False) as slack:
        settle_in(slack)
        settings = connected_settings(folder, google, slack)
        slack.sign_in.redirect_uris.append(f"{PUBLIC}/signed-in")
        more = {
            "api_requests_per_minute": 100_000,
            "public_url": PUBLIC,
            "slack_client_id": slack.sign_in.client_id,
            "slack_client_secret": SecretStr(slack.sign_in.client_secret),
        }
        copilot = Copilot(settings.model_copy(update=more))
        for audience in AUDIENCES:
            assert copilot.ingest(audience).failed == ()
        bot = copilot.bot()
        bot.inbox.poll_seconds = 0.05
        bot.start()
        try:
            token = create_token(folder / "config", "desk", speaks_for_people=True)
            own = {
                person: create_token(folder / "config", person, identity=EMAIL.get(person, ""))
                for person in PEOPLE
            }
            with elsewhere(copilot.api(slack=False), headers=bearer(token)) as api:
                yield Works(copilot, slack, bot, api, own)
        finally:
            bot.stop(5)
            copilot.index.close()


def settle_in(slack: SlackStandIn) -> None:
    """Everybody moves in; all but one are in the help channels."""
    members = {tidewater.YOU, slack.bot_user_id}
    for channel in CHANNELS.values():
        slack.workspace.add_channel(
            Channel(id=channel, name=channel.lower(), kind="group", members=set(members))
        )
    for one in people():
        inside = () if one.id == ID["elsewhere"] else CHANNELS.values()
        slack.workspace.welcome(one, ELSEWHERE, *inside)


@dataclass(frozen=True)
class Works:
    """Two domains of seven papers each, behind every door."""

    copilot: Copilot
    slack: SlackStandIn
    bot: Any
    api: TestClient
    own_tokens: Mapping[str, str]
    """By person: with their own identity, as an assistant of theirs bears one."""
    replies: dict[tuple[str, str, str], tuple[str, str]] = field(default_factory=dict)
    """By door, person and audience: what `seen` saw."""

    def seen(self, door: str, person: str, audience: str) -> tuple[str, str]:
        if person == PROGRAM and door in API_DOORS:
            door = f"own token {door.removeprefix('API ')}"  # it names nobody
        asked = SHOWN_WITH.get(door, door), person, audience
        if asked not in self.replies:
            self.replies[asked] = seen(self, *asked)
        return self.replies[asked]

    def settle(self) -> None:
        """Until all that was asked is answered, and what came of that as well."""
        quiet = 0
        while quiet < 2:
            self.slack.wait_until_delivered(60)
            quiet = 0 if self.bot.inbox.backlog() else quiet + 1
            time.sleep(0.02)

    def place(self, person: str, audience: str) -> str:
        """Where they can write: the domain's channel, if they are in it."""
        return ELSEWHERE if person == "elsewhere" else CHANNELS[audience]

    def shown(self, user: str, since: str) -> str:
        """All that somebody can see of what was posted, in the channels they are in, in their
        direct messages and for their eyes only."""
        conversations = self.slack.workspace.channels.values()
        messages = [
            message
            for conversation in conversations
            if user in conversation.members
            for message in self.slack.messages(conversation.id)
        ] + self.slack.ephemerals(user)
        return words([m for m in messages if m["ts"] > since and m.get("user") != user])

    def posted(self, channel: str, since: str) -> str:
        """All that the bot wrote into a channel."""
        bot = self.slack.bot_user_id
        messages = self.slack.messages(channel)
        return words([m for m in messages if m["ts"] > since and m.get("user") == bot])


def words(messages: list[Any]) -> str:
    return json.dumps(messages, ensure_ascii=False)


def post(works: Works, person: str, audience: str, text: str, thread_ts: str = "") -> str:
    where, thread = works.place(person, audience), thread_ts or None
    if person == PROGRAM:
        return works.slack.post_as_app(where, text, thread_ts=thread)
    return works.slack.post_as_user(where, text, thread_ts=thread, user=ID[person])


def by_mention(works: Works, person: str, audience: str, texts: list[str]) -> None:
    for text in texts:
        post(works, person, audience, at(works, text))


def in_a_thread(works: Works, person: str, audience: str, texts: list[str]) -> None:
    where = works.place(person, audience)
    for text in texts:
        thread = works.slack.post_as_user(where, "the siren went off", user=tidewater.YOU)
        post(works, person, audience, at(works, text), thread)


def by_follow_up(works: Works, person: str, audience: str, texts: list[str]) -> None:
    threads = [post(works, person, audience, at(works, "hello!")) for _ in texts]
    works.settle()
    for thread, text in zip(threads, texts, strict=True):
        post(works, person, audience, text, thread)


def in_person(works: Works, person: str, audience: str, texts: list[str]) -> None:
    direct = works.slack.workspace.direct(ID[person]).id
    for text in texts:
        works.slack.post_as_user(direct, text, user=ID[person])


def by_shortcut(works: Works, person: str, audience: str, texts: list[str]) -> None:
    where = works.place(person, audience)
    for text in texts:
        message = works.slack.post_as_user(where, text, user=tidewater.YOU)
        works.slack.run_shortcut("ask_copilot", where, message, user=ID[person])


def at(works: Works, text: str) -> str:
    return f"<@{works.slack.bot_user_id}> {text}"


def through_api(works: Works, door: str, person: str, audience: str, texts: list[str]) -> str:
    """As whom the desk's token names, or with a token of one's own."""
    own = door not in API_DOORS
    who = bearer(works.own_tokens[person]) if own else {}
    named = {} if own else {"asker_email": EMAIL[person]}
    if door == OWN_DOCUMENTS:
        ids = [paper.file.id for paper in PAPERS[audience]]
        paths = ["/api/documents", "/api/entities"] + [
            f"/api/documents/{one}/{part}" for one in ids for part in ("summary", "citations")
        ]
        replies = [
            works.api.get(path, params={"domain": audience}, headers=who).text for path in paths
        ]
    else:
        route, more = {**API_DOORS, **OWN_DOORS}[door], {}
        if route.endswith("retrieve") and own:
            texts, more = ["what is the ignition code?"], {"top_k": 50}
        asked = [{"query": text, "domain": audience, **named, **more} for text in texts]
        replies = [works.api.post(route, json=one, headers=who).text for one in asked]
    return "\n".join(replies)


def through_mcp(works: Works, tool: str, person: str, audience: str, texts: list[str]) -> str:
    """What an assistant of this person is told; of documents, about all that there are by title."""
    asked_as, names = MCP_TOOLS[tool], [paper.title for paper in PAPERS[audience]]
    replies = []
    for text in names if tool == "document" else texts:
        call = {"name": tool, "arguments": {asked_as: text, "domain": audience}}
        reply = works.api.post(
            "/mcp",
            json={"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call},
            headers={
                **bearer(works.own_tokens[person]),
                "Accept": "application/json, text/event-stream",
                "MCP-Protocol-Version": "2025-11-25",
            },
        )
        assert reply.status_code == 200
        replies.append(reply.text)
    return "\n".join(replies)


def through_pages(works: Works, person: str, audience: str) -> str:
    """What a person sees who signed in with Slack; a program bears its token."""
    headers = bearer(works.own_tokens[person]) if person == PROGRAM else {}
    browser = reached(
        works.api.app, "203.0.113.9", base_url=PUBLIC, headers=headers, follow_redirects=False
    )
    if person != PROGRAM:
        works.slack.sign_in.person = ID[person]
        consent = browser.get("/document").headers["location"]
        assert browser.get(httpx.get(consent).headers["location"]).status_code == 303
    asked = [{"domain": audience, "id": paper.file.id} for paper in PAPERS[audience]]
    return "\n".join(browser.get("/document", params=one).text for one in asked)


SLACK_DOORS: Mapping[str, Callable[[Works, str, str, list[str]], None]] = {
    "mention": by_mention,
    "asked again": by_mention,
    "nearest": by_mention,
    "thread": in_a_thread,
    "follow-up": by_follow_up,
    "direct message": in_person,
    "shortcut": by_shortcut,
}
POSTED = ("mention", "asked again", "nearest", "thread", "follow-up")
OFFERS = ("home", "suggested prompts")
"""What they show is the domain and its examples, of documents nothing."""
SHOWN_WITH = {"citation": "mention"}
"""What stands in the replies that another door gets: they are asked for once."""
API_DOORS: Mapping[str, str] = {
    "API ask": "/api/agentic_qna",
    "API retrieve": "/api/retrieve",
}
OWN_DOCUMENTS = "own token documents"
OWN_DOORS: Mapping[str, str] = {
    "own token ask": "/api/agentic_qna",
    "own token retrieve": "/api/retrieve",
    OWN_DOCUMENTS: "/api/documents",
}
PAGES = "page"
MCP_TOOLS = {"ask": "question", "retrieve": "query", "document": "document"}
"""Each tool of /mcp, and the argument that says what is asked for."""
MCP_DOORS: Mapping[str, str] = {f"MCP {tool}": tool for tool in MCP_TOOLS}


def seen(works: Works, door: str, person: str, audience: str) -> tuple[str, str]:
    """Ask about every paper; what the person then saw, and what the bot wrote into the channel."""
    unanswerable = door == "nearest"
    texts = [p.unanswerable if unanswerable else p.question for p in PAPERS[audience]]
    if door in API_DOORS or door in OWN_DOORS:
        return through_api(works, door, person, audience, texts), ""
    if door == PAGES:
        return through_pages(works, person, audience), ""
    if door in MCP_DOORS:
        return through_mcp(works, MCP_DOORS[door], person, audience, texts), ""
    if person == PROGRAM and door not in POSTED:
        return "", ""  # an app can't open a conversation, a tab or a menu with another app
    since = works.slack.workspace.next_ts()
    if door == "home":
        works.slack.open_app("home", user=ID[person])
        works.settle()
        return words([works.slack.home(ID[person]) or {}]), ""
    if door == "suggested prompts":
        works.slack.open_app("messages", user=ID[person])
        works.settle()
        direct = works.slack.workspace.direct(ID[person]).id
        return words([works.slack.workspace.prompts.get(direct) or {}]), ""
    SLACK_DOORS[door](works, person, audience, texts)
    works.settle()
    place = works.place(person, audience)
    return works.shown(ID[person], since), works.posted(place, since)


def expected(door: str, person: str, audience: str) -> set[str]:
    """The ways of sharing that open a document to this person by this door."""
    if not COMES_IN[door][person]:
        return set()
    return {way for way in SHARED if audience == "channel" or MAY_READ[way][person]}


def codes(text: str, audience: str) -> set[str]:
    """The ways of sharing of the papers whose code stands in a text."""
    return {paper.shared for paper in PAPERS[audience] if paper.code in text}


def titles(text: str, audience: str) -> set[str]:
    """Those of the papers that a text names, or links to."""
    named = text.casefold()
    return {paper.shared for paper in PAPERS[audience] if paper.title.casefold() in named}


CELLS = [(d, p, a) for d in COMES_IN for p in PEOPLE for a in AUDIENCES]


@pytest.mark.parametrize(("door", "person", "audience"), CELLS)
def test_somebody_sees_what_the_page_says_and_nothing_else(
    works: Works, door: str, person: str, audience: str
) -> None:
    they_saw, channel_holds = works.seen(door, person, audience)
    may_see = expected(door, person, audience)
    assert codes(they_saw, audience) <= may_see
    assert titles(they_saw, audience) <= may_see
    if door in OFFERS:
        offered = f"who oils the {PAPERS[audience][0].about}?"
        assert (offered in they_saw) == COMES_IN[door][person]
        return
    other = next(name for name in AUDIENCES if name != audience)
    # A direct message is put to every domain that the person may ask.
    of_the_other = expected(door, person, other) if door == "direct message" else set()
    assert codes(they_saw, other) | titles(they_saw, other) <= of_the_other
    if audience == "asker":
        assert codes(channel_holds, audience) | titles(channel_holds, audience) <= {"anyone"}
    if door in ("citation", OWN_DOCUMENTS):
        assert titles(they_saw, audience) == may_see
    elif door != "nearest":
        assert codes(they_saw, audience) == may_see


@pytest.mark.parametrize("person", [name for name in PEOPLE if name not in ("elsewhere", PROGRAM)])
@pytest.mark.parametrize("audience", AUDIENCES)
def test_a_link_shows_a_channel_what_all_of_it_may_read(
    works: Works, person: str, audience: str
) -> None:
    """Posted by somebody who may ask; of nobody else's link anything is shown."""
    snapshot, channel = works.copilot.index.snapshot(audience), CHANNELS[audience]
    since = works.slack.workspace.next_ts()
    for paper in PAPERS[audience]:
        told = next(c for c in snapshot.chunks(paper.file.id) if paper.code in c.text)
        works.slack.post_as_user(channel, f"see {told.url}", user=ID[person])
    works.settle()
    below = [m.get("attachments", []) for m in works.slack.messages(channel) if m["ts"] > since]
    open_to_all = set(SHARED) if audience == "channel" else {"anyone"}
    shown = open_to_all if COMES_IN["mention"][person] else set()
    assert codes(words(below), audience) == titles(words(below), audience) == shown


def test_an_edit_answers_nobody_with_its_authors_permissions(works: Works) -> None:
    """A colleague asked about a member's message, which only the member's permissions answer."""
    paper, channel = PAPERS["asker"][0], CHANNELS["asker"]
    ts = post(works, "member", "asker", paper.question)
    works.slack.run_shortcut("ask_copilot", channel, ts, user=ID["colleague"])
    works.settle()
    since = works.slack.workspace.next_ts()
    for words in (f"please, {paper.question}", at(works, paper.question)):
        works.slack.edit_message(channel, ts, words)
        works.settle()
    seen = codes(works.shown(ID["colleague"], ""), "asker")
    assert seen <= expected("shortcut", "colleague", "asker")
    assert works.posted(channel, since) == "[]"
    record = works.bot.records.get(f"{channel}:{ts}")
    assert (record.asker, record.text) == (ID["colleague"], paper.question)


def test_the_page_states_every_cell() -> None:
    assert COMES_IN.keys() == {
        *SLACK_DOORS, *API_DOORS, *OWN_DOORS, *MCP_DOORS, PAGES, *OFFERS, *SHOWN_WITH
    }  # fmt: skip
    assert list(MAY_READ) == list(SHARED)
    assert all(list(row) == PEOPLE for row in (*COMES_IN.values(), *MAY_READ.values()))


ROWS: Mapping[Act, str] = {
    Act.MENTION: "mention",
    Act.FOLLOW_UP: "follow-up",
    Act.DIRECT_MESSAGE: "direct message",
    Act.HOME: "home",
    Act.SUGGESTED_PROMPTS: "suggested prompts",
    Act.SHORTCUT: "shortcut",
    Act.API_ASK: "own token ask",
    Act.API_RETRIEVE: "own token retrieve",
    Act.API_DOCUMENTS: OWN_DOCUMENTS,
    Act.API_SUMMARY: OWN_DOCUMENTS,
    Act.API_CITATIONS: OWN_DOCUMENTS,
    Act.API_ENTITIES: OWN_DOCUMENTS,
    Act.PAGE: PAGES,
    Act.MCP_ASK: "MCP ask",
    Act.MCP_RETRIEVE: "MCP retrieve",
    Act.MCP_DOCUMENT: "MCP document",
}


def test_no_act_is_without_a_row() -> None:
    """Whether a bot's message is an alert says the domain file, and who is an admin."""
    assert set(MAY_DO) == {*Act} - set(ROWS) - {Act.ALERT, Act.ADMINISTER}
    assert all(list(row) == PEOPLE for row in MAY_DO.values())
    assert set(ROWS.values()) <= COMES_IN.keys()
    assert all(f"`{act.value}`" in PAGE for act in (Act.ALERT, Act.ADMINISTER))


LISTENERS: Mapping[str, Act] = {
    "/^(?:checklist_done_\\d+|checklist_take|checklist_finish)$/": Act.CHECKLIST,
    "/^(?:timeline|timeline_markdown|timeline_document)$/": Act.INCIDENT,
    "/^runbook_grade_(?:fixed|short|area|wrong)$/": Act.INCIDENT,
    "/^ask_example_\\d+_\\d+$/": Act.HOME,
    "/^checklist_more_\\d+$/": Act.CHECKLIST,
    "/^(?:rehearsal_show|rehearsal_next|rehearsal_stop)$/": Act.DIRECT_MESSAGE,
    "/^settle_contradiction_\\w+$/": Act.ADMINISTER,
    "alert_snooze": Act.INCIDENT,
    "alert_snooze_end": Act.INCIDENT,
    "alert_snooze_form": Act.INCIDENT,
    "answer_feedback": Act.FEEDBACK,
    "answer_feedback_helpful": Act.FEEDBACK,
    "answer_feedback_unhelpful": Act.FEEDBACK,
    "ask_human": Act.HAND_OFF,
    "checklist_start": Act.CHECKLIST,
    **{
        f"{button}_{number}": Act.OPTION for button in ("clarify", "look_in") for number in range(5)
    },
    "flag_outdated": Act.FLAG,
    "handoff_resolve": Act.HAND_OFF,
    "handoff_take": Act.HAND_OFF,
    "owner_draft_accept": Act.DRAFT,
    "owner_draft_dismiss": Act.DRAFT,
    "owner_draft_edit": Act.DRAFT,
    "owner_draft_preview": Act.DRAFT,
    "ask_copilot": Act.SHORTCUT,
    "checklist_command": Act.CHECKLIST,
    "checklist_report": Act.CHECKLIST,
    "what_changed": Act.INCIDENT,
    "feedback_reason": Act.CORRECTION,
    "flag_outdated_form": Act.FLAG,
    "handoff_resolution": Act.HAND_OFF,
    "owner_draft_reason": Act.DRAFT,
    "owner_draft_words": Act.DRAFT,
    "app_home_opened": Act.HOME,
    "app_mention": Act.MENTION,
    "assistant_thread_context_changed": Act.SUGGESTED_PROMPTS,
    "assistant_thread_started": Act.SUGGESTED_PROMPTS,
    "entity_details_requested": Act.LINK_DETAILS,
    "link_shared": Act.LINK,
    "message": Act.FOLLOW_UP,
    "reaction_added": Act.REACTION,
}


def test_no_listener_is_without_an_act() -> None:
    """Another test holds the list of what the bot listens to; `//` ignores the rest."""
    ids = {one for several in read_json("slack-listeners.json").values() for one in several}
    assert ids - {"//"} == LISTENERS.keys()


@pytest.mark.parametrize("audience", AUDIENCES)
def test_the_gate_decides_each_act_as_the_page_says(works: Works, audience: str) -> None:
    domain = works.copilot.domain(audience)
    for act, row in MAY_DO.items():
        for person, may in row.items():
            # Whoever is not in the channel can't write there.
            written = NEEDS[Act(act)] == "authorship" and person == "elsewhere"
            if act not in BY_HTTP and not written:
                opened = works.bot.gate.open_to(Act(act), ID[person], [domain])
                assert bool(opened) == may, (act, person)


@pytest.mark.parametrize("audience", AUDIENCES)
def test_what_somebody_does_to_an_answer_counts_only_where_the_page_says_so(
    works: Works, audience: str
) -> None:
    """The answer is a member's: in the channel, or where not all of it may read its documents, for
    them alone. Each act comes as the bot stores it, whatever showed the button."""
    ts = post(works, "member", audience, at(works, PAPERS[audience][0].question))
    works.settle()
    question, bot = f"{CHANNELS[audience]}:{ts}", works.bot

    def does(act: str, person: str, **more: Any) -> None:
        item = {"question_id": question, "user": ID[person], **more}
        bot.inbox.put(f"{act}-{question}-{person}", {act: item})

    def allowed(act: str) -> set[str]:
        everybody = {person for person in PEOPLE if MAY_DO[act][person]}
        return {"member"} if audience == "asker" else everybody

    for person in PEOPLE:
        does("feedback", person, verdict="helpful", at="")
        does("correction", person, reason="wrong", words="No.", source="")
        does("flag_outdated", person, number=1, words="Old.")
    does("human", "member")
    works.settle()
    with bot.engine.connect() as connection:
        verdicts = connection.execute(
            select(FeedbackRow.user, FeedbackRow.correction).where(
                FeedbackRow.question_id == question
            )
        ).all()
        flagged = connection.scalars(
            select(FlagRow.flagged_by).where(FlagRow.question_id == question)
        ).all()
    people_of = {user: person for person, user in ID.items()}
    assert {people_of[user] for user, _ in verdicts} == allowed("feedback")
    assert {people_of[user] for user, words in verdicts if words} == allowed("correction")
    assert {people_of[user] for user in flagged} == allowed("flag")
    in_the_thread = {person for person in PEOPLE if MAY_DO["hand_off"][person]}
    for person in sorted(PEOPLE, key=lambda person: person in in_the_thread):
        does("take", person)
        works.settle()
        handoff = bot.handoffs.get(question)
        assert (handoff.taken_by == ID[person]) == (person in in_the_thread)
        bot.handoffs.free(question, ID[person])


@pytest.mark.parametrize("audience", AUDIENCES)
def test_a_conversation_is_shown_to_who_may_ask_and_erased_for_everybody(
    works: Works, audience: str
) -> None:
    """Stored while they could ask there."""
    threads = works.copilot.answers.threads
    for person in PEOPLE:
        who, path = bearer(works.own_tokens[person]), f"/api/conversations/c-{audience}"
        token = hash_of(works.own_tokens[person].encode())[:16]
        for way, key in (("api", token), ("mcp", token), ("api", person)):
            place = json.dumps([way, key, EMAIL.get(person, ""), f"c-{audience}"])
            talk = Conversation(place=place, message=way, asker=EMAIL.get(person, person))
            turn = EarlierTurn(
                id=way, asker=talk.asker, asked=f"{way}, and green?", question="", path="small_talk"
            )
            assert threads.remember(talk, audience, turn) == ""
        reply = works.api.get(path, headers=who)
        assert (reply.status_code == 200) == MAY_DO["api/conversation"][person], person
        assert {f"{way}, and green?" in reply.text for way in ("api", "mcp")} == {
            MAY_DO["api/conversation"][person]
        }
        erased = works.api.delete(path, headers=who).json()["erased"]
        assert erased == MAY_DO["api/conversation/erase"][person]
        assert works.api.get(path, headers=who).status_code == 404
        assert threads.turns_at(place) == [], "stored by the last release, under the token's name"


def test_no_route_is_without_an_act() -> None:
    """Except those that serve the API's own description, figures and probes, and Slack itself."""
    without = {(door.method, door.path) for door in DOORS if not door.acts}
    described = {("GET", "/openapi.json")} | {
        ("GET", door.path) for door in DOORS if door.path.startswith("/docs")
    }
    outside = {(door.method, door.path) for door in DOORS if door.guard not in ("caller", "reader")}
    assert without == described | outside
    by_http = {act for door in DOORS for act in door.acts}
    assert by_http == BY_HTTP
    assert {tool.act for tool in TOOLS} == {act for act in BY_HTTP if act.startswith("mcp/")}
