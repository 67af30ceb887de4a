"""Streams of other servers: how they end, and what is left out of them."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from langchain_core.messages import AIMessage
from pydantic import BaseModel

from config.chat_model import build_chat_model
from config.errors import ModelError
from config.models import ChatModel, Prompt, Usage
from config.servers.messages import parse_reply
from config.servers.replies import finish_reasons
from config.servers.streams import PacedStream, ending_of
from config.settings import Settings
from playground.openai_stand_in import OpenAIStandIn, RawReply, Request, Scripted

PROMPT = Prompt(name="color", version="1", system="You name colors.", user="Sky?", max_tokens=200)
TEXT = "The sky is blue [1]."
BLUE = '{"color": "blue"}'
DONE = "data: [DONE]\n\n"


class Color(BaseModel):
    color: str


def model_at(server: OpenAIStandIn, timeout: float = 45.0) -> ChatModel:
    settings = {"openai_base_url": server.base_url, "chat_model": "m"}
    model = build_chat_model(
        Settings.model_validate(settings), timeout_seconds=timeout, pause_seconds=0.0
    )
    assert model is not None
    return model


def sse(*deltas: Any, reason: str | None = "stop", end: str = DONE) -> str:
    """`deltas`: of one choice; a text is its content."""
    pieces = [
        {"choices": [{"index": 0, "delta": {"content": one} if isinstance(one, str) else one}]}
        for one in deltas
    ]
    if reason is not None:
        pieces.append({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]})
    return "".join(f"data: {json.dumps(one)}\n\n" for one in pieces) + end


def read(body: str) -> tuple[str, Usage]:
    reply = RawReply(body=body.encode(), content_type="text/event-stream")
    with OpenAIStandIn(lambda _: reply) as server:
        *pieces, usage = model_at(server).stream(PROMPT)
    assert isinstance(usage, Usage)
    return "".join(map(str, pieces)), usage


THINKING = {"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "Secret."}]}]}
WHOLE = {
    "a list of blocks": sse(THINKING, {"content": [{"type": "text", "text": TEXT}]}),
    "a field of its own": sse({"reasoning_content": "Secret."}, {"reasoning": "Secret."}, TEXT),
    "a piece without a delta": sse(TEXT, reason=None, end='data: {"choices": [{"index": 0, '
    '"finish_reason": "stop"}]}\n\n' + DONE),
    "an empty reason": sse({"content": TEXT[:7]}, TEXT[7:], reason=""),
    "no reason": sse(TEXT.rstrip("]."), "].", reason=None),
    "no reason and no last line": sse(TEXT, reason=None, end=""),
    "carriage returns": sse(TEXT).replace("\n", "\r\n"),
    "events that keep it alive": "retry: 3000\n\nevent: ping\n\ndata:\n\n" + sse(TEXT[:7],
    end="id: 1\ndata: ping\n\n: comment\n\n", reason=None) + sse(TEXT[7:]),
    "an event of several lines": "data: {\ndata: \"choices\": []}\r\n\r\n" + sse(TEXT),
    "a last event without an end": sse(TEXT).removesuffix("\n\n"),
    "a reason of its own": sse(TEXT, reason="eos_token"),
}  # fmt: skip


@pytest.mark.parametrize("body", WHOLE.values(), ids=WHOLE)
def test_a_stream_that_ended_properly_is_whole(body: str) -> None:
    text, usage = read(body)
    assert text == TEXT
    assert not usage.cut


@pytest.mark.parametrize("reason", ["content_filter", "length", "SAFETY", "refusal"])
def test_a_text_that_was_cut_is_reported_as_such(reason: str) -> None:
    assert read(sse(TEXT, "To raise", reason=reason)) == (TEXT + "To raise", ANY_CUT)


class _AnyCut:
    def __eq__(self, other: object) -> bool:
        return isinstance(other, Usage) and other.cut

    __hash__ = None  # type: ignore[assignment]


ANY_CUT = _AnyCut()
BROKEN = {
    "in a sentence": sse("The sky is", reason=None, end=""),
    "by an error": sse(TEXT, reason="error"),
    "by the server": sse(TEXT, reason="insufficient_system_resource"),
    "by an error object": sse(TEXT, end='data: {"error": {"code": 502, "message": "x"}}\n\n'),
}


@pytest.mark.parametrize("body", BROKEN.values(), ids=BROKEN)
def test_a_stream_that_broke_off_is_an_outage(body: str) -> None:
    with pytest.raises(ModelError):
        read(body)


def test_tokens_that_each_piece_counts_anew_are_counted_once() -> None:
    counts = [{"prompt_tokens": 7, "completion_tokens": n, "total_tokens": 7 + n} for n in (1, 2)]
    pieces = [
        {"choices": [{"index": 0, "delta": {"content": "Blue."}}], "usage": one} for one in counts
    ]
    body = "".join(f"data: {json.dumps(one)}\n\n" for one in pieces) + DONE
    assert read(body)[1] == Usage(calls=1, input_tokens=7, output_tokens=2)


def test_a_server_that_ignores_schemas_gets_them_in_words_from_then_on() -> None:
    with OpenAIStandIn(
        lambda request: BLUE if "JSON schema" in request.text else "It is blue."
    ) as server:
        model = model_at(server)
        for calls in (2, 1):
            assert model.structured(PROMPT, Color)[1].calls == calls


def test_a_schema_that_a_gateway_made_a_tool_is_read() -> None:
    call = {"id": "c", "type": "function", "function": {"name": "color", "arguments": BLUE}}
    message = {"role": "assistant", "content": None, "tool_calls": [call]}
    choice = {"index": 0, "message": message, "finish_reason": "tool_calls"}
    reply = RawReply(body=json.dumps({"choices": [choice]}).encode())
    with OpenAIStandIn(lambda _: reply) as server:
        assert model_at(server).structured(PROMPT, Color)[0].color == "blue"


@pytest.mark.parametrize(
    "text",
    [f'{{"color": {BLUE}}}', f"[{BLUE}]", f"Not {{a}} or {{'b': 1}}: {BLUE} {{c}}",
     f"<think>{{}}</think><json>{BLUE}</json>", f"{{}}? {BLUE}"],
)  # fmt: skip
def test_an_object_is_found_among_other_braces(text: str) -> None:
    assert parse_reply(text, Color).color == "blue"


@pytest.mark.parametrize(
    ("details", "ending"),
    [
        ({"status": "completed"}, "normal"),
        ({"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}, "cut"),
        ({"stopReason": "end_turn"}, "normal"),
        ({"finish_reason": "PROHIBITED_CONTENT"}, "filtered"),
        ({"model_name": "m"}, "unknown"),
    ],
)
def test_an_ending_is_read_from_any_protocol(details: dict[str, Any], ending: str) -> None:
    message = AIMessage("Blue.", response_metadata=details)
    assert ending_of([*finish_reasons(message)]) == ending


def test_an_error_before_the_first_text_is_retried() -> None:
    failed = sse({"role": "assistant"}, {"reasoning_content": "Hm."}, reason=None,
                 end='data: {"error": {"code": 503, "message": "busy"}}\n\n')  # fmt: skip
    bodies = [failed, sse(TEXT)]
    with OpenAIStandIn(
        lambda _: RawReply(body=bodies.pop(0).encode(), content_type="text/event-stream")
    ) as server:
        text, usage = model_at(server).stream(PROMPT)
    assert text == TEXT
    assert isinstance(usage, Usage)
    assert len(server.requests) == 2


def test_a_server_that_knows_no_streams_is_read_whole() -> None:
    with OpenAIStandIn({"": TEXT}) as server:
        answer = server.reply_to

        def reply(request: Request) -> Scripted:
            request.body.pop("stream", None)
            return answer(request)

        server.reply_to = reply  # type: ignore[method-assign]
        model = model_at(server)
        for _ in range(2):
            assert [*model.stream(PROMPT)][:-1] == [TEXT]
    assert len(server.requests) == 3


def test_a_reply_that_a_filter_withheld_is_not_sent_back() -> None:
    message = {"role": "assistant", "content": '{"color":'}
    choice = {"index": 0, "message": message, "finish_reason": "content_filter"}
    reply = RawReply(body=json.dumps({"choices": [choice]}).encode())
    with OpenAIStandIn(lambda _: reply) as server, pytest.raises(ModelError, match="withheld"):
        model_at(server).structured(PROMPT, Color)
    assert len(server.requests) == 1


def test_an_error_with_status_200_is_read_as_an_error() -> None:
    reply = RawReply(body=json.dumps({"error": {"code": 401, "message": "no"}}).encode())
    with OpenAIStandIn(lambda _: reply) as server, pytest.raises(ModelError, match="HTTP 401"):
        model_at(server).structured(PROMPT, Color)


def test_a_silent_stream_is_given_up_and_its_thread_ends() -> None:
    is_closed, more = threading.Event(), threading.Event()

    def pieces() -> Iterator[int]:
        try:
            yield 1
            more.wait(60)
            yield 2
        finally:
            is_closed.set()

    stream = PacedStream(pieces, 60)
    assert next(stream) == 1
    stream.seconds = 0.01
    with pytest.raises(TimeoutError):
        next(stream)
    more.set()
    assert is_closed.wait(60)


def test_an_asker_does_not_wait_for_a_stream_that_stalls() -> None:
    more = threading.Event()
    with OpenAIStandIn({"": TEXT}) as server:
        server.before_piece = lambda so_far: None if not so_far else (more.wait(60), None)[1]
        with pytest.raises(ModelError, match="no reply in time"):
            [*model_at(server, timeout=0.5).stream(PROMPT)]
        more.set()
