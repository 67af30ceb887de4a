"""A run's budget: what it may ask, how fast, and what it makes of a model that takes no more."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from itertools import count
from typing import Any

import pytest
from pydantic import BaseModel
from structlog.testing import capture_logs

from config.errors import ModelFailure, ModelUnavailable
from config.models import ChatModel, Prompt, Usage
from enrichment.llm.budget import Budget, BudgetSpent
from enrichment.llm.ledger import PATIENCE_SECONDS, LocalLedger, ModelPace

PROMPT = Prompt(name="enrich", version="1", system="s", user="u", max_tokens=10)


class Said(BaseModel):
    word: str = "tea"


class Clock:
    """Time passes only where somebody waits."""

    def __init__(self) -> None:
        self.time = 0.0

    def sleep(self, seconds: float) -> None:
        self.time += seconds


class Model:
    """Says something, or raises what `refuses` gives for the moment."""

    name = "m"

    def __init__(self, clock: Clock, refuses: Callable[[float], Exception | None]) -> None:
        self._clock, self._refuses = clock, refuses
        self.asked_at: list[float] = []

    def structured(self, prompt: Prompt, reply: type[Any]) -> tuple[Any, Usage]:
        self.asked_at.append(self._clock.time)
        if error := self._refuses(self._clock.time):
            raise error
        return reply(), Usage(calls=1, input_tokens=1_000, output_tokens=100)


def limited(retry_after: float | None = None) -> ModelUnavailable:
    error = ModelUnavailable("HTTP 429", kind="rate_limited")
    error.retry_after = retry_after
    return error


def started(
    refuses: Callable[[float], Exception | None] = lambda now: None, **limits: Any
) -> tuple[Budget, Model, ChatModel]:
    clock = Clock()
    model: Any = Model(clock, refuses)
    return Budget(sleep=clock.sleep, ledger=LocalLedger(lambda: clock.time), **limits), model, model


class Failed(Exception):
    """One request was given up."""


def ask(budget: Budget, model: ChatModel) -> Said:
    try:
        return budget.ask(model, PROMPT, Said)
    except BudgetSpent:
        raise
    except ModelUnavailable as error:
        raise Failed from error


def test_requests_are_begun_no_faster_than_allowed() -> None:
    budget, seen, model = started(per_minute=30)
    for _ in range(5):
        budget.ask(model, PROMPT, Said)
    assert seen.asked_at == [0.0, 2.0, 4.0, 6.0, 8.0]


def test_a_server_that_asks_for_a_pause_gets_it() -> None:
    budget, seen, model = started(lambda now: limited(30.0) if now < 25 else None)
    assert budget.ask(model, PROMPT, Said).word == "tea"
    assert seen.asked_at == [0.0, 30.0]


def test_a_model_that_refuses_for_an_hour_is_done_without() -> None:
    budget, seen, model = started(lambda now: limited() if now < 3_600 else None)
    with pytest.raises(BudgetSpent, match="answered no request for 10 minutes"):
        budget.ask(model, PROMPT, Said)
    asked = len(seen.asked_at)
    assert asked < 25
    with pytest.raises(BudgetSpent):
        budget.ask(model, PROMPT, Said)
    assert len(seen.asked_at) == asked, "the rest of the run does not ask"
    assert seen.asked_at[-1] + 120 > PATIENCE_SECONDS


def test_a_server_that_asks_for_a_day_is_done_without_as_well() -> None:
    budget, seen, model = started(lambda now: limited(86_400.0))
    with pytest.raises(BudgetSpent, match="answered no request for 10 minutes"):
        budget.ask(model, PROMPT, Said)
    assert seen._clock.time <= 3 * PATIENCE_SECONDS


def test_a_refusal_within_a_pause_is_forgotten_by_the_next_answer() -> None:
    budget, _, model = started()
    ledger = budget._ledger
    # One of many in flight is refused, another answered, a third refused within the pause.
    for change in (lambda p: p.refused(0.0, 20.0), ModelPace.answered, lambda p: p.refused(1.0, 0)):
        ledger.change_pace(change)
    budget.ask(model, PROMPT, Said)
    assert ledger.pace().refused_since is None


def test_what_another_run_was_refused_costs_this_one_none_of_its_patience() -> None:
    clock = Clock()
    ledger = LocalLedger(lambda: clock.time)
    ledger.change_pace(lambda pace: pace.refused(0.0, 0.0))
    clock.time = 3_600.0
    model: Any = Model(clock, lambda now: None)
    assert Budget(sleep=clock.sleep, ledger=ledger).ask(model, PROMPT, Said).word == "tea"


def test_pauses_are_no_failed_attempts() -> None:
    turns = iter([limited(), limited(), limited(), limited(), limited(), None])
    budget, seen, model = started(lambda now: next(turns), attempts=1)
    assert budget.ask(model, PROMPT, Said).word == "tea"
    assert len(seen.asked_at) == 6


@pytest.mark.parametrize("minutes", [2, 9])
def test_a_model_that_is_away_for_minutes_is_waited_for(minutes: int) -> None:
    def away(now: float) -> ModelUnavailable | None:
        gone = 0 < now < 60 * minutes
        return ModelUnavailable("connection refused", kind="unreachable") if gone else None

    budget, seen, model = started(away)
    for _ in range(2):
        assert budget.ask(model, PROMPT, Said).word == "tea"
        seen._clock.time += 1.0
    assert 60 * minutes <= seen.asked_at[-1] < 60 * minutes + 61


@pytest.mark.parametrize("kind", ["unreachable", "server_error", "timeout", "refused"])
def test_a_model_that_fails_for_an_hour_is_done_without(kind: ModelFailure) -> None:
    clock = Clock()

    def failing(now: float) -> ModelUnavailable | None:
        if not now:
            return None
        clock.time += 30.0  # until it said so
        return ModelUnavailable("failed", kind=kind)

    model: Any = Model(clock, failing)
    budget = Budget(sleep=clock.sleep, ledger=LocalLedger(lambda: clock.time))
    assert ask(budget, model).word == "tea"
    clock.time = 1.0

    def ask_for_an_hour() -> None:
        while clock.time < 3_600:
            with suppress(Failed):
                ask(budget, model)

    with pytest.raises(BudgetSpent, match="answered no request for 10 minutes"):
        ask_for_an_hour()
    assert PATIENCE_SECONDS < clock.time < PATIENCE_SECONDS + 240


@pytest.mark.parametrize("kind", ["unreachable", "refused", "not_found"])
def test_a_model_that_never_answered_is_done_without_within_a_minute(kind: ModelFailure) -> None:
    budget, seen, model = started(lambda now: ModelUnavailable("failed", kind=kind))

    def ask_for_an_hour() -> None:
        while seen._clock.time < 3_600:
            with suppress(Failed):
                ask(budget, model)

    said = "the model can't be reached, or refuses; check ONCALL_CHAT_MODEL"
    with capture_logs() as logs:
        for _ in range(3):
            with pytest.raises(BudgetSpent, match=said):
                ask_for_an_hour()
    told = [one["reason"] for one in logs if one["event"].endswith("without the chat model")]
    assert len(told) == 1
    assert told[0].startswith(said)
    assert seen._clock.time < 120


def test_one_request_that_always_fails_is_given_up_and_the_others_go_on() -> None:
    turn = count(1)
    budget, seen, model = started(
        lambda now: ModelUnavailable("failed", kind="timeout") if next(turn) % 5 else None
    )
    for _ in range(200):
        seen._clock.time += 10.0
        with pytest.raises(Failed):
            ask(budget, model)
        assert ask(budget, model).word == "tea"


def test_a_failure_long_ago_costs_no_patience() -> None:
    failures = iter([ModelUnavailable("failed", kind="timeout")])
    budget, seen, model = started(lambda now: next(failures, None), attempts=1)
    with pytest.raises(Failed):
        ask(budget, model)
    seen._clock.time += 2 * PATIENCE_SECONDS  # nothing was to be asked meanwhile
    assert ask(budget, model).word == "tea"


def test_who_waits_for_the_model_can_be_let_go_and_waits_again_afterwards() -> None:
    budget = Budget()
    gone = lambda now: ModelUnavailable("connection refused", kind="unreachable")  # noqa: E731
    model: Any = Model(Clock(), gone)
    with ThreadPoolExecutor(3) as pool:
        waiting = [pool.submit(budget.ask, model, PROMPT, Said) for _ in range(3)]
        while not model.asked_at:
            time.sleep(0.01)
        with budget.let_go():
            for one in waiting:
                with pytest.raises(BudgetSpent, match="the run was stopped"):
                    one.result(60)
    back: Any = Model(Clock(), lambda now: None)
    assert budget.ask(back, PROMPT, Said).word == "tea"


def test_dollars_are_counted_where_prices_are_known() -> None:
    budget, seen, model = started(dollars=0.25, cost=lambda usage: usage.input_tokens / 10_000)
    for _ in range(3):
        budget.ask(model, PROMPT, Said)
    with pytest.raises(BudgetSpent, match=r"3 calls, 3300 tokens, 0\.30 dollars"):
        budget.ask(model, PROMPT, Said)
    assert len(seen.asked_at) == 3
