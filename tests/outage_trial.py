"""A crowd that asks while the database falters, and what everybody was told in the end.

Shared by tests/durable/test_outage_trial.py and benchmarks/outage_trial.py."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPException
from typing import Any

import psycopg

from playground.slack.workspace import WorkspaceChange
from playground.slack_stand_in import SlackStandIn
from tests.bot.conftest import answered, words
from tests.bot.fakes import CHANNEL
from tests.databases import Server

FALSE_WORDS = ("have not been read", "oncall ingest", "Sorry", "went wrong")
NOTICE_SECONDS = 3.5
"""From the begin of an outage until `/readyz` says so: three seconds, and half a look of ours."""


class Crowd:
    """Asks so many mentions a second, and remembers all that was ever shown below them."""

    def __init__(self, slack: SlackStandIn, rate: float = 1.5, text: str = "question") -> None:
        self._slack = slack
        self._text = text
        self._pause = 1 / rate
        self.asked: list[str] = []
        self.shown: list[str] = []
        slack.workspace.listen(self._note)

    def ask_for(self, seconds: float) -> None:
        ends = time.monotonic() + seconds
        while time.monotonic() < ends:
            text = f"<@{self._slack.bot_user_id}> {self._text} {len(self.asked)}?"
            self.asked.append(self._slack.post_as_user(CHANNEL, text))
            time.sleep(self._pause)

    def wait_until_answered(self, timeout: float) -> float:
        """Seconds until every mention has an answer; raises TimeoutError."""
        began, waiting = time.monotonic(), self.asked
        while waiting := [ts for ts in waiting if not any(map(answered, self.posts(ts)))]:
            if time.monotonic() - began > timeout:
                raise TimeoutError([self.posts(ts) for ts in waiting])
            time.sleep(0.25)
        return time.monotonic() - began

    def posts(self, ts: str) -> list[dict[str, Any]]:
        """The bot's messages below a mention."""
        thread = self._slack.thread(CHANNEL, ts)
        return [one for one in thread if one.get("user") == self._slack.bot_user_id]

    def verdict(self, right: Callable[[str], bool], never: Sequence[str] = FALSE_WORDS) -> Verdict:
        """`right`: whether these are the words of an answer to one of the mentions. `never`: words
        that are false whenever they are shown."""
        verdict = Verdict(asked=len(self.asked))
        for ts in self.asked:
            posts = self.posts(ts)
            verdict.unanswered += not posts
            verdict.twice += len(posts) > 1
            verdict.stale += sum(not answered(one) for one in posts)
            verdict.wrong += any(answered(one) and not right(words(one)) for one in posts)
        verdict.false = sum(any(word in text for word in never) for text in self.shown)
        return verdict

    def _note(self, change: WorkspaceChange) -> None:
        if change.message.get("user") == self._slack.bot_user_id or change.message.get("bot_id"):
            self.shown.append(words(change.message))


@dataclass
class Verdict:
    """How many mentions; all but `asked` should be 0."""

    asked: int = 0
    unanswered: int = 0
    twice: int = 0
    stale: int = 0
    """Placeholders that stayed."""
    wrong: int = 0
    """Last words that are no right answer."""
    false: int = 0
    """Words that were ever shown and not true."""

    @property
    def faults(self) -> Mapping[str, int]:
        counts = vars(self)
        return {name: counts[name] for name in counts if name != "asked" and counts[name]}


@dataclass
class Readiness:
    """Looks at `/readyz` of several processes, four times a second."""

    ports: Sequence[int]
    looks: list[tuple[float, int, str]] = field(default_factory=list)
    """(when it was asked, port, what is missing; empty: ready)."""
    _stopping: threading.Event = field(default_factory=threading.Event)

    def __enter__(self) -> Readiness:
        for port in self.ports:
            threading.Thread(target=self._look, args=(port,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopping.set()

    def ready_within(self, begin: float, end: float) -> list[tuple[float, int]]:
        """Looks that found a process ready in the outage: (seconds from its begin, port)."""
        return [
            (at - begin, port)
            for at, port, missing in self.looks
            if begin + NOTICE_SECONDS <= at < end and not missing
        ]

    def wait_until_ready(self, timeout: float = 120.0) -> float:
        began = time.monotonic()
        while any(missing_at(port) for port in self.ports):
            if time.monotonic() - began > timeout:
                raise TimeoutError({port: missing_at(port) for port in self.ports})
            time.sleep(0.1)
        return time.monotonic() - began

    def green_after(self, moment: float) -> float:
        """Seconds from then until the last look that found a process not ready; 0 without one."""
        return max((at - moment for at, _, missing in self.looks if missing), default=0.0)

    def _look(self, port: int) -> None:
        while not self._stopping.wait(0.25):
            at = time.monotonic()
            self.looks.append((at, port, missing_at(port)))


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def missing_at(port: int) -> str:
    """What `/readyz` says is missing; empty when ready."""
    connection = HTTPConnection("127.0.0.1", port, timeout=5)
    try:
        with closing(connection):
            connection.request("GET", "/readyz")
            reply = connection.getresponse()
            return "" if reply.status == 200 else str(json.load(reply)["detail"])
    except (OSError, HTTPException) as error:  # of one that is killed, too
        return type(error).__name__


def limit_connections(server: Server, connections: int) -> None:
    with psycopg.connect(server.url, autocommit=True) as connection:
        connection.execute(f"ALTER SYSTEM SET max_connections = {connections}")
    server.stop()
    server.start()


BREAK_OFF = """
SELECT pg_terminate_backend(pid) FROM pg_stat_activity
WHERE backend_type = 'client backend' AND pid <> ALL(%s)
AND pid NOT IN (SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND granted)
"""


@contextmanager
def exhausted(url: str) -> Iterator[None]:
    """Every connection that the server gives is taken, and none is left to anybody else but their
    session locks."""
    held: list[psycopg.Connection[Any]] = []
    stopping, full = threading.Event(), threading.Event()

    def take() -> None:
        is_alone = False
        while not stopping.is_set():
            try:
                held.append(psycopg.connect(url, autocommit=True))
            except psycopg.OperationalError:
                if is_alone:
                    full.set()
                    stopping.wait(0.03)
                else:
                    held[0].execute(BREAK_OFF, [[one.info.backend_pid for one in held]])
                    is_alone = True

    taking = threading.Thread(target=take, daemon=True)
    taking.start()
    full.wait(60)
    try:
        yield
    finally:
        stopping.set()
        taking.join()
        for connection in held:
            with suppress(psycopg.Error):
                connection.close()
