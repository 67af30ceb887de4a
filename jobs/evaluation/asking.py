"""Asks golden questions in parallel.

Replies are reused while the version of everything that affects an answer stays the same."""

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
"""Packages whose code, prompts and weights affect answers."""
ANSWERING_KEYS = ("title", "answer", "retrieval", "examples", "glossary", "access")
"""Domain keys that affect answers; `sources` and `chunks` act through the index."""


@cache
def code_fingerprint() -> str:
    """Digest of the code that affects answers, 16 hex digits; changes with every edit."""
    digest = hashlib.sha256()
    for room in _ANSWERING:
        for path in sorted((_ROOT / room).rglob("*")):
            if path.suffix in (".py", ".md", ".json") and path.is_file():
                digest.update(f"{path.relative_to(_ROOT)}\0".encode())
                digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def version_of(domain: Domain, **more: str | float | None) -> str:
    """Version of a system in a domain, 16 hex digits.

    `more`: other inputs of its answers, e.g. the index digest and the model name."""
    parts: Mapping[str, object] = {
        "code": code_fingerprint(),
        "domain": domain.model_dump(mode="json", include={"domain", *ANSWERING_KEYS}),
        **more,
    }
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:16]


NO_REPLIES = NullReplyStore()


class _FirstWords:
    """Progress that measures the time to the first text of an answer."""

    def __init__(self) -> None:
        self._begun = time.perf_counter()
        self.first_token_ms: float | None = None

    def step(self, step: Step, text: str, **scores: float) -> None:
        """Do nothing."""

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
    """Ask every question `repeats` times. Returns replies ordered by question, then by repeat.

    `on_reply` runs in the calling thread as replies arrive. Raises IndexUnavailable; replies that
    were already stored stay."""
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
    # A reply degraded by an outage does not represent this version: the next run asks again.
    if not answer.degraded:
        replies.keep(reply)
    return reply
