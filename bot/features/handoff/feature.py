"""Hand-offs: wiring, and the listeners of *Ask a human*, *I'll take it* and *Resolved*."""

from __future__ import annotations

from datetime import UTC, datetime

from slack_bolt import App

from bot.blocks.kit import Json, submitted_value
from bot.blocks.render import ASK_HUMAN
from bot.bus.events import Enqueue
from bot.feature import Ack, Feature, FeatureContext, SayWhyNot
from bot.features.handoff.escalation import (
    CALL,
    RETRY_DELAY,
    TAKER,
    AskerNews,
    CallStored,
    EscalationTimer,
)
from bot.features.handoff.notifications import AskerNotifier, CallMessages
from bot.features.handoff.replies import OnCallReplies
from bot.features.handoff.report import HandoffReport
from bot.features.handoff.service import HandoffService
from bot.features.handoff.steps import HandoffSteps, HumanRequested, ResolveRequested, TakeRequested
from bot.features.handoff.views import RESOLVE, RESOLVE_VIEW, TAKE, resolution_view
from bot.questions.store import QuestionStore
from bot.slack.client import SlackClient
from bot.slack.events import MessageDeleted, ReactionAdded
from bot.slack.messages import ERASED, open_modal, place_of, posted_at, user_of


def listen_for_steps(app: App, put: Enqueue, web: SlackClient) -> None:
    def ask_human(ack: Ack, body: Json, action: Json) -> None:
        question_id = str(action.get("value") or "")
        user = user_of(body)
        # One event per person: a press without permission must not use up another person's.
        channel, _ = place_of(body)
        pressed = {"channel": channel, "ts": posted_at(body)}
        event = HumanRequested(question_id=question_id, user=user, pressed=pressed)
        put(f"human-{question_id}-{user}", event)
        ack()

    def take(ack: Ack, body: Json, action: Json) -> None:
        question_id, user = str(action.get("value") or ""), user_of(body)
        put(f"take-{question_id}-{user}", TakeRequested(question_id=question_id, user=user))
        ack()

    def ask_resolution(body: Json, action: Json) -> None:
        open_modal(web, body, resolution_view(str(action.get("value") or "")))

    def resolve(ack: Ack, body: Json, view: Json) -> None:
        event = ResolveRequested(
            question_id=str(view.get("private_metadata") or ""),
            user=user_of(body),
            resolution=submitted_value(view, "resolution"),
        )
        put(f"resolve-{view.get('id')}-{view.get('hash', '')}", event)
        ack()

    app.action(ASK_HUMAN)(ask_human)
    app.action(TAKE)(take)
    app.action(RESOLVE)(ack=lambda ack: ack(), lazy=[ask_resolution])
    app.view(RESOLVE_VIEW)(resolve)


def build_handoff(
    context: FeatureContext,
    records: QuestionStore,
    handoffs: HandoffService,
    report: HandoffReport,
    say_why_not: SayWhyNot,
) -> Feature:
    messages = CallMessages(context.web, handoffs.calls)
    notifier = AskerNotifier(context, handoffs)
    timer = EscalationTimer(context, records, handoffs, messages, notifier)
    handoffs.follow(timer.update)

    def plan() -> None:
        by_domain, now = report.by_domain(), datetime.now(UTC)
        report.observe(by_domain)
        for entries in by_domain.values():
            for one in (one for one in entries if not one.handoff.resolved_by):
                if one.handoff.taken_by == ERASED:
                    # By the privacy command, which no worker notices.
                    context.timers.set(TAKER, one.record.id, now)
                elif not one.handoff.taken_by:
                    # Its timer may be lost, e.g. while Slack was down for hours.
                    context.timers.set(CALL, one.record.id, now + RETRY_DELAY, keep=True)

    steps = HandoffSteps(context, records, handoffs, say_why_not)

    def replies() -> OnCallReplies:
        return OnCallReplies(context, handoffs.on_call)

    return Feature(
        listen=lambda app, put: listen_for_steps(app, put, context.web),
        handlers={
            HumanRequested: steps.request,
            TakeRequested: steps.take,
            ResolveRequested: steps.resolve,
            ReactionAdded: steps.tick,
            MessageDeleted: lambda _, event: handoffs.withdraw(event.id),
            CallStored: timer.post_call,
            AskerNews: timer.notify_asker,
        },
        timers={CALL: timer.call, TAKER: timer.check_taker},
        plan=plan,
        replies={
            "on_call": lambda question: replies().on_call(question),
            "turns": lambda question: replies().turns(question),
            "escalation": lambda question: replies().escalation(question),
        },
        home=report.home,
        timeline=report.timeline,
    )
