"""Snoozes and the ledger of alerts: wiring and listeners."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from functools import partial

import structlog
from slack_bolt import App

from bot.blocks.kit import Json, button, submitted_value
from bot.bus.events import Enqueue
from bot.feature import (
    Ack,
    AlertHistory,
    AnswerExtras,
    AnswerGate,
    Feature,
    FeatureContext,
    OutgoingAnswer,
)
from bot.features.snooze.ledger import REVIEW, AlertLedger, FirstSteps
from bot.features.snooze.service import (
    OVER,
    SnoozeEnded,
    SnoozeRequested,
    SnoozeService,
    SnoozeStopped,
)
from bot.features.snooze.store import SnoozeStore
from bot.features.snooze.views import AGAIN, FORM, HOURS, NOT_YOURS, SNOOZE, STOP
from bot.rotas.on_call import OnCallResolver
from bot.slack.client import SlackBusy, SlackClient, SlackRefused, SlackUnsure
from bot.slack.messages import place_of, user_of, whisper
from durable.database import now

log = structlog.get_logger()

OpenForm = Callable[[str, str], Json | None]
"""(question id, user) → the form; None for whom it isn't."""


def build_snooze(
    context: FeatureContext,
    answers: AnswerGate,
    history: AlertHistory,
    resolver: OnCallResolver,
    first_steps: FirstSteps,
) -> Feature:
    store = SnoozeStore(context.engine)
    service = SnoozeService(
        context=context, store=store, answers=answers, history=history, resolver=resolver
    )
    ledger = AlertLedger(
        context=context, store=store, records=answers.records, history=history,
        first_steps=first_steps,
    )  # fmt: skip

    def additions(outgoing: OutgoingAnswer) -> AnswerExtras:
        """Below the answer to an alert."""
        record, domain = outgoing.record, outgoing.domain
        if outgoing.privately or not domain.runbooks.snooze:
            return AnswerExtras()
        episodes = history.of_question(record.id)
        if not episodes:
            return AnswerExtras()
        notes = tuple(ledger.notes(outgoing, episodes))
        return AnswerExtras(notes=notes, buttons=(button("Snooze…", SNOOZE, record.id),))

    return Feature(
        listen=partial(_listen, web=context.web, open_form=service.form),
        handlers={
            SnoozeRequested: service.request,
            SnoozeStopped: service.stop,
            SnoozeEnded: service.show_end,
        },
        timers={OVER: service.over, REVIEW: ledger.review},
        plan=ledger.plan,
        on_message=ledger.on_message,
        on_alert=service.on_alert,
        additions=additions,
        timeline=service.timeline,
        digest=lambda *of: [*service.digest(*of), *ledger.digest(*of)],
    )


def _listen(app: App, put: Enqueue, *, web: SlackClient, open_form: OpenForm) -> None:
    def show(body: Json, action: Json) -> None:
        question, user = str(action.get("value") or ""), user_of(body)
        try:
            view = open_form(question, user)
            if view is None:
                whisper(web, user, *place_of(body), NOT_YOURS)
            else:
                web.once("views.open", trigger_id=body.get("trigger_id"), view=view)
        except (SlackRefused, SlackUnsure, SlackBusy) as error:
            # Its trigger is short-lived: a person who presses again tries again.
            log.warning("the form of a snooze did not open", reason=str(error))
            whisper(web, user, *place_of(body), AGAIN)

    def submit(ack: Ack, body: Json, view: Json) -> None:
        reason = submitted_value(view, "reason").strip()
        if not reason:
            ack(response_action="errors", errors={"reason": "Say why."})
            return
        if event := request_of(body, view, reason, now()):
            put(f"{event.kind}-{event.id}", event)
        ack()

    def stop(ack: Ack, body: Json, action: Json) -> None:
        event = SnoozeStopped(id=str(action.get("value") or ""), user=user_of(body))
        put(f"{event.kind}-{event.id}-{event.user}-{action.get('action_ts')}"[:120], event)
        ack()

    app.action(SNOOZE)(ack=lambda ack: ack(), lazy=[show])
    app.action(STOP)(stop)
    app.view(FORM)(submit)


def request_of(body: Json, view: Json, reason: str, at: datetime) -> SnoozeRequested | None:
    """None for a form that isn't ours. `at`: UTC without a zone."""
    chosen = submitted_value(view, "until")
    try:
        until = (
            at + timedelta(hours=int(chosen)) if chosen in HOURS else datetime.fromisoformat(chosen)
        )
    except ValueError:
        return None
    return SnoozeRequested(
        id=f"{view.get('id')}-{view.get('hash', '')}"[:64],
        question_id=str(view.get("private_metadata") or ""),
        alert=submitted_value(view, "alert"),
        user=user_of(body),
        reason=reason,
        at=at.isoformat(),
        until=until.isoformat(),
    )
