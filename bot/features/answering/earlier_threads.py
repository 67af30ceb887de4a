"""Earlier threads about a question, searched by Slack with its asker's own permissions.

They are links under an answer and never evidence for it: their text is neither read by the agents
nor displayed nor stored. See docs/decisions/117-earlier-threads-by-slack.md."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any
from urllib.parse import parse_qs, urlsplit

import structlog

from bot.blocks.kit import context, link, short
from bot.blocks.render import SlackMessage
from bot.slack.client import SlackBusy, SlackClient, SlackRefused, SlackUnsure
from bot.slack.events import IncomingMessage
from config.domain import Domain

log = structlog.get_logger()

SCOPE = "search:read.public"
MAX_THREADS = 3
SEARCH_LIMIT = 10
"""Some hits are of this very thread, or of one place twice."""
MAX_QUERY_CHARS = 500
SECONDS = 1.0
"""Time limit of a search, from when the agents begin."""
REST_SECONDS = 600.0
"""Seconds without a search after a refusal that concerns everyone."""
MAX_CONCURRENT = 8
SINGLE_SEARCH_ERRORS = frozenset(
    {"access_denied", "invalid_action_token", "invalid_arguments", "missing_query"}
    | {"no_permission", "query_too_long"}
)
"""Refusals that say nothing about the next search; guests may not search at all."""
MAX_BLOCKS = 50


@dataclass(frozen=True, kw_only=True)
class EarlierThread:
    """Where it is, without its text."""

    channel: str
    """Its name."""
    permalink: str
    at: datetime


ThreadsForDomain = Callable[[Domain], Sequence[EarlierThread]]
"""Earlier threads for the domain that answered; waits at most a second from the search's begin."""
ThreadSearch = Callable[[IncomingMessage, Sequence[Domain], str], ThreadsForDomain]


class EarlierThreads:
    """A `ThreadSearch` in threads of its own, while the agents work."""

    def __init__(
        self,
        web: SlackClient,
        *,
        is_public: Callable[[str], bool],
        team_url: str,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._web = web
        self._is_public = is_public
        self._host = urlsplit(team_url).netloc
        self._clock = clock
        self.seconds = SECONDS
        self._free = threading.BoundedSemaphore(MAX_CONCURRENT)
        self._rests_until = float("-inf")
        self.problem = ""
        """Why nothing is searched, for the operator; empty while searches work."""

    def __call__(
        self, event: IncomingMessage, domains: Sequence[Domain], text: str
    ) -> ThreadsForDomain:
        is_allowed = event.action_token and any(one.answer.earlier_threads for one in domains)
        began = self._clock()
        if not is_allowed or began < self._rests_until or not self._free.acquire(blocking=False):
            return lambda domain: ()
        result: Future[Sequence[EarlierThread]] = Future()

        def run() -> None:
            try:
                result.set_result(self._search(event, text))
            except Exception as error:
                result.set_exception(error)
                log.warning("search for earlier threads failed", exc_info=error)
            finally:
                self._free.release()

        threading.Thread(target=run, name="earlier threads", daemon=True).start()

        def threads(domain: Domain) -> Sequence[EarlierThread]:
            if not domain.answer.earlier_threads:
                return ()
            try:
                return result.result(max(0.0, self.seconds - (self._clock() - began)))
            except Exception:  # late, or failed and logged
                return ()

        return threads

    def _search(self, event: IncomingMessage, text: str) -> Sequence[EarlierThread]:
        try:
            reply = self._web.once(
                "assistant.search.context",
                query=_unformatted(text),
                action_token=event.action_token,
                channel_types="public_channel",
                content_types="messages",
                include_bots=False,
                before=int(event.sent_at.timestamp()),
                limit=SEARCH_LIMIT,
            )
        except SlackRefused as refused:
            self._handle_refusal(refused.code)
            return ()
        except SlackBusy as busy:
            self._rests_until = self._clock() + busy.after
            return ()
        except SlackUnsure as unsure:
            log.info("search for earlier threads failed", reason=str(unsure))
            return ()
        self.problem = ""
        messages = (reply.get("results") or {}).get("messages") or []
        return self._places(messages, event)

    def _places(self, messages: Sequence[Any], event: IncomingMessage) -> Sequence[EarlierThread]:
        places: dict[tuple[str, str], EarlierThread] = {}
        for message in messages:
            channel, root = _place(message)
            thread = self._thread(message)
            here = (channel, root) == (event.channel, event.thread_ts)
            if thread is None or here or (channel, root) in places or not self._is_public(channel):
                continue
            places[channel, root] = thread
            if len(places) == MAX_THREADS:
                break
        return tuple(places.values())

    def _thread(self, message: Mapping[str, Any]) -> EarlierThread | None:
        """None where Slack's reply makes no sense."""
        permalink = str(message.get("permalink") or "")
        if message.get("is_author_bot") or urlsplit(permalink).netloc != self._host:
            return None
        try:
            at = datetime.fromtimestamp(float(message.get("message_ts") or ""), UTC)
        except (ValueError, OverflowError, OSError):
            return None
        name = str(message.get("channel_name") or message.get("channel_id") or "")
        return EarlierThread(channel=name, permalink=permalink, at=at)

    def _handle_refusal(self, code: str) -> None:
        if code in SINGLE_SEARCH_ERRORS:
            log.info("search for earlier threads failed", reason=code)
            return
        self._rests_until = self._clock() + REST_SECONDS
        remedy = (
            f"the app lacks {SCOPE}: install it again with manifest.yaml"
            if code == "missing_scope"
            else "set answer.earlier_threads to false if this workspace has no Real-time Search"
        )
        self.problem = f"Slack refuses to look for earlier threads ({code}); {remedy}"
        log.warning("slack refused the search for earlier threads", reason=code, fix=remedy)


def with_earlier(
    messages: Sequence[SlackMessage], threads: Sequence[EarlierThread]
) -> list[SlackMessage]:
    """The answer with a line of links above its buttons."""
    if not messages or not threads or len(messages[-1].blocks) >= MAX_BLOCKS:
        return list(messages)
    *before, last = messages
    links = (
        f"{link(one.permalink, f'#{short(one.channel, 80)}')} ({_date(one.at)})" for one in threads
    )
    line = context([f"Earlier in Slack: {' · '.join(links)}"], block_id="oncall_earlier")
    buttons = ("actions", "context_actions")
    place = next((n for n, block in enumerate(last.blocks) if block["type"] in buttons), None)
    at = len(last.blocks) if place is None else place
    return [*before, replace(last, blocks=[*last.blocks[:at], line, *last.blocks[at:]])]


def _unformatted(text: str) -> str:
    """Slack's search takes formatting for words."""
    return " ".join(re.sub(r"[*_~`>]", " ", text).split())[:MAX_QUERY_CHARS]


def _place(message: Mapping[str, Any]) -> tuple[str, str]:
    """Channel and root of the thread; a reply's permalink names the root."""
    query = parse_qs(urlsplit(str(message.get("permalink") or "")).query)
    root = query.get("thread_ts", [""])[0] or str(message.get("message_ts") or "")
    return str(message.get("channel_id") or ""), root


def _date(at: datetime) -> str:
    return f"{at.day} {at:%b %Y}"
