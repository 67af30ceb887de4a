"""A kind of alert is snoozed in its thread, and wakes people when it becomes another matter."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import select, update

from bot.feature import IncidentThread
from bot.features.alerts.views import COURSE
from bot.features.snooze.service import SnoozeRequested
from bot.features.snooze.store import SnoozeRow, SnoozeStore
from bot.features.snooze.views import SNOOZE, STOP
from config.errors import IndexUnavailable
from playground.slack.rules.block_rules import problems
from tests.bot.conftest import words
from tests.bot.fakes import showing_to_all
from tests.bot.features.alerts.office import PLATFORM, SECURITY, AlertHouse, alert_house, longer_ago
from tests.bot.features.alerts.test_alert_desk import firing

KEYS = "runbooks: {snooze: true}\nescalation: {rota: ../rota.yaml, time_zone: Europe/Berlin}\n"
INES, DANA, MAREK = "U0INES", "U0DANA", "U0MAREK"


@pytest.fixture(scope="module")
def open_house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AlertHouse]:
    folder = tmp_path_factory.mktemp("snoozes")
    began = datetime.now(UTC) - timedelta(hours=1)
    turn = f"from: {began:%Y-%m-%dT%H:%M:%SZ}, to: {began + timedelta(hours=9):%Y-%m-%dT%H:%M:%SZ}"
    (folder / "config").mkdir()
    (folder / "config/rota.yaml").write_text(f"- {{{turn}, user: {DANA}}}\n")
    with alert_house(folder, keys=KEYS) as found:
        yield found


@pytest.fixture
def house(open_house: AlertHouse) -> AlertHouse:
    open_house.slack.faults.clear()
    open_house.settle()
    longer_ago(open_house.bot.engine, timedelta(days=30))  # what other tests left firing
    snoozed_earlier(open_house, timedelta(days=30))
    return open_house


def snoozed_earlier(house: AlertHouse, passed: timedelta) -> None:
    """All snoozes, and so their ends."""
    with house.bot.engine.begin() as connection:
        for row in connection.execute(select(SnoozeRow)).mappings().all():
            values = {name: row[name] - passed for name in ("since", "until")}
            connection.execute(update(SnoozeRow).where(SnoozeRow.id == row["id"]).values(values))


def pass_time(house: AlertHouse, passed: timedelta) -> None:
    """Of alerts and snoozes; no timer goes off."""
    house.settle()
    longer_ago(house.bot.engine, passed)
    snoozed_earlier(house, passed)


def form_of(house: AlertHouse, ts: str, user: str = INES) -> dict[str, Any]:
    answer = next(one for one in house.replies(ts) if SNOOZE in words(one))
    house.slack.click(PLATFORM, answer["ts"], SNOOZE, user)
    return dict(house.slack.wait_for(lambda: house.slack.view(user)))


def options(view: dict[str, Any], block: str) -> dict[str, str]:
    element = next(one["element"] for one in view["blocks"] if one.get("block_id") == block)
    return {one["value"]: one["text"]["text"] for one in element["options"]}


def chosen(value: str) -> dict[str, Any]:
    return {"value": {"type": "radio_buttons", "selected_option": {"value": value}}}


def written(value: str) -> dict[str, Any]:
    return {"value": {"type": "plain_text_input", "value": value}}


def snooze(
    house: AlertHouse, ts: str, until: str = "1", reason: str = "Disk is ordered", user: str = INES,
    alert: str = "",
) -> dict[str, Any]:  # fmt: skip
    """What Slack shows of a wrong form; empty when it is taken."""
    view = form_of(house, ts, user)
    kinds = options(view, "alert")
    kind = next(key for key, name in kinds.items() if alert in name)
    values = {"alert": chosen(kind), "until": chosen(until), "reason": written(reason)}
    result = house.slack.submit_view(values, user)
    house.settle()
    return dict(result)


def line(house: AlertHouse, ts: str) -> str:
    """The snooze's line in the thread; the latest of several."""
    return words(next(one for one in reversed(house.replies(ts)) if "snoozed by" in words(one)))


def course(house: AlertHouse, ts: str) -> str:
    """The line above the answer."""
    blocks = [block for one in house.replies(ts) for block in one["blocks"]]
    return next(one["text"]["text"] for one in blocks if one.get("block_id") == COURSE)


def warnings(house: AlertHouse, ts: str) -> list[str]:
    return [words(one) for one in house.replies(ts) if "no longer snoozed" in words(one)]


def answered_and_snoozed(house: AlertHouse, name: str, *labels: str, **more: Any) -> str:
    ts = house.fires(firing(name, *labels))
    house.settle()
    assert snooze(house, ts, **more) == {}
    return ts


def test_a_kind_is_snoozed_with_a_reason_and_counted_silently(house: AlertHouse) -> None:
    ts = answered_and_snoozed(house, "CartErrors", "pod = cart-1", "severity = warning")
    said = line(house, ts)
    assert "`CartErrors` snoozed by <" in said
    assert "Ines" in said
    assert "Disk is ordered" in said
    assert "<@" not in said
    assert "The alert tool itself goes on" in said
    again = house.fires(firing("CartErrors", "pod = cart-1", "severity = warning"))
    house.pass_time()
    assert course(house, ts).startswith(":rotating_light: *Fired 2 times*")
    assert house.replies(again) == []
    assert all(problems(one["blocks"]) == [] for one in house.replies(ts))


def test_whoever_comes_on_shift_sees_what_is_snoozed(house: AlertHouse) -> None:
    ts = answered_and_snoozed(house, "GateDown", reason="Gate is being painted")
    digest = house.feature("snooze_over").digest
    assert digest

    def lines() -> list[str]:
        parts = digest(house.copilot.domain("platform"), datetime.now(UTC), showing_to_all())
        return [line for part in parts for line in part.lines if "GateDown" in line]

    (told,) = lines()
    assert told.endswith(": Gate is being painted")
    message = next(one for one in house.replies(ts) if STOP in words(one))
    house.slack.click(PLATFORM, message["ts"], STOP, INES)
    house.settle()
    assert lines() == []


def test_a_new_episode_stays_without_an_answer_until_the_snooze_is_over(house: AlertHouse) -> None:
    ts = answered_and_snoozed(house, "CartLatency", "pod = a", until="4")
    house.fires(firing("CartLatency", "pod = a", status="RESOLVED"))
    pass_time(house, timedelta(hours=2))
    quiet = [house.fires(firing("CartLatency", "pod = a")) for _ in range(2)]
    house.settle()
    assert [house.replies(one) for one in quiet] == [[], []]
    assert [house.record(one) for one in quiet] == [None, None]
    assert house.counted("CartLatency") == [1, 2]
    pass_time(house, timedelta(hours=2, minutes=1))
    loud = house.fires(firing("CartLatency", "pod = a"))
    house.settle()
    assert "three slowest upstreams" in house.reply(loud)
    assert house.counted("CartLatency") == [1, 3]
    house.pass_time(4 * 3_600)
    assert "The snooze is over; it fired 2 times meanwhile" in line(house, ts)
    assert STOP not in line(house, ts)
    assert warnings(house, ts) == []


def test_its_end_says_that_the_alert_was_resolved(house: AlertHouse) -> None:
    ts = answered_and_snoozed(house, "ScaleDrift", "pod = a")
    house.fires(firing("ScaleDrift", "pod = a", status="RESOLVED"))
    house.pass_time(3_601)
    assert "The snooze is over; it didn't fire meanwhile, and was resolved at" in line(house, ts)


@pytest.mark.parametrize(
    ("name", "before", "after", "why"),
    [
        ("CartDisk95", "warning", "critical", "rose from *warning* to *critical*"),
        ("BasketFull", "P3", "P1", "rose from *P3* to *P1*"),
        ("BasketStuck", "orange", "mauve", "changed from *orange* to *mauve*"),
        ("TillSlow", "", "warning", "it says severity *warning*, and said none before"),
    ],
)
def test_another_severity_ends_it(
    house: AlertHouse, name: str, before: str, after: str, why: str
) -> None:
    ts = answered_and_snoozed(house, name, *([f"severity = {before}"] if before else []))
    house.fires(firing(name, f"severity = {after}"))
    house.settle()
    (warning,) = warnings(house, ts)
    assert why in warning
    assert f"<@{INES}>" in warning
    assert "ended early" in line(house, ts)
    assert STOP not in line(house, ts)


def test_a_lower_severity_does_not(house: AlertHouse) -> None:
    ts = answered_and_snoozed(house, "ShelfEmpty", "severity = critical")
    house.fires(firing("ShelfEmpty", "severity = warning"))
    house.settle()
    assert warnings(house, ts) == []


def test_another_host_ends_it_and_a_new_episode_is_answered_then(house: AlertHouse) -> None:
    ts = answered_and_snoozed(house, "QueueJam", "instance = q-1", until="4")
    pass_time(house, timedelta(minutes=40))
    house.fires(firing("QueueJam", "instance = q-1", status="RESOLVED"))
    pass_time(house, timedelta(minutes=40))
    other = house.fires(firing("QueueJam", "instance = q-2"))
    house.settle()
    (warning,) = warnings(house, ts)
    assert "it fires on *instance q-2*, where it didn't fire before" in warning
    assert "Drain the oldest runner" in house.reply(other)
    more = house.fires(firing("QueueJam", "instance = q-3"))
    house.settle()
    assert house.replies(more) == []
    assert len(warnings(house, ts)) == 1


def test_twice_the_rate_ends_it_and_a_few_firings_do_not(house: AlertHouse) -> None:
    ts = house.fires(firing("DoorOpen", "pod = d"))
    pass_time(house, timedelta(minutes=30))
    house.fires(firing("DoorOpen", "pod = d"))
    house.settle()
    assert snooze(house, ts) == {}
    for _ in range(3):
        house.fires(firing("DoorOpen", "pod = d"))
    house.settle()
    assert warnings(house, ts) == []
    house.fires(firing("DoorOpen", "pod = d"))
    house.settle()
    (warning,) = warnings(house, ts)
    assert re.search(r"it fired 4 times in \d+ min, and before the snooze 4 times an hour", warning)


def test_the_later_of_two_snoozes_counts_and_the_form_says_so(house: AlertHouse) -> None:
    ts = answered_and_snoozed(house, "LampOut", "pod = l", reason="First")
    view = form_of(house, ts, DANA)
    assert "is snoozed until" in json.dumps(view)
    house.slack.close_view(DANA)
    assert snooze(house, ts, "4", "Second", DANA) == {}
    first, second = [words(one) for one in house.replies(ts) if "snoozed by" in words(one)]
    assert "Another snooze took its place" in first
    assert STOP not in first
    assert "Second" in second
    assert STOP in second
    house.fires(firing("LampOut", "pod = m"))
    house.settle()
    (warning,) = warnings(house, ts)
    assert f"<@{DANA}>" in warning
    assert f"<@{INES}>" not in warning


def test_anybody_who_may_ask_ends_it_by_its_button(house: AlertHouse) -> None:
    ts = answered_and_snoozed(house, "RoofLeak", "pod = r")
    message = next(one for one in house.replies(ts) if STOP in words(one))
    house.slack.click(PLATFORM, message["ts"], STOP, DANA)
    house.settle()
    assert "ended the snooze; it didn't fire meanwhile" in line(house, ts)
    assert warnings(house, ts) == []
    house.pass_time(3_601)  # its timer
    assert "ended the snooze" in line(house, ts)


def test_a_timeline_has_its_beginning_and_its_end(house: AlertHouse) -> None:
    ts = answered_and_snoozed(house, "SlowSearch")
    message = next(one for one in house.replies(ts) if STOP in words(one))
    house.slack.click(PLATFORM, message["ts"], STOP, DANA)
    house.settle()
    thread = IncidentThread(channel=PLATFORM, ts=ts, questions=[f"{PLATFORM}:{ts}"])
    sources = [one.timeline for one in house.bot.features if one.timeline]
    entries = [one for source in sources for one in source(thread) if "snooze" in one.what]
    assert [(one.what, one.by, one.quote) for one in entries] == [
        ("snoozed SlowSearch", INES, "Disk is ordered"),
        ("The snooze of SlowSearch ended", "", ""),
    ]


def test_two_kinds_in_one_message_are_snoozed_each_for_itself(house: AlertHouse) -> None:
    group = "[FIRING:2]\nFiring\n" + "\n".join(
        f"Labels:\n - alertname = {name}\n - severity = warning\n"
        for name in ("TillClosed", "GateDown")
    )
    ts = house.fires(group)
    house.settle()
    assert set(options(form_of(house, ts), "alert").values()) == {"TillClosed", "GateDown"}
    house.slack.close_view(INES)
    assert snooze(house, ts, alert="GateDown") == {}
    assert "`GateDown` snoozed by" in line(house, ts)
    house.fires(firing("TillClosed", "severity = critical"))
    house.settle()
    assert warnings(house, ts) == []
    house.fires(firing("GateDown", "severity = critical"))
    house.settle()
    assert len(warnings(house, ts)) == 1


def test_a_reason_is_required_and_shown_harmlessly(house: AlertHouse) -> None:
    ts = house.fires(firing("CartErrors", "pod = hostile"))
    house.settle()
    refused = snooze(house, ts, reason=" \u200b ".replace("\u200b", " "))
    assert refused["errors"] == {"reason": "Say why."}
    house.slack.close_view(INES)
    hostile = "<!channel> see https://evil.example ``` @here <@U0DANA> " + "x" * 200
    assert snooze(house, ts, reason=hostile) == {}
    said = line(house, ts)
    assert "<!channel" not in said
    assert "<@U0DANA>" not in said
    assert "https://evil.example" not in said
    assert all(problems(one["blocks"]) == [] for one in house.replies(ts))


def test_whoever_may_not_ask_gets_no_form(house: AlertHouse) -> None:
    ts = house.fires(firing("CartErrors", "pod = guest"))
    house.settle()
    (answer,) = house.replies(ts)
    with changed(house, "U0PRIYA", guest="single_channel"):
        house.slack.click(PLATFORM, answer["ts"], SNOOZE, "U0PRIYA")
        house.settle()
        assert house.slack.view("U0PRIYA") is None


@contextmanager
def changed(house: AlertHouse, user: str, **fields: Any) -> Iterator[None]:
    """Somebody's account."""
    before, people = house.slack.workspace.people[user], house.bot.gate.people
    house.slack.workspace.welcome(replace(before, **fields))
    people._by_id._entries.clear()
    try:
        yield
    finally:
        house.slack.workspace.welcome(before)
        people._by_id._entries.clear()


def test_whoever_is_on_call_is_woken_where_the_snoozer_has_left(house: AlertHouse) -> None:
    ts = answered_and_snoozed(house, "TillQueue", "instance = t-1", "value = 20 %", user=MAREK)
    with changed(house, MAREK, deleted=True):
        house.fires(firing("TillQueue", "instance = t-2", "value = 20 %"))
        house.settle()
    (warning,) = warnings(house, ts)
    assert f"<@{DANA}>" in warning
    assert f"<@{MAREK}>" not in warning


def test_until_the_shift_ends_is_offered_while_somebody_has_it(house: AlertHouse) -> None:
    ts = house.fires(firing("BasketFull", "pod = shift"))
    house.settle()
    (ends,) = set(options(form_of(house, ts, DANA), "until")) - {"1", "4"}
    house.slack.close_view(DANA)
    assert options(form_of(house, ts, DANA), "until")[ends].startswith("Until my shift ends, ")
    house.slack.close_view(DANA)
    assert options(form_of(house, ts, INES), "until")[ends].startswith("Until the shift ends, ")
    house.slack.close_view(INES)
    assert snooze(house, ts, ends, user=DANA) == {}
    with house.bot.engine.connect() as connection:
        untils = connection.scalars(select(SnoozeRow.until).order_by(SnoozeRow.since))
        assert datetime.fromisoformat(ends) in set(untils)


def test_a_shift_that_is_over_by_then_snoozes_nothing(house: AlertHouse) -> None:
    ts = house.fires(firing("CartLatency", "pod = late"))
    house.settle()
    past = (datetime.now(UTC) - timedelta(minutes=1)).replace(tzinfo=None).isoformat()
    assert snooze(house, ts, past) == {}
    assert len(house.replies(ts)) == 1


def test_without_the_switch_there_is_no_button(house: AlertHouse) -> None:
    ts = house.fires(firing("KeyOverdue"), SECURITY)
    house.settle()
    assert "Ask a human" in house.reply(ts, SECURITY)
    assert SNOOZE not in house.reply(ts, SECURITY)


def test_a_deleted_alert_takes_its_snooze_along(house: AlertHouse) -> None:
    ts = answered_and_snoozed(house, "TillOffline", "region = eu", until="4")
    house.bot.records.withdraw(f"{PLATFORM}:{ts}")
    other = house.fires(firing("TillOffline", "region = eu"))
    house.settle()
    assert "Fence the node" in house.reply(other)
    assert warnings(house, ts) == []


def test_an_end_that_an_edit_brings_is_no_firing(house: AlertHouse) -> None:
    ts = answered_and_snoozed(house, "BasketStuck", "pod = e")
    house.rewrites(ts, text=firing("BasketStuck", "pod = e", status="RESOLVED"))
    house.pass_time()
    assert "Resolved" in course(house, ts)
    assert warnings(house, ts) == []


def test_a_press_that_is_worked_off_twice_is_one_snooze(house: AlertHouse) -> None:
    """As after a kill between the press and the post."""
    ts = house.fires(firing("ShelfEmpty", "pod = twice"))
    house.settle()
    kind = next(iter(options(form_of(house, ts), "alert")))
    house.slack.close_view(INES)
    at = datetime.now(UTC).replace(tzinfo=None)
    event = SnoozeRequested(
        id="V-twice", question_id=f"{PLATFORM}:{ts}", alert=kind, user=INES, reason="Once",
        at=at.isoformat(), until=(at + timedelta(hours=1)).isoformat(),
    )  # fmt: skip
    handle = house.feature("snooze_over").handlers[SnoozeRequested]
    handle("first", event)
    handle("second", event)
    assert len([one for one in house.replies(ts) if "snoozed by" in words(one)]) == 1


def test_a_snoozed_alert_of_an_outage_stays_quiet_after_it(
    house: AlertHouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(name: str) -> Any:
        raise IndexUnavailable(f"{name} can't be opened", remedy="mount the disk")

    answered_and_snoozed(house, "ScaleDrift", "pod = o", until="4")
    house.fires(firing("ScaleDrift", "pod = o", status="RESOLVED"))
    pass_time(house, timedelta(hours=2))
    monkeypatch.setattr(house.copilot.access, "_snapshot", away)
    during = house.fires(firing("ScaleDrift", "pod = o"))
    house.settle()
    monkeypatch.undo()
    house.pass_time()
    house.pass_time()
    assert house.replies(during) == []
    record = house.record(during)
    assert record
    assert record.state == "silent"
    pass_time(house, timedelta(hours=3))
    after = house.fires(firing("ScaleDrift", "pod = o"))
    house.settle()
    assert "inter-site link" in house.reply(after)


def test_a_storm_wakes_once(house: AlertHouse) -> None:
    ts = answered_and_snoozed(house, "CartDisk95", "pod = storm")
    for _ in range(60):
        house.fires(firing("CartDisk95", "pod = storm"))
    house.pass_time()
    assert len(warnings(house, ts)) == 1
    assert "*Fired 61 times*" in course(house, ts)
    assert len([one for one in house.replies(ts) if "snoozed by" in words(one)]) == 1


def test_an_alert_is_answered_although_a_hook_fails(
    house: AlertHouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object) -> list[object]:
        raise ValueError("a row that another release wrote")

    monkeypatch.setattr(SnoozeStore, "running", fails)
    ts = house.fires(firing("LampOut"))
    house.settle()
    assert "Replace the node" in house.reply(ts)
