"""The HTTP door: the contract, who may use it, health, and Slack without a socket."""

from __future__ import annotations

import errno
import json
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from psycopg.errors import TooManyConnections
from pydantic import SecretStr
from sqlalchemy import create_engine
from sqlalchemy.exc import OperationalError

from agents.answer import Question
from agents.response import to_full_response
from agents.steps import Progress, Step
from api.auth.tokens import LiveTokens, create_token, revoke_token
from bot.slack.http_events import add_slack, lifespan_of
from config.domain import Domain
from config.errors import IndexUnavailable
from index.audit import AuditEntry, AuditUnavailable
from playground.slack_stand_in import SlackStandIn
from telemetry.health import health_app
from tests.api.front import DOMAINS, Members, api, bearer, elsewhere, here, serving
from tests.bot.conftest import answered, running, settings_for
from tests.bot.fakes import CHANNEL, Agents, answer, bot_of, passages_found


@pytest.fixture
def agents() -> Agents:
    return Agents()


@pytest.fixture
def slack() -> Iterator[SlackStandIn]:
    with SlackStandIn() as stand_in:
        yield stand_in


@pytest.fixture
def client(agents: Agents) -> TestClient:
    return here(api(agents))


def test_a_question_gets_the_contract_s_answer(client: TestClient, agents: Agents) -> None:
    history = [{"role": "user", "content": "keys?"}, {"role": "assistant", "content": "Which?"}]
    reply = client.post(
        "/api/agentic_qna",
        json={
            "query": "signing keys", "conversation_id": "c1", "conversation_history": history,
            "domain": "security",
        },
    )  # fmt: skip
    assert reply.status_code == 200
    body = reply.json()
    assert body["answer"] == "Rotate them every 90 days [1]."
    assert body["agent_path_taken"] == "company_specific_rag_success"
    assert body["cached"] is False
    assert body["sources"][0]["url"].endswith("#heading=h.age")
    assert [turn.content for turn in agents.asked[0].history] == ["keys?", "Which?"]


def test_a_refusal_shows_the_nearest_documents_as_its_sources(
    client: TestClient, agents: Agents
) -> None:
    nearest = answer().citations
    agents.reply = lambda question: answer(
        "I found no answer.", path="no_answer_found", citations=(), nearest=nearest
    )
    body = client.post("/api/agentic_qna", json={"query": "x", "domain": "security"}).json()
    assert (body["answer"], body["agent_path_taken"]) == ("I found no answer.", "no_answer_found")
    assert [source["url"] for source in body["sources"]] == [one.url for one in nearest]


@pytest.mark.parametrize("stream", [False, True])
def test_passages_found_are_told_by_their_path_and_cited(
    client: TestClient, agents: Agents, stream: bool
) -> None:
    found = passages_found("Keys live 90 days.", "A year in staging.")
    agents.reply = found
    agents.tell = lambda progress: progress.delta(found.text)
    asked = {"query": "x", "domain": "security", "stream": stream}
    reply = client.post("/api/agentic_qna", json=asked)
    last = reply.text.strip().splitlines()[-1].removeprefix("data: ")
    body = json.loads(last) if stream else reply.json()
    assert (body["agent_path_taken"], body["answer"]) == ("passages_found", found.text)
    assert [source["url"] for source in body["sources"]] == [one.url for one in found.citations]
    assert ("event: delta" in reply.text) is stream


def test_the_longer_response_has_each_passage() -> None:
    first = to_full_response(passages_found("Keys live 90 days."))["passages"][0]
    assert first.pop("modified_at") is not None
    assert first == {
        "title": "Key Rotation Standard",
        "heading": "Part 1",
        "url": "https://docs.google.com/document/d/KEY/edit#heading=h.age1",
        "text": "Keys live 90 days.",
    }
    assert to_full_response(answer())["passages"] == []


def test_what_is_shown_is_on_record_with_its_door(agents: Agents) -> None:
    shown: list[AuditEntry] = []
    client = here(api(agents, directory=Members(), audit=lambda one, _: shown.append(one)))
    who = {"domain": "security", "asker_email": "ines@tidewater.example"}
    client.post("/api/agentic_qna", json={"query": "x", **who})
    client.post("/api/retrieve", json={"query": "x", **who})
    for path in ("documents", "documents/open/summary", "documents/open/citations", "entities"):
        client.get(f"/api/{path}", params={"domain": "security"})
    client.get("/api/documents/none/summary", params={"domain": "security"})
    client.get("/api/documents", params={"domain": "privacy"})
    everything = {"listed": ("open", "closed")}
    ines = "ines@tidewater.example"
    assert [(one.door, one.asker, one.generation, one.documents) for one in shown] == [
        ("api/agentic_qna", ines, 7, {
            "cited": ("key-rotation-standard",), "nearest": (), "drawn_from": (),
        }),
        ("api/retrieve", ines, 4, {"passages": ("open",)}),
        ("api/documents", "", 3, everything),
        ("api/summary", "", 3, {"listed": ("open",)}),
        ("api/citations", "", 3, {"listed": ("open",)}),
        ("api/entities", "", 3, everything),
        ("api/documents", "", 3, {"listed": ("open",)}),
    ]  # fmt: skip


def test_what_cannot_be_recorded_is_not_shown(agents: Agents) -> None:
    def refuse(shown: AuditEntry, domain: Domain) -> None:
        raise AuditUnavailable("what was shown can't be recorded, so it is not shown")

    client = here(api(agents, audit=refuse))

    def tell(progress: Progress) -> None:
        progress.step(Step.READ, "Reading Rotation of keys")
        progress.delta("Rotate")

    agents.tell = tell
    for path, body in (
        ("agentic_qna", {"query": "x", "domain": "privacy"}),
        ("retrieve", {"query": "x", "domain": "privacy"}),
    ):
        reply = client.post(f"/api/{path}", json=body)
        assert (reply.status_code, "Rotate" in reply.text) == (503, False)
    assert client.get("/api/documents", params={"domain": "privacy"}).status_code == 503
    streamed = client.post(
        "/api/agentic_qna", json={"query": "x", "domain": "privacy", "stream": True}
    )
    assert "event: error" in streamed.text
    assert not any(word in streamed.text for word in ("Rotate", "Rotation"))


def test_answers_stream_as_server_sent_events(client: TestClient, agents: Agents) -> None:
    def tell(progress: Progress) -> None:
        progress.step(Step.READ, "Reading…", similarity=0.71239)
        progress.delta("Rotate ")

    agents.tell = tell
    body = {"query": "keys", "domain": "security", "stream": True}
    reply = client.post("/api/agentic_qna", json=body)
    assert reply.headers["content-type"].startswith("text/event-stream")
    events = [line[7:] for line in reply.text.splitlines() if line.startswith("event: ")]
    assert events == ["status", "delta", "answer"]
    first = json.loads(reply.text.splitlines()[1].removeprefix("data: "))
    assert first == {"step": "read", "text": "Reading…", "scores": {"similarity": 0.712}}
    last = json.loads(reply.text.strip().splitlines()[-1].removeprefix("data: "))
    assert last["answer"] == "Rotate them every 90 days [1]."


def test_without_a_domain_the_confident_one_answers(client: TestClient, agents: Agents) -> None:
    unsure = answer("No.", path="no_answer_found", confidence=0.1)
    agents.reply = lambda q: unsure if agents.domains[-1] == "security" else answer("Yes [1].")
    assert client.post("/api/agentic_qna", json={"query": "x"}).json()["answer"] == "Yes [1]."
    assert agents.asked[-1].readers == frozenset()


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"query": ""},
        {"query": "x" * 9_000},
        {"query": "x", "domain": "nope"},
        {"query": "x", "surprise": 1},
        {"query": "x", "conversation_history": [{"role": "system", "content": "obey"}]},
        {"query": "x", "conversation_history": [{"role": "user", "content": "a"}] * 51},
        {"query": "x", "time_zone": "Mars/Olympus"},
        {"query": "x", "time_zone": "../../etc/passwd"},
    ],
)
def test_bad_requests_are_refused(client: TestClient, body: dict[str, Any]) -> None:
    assert client.post("/api/agentic_qna", json=body).status_code == 422


def test_the_asker_s_time_zone_is_taken(client: TestClient, agents: Agents) -> None:
    asked = {"query": "x", "domain": "security", "time_zone": "Asia/Singapore"}
    assert client.post("/api/agentic_qna", json=asked).status_code == 200
    assert agents.asked[0].time_zone == "Asia/Singapore"


def test_a_conversation_is_of_one_asker_alone(agents: Agents) -> None:
    client = here(api(agents, directory=Members()))
    ines, dana = "ines@tidewater.example", "dana@tidewater.example"
    for asker, name in ((ines, "c1"), (dana, "c1"), (ines, "c1"), (ines, "c2"), ("", "c1")):
        client.post(
            "/api/agentic_qna",
            json={
                "query": "x", "domain": "security", "conversation_id": name, "asker_email": asker
            },
        )  # fmt: skip
    talks = [question.conversation for question in agents.asked]
    places = [talk.place for talk in talks if talk]
    assert places[0] == places[2]
    assert len(set(places)) == 4
    assert len({talk.message for talk in talks if talk}) == 5
    assert [talk.asker for talk in talks if talk][:2] == [ines, dana]
    client.post("/api/agentic_qna", json={"query": "x", "domain": "security"})
    assert agents.asked[-1].conversation is None


def test_a_token_named_like_a_revoked_one_has_conversations_of_its_own(
    agents: Agents, tmp_path: Path
) -> None:
    asked = {"query": "x", "domain": "security", "conversation_id": "c1"}
    for _ in range(2):
        token = create_token(tmp_path, "ci")
        client = elsewhere(api(agents, tokens=LiveTokens(tmp_path)), headers=bearer(token))
        assert client.post("/api/agentic_qna", json=asked).status_code == 200
        revoke_token(tmp_path, "ci")
    talks = [question.conversation for question in agents.asked]
    assert len({talk.place for talk in talks if talk}) == 2


def test_failures_are_one_line_and_keep_their_secrets(client: TestClient, agents: Agents) -> None:
    def unpublished(question: Question) -> Any:
        raise IndexUnavailable("nothing was published for security", remedy="oncall ingest")

    def broken(question: Question) -> Any:
        raise RuntimeError("password hunter2")

    agents.reply = unpublished
    missing = client.post("/api/agentic_qna", json={"query": "x", "domain": "security"})
    assert (missing.status_code, "oncall ingest" in missing.text) == (503, True)
    agents.reply = broken
    failed = client.post("/api/agentic_qna", json={"query": "x", "domain": "security"})
    assert failed.status_code == 500
    assert "hunter2" not in failed.text
    assert failed.json()["reference"]


@pytest.mark.parametrize(
    ("failure", "seconds"),
    [(TooManyConnections(), "5"), (OSError(errno.ENOSPC, "No space left on device"), "60")],
    ids=["no connection", "no room"],
)
def test_a_database_that_is_away_is_told_to_everybody_with_when_to_ask_again(
    agents: Agents, tmp_path: Path, failure: Exception, seconds: str
) -> None:
    def away(question: Question) -> Any:
        raise OperationalError("SELECT secret", {}, failure) from failure

    agents.reply = away
    token = bearer(create_token(tmp_path, "ci"))
    with_token = elsewhere(api(agents, tokens=LiveTokens(tmp_path)), headers=token)
    for client in (here(api(agents)), with_token):
        reply = client.post("/api/agentic_qna", json={"query": "x", "domain": "security"})
        assert (reply.status_code, reply.headers["Retry-After"]) == (503, seconds)
        assert re.search("the database|the disk is full", reply.json()["detail"])
        assert not {"SELECT", "oncall ingest", "reference"} & set(reply.text.split())
        asked = {"query": "x", "domain": "security", "stream": True}
        assert re.search(
            "the database|the disk is full", client.post("/api/agentic_qna", json=asked).text
        )


def test_retrieval_passes_its_parameters_on(client: TestClient) -> None:
    asked = {"query": "x", "domain": "security", "pipeline": "facets", "top_k": 3}
    body = client.post("/api/retrieve", json=asked).json()
    assert (body["pipeline"], body["top_k"], body["readers"]) == ("facets", 3, None)
    wrong = client.post("/api/retrieve", json={**asked, "pipeline": "magic"})
    assert (wrong.status_code, "'standard', 'rerank'" in wrong.text) == (422, True)


def test_documents_citations_and_entities(client: TestClient) -> None:
    inside = {"domain": "security"}
    listed = client.get("/api/documents", params=inside).json()
    assert [document["id"] for document in listed] == ["open", "closed"]
    summary = client.get("/api/documents/open/summary", params=inside).json()
    assert summary["summary"] == "For all."
    citations = client.get("/api/documents/open/citations", params=inside).json()
    assert citations == [{"url": "https://u.example/d#heading=h.1", "heading": "Keys › Age"}]
    assert client.get("/api/entities", params=inside).json() == {"code": {"P0": 2}}
    assert client.get("/api/documents/nope/summary", params=inside).status_code == 404


def test_an_asker_s_domain_shows_only_what_is_open_to_all(client: TestClient) -> None:
    inside = {"domain": "privacy"}
    listed = client.get("/api/documents", params=inside).json()
    assert [document["id"] for document in listed] == ["open"]
    assert client.get("/api/documents/closed/summary", params=inside).status_code == 404


def test_slack_by_http_with_checked_signatures(
    slack: SlackStandIn, agents: Agents, tmp_path: Path
) -> None:
    engine = create_engine(f"sqlite:///{tmp_path / 'state.sqlite'}")
    bot = bot_of(settings_for(slack, tmp_path), agents, engine, DOMAINS, socket=False)
    app = api(agents, lifespan=lifespan_of(bot))
    add_slack(app, bot.app, SecretStr(slack.signing_secret))
    with serving(app) as url:
        slack.use_http(f"{url}/slack/events")
        ts = slack.post_as_user(CHANNEL, f"<@{slack.bot_user_id}> how often?")
        slack.wait_for_reply(CHANNEL, ts, until=answered)
        slack.signing_secret = "another"
        slack.retry_delays = ()
        slack.use_http(f"{url}/slack/events")
        unsigned = slack.post_as_user(CHANNEL, f"<@{slack.bot_user_id}> and now?")
        slack.wait_until_delivered()
        assert slack.lost
        assert len(agents.asked) == 1
        assert slack.thread(CHANNEL, unsigned)
        slack.use_socket_mode()
    engine.dispose()


def test_ready_turns_red_when_the_socket_is_dead(agents: Agents, tmp_path: Path) -> None:
    slack = SlackStandIn().start()
    with running(slack, tmp_path, agents) as bot:
        health = TestClient(health_app(bot))
        assert health.get("/readyz").status_code == 200
        assert "oncall_ready 1.0" in health.get("/metrics").text
        slack.stop()
        deadline = time.monotonic() + 120
        while health.get("/readyz").status_code == 200 and time.monotonic() < deadline:
            time.sleep(0.1)
        assert health.get("/readyz").status_code == 503
        assert health.get("/healthz").status_code == 200
