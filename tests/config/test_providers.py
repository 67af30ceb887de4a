"""Models of other providers: the real integrations against servers that speak as theirs do."""

from __future__ import annotations

import json
import re
import sys
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel
from pytest_httpserver import HTTPServer
from werkzeug import Request, Response

from config.chat_model import build_chat_model
from config.errors import ConfigError, InvalidModelOutput, ModelUnavailable
from config.models import ChatModel, Prompt, Usage
from config.providers import PROVIDERS, provider_and_model
from config.settings import Settings, read_settings
from playground.openai_stand_in import OpenAIStandIn

KEY = "sk-ant-very-secret-0123456789"
PROMPT = Prompt(
    name="colour", version="1", system="You name colours.", user="The sky?", max_tokens=200
)
SENTENCE = "The sky is blue, on most days of the year."


class Colour(BaseModel):
    colour: str
    certain: bool = True


def model_named(name: str, *, timeout: float = 60.0, retries: int = 2) -> ChatModel:
    model = build_chat_model(
        Settings.model_validate({"chat_model": name}),
        timeout_seconds=timeout,
        retries=retries,
        pause_seconds=0.0,
    )
    assert model is not None
    return model


def streamed(model: ChatModel) -> tuple[str, Usage]:
    *pieces, usage = model.stream(PROMPT)
    assert isinstance(usage, Usage)
    return "".join(str(piece) for piece in pieces), usage


class Served:
    """What a server was asked, and the replies or failures it has left."""

    def __init__(self) -> None:
        self.asked: list[dict[str, Any]] = []
        self.replies: list[str | Response] = []
        self.cut = False

    def next(self, request: Request, reply: Callable[[str], Response]) -> Response:
        self.asked.append(json.loads(request.get_data()))
        said = self.replies.pop(0) if self.replies else SENTENCE
        return said if isinstance(said, Response) else reply(said)


def anthropic_reply(served: Served, text: str) -> Response:
    usage = {"input_tokens": 7, "output_tokens": 9}
    message = {"id": "m", "type": "message", "role": "assistant", "model": "claude"}
    if not served.asked[-1].get("stream"):
        content = [{"type": "text", "text": text}]
        return json_response({**message, "content": content, "stop_reason": "end_turn",
                              "stop_sequence": None, "usage": usage})  # fmt: skip

    def events() -> Iterator[str]:
        begun = {**message, "content": [], "stop_reason": None, "stop_sequence": None,
                 "usage": {"input_tokens": 7, "output_tokens": 0}}  # fmt: skip
        yield event("message_start", message=begun)
        yield event("content_block_start", index=0, content_block={"type": "text", "text": ""})
        for word in text.split(" ")[: 2 if served.cut else None]:
            spaced = word if word == text.split(" ")[0] else f" {word}"
            yield event(
                "content_block_delta", index=0, delta={"type": "text_delta", "text": spaced}
            )
        if served.cut:
            return
        yield event("content_block_stop", index=0)
        ended = {"stop_reason": "end_turn", "stop_sequence": None}
        yield event("message_delta", delta=ended, usage={"input_tokens": 7, "output_tokens": 9})
        yield event("message_stop")

    return Response(events(), content_type="text/event-stream")


def pieces(served: Served, text: str) -> list[str]:
    """Words, each with the space before it; the first two only when the stream is cut."""
    found = re.findall(r"\s?\S+", text)
    return found[:2] if served.cut else found


def event(kind: str, **data: Any) -> str:
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **data})}\n\n"


def ollama_reply(served: Served, text: str) -> Response:
    def lines() -> Iterator[str]:
        head = {"model": "llama3", "created_at": "2026-11-22T12:00:00Z"}
        for piece in pieces(served, text):
            said = {"role": "assistant", "content": piece}
            yield json.dumps({**head, "message": said, "done": False}) + "\n"
        if not served.cut:
            last = {"message": {"role": "assistant", "content": ""}, "done": True,
                    "done_reason": "stop", "prompt_eval_count": 7, "eval_count": 9}  # fmt: skip
            yield json.dumps({**head, **last}) + "\n"

    return Response(lines(), content_type="application/x-ndjson")


def json_response(body: dict[str, Any], status: int = 200, **headers: str) -> Response:
    return Response(json.dumps(body), status, headers=headers, content_type="application/json")


def failure(status: int, message: str = "scripted", **headers: str) -> Response:
    """As both servers word it, each reading its own half."""
    error = {"type": "error", "error": {"type": "scripted", "message": message}}
    return json_response(error, status, **headers)


@pytest.fixture(params=["anthropic:claude-test", "ollama:llama3:8b"])
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def server(name: str, httpserver: HTTPServer, monkeypatch: pytest.MonkeyPatch) -> Served:
    served = Served()
    if name.startswith("anthropic"):
        path, reply = "/v1/messages", anthropic_reply
        monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
        monkeypatch.setenv("ANTHROPIC_BASE_URL", httpserver.url_for(""))
    else:
        path, reply = "/api/chat", ollama_reply
        monkeypatch.setenv("OLLAMA_HOST", httpserver.url_for(""))
    httpserver.expect_request(path, method="POST").respond_with_handler(
        lambda request: served.next(request, lambda text: reply(served, text))
    )
    return served


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("gpt-x", ("openai", "gpt-x")),
        ("openai:gpt-x", ("openai", "gpt-x")),
        ("claude-x", ("openai", "claude-x")),
        ("llama3:8b", ("openai", "llama3:8b")),
        ("ft:gpt-x:tidewater::1", ("openai", "ft:gpt-x:tidewater::1")),
        ("anthropic:claude-x", ("anthropic", "claude-x")),
        ("ollama:llama3:8b", ("ollama", "llama3:8b")),
        ("google-genai:gemini-x", ("google_genai", "gemini-x")),
    ],
)
def test_only_a_known_provider_before_a_colon_is_one(name: str, meant: tuple[str, str]) -> None:
    assert provider_and_model(name) == meant


def test_the_providers_are_those_that_langchain_knows() -> None:
    from langchain.chat_models import base

    assert set(base._BUILTIN_PROVIDERS) == PROVIDERS


def test_a_structured_reply_is_validated_and_counted(name: str, server: Served) -> None:
    server.replies = ['{"colour": "blue", "certain": false}']
    model = model_named(name)
    reply, usage = model.structured(PROMPT, Colour)
    assert reply == Colour(colour="blue", certain=False)
    assert usage == Usage(calls=1, input_tokens=7, output_tokens=9)
    assert model.name == name
    asked = json.dumps(server.asked[0])
    assert "You name colours." in asked
    assert '"temperature": 0' in asked
    assert '"properties"' in asked  # the schema, each in its own place
    assert server.asked[0]["model"] == name.partition(":")[2]


def test_an_invalid_reply_is_sent_back_once_with_what_is_wrong(name: str, server: Served) -> None:
    server.replies = ['{"colour": 7}', '{"colour": "blue"}']
    reply, usage = model_named(name).structured(PROMPT, Colour)
    assert reply.colour == "blue"
    assert usage.calls == 2
    assert "colour: Input should be a valid string" in json.dumps(server.asked[1])


def test_a_reply_that_stays_invalid_is_reported_as_such(name: str, server: Served) -> None:
    server.replies = ["I would rather not say.", "No."]
    with pytest.raises(InvalidModelOutput, match="after a repair"):
        model_named(name).structured(PROMPT, Colour)


def test_a_server_without_schemas_is_asked_in_words_from_then_on(name: str, server: Served) -> None:
    refusal = failure(400, "output_config: json_schema is not supported by this model")
    server.replies = [refusal, '{"colour": "blue"}', '{"colour": "blue"}']
    model = model_named(name)
    assert [model.structured(PROMPT, Colour)[0].colour for _ in range(2)] == ["blue", "blue"]
    assert "fits this JSON schema" not in json.dumps(server.asked[0])
    for asked in server.asked[1:]:
        assert "fits this JSON schema" in json.dumps(asked)
        assert not {"output_config", "format"} & {key for key, value in asked.items() if value}


def test_a_server_that_refuses_temperature_is_asked_without_it(name: str, server: Served) -> None:
    server.replies = [failure(400, "`temperature` is deprecated for this model")]
    text, _ = streamed(model_named(name))
    assert text == SENTENCE
    assert '"temperature": 0' in json.dumps(server.asked[0])
    assert '"temperature": 0' not in json.dumps(server.asked[1])


def test_text_is_streamed_and_ends_with_its_usage(name: str, server: Served) -> None:
    model = model_named(name)
    *said, usage = model.stream(PROMPT)
    assert len(said) == 10
    assert "".join(map(str, said)) == SENTENCE
    assert usage == Usage(calls=1, input_tokens=7, output_tokens=9)


def test_a_stream_that_breaks_off_is_an_outage(name: str, server: Served) -> None:
    server.cut = True
    with pytest.raises(ModelUnavailable, match="broke off"):
        streamed(model_named(name))


def test_server_errors_are_retried_a_bounded_number_of_times(name: str, server: Served) -> None:
    server.replies = [failure(503, **{"retry-after": "0"}) for _ in range(9)]
    with pytest.raises(ModelUnavailable, match="HTTP 503"):
        model_named(name, retries=2).structured(PROMPT, Colour)
    assert len(server.asked) == 3


def test_a_model_that_the_server_lacks_is_named_by_its_setting(name: str, server: Served) -> None:
    server.replies = [failure(404, "no such model")]
    with pytest.raises(ModelUnavailable, match="check ONCALL_CHAT_MODEL"):
        model_named(name).structured(PROMPT, Colour)


def test_a_refused_key_appears_in_no_message_repr_or_traceback(name: str, server: Served) -> None:
    server.replies = [failure(401, f"invalid key {KEY}")]
    model = model_named(name)
    with pytest.raises(ModelUnavailable, match="check the API key of") as caught:
        model.structured(PROMPT, Colour)
    shown = repr(model) + "".join(traceback.format_exception(caught.value))
    assert name.startswith("ollama") or KEY not in shown


def test_a_server_that_is_gone_is_an_outage(
    name: str, monkeypatch: pytest.MonkeyPatch, httpserver: HTTPServer
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    for variable in ("ANTHROPIC_BASE_URL", "OLLAMA_HOST"):
        monkeypatch.setenv(variable, "http://127.0.0.1:9")
    with pytest.raises(ModelUnavailable, match="Connect"):
        model_named(name, retries=0).structured(PROMPT, Colour)


def test_a_server_that_does_not_reply_is_an_outage(
    name: str, server: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    import socket

    with socket.create_server(("127.0.0.1", 0)) as silent:
        for variable in ("ANTHROPIC_BASE_URL", "OLLAMA_HOST"):
            monkeypatch.setenv(variable, f"http://127.0.0.1:{silent.getsockname()[1]}")
        with pytest.raises(ModelUnavailable, match="no reply in time"):
            model_named(name, timeout=0.2).structured(PROMPT, Colour)


def test_azure_is_reached_through_the_package_that_is_here_anyway(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with OpenAIStandIn({"You name colours.": {"colour": "blue"}}) as azure:
        monkeypatch.setenv("AZURE_OPENAI_ENDPOINT", azure.base_url.removesuffix("/v1"))
        monkeypatch.setenv("AZURE_OPENAI_API_KEY", KEY)
        monkeypatch.setenv("OPENAI_API_VERSION", "2026-10-21")
        reply, _ = model_named("azure_openai:gpt-x").structured(PROMPT, Colour)
    assert reply.colour == "blue"
    assert azure.requests[0].path.startswith("/openai/deployments/gpt-x/chat/completions")


def test_a_missing_integration_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "langchain_google_genai", None)
    with pytest.raises(ConfigError) as caught:
        model_named("google_genai:gemini-x")
    assert str(caught.value) == (
        "ONCALL_CHAT_MODEL=google_genai:gemini-x needs a package that is not installed; "
        "pip install langchain-google-genai"
    )


def test_a_missing_key_is_named_before_the_first_question() -> None:
    with pytest.raises(ConfigError, match="no key; set ANTHROPIC_API_KEY"):
        model_named("anthropic:claude-test")


def test_what_an_integration_misses_is_said_in_one_line() -> None:
    with pytest.raises(ConfigError, match=r"azure_openai:gpt-x can't be used: .*") as caught:
        model_named("azure_openai:gpt-x")
    assert "\n" not in str(caught.value)


def test_a_key_in_the_env_file_reaches_the_integration(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".env").write_text(
        f"ONCALL_CHAT_MODEL=anthropic:claude-test\nANTHROPIC_API_KEY={KEY}\n"
    )
    model = build_chat_model(read_settings())
    assert repr(model) == "ProviderModel('anthropic:claude-test')"
