"""Ready means warm: the first question takes no longer than the tenth."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from threading import Event

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from structlog.testing import capture_logs

from agents.tools import mcp as mcp_tool_server
from bot.background import Warming
from bot.slack.http_events import lifespan_of
from config.langchain_model import LangChainModel
from config.settings import Settings
from oncall import Copilot
from playground.openai_stand_in import OpenAIStandIn
from playground.slack_stand_in import SlackStandIn
from telemetry.health import add_health, health_app
from tests.bot.conftest import answered, eventually, running
from tests.bot.fakes import CHANNEL, Agents

PATIENCE = 120.0
TOOLS = """tools:
- {name: Rota, what: who is on call, url: "http://127.0.0.1:9/mcp", allow: [now]}
"""
DOMAIN = "domain: {0}\ntitle: {0}\nsources: {{files: [../../paging.md]}}\n"


@pytest.fixture(name="model")
def running_model(monkeypatch: pytest.MonkeyPatch) -> Iterator[OpenAIStandIn]:
    with OpenAIStandIn(lambda _: "NO_ANSWER") as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        yield server


def test_a_probe_hears_what_is_missing_until_all_is_warm() -> None:
    may_end = Event()
    warming = Warming(lambda: _wait(may_end))
    health = TestClient(health_app(warming))
    warming.start()
    early = health.get("/readyz")
    figures = health.get("/metrics").text
    may_end.set()
    _wait_until_warm(warming)
    assert (early.status_code, early.json()) == (503, {"detail": "warming"})
    assert "oncall_ready 0.0" in figures
    assert health.get("/readyz").status_code == 200
    assert health.get("/healthz").status_code == 200


def test_a_failure_to_warm_does_not_keep_questions_out() -> None:
    def fails() -> dict[str, str]:
        raise OSError("no such disk")

    warming = Warming(fails)
    warming.start()
    _wait_until_warm(warming)


def test_a_server_warms_as_it_starts() -> None:
    warmed = Event()
    warming = Warming(lambda: _set(warmed))
    app = FastAPI(lifespan=lifespan_of(warming))
    add_health(app, warming)
    assert warming.missing()
    with TestClient(app) as client:
        _wait_until_warm(warming)
        assert client.get("/readyz").status_code == 200
    assert warmed.is_set()


def test_what_is_asked_while_the_bot_warms_is_not_lost(slack: SlackStandIn, tmp_path: Path) -> None:
    may_end = Event()
    with running(slack, tmp_path, Agents(), warm=lambda: _wait(may_end)) as bot:
        assert bot.missing() == {"warming": "warming"}
        ts = slack.post_as_user(CHANNEL, f"<@{slack.bot_user_id}> how often?")
        slack.wait_for_reply(CHANNEL, ts, until=answered)
        may_end.set()
        eventually(lambda: not bot.missing())


def test_warming_asks_every_published_domain_and_no_model(
    model: OpenAIStandIn, tmp_path: Path
) -> None:
    (tmp_path / "paging.md").write_text("# Paging\n\nAcknowledge a page within 5 minutes.\n")
    domains = tmp_path / "config" / "domains"
    domains.mkdir(parents=True)
    for name in ("later", "paging"):
        (domains / f"{name}.yaml").write_text(DOMAIN.format(name))
    told = {"config_dir": domains.parent, "data_dir": tmp_path / "data", "embedding_model": "tiny"}
    copilot = Copilot(Settings(_env_file=None).model_copy(update={**told, "chat_model": None}))
    copilot.ingest("paging")

    warm = Copilot(Settings(_env_file=None).model_copy(update={**told, "chat_model": "scripted"}))
    model.requests.clear()
    warm.warm()
    asked = [request.path for request in model.requests]
    assert asked
    assert all(path.endswith("/embeddings") for path in asked)
    assert warm.snapshot("paging").generation == 1
    assert isinstance(warm.model, LangChainModel)
    assert warm.model._client, "the model's client is built before anyone asks"
    copilot.index.close()
    warm.index.close()


@pytest.mark.parametrize(("tools", "loaded"), [("", 0), (TOOLS, 1)])
def test_what_tools_are_asked_by_is_loaded_before_anyone_asks(
    model: OpenAIStandIn,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    tools: str,
    loaded: int,
) -> None:
    loads: list[bool] = []
    monkeypatch.setattr(mcp_tool_server, "load_sdk", lambda: loads.append(True))
    domains = tmp_path / "config" / "domains"
    domains.mkdir(parents=True)
    (domains / "paging.yaml").write_text(DOMAIN.format("paging") + tools)
    told = {"config_dir": domains.parent, "data_dir": tmp_path / "data", "embedding_model": "tiny"}
    Copilot(Settings(_env_file=None).model_copy(update={**told, "chat_model": "scripted"})).warm()
    assert len(loads) == loaded


def test_a_published_domain_that_cannot_be_opened_is_waited_for() -> None:
    told = {"security": "the disk is full; make room"}
    cold = [told, told, {}]
    warming = Warming(lambda: cold.pop(0), retry_seconds=0.05)
    assert warming.missing() == {"warming": "warming"}
    with capture_logs() as logged:
        warming.start()
        _wait_until_warm(warming)
    assert cold == []
    assert [line["domains"] for line in logged] == [told], "said once, with the reason"


def _set(event: Event) -> dict[str, str]:
    event.set()
    return {}


def _wait(for_this: Event) -> dict[str, str]:
    assert for_this.wait(PATIENCE)
    return {}


def _wait_until_warm(warming: Warming) -> None:
    deadline = time.monotonic() + PATIENCE
    while warming.missing() and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not warming.missing()
