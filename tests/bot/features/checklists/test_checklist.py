"""A runbook as a checklist in the thread: the real bot, the real wire, scripted answers."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from sqlalchemy import select

from bot.features.checklists import views as checklist_view
from bot.features.checklists.progress import Checklist
from bot.features.checklists.service import ChecklistPressed, StepReported
from bot.features.checklists.store import (
    ChecklistPostRow,
    ChecklistRow,
    ChecklistStore,
    PressRow,
    ReportRow,
)
from bot.features.registry import FEATURE_TABLES
from bot.privacy.tables import erase_in_features, purge_features, rows_of
from playground.slack_stand_in import SlackStandIn
from tests.bot.conftest import Desk, eventually, running, words
from tests.bot.fakes import CHANNEL, Agents, answer, domain, showing_to_all
from tests.bot.features.checklists.runbooks import (
    FAILOVER,
    LAG,
    PHISHING,
    Published,
    RunbookShelf,
    citing,
    demo_text,
    made,
)

SHELF = RunbookShelf(
    *map(demo_text, (FAILOVER, LAG, PHISHING)),
    made(60),
    made(24).replace("id: made", "id: short").replace("Made R", "Short R"),
)
PUBLISHED = Published(SHELF)
LIMITS = {"questions_per_user_per_hour": 10_000}
DOMAINS = {
    "security": domain(limits=LIMITS, answer={"when": "question"}),
    "privacy": domain("privacy", "C0PRIVACY", limits=LIMITS),
}


@pytest.fixture(scope="module")
def running_checklists(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    agents = Agents()
    with (
        SlackStandIn(enforce_rate_limits=False) as slack,
        running(
            slack, tmp_path_factory.mktemp("c"), agents, DOMAINS, published=PUBLISHED.domains()
        ) as bot,
    ):
        yield Desk(slack, bot, agents)


@pytest.fixture
def desk(running_checklists: Desk) -> Iterator[Desk]:
    desk = running_checklists
    desk.agents.reset(citing(SHELF, "ledger-db-failover-runbook", "Unplanned failover"))
    desk.slack.faults.clear()
    desk.settle()  # what the test before began
    PUBLISHED.shelf = SHELF
    yield desk
    PUBLISHED.shelf = SHELF


def messages(desk: Desk, ts: str, kind: str = "") -> list[dict[str, Any]]:
    """Of the checklists of a thread."""
    found = [
        m
        for m in desk.slack.thread(CHANNEL, ts)
        if (m.get("metadata") or {}).get("event_type") == "oncall_checklist"
    ]
    is_summary = [m["metadata"]["event_payload"]["part"] >= 1000 for m in found]
    return [
        m for m, summary in zip(found, is_summary, strict=True) if summary == (kind == "summary")
    ]


def started(desk: Desk, text: str = "ledger is down, what now?") -> tuple[str, dict[str, Any]]:
    """Thread, and the first message of its checklist."""
    ts, reply = desk.ask(text)
    desk.slack.click(CHANNEL, reply["ts"], "checklist_start", "U0INES")
    desk.slack.wait_for(lambda: messages(desk, ts))
    desk.settle()  # there may be more messages
    return ts, messages(desk, ts)[0]


def shown(desk: Desk, ts: str) -> str:
    return "\n".join(words(message) for message in messages(desk, ts))


def tick(desk: Desk, message: dict[str, Any], step: int, user: str = "U0INES") -> None:
    desk.slack.click(CHANNEL, message["ts"], f"checklist_done_{step}", user)


def choose(desk: Desk, message: dict[str, Any], step: int, act: str, user: str = "U0INES") -> None:
    kept = message["metadata"]["event_payload"]["checklist"]
    desk.slack.click(
        CHANNEL,
        message["ts"],
        f"checklist_more_{step}",
        user,
        chosen={"option": f"{act} {step} {kept}"},
    )


def test_an_answer_that_cites_steps_offers_them_and_one_that_does_not_offers_none(
    desk: Desk,
) -> None:
    _, reply = desk.ask("ledger is down")
    assert "Start checklist" in words(reply)
    desk.agents.reset(citing(SHELF, "ledger-db-failover-runbook", "Afterwards"))
    _, reply = desk.ask("and then?")
    assert "Start checklist" not in words(reply)
    desk.agents.reset(answer())
    _, reply = desk.ask("how old may a key get?")
    assert "Start checklist" not in words(reply)


def test_it_shows_every_step_with_what_is_typed_set_apart(desk: Desk) -> None:
    ts, _ = started(desk)
    said = shown(desk, ts)
    assert "ledger-db Failover Runbook › Unplanned failover" in said
    assert "https://docs.google.com/document/d/ledger-db-failover-runbook/edit#" in said
    assert "*0 of 16 steps*" in said
    assert "Driving: <@U0INES> since <!date^" in said
    assert "Runbook of 27 March 2026" in said
    assert "```\\nledgerctl fence --node ldg-eu-a --reason SEV1\\n```" in said
    assert "`lag_bytes=0` means go on." in said
    for step in range(16):
        assert f'"checklist_done_{step}"' in said


def test_a_tick_says_who_and_when_and_can_be_taken_back(desk: Desk) -> None:
    ts, first = started(desk)
    tick(desk, first, 0)
    desk.slack.wait_for(lambda: "*1 of 16 steps*" in shown(desk, ts))
    assert re.search(r"n<@U0INES> <!date\^\d+\^\{time\}\|\d\d:\d\d UTC>", shown(desk, ts))
    choose(desk, messages(desk, ts)[0], 0, "undone", "U0DANA")
    desk.slack.wait_for(lambda: "*0 of 16 steps*" in shown(desk, ts))
    assert '"checklist_done_0"' in shown(desk, ts)


def test_what_is_not_needed_takes_the_steps_below_it_along(desk: Desk) -> None:
    desk.agents.reset(citing(SHELF, "phishing-response-playbook", "For the engineer on duty"))
    ts, first = started(desk)
    choose(desk, first, 2, "skipped")
    desk.slack.wait_for(lambda: "*4 of 13 steps* (4 not needed)" in shown(desk, ts))
    assert "Not needed: <@U0INES>" in shown(desk, ts)
    choose(desk, messages(desk, ts)[0], 2, "undone")
    desk.slack.wait_for(lambda: "*0 of 13 steps*" in shown(desk, ts))


def test_two_at_once_are_one_tick_of_the_first(desk: Desk) -> None:
    ts, first = started(desk)
    people = ["U0INES", "U0DANA", "U0YOU", "U0PRIYA"]
    threads = [threading.Thread(target=tick, args=(desk, first, 1, who)) for who in people]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    desk.settle()
    assert "*1 of 16 steps*" in shown(desk, ts)
    with desk.bot.engine.connect() as connection:
        kept = first["metadata"]["event_payload"]["checklist"]
        pressed = connection.execute(select(PressRow).where(PressRow.checklist == kept)).all()
    assert len(pressed) == len(people)
    first_one = min(pressed, key=lambda row: row.at)
    assert f"n<@{first_one.by}> <!date" in shown(desk, ts)


def test_started_twice_it_is_one_and_the_second_is_told_where_it_is(desk: Desk) -> None:
    ts, _ = started(desk)
    (reply,) = [m for m in desk.said(CHANNEL, ts) if "Start checklist" in words(m)]
    desk.slack.click(CHANNEL, reply["ts"], "checklist_start", "U0DANA")
    eventually(lambda: any("already <" in m["text"] for m in desk.slack.ephemerals("U0DANA")))
    desk.settle()
    assert len(messages(desk, ts)) == 1
    assert "Driving: <@U0INES>" in shown(desk, ts)


def test_started_twice_before_it_is_on_record_the_second_is_told_the_thread(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    add = ChecklistStore.add_post

    def told() -> list[str]:
        said = desk.slack.ephemerals("U0DANA")
        return [m["text"] for m in said if m.get("thread_ts") == ts and "already <" in m["text"]]

    def late(store: ChecklistStore, *post: Any) -> None:
        eventually(told, timeout=20)
        add(store, *post)

    monkeypatch.setattr(ChecklistStore, "add_post", late)
    ts, reply = desk.ask("ledger is down once more, what now?")
    for user in ("U0INES", "U0DANA"):
        desk.slack.click(CHANNEL, reply["ts"], "checklist_start", user)
        desk.slack.wait_for(lambda: messages(desk, ts))
    desk.settle()
    assert f"p{ts.replace('.', '')}?thread_ts={ts}" in told()[0]


@pytest.mark.parametrize(
    "said", ["{at} checklist", "start the checklist", "{at} Start the checklist, please!"]
)
def test_words_in_the_thread_start_it(desk: Desk, said: str) -> None:
    ts, _ = desk.ask("ledger is down")
    asked = len(desk.agents.asked)
    desk.slack.post_as_user(CHANNEL, said.format(at=desk.at), thread_ts=ts, user="U0DANA")
    desk.slack.wait_for(lambda: messages(desk, ts))
    assert "Driving: <@U0DANA>" in shown(desk, ts)
    desk.settle()
    assert len(desk.agents.asked) == asked


def test_the_same_words_without_steps_above_are_a_question_as_before(desk: Desk) -> None:
    desk.agents.reset(answer())
    ts, _ = desk.ask("how old may a key get?")
    _, reply = desk.ask("start the checklist", thread_ts=ts)
    assert "90 days" in words(reply)
    assert messages(desk, ts) == []


def test_who_left_or_may_not_ask_can_not_tick_and_the_latter_is_told_why(desk: Desk) -> None:
    ts, first = started(desk)
    people = desk.slack.workspace.people
    for user, change in (("U0PRIYA", {"deleted": True}), ("U0DANA", {"guest": "single_channel"})):
        known = people[user]
        desk.slack.workspace.welcome(replace(known, **change))
        desk.bot.gate.people._by_id._entries.clear()
        try:
            tick(desk, first, 0, user)
            desk.slack.click(CHANNEL, first["ts"], "checklist_finish", user)
            desk.settle()
        finally:
            desk.slack.workspace.welcome(known)
            desk.bot.gate.people._by_id._entries.clear()
    assert "*0 of 16 steps*" in shown(desk, ts)
    told = [m["text"] for m in desk.slack.ephemerals("U0DANA") if m.get("thread_ts") == ts]
    assert len([one for one in told if "colleagues only" in one]) == 1
    assert not any(m.get("thread_ts") == ts for m in desk.slack.ephemerals("U0PRIYA"))


def test_another_takes_over(desk: Desk) -> None:
    ts, first = started(desk)
    desk.slack.click(CHANNEL, first["ts"], "checklist_take", "U0DANA")
    desk.slack.wait_for(lambda: "Driving: <@U0DANA> since <!date^" in shown(desk, ts))


def test_a_report_stands_at_its_step_and_goes_to_the_owner(desk: Desk) -> None:
    ts, first = started(desk)
    choose(desk, first, 10, "report", "U0DANA")
    view = eventually(lambda: desk.slack.view("U0DANA"))
    assert view["title"]["text"] == "Wrong or outdated"
    said = "The node is ldg-eu-c since May <!channel>."
    desk.slack.submit_view(
        {"words": {"value": {"type": "plain_text_input", "value": said}}}, "U0DANA"
    )
    desk.slack.wait_for(lambda: "Reported by <@U0DANA>" in shown(desk, ts))
    assert "ldg-eu-c since May" in shown(desk, ts)
    assert "<!channel>" not in shown(desk, ts)
    (told,) = [
        one.item["suggestion"]
        for one in desk.bot.inbox.stored()._all()
        if "suggestion" in one.item and one.item["suggestion"]["words"] == said
    ]
    assert (told["kind"], told["document"], told["by"]) == (
        "step", "ledger-db-failover-runbook", "U0DANA",
    )  # fmt: skip
    assert told["question"].startswith("Step 4.1: Wait for fenced=true")
    assert told["permalink"].endswith(f"/{CHANNEL}/p{ts.replace('.', '')}")


def test_a_thousand_reports_flood_neither_the_owner_nor_the_thread(desk: Desk) -> None:
    ts, first = started(desk)
    kept = first["metadata"]["event_payload"]["checklist"]
    (report,) = (
        one.handlers[StepReported] for one in desk.bot.features if StepReported in one.handlers
    )
    for number in range(40):
        about: dict[str, Any] = {
            "id": f"{kept}-{number}",
            "checklist": kept,
            "step": 0,
            "user": "U0DANA",
        }
        report("", StepReported(**about, words=f"It is wrong, {number}. " * 40))
    desk.settle()
    told = [
        one.item["suggestion"]["id"]
        for one in desk.bot.inbox.stored()._all()
        if str(one.item.get("suggestion", {}).get("id")).startswith(kept)
    ]
    assert sorted(told) == [f"{kept}-{number}" for number in range(3)]
    desk.slack.click(CHANNEL, first["ts"], "checklist_finish", "U0INES")
    desk.slack.wait_for(lambda: messages(desk, ts, "summary"))
    (summary,) = messages(desk, ts, "summary")
    assert "37 more before these" in str(summary["blocks"])
    assert "It is wrong, 39." in str(summary["blocks"])


@pytest.mark.parametrize("step", [-2, 16, 10**30])
def test_a_press_on_a_step_that_is_none_does_nothing(desk: Desk, step: int) -> None:
    ts, first = started(desk)
    kept = first["metadata"]["event_payload"]["checklist"]
    (press,) = (
        one.handlers[ChecklistPressed]
        for one in desk.bot.features
        if ChecklistPressed in one.handlers
    )
    pressed = {"id": f"{kept}-p", "checklist": kept, "user": "U0DANA", "act": "done", "at": ts}
    press("", ChecklistPressed(**pressed, step=step))
    with desk.bot.engine.connect() as connection:
        assert connection.execute(select(PressRow).where(PressRow.checklist == kept)).all() == []


def test_the_end_is_a_summary_for_the_review(desk: Desk) -> None:
    ts, first = started(desk)
    tick(desk, first, 0, "U0INES")
    choose(desk, first, 1, "skipped", "U0DANA")
    desk.slack.wait_for(lambda: "*2 of 16 steps*" in shown(desk, ts))
    desk.slack.click(CHANNEL, first["ts"], "checklist_finish", "U0DANA")
    desk.slack.wait_for(lambda: messages(desk, ts, "summary"))
    (summary,) = messages(desk, ts, "summary")
    text = "\n".join(block["text"] for block in summary["blocks"] if block["type"] == "markdown")
    lines = text.split("\n")
    assert any(
        re.fullmatch(r"Started   \d{4}-\d\d-\d\d \d\d:\d\d UTC by Ines Okafor", one)
        for one in lines
    )
    assert "Steps     1 done, 1 not needed, 14 left open" in lines
    assert any(
        re.match(r"\d\d:\d\d  done        1    Ines Okafor    Acknowledge, declare", one)
        for one in lines
    )
    assert any(
        re.match(r"\d\d:\d\d  not needed  1\.1  Dana Whitlock  Ask for", one) for one in lines
    )
    assert any(re.match(r"  -    left open   8 +Tell the IC", one) for one in lines)
    desk.slack.wait_for(lambda: "Finished by <@U0DANA>" in shown(desk, ts))
    assert "checklist_done" not in shown(desk, ts)


def test_sixty_steps_take_several_messages_and_nothing_is_left_out(desk: Desk) -> None:
    desk.agents.reset(citing(SHELF, "made", "The way"))
    ts, _ = started(desk)
    desk.settle()
    assert len(messages(desk, ts)) > 2
    said = shown(desk, ts)
    for number in range(1, 61):
        assert f"made run --step {number}\\n" in said
        assert f"w{number}x11" in said
    last = messages(desk, ts)[-1]
    tick(desk, last, 99)
    desk.slack.wait_for(lambda: "*1 of 100 steps*" in words(messages(desk, ts)[0]))
    desk.slack.wait_for(lambda: "<@U0INES>" in words(messages(desk, ts)[-1]))


def test_a_long_checklist_is_measured_once_however_often_it_is_shown(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was measured anew for each of its messages: 500 steps took seconds for each press."""
    desk.agents.reset(citing(SHELF, "made", "The way"))
    ts, first = started(desk)
    desk.settle()
    measured: list[int] = []
    largest = checklist_view._largest

    def measure(checklist: Checklist, place: int) -> tuple[int, int]:
        measured.append(place)
        return largest(checklist, place)

    monkeypatch.setattr(checklist_view, "_largest", measure)
    checklist_view.pages.cache_clear()
    for step in range(3):
        tick(desk, first, step)
        desk.settle()
    assert shown(desk, ts).count("white_check_mark") == 3
    assert len(measured) == len(set(measured)) > 60


def test_a_runbook_that_changes_meanwhile_is_said_to_have_changed(desk: Desk) -> None:
    ts, first = started(desk)
    text = demo_text(FAILOVER)
    PUBLISHED.shelf = RunbookShelf(text, generation=8)
    tick(desk, first, 0)
    desk.slack.wait_for(lambda: "*1 of 16" in shown(desk, ts))
    assert "has changed since" not in shown(desk, ts)
    PUBLISHED.shelf = RunbookShelf(
        text.replace("ldg-eu-b`. It takes", "ldg-eu-c`. It takes"), generation=9
    )
    desk.bot.clock._planned_at = float("-inf")
    desk.slack.wait_for(lambda: "The runbook has changed since" in shown(desk, ts))
    assert "promote --node ldg-eu-b" in shown(desk, ts)
    PUBLISHED.shelf = RunbookShelf(made(3), generation=10)
    tick(desk, first, 1)
    desk.slack.wait_for(lambda: "The runbook is no longer there since" in shown(desk, ts))


def told_a_shift(desk: Desk, name: str = "security") -> list[Any]:
    digests, now = (one.digest for one in desk.bot.features if one.digest), datetime.now(UTC)
    parts = [part for told in digests for part in told(DOMAINS[name], now, showing_to_all())]
    return [part for part in parts if part.title == "Checklists half done"]


def test_a_shift_is_told_what_is_half_done(desk: Desk) -> None:
    ts, first = started(desk)
    tick(desk, first, 0)
    desk.slack.wait_for(lambda: "*1 of 16" in shown(desk, ts))
    (part,) = told_a_shift(desk)
    line = part.lines[0]
    assert "1 of 16 steps" in line
    assert "<@U0INES> drives since <!date^" in line
    assert f"archives/{CHANNEL}/p{ts.replace('.', '')}|ledger-db Failover Runbook" in line
    assert told_a_shift(desk, "privacy") == []
    desk.slack.click(CHANNEL, first["ts"], "checklist_finish", "U0INES")
    desk.slack.wait_for(lambda: messages(desk, ts, "summary"))
    assert not any(ts.replace(".", "") in one for p in told_a_shift(desk) for one in p.lines)


def test_who_is_erased_is_somebody_and_old_ones_go(desk: Desk) -> None:
    ts, first = started(desk)
    tick(desk, first, 0, "U0PRIYA")
    desk.slack.wait_for(lambda: "<@U0PRIYA> <!date" in shown(desk, ts))
    with desk.bot.engine.begin() as connection:
        assert rows_of(connection, ["U0PRIYA"], FEATURE_TABLES.tables)["bot_checklist_presses"]
        erase_in_features(connection, ["U0PRIYA"], FEATURE_TABLES.tables)
    tick(desk, first, 1)
    desk.slack.wait_for(lambda: "somebody <!date" in shown(desk, ts))
    assert "U0PRIYA" not in shown(desk, ts)
    with desk.bot.engine.begin() as connection:
        purge_features(connection, lambda name: -1, FEATURE_TABLES.tables)
        for table in (ChecklistRow, PressRow, ReportRow, ChecklistPostRow):
            assert connection.execute(select(table)).all() == []
