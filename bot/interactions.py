"""Buttons, modals and the shortcut. What needs Slack's short-lived trigger happens after the
ack, in Bolt's own threads; everything else goes through the inbox."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

import structlog
from slack_bolt import App

from bot.feature import Feature
from bot.feedback import REASON_VIEW, Feedback, reason_view
from bot.handoff.handoff_card import RESOLVE, RESOLVE_VIEW, TAKE, resolution_view
from bot.home.home_view import EXAMPLE
from bot.listeners import DETAILS, SHORTCUT
from bot.message.blockkit import Json
from bot.message.buttons import ASK_HUMAN, CLARIFY, FEEDBACK, LOOK_IN
from bot.message.modal import submitted
from bot.slack.event import Asked, files_of
from bot.slack.message_words import plain, words_of
from bot.slack.web import SlackBusy, SlackRefused, SlackUnsure, Web
from telemetry import metrics

log = structlog.get_logger()

Store = Callable[[str, Json], None]
Ack = Callable[..., Any]

THANKS = "Thank you, noted."


def interact(
    app: App,
    store: Store,
    *,
    web: Web,
    feedback: Feedback,
    details: Callable[[Json], None],
    bot_user: str,
    features: Sequence[Feature] = (),
) -> None:
    """Register every listener that isn't an event, and that of the event which waits for an answer
    as a click does: `details` of a linked document."""
    _shortcut(app, store, bot_user)
    _feedback(app, web, feedback)
    _clarifying(app, store)
    _examples(app, store)
    _handoff(app, store, web)
    _details(app, details)
    for feature in features:
        feature.listen(app, store)


def _shortcut(app: App, store: Store, bot_user: str) -> None:
    def ask_about(ack: Ack, body: Json) -> None:
        if event := shortcut_question(body, bot_user):
            store(f"shortcut-{event.id}-{event.user}", {"asked": asdict(event)})
        ack()

    app.message_shortcut(SHORTCUT)(ask_about)


def _feedback(app: App, web: Web, feedback: Feedback) -> None:
    def keep(ack: Ack, body: Json, action: Json) -> None:
        verdict, _, question_id = str(action.get("value") or "").partition(" ")
        if question_id and verdict in {"helpful", "unhelpful"}:
            feedback.give(question_id, _user(body), verdict)
            metrics.VERDICTS.labels(verdict).inc()
        ack()

    def ask_why(body: Json, action: Json) -> None:
        verdict, _, question_id = str(action.get("value") or "").partition(" ")
        if verdict == "unhelpful":
            _open(web, body, reason_view(json.dumps([question_id, *_place(body)])))
        elif verdict == "helpful":
            _whisper(web, _user(body), *_place(body), THANKS)

    for action_id in (FEEDBACK, f"{FEEDBACK}_helpful", f"{FEEDBACK}_unhelpful"):
        app.action(action_id)(ack=keep, lazy=[ask_why])

    def explained(ack: Ack, body: Json, view: Json) -> None:
        feedback.explain(
            _remembered(view)[0],
            _user(body),
            reason=submitted(view, "reason"),
            correction=submitted(view, "correction"),
            source=submitted(view, "source"),
        )
        ack()

    def thank(body: Json, view: Json) -> None:
        _, channel, thread_ts = _remembered(view)
        corrected = " Your correction goes to the owners of the documents."
        text = THANKS + (corrected if submitted(view, "correction") else "")
        _whisper(web, _user(body), channel, thread_ts, text)

    app.view(REASON_VIEW)(ack=explained, lazy=[thank])


def _clarifying(app: App, store: Store) -> None:
    def choose(ack: Ack, body: Json, action: Json) -> None:
        event = chosen_question(body, action)
        store(f"option-{event.id}", {"asked": asdict(event)})
        ack()

    def look_in(ack: Ack, body: Json, action: Json) -> None:
        event = asked_of_another(body, action)
        store(f"option-{event.id}", {"asked": asdict(event)})
        ack()

    for number in range(5):
        app.action(f"{CLARIFY}_{number}")(choose)
        app.action(f"{LOOK_IN}_{number}")(look_in)


def _examples(app: App, store: Store) -> None:
    def ask(ack: Ack, body: Json, action: Json) -> None:
        if example := chosen_example(body, action):
            store(f"example-{example['user']}-{action.get('action_ts')}", {"example": example})
        ack()

    app.action(re.compile(rf"^{EXAMPLE}_\d+_\d+$"))(ask)


def _handoff(app: App, store: Store, web: Web) -> None:
    def ask_human(ack: Ack, body: Json, action: Json) -> None:
        question_id = str(action.get("value") or "")
        user = _user(body)
        # Of each who presses: not everybody may, and who may not must not use up the first press.
        channel, _ = _place(body)
        asked = {"question_id": question_id, "user": user}
        pressed = {"channel": channel, "ts": _posted_at(body)}
        store(f"human-{question_id}-{user}", {"human": asked, "pressed": pressed})
        ack()

    def take(ack: Ack, body: Json, action: Json) -> None:
        question_id, user = str(action.get("value") or ""), _user(body)
        store(f"take-{question_id}-{user}", {"take": {"question_id": question_id, "user": user}})
        ack()

    def ask_resolution(body: Json, action: Json) -> None:
        _open(web, body, resolution_view(str(action.get("value") or "")))

    def resolved(ack: Ack, body: Json, view: Json) -> None:
        done = {
            "question_id": str(view.get("private_metadata") or ""),
            "user": _user(body),
            "resolution": submitted(view, "resolution"),
        }
        store(f"resolve-{view.get('id')}-{view.get('hash', '')}", {"resolve": done})
        ack()

    app.action(ASK_HUMAN)(ask_human)
    app.action(TAKE)(take)
    app.action(RESOLVE)(ack=lambda ack: ack(), lazy=[ask_resolution])
    app.view(RESOLVE_VIEW)(resolved)


def _details(app: App, details: Callable[[Json], None]) -> None:
    def show(event: Json) -> None:
        details(event)

    app.event(DETAILS)(ack=lambda ack: ack(), lazy=[show])


def shortcut_question(body: Json, bot_user: str) -> Asked | None:
    """The message that the shortcut was used on, as a question of who used it."""
    message = body.get("message") or {}
    ts = str(body.get("message_ts") or message.get("ts") or "")
    text = plain(words_of(message), bot_user=bot_user)
    files = files_of(message)
    if not (ts and (text or files["attached"])) or message.get("user") == bot_user:
        return None
    channel = str((body.get("channel") or {}).get("id") or "")
    return Asked(
        channel=channel,
        ts=ts,
        thread_ts=str(message.get("thread_ts") or ts),
        user=_user(body),
        team=_team(body),
        text=text,
        channel_type="im" if channel.startswith("D") else "channel",
        mentioned=True,
        by_shortcut=True,
        **files,
    )


def chosen_question(body: Json, action: Mapping[str, Any]) -> Asked:
    """The option that was chosen, as a question of its own and of who chose it, whoever asked
    first; twice by the same person is once."""
    channel, thread_ts = _place(body)
    post = _posted_at(body)
    text = str(action.get("value") or "")
    return Asked(
        channel=channel,
        ts=str(action.get("action_ts") or post),
        thread_ts=thread_ts or post,
        user=_user(body),
        team=_team(body),
        text=text,
        channel_type="im" if channel.startswith("D") else "channel",
        mentioned=True,
        key=f"{post}-{action.get('action_id')}-{_user(body)}",
        lead=f"Chosen: {text}",
    )


def asked_of_another(body: Json, action: Mapping[str, Any]) -> Asked:
    """The same question, of the domain that was chosen for it; its words are on record."""
    domain, _, question_id = str(action.get("value") or "").partition(" ")
    chosen = str((action.get("text") or {}).get("text") or "")
    event = chosen_question(body, action)
    return replace(event, text="", domain=domain, again=question_id, lead=f"Chosen: {chosen}")


def chosen_example(body: Json, action: Mapping[str, Any]) -> dict[str, str] | None:
    """Who asks what of which domain; None for a button that says neither."""
    try:
        value = json.loads(str(action.get("value") or ""))
        domain, question = str(value["domain"]), str(value["question"])
    except (ValueError, KeyError, TypeError):
        return None
    return {"user": _user(body), "team": _team(body), "domain": domain, "question": question}


def _user(body: Json) -> str:
    return str((body.get("user") or {}).get("id") or "")


def _team(body: Json) -> str:
    """Of the person; `team` is null where an app is installed for a whole organisation."""
    person, team = body.get("user") or {}, body.get("team") or {}
    return str(person.get("team_id") or team.get("id") or "")


def _place(body: Json) -> tuple[str, str]:
    """Channel and thread of the message that was acted on; Slack leaves out what it can."""
    container, message = body.get("container") or {}, body.get("message") or {}
    channel = (body.get("channel") or {}).get("id") or container.get("channel_id")
    return str(channel or ""), str(message.get("thread_ts") or container.get("thread_ts") or "")


def _posted_at(body: Json) -> str:
    """Timestamp of the message that was acted on."""
    message_ts = (body.get("container") or {}).get("message_ts")
    return str((body.get("message") or {}).get("ts") or message_ts or "")


def _remembered(view: Json) -> tuple[str, str, str]:
    """Question, channel and thread that the modal was opened for."""
    question_id, channel, thread_ts = json.loads(view["private_metadata"])
    return question_id, channel, thread_ts


def _open(web: Web, body: Json, view: Json) -> None:
    try:
        web.once("views.open", trigger_id=body.get("trigger_id"), view=view)
    except (SlackRefused, SlackUnsure, SlackBusy) as error:
        log.warning("a modal did not open", reason=str(error))
        again = "Noted. The form did not open; please press the button again."
        _whisper(web, _user(body), *_place(body), again)


def _whisper(web: Web, user: str, channel: str, thread_ts: str, text: str) -> None:
    try:
        web.once(
            "chat.postEphemeral",
            channel=channel,
            user=user,
            thread_ts=thread_ts or None,
            text=text,
        )
    except (SlackRefused, SlackUnsure, SlackBusy) as error:
        log.debug("a note was not shown", reason=str(error))
