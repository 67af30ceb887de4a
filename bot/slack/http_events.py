"""Slack's events over HTTP, in place of Socket Mode."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import TYPE_CHECKING, Protocol
from urllib.parse import parse_qsl

import structlog
from fastapi import FastAPI, HTTPException, Request, Response
from pydantic import SecretStr
from slack_bolt import App

from config.parsing.strict_json import JunkJsonError, read_json

if TYPE_CHECKING:
    from slack_sdk.signature import SignatureVerifier


def is_slack_body(body: bytes, content_type: str) -> bool:
    """Whether a signed body has Slack's shape, which Bolt relies on: the JSON of an event, or the
    form of a command or of an interaction, whose `payload` is JSON."""
    if content_type.partition(";")[0].strip() == "application/json" or body.startswith(b"{"):
        return _is_request(body)
    try:
        fields = dict(parse_qsl(body.decode("utf-8"), keep_blank_values=True, max_num_fields=100))
    except ValueError:  # no UTF-8, or too many fields
        return False
    return "payload" not in fields or _is_request(fields["payload"].encode("utf-8", "replace"))


def _is_request(text: bytes) -> bool:
    try:
        request = read_json(text)
    except JunkJsonError:
        return False
    # Bolt returns the challenge as it came.
    return isinstance(request, dict) and isinstance(request.get("challenge", ""), str)


log = structlog.get_logger()

SLACK_THREADS = 32
_NOT_SLACKS = "this is no request as Slack makes them"
_MALFORMED = (AttributeError, IndexError, KeyError, TypeError, ValueError)
"""Errors of Bolt and this module on a field of the wrong type."""
_TIMESTAMP = re.compile("[0-9]{1,12}")


class Startable(Protocol):
    """Runs as long as the server: the bot, or the warm-up of the agents."""

    def start(self) -> None: ...

    def stop(self) -> None: ...


def lifespan_of(*parts: Startable) -> Callable[[FastAPI], AbstractAsyncContextManager[None]]:
    """A server's lifespan that starts its parts and drains them with it, the last one first."""

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        for part in parts:
            await asyncio.to_thread(part.start)
        yield
        for part in reversed(parts):
            await asyncio.to_thread(part.stop)

    return lifespan


def add_slack(app: FastAPI, bolt: App, signing_secret: SecretStr) -> None:
    """Serve Slack's signed requests in their own threads: slow answers can't delay an ack.

    Unsigned requests take none of the threads. The app limits the size of a body."""
    from slack_bolt.adapter.starlette.handler import to_bolt_request, to_starlette_response
    from slack_sdk.signature import SignatureVerifier

    bolt.error(_raise)
    threads = ThreadPoolExecutor(SLACK_THREADS, thread_name_prefix="slack-events")
    verifier = SignatureVerifier(signing_secret.get_secret_value())

    @app.post("/slack/events", include_in_schema=False)
    async def slack_events(request: Request) -> Response:
        body = await request.body()
        if not _is_signed(verifier, request, body):
            raise HTTPException(401, "the signature is missing, wrong or too old")
        if not is_slack_body(body, request.headers.get("content-type", "")):
            raise HTTPException(400, _NOT_SLACKS)
        loop = asyncio.get_running_loop()
        try:
            bolt_request = to_bolt_request(request, body)
            bolt_response = await loop.run_in_executor(threads, bolt.dispatch, bolt_request)
        except _MALFORMED as error:
            log.error("slack request could not be parsed", exc_info=error)
            raise HTTPException(400, _NOT_SLACKS) from None
        return to_starlette_response(bolt_response)


def _raise(error: Exception) -> None:
    """Bolt's own handler answers 500 to everything."""
    raise error


def _is_signed(verifier: SignatureVerifier, request: Request, body: bytes) -> bool:
    """Takes any input: the verifier itself raises for a body that is no text, or a junk time."""
    timestamp = request.headers.get("x-slack-request-timestamp", "")
    signature = request.headers.get("x-slack-signature", "")
    if not _TIMESTAMP.fullmatch(timestamp) or not signature.isascii():
        return False
    try:
        return verifier.is_valid(body, timestamp, signature)
    except UnicodeDecodeError:
        return False
