from __future__ import annotations

import subprocess
import sys
import time
import traceback
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from contextvars import copy_context

import pytest
from pydantic import BaseModel
from structlog.testing import capture_logs

from config.chat_model import build_chat_model
from config.errors import InvalidModelOutput, ModelError, ModelUnavailable
from config.models import (
    ChatModel,
    Prompt,
    Usage,
    model_time,
    model_time_left,
)
from config.servers.messages import parse_reply
from config.settings import Settings
from playground.openai_stand_in import ModelFault, OpenAIStandIn, Script
from telemetry.metrics import registry

KEY = "sk-very-secret-0123456789"
PROMPT = Prompt(
    name="colour", version="1", system="You name colours.", user="The sky?", max_tokens=200
)


class Colour(BaseModel):
    colour: str
    certain: bool = True


def model_at(server: OpenAIStandIn, *, timeout: float = 60.0, pause: float = 0.0) -> ChatModel:
    settings = Settings.model_validate(
        {
            "openai_api_key": KEY,
            "openai_base_url": server.base_url,
            "chat_model": "local-model",
        }
    )
    model = build_chat_model(settings, timeout_seconds=timeout, pause_seconds=pause)
    assert model is not None
    return model


def streamed(model: ChatModel) -> tuple[str, Usage]:
    pieces = list(model.stream(PROMPT))
    usage = pieces[-1]
    assert isinstance(usage, Usage)
    return "".join(piece for piece in pieces if isinstance(piece, str)), usage


def test_no_model_is_built_when_none_is_configured() -> None:
    assert build_chat_model(Settings.model_validate({"chat_model": None})) is None


def test_a_structured_reply_is_validated_and_counted() -> None:
    with OpenAIStandIn({"colour": {"colour": "blue", "certain": False}}) as server:
        reply, usage = model_at(server).structured(PROMPT, Colour)
    assert reply == Colour(colour="blue", certain=False)
    assert usage.calls == 1
    assert usage.input_tokens > 0
    assert server.requests[0].body["response_format"]["json_schema"]["strict"] is True
    assert server.requests[0].body["temperature"] == 0


@pytest.mark.parametrize(
    ("faults", "outcome"),
    [
        ([], "ok"),
        ([ModelFault(kind="status", status=401)], "refused"),
        ([ModelFault(kind="status", status=429, retry_after=60)], "rate_limited"),
        ([ModelFault(kind="malformed")], "invalid"),
    ],
)
def test_a_call_is_timed_by_model_and_outcome(faults: list[ModelFault], outcome: str) -> None:
    labels = {"model": "local-model", "outcome": outcome}
    before = registry.get_sample_value("oncall_model_seconds_count", labels) or 0.0
    with (
        OpenAIStandIn({"colour": {"colour": "blue"}}, faults=faults) as server,
        nullcontext() if outcome == "ok" else pytest.raises(ModelError) as failed,
    ):
        model_at(server).structured(PROMPT, Colour)
    assert registry.get_sample_value("oncall_model_seconds_count", labels) == before + 1
    assert failed is None or failed.value.kind == outcome


def test_an_invalid_reply_is_sent_back_once_with_what_is_wrong() -> None:
    with OpenAIStandIn({"colour": [{"colour": 7}, {"colour": "blue"}]}) as server:
        reply, usage = model_at(server).structured(PROMPT, Colour)
    assert reply.colour == "blue"
    assert usage.calls == 2
    assert "colour: Input should be a valid string" in server.requests[1].text


def test_a_reply_that_stays_invalid_is_reported_as_such() -> None:
    with (
        OpenAIStandIn({"colour": "I would rather not say."}) as server,
        pytest.raises(InvalidModelOutput, match="after a repair"),
    ):
        model_at(server).structured(PROMPT, Colour)
    assert len(server.requests) == 2


def test_a_server_without_json_schemas_is_asked_in_words_from_then_on() -> None:
    fenced = 'Sure!\n```json\n{"colour": "blue"}\n```'
    with OpenAIStandIn({"You name colours.": fenced}, schemas=False) as server:
        model = model_at(server)
        first, _ = model.structured(PROMPT, Colour)
        second, _ = model.structured(PROMPT, Colour)
    assert first.colour == second.colour == "blue"
    assert [bool(request.name) for request in server.requests] == [True, False, False]
    assert '"properties"' in server.requests[-1].text


def test_a_server_that_refuses_temperature_is_asked_without_it() -> None:
    refused = ModelFault(kind="status", status=400, message="Unsupported value: 'temperature'")
    with OpenAIStandIn({"colour": {"colour": "blue"}}, faults=[refused]) as server:
        model_at(server).structured(PROMPT, Colour)
    assert "temperature" not in server.requests[-1].body


def test_text_is_streamed_in_pieces_and_ends_with_its_usage() -> None:
    with OpenAIStandIn({"colour": "The sky is blue, on most days of the year."}) as server:
        text, usage = streamed(model_at(server))
    assert text == "The sky is blue, on most days of the year."
    assert usage.calls == 1
    assert usage.output_tokens == 10


def test_every_call_says_how_long_its_reply_may_be() -> None:
    with OpenAIStandIn({"colour": {"colour": "blue"}}) as server:
        model_at(server).structured(PROMPT, Colour)
        streamed(model_at(server))
    assert [request.max_tokens for request in server.requests] == [200, 200]


def test_a_structured_reply_that_ends_at_its_limit_is_told_as_such_and_not_repaired() -> None:
    endless = '{"colour": "' + "blue " * 500
    with (
        OpenAIStandIn({"colour": endless}) as server,
        pytest.raises(InvalidModelOutput, match="'colour' ended at its limit of 200 tokens"),
    ):
        model_at(server).structured(PROMPT, Colour)
    assert len(server.requests) == 1


@pytest.mark.parametrize("counts", [True, False])
def test_a_stream_ends_at_its_limit_and_says_so(counts: bool) -> None:
    with OpenAIStandIn({"colour": "blue " * 20_000}, counts_tokens=counts) as server:
        text, usage = streamed(model_at(server))
    assert usage.cut
    assert len(text) <= 200 * 8


def test_a_server_that_refuses_the_limit_is_asked_without_it() -> None:
    refused = ModelFault(kind="status", status=400, message="max_tokens is too large: 200")
    with OpenAIStandIn({"colour": {"colour": "blue"}}, faults=[refused, refused]) as server:
        model_at(server).structured(PROMPT, Colour)
    assert server.requests[-1].max_tokens > 200


def test_a_stream_that_breaks_off_is_an_outage() -> None:
    with (
        OpenAIStandIn({}, faults=[ModelFault(kind="cut")]) as server,
        pytest.raises(ModelUnavailable, match="broke off"),
    ):
        streamed(model_at(server))


def test_a_short_rate_limit_is_waited_out() -> None:
    limited = ModelFault(kind="status", status=429, retry_after=0.05)
    with OpenAIStandIn({"colour": {"colour": "blue"}}, faults=[limited]) as server:
        reply, _ = model_at(server).structured(PROMPT, Colour)
    assert reply.colour == "blue"


def test_a_long_rate_limit_is_not_waited_out() -> None:
    limited = ModelFault(kind="status", status=429, retry_after=60)
    with (
        OpenAIStandIn({}, faults=[limited]) as server,
        pytest.raises(ModelUnavailable, match="HTTP 429"),
    ):
        model_at(server).structured(PROMPT, Colour)
    assert len(server.requests) == 1


def test_server_errors_are_retried_a_bounded_number_of_times() -> None:
    failing = [ModelFault(kind="status", status=500, retry_after=0) for _ in range(9)]
    with (
        OpenAIStandIn({}, faults=failing) as server,
        pytest.raises(ModelUnavailable, match="HTTP 500"),
    ):
        model_at(server).structured(PROMPT, Colour)
    assert len(server.requests) == 3


def test_after_a_timeout_calls_fail_at_once_until_the_pause_is_over() -> None:
    with OpenAIStandIn({}, faults=[ModelFault(kind="slow", seconds=0.6)]) as server:
        model = model_at(server, timeout=0.2, pause=60)
        with pytest.raises(ModelUnavailable, match="no reply in time"):
            model.structured(PROMPT, Colour)
        with pytest.raises(ModelUnavailable, match="not asked again yet"):
            streamed(model)
    assert len(server.requests) == 1


def test_a_question_s_calls_share_its_time_and_what_is_cut_short_pauses_nobody() -> None:
    with OpenAIStandIn({"colour": {"colour": "blue"}}) as server:
        model = model_at(server, pause=60)
        with model_time(60):
            model.structured(PROMPT, Colour)
            server.faults.append(ModelFault(kind="slow", seconds=1.0))
            with model_time(0.2):
                with pytest.raises(ModelUnavailable, match="no reply in time"):
                    model.structured(PROMPT, Colour)
                with pytest.raises(ModelUnavailable, match="long enough"):
                    streamed(model)
            assert len(server.requests) == 2
            assert model.structured(PROMPT, Colour)[0].colour == "blue"


def test_only_waits_for_models_count_and_parallel_ones_count_once() -> None:
    slow = [ModelFault(kind="slow", seconds=0.4)] * 2
    with OpenAIStandIn({"colour": {"colour": "blue"}, "": "blue, " * 10}) as server:
        model = model_at(server)
        with model_time(60):
            time.sleep(0.2)  # for a database, or for Slack
            assert model_time_left() == 60
            began, slept = time.monotonic(), 0.0
            for _ in model.stream(PROMPT):
                time.sleep(0.05)
                slept += 0.05
            assert 0 < 60 - model_time_left() < time.monotonic() - began - slept
        server.faults += slow
        with model_time(60), ThreadPoolExecutor(2) as pool:
            began = time.monotonic()
            for call in [pool.submit(copy_context().run, streamed, model) for _ in range(2)]:
                call.result()
            assert 0.4 < 60 - model_time_left() < time.monotonic() - began


def test_a_server_that_is_gone_is_an_outage() -> None:
    with OpenAIStandIn({}) as server:
        model = model_at(server)
    with pytest.raises(ModelUnavailable):
        model.structured(PROMPT, Colour)


def test_a_body_that_is_not_json_is_invalid_output_and_logged_with_its_remedy() -> None:
    faults = [ModelFault(kind="malformed"), ModelFault(kind="malformed")]
    with OpenAIStandIn({}, faults=faults) as server, capture_logs() as logs:
        model = model_at(server)
        for _ in faults:
            with pytest.raises(InvalidModelOutput, match="malformed"):
                model.structured(PROMPT, Colour)
    (line,) = logs
    assert line["event"] == "a model call failed"
    assert "a sign-in page" in line["remedy"]


@pytest.mark.parametrize("script", [{"colour": ""}, {"colour": "[]"}, {"colour": "{}"}])
def test_empty_replies_are_invalid_output(script: Script) -> None:
    with OpenAIStandIn(script) as server, pytest.raises(InvalidModelOutput):
        model_at(server).structured(PROMPT, Colour)


def test_the_key_appears_in_no_message_repr_or_traceback() -> None:
    echo = ModelFault(kind="status", status=401, message=f"Incorrect API key provided: {KEY}")
    with OpenAIStandIn({}, faults=[echo]) as server:
        model = model_at(server)
        with pytest.raises(ModelUnavailable, match="check OPENAI_API_KEY") as caught:
            model.structured(PROMPT, Colour)
    assert server.requests[0].authorization == f"Bearer {KEY}"
    shown = repr(model) + "".join(traceback.format_exception(caught.value))
    assert KEY not in shown


def test_a_think_block_before_the_json_is_ignored() -> None:
    text = '<think>{"colour": "red"}? no.</think> {"colour": "blue"}'
    assert parse_reply(text, Colour).colour == "blue"


def test_importing_and_building_load_no_vendor_library() -> None:
    code = (
        "import sys; from config.chat_model import build_chat_model;"
        "from config.settings import Settings;"
        "build_chat_model(Settings(openai_base_url='http://127.0.0.1:9', chat_model='m'));"
        "sys.exit(any(m.split('.')[0] in ('openai', 'langchain_openai') for m in sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
