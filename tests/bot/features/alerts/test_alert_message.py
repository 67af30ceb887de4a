"""What a bot's message says of its alerts: by words, by colours, and when."""

from __future__ import annotations

import json
from typing import Any

import pytest

from bot.features.alerts.episodes import (
    AlertMessage,
    alert_message,
    status_by_color,
    status_of_color,
)
from bot.slack import events
from bot.slack.events import IncomingMessage

FIRST, LATER = "1795600000.000100", "1795601020.000200"


def read(message: dict[str, Any], **event: Any) -> AlertMessage | None:
    posted = {"type": "message", "channel": "C0PLATFORM", "ts": FIRST, "bot_id": "B0BEACON"}
    sent = {**posted, **message}
    if event:
        sent = {"type": "message", "channel": "C0PLATFORM", "message": sent, **event}
    received = events.read(sent, bot_user="U0COPILOT", team="T0")
    return alert_message(received, sent) if isinstance(received, IncomingMessage) else None


def rewritten(before: dict[str, Any], after: dict[str, Any]) -> AlertMessage | None:
    return read(after, subtype="message_changed", event_ts=LATER, previous_message=before)


@pytest.mark.parametrize(
    ("colour", "status"),
    [
        ("good", "resolved"), ("danger", "firing"), ("warning", "firing"), ("#2EB886", "resolved"),
        ("36a64f", "resolved"), ("#00a887", "resolved"), ("#E01E5A", "firing"),
        ("#daa038", "firing"), ("ffcc00", "firing"), ("#F2495C", "firing"), ("#D63232", "firing"),
        ("#439fe0", ""), ("#dddddd", ""), ("#000000", ""), ("", ""), ("teal", ""), ("#12", ""),
    ],
)  # fmt: skip
def test_a_colour_tells_by_its_hue(colour: str, status: str) -> None:
    assert status_of_color(colour) == status


def test_bars_of_several_colours_tell_nothing() -> None:
    bars = [{"color": "good"}, {"color": "danger"}]
    assert status_by_color({"attachments": bars}) == ""
    assert status_by_color({"attachments": [*bars[:1], {"color": None}, "x"]}) == "resolved"


def test_words_go_before_a_colour() -> None:
    told = read({"attachments": [{"text": "[FIRING:1] CartErrors", "color": "good"}]})
    assert told
    assert [one.status for one in told.alerts] == ["firing"]


def test_a_color_tells_of_an_alert_whose_words_do_not() -> None:
    told = read({"attachments": [{"title": "CartErrors", "color": "good"}]})
    assert told
    assert [one.status for one in told.alerts] == ["resolved"]
    assert told.message.text == "[RESOLVED] CartErrors"


def test_a_color_does_not_change_what_is_read() -> None:
    body = {"status": "", "labels": {"alertname": "CartErrors"}}
    told = read({"text": json.dumps(body), "attachments": [{"text": "-", "color": "good"}]})
    assert told
    assert [(one.name, one.status) for one in told.alerts] == [("CartErrors", "resolved")]
    assert told.message.text.startswith("{")


def test_what_is_rewritten_was_said_later() -> None:
    before = {"attachments": [{"text": "[FIRING:1] CartErrors", "color": "danger"}]}
    after = {"attachments": [{"text": "[RESOLVED] CartErrors", "color": "good"}]}
    first, told = read(before), rewritten(before, after)
    assert first
    assert told
    assert told.message.ts == FIRST
    assert (told.at - first.at).total_seconds() == pytest.approx(1020, abs=1)
    assert [one.status for one in told.alerts] == ["resolved"]


@pytest.mark.parametrize(
    ("after", "status"),
    [
        ({"text": "Resolved by ines after a restart"}, "resolved"),
        ({"text": "", "attachments": [{"text": "all well", "color": "good"}]}, "resolved"),
        ({"text": "Ines is looking"}, ""),
    ],
)
def test_rewritten_to_other_words_it_is_still_heard(after: dict[str, Any], status: str) -> None:
    told = rewritten({"text": "[FIRING:1] CartErrors"}, after)
    assert told
    assert (told.alerts, told.status) == ((), status)


@pytest.mark.parametrize(
    "after",
    [
        {"text": "[FIRING:1] CartErrors"},
        {"text": "[FIRING:1] CartErrors", "reply_count": 1},
        {"text": "[FIRING:1] CartErrors",
         "attachments": [{"from_url": "https://x.example", "text": "fine", "color": "good"}]},
    ],
    ids=["nothing", "a reply", "a preview"],
)  # fmt: skip
def test_what_slack_adds_is_no_change(after: dict[str, Any]) -> None:
    assert rewritten({"text": "[FIRING:1] CartErrors"}, after) is None


@pytest.mark.parametrize(
    "message",
    [
        {"user": "U0COPILOT", "text": "[FIRING:1] CartErrors"},
        {"bot_id": "", "user": "U0DANA", "text": "[FIRING:1] CartErrors"},
        {"text": ":rocket: Deployed cart 2.1 to prod"},
        {"subtype": "channel_join", "text": "[FIRING:1] CartErrors"},
    ],
    ids=["ours", "a person's", "a deploy", "a notice"],
)
def test_others_are_no_alerts(message: dict[str, Any]) -> None:
    assert read(message) is None


def test_other_words_are_an_alert_only_where_documents_know_its_name() -> None:
    told = read({"text": "Gate printer jam at the desk"})
    assert told
    assert [one.certain for one in told.alerts] == [False]
    assert rewritten({"text": "Gate printer jam"}, {"text": "Ines is looking at it"}).alerts == ()  # type: ignore[union-attr]


def test_the_same_words_under_another_color_are_the_same_alert() -> None:
    def bar(color: str) -> dict[str, Any]:
        return {"attachments": [{"text": "Gate printer jam at the desk", "color": color}]}

    for before, after, status in (("danger", "good", "resolved"), ("good", "danger", "firing")):
        told = rewritten(bar(before), bar(after))
        assert told
        assert [one.status for one in told.alerts] == [status]
