"""What servers say when they refuse a part of a request, in the shapes that they have today."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from pydantic import BaseModel

from config.chat_model import build_chat_model
from config.errors import ModelError
from config.models import ChatModel, Prompt
from config.settings import Settings
from playground.openai_stand_in import OpenAIStandIn, RawReply, Request, Scripted

Sent = dict[str, Any]
PROMPT = Prompt(name="color", version="1", system="You name colors.", user="Sky?", max_tokens=200)
REPLY = '{"color": "blue"}'


class Color(BaseModel):
    color: str


def model_at(server: OpenAIStandIn) -> ChatModel:
    settings = {"openai_base_url": server.base_url, "chat_model": "m"}
    model = build_chat_model(Settings.model_validate(settings), pause_seconds=0.0)
    assert model is not None
    return model


def serving(status: int, body: Any, refuses: Callable[[Sent], object]) -> OpenAIStandIn:
    """A server that refuses some requests and answers the others."""
    text = body if isinstance(body, str) else json.dumps(body)

    def reply(request: Request) -> Scripted:
        if refuses(request.body):
            return RawReply(status=status, body=text.encode())
        return REPLY

    return OpenAIStandIn(reply)


def schema(sent: Sent) -> bool:
    return dict(sent.get("response_format") or {}).get("type") == "json_schema"


def form(sent: Sent) -> bool:
    return "response_format" in sent


def newer_limit(sent: Sent) -> bool:
    return "max_completion_tokens" in sent


def older_limit(sent: Sent) -> bool:
    return "max_tokens" in sent


def limit(sent: Sent) -> bool:
    return newer_limit(sent) or older_limit(sent)


def temperature(sent: Sent) -> bool:
    return "temperature" in sent


def usage(sent: Sent) -> bool:
    return "stream_options" in sent


def stream(sent: Sent) -> bool:
    return bool(sent.get("stream"))


def whole(sent: Sent) -> bool:
    return not sent.get("stream")


def system(sent: Sent) -> bool:
    return sent["messages"][0]["role"] == "system"


def error(message: str, **more: Any) -> dict[str, Any]:
    return {"error": {"message": message, "type": "invalid_request_error", **more}}


def extra(*places: list[str]) -> list[dict[str, Any]]:
    return [
        {"type": "extra_forbidden", "loc": one, "msg": "Extra inputs are not permitted",
         "input": {"temperature": 0}}
        for one in places
    ]  # fmt: skip


REFUSALS: dict[str, tuple[int, Any, Callable[[Sent], object]]] = {
    "detail list": (422, {"detail": extra(["body", "max_completion_tokens"])}, newer_limit),
    "detail list in a message": (422, {"object": "error", "param": None, "message": {
        "detail": extra(["body", "stream_options", "include_usage"])}}, usage),
    "detail list as JSON in a message": (422, {"object": "error", "code": "1000", "message":
        json.dumps({"detail": extra(["body", "max_completion_tokens"])})}, newer_limit),
    "detail list as Python in a message": (400, {"object": "error", "message":
        "[{'type': 'extra_forbidden', 'loc': ('body', 'max_completion_tokens'), 'msg': 'Extra "
        "inputs are not permitted', 'input': 800}]", "code": 400}, newer_limit),
    "two in one list": (422, {"detail": extra(["body", "max_completion_tokens"],
        ["body", "temperature"])}, lambda sent: newer_limit(sent) or temperature(sent)),
    "did you mean": (400, error("property 'stream_options' is unsupported, did you mean 'stream'?"),
        usage),
    "the other limit": (400, error("Unsupported parameter: 'max_completion_tokens' is not supported"
        " with this model. Use 'max_tokens' instead."), newer_limit),
    "the value of the limit": (400, error("max_tokens is too large: 200", param="max_tokens"),
        limit),
    "unsupported value": (400, error("Unsupported value: 'temperature' does not support 0 with this"
        " model.", param="temperature", code="unsupported_value"), temperature),
    "prose": (400, {"error_code": "BAD_REQUEST", "message": "BAD_REQUEST: Model us.a-5 does not "
        "support the temperature parameter."}, temperature),
    "in another language": (400, {"error": {"code": "1210", "message": "参数 temperature 无效"}},
        temperature),
    "camel case": (400, {"code": "Client specified an invalid argument", "error":
        "Argument not supported on this model: maxCompletionTokens"}, newer_limit),
    "a list around the error": (400, [{"error": {"code": 400, "status": "INVALID_ARGUMENT",
        "message": 'Invalid JSON payload received. Unknown name "stream_options": Cannot find '
        'field.', "details": [{"fieldViolations": [{"description": "Cannot find field."}]}]}}],
        usage),
    "passed on by a gateway": (400, {"error": {"message": "Provider returned error", "code": 400,
        "metadata": {"provider_name": "P", "raw": json.dumps(error("Invalid input",
        param="response_format"))}}}, form),
    "twice passed on": (400, {"error": {"message": "Error from provider: " + json.dumps(
        error("Provider returned error", metadata={"raw": json.dumps({"param": "response_format",
        "message": 'Unsupported JSON schema fields: ["minItems"]'})}))}}, schema),
    "a gateway's sentence": (400, error("litellm.UnsupportedParamsError: m does not support "
        "parameters: ['response_format'], for model=m. No fallback model group found.",
        code="400"), form),
    "only the older form": (500, error('response_format type must be one of "text" or '
        '"json_object", but got: json_schema', code=500), schema),
    "only a text as error": (400, {"error": "'response_format.type' must be 'text'"}, form),
    "another word for it": (400, {"object": "error", "code": 400, "message": "The provided JSON "
        "schema contains features not supported by xgrammar."}, schema),
    "the generation failed": (400, error("Failed to generate JSON. Please adjust your prompt.",
        code="json_validate_failed", failed_generation="The temperature is…"), form),
    "not found": (404, error("No endpoints found that support structured outputs", code=404),
        schema),
    "not implemented": (501, {"detail": "json_schema"}, schema),
    "media type": (415, "Unsupported Media Type", form),
    "names nothing": (400, {"message": "type: Input should be 'text'", "param": "validation_error",
        "code": "wrong_api_format"}, form),
    "names nothing of two": (400, {"detail": "Bad Request"},
        lambda sent: temperature(sent) or form(sent) or usage(sent)),
    "an empty body": (400, "", temperature),
    "no streams": (400, error("Your organization must be verified to stream this model.",
        param="stream", code="unsupported_value"), stream),
    "only streams": (400, error("parameter.enable_thinking must be set to false for non-streaming "
        "calls", code="invalid_parameter_error"), whole),
    "no system role": (400, {"object": "error", "message": "System role not supported",
        "type": "BadRequestError", "param": None, "code": 400}, system),
    "roles": (500, error("Conversation roles must alternate user/assistant/user/assistant/...",
        code=500), system),
    "lines of text": (422, {"error": "body -> temperature\n  Extra inputs are not permitted\n"
        "body -> stream_options\n  Extra inputs are not permitted"},
        lambda sent: temperature(sent) or usage(sent)),
    "broken JSON": (400, '{"error":{"message":"{"detail":[{"loc":["body","stream_options"],'
        '"input":true}]}","status":422}}', usage),
    "an error at the server": (500, "Internal Server Error", schema),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSALS)
def test_a_refused_feature_is_replaced_and_remembered(case: str) -> None:
    with serving(*REFUSALS[case]) as server:
        model = model_at(server)
        for _ in range(2):
            assert model.structured(PROMPT, Color)[0].color == "blue"
            assert "".join(one for one in model.stream(PROMPT) if isinstance(one, str)) == REPLY
            first, server.requests[:] = [*server.requests], []
    assert case == "the generation failed" or len(first) == 2
    assert case == "no streams" or any(stream(one.body) for one in first)


def test_models_of_one_server_share_what_was_learnt() -> None:
    with serving(400, error("temperature"), temperature) as server:
        first, second = model_at(server), model_at(server)
        first.structured(PROMPT, Color)
        server.requests.clear()
        second.structured(PROMPT, Color)
    assert [temperature(one.body) for one in server.requests] == [False]


def test_where_a_refusal_happened_is_not_what_is_refused() -> None:
    body = {"detail": "An error occurred when calling ConverseStream: temperature is deprecated"}
    with serving(400, body, temperature) as server:
        model_at(server).structured(PROMPT, Color)
    assert [(stream(one.body), temperature(one.body)) for one in server.requests] == [
        (False, True),
        (False, False),
    ]


def test_a_refusal_in_a_stream_is_one() -> None:
    body = json.dumps({"error": "`temperature` must be strictly positive", "error_type": "v"})

    def reply(request: Request) -> Scripted:
        if temperature(request.body) and stream(request.body):
            return RawReply(body=f"data: {body}\n\n".encode(), content_type="text/event-stream")
        return REPLY

    with OpenAIStandIn(reply) as server:
        assert next(iter(model_at(server).stream(PROMPT)))
    assert [temperature(one.body) for one in server.requests] == [True, False]


OTHERS: dict[str, tuple[int, Any]] = {
    "the key": (400, [{"error": {"code": 400, "message": "API key not valid.", "status":
        "INVALID_ARGUMENT", "details": [{"reason": "API_KEY_INVALID"}]}}]),
    "the quota": (400, error("You exceeded your current quota for max_tokens.",
        code="insufficient_quota")),
    "the context": (400, error("This model's maximum context length is 8192 tokens. However, you "
        "requested 9000 tokens (8000 in the messages, 1000 in max_tokens).", param="max_tokens",
        code="context_length_exceeded")),
    "the context in prose": (422, {"error": "Input validation error: `inputs` tokens + "
        "`max_new_tokens` must be <= 4096. Given: 5000 `inputs` tokens"}),
    "the content": (400, error("The response was filtered due to the prompt triggering our content "
        "management policy. Please set temperature.", param="prompt", code="content_filter")),
    "the model": (404, {"object": "error", "message": "The model `stream-1` does not exist.",
        "type": "NotFoundError", "param": None, "code": 404}),
    "the account": (400, error("Your credit balance is too low to access the API.")),
    "a model that is gone": (400, error("The model `m` has been decommissioned and is no longer "
        "supported.", code="model_decommissioned")),
    "the safety system": (400, error("Your request was rejected by our safety system.")),
    "the messages": (400, error("Invalid value", param="messages[1].content[0].image_url")),
    "the page": (404, "<html><title>404 temperature</title></html>"),
    "forbidden": (403, error("temperature")),
}  # fmt: skip


@pytest.mark.parametrize("case", OTHERS)
def test_another_error_leaves_everything_in_place(case: str) -> None:
    with serving(*OTHERS[case], lambda _: True) as server:
        model = model_at(server)
        for ask in (lambda: model.structured(PROMPT, Color), lambda: [*model.stream(PROMPT)]):
            with pytest.raises(ModelError, match=f"HTTP {OTHERS[case][0]}"):
                ask()
    assert len(server.requests) == 2


def test_an_unexplained_refusal_of_everything_is_searched_once() -> None:
    with serving(400, {"detail": "Bad Request"}, lambda _: True) as server:
        model = model_at(server)
        for most in (15, 1):
            server.requests.clear()
            with pytest.raises(ModelError, match="HTTP 400"):
                model.structured(PROMPT, Color)
            assert len(server.requests) <= most
