"""Feedback on answers: the buttons below an answer, and the form behind *Not helpful*."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from typing import Any

from slack_bolt import App

from bot.blocks.kit import Json, input_block, modal, radio_buttons, submitted_value, text_input
from bot.blocks.render import FEEDBACK
from bot.bus.events import Enqueue
from bot.feature import Feature
from bot.features.feedback.store import REASONS, FeedbackStore
from bot.slack.client import SlackClient
from bot.slack.messages import open_modal, place_of, user_of, whisper
from telemetry import metrics

Ack = Callable[..., Any]

REASON_VIEW = "feedback_reason"
THANKS = "Thank you, noted."
VERDICTS = metrics.counter("oncall_feedback_total", "Feedback given", "verdict")


def build_feedback(web: SlackClient, feedback: FeedbackStore) -> Feature:
    return Feature(listen=partial(_listen, web=web, feedback=feedback))


def _listen(app: App, _: Enqueue, *, web: SlackClient, feedback: FeedbackStore) -> None:
    """Verdicts are stored before Slack gets its acknowledgement: a crash loses none."""

    def save(ack: Ack, body: Json, action: Json) -> None:
        verdict, _, question_id = str(action.get("value") or "").partition(" ")
        if question_id and verdict in {"helpful", "unhelpful"}:
            feedback.give(question_id, user_of(body), verdict)
            VERDICTS.labels(verdict).inc()
        ack()

    def respond(body: Json, action: Json) -> None:
        verdict, _, question_id = str(action.get("value") or "").partition(" ")
        if verdict == "unhelpful":
            open_modal(web, body, reason_view(json.dumps([question_id, *place_of(body)])))
        elif verdict == "helpful":
            whisper(web, user_of(body), *place_of(body), THANKS)

    for action_id in (FEEDBACK, f"{FEEDBACK}_helpful", f"{FEEDBACK}_unhelpful"):
        app.action(action_id)(ack=save, lazy=[respond])

    def explain(ack: Ack, body: Json, view: Json) -> None:
        feedback.explain(
            json.loads(view["private_metadata"])[0],
            user_of(body),
            reason=submitted_value(view, "reason"),
            correction=submitted_value(view, "correction"),
            source=submitted_value(view, "source"),
        )
        ack()

    def thank(body: Json, view: Json) -> None:
        _, channel, thread_ts = json.loads(view["private_metadata"])
        corrected = " Your correction goes to the owners of the documents."
        text = THANKS + (corrected if submitted_value(view, "correction") else "")
        whisper(web, user_of(body), channel, thread_ts, text)

    app.view(REASON_VIEW)(ack=explain, lazy=[thank])


def reason_view(remember: str) -> Json:
    """The form of *Not helpful*. Slack returns `remember` with its submission."""
    return modal(
        REASON_VIEW,
        "What was wrong?",
        [
            input_block("reason", "Reason", radio_buttons(REASONS), optional=False),
            input_block("correction", "What would have been right?", text_input(multiline=True)),
            input_block("source", "Where does it say so?", text_input(multiline=False)),
        ],
        remember=remember,
        submit="Send",
        close="Skip",
    )
