"""Feedback on answers: the buttons below an answer, and the form behind *Not helpful*.

Listeners store each verdict and form as an event; `FeedbackService` decides who may."""

from __future__ import annotations

import json
from functools import partial

import structlog
from slack_bolt import App

from bot.blocks.kit import Json, input_block, modal, radio_buttons, submitted_value, text_input
from bot.blocks.render import FEEDBACK
from bot.bus.events import Enqueue
from bot.feature import Ack, AnswerGate, Feature, SayWhyNot
from bot.features.feedback.service import CorrectionGiven, FeedbackService, VerdictGiven
from bot.features.feedback.store import REASONS, FeedbackStore
from bot.slack.client import SlackBusy, SlackUnsure
from bot.slack.messages import open_modal, place_of, user_of, whisper

log = structlog.get_logger()

REASON_VIEW = "feedback_reason"
THANKS = "Thank you, noted."
CORRECTED = " Your correction goes to the owners of the documents."
PRIVATE = " As this was answered to you alone, your correction stays here."


def build_feedback(answers: AnswerGate, feedback: FeedbackStore, say_why_not: SayWhyNot) -> Feature:
    service = FeedbackService(answers, feedback, say_why_not)
    return Feature(
        listen=partial(_listen, service=service),
        handlers={VerdictGiven: service.give, CorrectionGiven: service.explain},
    )


def _listen(app: App, put: Enqueue, *, service: FeedbackService) -> None:
    web = service.answers.context.web

    def save(ack: Ack, body: Json, action: Json) -> None:
        if event := verdict_of(body, action):
            put(f"{event.kind}-{event.question_id}-{event.user}-{event.at}"[:120], event)
        ack()

    def respond(body: Json, action: Json) -> None:
        event, where = verdict_of(body, action), place_of(body)
        try:
            if event is None or not service.may_give(event.question_id, event.user):
                return  # whoever may not is told when the verdict is handled
        except (SlackBusy, SlackUnsure) as error:
            log.warning("no reply to a verdict", reason=str(error))
            return
        if event.verdict == "unhelpful":
            open_modal(web, body, reason_view(json.dumps([event.question_id, *where])))
        else:
            whisper(web, event.user, *where, THANKS)

    def explain(ack: Ack, body: Json, view: Json) -> None:
        event = CorrectionGiven(
            question_id=str(json.loads(view["private_metadata"])[0]),
            user=user_of(body),
            reason=submitted_value(view, "reason"),
            words=submitted_value(view, "correction"),
            source=submitted_value(view, "source"),
        )
        put(f"{event.kind}-{view.get('id')}-{view.get('hash', '')}"[:120], event)
        ack()

    def thank(body: Json, view: Json) -> None:
        question_id, channel, thread_ts = json.loads(view["private_metadata"])
        text = THANKS
        if submitted_value(view, "correction"):
            text += PRIVATE if service.feedback.is_private(question_id) else CORRECTED
        whisper(web, user_of(body), channel, thread_ts, text)

    for action_id in (FEEDBACK, f"{FEEDBACK}_helpful", f"{FEEDBACK}_unhelpful"):
        app.action(action_id)(ack=save, lazy=[respond])
    app.view(REASON_VIEW)(ack=explain, lazy=[thank])


def verdict_of(body: Json, action: Json) -> VerdictGiven | None:
    verdict, _, question_id = str(action.get("value") or "").partition(" ")
    if not question_id or verdict not in {"helpful", "unhelpful"}:
        return None
    at = str(action.get("action_ts") or "")
    return VerdictGiven(question_id=question_id, user=user_of(body), verdict=verdict, at=at)


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
