"""The tools of /mcp, by the official client on a real port."""

from __future__ import annotations

import asyncio
import http.client
import json
import threading
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from mcp.client.streamable_http import StreamableHTTPError
from mcp.shared.exceptions import MCPError
from mcp_types import CallToolResult
from psycopg.errors import AdminShutdown
from sqlalchemy.exc import OperationalError

from agents.answer import Answer, Question
from agents.routing.router import DomainRouter
from agents.steps import Progress, Step
from api.app import build_api
from api.auth.middleware import RequestLimits
from api.auth.tokens import LiveTokens
from config.errors import CopilotError, PeopleUnknown
from index.audit import AuditEntry
from index.permissions.rules import visible_to
from index.pipelines import retrieve
from loaders.document import Permission
from tests.agents.corpus import LAPTOPS, ROTATION, snapshot
from tests.api.front import DOMAINS, INES, Members, NothingStored, Town, bearer, serving
from tests.api.mcp.client import asking_over_http, called_over_http, over_http, said_by
from tests.bot.fakes import Agents, answer

MARTA = "marta@tidewater.example"
PAPERS = snapshot(
    ROTATION, LAPTOPS, permissions={"laptops": (Permission(kind="user", value=INES),)}
)


def found(domain: str, question: str, **more: Any) -> dict[str, Any]:
    readers = more.pop("readers")
    more["top_k"] = more["top_k"] or 4
    return {**retrieve(visible_to(PAPERS, readers), question, **more), "notices": []}


class House:
    """An API whose documents are the same in both domains: one's readers are its askers."""

    def __init__(self, folder: Path) -> None:
        self.town = Town(folder)
        self.agents = Agents()
        self.shown: list[AuditEntry] = []
        self.bounds = RequestLimits()
        self.members = {INES, MARTA}

    def app(self) -> Any:
        members = self.members
        return build_api(
            domains=DOMAINS,
            ask=self.agents,
            retrieve=found,
            snapshot=lambda name: PAPERS,
            answering=DomainRouter(snapshot=lambda name: PAPERS),
            conversations=NothingStored,
            tokens=LiveTokens(self.town.folder),
            audit=lambda shown, domain: self.shown.append(shown),
            bounds=self.bounds,
            directory=Members(lambda email, domain: email in members),
        )

    def of(self, name: str, **rights: Any) -> dict[str, str]:
        return bearer(self.town.token(name, **rights))


@pytest.fixture
def house(tmp_path: Path) -> House:
    return House(tmp_path)


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_an_assistant_asks_and_gets_the_answer_with_its_sources(house: House, mode: str) -> None:
    ines = house.of("ines", identity=INES)

    async def work(client: Client) -> Any:
        return await client.call_tool("ask", {"question": "how old?", "domain": "security"})

    with serving(house.app()) as url:
        result = asking_over_http(url, work, ines, mode)
    given = result.structured_content
    assert not result.is_error
    assert given["answer"] == "Rotate them every 90 days [1]."
    assert given["how"] == "answered from the documents that it cites"
    assert (given["confidence"], given["domain"]) == ("medium", "security")
    assert given["sources"][0]["quote"] == "Signing keys: 90 days"
    assert "[1] Key Rotation Standard › Maximum age https://docs.google.com" in said_by(result)
    shown = house.shown[0]
    assert (shown.door, shown.place, shown.asker) == ("mcp/ask", "ines", INES)
    assert shown.documents["cited"] == ("key-rotation-standard",)


def test_its_tools_say_that_they_only_read_and_which_domains_there_are(house: House) -> None:
    narrow, wide = house.of("narrow", domains=["security"]), house.of("wide")
    with serving(house.app()) as url:
        told = [
            asking_over_http(url, lambda client: client.list_tools(), who).tools
            for who in (narrow, wide)
        ]
    assert [tool.name for tool in told[0]] == ["ask", "retrieve", "document"]
    for tool in told[0]:
        assert tool.annotations is not None
        assert tool.annotations.read_only_hint is True
        assert tool.output_schema is not None
    of_narrow, of_wide = (json.dumps(tools[0].input_schema) for tools in told)
    assert "`security` (Security help)" in of_narrow
    assert "privacy" not in of_narrow
    assert "`privacy` (Privacy help)" in of_wide


def test_what_a_token_does_not_open_is_like_what_does_not_exist(house: House) -> None:
    narrow = house.of("narrow", domains=["security"])
    with serving(house.app()) as url:
        refused = [
            called_over_http(url, "ask", narrow, question="how old?", domain=name)
            for name in ("privacy", "nowhere")
        ]
    assert all(one.is_error for one in refused)
    assert said_by(refused[0]) == said_by(refused[1])
    assert house.agents.asked == []


def test_a_person_s_token_reads_what_that_person_may_read(house: House) -> None:
    ines, marta = house.of("ines", identity=INES), house.of("marta", identity=MARTA)
    with serving(house.app()) as url:
        for who in (ines, marta):
            called_over_http(url, "ask", who, question="how old?", domain="privacy")
        passages = {
            name: called_over_http(url, "retrieve", who, query="screen lock", domain="privacy")
            for name, who in (("ines", ines), ("marta", marta))
        }
        mine = called_over_http(url, "document", ines, document="laptops", domain="privacy")
        closed = called_over_http(url, "document", marta, document="laptops", domain="privacy")
        absent = called_over_http(url, "document", marta, document="lapsang", domain="privacy")
    readers = [one.readers or frozenset() for one in house.agents.asked]
    assert INES in readers[0]
    assert MARTA in readers[1]
    assert "The screen locks after 5 minutes" in said_by(passages["ines"])
    assert "The screen locks" not in said_by(passages["marta"])
    assert "# Laptop Guide" in said_by(mine)
    assert closed.is_error
    assert said_by(closed) == said_by(absent) != ""
    assert [
        (one.door, dict(one.documents)) for one in house.shown if one.door == "mcp/document"
    ] == [("mcp/document", {"listed": ("laptops",)})]


def test_with_slack_a_person_s_token_ends_with_their_membership(house: House) -> None:
    house.members = {INES}
    ines, marta = house.of("ines", identity=INES), house.of("marta", identity=MARTA)
    with serving(house.app()) as url:
        assert not called_over_http(url, "ask", ines, question="how old?").is_error
        refused = called_over_http(url, "ask", marta, question="how old?", domain="security")
        tools = asking_over_http(url, lambda client: client.list_tools(), marta).tools
        document = called_over_http(url, "document", marta, document="key-rotation")
    assert refused.is_error
    assert document.is_error
    assert "There is none that you may use" in json.dumps(tools[0].input_schema)
    assert len(house.agents.asked) == 1


def test_while_slack_cannot_be_asked_an_assistant_is_told_so(house: House) -> None:
    class Away(set[str]):
        def __contains__(self, address: object) -> bool:
            raise PeopleUnknown(7)

    house.members = Away()
    ines = house.of("ines", identity=INES)
    with serving(house.app()) as url:
        refused = called_over_http(url, "ask", ines, question="how old?")
        tools = asking_over_http(url, lambda client: client.list_tools(), ines).tools
    assert refused.is_error
    assert said_by(refused).endswith("may ask; try again in 7 seconds")
    assert "can't be checked now" in json.dumps(tools[0].input_schema)


def test_while_the_database_is_away_an_assistant_is_told_so(house: House) -> None:
    def away(question: Question) -> Answer:
        raise OperationalError("SELECT secret", {}, AdminShutdown())

    house.agents.reply = away
    wide = house.of("wide")
    with serving(house.app()) as url:
        refused = called_over_http(url, "ask", wide, domain="security", question="how old?")
    assert refused.is_error
    assert said_by(refused).startswith("the database can't be asked at the moment")


def test_a_document_comes_by_heading_and_in_pieces(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("api.mcp.tools.LONGEST_PIECE", 200)
    wide = house.of("wide")
    with serving(house.app()) as url:
        one = called_over_http(
            url, "document", wide, document="Key Rotation Standard", heading="when a key leaks"
        )
        none = called_over_http(url, "document", wide, document="key-rotation", heading="Prices")
        text, start = "", 0
        while start is not None:
            piece = called_over_http(url, "document", wide, document="key-rotation", start=start)
            text += piece.structured_content["text"]
            start = piece.structured_content["next_start"]
    assert one.structured_content["text"].startswith(
        "# Key Rotation Standard\n\n## When a key leaks\n\nReport a leaked key"
    )
    assert "60 days" not in said_by(one)
    assert none.is_error
    assert "Maximum age" in said_by(none)
    assert "| Webhook secret | 30 days | 90 days |" in text
    assert "gets no overlap window" in text


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("ask", {}),
        ("ask", {"question": ""}),
        ("ask", {"question": "x" * 8_001}),
        ("ask", {"question": 7}),
        ("ask", {"question": "x", "time_zone": "Mars/Olympus"}),
        ("ask", {"question": "x", "asker_email": INES}),
        ("ask", {"question": "x", "<script>": 1}),
        ("retrieve", {"query": "x", "top_k": 0}),
        ("retrieve", {"query": "x", "top_k": 10_000}),
        ("retrieve", {"query": "x", "search_type": "psychic"}),
        ("document", {"document": "x", "start": -1}),
        ("document", {"document": "../../etc/passwd"}),
    ],
)
def test_what_makes_no_sense_is_answered_in_a_line(
    house: House, tool: str, arguments: dict[str, Any]
) -> None:
    wide = house.of("wide")
    with serving(house.app()) as url:
        result = asking_over_http(url, lambda client: client.call_tool(tool, arguments), wide)
    assert result.is_error
    said = said_by(result)
    assert 0 < len(said.splitlines()) < 2
    assert "script" not in said
    assert "pydantic" not in said
    assert house.agents.asked == []


def test_a_tool_that_is_not_there_is_an_error_of_the_protocol(house: House) -> None:
    wide = house.of("wide")
    with serving(house.app()) as url, pytest.raises(MCPError, match="no such tool"):
        called_over_http(url, "delete", wide)


@pytest.mark.parametrize("headers", [{}, bearer("oncall_wrong")])
def test_nobody_comes_in_without_a_token(house: House, headers: dict[str, str]) -> None:
    house.of("wide")
    with serving(house.app()) as url, pytest.raises((MCPError, StreamableHTTPError)):
        called_over_http(url, "ask", headers, question="how old?")
    assert house.agents.asked == []


CALL = json.dumps({
    "jsonrpc": "2.0", "id": 1, "method": "tools/call",
    "params": {"name": "ask", "arguments": {"question": "how old?"}},
})  # fmt: skip


def posted(
    url: str, *, path: str = "/mcp", method: str = "POST", body: str = CALL, **headers: str
) -> tuple[int, str]:
    """A request as no SDK would make it: status and body of the reply."""
    host, _, port = url.removeprefix("http://").partition(":")
    connection = http.client.HTTPConnection(host, int(port), timeout=30)
    try:
        sent = {
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
            "MCP-Protocol-Version": "2025-11-25",
        }
        connection.request(method, path, body, sent | headers)
        reply = connection.getresponse()
        return reply.status, reply.read().decode()
    finally:
        connection.close()


def test_it_is_guarded_as_every_door_of_the_api_is(house: House) -> None:
    token = house.town.token("wide")
    with serving(house.app()) as url:
        good = posted(url, Authorization=f"Bearer {token}")
        in_the_address = posted(url, path=f"/mcp?token={token}&access_token={token}")
        page = posted(url, Authorization=f"Bearer {token}", Origin="https://evil.example")
        long = posted(url, Authorization=f"Bearer {token}", body=json.dumps("x" * 300_000))
        junk = posted(url, Authorization=f"Bearer {token}", body='{"a":')
        methods = [
            posted(url, method=method, Authorization=f"Bearer {token}")[0]
            for method in ("GET", "DELETE", "PUT")
        ]
    assert good[0] == 200
    assert "Rotate them every 90 days" in good[1]
    assert in_the_address[0] == 401
    assert token not in in_the_address[1]
    assert (page[0], long[0], junk[0]) == (403, 413, 400)
    assert methods == [405, 405, 405]
    assert len(house.agents.asked) == 1


def test_a_token_may_ask_so_often_and_no_oftener(house: House) -> None:
    house.bounds = RequestLimits(per_minute=3)
    token = house.town.token("wide")
    with serving(house.app()) as url:
        states = [posted(url, Authorization=f"Bearer {token}")[0] for _ in range(4)]
    assert states == [200, 200, 200, 429]


def failed_by(house: House, error: Exception) -> CallToolResult:
    """What a question comes to whose agents raise this."""

    def fails(question: Question) -> Answer:
        raise error

    wide = house.of("wide")
    house.agents.reset(fails)
    with serving(house.app()) as url:
        result = called_over_http(url, "ask", wide, question="how old?", domain="security")
    assert result.is_error
    return result


def test_a_failure_is_a_reference_to_the_log_and_nothing_from_inside(house: House) -> None:
    result = failed_by(house, CopilotError("the database at 10.0.0.7 is away"))
    assert "can't be answered just now (reference " in said_by(result)
    assert "10.0.0.7" not in said_by(result)


def test_a_bug_is_told_no_better(house: House) -> None:
    result = failed_by(house, KeyError("secret word"))
    assert "secret word" not in said_by(result)
    assert "something went wrong (reference " in said_by(result)


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_what_is_done_is_told_while_it_is_done(house: House, mode: str) -> None:
    """But not where how many documents there are depends on who asks."""
    wide = house.of("wide")
    house.agents.tell = lambda progress: progress.step(Step.SEARCH, "Searching 2 documents…")
    told: dict[str, list[str | None]] = {"security": [], "privacy": []}

    async def work(client: Client) -> None:
        for domain, heard in told.items():

            async def hear(
                done: float, total: float | None, text: str | None, heard: Any = heard
            ) -> None:
                heard.append(text)

            asked = {"question": "how old?", "domain": domain}
            await client.call_tool("ask", asked, progress_callback=hear)

    with serving(house.app()) as url:
        asking_over_http(url, work, wide, mode)
    assert told == {"security": ["Searching 2 documents…"], "privacy": []}


def test_an_assistant_that_leaves_ends_the_work(house: House) -> None:
    wide = house.of("wide")
    began, ended = threading.Event(), threading.Event()

    def tell(progress: Progress) -> None:
        began.set()
        try:
            while True:
                progress.delta("")
                ended.wait(0.01)
        except BaseException:
            ended.set()
            raise

    house.agents.tell = tell

    async def leave(url: str) -> None:
        async with over_http(url, wide) as client:
            asking = asyncio.create_task(client.call_tool("ask", {"question": "how old?"}))
            await asyncio.to_thread(began.wait, 30)
            asking.cancel()
            await asyncio.gather(asking, return_exceptions=True)
            assert await asyncio.to_thread(ended.wait, 30)
            house.agents.tell = lambda progress: None
            after = await client.call_tool("ask", {"question": "and now?", "domain": "security"})
            assert not after.is_error

    with serving(house.app()) as url:
        asyncio.run(leave(url))


def test_a_conversation_is_one_asker_s_own(house: House) -> None:
    ines, marta = house.of("ines", identity=INES), house.of("marta", identity=MARTA)
    asked = {"question": "and then?", "domain": "security", "conversation_id": "c-17"}
    with serving(house.app()) as url:
        for who in (ines, ines, marta):
            called_over_http(url, "ask", who, **asked)
        called_over_http(url, "ask", ines, question="how old?", domain="security")
    talks = [one.conversation for one in house.agents.asked]
    assert talks[-1] is None
    places = [talk.place for talk in talks[:3] if talk]
    assert places[0] == places[1] != places[2]
    assert [talk.asker for talk in talks[:3] if talk] == [INES, INES, MARTA]


def test_a_refusal_says_that_it_is_one(house: House) -> None:
    wide = house.of("wide")
    house.agents.reset(
        answer("The documents don't say.", path="no_answer_found", citations=(),
               nearest=answer().citations)
    )  # fmt: skip
    with serving(house.app()) as url:
        result = called_over_http(url, "ask", wide, question="how old?", domain="security")
    assert not result.is_error
    assert result.structured_content["confidence"] == "none"
    assert "not answered: the documents don't say" in said_by(result)
    assert house.shown[0].documents["nearest"] == ("key-rotation-standard",)
