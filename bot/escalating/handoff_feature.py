"""The clock of hand-offs as a feature of the bot."""

from __future__ import annotations

from datetime import UTC, datetime

from bot.escalating.asker_told import AskerTold
from bot.escalating.call_posts import CallPosts
from bot.escalating.handoff_buttons import listen_for_steps
from bot.escalating.handoff_clock import (
    CALL,
    CALLED,
    LOOK_AGAIN,
    TAKER,
    TOLD_ASKER,
    HandoffClock,
)
from bot.escalating.handoff_report import HandoffReport
from bot.feature import Feature
from bot.feature_tools import FeatureTools
from bot.handoff.handoffs import Handoffs
from bot.memory.record import Records
from bot.slack.message_words import ERASED


def handoff_report(tools: FeatureTools, records: Records, handoffs: Handoffs) -> HandoffReport:
    return HandoffReport(
        handoffs=handoffs,
        records=records,
        domains=tools.domains,
        gate=tools.gate,
        team_url=tools.identity.team_url.rstrip("/"),
    )


def build_escalating(
    tools: FeatureTools, records: Records, handoffs: Handoffs, report: HandoffReport
) -> Feature:
    calls, bot_user = handoffs.calls, tools.identity.user
    team_url = tools.identity.team_url.rstrip("/")
    clock = HandoffClock(
        handoffs=handoffs,
        records=records,
        timers=tools.timers,
        posts=CallPosts(web=tools.web, calls=calls, bot_user=bot_user),
        told=AskerTold(
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
