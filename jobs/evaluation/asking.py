"""Asks golden questions, several at a time. While the version of everything that makes an answer is
the same, no question is asked twice."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from functools import cache
from pathlib import Path

from agents.answer import Ask
from agents.steps import Step
from config.domain import Domain
from jobs.evaluation.metrics.retrieval import GivenReply, given_reply
from jobs.evaluation.reply_store import NullReplyStore, ReplyStore
from jobs.golden.questions import GoldenQuestion

_ROOT = Path(__file__).resolve().parents[2]
_ANSWERING = ("agents", "config", "enrichment", "index")
"""Rooms whose code an answer is made by; prompts and weights among it."""
ANSWERING_KEYS = ("title", "answer", "retrieval", "examples", "glossary", "access")
"""Keys of a domain that answers depend on; `sources` and `chunks` act through the index."""


@cache
def code_fingerprint() -> str:
    """Of the product's own code that answers questions: another after every edit."""
    digest = hashlib.sha256()
    for room in _ANSWERING:
        for path in sorted((_ROOT / room).rglob("*")):
            if path.suffix in (".py", ".md", ".json") and path.is_file():
                digest.update(f"{path.relative_to(_ROOT)}\0".encode())
                digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def version_of(domain: Domain, **more: str | float | None) -> str:
    """Of a system that answers in a domain. `more`: whatever else its answers depend on, e.g.
    the digest of the index and the name of the model."""
    parts: Mapping[str, object] = {
        "code": code_fingerprint(),
        "domain": domain.model_dump(mode="json", include={"domain", *ANSWERING_KEYS}),
        **more,
    }
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:16]


NO_REPLIES = NullReplyStore()


class _FirstWords:
    """Notes when the first words of an answer came."""

    def __init__(self) -> None:
        self._begun = time.perf_counter()
        self.first_token_ms: float | None = None

    def step(self, step: Step, text: str) -> None:
        """Ignored."""

    def delta(self, text: str) -> None:
        if self.first_token_ms is None and text:
            self.first_token_ms = self.passed_ms()

    def passed_ms(self) -> float:
        return (time.perf_counter() - self._begun) * 1000


def ask_all(
    ask: Ask,
    golden: Sequence[GoldenQuestion],
    *,
    replies: ReplyStore = NO_REPLIES,
    parallel: int = 1,
    repeats: int = 1,
    on_reply: Callable[[GivenReply], None] = lambda reply: None,
) -> list[GivenReply]:
    """A reply for each question and repeat, in the order of the questions, then of the repeats.

    `on_reply` is called in this thread as replies come. Raises IndexUnavailable, after which what
    was already given is kept."""
    tasks = [(question, repeat) for question in golden for repeat in range(1, repeats + 1)]
    results: dict[int, GivenReply] = {}
    with ThreadPoolExecutor(max(1, parallel), thread_name_prefix="golden") as pool:
        running: dict[Future[GivenReply], int] = {}
        try:
            for place, (question, repeat) in enumerate(tasks):
                stored_reply = replies.find(question, repeat)
                if stored_reply:
                    results[place] = stored_reply
                    on_reply(stored_reply)
                else:
                    running[pool.submit(_ask, ask, question, repeat, replies)] = place
            for future in as_completed(running):
                results[running[future]] = future.result()
                on_reply(results[running[future]])
        except BaseException:
            pool.shutdown(wait=True, cancel_futures=True)
            raise
    return [results[place] for place in range(len(tasks))]


def _ask(ask: Ask, question: GoldenQuestion, repeat: int, replies: ReplyStore) -> GivenReply:
    watch = _FirstWords()
    answer = ask(question.as_question, watch)
    reply = given_reply(
        question,
        answer,
        repeat=repeat,
        first_token_ms=watch.first_token_ms,
        total_ms=watch.passed_ms(),
    )
    # What an outage made of it says nothing of this version: the next run asks again.
    if not answer.degraded:
        replies.keep(reply)
    return reply
