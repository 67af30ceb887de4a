"""Slack's events over HTTP, where there is no socket.

Whether a signed body is made as Slack makes them: what reads it further on relies on that."""

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
    """JSON of an event, or a form: of a command, or around the JSON of an interaction."""
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
    # A challenge is said back.
    return isinstance(request, dict) and isinstance(request.get("challenge", ""), str)


log = structlog.get_logger()

SLACK_THREADS = 32
_NOT_SLACKS = "this is no request as Slack makes them"
_MISSHAPEN = (AttributeError, IndexError, KeyError, TypeError, ValueError)
"""What reading a field of the wrong kind raises, in Bolt and here."""
_MOMENT = re.compile("[0-9]{1,12}")


class Startable(Protocol):
    """What lives as long as the server: the bot, or what warms the agents."""

    def start(self) -> None: ...

    def stop(self) -> None: ...


def alongside(*parts: Startable) -> Callable[[FastAPI], AbstractAsyncContextManager[None]]:
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
    """Slack's signed requests, in threads of their own: slow answers can't delay an ack.

    What isn't signed takes none of the threads. How long a body may be is the app's to say."""
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
            asked = to_bolt_request(request, body)
            answered = await loop.run_in_executor(threads, bolt.dispatch, asked)
        except _MISSHAPEN as error:
            log.error("a request of Slack's can't be understood", exc_info=error)
            raise HTTPException(400, _NOT_SLACKS) from None
        return to_starlette_response(answered)


def _raise(error: Exception) -> None:
    """Bolt's own handler answers 500 to everything."""
    raise error


def _is_signed(verifier: SignatureVerifier, request: Request, body: bytes) -> bool:
    """Of anything, also of what is no text: the verifier knows neither that nor a junk time."""
    moment = request.headers.get("x-slack-request-timestamp", "")
    given = request.headers.get("x-slack-signature", "")
    if not _MOMENT.fullmatch(moment) or not given.isascii():
        return False
    try:
        return verifier.is_valid(body, moment, given)
    except UnicodeDecodeError:
        return False
