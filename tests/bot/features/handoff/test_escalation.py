"""A hand-off that nobody takes goes on to the next; whoever asked hears who came."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import delete, select, update

from bot.bus.timers import TimerRow
from bot.features.handoff.store import CallRow
from bot.questions.tables import HandoffRow
from bot.slack.messages import ERASED
from config.domain import Domain
from playground.slack_stand_in import SlackStandIn
from telemetry.metrics import registry
from tests.bot.conftest import Desk, running, words
from tests.bot.fakes import CHANNEL, Agents, domain, showing_to_all
from tests.bot.features.handoff.rewound import rewind

LIMITS = {"questions_per_user_per_hour": 10_000}
LEADS = {"user": "U0DANA", "after_minutes": 30, "name": "Platform leads"}
DOMAINS: dict[str, Domain] = {}


@pytest.fixture(scope="module")
def called_desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    agents, folder = Agents(), tmp_path_factory.mktemp("desk")
    escalates()
    with (
        SlackStandIn(enforce_rate_limits=False) as slack,
        running(slack, folder, agents, DOMAINS) as bot,
    ):
        # Ticked by the tests alone, who know what they wait for.
        bot.clock.stop()
        yield Desk(slack, bot, agents)


@pytest.fixture
def desk(called_desk: Desk) -> Desk:
    called_desk.slack.faults.clear()
    called_desk.settle()  # what the test before began
    escalates()
    with called_desk.bot.engine.begin() as connection:  # what other tests left open
        connection.execute(delete(TimerRow))
        connection.execute(update(HandoffRow).values(resolved_by="U0YOU"))
    called_desk.bot.gate.people._by_id._entries.clear()
    handed_over(called_desk).rotas._entries.clear()
    return called_desk


def escalates(path: Path | None = None, **escalation: Any) -> None:
    """From now on the domain does so."""
    values = escalation or {"usergroup": "S0SECENG", "levels": [LEADS]}
    made = domain(limits=LIMITS, admins=["U0INES"], escalation=values)
    DOMAINS["security"] = made.read_from(path / "security.yaml") if path else made


def handed_over(desk: Desk) -> Any:
    return desk.bot.handoffs


def ask_human(desk: Desk, text: str = "who may open the vault?", **more: Any) -> tuple[str, Any]:
    """The question's ts and the card."""
    ts, reply = desk.ask(text, **more)
    channel = more.get("channel", CHANNEL)
    desk.slack.click(channel, reply["ts"], "ask_human", more.get("user", "U0YOU"))
    card = desk.slack.wait_for_reply(channel, ts, until=lambda m: kind(m) == "oncall_handoff")
    desk.settle()
    return ts, card


def kind(message: Mapping[str, Any]) -> str:
    return str((message.get("metadata") or {}).get("event_type") or "")


def calls(desk: Desk, ts: str, channel: str = CHANNEL) -> list[str]:
    """What was said in calls of their own, in order."""
    return [m["text"] for m in desk.said(channel, ts) if kind(m) == "oncall_call"]


@contextmanager
def left_the_company(desk: Desk, user: str) -> Iterator[None]:
    """Meanwhile their account is deactivated."""
    people = desk.slack.workspace.people
    person = people[user]
    people[user] = replace(person, deleted=True)
    desk.bot.gate.people._by_id._entries.clear()
    try:
        yield
    finally:
        people[user] = person


def card_of(desk: Desk, ts: str, channel: str = CHANNEL) -> str:
    return words(next(m for m in desk.said(channel, ts) if kind(m) == "oncall_handoff"))


def pass_time(desk: Desk, minutes: float) -> None:
    rewind(desk.bot.engine, minutes)
    desk.bot.clock.tick()
    desk.settle()


def direct(desk: Desk, user: str) -> list[dict[str, Any]]:
    """What the bot wrote to somebody of its own accord."""
    space = desk.slack.workspace
    found = next((one.id for one in space.channels.values() if one.user == user), "")
    told = {"oncall_handoff_told", "oncall_call"}
    return [m for m in desk.slack.messages(found) if kind(m) in told] if found else []


def test_the_same_people_are_called_again_then_the_next_level_and_each_once(desk: Desk) -> None:
    ts, _ = ask_human(desk)
    pass_time(desk, 14)
    assert calls(desk, ts) == []
    pass_time(desk, 2)
    pass_time(desk, 1)
    assert calls(desk, ts) == [
        ":raising_hand: <!subteam^S0SECENG> once more: nobody has taken this for 16 minutes. "
        "Can you help?"
    ]
    pass_time(desk, 28)
    assert len(calls(desk, ts)) == 1
    pass_time(desk, 2)
    assert calls(desk, ts)[1].startswith(
        ":raising_hand: <@U0DANA> (Platform leads): nobody has taken this for 47 minutes."
    )
    for _ in range(3):
        pass_time(desk, 24 * 60)
    assert len(calls(desk, ts)) == 2
    shown = card_of(desk, ts)
    order = ["called <!subteam^S0SECENG>\\n", "called <!subteam^S0SECENG> again", "<@U0DANA>"]
    assert sorted(order, key=shown.index) == order
    assert "I'll take it" in shown


def test_a_night_without_a_bot_calls_nobody_twice_at_once(desk: Desk) -> None:
    ts, _ = ask_human(desk)
    pass_time(desk, 9 * 60)
    assert len(calls(desk, ts)) == 1
    pass_time(desk, 31)
    assert len(calls(desk, ts)) == 2


def test_taking_it_from_a_call_stops_the_clock_and_tells_the_asker_once(desk: Desk) -> None:
    before = len(direct(desk, "U0YOU"))
    ts, _ = ask_human(desk, "who may open the <gate>?")
    pass_time(desk, 16)
    call = next(m for m in desk.said(CHANNEL, ts) if kind(m) == "oncall_call")
    desk.slack.click(CHANNEL, call["ts"], "handoff_take", "U0DANA")
    desk.slack.wait_for(lambda: "<@U0DANA> is on it" in card_of(desk, ts))
    late = {"question_id": f"{CHANNEL}:{ts}", "user": "U0INES"}
    desk.bot.inbox.put(f"late-{ts}", {"take": late})  # pressed before the card changed
    desk.settle()
    pass_time(desk, 60)
    assert len(calls(desk, ts)) == 1
    offered = [words(m) for m in desk.said(CHANNEL, ts) if kind(m) == "oncall_call"]
    assert "handoff_take" not in offered[0]
    assert "<!subteam^S0SECENG> was called after 16 minutes." in offered[0]
    assert "an you help" not in offered[0]
    (told,) = direct(desk, "U0YOU")[before:]
    assert told["text"].startswith(":eyes: <@U0DANA> took your question (<http://")
    assert "&lt;gate&gt;" in told["text"]
    in_channel = [m for m in desk.slack.messages(CHANNEL) if m.get("thread_ts", m["ts"]) == m["ts"]]
    assert {m["user"] for m in in_channel} == {"U0YOU"}


def test_a_tick_resolves_it_stops_the_clock_and_tells_the_asker_once(desk: Desk) -> None:
    ts, card = ask_human(desk, "who may open the cellar?")
    before = len(direct(desk, "U0YOU"))
    desk.slack.post_as_user(CHANNEL, "Two of us, <!here>.", thread_ts=ts, user="U0INES")
    for _ in range(2):
        desk.slack.add_reaction(CHANNEL, card["ts"], "white_check_mark", "U0INES")
        desk.slack.wait_for(lambda: "Resolved by <@U0INES>" in card_of(desk, ts))
        desk.settle()
        desk.slack.workspace.react(CHANNEL, card["ts"], "white_check_mark", "U0INES", add=False)
    pass_time(desk, 120)
    assert calls(desk, ts) == []
    (told,) = direct(desk, "U0YOU")[before:]
    assert told["text"].startswith(":white_check_mark: <@U0INES> resolved your question (<http://")
    assert "Two of us" in told["text"]
    assert "<!here>" not in told["text"]


def test_who_helps_themselves_is_told_nothing(desk: Desk) -> None:
    before = len(direct(desk, "U0YOU"))
    ts, card = ask_human(desk)
    desk.slack.click(CHANNEL, card["ts"], "handoff_take", "U0YOU")
    desk.slack.wait_for(lambda: "<@U0YOU> is on it" in card_of(desk, ts))
    desk.settle()
    assert len(direct(desk, "U0YOU")) == before


def test_zero_minutes_remind_nobody(desk: Desk) -> None:
    escalates(user="U0INES", remind_minutes=0, levels=[LEADS])
    ts, _ = ask_human(desk)
    pass_time(desk, 31)
    assert [one.split()[1] for one in calls(desk, ts)] == ["<@U0DANA>"]


def shifts(path: Path, *turns: tuple[float, float, str]) -> None:
    """Write a rota: hours from now on, and who has the shift."""
    now = datetime.now(UTC)
    lines = [
        f"- {{from: {now + timedelta(hours=start):%Y-%m-%dT%H:%M:%SZ}, "
        f"to: {now + timedelta(hours=end):%Y-%m-%dT%H:%M:%SZ}, user: {who}}}"
        for start, end, who in turns
    ]
    (path / "rota.yaml").write_text("\n".join(lines), encoding="utf-8")


def test_in_a_gap_it_says_until_when_and_who_is_called_instead(desk: Desk, tmp_path: Path) -> None:
    shifts(tmp_path, (-9, -2, "U0INES"), (48, 56, "U0INES"))
    escalates(tmp_path, rota="rota.yaml", usergroup="S0PRE", time_zone="Asia/Tokyo")
    _, card = ask_human(desk)
    assert "<!subteam^S0PRE> can you help here?" in words(card)
    assert "nobody is on call until " in words(card)
    assert "(Asia/Tokyo)" in words(card)


def test_what_cannot_be_reached_is_skipped_said_and_the_next_is_called_at_once(
    desk: Desk, tmp_path: Path
) -> None:
    (tmp_path / "broken.yaml").write_text("from: [", encoding="utf-8")
    shifts(tmp_path, (-1, 8, "nobody@nowhere.example"))
    levels = [
        {"rota": "broken.yaml", "after_minutes": 600, "name": "Second line"},
        {"rota": "rota.yaml", "after_minutes": 600},
        {"user": "U0MAREK", "after_minutes": 600},
        LEADS,
    ]
    escalates(tmp_path, rota="missing.ics", levels=levels)
    ts, card = ask_human(desk)
    assert "<@U0MAREK> can you help here?" in words(card)
    assert "Whoever is on call not called: the rota can't be read" in words(card)
    assert "Second line not called: the rota can't be read" in words(card)
    assert "somebody whom Slack doesn't know" in words(card)
    pass_time(desk, 16)
    assert calls(desk, ts) == []  # there is nobody to be called again
    pass_time(desk, 15)
    assert [one.split()[1] for one in calls(desk, ts)] == ["<@U0DANA>"]


def test_where_nobody_can_be_reached_the_card_says_so(desk: Desk) -> None:
    escalates(rota="missing.ics")
    _, card = ask_human(desk)
    assert "Nobody could be called here; can somebody help?" in words(card)


def test_who_has_left_slack_is_skipped(desk: Desk) -> None:
    people = desk.slack.workspace.people
    dana = people["U0DANA"]
    people["U0DANA"] = replace(dana, deleted=True)
    try:
        escalates(user="U0INES", remind_minutes=0, levels=[LEADS, {**LEADS, "user": "U0MAREK"}])
        ts, _ = ask_human(desk)
        pass_time(desk, 31)
        assert [one.split()[1] for one in calls(desk, ts)] == ["<@U0MAREK>"]
        assert "Platform leads not called: whoever it should be has left" in card_of(desk, ts)
    finally:
        people["U0DANA"] = dana


def test_the_reminder_goes_to_whoever_has_the_shift_by_then(desk: Desk, tmp_path: Path) -> None:
    shifts(tmp_path, (-1, 8, "U0INES"))
    escalates(tmp_path, rota="rota.yaml")
    ts, card = ask_human(desk)
    assert "<@U0INES> can you help" in words(card)
    shifts(tmp_path, (-9, -0.1, "U0INES"), (-0.1, 8, "U0DANA"))
    handed_over(desk).rotas._entries.clear()
    pass_time(desk, 16)
    assert [one.split()[1] for one in calls(desk, ts)] == ["<@U0DANA>"]


def test_whoever_comes_on_call_while_everybody_was_called_is_told_once(
    desk: Desk, tmp_path: Path
) -> None:
    shifts(tmp_path, (-1, 8, "U0INES"), (8, 16, "U0DANA"))
    escalates(tmp_path, rota="rota.yaml", remind_minutes=0)
    ts, _ = ask_human(desk)
    pass_time(desk, 30)
    assert calls(desk, ts) == []
    shifts(tmp_path, (-9, -0.1, "U0INES"), (-0.1, 8, "U0DANA"))
    handed_over(desk).rotas._entries.clear()
    for minutes in (8 * 60, 2, 2):
        pass_time(desk, minutes)
    (said,) = calls(desk, ts)
    assert said.startswith(":raising_hand: <@U0DANA> you have the shift now, and nobody has")


def test_after_a_week_nobody_is_called_any_more(desk: Desk) -> None:
    ts, _ = ask_human(desk)
    pass_time(desk, 8 * 24 * 60)
    assert calls(desk, ts) == []


def test_who_took_it_is_asked_after_a_day_once(desk: Desk) -> None:
    ts, card = ask_human(desk)
    before = len(direct(desk, "U0DANA"))
    desk.slack.click(CHANNEL, card["ts"], "handoff_take", "U0DANA")
    desk.slack.wait_for(lambda: "<@U0DANA> is on it" in card_of(desk, ts))
    desk.settle()
    pass_time(desk, 23 * 60)
    assert len(direct(desk, "U0DANA")) == before
    for _ in range(3):
        pass_time(desk, 25 * 60)
    (told,) = direct(desk, "U0DANA")[before:]
    assert "a day ago, and it isn't marked as resolved" in told["text"]
    assert calls(desk, ts) == []


def test_taken_by_somebody_who_left_it_is_called_again(desk: Desk) -> None:
    ts, card = ask_human(desk)
    desk.slack.click(CHANNEL, card["ts"], "handoff_take", "U0DANA")
    desk.slack.wait_for(lambda: "<@U0DANA> is on it" in card_of(desk, ts))
    desk.settle()
    with left_the_company(desk, "U0DANA"):
        pass_time(desk, 25 * 60)
    assert "whoever had taken this is gone. Can you help?" in calls(desk, ts)[0]
    assert "I'll take it" in card_of(desk, ts)


def test_taken_by_somebody_who_was_erased_since_it_is_called_again(desk: Desk) -> None:
    ts, card = ask_human(desk)
    desk.slack.click(CHANNEL, card["ts"], "handoff_take", "U0DANA")
    desk.slack.wait_for(lambda: "<@U0DANA> is on it" in card_of(desk, ts))
    desk.settle()
    mine = HandoffRow.question_id == f"{CHANNEL}:{ts}"
    with desk.bot.engine.begin() as connection:
        connection.execute(update(HandoffRow).where(mine).values(taken_by=ERASED))
    for plan in desk.bot.clock._plans:
        plan()
    pass_time(desk, 1)
    assert "whoever had taken this is gone" in calls(desk, ts)[0]
    desk.slack.click(CHANNEL, card["ts"], "handoff_take", "U0INES")
    desk.slack.wait_for(lambda: "<@U0INES> is on it" in card_of(desk, ts))


def test_asked_for_in_a_direct_message_people_are_called_in_theirs_without_its_words(
    desk: Desk,
) -> None:
    before = len(direct(desk, "U0INES"))
    mine = desk.slack.workspace.direct("U0YOU").id
    ts, reply = desk.ask("where is the secret bunker?", channel=mine)
    desk.slack.click(mine, reply["ts"], "ask_human")
    (call,) = desk.slack.wait_for(lambda: direct(desk, "U0INES")[before:])
    assert "<@U0YOU> asked me in a direct message" in call["text"]
    assert "bunker" not in words(call)
    desk.settle()
    theirs = desk.slack.workspace.direct("U0INES").id
    desk.slack.click(theirs, call["ts"], "handoff_take", "U0INES")
    told = desk.slack.wait_for_reply(mine, ts, until=lambda m: kind(m) == "oncall_handoff_told")
    assert told["text"] == ":eyes: <@U0INES> took your question."
    assert "<@U0INES> is on it" in card_of(desk, ts, mine)
    desk.settle()
    assert len(direct(desk, "U0INES")) == before + 1


def test_nobody_else_takes_what_was_asked_in_a_direct_message(desk: Desk) -> None:
    mine = desk.slack.workspace.direct("U0YOU").id
    ts, reply = desk.ask("where is the bunker's key?", channel=mine)
    desk.slack.click(mine, reply["ts"], "ask_human")
    card = desk.slack.wait_for_reply(mine, ts, until=lambda m: kind(m) == "oncall_handoff")
    desk.settle()
    act = {"question_id": f"{mine}:{ts}", "user": "U0MAREK"}
    desk.bot.inbox.put("take-in-secret", {"take": act})
    desk.settle()
    assert "Marek" not in card_of(desk, ts, mine)
    assert handed_over(desk).get(f"{mine}:{ts}").taken_by == ""
    assert card


def test_a_refused_message_does_not_stop_the_next_level(desk: Desk) -> None:
    ts, _ = ask_human(desk)
    desk.slack.faults.add("chat.postMessage", error="restricted_action")
    pass_time(desk, 16)
    assert calls(desk, ts) == []
    pass_time(desk, 31)
    assert [one.split()[1] for one in calls(desk, ts)] == ["<@U0DANA>"]


def test_a_call_whose_reply_was_lost_is_found_and_not_made_again(desk: Desk) -> None:
    ts, _ = ask_human(desk)
    desk.slack.faults.add("chat.postMessage", drop_response=True)
    pass_time(desk, 16)
    assert len(calls(desk, ts)) == 1


def test_domains_words_in_calls_are_harmless(desk: Desk) -> None:
    hostile = {**LEADS, "name": "<!here> <https://evil.example|leads>"}
    escalates(user="U0INES", remind_minutes=0, levels=[hostile])
    ts, _ = ask_human(desk)
    pass_time(desk, 31)
    assert "<!here>" not in calls(desk, ts)[0]
    assert "<https://evil" not in calls(desk, ts)[0]
    assert "<!here>" not in card_of(desk, ts)


def test_figures_are_for_prometheus_and_for_admins(desk: Desk) -> None:
    def figure(name: str, **labels: str) -> float:
        return registry.get_sample_value(name, {"domain": "security", **labels}) or 0.0

    taken = figure("oncall_handoff_taken_seconds_count")
    resolved = figure("oncall_handoff_resolved_seconds_count")
    again = figure("oncall_handoff_calls_total", step="again")
    ts, card = ask_human(desk, "who opens the <harbour>?")
    pass_time(desk, 16)
    for plan in desk.bot.clock._plans:
        plan()
    assert figure("oncall_handoffs_waiting") >= 1
    assert figure("oncall_handoffs_oldest_seconds") > 900
    assert figure("oncall_handoff_calls_total", step="again") == again + 1
    desk.slack.open_app("home", "U0INES")
    home = desk.slack.wait_for(
        lambda: "7 days" in str(desk.slack.home("U0INES")) and desk.slack.home("U0INES")
    )
    assert "&lt;harbour&gt;" in str(home) or "more are open" in str(home)
    desk.slack.click(CHANNEL, card["ts"], "handoff_take", "U0DANA")
    desk.slack.add_reaction(CHANNEL, card["ts"], "white_check_mark", "U0DANA")
    desk.slack.wait_for(lambda: "Resolved by" in card_of(desk, ts))
    desk.settle()
    assert figure("oncall_handoff_taken_seconds_count") == taken + 1
    assert figure("oncall_handoff_resolved_seconds_count") == resolved + 1


def test_a_card_shows_what_happens_while_it_is_updated(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    ts, card = ask_human(desk)
    call, waiting = desk.bot.web.call, ["the update of the card after it was taken"]

    def slow_call(method: str, **arguments: Any) -> Any:
        if method == "chat.update" and arguments["ts"] == card["ts"] and waiting:
            waiting.clear()
            desk.slack.add_reaction(CHANNEL, card["ts"], "white_check_mark", "U0DANA")
            desk.slack.wait_for(lambda: "Resolved by" in card_of(desk, ts))
        return call(method, **arguments)

    monkeypatch.setattr(desk.bot.web, "call", slow_call)
    desk.slack.click(CHANNEL, card["ts"], "handoff_take", "U0DANA")
    desk.slack.wait_for(lambda: not waiting)
    desk.settle()
    assert "Resolved by" in card_of(desk, ts)


@pytest.mark.parametrize("rota", ["- {}\n# \x07", "BEGIN:VCALENDAR\nX\x00", "<html>"])
def test_whatever_a_rota_holds_its_fallback_is_called(
    desk: Desk, tmp_path: Path, rota: str
) -> None:
    (tmp_path / "rota.yaml").write_text(rota)
    escalates(tmp_path, rota="rota.yaml", usergroup="S0PRE")
    _, card = ask_human(desk)
    assert "<!subteam^S0PRE>" in words(card)


def test_a_rota_that_breaks_its_reader_calls_the_fallback_too(
    desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def breaks(*_: object, **__: object) -> None:
        raise MemoryError("private-5f1c0ffee")

    monkeypatch.setattr("bot.rotas.rota.yaml_shifts", breaks)
    (tmp_path / "rota.yaml").write_text("- 5")
    escalates(tmp_path, rota="rota.yaml", usergroup="S0PRE")
    _, card = ask_human(desk)
    assert "<!subteam^S0PRE>" in words(card)


def test_a_broken_rota_is_shown_to_admins_and_its_address_is_not(desk: Desk) -> None:
    escalates(rota="https://127.0.0.1:9/private-5f1c0ffee.ics", usergroup="S0PRE")
    ask_human(desk)
    desk.slack.open_app("home", "U0INES")
    home = desk.slack.wait_for(
        lambda: "can't be read" in str(desk.slack.home("U0INES")) and desk.slack.home("U0INES")
    )
    assert "5f1c0ffee" not in str(home)


def test_no_timer_is_left_of_what_is_over(desk: Desk) -> None:
    ts, card = ask_human(desk)
    desk.slack.add_reaction(CHANNEL, card["ts"], "white_check_mark", "U0INES")
    desk.slack.wait_for(lambda: "Resolved by" in card_of(desk, ts))
    desk.settle()
    with desk.bot.engine.connect() as connection:
        subjects = connection.scalars(select(TimerRow.subject)).all()
    assert f"{CHANNEL}:{ts}" not in subjects


def test_a_timer_that_came_to_nothing_is_set_again(desk: Desk) -> None:
    ts, _ = ask_human(desk)
    with desk.bot.engine.begin() as connection:
        connection.execute(delete(TimerRow))
    for plan in desk.bot.clock._plans:
        plan()
    pass_time(desk, 61)
    assert len(calls(desk, ts)) == 1


def test_a_question_that_was_deleted_calls_nobody_any_more_and_its_words_go(desk: Desk) -> None:
    ts, _ = ask_human(desk, "who may open the quarry?")
    pass_time(desk, 16)
    assert len(calls(desk, ts)) == 1
    desk.slack.delete_message(CHANNEL, ts)
    desk.slack.wait_for(lambda: "taken back" in card_of(desk, ts))
    desk.settle()
    assert "quarry" not in card_of(desk, ts)
    assert "handoff_take" not in str(desk.said(CHANNEL, ts))
    with desk.bot.engine.connect() as connection:
        assert f"{CHANNEL}:{ts}" not in connection.scalars(select(TimerRow.subject)).all()
    for plan in desk.bot.clock._plans:
        plan()
    pass_time(desk, 120)
    assert len(calls(desk, ts)) == 1
    report = next(one.home for one in desk.bot.features if one.timers.get("handoff-call"))
    assert report is not None
    assert "asked long ago" not in str(list(report("U0INES", [DOMAINS["security"]])))


def test_who_took_what_was_deleted_since_is_asked_nothing(desk: Desk) -> None:
    ts, card = ask_human(desk)
    desk.slack.click(CHANNEL, card["ts"], "handoff_take", "U0DANA")
    desk.slack.wait_for(lambda: "<@U0DANA> is on it" in card_of(desk, ts))
    desk.slack.delete_message(CHANNEL, ts)
    desk.slack.wait_for(lambda: "taken back" in card_of(desk, ts))
    desk.settle()
    before = len(direct(desk, "U0DANA"))
    desk.bot.timers.set("handoff-taker", f"{CHANNEL}:{ts}", datetime.now(UTC))
    pass_time(desk, 25 * 60)
    assert len(direct(desk, "U0DANA")) == before


@pytest.mark.parametrize(
    ("members", "said"),
    [
        ((), "the group has nobody in it"),
        (("U0MAREK",), "everybody in the group has left Slack"),
        (None, "Slack doesn't know the group"),
    ],
)
def test_a_group_without_anybody_is_skipped_and_said(
    desk: Desk, members: tuple[str, ...] | None, said: str
) -> None:
    space = desk.slack.workspace
    group, marek = space.groups["S0SECENG"], space.people["U0MAREK"]
    space.people["U0MAREK"] = replace(marek, deleted=True)
    if members is None:
        del space.groups["S0SECENG"]
    else:
        space.groups["S0SECENG"] = replace(group, members=members)
    try:
        _, card = ask_human(desk)
    finally:
        space.groups["S0SECENG"], space.people["U0MAREK"] = group, marek
    assert "<@U0DANA> can you help here?" in words(card)
    assert f"Whoever is on call not called: {said}" in words(card)


def test_a_group_that_slack_does_not_list_is_called_all_the_same(desk: Desk) -> None:
    desk.slack.faults.add("usergroups.users.list", error="missing_scope")
    _, card = ask_human(desk)
    assert "<!subteam^S0SECENG> can you help here?" in words(card)


def test_whom_slack_does_not_know_is_skipped_and_said(desk: Desk) -> None:
    escalates(user="U0NOBODY0", usergroup="S0PRE", remind_minutes=0)
    _, card = ask_human(desk)
    assert "<!subteam^S0PRE> can you help here?" in words(card)
    assert "Slack doesn't know whoever it should be" in words(card)


def test_taken_by_another_after_somebody_left_the_asker_hears_of_both(desk: Desk) -> None:
    before = len(direct(desk, "U0YOU"))
    ts, card = ask_human(desk)
    desk.slack.click(CHANNEL, card["ts"], "handoff_take", "U0DANA")
    desk.slack.wait_for(lambda: "<@U0DANA> is on it" in card_of(desk, ts))
    desk.settle()
    with left_the_company(desk, "U0DANA"):
        pass_time(desk, 25 * 60)
        desk.slack.click(CHANNEL, card["ts"], "handoff_take", "U0INES")
        desk.slack.wait_for(lambda: "<@U0INES> is on it" in card_of(desk, ts))
        desk.settle()
    told = [one["text"].split()[1] for one in direct(desk, "U0YOU")[before:]]
    assert told == ["<@U0DANA>", "<@U0INES>"]


def test_called_directly_they_see_who_took_it_in_the_buttons_place(desk: Desk) -> None:
    space = desk.slack.workspace
    group = space.groups["S0SECENG"]
    space.groups["S0SECENG"] = replace(group, members=("U0INES", "U0DANA"))
    before = {user: len(direct(desk, user)) for user in group_of(desk)}
    mine = space.direct("U0YOU").id
    try:
        ts, reply = desk.ask("where is the lodge?", channel=mine)
        desk.slack.click(mine, reply["ts"], "ask_human")
        (call,) = desk.slack.wait_for(lambda: direct(desk, "U0INES")[before["U0INES"] :])
        desk.settle()
    finally:
        space.groups["S0SECENG"] = group
    desk.slack.click(space.direct("U0INES").id, call["ts"], "handoff_take", "U0INES")
    desk.slack.wait_for_reply(mine, ts, until=lambda m: kind(m) == "oncall_handoff_told")
    desk.settle()
    for user, said in (("U0INES", "You took this"), ("U0DANA", "<@U0INES> took this")):
        (call,) = direct(desk, user)[before[user] :]
        assert "handoff_take" not in words(call)
        assert said in words(call)
        assert "<@U0YOU>" in words(call)


def group_of(desk: Desk) -> tuple[str, ...]:
    return ("U0INES", "U0DANA")


def test_two_workers_at_once_call_once(desk: Desk) -> None:
    ts, _ = ask_human(desk)
    rewind(desk.bot.engine, 16)
    for number in range(6):
        timer = {"kind": "handoff-call", "subject": f"{CHANNEL}:{ts}"}
        desk.bot.inbox.put(f"at-once-{ts}-{number}", {"timer": timer})
    desk.settle()
    assert len(calls(desk, ts)) == 1


def test_a_hand_off_of_a_release_that_called_once_goes_on(desk: Desk) -> None:
    ts, card = ask_human(desk)
    desk.slack.click(CHANNEL, card["ts"], "handoff_take", "U0DANA")
    desk.slack.wait_for(lambda: "<@U0DANA> is on it" in card_of(desk, ts))
    desk.settle()
    mine = HandoffRow.question_id == f"{CHANNEL}:{ts}"
    with desk.bot.engine.begin() as connection:
        connection.execute(delete(CallRow).where(CallRow.question_id == f"{CHANNEL}:{ts}"))
        connection.execute(update(HandoffRow).where(mine).values(taken_by=ERASED))
    for plan in desk.bot.clock._plans:
        plan()
    pass_time(desk, 1)
    assert "whoever had taken this is gone" in calls(desk, ts)[0]
    pass_time(desk, 16)
    assert "once more" in calls(desk, ts)[1]


def test_where_the_digest_does_not_tell_of_it_the_next_shift_is_called(
    desk: Desk, tmp_path: Path
) -> None:
    shifts(tmp_path, (-1, 8, "U0INES"), (8, 16, "U0DANA"))
    escalates(tmp_path, rota="rota.yaml", remind_minutes=0)
    DOMAINS["security"] = domain(
        limits=LIMITS,
        digest="shift_change",
        escalation={"rota": "rota.yaml", "remind_minutes": 0},
    ).read_from(tmp_path / "security.yaml")
    before = len(direct(desk, "U0DANA"))
    mine = desk.slack.workspace.direct("U0YOU").id
    _, reply = desk.ask("where is the mill?", channel=mine)
    desk.slack.click(mine, reply["ts"], "ask_human")
    desk.settle()
    in_channel, _ = ask_human(desk)
    shifts(tmp_path, (-9, -0.1, "U0INES"), (-0.1, 8, "U0DANA"))
    handed_over(desk).rotas._entries.clear()
    for minutes in (8 * 60, 2):
        pass_time(desk, minutes)
    (told,) = direct(desk, "U0DANA")[before:]
    assert "asked me in a direct message" in words(told)
    assert calls(desk, in_channel) == []  # the digest tells of it


def test_a_level_in_a_gap_is_called_when_its_shift_begins(desk: Desk, tmp_path: Path) -> None:
    shifts(tmp_path, (20, 28, "U0DANA"))
    level = {"rota": "rota.yaml", "after_minutes": 10, "name": "Leads"}
    escalates(tmp_path, usergroup="S0SECENG", remind_minutes=0, levels=[level])
    ts, _ = ask_human(desk)
    pass_time(desk, 11)
    assert calls(desk, ts) == []
    assert "Leads not called: nobody is on call until " in card_of(desk, ts)
    shifts(tmp_path, (-0.1, 8, "U0DANA"))
    handed_over(desk).rotas._entries.clear()
    for minutes in (20 * 60, 2, 2):
        pass_time(desk, minutes)
    (said,) = calls(desk, ts)
    assert said.startswith(":raising_hand: <@U0DANA> (Leads) you have the shift now")


def test_many_broken_rotas_leave_the_figures_and_every_line_whole(desk: Desk) -> None:
    long = "x" * 300
    levels = [{"rota": f"/missing/{long}/{number}.ics", "after_minutes": 5} for number in range(10)]
    escalates(rota=f"/missing/{long}.ics", levels=levels)
    ask_human(desk)
    report = next(one.home for one in desk.bot.features if one.timers.get("handoff-call"))
    assert report is not None
    (block,) = report(showing_to_all(), [DOMAINS["security"]])
    text = block["text"]["text"]
    assert len(text) < 3_000
    assert "asked for" in text
    assert "more rotas can't be read" in text


def test_of_those_who_take_it_at_once_one_has_it_and_the_asker_hears_once(desk: Desk) -> None:
    before = len(direct(desk, "U0YOU"))
    ts, _ = ask_human(desk)
    for user in ("U0DANA", "U0INES", "U0PRIYA", "U0MAREK"):
        act = {"question_id": f"{CHANNEL}:{ts}", "user": user}
        desk.bot.inbox.put(f"take-at-once-{ts}-{user}", {"take": act})
    desk.settle()
    taker = handed_over(desk).get(f"{CHANNEL}:{ts}").taken_by
    assert f"<@{taker}> is on it" in card_of(desk, ts)
    (told,) = direct(desk, "U0YOU")[before:]
    assert told["text"].startswith(f":eyes: <@{taker}> took ")
