"""A chat model by LangChain: the OpenAI protocol, or another provider's integration.

Vendors' errors are translated here. A feature that the server rejects (JSON schemas, temperature,
usage in streams) is omitted after the first rejection."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

import structlog
from pydantic import BaseModel, ValidationError

from config.errors import InvalidModelOutput, ModelError, ModelUnavailable
from config.model_failures import as_model_error, is_outage, status_of, too_long, wait_before_retry
from config.models import (
    Messages,
    Prompt,
    Reply,
    TokenCount,
    Usage,
    describe,
    estimate,
    lose,
    messages_of,
    model_time_left,
    parse_reply,
    response_format,
    waiting_for_model,
    with_schema,
)
from config.providers import (
    OPENAI,
    secrets_of,
)
from telemetry.tracing import ModelCall

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel
    from langchain_core.messages import BaseMessage

log = structlog.get_logger()

T = TypeVar("T")

_FAIR_SECONDS = 10.0
"""A call that was given less time says nothing about the model when it gets no reply."""
_WARN_EVERY = 60.0
"""Seconds."""
_CHARACTERS_A_TOKEN = 8
"""Twice the usual number. A longer stream comes from a server that ignores `max_tokens`."""


class _Loaded(BaseModel):
    """A reply that nobody is asked for."""


class LangChainModel:
    """A chat model with the OpenAI protocol."""

    def __init__(
        self,
        name: str,
        *,
        connect: Callable[[Collection[str], int], BaseChatModel],
        check_key: str,
        check: str,
        retries: int,
        pause_seconds: float,
        timeout_seconds: float = float("inf"),
        provider: str = OPENAI,
    ) -> None:
        """`timeout_seconds`: the client's, which `model_time` may shorten for a call."""
        self.name = name
        self._provider = provider
        self._connect = connect
        self._check_key = check_key
        self._check = check
        self._retries = retries
        self._pause = pause_seconds
        self._timeout = timeout_seconds
        self._paused_until = 0.0
        self._warned_at: dict[str, float] = {}
        self._count_tokens = TokenCount(name)
        self._unsupported: set[str] = set()
        self._client: BaseChatModel | None = None

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r})"

    def connected(self) -> BaseChatModel:
        """The vendor's client, created on first use."""
        if self._client is None:
            self._client = self._connect(self._unsupported, 0)
        return self._client

    def structured(self, prompt: Prompt, reply: type[Reply]) -> tuple[Reply, Usage]:
        """One validated reply. An invalid one is sent back once, with its problems."""
        messages = messages_of(prompt)
        text, usage = self._complete(prompt, messages, reply)
        try:
            return parse_reply(text, reply), usage
        except ValidationError as error:
            problem = describe(error)
        if usage.cut:  # the repair would be cut off, too
            lose(usage)
            raise too_long(prompt)
        messages += [
            ("assistant", text or "(empty)"),
            ("user", f"That reply is not valid: {problem}. Send the corrected JSON object only."),
        ]
        try:
            text, more = self._complete(prompt, messages, reply)
        except ModelError:
            lose(usage)
            raise
        try:
            return parse_reply(text, reply), usage + more
        except ValidationError as error:
            lose(usage + more)
            if more.cut:
                raise too_long(prompt) from None
            raise InvalidModelOutput(
                f"the reply to {prompt.name!r} is still invalid after a repair: {describe(error)}"
            ) from None

    def stream(self, prompt: Prompt) -> Iterator[str | Usage]:
        """Yields text deltas, then the Usage. Raises ModelUnavailable when the stream breaks off;
        ends one that exceeds its limit because the server ignores `max_tokens`."""
        messages, size = messages_of(prompt), 0
        with self._watched(prompt) as call:
            try:
                for piece in self._streamed(prompt, messages):
                    if isinstance(piece, Usage):
                        piece = self._count_tokens(piece, messages, size)
                        call.used(piece.input_tokens, piece.output_tokens)
                    else:
                        size += len(piece.encode())
                    yield piece
            except ModelError:
                if size:
                    lose(replace(estimate(messages, size), calls=1))
                raise

    @contextmanager
    def _watched(self, prompt: Prompt) -> Iterator[ModelCall]:
        call = ModelCall(
            self.name, provider=self._provider, prompt=prompt.name, max_tokens=prompt.max_tokens
        )
        try:
            yield call
        except BaseException as error:
            # A caller may stop reading a stream: GeneratorExit.
            call.end(error.kind if isinstance(error, ModelError) else "left", error)
            raise
        call.end("ok")

    def _streamed(self, prompt: Prompt, messages: Messages) -> Iterator[str | Usage]:
        def begin() -> tuple[BaseMessage | None, Iterator[BaseMessage]]:
            pieces = self._pieces(prompt, messages)
            return next(pieces, None), pieces

        piece, pieces = self._attempt(prompt, begin)
        usage, finished = Usage(calls=1), False
        room = prompt.max_tokens * _CHARACTERS_A_TOKEN
        while piece is not None:
            if piece.text:
                yield str(piece.text)[:room]
                room -= len(piece.text)
            usage += _usage(piece, calls=0)
            if room <= 0:
                usage, finished = usage + Usage(cut=True), True
                break
            finished = finished or any(_finish_reasons(piece))
            try:
                with waiting_for_model():
                    piece = next(pieces, None)
            except Exception as error:  # the HTTP stack raises many types when a stream breaks
                self._fail(prompt, error)
        if close := getattr(pieces, "close", None):
            close()
        if not finished:
            raise ModelUnavailable(
                f"the model's answer to {prompt.name!r} broke off", kind="broke_off"
            )
        yield usage

    def load(self) -> None:
        """Imports and builds what the first call needs, about two seconds. Sends no request."""
        self.connected()
        response_format("loaded", _Loaded)

    def _complete(
        self, prompt: Prompt, messages: Messages, reply: type[BaseModel]
    ) -> tuple[str, Usage]:
        with self._watched(prompt) as call:
            message = self._attempt(prompt, lambda: self._replied(prompt, messages, reply))
            usage = _usage(message, calls=1)
            usage = self._count_tokens(usage, messages, len(str(message.text).encode()))
            call.used(usage.input_tokens, usage.output_tokens)
        return str(message.text), usage

    def _replied(self, prompt: Prompt, messages: Messages, reply: type[BaseModel]) -> BaseMessage:
        options = self._options(prompt, schema=response_format(prompt.name, reply))
        full_messages = messages if "response_format" in options else with_schema(messages, reply)
        return self.connected().invoke(full_messages, **options)

    def _pieces(self, prompt: Prompt, messages: Messages) -> Iterator[BaseMessage]:
        return self.connected().stream(messages, **self._options(prompt, streaming=True))

    def _options(
        self, prompt: Prompt, *, schema: dict[str, Any] | None = None, streaming: bool = False
    ) -> dict[str, Any]:
        options: dict[str, Any] = {"temperature": 0, "max_tokens": prompt.max_tokens}
        if schema:
            options["response_format"] = schema
        if streaming:
            options["stream_usage"] = True
        if (left := model_time_left()) < self._timeout:
            options["timeout"] = left
        return {name: value for name, value in options.items() if name not in self._unsupported}

    def _attempt(self, prompt: Prompt, call: Callable[[], T]) -> T:
        """Makes the call. Omits rejected features; retries temporary failures after short waits."""
        with waiting_for_model():
            return self._retried(prompt, call)

    def _retried(self, prompt: Prompt, call: Callable[[], T]) -> T:
        if time.monotonic() < self._paused_until:
            raise ModelUnavailable(
                "the model did not respond a moment ago; not asked again yet", kind="paused"
            )
        failures = 0
        while True:
            left = model_time_left()
            try:
                return call()
            except Exception as error:  # the one place that handles vendors' errors
                if self._leave_out(error):
                    continue
                wait = wait_before_retry(error, failures)
                failures += 1
                if wait is None or failures > self._retries:
                    self._fail(prompt, error, patient=left >= _FAIR_SECONDS)
                time.sleep(wait)

    def _leave_out(self, error: Exception) -> bool:
        """Whether the server refused an optional feature that the next request can omit."""
        message = str(error).lower()
        by_client = isinstance(error, ValueError) and "not supported" in message
        if not by_client and status_of(error) not in (400, 422):
            return False
        for feature, words in (
            ("temperature", ("temperature",)),
            ("max_tokens", ("max_tokens", "max_completion_tokens", "max_output_tokens")),
            ("stream_usage", ("stream_options", "include_usage")),
            ("response_format", ("response_format", "json_schema", "schema", "output_config")),
        ):
            if feature not in self._unsupported and any(word in message for word in words):
                self._unsupported.add(feature)
                return True
        return False

    def _fail(self, prompt: Prompt, error: Exception, *, patient: bool = True) -> NoReturn:
        if isinstance(error, ModelError):
            raise error
        failure = as_model_error(prompt, error, check_key=self._check_key, check=self._check)
        if is_outage(error) and (patient or failure.kind != "timeout"):
            self._paused_until = time.monotonic() + self._pause
        self._warn(failure)
        # A server may echo the key in its error; then the cause must not reach a log.
        keys = secrets_of(self._client) if self._client else []
        leaks = any(key in repr(error) for key in keys)
        raise failure from (None if leaks else error)

    def _warn(self, failure: ModelError) -> None:
        """Log why, for each kind of failure at most once a minute."""
        now = time.monotonic()
        if now - self._warned_at.get(failure.kind, float("-inf")) >= _WARN_EVERY:
            self._warned_at[failure.kind] = now
            log.warning(
                "a model call failed",
                model=self.name,
                reason=failure.kind,
                cause=failure.problem,
                remedy=failure.remedy,
            )


class ProviderModel(LangChainModel):
    """A chat model with another provider's protocol.

    The options of a call differ between integrations. So options are set when a client is created,
    one client for each token limit, and LangChain passes the schema."""

    def __init__(self, name: str, **settings: Any) -> None:
        super().__init__(name, **settings)
        self._bounded: dict[int, BaseChatModel] = {}

    def _client_for(self, prompt: Prompt) -> BaseChatModel:
        limit = 0 if "max_tokens" in self._unsupported else prompt.max_tokens
        if limit not in self._bounded:
            self._bounded[limit] = self._connect(self._unsupported, limit)
        return self._bounded[limit]

    def _replied(self, prompt: Prompt, messages: Messages, reply: type[BaseModel]) -> BaseMessage:
        client = self._client_for(prompt)
        if "response_format" not in self._unsupported:
            try:
                structured: Any = client.with_structured_output(
                    reply, method="json_schema", include_raw=True
                )
            except (TypeError, ValueError, NotImplementedError):
                self._unsupported.add("response_format")
            else:
                raw: BaseMessage = structured.invoke(messages)["raw"]
                return raw
        return client.invoke(with_schema(messages, reply))

    def _pieces(self, prompt: Prompt, messages: Messages) -> Iterator[BaseMessage]:
        return self._client_for(prompt).stream(messages)

    def _leave_out(self, error: Exception) -> bool:
        if left_out := super()._leave_out(error):
            self._client, self._bounded = None, {}
        return left_out


def _usage(message: BaseMessage, *, calls: int) -> Usage:
    """0 tokens where the server counts none."""
    counted = getattr(message, "usage_metadata", None) or {}
    return Usage(
        calls=calls,
        input_tokens=counted.get("input_tokens", 0),
        output_tokens=counted.get("output_tokens", 0),
        cut=bool({"length", "max_tokens"} & set(_finish_reasons(message))),
    )


def _finish_reasons(message: BaseMessage) -> Iterator[str]:
    """`finish_reason`, `stop_reason`, `done_reason` or `stopReason`; the last piece has one."""
    for key, value in message.response_metadata.items():
        if "reason" in key.lower() and value:
            yield str(value).lower()
