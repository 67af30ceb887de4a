"""Traces as a collector gets them, over a real gRPC connection; and their absence."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from agents.answer import Question
from agents.ledger.ledger import QuestionOrigin
from agents.observability import with_metrics
from agents.routing.router import DomainRouter
from config.chat_model import build_chat_model
from config.errors import ModelUnavailable
from config.models import Usage
from config.settings import Settings
from playground.openai_stand_in import ModelFault, OpenAIStandIn, Request
from telemetry.tracing import begun_span, carried, export_traces, span
from tests.agents.corpus import asking, snapshot
from tests.agents.scripted import OPEN, PLAN, SOURCES
from tests.bot.fakes import domain
from tests.telemetry.otlp_collector import Collector, traced

ROOT = Path(__file__).parents[2]
ASKED = "how old can a signing key get?"


def script(request: Request) -> str | dict[str, object]:
    if request.name == "plan":
        return {**PLAN, "sub_questions": [OPEN]}
    if request.name == "sources":
        return SOURCES
    return "An API signing key for Restricted data may be 60 days old [1]."


def asked_with_a_model(*faults: ModelFault) -> Collector:
    with OpenAIStandIn(script, faults=list(faults)) as server:
        settings = Settings.model_validate(
            {"openai_base_url": server.base_url, "openai_api_key": "k", "chat_model": "scripted"}
        )
        ask = asking(model=build_chat_model(settings, retries=0))
        watched = with_metrics("security")(lambda question, _: ask(question.text))
        return traced(
            lambda: DomainRouter(snapshot=lambda _: snapshot())(
                QuestionOrigin(id="C1:1.0", door="mention", text=ASKED),
                [domain()],
                lambda _: Question(text=ASKED),
                lambda _, question: watched(question, None),
            )
        )


@pytest.fixture(scope="module")
def answered() -> Collector:
    return asked_with_a_model()


def test_spans_lead_from_the_question_over_nodes_to_model_calls_and_retrieval(
    answered: Collector,
) -> None:
    ways = {tuple(answered.way_to(one)) for one in answered.spans}
    inside = ("question", "invoke_agent security")
    assert {
        (*inside, "node query_optimizer", "chat scripted"),
        (*inside, "node source_identifier", "chat scripted"),
        (*inside, "node retrieval", "retrieval security"),
        (*inside, "node answer", "chat scripted"),
        (*inside, "node verify"),
    } <= ways
    assert len({one.trace for one in answered.spans}) == 1
    assert answered.resource["service.name"] == "oncall-copilot"


def test_model_calls_carry_the_conventions_of_generative_ai(answered: Collector) -> None:
    calls = answered.named("chat scripted")
    assert {one.attributes["oncall.prompt"] for one in calls} == {"plan", "sources", "answer"}
    for call in calls:
        assert call.kind == 3  # CLIENT
        assert call.attributes["gen_ai.operation.name"] == "chat"
        assert call.attributes["gen_ai.provider.name"] == "openai"
        assert call.attributes["gen_ai.request.model"] == "scripted"
        assert call.attributes["gen_ai.usage.input_tokens"] > 0
        assert call.attributes["gen_ai.usage.output_tokens"] > 0


def test_no_word_of_question_documents_or_answer_leaves(answered: Collector) -> None:
    sent = answered.raw.decode("utf-8", "replace").lower()
    assert "invoke_agent" in sent
    for word in ("how old", "signing", "restricted", "60 days", "standard"):
        assert word not in sent


def test_a_model_that_fails_is_an_error_in_its_span_and_a_fallback_in_its_nodes() -> None:
    found = asked_with_a_model(ModelFault(kind="status", status=429, message="signing refused"))
    (failed,) = [one for one in found.spans if one.failed]
    assert failed.attributes["error.type"] == ModelUnavailable.__name__
    told = found.one("node query_optimizer").attributes["oncall.fallbacks"]
    assert told == ["query_optimizer: rate_limited"]
    assert b"signing" not in found.raw


def test_a_span_goes_on_in_another_thread_or_process_where_the_first_one_ended() -> None:
    def act() -> None:
        with span("stored", kind="producer"):
            trace = carried()
        with span("worked off", kind="consumer", within=trace):
            pass

    found = traced(act)
    assert found.way_to(found.one("worked off")) == ["stored", "worked off"]


def test_a_stream_that_nobody_finishes_reading_ends_its_span() -> None:
    def read() -> Iterator[str | Usage]:
        call = begun_span("chat scripted", {}, kind="client")
        try:
            yield "Tea"
        except GeneratorExit as left:
            call.end(left)
            raise

    def act() -> None:
        with span("node answer"):
            words = read()
            next(words)
            words.close()
            with span("retrieval"):
                pass

    found = traced(act)
    assert found.way_to(found.one("chat scripted")) == ["node answer", "chat scripted"]
    assert found.way_to(found.one("retrieval")) == ["node answer", "retrieval"]


def test_without_an_endpoint_nothing_of_opentelemetry_is_loaded_and_nothing_carried() -> None:
    """By us: LangGraph and Chroma load some of it by themselves."""
    script = (
        "import sys\n"
        "import config.chat_model, telemetry.metrics\n"
        "from telemetry.tracing import carried, export_traces, flush_traces, span\n"
        "export_traces(None)\n"
        "with span('tea', {'a': 1}) as traced:\n"
        "    traced.set({'b': 2})\n"
        "assert carried() == ''\n"
        "flush_traces()\n"
        "print(any(name.startswith('opentelemetry') for name in sys.modules))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "False"


def test_a_second_endpoint_takes_the_place_of_the_first() -> None:
    second = traced(lambda: None)
    assert second.spans == []

    def act() -> None:
        with span("tea"):
            pass

    assert [one.name for one in traced(act).spans] == ["tea"]
    export_traces(None)
    assert carried() == ""
