"""Beyond a budget the whole product quotes: no request to the model, an answer from the documents,
and a line that says so."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from fastapi.testclient import TestClient

from agents.answer import BUDGET_NOTICES
from config.domain_files import load_domains
from config.errors import ConfigError
from config.models import read_price_list
from config.settings import Settings
from oncall import Copilot
from oncall.documents import runtime_checks
from playground.openai_stand_in import ModelFault, OpenAIStandIn, Request, Scripted
from telemetry import metrics
from tests.api.front import here

KETTLE = "# Kettle\n\n## Descaling\n\nThe kettle is descaled every Friday by the kitchen team.\n"
ASKED = "when is the kettle descaled?"


def model(request: Request) -> str | dict[str, Any]:
    if request.name == "plan":
        return {"question": "", "kind": "in_domain"}
    return "NO_ANSWER"


@pytest.fixture
def server() -> Iterator[OpenAIStandIn]:
    with OpenAIStandIn(model) as started:
        yield started


def settings_of(folder: Path, server: OpenAIStandIn, limits: dict[str, Any]) -> Settings:
    domains = folder / "config" / "domains"
    domains.mkdir(parents=True)
    (domains / "kettle.md").write_text(KETTLE, "utf-8")
    values = {
        "domain": "tea", "title": "Tea help", "channels": ["C0TEA"], "limits": limits,
        "sources": {"files": ["kettle.md"]}, "answer": {"effort": "fast"},
    }  # fmt: skip
    (domains / "tea.yaml").write_text(yaml.safe_dump(values), "utf-8")
    return Settings(_env_file=None).model_copy(
        update={
            "config_dir": folder / "config", "data_dir": folder / "var", "chat_model": "scripted",
            "embedding_model": "hashed", "openai_base_url": server.base_url,
        }
    )  # fmt: skip


def ask(client: TestClient) -> dict[str, Any]:
    sent = client.post("/api/agentic_qna", json={"query": ASKED})
    assert sent.status_code == 200
    body: dict[str, Any] = sent.json()
    return body


def chats(server: OpenAIStandIn) -> int:
    """Embeddings cost next to nothing, and a start embeds in the background."""
    return sum(one.path != "/v1/embeddings" for one in server.requests)


def quoted() -> float:
    labels = {"domain": "tea", "budget": "domain"}
    return metrics.registry.get_sample_value("oncall_questions_quoted_total", labels) or 0


def test_a_spent_budget_is_answered_without_one_request_to_the_model(
    tmp_path: Path, server: OpenAIStandIn
) -> None:
    quoted_before = quoted()
    copilot = Copilot(settings_of(tmp_path, server, {"tokens_per_day": 10}))
    copilot.settings.enrich_calls = 0  # the documents are read without the model
    copilot.ingest("tea")
    with here(copilot.api(slack=False)) as client:
        first = ask(client)
        assert first["notices"] == []
        asked = chats(server)
        second = ask(client)
    assert chats(server) == asked > 0
    assert second["notices"] == [BUDGET_NOTICES["domain"]]
    assert second["degraded"] == ["answer"]
    assert not second["cached"]
    assert "Friday" in second["answer"]
    assert "model" not in second["answer"]
    assert quoted() == quoted_before + 1
    copilot.answers.budget_gauges.look()
    copilot.answers.budget_gauges.observe()
    used = metrics.registry.get_sample_value("oncall_budget_used_ratio", {"domain": "tea"})
    assert used
    assert used >= 1
    copilot.index.close()


def failing(request: Request) -> Scripted:
    """All is paid for and nothing can be used: no JSON, and streams that break off."""
    return "this is no JSON at all" if request.name else ModelFault(kind="cut")


@pytest.mark.parametrize("case", ["every call fails", "no usage is reported"])
def test_what_is_spent_in_vain_or_not_counted_by_the_server_is_spent(
    tmp_path: Path, server: OpenAIStandIn, case: str
) -> None:
    copilot = Copilot(settings_of(tmp_path, server, {"tokens_per_day": 500}))
    copilot.settings.enrich_calls = 0
    copilot.ingest("tea")
    if case == "every call fails":
        server.script = failing
    else:
        server.reports_usage = False
    with here(copilot.api(slack=False)) as client:
        assert ask(client)["notices"] == []
        calls = len(server.requests)
        assert ask(client)["notices"] == [BUDGET_NOTICES["domain"]]
    assert len(server.requests) == calls
    copilot.index.close()


def test_a_budget_in_dollars_needs_the_price_of_each_model(
    tmp_path: Path, server: OpenAIStandIn
) -> None:
    settings = settings_of(tmp_path, server, {"dollars_per_day": 5.0})
    for prices in (None, "another=0.25/2.00"):
        unpriced = settings.model_copy(update={"prices": prices})
        with pytest.raises(ConfigError) as refused:
            load_domains(settings.config_dir, runtime_checks(unpriced))
        (line,) = refused.value.problem.splitlines()
        assert "limits.dollars_per_day: scripted has no price; set ONCALL_PRICES" in line
    for prices in ("0.25/2.00", "scripted=0.25/2.00, another=1/2"):
        priced = settings.model_copy(update={"prices": prices})
        assert load_domains(settings.config_dir, runtime_checks(priced))
    for model, prices in (
        ("openai:scripted", "scripted=0.25/2.00"), ("scripted", "openai:scripted=0.25/2.00"),
        ("azure-openai:scripted", "azure_openai:scripted=1/2, scripted=0.25/2.00"),
    ):  # fmt: skip
        named = settings.model_copy(update={"chat_model": model, "prices": prices})
        assert (
            named.read_prices()
            == read_price_list(prices.partition(",")[0])[prices.partition("=")[0]]
        )
    without_model = settings.model_copy(update={"chat_model": None})
    assert load_domains(settings.config_dir, runtime_checks(without_model))
