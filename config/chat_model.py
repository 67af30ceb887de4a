"""The chat model: any OpenAI-compatible server, reached through LangChain's OpenAI client.

The vendor's errors end here. What the server refuses to support (JSON schemas, temperature,
usage in streams) is found out on the first refusal and left out afterwards."""

from __future__ import annotations

import json
import random
import re
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

from pydantic import BaseModel, ValidationError

from config.errors import InvalidModelOutput, ModelError, ModelUnavailable
from config.models import ChatModel, Prompt, Reply, Usage
from config.settings import Settings

if TYPE_CHECKING:
    from langchain_core.messages import BaseMessage
    from langchain_openai import ChatOpenAI

T = TypeVar("T")

_RETRY_STATUS = frozenset({408, 409, 429, 500, 502, 503, 504})
_LONGEST_WAIT = 5.0
"""Seconds. Someone waits for this answer: rather extractive now than better in a minute."""


def build_chat_model(
    settings: Settings,
    *,
    timeout_seconds: float = 45.0,
    retries: int = 2,
    pause_seconds: float = 20.0,
) -> ChatModel | None:
    """The configured model, or None when none is configured.

    `timeout_seconds` is per request (per read while streaming); after a timeout or a refused
    connection, calls fail at once for `pause_seconds`, so that an outage costs one wait, not one
    for every agent."""
    if not settings.has_chat_model() or settings.chat_model is None:
        return None
    key = settings.openai_api_key.get_secret_value() if settings.openai_api_key else ""
    return OpenAIChatModel(
        settings.chat_model,
        key=key,
        base_url=settings.openai_base_url,
        timeout_seconds=timeout_seconds,
        retries=retries,
        pause_seconds=pause_seconds,
    )


class OpenAIChatModel:
    """A chat model behind the OpenAI protocol."""

    def __init__(
        self,
        name: str,
        *,
        key: str,
        base_url: str | None,
        timeout_seconds: float,
        retries: int,
        pause_seconds: float,
    ) -> None:
        self._name = name
        self._key = key
        self._base_url = base_url
        self._timeout = timeout_seconds
        self._retries = retries
        self._pause = pause_seconds
        self._paused_until = 0.0
        self._unsupported: set[str] = set()
        self._connected: ChatOpenAI | None = None

    def __repr__(self) -> str:
        return f"OpenAIChatModel({self._name!r}, base_url={self._base_url!r})"

    @property
    def name(self) -> str:
        return self._name

    def structured(self, prompt: Prompt, reply: type[Reply]) -> tuple[Reply, Usage]:
        """One validated reply; an invalid one is sent back once, with what is wrong about it."""
        messages = [("system", prompt.system), ("user", prompt.user)]
        text, usage = self._complete(prompt, messages, reply)
        try:
            return parse_reply(text, reply), usage
        except ValidationError as error:
            problem = describe(error)
        messages += [
            ("assistant", text or "(empty)"),
            ("user", f"That reply is not valid: {problem}. Send the corrected JSON object only."),
        ]
        text, more = self._complete(prompt, messages, reply)
        try:
            return parse_reply(text, reply), usage + more
        except ValidationError as error:
            raise InvalidModelOutput(
                f"the reply to {prompt.name!r} is still invalid after a repair: {describe(error)}"
            ) from None

    def stream(self, prompt: Prompt) -> Iterator[str | Usage]:
        """Text deltas, then the Usage. A stream that breaks off raises ModelUnavailable."""
        messages = [("system", prompt.system), ("user", prompt.user)]

        def begin() -> tuple[BaseMessage | None, Iterator[BaseMessage]]:
            pieces = iter(self._client().stream(messages, **self._options(streaming=True)))
            return next(pieces, None), pieces

        piece, pieces = self._attempt(prompt, begin)
        usage, finished = Usage(calls=1), False
        while piece is not None:
            if piece.text:
                yield str(piece.text)
            usage += _usage(piece, calls=0)
            finished = finished or bool(piece.response_metadata.get("finish_reason"))
            try:
                piece = next(pieces, None)
            except Exception as error:  # whatever the HTTP stack throws when a stream breaks
                self._fail(prompt, error)
        if not finished:
            raise ModelUnavailable(f"the model's answer to {prompt.name!r} broke off")
        yield usage

    def _complete(
        self, prompt: Prompt, messages: list[tuple[str, str]], reply: type[BaseModel]
    ) -> tuple[str, Usage]:
        def call() -> BaseMessage:
            options = self._options(schema=_response_format(prompt.name, reply))
            sent = messages if "response_format" in options else _with_schema(messages, reply)
            return self._client().invoke(sent, **options)

        message = self._attempt(prompt, call)
        return str(message.text), _usage(message, calls=1)

    def _options(
        self, *, schema: dict[str, Any] | None = None, streaming: bool = False
    ) -> dict[str, Any]:
        wanted: dict[str, Any] = {"temperature": 0}
        if schema:
            wanted["response_format"] = schema
        if streaming:
            wanted["stream_usage"] = True
        return {name: value for name, value in wanted.items() if name not in self._unsupported}

    def _attempt(self, prompt: Prompt, call: Callable[[], T]) -> T:
        """Call; leave out what the server refuses; repeat what may pass, with short waits."""
        if time.monotonic() < self._paused_until:
            raise ModelUnavailable("the model did not respond a moment ago; not asked again yet")
        failures = 0
        while True:
            try:
                return call()
            except Exception as error:  # the one place where vendors' errors are known
                if self._leave_out(error):
                    continue
                wait = _wait_before_retry(error, failures)
                failures += 1
                if wait is None or failures > self._retries:
                    self._fail(prompt, error)
                time.sleep(wait)

    def _leave_out(self, error: Exception) -> bool:
        """Whether the server refused an optional feature that the next request can omit."""
        if getattr(error, "status_code", None) not in (400, 422):
            return False
        said = str(error).lower()
        for feature, words in (
            ("temperature", ("temperature",)),
            ("stream_usage", ("stream_options", "include_usage")),
            ("response_format", ("response_format", "json_schema", "schema")),
        ):
            if feature not in self._unsupported and any(word in said for word in words):
                self._unsupported.add(feature)
                return True
        return False

    def _fail(self, prompt: Prompt, error: Exception) -> NoReturn:
        if isinstance(error, ModelError):
            raise error
        if _is_outage(error):
            self._paused_until = time.monotonic() + self._pause
        failure = _as_model_error(prompt, error)
        # A server may echo the key in its refusal; then the cause must not reach a log.
        raise failure from (None if self._key and self._key in repr(error) else error)

    def _client(self) -> ChatOpenAI:
        if self._connected is None:
            from langchain_openai import ChatOpenAI
            from pydantic import SecretStr

            self._connected = ChatOpenAI(
                model=self._name,
                api_key=SecretStr(self._key or "none"),
                base_url=self._base_url,
                timeout=self._timeout,
                max_retries=0,
            )
        return self._connected


def parse_reply(text: str, reply: type[Reply]) -> Reply:
    """The JSON object in a reply, also when prose, a fence or a think block surrounds it."""
    body = re.sub(r"<think>.*?</think>", "", text, flags=re.DOTALL)
    start, end = body.find("{"), body.rfind("}")
    return reply.model_validate_json(body[start : end + 1] if 0 <= start < end else body)


def describe(error: ValidationError) -> str:
    """The first three problems, each with its place; never the input itself."""
    problems = [
        f"{'.'.join(map(str, item['loc'])) or 'reply'}: {item['msg']}" for item in error.errors()
    ]
    return "; ".join(problems[:3])


def _response_format(name: str, reply: type[BaseModel]) -> dict[str, Any]:
    from openai import pydantic_function_tool

    tool: Any = pydantic_function_tool(reply)["function"]
    schema = {"name": name, "strict": True, "schema": tool["parameters"]}
    return {"type": "json_schema", "json_schema": schema}


def _with_schema(messages: list[tuple[str, str]], reply: type[BaseModel]) -> list[tuple[str, str]]:
    (role, system), *rest = messages
    schema = json.dumps(reply.model_json_schema())
    wanted = f"{system}\n\nReply with one JSON object that fits this JSON schema:\n{schema}"
    return [(role, wanted), *rest]


def _usage(message: BaseMessage, *, calls: int) -> Usage:
    counted = getattr(message, "usage_metadata", None) or {}
    return Usage(
        calls=calls,
        input_tokens=counted.get("input_tokens", 0),
        output_tokens=counted.get("output_tokens", 0),
    )


def _wait_before_retry(error: Exception, failures: int) -> float | None:
    """Seconds to wait, or None when another try is pointless or would keep someone waiting."""
    status = getattr(error, "status_code", None)
    if status not in _RETRY_STATUS and not _is_refused_connection(error):
        return None
    asked = _retry_after(error)
    if asked is not None:
        return asked if asked <= _LONGEST_WAIT else None
    wait: float = 0.4 * 2**failures * random.uniform(0.75, 1.25)  # noqa: S311 - jitter
    return wait


def _retry_after(error: Exception) -> float | None:
    headers = getattr(getattr(error, "response", None), "headers", None) or {}
    try:
        return max(0.0, float(headers.get("retry-after", "")))
    except (TypeError, ValueError):
        return None


def _is_refused_connection(error: Exception) -> bool:
    import openai

    return isinstance(error, openai.APIConnectionError) and not _is_timeout(error)


def _is_timeout(error: Exception) -> bool:
    import openai

    return isinstance(error, openai.APITimeoutError) or "timeout" in type(error).__name__.lower()


def _is_outage(error: Exception) -> bool:
    return _is_timeout(error) or _is_refused_connection(error)


def _as_model_error(prompt: Prompt, error: Exception) -> ModelError:
    """Status or kind of failure only: a server's own words may hold keys or prompts."""
    import openai

    asked = f"the model could not answer {prompt.name!r}"
    status = getattr(error, "status_code", None)
    if status in (401, 403):
        return ModelUnavailable(f"{asked}: HTTP {status}", remedy="check OPENAI_API_KEY")
    if status == 404:
        return ModelUnavailable(
            f"{asked}: HTTP 404", remedy="check ONCALL_CHAT_MODEL and OPENAI_BASE_URL"
        )
    if status:
        return ModelUnavailable(f"{asked}: HTTP {status}")
    if _is_timeout(error):
        return ModelUnavailable(f"{asked}: no reply in time")
    if isinstance(error, (openai.APIConnectionError, openai.APIError, OSError)):
        return ModelUnavailable(f"{asked}: {type(error).__name__}")
    if type(error).__module__.split(".")[0] in ("httpx", "httpx2", "httpcore", "httpcore2", "h11"):
        return ModelUnavailable(f"{asked}: the connection broke ({type(error).__name__})")
    return InvalidModelOutput(f"the model's reply to {prompt.name!r} is malformed")
