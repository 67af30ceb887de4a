"""How much may be asked: each domain counts its own questions, and only those it answered."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from sqlalchemy import select, update

from agents.ledger.ledger import QuestionOrigin, RunLedger
from agents.ledger.runs import RunRow
from bot.features.budgets.service import WARN, BudgetService
from bot.slack.client import SlackBusy
from config.models import Usage
from config.settings import Settings
from durable.database import now
from index.store.database import open_database
from playground.slack.workspace import SlackError
from playground.slack_stand_in import SlackStandIn
from tests.bot.conftest import Desk, answered, eventually, running
from tests.bot.fakes import CHANNEL, Agents, answer, domain

TWO_AN_HOUR = {"questions_per_user_per_hour": 2}
DOMAINS = {
    "security": domain(limits=TWO_AN_HOUR),
    "privacy": domain("privacy", "C0PRIVACY"),
    "platform": domain("platform", "C0PLATFORM", limits={"tokens_per_day": 2_000}),
    "identity": domain(
        "identity", "C0GENERAL", limits={"tokens_per_day": 2_000}, admins=["U0PRIYA"]
    ),
}


@pytest.fixture(scope="module")
def running_desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    agents = Agents()
    with (
        SlackStandIn(enforce_rate_limits=False) as slack,
        running(slack, tmp_path_factory.mktemp("limits"), agents, DOMAINS) as bot,
    ):
        yield Desk(slack, bot, agents)


def test_questions_in_one_channel_leave_those_in_another_alone(desk: Desk) -> None:
    for _ in range(3):
        desk.ask("how long do we keep it?", channel="C0PRIVACY", user="U0DANA")
    for _ in range(2):
        desk.ask("how often?", user="U0DANA")
    desk.slack.post_as_user(CHANNEL, f"{desk.at} once more?", user="U0DANA")
    desk.slack.wait_for(lambda: desk.slack.ephemerals("U0DANA"))
    assert "2 questions in the last hour" in desk.slack.ephemerals("U0DANA")[0]["text"]
    desk.ask("and here?", channel="C0PRIVACY", user="U0DANA")


def test_a_direct_message_goes_to_the_domains_that_may_still_be_asked(desk: Desk) -> None:
    for _ in range(2):
        desk.ask("how often?", user="U0MAREK")
    opened: dict[str, Any] = desk.bot.web.call("conversations.open", users="U0MAREK")
    channel = str(opened["channel"]["id"])
    ts = desk.slack.post_as_user(channel, "and how long?", user="U0MAREK")
    desk.slack.wait_for_reply(channel, ts, until=answered)
    assert desk.agents.domains == ["security", "security", "privacy"]


def test_an_edit_is_a_question_like_any_other(desk: Desk) -> None:
    """Also one of a question that was refused; and what they cost adds up."""
    desk.agents.reply = answer(usage=Usage(calls=1, input_tokens=900, output_tokens=100))
    ts, _ = desk.ask("how often do we rotate?", user="U0PRIYA")
    for number in range(4):
        words = f"{desk.at} how often do we rotate key {number}?"
        desk.slack.edit_message(CHANNEL, ts, words)
        desk.settle()
    assert len(desk.agents.asked) == 2
    assert "2 questions in the last hour" in desk.slack.ephemerals("U0PRIYA")[0]["text"]
    with desk.bot.engine.connect() as connection:
        runs = connection.execute(select(RunRow).where(RunRow.asker == "U0PRIYA")).all()
    assert [run.tokens for run in runs] == [1_000, 1_000]
    refused = desk.slack.post_as_user(CHANNEL, f"{desk.at} and who does?", user="U0PRIYA")
    desk.settle()
    with desk.bot.engine.begin() as connection:
        an_hour_ago = now() - timedelta(minutes=61)
        mine = update(RunRow).where(RunRow.asker == "U0PRIYA")
        connection.execute(mine.values(started_at=an_hour_ago))
    for question in (ts, refused):
        desk.slack.edit_message(CHANNEL, question, f"{desk.at} who rotates the keys?")
        desk.settle()
        assert [answered(message) for message in desk.said(CHANNEL, question)] == [True]
    assert len(desk.agents.asked) == 4


def test_beyond_a_budget_edits_and_questions_are_quoted_and_say_so(desk: Desk) -> None:
    desk.agents.reply = answer(usage=Usage(calls=1, input_tokens=900, output_tokens=200))
    ts, _ = desk.ask("how often do we rotate?", channel="C0PLATFORM", user="U0INES")
    for number in range(3):
        desk.slack.edit_message("C0PLATFORM", ts, f"{desk.at} how often, in words no. {number}?")
        desk.settle()
    assert [one.quotes for one in desk.agents.asked] == [False, False, True, True]
    (post,) = [message for message in desk.said("C0PLATFORM", ts) if answered(message)]
    assert "daily budget for the language model is used up" in str(post["blocks"])
    assert "wasn't available" not in str(post["blocks"])
    assert not desk.slack.ephemerals("U0INES")


def test_admins_hear_once_a_day_of_a_budget_that_is_nearly_spent(desk: Desk) -> None:
    """And see it in App Home; the digest tells what was answered without the model."""
    budgets = next(one for one in desk.bot.features if WARN in one.timers)
    service = cast("Any", budgets.plan).__self__
    identity, anyone = DOMAINS["identity"], cast("Any", None)

    def look() -> list[Any]:
        service._looked_at = float("-inf")
        service.plan()
        desk.settle()
        with suppress(SlackError):  # no conversation with her yet
            return desk.slack.messages("U0PRIYA")
        return []

    desk.agents.reply = answer(usage=Usage(calls=1, input_tokens=1_500, output_tokens=90))
    desk.ask("how often do we rotate?", channel="C0GENERAL", user="U0DANA")
    assert look() == []
    desk.ask("and who rotates?", channel="C0GENERAL", user="U0DANA")
    eventually(look)
    desk.agents.reply = answer()
    desk.ask("and why?", channel="C0GENERAL", user="U0DANA")
    look()
    (message,) = look()
    assert "159% of its daily budget" in message["text"]
    assert "(3,180 of 2,000 tokens)" in message["text"]
    (line,) = service.home(anyone, [identity])
    assert "3,180 of 2,000 tokens" in str(line)
    (part,) = service.digest(identity, datetime(2020, 1, 1, tzinfo=UTC), anyone)
    assert part.lines == ["1 question was answered without the language model"]


def test_a_warning_that_is_repeated_goes_to_nobody_twice(tmp_path: Path) -> None:
    ledger = RunLedger(open_database(Settings(_env_file=None, data_dir=tmp_path)))
    watched = domain(admins=["U0INES", "U0PRIYA"], limits={"tokens_per_day": 100})
    run = QuestionOrigin(id="Ev1", door="mention", text="")
    ledger.admit(run, [watched])
    with ledger.attempt(run, [watched]) as attempt:
        attempt.domain, attempt.usage = "security", Usage(calls=1, input_tokens=90)
    sent, busy, subjects = list[str](), ["U0PRIYA"], dict[str, None]()

    def call(method: str, *, channel: str, text: str) -> None:
        if channel in busy:
            busy.remove(channel)
            raise SlackBusy(1.0)
        sent.append(channel)

    def set_timer(kind: str, subject: str, due_at: datetime, *, keep: bool) -> None:
        subjects[subject] = None

    context: Any = SimpleNamespace(
        domains=lambda: {"security": watched},
        web=SimpleNamespace(call=call),
        timers=SimpleNamespace(set=set_timer),
    )
    for _ in range(2):  # of two workers
        BudgetService(context=context, ledger=ledger).plan()
    service = BudgetService(context=context, ledger=ledger)
    for subject in subjects:
        with suppress(SlackBusy):
            service.warn(subject)
            continue
        service.warn(subject)  # the inbox repeats it
    assert sorted(sent) == ["U0INES", "U0PRIYA"]
