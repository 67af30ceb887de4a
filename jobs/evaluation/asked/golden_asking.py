"""Golden questions, asked: several at a time, none twice."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed

from agents.answer import Ask
from jobs.evaluation.asked.kept_replies import ReplyStore, Unkept
from jobs.evaluation.metrics.given_reply import GivenReply, given_reply
from jobs.golden.golden_questions import GoldenQuestion

NOTHING_KEPT = Unkept()


class _FirstWords:
    """Notes when the first words of an answer came."""

    def __init__(self) -> None:
        self._begun = time.perf_counter()
        self.first_token_ms: float | None = None

    def status(self, text: str) -> None:
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
    kept: ReplyStore = NOTHING_KEPT,
    parallel: int = 1,
    repeats: int = 1,
    on_reply: Callable[[GivenReply], None] = lambda reply: None,
) -> list[GivenReply]:
    """A reply for each question and repeat, in the order of the questions, then of the repeats.

    `on_reply` is called in this thread as replies come. Raises IndexUnavailable, after which what
    was already given is kept."""
    wanted = [(question, repeat) for question in golden for repeat in range(1, repeats + 1)]
    given: dict[int, GivenReply] = {}
    with ThreadPoolExecutor(max(1, parallel), thread_name_prefix="golden") as pool:
        running: dict[Future[GivenReply], int] = {}
        try:
            for place, (question, repeat) in enumerate(wanted):
                known = kept.find(question, repeat)
                if known:
                    given[place] = known
                    on_reply(known)
                else:
                    running[pool.submit(_asked, ask, question, repeat, kept)] = place
            for future in as_completed(running):
                given[running[future]] = future.result()
                on_reply(given[running[future]])
        except BaseException:
            pool.shutdown(wait=True, cancel_futures=True)
            raise
    return [given[place] for place in range(len(wanted))]


def _asked(ask: Ask, question: GoldenQuestion, repeat: int, kept: ReplyStore) -> GivenReply:
    watch = _FirstWords()
    answer = ask(question.asked, watch)
    reply = given_reply(
        question,
        answer,
        repeat=repeat,
        first_token_ms=watch.first_token_ms,
        total_ms=watch.passed_ms(),
    )
    # What an outage made of it says nothing of this version: the next run asks again.
    if not answer.degraded:
        kept.keep(reply)
    return reply
