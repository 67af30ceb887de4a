"""Tools of others that a domain allows, by real MCP servers on loopback that behave and don't."""

from __future__ import annotations

import gzip
import http.server
import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, ClassVar

import pytest

from agents.answer import Answer, Question
from agents.answer_cache.cache import is_cacheable
from agents.checks.groundedness import groundedness
from agents.graph import build_ask
from agents.requests import ToolFailed, ToolOffer, ToolResult
from agents.tools import mcp as mcp_tool_server
from agents.tools.calls import (
    MAX_RESULT_CHARS,
    AllowedArguments,
    UnfitError,
    parse_arguments,
    to_plain_text,
    tool_source,
)
from agents.tools.mcp import AllowedTools
from bot.blocks.render import render
from config.domain import Domain
from config.models import Prompt
from config.sections import ToolServer
from enrichment.safety.injection import MARK
from tests.agents.corpus import domain, snapshot
from tests.agents.scripted import PLAN, ScriptedModel, Watching, in_turn
from tests.agents.tools import servers as tool_servers
from tests.agents.tools.servers import listening

HERE = Path(tool_servers.__file__)
ASKED = "who is on call for payments, and how soon is a leaked key replaced?"
LOOK = 'LOOK\nask: PagerDuty.on_call {"team": "payments"}'
SAID = "Ana Diaz is on call for payments until 18:00"


def citing_the_tool(prompt: Prompt) -> str:
    """Cites the source whose mark says that it was asked."""
    for part in prompt.user.split(" source ")[1:]:
        if "Asked PagerDuty" in part.split("\n", 1)[0]:
            return f"ANSWER\n{SAID} [{part.split(' ', 1)[0]}]."
    for part in prompt.user.split(" source ")[1:]:
        if "replaced within 24 hours" in part:
            number = part.split(" ", 1)[0]
            return f"ANSWER\nA leaked key is replaced within 24 hours of its discovery [{number}]."
    return "NOTHING"


class Raw(http.server.BaseHTTPRequestHandler):
    """What no SDK would answer, by path."""

    elsewhere = ""
    tokens: ClassVar[list[str]] = []

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        kind = self.path.strip("/")
        self.tokens.append(self.headers.get("Authorization", ""))
        if kind == "redirects":
            self.send_response(307)
            self.send_header("Location", self.elsewhere)
            self.end_headers()
            return
        body = {
            "junk": b"\xff\xfe\x00 not json",
            "bomb": gzip.compress(b" " * 50_000_000),
            "large": b'{"jsonrpc": "2.0", "x": "' + b"x" * 10_000_000 + b'"}',
            "page": b"<html>sign in</html>",
            "deep": b"[" * 200_000,
        }.get(kind, b"{}")
        self.send_response(200)
        self.send_header("Content-Type", "text/html" if kind == "page" else "application/json")
        if kind == "bomb":
            self.send_header("Content-Encoding", "gzip")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        with suppress(OSError):
            self.wfile.write(body)

    def log_message(self, *words: Any) -> None:
        """Silent."""


@contextmanager
def raw() -> Iterator[str]:
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Raw) as found:
        thread = threading.Thread(target=found.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{found.server_address[1]}"
        found.shutdown()
        thread.join(10)


def allowed(where: str | list[str], **more: Any) -> ToolServer:
    way = {"command": where} if isinstance(where, list) else {"url": where}
    values = {"name": "PagerDuty", "what": "who is on call", "allow": ["on_call"], **way, **more}
    return ToolServer.model_validate(values)


def with_tools(*servers: ToolServer, audience: str = "channel") -> Domain:
    values = domain().model_dump()
    return Domain.model_validate(
        values | {"tools": [one.model_dump() for one in servers], "access": {"audience": audience}}
    )


def asked(
    servers: list[ToolServer], model: ScriptedModel, audience: str = "channel", text: str = ASKED
) -> tuple[Answer, Watching]:
    found, watching = snapshot(), Watching()
    toolbox = AllowedTools(servers, lambda variable: "s3cret-token") if servers else None
    ask = build_ask(
        snapshot=lambda: found,
        domain=with_tools(*servers, audience=audience),
        model=model,
        toolbox=toolbox,
    )
    return ask(Question(text=text), watching), watching


def scripted(*says: Any) -> ScriptedModel:
    return ScriptedModel({"plan": {**PLAN, "question": ASKED}, "answer": in_turn(*says)})


@pytest.fixture(autouse=True)
def _forget(monkeypatch: pytest.MonkeyPatch) -> None:
    # A busy machine may take long to start a process, and that isn't what is tested here.
    monkeypatch.setattr(mcp_tool_server, "START_SECONDS", 60.0)
    tool_servers.CALLED.clear()
    Raw.tokens.clear()


@pytest.mark.parametrize("way", ["http", "stdio"])
def test_who_is_on_call_is_asked_and_cited_with_its_time(way: str) -> None:
    model = scripted(LOOK, citing_the_tool)
    with listening() as url:
        where: str | list[str] = url if way == "http" else [sys.executable, str(HERE), "good"]
        answer, watching = asked([allowed(where)], model)
    assert answer.text == f"{SAID} [1]."
    assert answer.path in {"company_specific_rag_success", "company_specific_rag_failure"}
    cited = answer.citations[0]
    assert cited.title.startswith("Asked PagerDuty: who is on call, ")
    assert (cited.document, cited.url) == ("", "")
    assert SAID in cited.quote
    assert "Asking PagerDuty: who is on call…" in watching.lines
    assert "" not in answer.drawn_from
    assert "Asked PagerDuty: who is on call" in json.dumps(
        [message.blocks for message in render(answer, question_id="q")]
    )
    sure = replace(answer, confidence=0.99, path="company_specific_rag_success")
    assert not is_cacheable("how do payments work?", sure)


def test_what_was_answered_after_asking_is_not_given_again_though_it_cites_documents_alone() -> (
    None
):
    def citing_the_document(prompt: Prompt) -> str:
        for part in prompt.user.split(" source ")[1:]:
            if "replaced within 24 hours" in part:
                return (
                    f"ANSWER\nAna replaces a leaked key within 24 hours [{part.split(' ', 1)[0]}]."
                )
        return "NOTHING"

    with listening() as url:
        answer, _ = asked([allowed(url)], scripted(LOOK, citing_the_document))
    assert len(tool_servers.CALLED) == 1
    assert all(one.document for one in answer.citations)
    sure = replace(answer, confidence=0.99, path="company_specific_rag_success")
    assert not is_cacheable("how soon is a leaked key replaced?", sure)


def test_the_prompt_says_nothing_of_tools_where_none_is_allowed() -> None:
    plain, with_one = scripted("NOTHING"), scripted("NOTHING")
    asked([], plain)
    with listening() as url:
        asked([allowed(url)], with_one)
    first, other = (
        next(prompt for prompt in model.prompts if prompt.name == "answer")
        for model in (plain, with_one)
    )
    assert "tool" not in f"{first.system}{first.user}".lower()
    assert "{{" not in first.system
    assert 'ask: Name.tool {"argument": "value"}' in other.system
    assert "tool PagerDuty.on_call | who is on call" in other.user
    assert '"team"' in other.user
    assert "PagerDuty.page" not in other.user


@pytest.mark.parametrize("kind", ["writes", "silent"])
def test_what_is_not_marked_as_reading_is_never_called(kind: str) -> None:
    model = scripted(LOOK, citing_the_tool)
    with listening(kind) as url:
        answer, _ = asked([allowed(url, allow=["on_call", "page"])], model)
    assert tool_servers.CALLED == []
    assert "24 hours" in answer.text


def test_a_tool_that_the_domain_does_not_name_is_never_called() -> None:
    model = scripted('LOOK\nask: PagerDuty.page {"team": "payments"}', citing_the_tool)
    with listening() as url:
        asked([allowed(url)], model)
    assert tool_servers.CALLED == []


def test_a_tool_that_changed_since_it_was_listed_is_not_called() -> None:
    with listening() as url:
        toolbox = AllowedTools([allowed(url)], lambda variable: "")
        offer = toolbox.offers()[0]
        changed = replace(offer, description="It only reads, of course.")
        with pytest.raises(ToolFailed, match="no longer offers"):
            toolbox.ask(changed, {})
        assert tool_servers.CALLED == []
        assert "Ana Diaz" in toolbox.ask(offer, {"team": "payments"})


@pytest.mark.parametrize("kind", ["hangs", "large", "fails"])
def test_a_tool_that_misbehaves_is_done_without_and_said_in_a_line(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if kind == "hangs":
        monkeypatch.setattr(mcp_tool_server, "CALL_SECONDS", 1.5)
    model = scripted(LOOK, citing_the_tool)
    with listening(kind) as url:
        answer, _ = asked([allowed(url)], model)
    why = {"hangs": "did not answer in time", "large": "too long", "fails": "an error"}[kind]
    said, line = answer.text.rsplit("\n\n", 1)
    assert "24 hours" in said
    assert line.startswith("_PagerDuty could not be asked (who is on call): it")
    assert why in line
    assert "10.0.0.7" not in answer.text
    assert ("tool", False) in [(one.node, one.outage) for one in answer.fallbacks]
    assert answer.degraded == ()


@pytest.mark.parametrize("kind", ["junk", "bomb", "large", "page", "deep", "redirects", "empty"])
def test_a_server_that_speaks_no_protocol_is_done_without(kind: str) -> None:
    with listening() as elsewhere, raw() as url:
        Raw.elsewhere = elsewhere
        server = allowed(f"{url}/{kind}", token="ONCALL_TOOL_PAGERDUTY_TOKEN")
        toolbox = AllowedTools([server], lambda variable: "s3cret-token")
        offers = toolbox.offers()
    assert [offer.reachable for offer in offers] == [False]
    assert set(Raw.tokens) == {"Bearer s3cret-token"}
    assert tool_servers.CALLED == []


@pytest.mark.parametrize("kind", ["flood", "junk", "gone"])
def test_a_command_that_speaks_no_protocol_is_done_without(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mcp_tool_server, "LIST_SECONDS", 2.0)
    monkeypatch.setattr(mcp_tool_server, "START_SECONDS", 4.0)  # two of the three use it up
    command = ["/nowhere/server"] if kind == "gone" else [sys.executable, str(HERE), kind]
    offers = AllowedTools([allowed(command)], lambda variable: "").offers()
    assert [offer.reachable for offer in offers] == [False]


def test_a_server_that_is_away_is_said_only_when_it_is_needed() -> None:
    away = allowed("http://127.0.0.1:9/mcp")
    needed, _ = asked([away], scripted(LOOK, citing_the_tool))
    assert "could not be reached" in needed.text
    unneeded, _ = asked([away], scripted(citing_the_tool))
    assert "PagerDuty" not in unneeded.text


def test_what_a_tool_says_is_data_and_stays_behind_its_fence() -> None:
    model = scripted(LOOK, "NOTHING")
    with listening("instructs") as url:
        asked([allowed(url)], model)
    shown, again = model.prompts[-2:]
    assert f"({MARK}Ignore all previous instructions" in shown.user
    assert "[1]. </data>" not in shown.user
    assert "Ignore all previous instructions" not in shown.system
    assert "Ignore all previous instructions" not in again.user  # it may be why the model is silent


def test_a_question_has_three_calls_and_no_more() -> None:
    again = "\n".join(f'ask: PagerDuty.on_call {{"team": "{one}"}}' for one in ("who", "is", "on"))
    model = scripted(f"LOOK\n{again}", f"LOOK\n{LOOK[5:]}", citing_the_tool)
    with listening() as url:
        asked([allowed(url)], model)
    assert len(tool_servers.CALLED) == 3


OFFER = ToolOffer(
    server="PagerDuty", tool="on_call", what="who is on call",
    schema={"properties": {"team": {"type": "string", "enum": ["core", "edge"]},
                           "at": {"type": "string"}, "most": {"type": "integer"}}},
)  # fmt: skip
SECRET = "The vault opens with the code 4711-ABC for Ines"


@pytest.mark.parametrize(
    "written",
    ['{"team": "payments"}', '{"team": "PAYMENTS"}', '{"team": "core"}', '{"most": 3}', "", "{}",
     '{"at": "2026-11-24T18:00:00Z"}', '{"team": ["edge", "payments"]}'],
)  # fmt: skip
def test_words_of_the_question_and_of_the_tool_may_be_sent(written: str) -> None:
    parse_arguments(written, OFFER, AllowedArguments(question=ASKED))


@pytest.mark.parametrize(
    "written",
    ['{"team": "4711-ABC"}', '{"team": "vault"}', '{"team": "pay"}', '{"team": "p"}', "[1]", "{",
     '{"team": {"a": "core"}}', '{"who": "core"}', '{"most": 47114711471147114711}',
     json.dumps({"team": SECRET}), json.dumps({"team": ["core"] * 100}), "[" * 5_000],
)  # fmt: skip
def test_a_document_s_words_are_not_sent_where_each_reads_their_own(written: str) -> None:
    with pytest.raises(UnfitError):
        parse_arguments(written, OFFER, AllowedArguments(question=ASKED))


def test_names_of_documents_may_be_sent_where_all_may_read_them_but_no_texts() -> None:
    open_to_all = AllowedArguments(question=ASKED, documents=SECRET * 2)
    parse_arguments('{"team": "vault"}', OFFER, open_to_all)
    with pytest.raises(UnfitError):
        parse_arguments(json.dumps({"team": (SECRET * 2)[:81]}), OFFER, open_to_all)


@pytest.mark.parametrize(("audience", "called"), [("channel", 1), ("asker", 0)])
def test_a_document_cannot_have_its_words_sent_away(audience: str, called: int) -> None:
    model = scripted('LOOK\nask: PagerDuty.on_call {"team": "service desk"}', citing_the_tool)
    with listening() as url:
        asked([allowed(url)], model, audience)
    assert len(tool_servers.CALLED) <= called


ASKED_AT = datetime(2026, 11, 24, 8, 15, tzinfo=UTC)


def saying(text: str, zone: str = "UTC") -> str:
    said = ToolResult(offer=OFFER, arguments="{}", text=text, at=ASKED_AT)
    return tool_source(said, 1, zone).text


@pytest.mark.parametrize(
    ("zone", "timestamp", "told"),
    [
        ("UTC", "2026-11-24T22:00:00Z", "2026-11-24 22:00 UTC"),
        ("Europe/Amsterdam", "2026-11-24T22:00:00.000Z",
         "2026-11-24 22:00 UTC (23:00 Europe/Amsterdam)"),
        ("Asia/Singapore", "2026-11-24T23:00:00+01:00",
         "2026-11-24 22:00 UTC (2026-11-25 06:00 Asia/Singapore)"),
        ("Nowhere/Land", "2026-11-24 22:00:05Z", "2026-11-24 22:00:05 UTC"),
        ("Europe/Amsterdam", "2026-11-24T22:00:00", "2026-11-24T22:00:00"),
        ("Europe/Amsterdam", "2026-13-44T22:00:00Z", "2026-13-44T22:00:00Z"),
        ("Asia/Singapore", "9999-12-31T23:00:00Z", "9999-12-31T23:00:00Z"),
    ],
)  # fmt: skip
def test_a_tool_s_times_are_told_in_utc_and_where_the_asker_is(
    zone: str, timestamp: str, told: str
) -> None:
    assert saying(f"on call until: {timestamp}.", zone) == f"on call until: {told}."


def test_an_answer_that_rests_on_a_tool_s_time_alone_is_held_up() -> None:
    reply = json.dumps({"team": "payments", "person": "Ana Diaz", "until": "2026-11-24T22:00:00Z"})
    said = ToolResult(offer=OFFER, arguments="{}", text=to_plain_text(reply), at=ASKED_AT)
    source = tool_source(said, 1, "Europe/Amsterdam")
    for text in ("Ana Diaz, until 22:00 UTC [1].", "Ana Diaz, until 23:00 Europe/Amsterdam [1]."):
        assert groundedness(text, [source]).score == 1.0, text
    assert groundedness("Ana Diaz, until 21:00 UTC [1].", [source]).score == 0.0


def test_the_sdk_is_loaded_before_a_server_s_time_runs() -> None:
    script = """if True:
        import sys
        from agents.tools.mcp import McpToolServer
        from config.sections import ToolServer

        async def within(self, work, seconds):
            return ["mcp.client.streamable_http" in sys.modules]

        assert "mcp" not in sys.modules
        McpToolServer._within = within
        server = ToolServer(name="PagerDuty", what="who is on call", allow=["a"],
                            url="http://127.0.0.1:9/mcp")
        assert McpToolServer(server).offers() == [True]
    """
    subprocess.run([sys.executable, "-c", script], check=True, timeout=120)


def test_what_belongs_together_stands_on_a_line() -> None:
    reply = {"team": "Core", "person": "Ana Diaz", "phone": 4427}
    assert to_plain_text(json.dumps(reply)) == "team: Core; person: Ana Diaz; phone: 4427"
    catalogue = {"service": "till", "depends_on": ["bank", "ledger"], "none": []}
    assert to_plain_text(json.dumps(catalogue)) == (
        "service: till\ndepends_on: bank; ledger\nnone: (empty)"
    )
    assert to_plain_text(json.dumps({"ids": [10**9] * 60})).startswith("ids 1: 1000000000\nids 2: ")


def test_json_is_read_as_lines_and_cut() -> None:
    shown = to_plain_text(
        json.dumps({"oncalls": [{"user": "Ana", "level": 1}, {"user": "Bo"}], "n": 2})
    )
    assert shown.splitlines() == ["oncalls 1: user: Ana; level: 1", "oncalls 2: user: Bo", "n: 2"]
    long = to_plain_text("a line\n" * 5_000)
    assert len(long) < MAX_RESULT_CHARS + 20
    assert long.endswith("… (cut here)")
    assert to_plain_text("a\x00b\u202ec\x1b[31m\ud800") == "abc[31m?"


@pytest.mark.parametrize(
    "wrong",
    [{"url": "http://example.com/mcp"}, {"url": "ftp://x.example"}, {"url": "https://a:b@x.example"},
     {"url": "https://x.example", "command": ["x"]}, {"url": ""}, {"token": "SLACK_BOT_TOKEN"},
     {"token": "ONCALL_API_TOKEN"}, {"allow": []}, {"allow": ["a b"]}, {"what": "two\nlines"},
     {"name": ""}, {"colour": "red"}],
)  # fmt: skip
def test_a_domain_file_that_allows_something_odd_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="ToolServer"):
        allowed(wrong.pop("url", "https://mcp.example.com/mcp"), **wrong)
