"""What a run costs and who may begin one, computed from the ledger alone."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, create_engine, update

from agents.answer import Budget
from agents.ledger.ledger import LimitReached, QuestionDoor, QuestionOrigin, RunLedger
from agents.ledger.runs import TOKENS_OF_A_RUN, RunRow
from config.domain import Domain
from config.errors import IndexUnavailable
from config.models import Prices, Usage
from durable.database import now
from tests.bot.fakes import domain
from tests.databases import engine_of, postgresql_database

TWO_AN_HOUR = domain(limits={"questions_per_user_per_hour": 2})
A_THOUSAND = domain(limits={"tokens_per_day": 1_000})


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with postgresql_database() as url:
        yield url


@pytest.fixture(params=["sqlite", "postgresql"])
def engine(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Engine]:
    with engine_of(request, tmp_path, "agent_runs") as opened:
        yield opened


@pytest.fixture
def ledger(engine: Engine) -> RunLedger:
    return RunLedger(engine)


def run(number: object, door: QuestionDoor = "mention", **more: Any) -> QuestionOrigin:
    values = {"asker": "U0YOU", "place": "C0SECURITY"} | more
    return QuestionOrigin(id=f"Ev{number}", door=door, text="why?", **values)


def is_admitted(ledger: RunLedger, origin: QuestionOrigin, file: Domain) -> bool:
    try:
        return ledger.admit(origin, [file]) == [file]
    except LimitReached:
        return False


def spend(ledger: RunLedger, origin: QuestionOrigin, file: Domain, tokens: int) -> None:
    ledger.admit(origin, [file])
    with ledger.attempt(origin, [file]) as attempt:
        attempt.usage, attempt.domain = Usage(calls=1, input_tokens=tokens), file.domain


def break_off(ledger: RunLedger, origin: QuestionOrigin, file: Domain) -> Mapping[str, Budget]:
    """What was spent before an attempt whose worker dies."""
    ledger.admit(origin, [file])
    with suppress(KeyboardInterrupt), ledger.attempt(origin, [file]) as attempt:
        raise KeyboardInterrupt
    return attempt.spent


def spent_for(ledger: RunLedger, origin: QuestionOrigin, file: Domain) -> Budget | None:
    """The budget that keeps the model from an admitted question, which ends without any tokens."""
    ledger.admit(origin, [file])
    with ledger.attempt(origin, [file]) as attempt:
        attempt.domain = file.domain
    return attempt.spent.get(file.domain)


def test_of_questions_at_the_same_moment_no_more_are_admitted_than_the_limit(
    ledger: RunLedger,
) -> None:
    admitted, start = [], threading.Barrier(8)

    def ask(number: int) -> None:
        start.wait()
        admitted.append(is_admitted(ledger, run(number), TWO_AN_HOUR))

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(8)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert admitted.count(True) == 2


def test_a_limit_is_one_persons_one_domains_and_one_hours(
    ledger: RunLedger, engine: Engine
) -> None:
    assert [is_admitted(ledger, run(n), TWO_AN_HOUR) for n in range(4)] == [
        True,
        True,
        False,
        False,
    ]
    assert is_admitted(ledger, run(4, asker="U0DANA"), TWO_AN_HOUR)
    assert is_admitted(ledger, run(5), domain("privacy", "C0PRIVACY"))
    other = domain("privacy", "C0PRIVACY")
    assert ledger.admit(run(6), [TWO_AN_HOUR, other]) == [other]
    for number in range(7, 9):
        assert is_admitted(ledger, run(number, "api", asker="", place="a program"), TWO_AN_HOUR)
    with pytest.raises(LimitReached) as reached:
        ledger.admit(run(9), [TWO_AN_HOUR])
    assert timedelta(minutes=59) < reached.value.free_at - now() <= timedelta(hours=1)
    with engine.begin() as connection:
        long_ago = now() - timedelta(minutes=61)
        connection.execute(update(RunRow).where(RunRow.id == "Ev0").values(started_at=long_ago))
    assert is_admitted(ledger, run(10), TWO_AN_HOUR)


def test_a_channels_limit_counts_everybodys_questions_there(ledger: RunLedger) -> None:
    busy = domain(limits={"questions_per_channel_per_hour": 1})
    assert is_admitted(ledger, run(0), busy)
    assert not is_admitted(ledger, run(1, asker="U0DANA"), busy)
    assert is_admitted(ledger, run(2, place="D0YOU"), busy)
    for number in range(3, 5):  # a token is no channel
        assert is_admitted(ledger, run(number, "mcp", place="a program"), busy)


def test_a_run_that_is_repeated_is_one_question_and_costs_every_attempt(
    ledger: RunLedger,
) -> None:
    for _ in range(3):
        spend(ledger, run(0), TWO_AN_HOUR, 400)
    assert is_admitted(ledger, run(1), TWO_AN_HOUR)
    assert not is_admitted(ledger, run(2), TWO_AN_HOUR)
    assert spent_for(ledger, run(3, asker="U0DANA"), A_THOUSAND) == "domain"


def test_a_run_that_is_repeated_is_admitted_where_it_was(ledger: RunLedger) -> None:
    both = [domain(limits={"questions_per_user_per_hour": 1}), domain("privacy", "C0PRIVACY")]

    def admitted(number: int) -> list[str]:
        return [one.domain for one in ledger.admit(run(number, "direct_message"), both)]

    assert admitted(0) == ["security", "privacy"]
    assert admitted(1) == ["privacy"]
    assert admitted(1) == ["privacy"]
    assert admitted(0) == ["security", "privacy"]


@pytest.mark.parametrize("broke_off", [KeyboardInterrupt, RuntimeError])
def test_an_attempt_that_breaks_off_costs_what_the_others_do(
    ledger: RunLedger, broke_off: type[BaseException]
) -> None:
    """A worker that dies and a client that leaves before the answer learn no tokens."""
    file, tokens = domain(limits={"tokens_per_day": 5 * TOKENS_OF_A_RUN}), 2 * TOKENS_OF_A_RUN
    spend(ledger, run(0), file, tokens)
    ledger.admit(run(1), [file])
    with pytest.raises(broke_off), ledger.attempt(run(1), [file]):
        raise broke_off
    assert not ledger.has_used(1, file)
    spend(ledger, run(1), file, tokens)  # again, after the crash
    assert ledger.has_used(1, file)
    assert spent_for(ledger, run(2), file) == "domain"


def test_cheap_runs_make_attempts_that_break_off_no_cheaper(ledger: RunLedger) -> None:
    file = domain(limits={"tokens_per_day": 2 * TOKENS_OF_A_RUN})
    for number in range(20):  # a refusal of the planner takes some 300
        spend(ledger, run(number), file, 300)
    for number in range(20, 23):
        assert break_off(ledger, run(number), file) == {}
    assert spent_for(ledger, run(23), file) == "domain"


def test_attempts_that_break_off_are_never_free(ledger: RunLedger, engine: Engine) -> None:
    """Also where no other run has cost anything, and whatever else cost nothing."""
    file = domain(limits={"tokens_per_day": 2 * TOKENS_OF_A_RUN})
    for number in range(5):
        spend(ledger, run(number), file, 0)
    for number in (5, 6):
        assert break_off(ledger, run(number), file) == {}
    assert spent_for(ledger, run(7), file) == "domain"
    assert spent_for(RunLedger(engine, has_model=False), run(7), file) is None


def test_an_attempt_without_documents_costs_what_it_used(ledger: RunLedger) -> None:
    spend(ledger, run(0), A_THOUSAND, 400)
    for number in range(1, 5):
        ledger.admit(run(number), [A_THOUSAND])
        with pytest.raises(IndexUnavailable), ledger.attempt(run(number), [A_THOUSAND]):
            raise IndexUnavailable("nothing published")
    assert not ledger.has_used(1, A_THOUSAND)


def test_tokens_belong_to_the_domain_that_answered(ledger: RunLedger) -> None:
    both = [domain("privacy", "C0PRIVACY"), A_THOUSAND]
    ledger.admit(run(0), both)
    with ledger.attempt(run(0), both) as attempt:
        attempt.usage, attempt.domain = Usage(calls=1, output_tokens=1_000), "security"
    ledger.admit(run(1), both)
    with ledger.attempt(run(1), both) as attempt:
        assert attempt.may_cost
    assert attempt.spent == {"security": "domain"}


def test_a_budget_in_dollars_counts_each_model_at_its_price(engine: Engine) -> None:
    """And runs whose cost nobody knows, as of an older release, at the dearest."""
    file = domain(limits={"dollars_per_day": 0.5})
    ledger = RunLedger(engine, prices=Prices(input=1.0, output=10.0))
    spend(ledger, run(0), file, 200_000)
    assert ledger.use(file).share == pytest.approx(0.4)
    ledger.admit(run(1), [file])
    with ledger.attempt(run(1), [file]) as attempt:
        attempt.prices, attempt.usage = Prices(input=2.0, output=2.0), Usage(output_tokens=100_000)
    assert ledger.use(file).share == pytest.approx(0.8)
    assert spent_for(ledger, run(2), file) is None
    spend(RunLedger(engine), run(3), file, 10_000)
    assert ledger.use(file).share == pytest.approx(1.0)
    assert spent_for(ledger, run(4), file) == "domain"
    assert ledger.quoted(file, now() - timedelta(hours=1)) == 1


def test_one_persons_budget_leaves_the_others_alone(ledger: RunLedger) -> None:
    file = domain(limits={"tokens_per_user_per_day": 1_000})
    spend(ledger, run(0), file, 1_000)
    assert spent_for(ledger, run(1), file) == "person"
    assert spent_for(ledger, run(2, "alert"), file) is None
    assert spent_for(ledger, run(3, asker="U0DANA"), file) is None
    assert spent_for(ledger, run(4, "api", asker=""), file) is None
    assert spent_for(ledger, run(5), domain("privacy", "C0PRIVACY")) is None


def test_of_attempts_at_the_same_moment_no_more_may_cost_than_the_budget_has_room_for(
    ledger: RunLedger,
) -> None:
    file = domain(limits={"tokens_per_day": 2 * TOKENS_OF_A_RUN})
    at_work, spent = threading.Barrier(8), list[bool]()

    def ask(number: int) -> None:
        ledger.admit(run(number), [file])
        with ledger.attempt(run(number), [file]) as attempt:
            at_work.wait()
            spent.append(bool(attempt.spent))

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(8)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert spent.count(False) == 2


def test_what_runs_outside_all_limits_counts_for_the_others(ledger: RunLedger) -> None:
    for number in range(3):
        ledger.admit(run(number, "alert"), [TWO_AN_HOUR], limited=False)
    assert not is_admitted(ledger, run(3), TWO_AN_HOUR)


def test_questions_are_answered_while_the_database_is_away(tmp_path: Path) -> None:
    ledger = RunLedger(create_engine(f"sqlite:///{tmp_path / 'no folder' / 'state.db'}"))
    assert is_admitted(ledger, run(0), TWO_AN_HOUR)
    with ledger.attempt(run(0), [TWO_AN_HOUR]) as attempt:
        attempt.usage = Usage(calls=1, input_tokens=1)
    assert not attempt.spent
