"""Getting events and interactions to the app: retries, duplicates, signed HTTP."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
import random
import time
import urllib.error
import urllib.request
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, Protocol
from urllib.parse import urlencode

from playground.slack.event_payloads import envelope
from playground.slack.slack_faults import SlackFaults
from playground.slack.workspace import Json, Workspace

RETRY_DELAYS = (0.0, 60.0, 300.0)
"""Seconds before the first, second and third retry."""


@dataclass(frozen=True, kw_only=True)
class DeliveryOutcome:
    accepted: bool = False
    answer: Json = field(default_factory=dict)
    """What the app sent back with its acknowledgement."""
    reason: str = ""
    """Why it was not accepted; becomes the retry reason."""
    final: bool = False
    """The app asked for no retries."""


class Transport(Protocol):
    async def send(self, payload: Json, attempt: int, reason: str) -> DeliveryOutcome: ...


class NoAnswerError(Exception):
    """The app did not answer an interaction in time; Slack shows a warning sign."""


class Courier:
    """Delivers in the order of happening; runs on the server's event loop."""

    def __init__(self, workspace: Workspace, faults: SlackFaults, transport: Transport) -> None:
        self.workspace = workspace
        self.faults = faults
        self.transport = transport
        self.retry_delays: tuple[float, ...] = RETRY_DELAYS
        self.lost: list[Json] = []
        """Events given up after the last retry."""
        self._tasks: set[asyncio.Task[None]] = set()

    def event(self, inner: Json) -> None:
        payload = envelope(inner, self.workspace.next_id("Ev"))
        for _ in range(self.faults.deliver_times):
            pause = random.uniform(0, self.faults.scatter)  # noqa: S311 - not a secret
            self._spawn(self._deliver(payload, pause))

    async def interaction(self, payload: Json) -> Json:
        """The app's answer; Slack never retries these. Raises NoAnswerError."""
        outcome = await self.transport.send(payload, 0, "")
        if not outcome.accepted:
            raise NoAnswerError(outcome.reason)
        return outcome.answer

    async def delivered(self) -> None:
        """Until every event so far is acknowledged or given up."""
        while self._tasks:
            await asyncio.wait(self._tasks)

    async def stop(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _deliver(self, payload: Json, pause: float) -> None:
        await asyncio.sleep(pause)
        reason = ""
        for attempt, delay in enumerate((0.0, *self.retry_delays)):
            await asyncio.sleep(delay)
            outcome = await self.transport.send(payload, attempt, reason)
            if outcome.accepted or outcome.final:
                return
            reason = outcome.reason
        self.lost.append(payload)

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


@dataclass
class HttpDelivery:
    """Signed POSTs to one address, as an app without Socket Mode gets them."""

    url: str
    signing_secret: str = field(repr=False)
    timeout: float = 3.0
    _threads: ThreadPoolExecutor = field(
        default_factory=lambda: ThreadPoolExecutor(32, "slack-http"), repr=False
    )

    async def send(self, payload: Json, attempt: int, reason: str) -> DeliveryOutcome:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._threads, self._post, payload, attempt, reason)

    def verify_url(self) -> bool:
        """Slack's handshake when an address is configured: the app must echo the challenge."""
        challenge = hashlib.sha256(str(time.time()).encode()).hexdigest()
        payload = {"type": "url_verification", "token": "", "challenge": challenge}
        outcome = self._post(payload, 0, "")
        return challenge in (outcome.answer.get("challenge"), outcome.answer.get("text"))

    def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _post(self, payload: Json, attempt: int, reason: str) -> DeliveryOutcome:
        body, headers = self._signed(payload)
        if attempt:
            headers |= {"x-slack-retry-num": str(attempt), "x-slack-retry-reason": reason}
        request = urllib.request.Request(self.url, body, headers)  # noqa: S310 - given by its user
        try:
            with urllib.request.urlopen(request, timeout=self.timeout) as response:  # noqa: S310
                return DeliveryOutcome(accepted=True, answer=_answer(response.read()))
        except urllib.error.HTTPError as error:
            with error:
                final = error.headers.get("x-slack-no-retry") == "1"
            return DeliveryOutcome(reason="http_error", final=final)
        except TimeoutError:
            return DeliveryOutcome(reason="http_timeout")
        except OSError as error:
            timed_out = isinstance(getattr(error, "reason", None), TimeoutError)
            return DeliveryOutcome(reason="http_timeout" if timed_out else "connection_failed")

    def _signed(self, payload: Json) -> tuple[bytes, dict[str, str]]:
        if payload["type"] in ("event_callback", "url_verification"):
            body, kind = json.dumps(payload), "application/json"
        elif payload["type"] == "slash_commands":
            fields = {name: value for name, value in payload.items() if name != "type"}
            body, kind = urlencode(fields), "application/x-www-form-urlencoded"
        else:
            body = urlencode({"payload": json.dumps(payload)})
            kind = "application/x-www-form-urlencoded"
        timestamp = str(int(time.time()))
        signed = f"v0:{timestamp}:{body}".encode()
        digest = hmac.new(self.signing_secret.encode(), signed, hashlib.sha256).hexdigest()
        return body.encode(), {
            "content-type": kind,
            "x-slack-request-timestamp": timestamp,
            "x-slack-signature": f"v0={digest}",
            "user-agent": "Slackbot 1.0 (playground)",
        }


def _answer(body: bytes) -> Json:
    try:
        answer = json.loads(body or b"{}")
    except ValueError:
        return {"text": body.decode("utf-8", "replace")}
    return answer if isinstance(answer, dict) else {}
