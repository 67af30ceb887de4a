"""Documents that grow old: changed places, flags, contradictions and overdue reviews."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from functools import partial
from typing import Any

import structlog
from slack_bolt import App

from bot.blocks.kit import Json, submitted_value
from bot.bus.events import Enqueue, SuggestionDecided
from bot.feature import AnswerGate, Feature, FeatureContext
from bot.features.freshness.citation_store import CitationCountStore, HelpfulPlaceStore
from bot.features.freshness.contradictions import (
    CHOICES,
    ContradictionService,
    ContradictionSettled,
    ContradictionsMet,
)
from bot.features.freshness.flags import FlagService, SourceFlagged
from bot.features.freshness.places import HelpfulPlaceService, snapshots
from bot.features.freshness.service import DAY, FreshnessService, OverdueDocuments
from bot.features.freshness.store import ContradictionStore, FlagStore, ReminderStore, create_tables
from bot.features.freshness.views import (
    AGAIN,
    ENOUGH,
    FLAG,
    FLAG_VIEW,
    KEEP,
    NOT_YOURS,
    THANKS,
    flag_button,
    flag_view,
)
from bot.questions.store import QuestionStore
from bot.slack.client import SlackBusy, SlackClient, SlackRefused, SlackUnsure
from bot.slack.messages import place_of, team_of, user_of, whisper
from index.permissions.acts import Act

log = structlog.get_logger()


def build_freshness(
    context: FeatureContext, records: QuestionStore, answers: AnswerGate
) -> Feature:
    create_tables(context.engine)
    snapshot_of = snapshots(context.published.snapshot if context.published else None)
    service = FreshnessService(
        context=context,
        snapshot_of=snapshot_of,
        helpful=HelpfulPlaceService(
            helpful=HelpfulPlaceStore(context.engine), records=records, snapshot_of=snapshot_of
        ),
        overdue=OverdueDocuments(
            reminders=ReminderStore(context.engine),
            counts=CitationCountStore(engine=context.engine),
            snapshot_of=snapshot_of,
            suggest=context.suggest,
        ),
        flags=FlagService(
            context=context,
            flags=FlagStore(context.engine),
            answers=answers,
            snapshot_of=snapshot_of,
        ),
        contradictions=ContradictionService(
            contradictions=ContradictionStore(context.engine),
            records=records,
            domains=lambda: dict(context.domains()),
            is_admin=lambda user, domain: bool(
                context.gate.open_to(Act.ADMINISTER, user, [domain])
            ),
            snapshot_of=snapshot_of,
            suggest=context.suggest,
        ),
    )
    return Feature(
        listen=partial(_listen, web=context.web, flags=service.flags),
        handlers={
            SourceFlagged: service.flags.flag,
            ContradictionsMet: lambda _, event: service.contradictions.record(event.question_id),
            ContradictionSettled: service.decide,
            SuggestionDecided: service.flags.record_outcome,
        },
        timers={DAY: service.day},
        plan=service.plan,
        additions=service.additions,
        home=service.home,
        digest=service.digest,
    )


def _listen(app: App, put: Enqueue, *, web: SlackClient, flags: FlagService) -> None:
    """Buttons of contradictions, and those of flags."""

    def decide(ack: Callable[..., Any], body: Json, action: Json) -> None:
        choice, pair, digest, *_ = [*str(action.get("value") or "").split(" "), "", "", ""]
        user = user_of(body)
        if choice in CHOICES and pair:
            event = ContradictionSettled(
                contradiction=pair, choice=choice, seen=digest, user=user, team=team_of(body)
            )
            put(f"settle-{pair}-{choice}-{user}-{action.get('action_ts')}", event)
        ack()

    app.action(re.compile(rf"^{KEEP}_\w+$"))(decide)
    _listen_for_flags(app, put, web, flags)


def _listen_for_flags(app: App, put: Enqueue, web: SlackClient, flags: FlagService) -> None:
    def open_form(body: Json, action: Json) -> None:
        user, (channel, thread_ts) = user_of(body), place_of(body)
        question_id = str(action.get("value") or "")
        try:
            target = flags.flaggable(question_id, user)
            if not target or not flag_button(target.answer, question_id):
                whisper(web, user, channel, thread_ts, NOT_YOURS)
                return
            if flags.is_over_limit(user):
                whisper(web, user, channel, thread_ts, ENOUGH)
                return
            view = flag_view(target, json.dumps([question_id, channel, thread_ts]))
            web.once("views.open", trigger_id=body.get("trigger_id"), view=view)
        except (SlackRefused, SlackUnsure, SlackBusy) as error:
            # Its trigger is short-lived: a person who presses again tries again.
            log.warning("no reply to a click on flag outdated", reason=str(error))
            whisper(web, user, channel, thread_ts, AGAIN)

    def submit(ack: Callable[..., Any], body: Json, view: Json) -> None:
        words = submitted_value(view, "words").strip()
        if not words:
            ack(response_action="errors", errors={"words": "Say what is out of date."})
            return
        event = SourceFlagged(
            question_id=json.loads(view["private_metadata"])[0],
            user=user_of(body),
            number=int(submitted_value(view, "source") or 0),
            words=words,
        )
        put(f"flag-{view.get('id')}-{view.get('hash', '')}", event)
        ack()

    def thank(body: Json, view: Json) -> None:
        if not submitted_value(view, "words").strip():
            return
        _, channel, thread_ts = json.loads(view["private_metadata"])
        whisper(web, user_of(body), channel, thread_ts, THANKS)

    app.action(FLAG)(ack=lambda ack: ack(), lazy=[open_form])
    app.view(FLAG_VIEW)(ack=submit, lazy=[thank])
