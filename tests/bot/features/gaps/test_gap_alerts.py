"""Alerts without a runbook are gaps, one for each kind, however often and wherever it fires."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from agents.alerts.reader import alerts_in
from agents.runbooks.answer import runbook_answer
from agents.runbooks.matching import match_alerts
from tests.bot.features.gaps.room import DIRECT, LAPTOPS, GapRoom, gap_room
from tests.bot.features.gaps.test_gaps import WAYS

BEACON = "U0BEACON"


@pytest.fixture
def room() -> Iterator[GapRoom]:
    with gap_room() as found:
        yield found


def firing(name: str, pod: str, value: str) -> str:
    return (
        f"[FIRING:1] {name} payments\nlabels:\n - alertname = {name}\n - pod = {pod}\n"
        f" - severity = critical\nvalue: {value}"
    )


def alert(room: GapRoom, text: str, *, user: str = BEACON, channel: str = "") -> str:
    """As the bot answers and keeps it; its id."""
    found = match_alerts(alerts_in(text), room.snapshot, room.domain)  # type: ignore[arg-type]
    reply = runbook_answer(found, room.snapshot, ["Security help"])  # type: ignore[arg-type]
    return room.ask(text, user=user, reply=reply, **({"channel": channel} if channel else {}))


def test_each_kind_is_one_gap_wherever_it_fires(room: GapRoom) -> None:
    for number in range(3):
        alert(room, firing("HighErrorRate", f"checkout-{number}f9", f"2.{number}"))
        alert(room, firing("HighErrorBudgetBurn", f"checkout-{number}f9", f"3.{number}"))
    found = room.look()
    assert [gap.times for gap in found] == [3, 3]
    assert {gap.questions[0].why for gap in found} == {"alert"}
    shown = room.home()
    assert "Runbook for HighErrorRate" in shown
    assert "Runbook for HighErrorBudgetBurn" in shown


def test_one_that_a_person_pastes_is_of_the_same_kind(room: GapRoom) -> None:
    alert(room, firing("HighErrorRate", "checkout-7f9", "2.31"))
    alert(room, "KeyVaultSealed class=RC region=sg", user="U0YOU")
    alert(room, firing("HighErrorRate", "checkout-8a1", "4.0"), user="U0YOU", channel=DIRECT)
    assert [(gap.times, gap.people) for gap in room.look()] == [(2, 2), (1, 1)]


def test_a_question_about_an_alert_is_no_part_of_it(room: GapRoom) -> None:
    alert(room, firing("HighErrorRate", "checkout-7f9", "2.31"))
    room.ask("what do we do about HighErrorRate of payments?", user="U0YOU")
    room.ask(WAYS[0], user="U0YOU")
    assert [gap.times for gap in room.look()] == [1, 1, 1]


def test_a_runbook_closes_it_and_its_end_opens_it_again(room: GapRoom) -> None:
    alert(room, firing("HighErrorRate", "checkout-7f9", "2.31"))
    room.look()
    room.publish(LAPTOPS, RUNBOOK)
    assert [gap.state for gap in room.ask_again()] == ["closed"]
    room.publish(LAPTOPS)
    assert [gap.state for gap in room.ask_again()] == ["reopened"]


def test_an_alert_in_a_direct_message_is_named_to_nobody(room: GapRoom) -> None:
    alert(room, firing("HighErrorRate", "checkout-7f9", "2.31"), user="U0YOU", channel=DIRECT)
    room.look()
    assert "HighErrorRate" not in room.home()


RUNBOOK = """---
id: payments-runbook
title: Payments Runbook
---
# Payments Runbook

## Alerts

| Alert | Severity | First step |
|---|---|---|
| HighErrorRate | critical | Roll back the last release of checkout. |
| QueueStuck | warning | Restart the consumer. |
"""
