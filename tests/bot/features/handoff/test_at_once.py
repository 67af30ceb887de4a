"""What several threads do with one hand-off at once, each in the order that loses most."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from bot.features.handoff import service
from bot.features.handoff.store import NOTICE, CallStore, Handoff, HandoffStore
from bot.questions.store import QuestionStore
from bot.rotas.on_call import CallTarget
from tests.bot.conftest import Desk, eventually, words
from tests.bot.fakes import CHANNEL
from tests.bot.features.handoff.rewound import rewind

YOURS = "D0YOU"
LATE = datetime.now(UTC) + timedelta(days=3650)


def handoff_of(desk: Desk, question_id: str) -> Handoff | None:
    return desk.bot.handoffs.get(question_id)


def is_taken(desk: Desk, question_id: str) -> bool:
    handoff = handoff_of(desk, question_id)
    return bool(handoff and handoff.is_taken)


def is_taken_and_done(desk: Desk, question_id: str) -> bool:
    """The last thing that a press of *I'll take it* does is a notice for the asker."""
    calls = desk.bot.handoffs.calls.with_messages(question_id)
    return any(one.step.startswith(NOTICE) for one in calls)


def late(monkeypatch: pytest.MonkeyPatch, of: type, name: str, until: Callable[..., Any]) -> None:
    """A store's method waits until what its arguments say is so."""
    change = getattr(of, name)

    def slow(store: Any, *given: Any, **values: Any) -> Any:
        eventually(lambda: until(*given, **values), timeout=20)
        return change(store, *given, **values)

    monkeypatch.setattr(of, name, slow)


def ask_human(desk: Desk, text: str, channel: str = CHANNEL) -> tuple[str, dict[str, Any]]:
    """The question's ts and the card."""
    ts, reply = desk.ask(text, channel)
    desk.slack.click(channel, reply["ts"], "ask_human", "U0YOU")
    return ts, desk.slack.wait_for_reply(channel, ts, until=lambda m: "What I tried" in words(m))


def shown(desk: Desk, ts: str, message: dict[str, Any], channel: str = CHANNEL) -> str:
    return words(next(m for m in desk.said(channel, ts) if m["ts"] == message["ts"]))


def test_the_card_shows_who_took_it_before_its_timestamp_was_stored(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    def is_over(question_id: str, *_: Any, **values: Any) -> bool:
        return "card_ts" not in values or is_taken(desk, question_id)

    late(monkeypatch, HandoffStore, "set", is_over)
    ts, card = ask_human(desk, "who may see the attic?")
    desk.slack.click(CHANNEL, card["ts"], "handoff_take", "U0DANA")
    desk.settle()
    assert "<@U0DANA> is on it" in shown(desk, ts, card)


def test_the_used_button_shows_who_took_it_while_it_is_updated(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    update = service._update_used_buttons

    def slow(web: Any, records: Any, record: Any, handoff: Handoff, *more: Any) -> None:
        if not handoff.is_taken:
            eventually(lambda: is_taken_and_done(desk, record.id), timeout=20)
        update(web, records, record, handoff, *more)

    monkeypatch.setattr(service, "_update_used_buttons", slow)
    ts, card = ask_human(desk, "who may see the pantry?")
    desk.slack.click(CHANNEL, card["ts"], "handoff_take", "U0DANA")
    desk.settle()
    assert "<@U0DANA> took it" in words(desk.said(CHANNEL, ts)[0])


def test_a_button_shows_its_use_before_its_message_is_on_record(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    def is_called(question_id: str, *_: Any) -> bool:
        return any(one.subject == question_id for one in desk.bot.timers.due(LATE))

    late(monkeypatch, QuestionStore, "own_post", is_called)
    ts, _ = ask_human(desk, "who may see the larder?", YOURS)
    desk.settle()
    assert "A human was asked" in words(desk.said(YOURS, ts)[0])


def test_a_card_shows_a_call_that_is_stored_while_it_is_updated(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    ts, card = ask_human(desk, "who may see the cellar?")
    desk.settle()
    call, waiting, handoffs = desk.bot.web.call, ["an update"], desk.bot.handoffs
    question = f"{CHANNEL}:{ts}"
    record = desk.bot.records.get(question)
    domain = handoffs.domain_of(record) if record else None
    assert domain

    def slow_call(method: str, **arguments: Any) -> Any:
        if method == "chat.update" and arguments["ts"] == card["ts"] and waiting:
            waiting.clear()
            handoffs.add_call(question, "level-1", domain, CallTarget(who="U0DANA"), "Leads")
            handoffs.refresh(question)
        return call(method, **arguments)

    monkeypatch.setattr(desk.bot.web, "call", slow_call)
    handoffs.refresh(question)
    assert "called <@U0DANA> (Leads)" in shown(desk, ts, card)


def test_a_call_closes_that_is_taken_before_its_timestamp_was_stored(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    ts, card = ask_human(desk, "who may see the garage?")
    desk.settle()
    question = f"{CHANNEL}:{ts}"

    def is_over(question_id: str, step: str, **values: Any) -> bool:
        return step != "again" or is_taken_and_done(desk, question_id)

    late(monkeypatch, CallStore, "set", is_over)
    rewind(desk.bot.engine, 16, question)
    desk.slack.wait_for_reply(CHANNEL, ts, until=lambda m: "once more" in words(m))
    desk.slack.click(CHANNEL, card["ts"], "handoff_take", "U0DANA")
    desk.settle()
    assert "handoff_take" not in words(desk.said(CHANNEL, ts)[-1])


def test_a_tick_on_a_card_that_is_not_on_record_yet_takes_it_for_no_answer(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    def is_over(question_id: str, *_: Any, **values: Any) -> bool:
        handoff = handoff_of(desk, question_id)
        return "card_ts" not in values or bool(handoff and handoff.resolved_by)

    late(monkeypatch, HandoffStore, "set", is_over)
    ts, card = ask_human(desk, "who may see the stables?")
    desk.slack.add_reaction(CHANNEL, card["ts"], "white_check_mark", "U0INES")
    desk.settle()
    handoff = handoff_of(desk, f"{CHANNEL}:{ts}")
    assert handoff
    assert (handoff.resolved_by, handoff.resolution) == ("U0INES", "")
    assert "Resolved by <@U0INES>" in shown(desk, ts, card)
