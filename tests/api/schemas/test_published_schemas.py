"""Requests in the shapes that are published, to real agents over a small index, without a model."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from fastapi.testclient import TestClient
from langchain_core.documents import Document
from pydantic import SecretStr

from api.auth.tokens import create_token
from bot.features.registry import FEATURE_TABLES
from bot.privacy.personal_data import PersonalData
from config.errors import StorageFailed
from config.settings import Settings
from oncall import Copilot
from playground.openai_stand_in import ModelFault, OpenAIStandIn
from playground.openai_stand_in import Request as ModelRequest
from tests.api.front import api, bearer, elsewhere, here
from tests.bot.fakes import Agents

DOMAIN = """\
domain: tea
title: Tea help
sources: {files: [tea.md]}
glossary: {OT: [oolong tea]}
"""
TEA = """\
# Tea

## How long each tea steeps

| Tea | Minutes | Water |
|---|---|---|
| black tea | 4 minutes | 96 degrees |
| green tea | 2 minutes | 78 degrees |
| oolong tea | 3 minutes | 89 degrees |
"""
BLACK = "how many minutes does black tea steep?"
KEY = SecretStr("scripted")
QNA, RETRIEVE = "/api/agentic_qna", "/api/retrieve"
FIELDS = {
    "agent_path_taken", "answer", "cache_similarity", "cached", "confidence_score", "sources",
    "captions", "degraded", "notices", "conversation_id", "workflow_id", "original_path",
}  # fmt: skip


def wired(folder: Path, **more: Any) -> Copilot:
    (folder / "domains").mkdir()
    (folder / "domains" / "tea.yaml").write_text(DOMAIN)
    (folder / "domains" / "tea.md").write_text(TEA)
    settings = Settings(_env_file=None, config_dir=folder, data_dir=folder / "var", **more)
    copilot = Copilot(settings)
    assert copilot.ingest("tea").failed == ()
    return copilot


@pytest.fixture(scope="module")
def copilot(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Copilot]:
    made = wired(tmp_path_factory.mktemp("tea"))
    yield made
    made.index.close()


@pytest.fixture
def client(copilot: Copilot) -> TestClient:
    return here(copilot.api(slack=False))


def ask(client: TestClient, query: str, **more: Any) -> dict[str, Any]:
    reply = client.post(QNA, json={"query": query, **more})
    assert reply.status_code == 200, reply.text
    return dict(reply.json())


def words(text: str) -> str:
    """Without what is bold or escaped."""
    return text.replace("*", "")


def find(client: TestClient, query: str, **more: Any) -> dict[str, Any]:
    reply = client.post(RETRIEVE, json={"query": query, **more})
    assert reply.status_code == 200, reply.text
    return dict(reply.json())


@pytest.mark.parametrize("role", ["agent", "assistant"])
def test_what_an_agent_said_before_is_taken_by_either_name(client: TestClient, role: str) -> None:
    said = [{"role": "user", "content": BLACK}, {"role": role, "content": "4 minutes."}]
    body = ask(client, "and green?", conversation_history=said)
    assert body.keys() == FIELDS
    assert "green tea — Minutes: 2 minutes" in words(body["answer"])
    assert body["sources"][0].keys() == {"content", "page_number", "source", "type", "url"}


def test_each_source_has_its_caption_with_the_question_s_words_marked(client: TestClient) -> None:
    body = ask(client, BLACK)
    assert [one["url"] for one in body["captions"]] == [one["url"] for one in body["sources"]]
    first = body["captions"][0]
    assert (first["number"], first["source"]) == (1, "tea.md")
    assert first["text"] == body["sources"][0]["content"]
    assert "**black** **tea**" in first["highlights"]
    assert first["highlights"].replace("**", "") == first["text"]


def test_a_conversation_goes_on_by_its_id_alone(client: TestClient) -> None:
    ask(client, BLACK, conversation_id="by-id")
    green = ask(client, "and green?", conversation_id="by-id")
    assert "green tea — Minutes: 2 minutes" in words(green["answer"])
    streamed = client.post(
        QNA, json={"query": "and oolong?", "conversation_id": "by-id", "stream": True}
    )
    assert "oolong tea — Minutes: 3 minutes" in words(streamed.text)
    # Under an id that nothing is kept of, a conversation begins.
    unknown = ask(client, "and green?", conversation_id="new")
    assert unknown["conversation_id"] == "new"
    kept = client.get("/api/conversations/by-id").json()
    assert [turn["query"] for turn in kept["turns"]] == [BLACK, "and green?", "and oolong?"]
    assert {turn["domain"] for turn in kept["turns"]} == {"tea"}
    assert "minutes" not in str(kept["turns"][1:])


def test_a_conversation_is_erased_and_begins_anew(client: TestClient) -> None:
    ask(client, BLACK, conversation_id="gone")
    path = "/api/conversations/gone"
    assert client.delete(path).json() == {"erased": True}
    assert client.delete(path).json() == {"erased": False}
    assert client.get(path).status_code == 404
    ask(client, "and green?", conversation_id="gone")
    assert [one["query"] for one in client.get(path).json()["turns"]] == ["and green?"]


@pytest.mark.parametrize("name", ["team/42", "a b?c#d", "../x", "50%", "ümlaut/é", "."])
def test_whatever_its_name_a_conversation_is_shown_and_erased(
    client: TestClient, name: str
) -> None:
    ask(client, BLACK, conversation_id=name)
    path = f"/api/conversations/{quote(name, safe='').replace('.', '%2E')}"
    assert client.get(path).json()["conversation_id"] == name
    assert client.delete(path).json() == {"erased": True}


def test_a_conversation_over_mcp_is_shown_and_erased_as_well(tmp_path: Path) -> None:
    copilot, path = wired(tmp_path), "/api/conversations/c1"
    hers, other = (
        create_token(tmp_path, name, identity=f"{name}@tea.example") for name in ("hers", "other")
    )
    params = {"name": "ask", "arguments": {"question": BLACK, "conversation_id": "c1"}}
    with elsewhere(copilot.api(slack=False), headers=bearer(hers)) as client:
        call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        accept = {"Accept": "application/json, text/event-stream"}
        assert client.post("/mcp", json=call, headers=accept).status_code == 200
        ask(client, "and oolong?", conversation_id="c1")
        queries = [turn["query"] for turn in client.get(path).json()["turns"]]
        assert sorted(queries) == ["and oolong?", BLACK]
        assert client.get(path, headers=bearer(other)).status_code == 404
        assert client.delete(path, headers=bearer(other)).json() == {"erased": False}
        assert client.delete(path).json() == {"erased": True}
        assert client.get(path).status_code == 404
    copilot.index.close()


def test_of_a_long_conversation_the_last_questions_are_kept(client: TestClient) -> None:
    for number in range(14):
        ask(client, f"how many minutes does tea {number} steep?", conversation_id="long")
    turns = client.get("/api/conversations/long").json()["turns"]
    assert [turn["query"].split()[5] for turn in turns] == [str(n) for n in range(2, 14)]


def test_however_an_address_is_written_what_is_kept_of_its_person_is_found(tmp_path: Path) -> None:
    copilot = wired(tmp_path)
    hers = create_token(tmp_path, "hers", identity="Ines@Tea.Example")
    client = elsewhere(copilot.api(slack=False))
    asked = {"query": BLACK, "conversation_id": "c1"}
    assert client.post(QNA, json=asked, headers=bearer(hers)).status_code == 200
    data = PersonalData(
        engine=copilot.index.engine, features=FEATURE_TABLES, audit=copilot.audit, inbox=None
    )
    held = data.export("U0INES", "INES@tea.example")
    assert [turn["asked"] for turn in held["threads"]] == [BLACK]
    assert len(held["shown"]) == 1
    assert data.erase("U0INES", "INES@tea.example").threads == 1
    assert client.get("/api/conversations/c1", headers=bearer(hers)).status_code == 404


def test_nobody_else_s_conversation_is_shown_or_erased(tmp_path: Path) -> None:
    copilot = wired(tmp_path)
    desk = create_token(tmp_path, "desk", speaks_for_people=True)
    other = create_token(tmp_path, "other", speaks_for_people=True)
    alone = create_token(tmp_path, "alone")
    client = elsewhere(copilot.api(slack=False))
    ines, dana = {"asker_email": "ines@tea.example"}, {"asker_email": "dana@tea.example"}
    asked = {"query": BLACK, "conversation_id": "c1", **ines}
    assert client.post(QNA, json=asked, headers=bearer(desk)).status_code == 200
    path = "/api/conversations/c1"
    for token, who in ((desk, dana), (desk, {}), (other, ines), (alone, {})):
        assert client.get(path, params=who, headers=bearer(token)).status_code == 404
        erased = client.delete(path, params=who, headers=bearer(token))
        assert erased.json() == {"erased": False}
    # Not everybody may name somebody else.
    assert client.get(path, params=ines, headers=bearer(alone)).status_code == 403
    assert client.delete(path, params=ines, headers=bearer(alone)).status_code == 403
    assert client.get(path, params=ines, headers=bearer(desk)).status_code == 200
    assert client.delete(path, params=ines, headers=bearer(desk)).json() == {"erased": True}
    copilot.index.close()


def test_when_nobody_can_tell_what_is_kept_that_is_said() -> None:
    class Away:
        def turns_at(self, place: str) -> list[dict[str, Any]]:
            raise StorageFailed("what is kept of conversations is out of reach")

        def erase(self, place: str) -> bool:
            raise StorageFailed("what is kept of conversations is out of reach")

    client = here(api(Agents(), conversations=Away))
    for method in ("GET", "DELETE"):
        reply = client.request(method, "/api/conversations/c1")
        assert (reply.status_code, "out of reach" in reply.text) == (503, True)


def test_a_delete_without_a_body_is_taken_and_one_with_junk_is_not(client: TestClient) -> None:
    path = "/api/conversations/c9"
    assert client.delete(path).status_code == 200
    junk = client.request("DELETE", path, content=b"{{", headers={"Content-Type": "text/plain"})
    assert junk.status_code == 415
    assert client.request("DELETE", path, content=iter([b"{{"])).status_code == 415


@pytest.mark.parametrize(
    ("path", "more", "nearest"),
    [
        (QNA, {"conversationid": "c"}, "conversation_id"),
        (QNA, {"conversationHistory": []}, "conversation_history"),
        (RETRIEVE, {"enable_reranking": True}, "enable_rerank"),
        (RETRIEVE, {"Hyde": True}, "hyde"),
        (RETRIEVE, {"searchType": "vector"}, "search_type"),
    ],
)
def test_an_unknown_key_is_refused_with_the_nearest(
    client: TestClient, path: str, more: dict[str, Any], nearest: str
) -> None:
    reply = client.post(path, json={"query": "x", **more})
    assert reply.status_code == 422
    assert f"did you mean '{nearest}'?" in reply.json()["detail"][0]["problem"]
    assert not set(more) & set(reply.text.replace(nearest, "").split("'"))


def test_an_unknown_key_of_a_message_is_refused_where_it_stands(client: TestClient) -> None:
    said = [{"role": "user", "contents": "x"}]
    reply = client.post(QNA, json={"query": "x", "conversation_history": said})
    assert reply.json()["detail"] == [
        {
            "where": "body.conversation_history.0",
            "problem": "unknown key; did you mean 'content'?",
        }
    ]


def test_what_search_finds_goes_by_the_search_type(client: TestClient) -> None:
    found = {
        name: find(client, BLACK, search_type=name) for name in ("vector", "keyword", "hybrid")
    }
    ranked = {name: set(body["documents"][0]["ranks"]) for name, body in found.items()}
    assert ranked["keyword"] == {"keywords"}
    assert "keywords" not in ranked["vector"]
    assert ranked["hybrid"] >= {"keywords", "chunks"}
    assert find(client, "zzz", search_type="keyword")["count"] == 0


def test_query_expansion_without_a_model_is_by_the_glossary(client: TestClient) -> None:
    asked = "how long does OT steep?"
    assert find(client, asked)["queries_used"] == [asked]
    expanded = find(client, asked, query_expansion=True)
    assert any("oolong tea" in one for one in expanded["queries_used"])
    assert expanded["degraded"] == []


def test_switches_may_bear_the_names_that_were_printed(client: TestClient) -> None:
    asked = "how long does OT steep?"
    printed = {"enable_query_expansion": True, "enable_hyde": True, "enable_rerank": True}
    body = find(client, asked, search_type="vector", top_k=2, **printed)
    assert any("oolong tea" in one for one in body["queries_used"])
    assert body["degraded"] == ["hyde", "rerank"]
    off = find(client, asked, pipeline="advanced", **dict.fromkeys(printed, False))
    assert (off["queries_used"], off["degraded"]) == ([asked], [])
    both = {"query": asked, "hyde": True, "enable_hyde": False}
    assert client.post(RETRIEVE, json=both).status_code == 422


def test_a_passage_can_be_made_a_document_of_langchain(client: TestClient) -> None:
    first = find(client, BLACK)["documents"][0]
    document = Document(page_content=first["content"], metadata=first["metadata"])
    assert document.metadata["source"] == first["source"] == "tea.md"
    assert document.metadata["headings"] == ["Tea", "How long each tea steeps"]
    assert (document.metadata["position"], document.metadata["standing"]) == (0, "")
    assert first["captions"] == [first["caption"]]
    assert first["doc_type"] == first["document_type"] != ""
    assert "black tea" in first["summary"]
    assert first["reranker_score"] is None


@pytest.mark.parametrize("path", [QNA, "/api/agentiqna"])
def test_a_body_with_nulls_for_what_is_empty_is_answered(client: TestClient, path: str) -> None:
    body = {"query": BLACK, "conversation_id": None, "conversation_history": None}
    reply = client.post(path, json=body)
    assert "4 minutes" in words(reply.json()["answer"])
    assert (reply.json()["conversation_id"], reply.json()["workflow_id"]) == ("", "")


@pytest.mark.parametrize(
    ("path", "accept", "event"),
    [
        (QNA, "application/json", "question"),
        (QNA, "text/event-stream", "question"),
        (RETRIEVE, "application/json", "passages"),
    ],
)
def test_the_workflow_that_asks_stands_in_the_log_and_in_the_response(
    client: TestClient, capsys: pytest.CaptureFixture[str], path: str, accept: str, event: str
) -> None:
    body = {"query": BLACK, "workflow_id": "wf-81"}
    reply = client.post(path, json=body, headers={"Accept": accept})
    last = reply.text.partition("event: answer\ndata: ")[2] or reply.text
    assert json.loads(last)["workflow_id"] == "wf-81"
    client.post(path, json={"query": BLACK}, headers={"Accept": accept})
    lines = map(json.loads, capsys.readouterr().err.splitlines())
    named = [line.get("workflow_id") for line in lines if line["event"] == event]
    assert named == (["wf-81", None] if event == "question" else ["wf-81"])


def test_without_a_model_what_only_a_model_does_is_named(client: TestClient) -> None:
    body = find(client, BLACK, hyde=True, enable_rerank=True)
    assert (body["hyde_used"], body["reranked"]) == (False, False)
    assert body["degraded"] == ["hyde", "rerank"]
    advanced = find(client, BLACK, pipeline="advanced", hyde=False, enable_rerank=False)
    assert (advanced["degraded"], "around" in advanced["documents"][0]) == ([], True)


def with_model(folder: Path, server: OpenAIStandIn) -> Copilot:
    """Over an index that was made without it."""
    made = wired(folder)
    made.index.close()
    told = {"openai_base_url": server.base_url, "chat_model": "scripted", "openai_api_key": KEY}
    return Copilot(made.settings.model_copy(update=told))


def scored(request: ModelRequest) -> dict[str, Any]:
    count = len(set(re.findall(r"passage (\d+)", request.text)))
    return {"scores": [{"number": one, "score": 7} for one in range(1, count + 1)]}


def test_with_a_model_every_switch_is_carried_out(tmp_path: Path) -> None:
    plan = {
        "question": "steeping time", "kind": "in_domain", "paraphrases": ["minutes in water"],
        "hypothetical_answer": "Black tea steeps for some minutes.",
    }  # fmt: skip
    with OpenAIStandIn(lambda asked: plan if asked.name == "plan" else scored(asked)) as server:
        copilot = with_model(tmp_path, server)
        client = here(copilot.api(slack=False))
        body = find(client, BLACK, query_expansion=True, hyde=True, enable_rerank=True)
        plain = find(client, BLACK)
    copilot.index.close()
    assert body["queries_used"] == [
        BLACK, "steeping time", "minutes in water", "Black tea steeps for some minutes.",
    ]  # fmt: skip
    assert (body["hyde_used"], body["reranked"], body["degraded"]) == (True, True, [])
    assert body["documents"][0]["rerank_score"] == body["documents"][0]["reranker_score"] == 0.7
    assert (plain["queries_used"], plain["reranked"]) == ([BLACK], False)
    assert len(server.requests) == 2


def test_a_model_that_is_away_is_named_for_each_switch(tmp_path: Path) -> None:
    with OpenAIStandIn(lambda asked: ModelFault(kind="status", status=401)) as server:
        copilot = with_model(tmp_path, server)
        client = here(copilot.api(slack=False))
        body = find(client, BLACK, pipeline="advanced")
        answered = ask(client, BLACK)
    copilot.index.close()
    assert body["degraded"] == ["query_expansion", "hyde", "rerank"]
    assert body["documents"][0]["source"] == "tea.md"
    assert "answer" in answered["degraded"]


def test_how_near_the_nearest_answered_question_is_stands_in_every_answer(tmp_path: Path) -> None:
    def replies(asked: ModelRequest) -> Any:
        if asked.name == "plan":
            return {"question": BLACK, "kind": "in_domain"}
        if asked.name == "sources":
            return {"documents": [{"id": "tea"}]}
        return "Black tea steeps for 4 minutes [1]."

    with OpenAIStandIn(replies) as server:
        copilot = with_model(tmp_path, server)
        client = here(copilot.api(slack=False))
        first, again, near = (
            ask(client, one)
            for one in (BLACK, BLACK, "how many minutes does green tea steep in a pot?")
        )
    copilot.index.close()
    assert (first["cached"], first["cache_similarity"]) == (False, None)
    assert (again["cached"], again["cache_similarity"]) == (True, 1.0)
    assert again["agent_path_taken"] == "cached"
    assert again["original_path"] == first["agent_path_taken"] == "company_specific_rag_success"
    assert first["original_path"] is None
    assert again["answer"] == first["answer"]
    assert not near["cached"]
    assert 0 < near["cache_similarity"] < 1
