"""A chat model by LangChain: the OpenAI protocol, or another provider's integration.

Vendors' errors are translated here. A feature that the server refuses is replaced or left out, see
`config/servers`."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING, Any

import structlog
from pydantic import BaseModel, ValidationError

from config.errors import InvalidModelOutput, ModelError, ModelUnavailable
from config.model_failures import too_long, withheld
from config.models import (
    Messages,
    Prompt,
    Reply,
    TokenCount,
    Usage,
    estimate,
    lose,
    model_time_left,
    waiting_for_model,
)
from config.providers import OPENAI, secrets_of, uses_responses_api
from config.servers.attempts import Attempts
from config.servers.capabilities import Fallbacks, Feature, capabilities_of
from config.servers.messages import (
    describe,
    is_formless,
    messages_of,
    parse_reply,
    response_format,
    with_schema,
    without_system,
)
from config.servers.refusals import EmptyStream
from config.servers.replies import StreamReading, finish_reasons, text_of, usage_of
from config.servers.streams import IDLE_SECONDS, PacedStream, ending_of
from config.servers.thoughts import ThoughtFilter, without_thoughts
from telemetry.tracing import ModelCall

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel
    from langchain_core.messages import BaseMessage

log = structlog.get_logger()

_GRACE = 1.0  # seconds in which a client's own timeout comes first
_WHOLE: tuple[Feature, ...] = ("schema", "temperature", "limit", "system", "usage", "whole")
_STREAM: tuple[Feature, ...] = ("usage", "temperature", "limit", "system", "stream")


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
        server: str = "",
    ) -> None:
        """`timeout_seconds`: the client's; `model_time` may shorten it. `server`: its base URL."""
        self.name = name
        self._provider = provider
        self._connect = connect
        self._timeout = timeout_seconds
        self._count_tokens = TokenCount(name)
        self.capabilities = capabilities_of(server or provider, name)
        self._attempt = Attempts(
            name, check_key, check, retries, pause_seconds, self._secrets, self.capabilities
        )
        self._client: BaseChatModel | None = None

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r})"

    def _secrets(self) -> list[str]:
        return secrets_of(self._client) if self._client else []

    def connected(self) -> BaseChatModel:
        """The vendor's client, created on first use."""
        if self._client is None:
            self._client = self._connect((), 0)
        return self._client

    def structured(self, prompt: Prompt, reply: type[Reply]) -> tuple[Reply, Usage]:
        """One validated reply. An invalid one is sent back once, with its problems."""
        messages = messages_of(prompt)
        text, usage = self._complete(prompt, messages, reply)
        try:
            return parse_reply(text, reply), usage
        except ValidationError as error:
            problem = describe(error)
            if text and is_formless(error) and not usage.cut:
                self.capabilities.note("loose schema")
        if usage.cut:  # the repair would be cut off, too
            lose(usage)
            raise too_long(prompt)
        messages += [
            ("assistant", without_thoughts(text) or "(empty)"),
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
        messages = messages_of(prompt)
        waits = self.capabilities.has("lone tag")
        reading = StreamReading(prompt, waits=waits, sums=self._provider != OPENAI)
        with self._watched(prompt) as call:
            try:
                for piece in self._streamed(prompt, messages, reading):
                    if isinstance(piece, Usage):
                        piece = self._count_tokens(piece, messages, reading.size)
                        call.used(piece.input_tokens, piece.output_tokens)
                    yield piece
            except ModelError:
                if reading.size:
                    lose(replace(estimate(messages, reading.size), calls=1))
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

    def _streamed(
        self, prompt: Prompt, messages: Messages, reading: StreamReading
    ) -> Iterator[str | Usage]:
        pieces, paced = self._attempt(
            prompt, lambda one: self._begun(prompt, messages, one), _STREAM
        )
        try:
            piece = next(pieces, None)
            while piece is not None and reading.room > 0:
                if text := reading.add(piece):
                    yield text
                if reading.end and paced:
                    paced.seconds = min(self._timeout, IDLE_SECONDS)
                with waiting_for_model():
                    piece = next(pieces, None)
        except Exception as error:  # the HTTP stack raises many types when a stream breaks
            self._attempt.fail(prompt, error)
        finally:
            if paced:
                paced.close()
        ending = reading.ending
        if ending == "broken":
            raise ModelUnavailable(
                f"the model's answer to {prompt.name!r} broke off", kind="broke_off"
            )
        if ending == "unknown" and self.capabilities.note("no reason"):
            log.warning("a model's server doesn't say why a reply ends", model=self.name)
        if text := reading.thoughts.close():
            yield text
        self.capabilities.note_thoughts(reading.thoughts)
        yield reading.usage + Usage(cut=ending in ("cut", "filtered"))

    def _begun(
        self, prompt: Prompt, messages: Messages, fallbacks: Fallbacks
    ) -> tuple[Iterator[BaseMessage], PacedStream[BaseMessage] | None]:
        """The pieces of a stream, read up to the first text: before it, an error costs nothing."""
        if fallbacks.get("stream"):
            return iter([self._whole(prompt, messages, fallbacks)]), None
        paced = self._paced(prompt, messages, fallbacks)
        silent: list[BaseMessage] = []
        try:
            for piece in paced:
                silent.append(piece)
                if piece.text or any(finish_reasons(piece)) or len(silent) >= prompt.max_tokens:
                    break
        except BaseException as error:
            paced.close()
            if "No generation chunks" in str(error):
                raise EmptyStream from None
            raise
        if not silent:
            raise EmptyStream
        return chain(silent, paced), paced

    def _paced(
        self,
        prompt: Prompt,
        messages: Messages,
        fallbacks: Fallbacks,
        form: dict[str, Any] | None = None,
    ) -> PacedStream[BaseMessage]:
        patience = min(self._timeout, model_time_left()) + _GRACE
        return PacedStream(lambda: self._pieces(prompt, messages, fallbacks, form), patience)

    def load(self) -> None:
        """Imports and builds what the first call needs, about two seconds. Sends no request."""
        self.connected()
        response_format("loaded", _Loaded)

    def _complete(
        self, prompt: Prompt, messages: Messages, reply: type[BaseModel]
    ) -> tuple[str, Usage]:
        with self._watched(prompt) as call:
            message = self._attempt(
                prompt, lambda one: self._replied(prompt, messages, reply, one), _WHOLE
            )
            text, usage = text_of(message), usage_of(message, calls=1)
            usage = self._count_tokens(usage, messages, len(text.encode()))
            call.used(usage.input_tokens, usage.output_tokens)
            if ending_of([*finish_reasons(message)]) == "filtered":
                lose(usage)
                raise withheld(prompt)
        thoughts = ThoughtFilter()
        thoughts.feed(text)
        self.capabilities.note_thoughts(thoughts)
        return text, usage

    def _replied(
        self, prompt: Prompt, messages: Messages, reply: type[BaseModel], fallbacks: Fallbacks
    ) -> BaseMessage:
        steps = fallbacks.get("schema", 0)
        forms = (response_format(prompt.name, reply), {"type": "json_object"}, None)
        in_words = steps or self.capabilities.has("loose schema")
        form, asking = forms[steps], with_schema(messages, reply) if in_words else messages
        if not fallbacks.get("whole"):
            return self._whole(prompt, asking, fallbacks, form)
        pieces = self._paced(prompt, asking, fallbacks, form)
        try:
            message: Any = next(pieces)
            for piece in pieces:
                message += piece
        finally:
            pieces.close()
        return message  # type: ignore[no-any-return]

    def _whole(
        self,
        prompt: Prompt,
        messages: Messages,
        fallbacks: Fallbacks,
        form: dict[str, Any] | None = None,
    ) -> BaseMessage:
        options = self._options(prompt, fallbacks, form)
        return self.connected().invoke(_in_roles(messages, fallbacks), **options)

    def _pieces(
        self,
        prompt: Prompt,
        messages: Messages,
        fallbacks: Fallbacks,
        form: dict[str, Any] | None = None,
    ) -> Iterator[BaseMessage]:
        options = self._options(prompt, fallbacks, form)
        options["stream_usage"] = not fallbacks.get("usage")
        return self.connected().stream(_in_roles(messages, fallbacks), **options)

    def _options(
        self, prompt: Prompt, fallbacks: Fallbacks, form: dict[str, Any] | None
    ) -> dict[str, Any]:
        options: dict[str, Any] = {} if fallbacks.get("temperature") else {"temperature": 0}
        # The client renames `max_tokens`, and reads replies with a `response_format` by rules of
        # its own: what stands in `extra_body` goes out as it is.
        body: dict[str, Any] = {}
        if form:
            place = options if uses_responses_api(self.connected()) else body
            place["response_format"] = form
        if not fallbacks.get("limit"):
            options["max_tokens"] = prompt.max_tokens
        elif fallbacks["limit"] == 1:
            body["max_tokens"] = prompt.max_tokens
        if body:
            options["extra_body"] = body
        if (left := model_time_left()) < self._timeout:
            options["timeout"] = left
        return options


class ProviderModel(LangChainModel):
    """A chat model with another provider's protocol.

    The options of a call differ between integrations. So options are set when a client is created,
    one client for each token limit, and LangChain passes the schema."""

    def __init__(self, name: str, **settings: Any) -> None:
        super().__init__(name, **settings)
        self._clients: dict[tuple[frozenset[str], int], BaseChatModel] = {}

    def _client_for(self, prompt: Prompt, fallbacks: Fallbacks) -> BaseChatModel:
        options = {"temperature": "temperature", "usage": "stream_usage"}
        without = frozenset(name for one, name in options.items() if fallbacks.get(one))  # type: ignore[call-overload]
        key = without, 0 if fallbacks.get("limit") else prompt.max_tokens
        if key not in self._clients:
            self._clients[key] = self._connect(*key)
        return self._clients[key]

    def _replied(
        self, prompt: Prompt, messages: Messages, reply: type[BaseModel], fallbacks: Fallbacks
    ) -> BaseMessage:
        client = self._client_for(prompt, fallbacks)
        if not fallbacks.get("schema"):
            structured: Any = None
            with suppress(TypeError, ValueError, NotImplementedError):
                structured = client.with_structured_output(
                    reply, method="json_schema", include_raw=True
                )
            if structured is not None:
                raw: BaseMessage = structured.invoke(_in_roles(messages, fallbacks))["raw"]
                return raw
        return client.invoke(_in_roles(with_schema(messages, reply), fallbacks))

    def _whole(
        self, prompt: Prompt, messages: Messages, fallbacks: Fallbacks, form: Any = None
    ) -> BaseMessage:
        return self._client_for(prompt, fallbacks).invoke(_in_roles(messages, fallbacks))

    def _pieces(
        self, prompt: Prompt, messages: Messages, fallbacks: Fallbacks, form: Any = None
    ) -> Iterator[BaseMessage]:
        return self._client_for(prompt, fallbacks).stream(_in_roles(messages, fallbacks))


def _in_roles(messages: Messages, fallbacks: Fallbacks) -> Messages:
    return without_system(messages) if fallbacks.get("system") else messages
