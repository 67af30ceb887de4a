"""The buttons and the form by which people say what they thought of an answer."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from slack_bolt import App

from bot.blocks.kit import Json, submitted
from bot.blocks.render import FEEDBACK
from bot.feature import Feature, Store
from bot.features.feedback.store import REASON_VIEW, Feedback, reason_view
from bot.slack.client import SlackClient
from bot.slack.interactions import open_modal, place_of, user_of, whisper
from telemetry import metrics

Ack = Callable[..., Any]

THANKS = "Thank you, noted."
VERDICTS = metrics.counter("oncall_feedback_total", "Feedback given", "verdict")


def build_feedback(web: SlackClient, feedback: Feedback) -> Feature:
    def listen(app: App, _: Store) -> None:
        _feedback(app, web, feedback)

    return Feature(listen=listen)


def _feedback(app: App, web: SlackClient, feedback: Feedback) -> None:
    def keep(ack: Ack, body: Json, action: Json) -> None:
        verdict, _, question_id = str(action.get("value") or "").partition(" ")
        if question_id and verdict in {"helpful", "unhelpful"}:
            feedback.give(question_id, user_of(body), verdict)
            VERDICTS.labels(verdict).inc()
        ack()

    def ask_why(body: Json, action: Json) -> None:
        verdict, _, question_id = str(action.get("value") or "").partition(" ")
        if verdict == "unhelpful":
            open_modal(web, body, reason_view(json.dumps([question_id, *place_of(body)])))
        elif verdict == "helpful":
            whisper(web, user_of(body), *place_of(body), THANKS)

    for action_id in (FEEDBACK, f"{FEEDBACK}_helpful", f"{FEEDBACK}_unhelpful"):
        app.action(action_id)(ack=keep, lazy=[ask_why])

    def explained(ack: Ack, body: Json, view: Json) -> None:
        feedback.explain(
            _remembered(view)[0],
            user_of(body),
            reason=submitted(view, "reason"),
            correction=submitted(view, "correction"),
            source=submitted(view, "source"),
        )
        ack()

    def thank(body: Json, view: Json) -> None:
        _, channel, thread_ts = _remembered(view)
        corrected = " Your correction goes to the owners of the documents."
        text = THANKS + (corrected if submitted(view, "correction") else "")
        whisper(web, user_of(body), channel, thread_ts, text)

    app.view(REASON_VIEW)(ack=explained, lazy=[thank])


def _remembered(view: Json) -> tuple[str, str, str]:
    """Question, channel and thread that the modal was opened for."""
    question_id, channel, thread_ts = json.loads(view["private_metadata"])
    return question_id, channel, thread_ts
