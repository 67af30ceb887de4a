"""The clock of hand-offs as a feature of the bot.

*Ask a human*, *I'll take it* and *Resolved*: what a press of them stores."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from slack_bolt import App

from bot.blocks.kit import Json, submitted
from bot.blocks.render import ASK_HUMAN
from bot.feature import Feature, FeatureContext, Store
from bot.features.handoff.escalation import (
    CALL,
    CALLED,
    LOOK_AGAIN,
    TAKER,
    TOLD_ASKER,
    EscalationTimer,
)
from bot.features.handoff.notifications import AskerNotifier, CallMessages
from bot.features.handoff.report import HandoffReport
from bot.features.handoff.service import HandoffService
from bot.features.handoff.views import RESOLVE, RESOLVE_VIEW, TAKE, resolution_view
from bot.questions.store import QuestionStore
from bot.slack.client import SlackClient
from bot.slack.interactions import open_modal, place_of, posted_at, user_of
from bot.slack.messages import ERASED

Ack = Callable[..., Any]


def listen_for_steps(app: App, store: Store, web: SlackClient) -> None:
    def ask_human(ack: Ack, body: Json, action: Json) -> None:
        question_id = str(action.get("value") or "")
        user = user_of(body)
        # Of each who presses: not everybody may, and who may not must not use up the first press.
        channel, _ = place_of(body)
        asked = {"question_id": question_id, "user": user}
        pressed = {"channel": channel, "ts": posted_at(body)}
        store(f"human-{question_id}-{user}", {"human": asked, "pressed": pressed})
        ack()

    def take(ack: Ack, body: Json, action: Json) -> None:
        question_id, user = str(action.get("value") or ""), user_of(body)
        store(f"take-{question_id}-{user}", {"take": {"question_id": question_id, "user": user}})
        ack()

    def ask_resolution(body: Json, action: Json) -> None:
        open_modal(web, body, resolution_view(str(action.get("value") or "")))

    def resolved(ack: Ack, body: Json, view: Json) -> None:
        done = {
            "question_id": str(view.get("private_metadata") or ""),
            "user": user_of(body),
            "resolution": submitted(view, "resolution"),
        }
        store(f"resolve-{view.get('id')}-{view.get('hash', '')}", {"resolve": done})
        ack()

    app.action(ASK_HUMAN)(ask_human)
    app.action(TAKE)(take)
    app.action(RESOLVE)(ack=lambda ack: ack(), lazy=[ask_resolution])
    app.view(RESOLVE_VIEW)(resolved)


def handoff_report(
    tools: FeatureContext, records: QuestionStore, handoffs: HandoffService
) -> HandoffReport:
    return HandoffReport(
        handoffs=handoffs,
        records=records,
        domains=tools.domains,
        gate=tools.gate,
        team_url=tools.identity.team_url.rstrip("/"),
    )


def build_escalating(
    tools: FeatureContext, records: QuestionStore, handoffs: HandoffService, report: HandoffReport
) -> Feature:
    calls, bot_user = handoffs.calls, tools.identity.user
    team_url = tools.identity.team_url.rstrip("/")
    clock = EscalationTimer(
        handoffs=handoffs,
        records=records,
        timers=tools.timers,
        posts=CallMessages(web=tools.web, calls=calls, bot_user=bot_user),
        told=AskerNotifier(
            web=tools.web,
            calls=calls,
            people=tools.gate.people,
            team_url=team_url,
            bot_user=bot_user,
        ),
        people=tools.gate.people,
        put=tools.put,
    )
    handoffs.follow(clock.changed)

    def plan() -> None:
        by_domain, now = report.by_domain(), datetime.now(UTC)
        report.observe(by_domain)
        for asked in by_domain.values():
            for one in (one for one in asked if not one.handoff.resolved_by):
                if one.handoff.taken_by == ERASED:
                    # By a command, of which no worker hears.
                    tools.timers.set(TAKER, one.record.id, now)
                elif not one.handoff.taken_by:
                    # Whatever became of its timer, e.g. while Slack was away for hours.
                    tools.timers.set(CALL, one.record.id, now + LOOK_AGAIN, keep=True)

    return Feature(
        listen=lambda app, store: listen_for_steps(app, store, tools.web),
        items={CALLED: clock.post_call, TOLD_ASKER: clock.tell_asker},
        timers={CALL: clock.call, TAKER: clock.look_after},
        plan=plan,
        home=report.home,
    )
