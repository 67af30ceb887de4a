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
from bot.feature import (
    Feature,
    FeatureContext,
    IsPrivate,
)
from bot.features.freshness.contradictions import (
    CHOICES,
    ContradictionService,
    ContradictionSettled,
    ContradictionsMet,
)
from bot.features.freshness.flags import FlagService, SourceFlagged
from bot.features.freshness.overdue import CitationCountStore, OverdueDocuments
from bot.features.freshness.places import HelpfulPlaceService, snapshots
from bot.features.freshness.service import DAY, FreshnessService
from bot.features.freshness.store import (
    ContradictionStore,
    FlagStore,
    HelpfulPlaceStore,
    ReminderStore,
    create_tables,
)
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
from bot.slack.messages import permalink

log = structlog.get_logger()


def build_freshness(
    context: FeatureContext, records: QuestionStore, is_private: IsPrivate
) -> Feature:
    create_tables(context.engine)
    snapshot_of = snapshots(context.published.snapshot if context.published else None)
    counts = CitationCountStore(engine=context.engine)
    service = FreshnessService(
        context=context,
        snapshot_of=snapshot_of,
        counts=counts,
        helpful=HelpfulPlaceService(
            helpful=HelpfulPlaceStore(context.engine), records=records, snapshot_of=snapshot_of
        ),
        overdue=OverdueDocuments(
            reminders=ReminderStore(context.engine),
            counts=counts,
            snapshot_of=snapshot_of,
            suggest=context.suggest,
        ),
        flags=FlagService(
            flags=FlagStore(context.engine),
            records=records,
            domains=context.domains,
            is_private=is_private,
            gate=context.gate,
            snapshot_of=snapshot_of,
            suggest=context.suggest,
            address=lambda record: permalink(context.identity.team_url.rstrip("/"), record),
        ),
        contradictions=ContradictionService(
            contradictions=ContradictionStore(context.engine),
            records=records,
            domains=lambda: dict(context.domains()),
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
    listen_for_flags(app, put, web=web, flags=flags)
    listen_for_decisions(app, put)


def listen_for_decisions(app: App, put: Enqueue) -> None:
    def decide(ack: Callable[..., Any], body: Json, action: Json) -> None:
        choice, pair, digest, *_ = [*str(action.get("value") or "").split(" "), "", "", ""]
        person = body.get("user") or {}
        user = str(person.get("id") or "")
        team = str(person.get("team_id") or (body.get("team") or {}).get("id") or "")
        if choice in CHOICES and pair:
            event = ContradictionSettled(
                contradiction=pair, choice=choice, seen=digest, user=user, team=team
            )
            put(f"settle-{pair}-{choice}-{user}-{action.get('action_ts')}", event)
        ack()

    app.action(re.compile(rf"^{KEEP}_\w+$"))(decide)


def listen_for_flags(app: App, put: Enqueue, *, web: SlackClient, flags: FlagService) -> None:
    def open_form(body: Json, action: Json) -> None:
        user, (channel, thread_ts) = _user(body), _place(body)
        question_id = str(action.get("value") or "")

        def open_once() -> None:
            target = flags.flaggable(question_id, user)
            if not target or not flag_button(target.answer, question_id):
                _whisper(web, user, channel, thread_ts, NOT_YOURS)
                return
            if flags.is_over_limit(user):
                _whisper(web, user, channel, thread_ts, ENOUGH)
                return
            remember = json.dumps([question_id, channel, thread_ts])
            view = flag_view(target, remember)
            web.once("views.open", trigger_id=body.get("trigger_id"), view=view)

        if not _succeeds(open_once):
            _whisper(web, user, channel, thread_ts, AGAIN)

    def submit(ack: Callable[..., Any], body: Json, view: Json) -> None:
        words = submitted_value(view, "words").strip()
        if not words:
            ack(response_action="errors", errors={"words": "Say what is out of date."})
            return
        event = SourceFlagged(
            question_id=_metadata(view)[0],
            user=_user(body),
            number=int(submitted_value(view, "source") or 0),
            words=words,
        )
        put(f"flag-{view.get('id')}-{view.get('hash', '')}", event)
        ack()

    def thank(body: Json, view: Json) -> None:
        if not submitted_value(view, "words").strip():
            return
        _, channel, thread_ts = _metadata(view)
        _whisper(web, _user(body), channel, thread_ts, THANKS)

    app.action(FLAG)(ack=lambda ack: ack(), lazy=[open_form])
    app.view(FLAG_VIEW)(ack=submit, lazy=[thank])


def _whisper(web: SlackClient, user: str, channel: str, thread_ts: str, text: str) -> None:
    _succeeds(
        lambda: web.once(
            "chat.postEphemeral",
            channel=channel,
            user=user,
            thread_ts=thread_ts or None,
            text=text,
        )
    )


def _succeeds(act: Callable[[], object]) -> bool:
    """Whether it worked. Its trigger is short-lived: a person who presses again tries again."""
    try:
        act()
    except (SlackRefused, SlackUnsure, SlackBusy) as error:
        log.warning("no reply to a click on flag outdated", reason=str(error))
        return False
    return True


def _user(body: Json) -> str:
    return str((body.get("user") or {}).get("id") or "")


def _place(body: Json) -> tuple[str, str]:
    """Channel and thread of the message that was acted on."""
    container, message = body.get("container") or {}, body.get("message") or {}
    channel = (body.get("channel") or {}).get("id") or container.get("channel_id")
    return str(channel or ""), str(message.get("thread_ts") or container.get("thread_ts") or "")


def _metadata(view: Json) -> tuple[str, str, str]:
    """Question, channel and thread that the form was opened for."""
    question_id, channel, thread_ts = json.loads(view["private_metadata"])
    return question_id, channel, thread_ts
