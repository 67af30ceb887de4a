"""A timeline says what stands in a thread, and what doesn't: the real bot on a real index."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from sqlalchemy import select, update

from agents.runbooks.step import RunbookStep, StepPart
from bot.features.checklists.progress import Checklist, Press, Runbook
from bot.features.checklists.store import ChecklistStore
from bot.features.timeline import service
from bot.features.timeline.service import TimelineRequested, is_timeline_request
from bot.questions.tables import HandoffRow
from bot.slack.messages import ERASED, moment
from index.audit import ShownRow
from playground.slack.rules.block_rules import problems
from tests.bot.conftest import eventually, words
from tests.bot.features.alerts.office import CLOSED, PLATFORM, PRIVACY, SECURITY
from tests.bot.features.timeline.night import DANA, INES, MAREK, Night, night
from tests.bot.hostile_text import in_blocks


@pytest.fixture(scope="module")
def hour(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Night]:
    with night(tmp_path_factory.mktemp("night")) as found:
        yield found


def shown(message: dict[str, Any]) -> str:
    """Its mrkdwn, with links as their words and times as their hour in UTC."""
    texts = [block["text"]["text"] for block in message["blocks"] if "text" in block]
    text = re.sub(r"<!date\^\d+\^[^|]*\|(?:[A-Z]\w+ \d+ at )?[^>]*>", "T", "\n".join(texts))
    return re.sub(r"<http[^|>]*\|([^>]*)>", r"\1", text).replace("*", "")


def lines(message: dict[str, Any]) -> list[str]:
    return shown(message).split("\n")


def markdown(hour: Night, message: dict[str, Any], user: str = DANA) -> str:
    """All that the button *Markdown* sends to a person."""
    before = len(hour.house.slack.ephemerals(user))
    hour.house.slack.click(PLATFORM, message["ts"], "timeline_markdown", user)
    hour.house.settle()
    sent = hour.house.slack.ephemerals(user)[before:]
    assert all(problems(one["blocks"]) == [] for one in sent)
    return "\n".join(one["blocks"][0]["text"] for one in sent)


def test_who_did_what_when(hour: Night) -> None:
    ts = hour.incident()
    message = hour.asks(ts)
    assert problems(message["blocks"]) == []
    assert "<@" not in words(message)  # nobody is notified
    assert lines(message) == [
        ":clipboard: Timeline of this thread, T to T",
        "TillOffline: fired T · first message or press T by Dana Whitlock"
        " · resolved T after 40 min",
        "T TillOffline fired",
        "T The copilot answered",
        "T Dana Whitlock: “on it” “@Ines Okafor can you look at till 4 with me? …”",
        "T Dana Whitlock started the checklist: “Till Runbook › TillOffline”",
        "T Dana Whitlock ticked off step 1: “Fence the node: tillctl fence --node till-eu-a.”",
        "T TillOffline fired again and once more at T",
        "T to T: nothing in this thread for 24 min",
        "T Ines Okafor: “promoted the standby, takings are back”",
        "T TillOffline resolved",
        "Unknown from this thread",
        "• Impact: unknown, for people to fill in",
        "• Cause: unknown, for people to fill in",
    ]
    text = markdown(hour, message)
    assert text.startswith("```\n# Timeline 20")
    assert f"[“promoted the standby, takings are back”]({hour.house.slack.url}archives/" in text
    assert re.search(
        r"- (?:\d{4}-\d\d-\d\d )?\d\d:\d\d \[Ines Okafor\]\(http[^)]*/team/U0INES\): \[“prom", text
    )
    assert hour.house.slack.ephemerals(INES) == []


def test_what_nobody_said_is_unknown(hour: Night) -> None:
    ts = hour.fires("CartErrors", "pod = a")
    hour.wait(30)
    hour.fires("CartErrors", "pod = a", status="RESOLVED")
    hour.wait(1)
    message = hour.asks(ts)
    told = lines(message)
    assert (
        "• Who saw CartErrors first: unknown, nobody wrote or pressed anything after it fired"
        in told
    )
    assert (
        "• Who resolved CartErrors: unknown, "
        "nobody wrote or pressed anything in the 15 min before its end" in told
    )
    assert "because" not in shown(message)


def test_two_incidents_of_one_thread_have_times_of_their_own(hour: Night) -> None:
    both = "\n\n".join(
        f"Labels:\n - alertname = {name}\n - pod = x" for name in ("ScaleDrift", "ShelfEmpty")
    )
    ts = hour.house.fires(f"[FIRING:2]\n{both}")
    hour.wait(1)
    hour.fires("ShelfEmpty", "pod = x", status="RESOLVED")
    told = lines(hour.asks(ts))
    assert sum(line.startswith("ScaleDrift: fired T") for line in told) == 1
    assert any(re.match(r"ShelfEmpty: fired T .*resolved T", line) for line in told)
    assert "• When ScaleDrift ended: unknown, no message says that it is over" in told
    assert not any(line.startswith("• When ShelfEmpty") for line in told)


def test_a_hand_off_is_a_part_of_it(hour: Night) -> None:
    ts = hour.fires("RoofLeak", "pod = r")
    hour.press(ts, "ask_human", DANA)
    hour.press(ts, "handoff_take", INES)
    hour.house.slack.add_reaction(PLATFORM, ts, "white_check_mark", INES)
    hour.house.settle()
    told = lines(hour.asks(ts))
    for line in (
        "T Dana Whitlock asked for a human",
        "T Ines Okafor took it",
        "T Ines Okafor marked it as resolved",
    ):
        assert line in told, told
    assert any("called" in line for line in told), told


def test_it_is_asked_for_in_words_or_by_a_button_and_once(hour: Night) -> None:
    ts = hour.fires("LampOut", "pod = l")
    for at, text in enumerate(("Timeline", "make a timeline, please!", "show me the time line")):
        hour.asks(ts, text)
        assert len(hour.timelines(ts)) == at + 1
    hour.press(ts, "timeline", INES)
    assert len(hour.timelines(ts)) == 4
    event = TimelineRequested(channel=PLATFORM, thread_ts=ts, user=DANA, at="1.0")
    feature = next(one for one in hour.house.bot.features if TimelineRequested in one.handlers)
    for _ in range(2):  # as after a crash
        feature.handlers[TimelineRequested](event.id, event)
    assert len(hour.timelines(ts)) == 5
    # Requests and timelines are no part of the incident.
    assert not any("imeline" in line for line in lines(hour.timelines(ts)[-1])[1:])


@pytest.mark.parametrize(
    ("text", "is_one"),
    [
        ("timeline", True),
        ("Please make a timeline.", True),
        ("what is the timeline for the migration?", False),
        ("timeline of the incident in May", False),
        ("the", False),
        ("", False),
    ],
)
def test_only_a_whole_message_asks_for_it(text: str, is_one: bool) -> None:
    assert is_timeline_request(text) is is_one


def test_messages_of_all_kinds(hour: Night) -> None:
    ts = hour.says("", "is the cart slow for anybody?", MAREK)
    slack = hour.house.slack
    plot = slack.share("graph.png", b"png")
    hour.says(ts, "", INES, files=[plot])
    slack.post_as_app(PLATFORM, "Deploy 12 finished", thread_ts=ts)
    edited = hour.says(ts, "I roled it back", DANA)
    slack.edit_message(PLATFORM, edited, "I rolled it back")
    gone = hour.says(ts, "the secret is hunter2", INES)
    slack.delete_message(PLATFORM, gone)
    hour.says(ts, "<!channel> look `at ```this", MAREK)
    hour.says(ts, "x" * 3_900, INES)
    hour.wait(0)
    message = hour.asks(ts)
    told = lines(message)
    assert "T Marek Vos: “is the cart slow for anybody?”" in told
    assert "T Ines Okafor sent a file: “graph.png”" in told
    assert "T Beacon: “Deploy 12 finished”" in told
    assert "T Dana Whitlock: “I rolled it back” (edited later)" in told
    assert "hunter2" not in words(message)
    assert "<!channel>" not in words(message)
    assert "`" not in shown(message)
    assert any(re.match(r"T Ines Okafor: “x{150,}…”$", line) for line in told)
    assert len(told) == 10, told
    hosts = frozenset(re.findall(r"<(http[^|>]*)\|", words(message).replace("&amp;", "&")))
    assert [one for one in in_blocks(message["blocks"], hosts) if "!date^" not in one] == []


def test_a_thousand_messages_are_read_and_the_message_holds_what_fits(
    hour: Night, monkeypatch: pytest.MonkeyPatch
) -> None:
    ts = hour.says("", "the long one begins", MAREK)
    for n in range(230):
        hour.says(ts, f"word number {n} and more of it", (DANA, INES)[n % 2])
    hour.house.settle()
    message = hour.asks(ts)
    assert problems(message["blocks"]) == []
    told = shown(message)
    assert "the long one begins" in told
    assert "word number 229" in told
    (left_out,) = re.findall(r"… (\d+) rows …", told)
    rows = len(re.findall(r"^T \w", told, re.MULTILINE))
    assert rows + int(left_out) == 231
    assert f"{left_out} rows are left out here; *Markdown* has all of them." in words(message)
    text = markdown(hour, message)
    assert all(f"word number {n} and" in text for n in range(230))
    monkeypatch.setattr(service, "MAX_MESSAGES", 100)
    message = hour.asks(ts)
    assert "The thread is longer: only its beginning was read." in words(message)
    assert "word number 229" not in shown(message)


def test_outside_of_a_thread_or_where_it_is_off_it_is_a_question(hour: Night) -> None:
    slack = hour.house.slack
    slack.post_as_user(PLATFORM, f"{hour.at} timeline", user=DANA)
    said = "Ask me for it in the incident's thread."
    eventually(lambda: [one for one in slack.ephemerals(DANA) if one["text"] == said])
    ts = slack.post_as_user(SECURITY, "anybody here?", user=DANA)
    slack.post_as_user(SECURITY, f"{hour.at} timeline", thread_ts=ts, user=DANA)
    hour.house.settle()
    assert not any(
        (one.get("metadata") or {}).get("event_type") == "oncall_timeline"
        for one in hour.house.desk.said(SECURITY, ts)
    )


def test_what_a_document_says_is_only_for_a_channel_that_may_read_it(hour: Night) -> None:
    """And it is in the audit log then."""
    bot, told = hour.house.bot, {}
    for channel, name, document in (
        (PLATFORM, "platform", "till-runbook"),
        (PRIVACY, "privacy", "desk-alerts"),  # each reads what is shared with them
    ):
        ts = hour.house.slack.post_as_user(channel, "what now?", user=MAREK)
        step = RunbookStep(number="1", level=0, parts=(StepPart(kind="words", text="Fence it"),))
        runbook = Runbook(
            title="Secret Plan", heading="", heading_path=(), tab="", url="", modified_at=None,
            steps=(step,),
        )  # fmt: skip
        checklist = Checklist(
            id=document, domain=name, channel=channel, thread_ts=ts, question_id="", generation=1,
            document=document, runbook=runbook, changed="", started_by=MAREK, started_at=moment(ts),
        )  # fmt: skip
        store = ChecklistStore(bot.engine)
        store.begin(checklist)
        store.press(checklist, Press(id=document, step=0, act="done", by=MAREK, at=moment(ts)))
        hour.house.slack.post_as_user(channel, f"{hour.at} timeline", thread_ts=ts, user=MAREK)
        hour.house.settle()
        (message,) = hour.timelines(ts, channel)
        told[name] = shown(message)
    assert "T Marek Vos started the checklist: “Secret Plan”" in told["platform"]
    assert "T Marek Vos ticked off step 1: “Fence it”" in told["platform"]
    assert "T Marek Vos ticked off step 1\n" in told["privacy"]
    assert "Secret" not in told["privacy"]
    with bot.engine.connect() as connection:
        rows = connection.execute(select(ShownRow).where(ShownRow.door == "timeline")).all()
    shown_to = {(row.domain, row.place) for row in rows if "till-runbook" in row.documents}
    assert shown_to == {("platform", PLATFORM)}
    assert not any("desk-alerts" in row.documents for row in rows)


def test_limits_outages_and_a_lost_reply_make_one_timeline(hour: Night) -> None:
    ts = hour.fires("DoorOpen", "pod = d")
    faults = hour.house.slack.faults
    faults.add("conversations.replies", status=429, retry_after=1)
    faults.add("users.info", status=500)
    faults.add("chat.postMessage", drop_response=True)
    hour.says(ts, "looking", MAREK)
    assert "T Marek Vos: “looking”" in lines(hour.asks(ts, user=MAREK))


def test_people_who_are_gone_are_somebody(hour: Night) -> None:
    ts = hour.fires("GateDown", "pod = g")
    hour.press(ts, "ask_human", DANA)
    with hour.house.bot.engine.begin() as connection:
        connection.execute(
            update(HandoffRow)
            .where(HandoffRow.question_id == f"{PLATFORM}:{ts}")
            .values(requested_by=ERASED)
        )
    assert "T somebody asked for a human" in lines(hour.asks(ts))


def test_who_may_not_see_the_thread_gets_none(hour: Night) -> None:
    """A press that Slack should not have delivered: of a stranger, and for another channel."""
    ts = hour.fires("QueueJam", "pod = q")
    feature = next(one for one in hour.house.bot.features if TimelineRequested in one.handlers)
    for channel, user in ((PLATFORM, "U0NOBODY"), (CLOSED, DANA), ("C0NOWHERE", DANA)):
        event = TimelineRequested(channel=channel, thread_ts=ts, user=user, at="2.0")
        feature.handlers[TimelineRequested](event.id, event)
    assert hour.timelines(ts) == []


def test_a_thread_that_is_gone_is_no_error(hour: Night) -> None:
    event = TimelineRequested(channel=PLATFORM, thread_ts="1700000000.000100", user=DANA, at="3.0")
    feature = next(one for one in hour.house.bot.features if TimelineRequested in one.handlers)
    feature.handlers[TimelineRequested](event.id, event)
    assert hour.timelines(event.thread_ts) == []
