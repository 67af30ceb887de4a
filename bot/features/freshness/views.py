"""*Flag outdated* and its form, as Slack shows and sends them.

Contradictions as admins see them in App Home, side by side, and the buttons that settle them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import structlog
from slack_bolt import App

from agents.answer import Answer
from agents.freshness.cited_places import CitedSection
from bot.blocks.body import place_name
from bot.blocks.kit import (
    BUTTON_TEXT,
    Json,
    actions,
    button,
    header,
    input_block,
    link,
    modal,
    section,
    short,
    submitted,
    text_input,
    words,
)
from bot.blocks.sanitize.text import sanitize_mrkdwn, sanitize_plain
from bot.bus.events import Enqueue, Event
from bot.features.freshness.contradictions import CHOICES, ContradictionStore
from bot.features.freshness.flags import MOST_A_DAY, Flaggable, FlagService, SourceFlagged
from bot.slack.client import SlackBusy, SlackClient, SlackRefused, SlackUnsure
from config.domain import Domain

KEEP = "settle_contradiction"
_SHOWN = 3
_LONGEST_SIDE, _LONGEST_FIELD = 700, 2_000
"""Characters of a document's words, and of a field of a section, in which `&` counts as five."""
_LABELS = {"one": "Keep A", "other": "Keep B", "none": "No contradiction"}


def contradiction_blocks(queue: ContradictionStore, domains: Sequence[Domain]) -> Iterator[Json]:
    for domain in domains:
        waiting = queue.waiting(domain.domain, most=_SHOWN + 1)
        if not waiting:
            continue
        yield header(f"{sanitize_plain(domain.title)}: sources that say different things")
        for pair in waiting[:_SHOWN]:
            often = "once" if pair.met == 1 else f"{pair.met} times"
            about = sanitize_mrkdwn(short(pair.about, 200)) or "The same subject"
            fields = [
                words(_side("A", pair.one, pair.one_url, pair.one_says)),
                words(_side("B", pair.other, pair.other_url, pair.other_says)),
            ]
            yield {
                **section(f"{about} · met {often}"),
                "fields": fields,
                "block_id": f"contradiction_{pair.id}",
            }
            yield actions(
                [
                    button(label, f"{KEEP}_{choice}", f"{choice} {pair.id} {pair.seen}")
                    for choice, label in _LABELS.items()
                ],
                block_id=f"settle_{pair.id}",
            )


@dataclass(frozen=True, kw_only=True)
class ContradictionSettled(Event):
    """An admin chose which of two places is right."""

    kind: ClassVar[str] = KEEP
    contradiction: str
    choice: str
    seen: str = ""
    user: str
    team: str = ""


def listen_for_decisions(app: App, put: Enqueue) -> None:
    def decided(ack: Callable[..., Any], body: Json, action: Json) -> None:
        choice, pair, seen, *_ = [*str(action.get("value") or "").split(" "), "", "", ""]
        person = body.get("user") or {}
        user = str(person.get("id") or "")
        team = str(person.get("team_id") or (body.get("team") or {}).get("id") or "")
        if choice in CHOICES and pair:
            event = ContradictionSettled(
                contradiction=pair, choice=choice, seen=seen, user=user, team=team
            )
            put(f"settle-{pair}-{choice}-{user}-{action.get('action_ts')}", event)
        ack()

    app.action(re.compile(rf"^{KEEP}_\w+$"))(decided)


def _side(letter: str, place: CitedSection, url: str, says: str) -> str:
    name = short(place.name, 150)
    head = f"*{letter}* {link(url, name)}\n"
    if len(head) > _LONGEST_FIELD // 2:
        head = f"*{letter}* {sanitize_mrkdwn(name)}\n"
    shown, most = sanitize_mrkdwn(short(says, _LONGEST_SIDE)), _LONGEST_SIDE
    while len(shown) > _LONGEST_FIELD - len(head):
        most = most * 9 // 10
        shown = sanitize_mrkdwn(short(says, most))
    return head + shown


log = structlog.get_logger()

FLAG = "flag_outdated"
FLAG_VIEW = "flag_outdated_form"
FLAGGED = "Thank you. The owner of the document hears of it."
NOT_YOURS = (
    "I can't take a flag from you here: only who may ask about these documents can flag them."
)
ENOUGH = (
    f"You have flagged {MOST_A_DAY} places in 24 hours, and the owners hear of all of them. Please "
    "tell them of others yourself."
)
AGAIN = "The form did not open; please press the button again."
_MOST_SOURCES = 10
_TROUBLE = (SlackRefused, SlackUnsure, SlackBusy)
_TO_OWNER = "The document's owner is told, with your name and your words."
_PRIVATELY = (
    "The document's owner is told which place it is. As this was answered to you alone, your name, "
    "your words and your question stay here."
)


def flag_button(answer: Answer, question_id: str) -> tuple[Json, ...]:
    """None below an answer that cites no document."""
    if not any(one.document for one in answer.citations):
        return ()
    return (button("Flag outdated", FLAG, question_id),)


def flag_view(found: Flaggable, remember: str) -> Json:
    """Which source, and what is out of date."""
    sources = [one for one in found.answer.citations if one.document][:_MOST_SOURCES]
    options = [
        {
            "text": {
                "type": "plain_text",
                "text": short(sanitize_plain(f"[{one.number}] {place_name(one)}"), BUTTON_TEXT),
            },
            "value": str(one.number),
        }
        for one in sources
    ]
    which: Json = {"type": "radio_buttons", "options": options}
    if len(options) == 1:
        which["initial_option"] = options[0]
    words = input_block(
        "words",
        "What is out of date?",
        text_input(multiline=True),
        optional=False,
        hint=_PRIVATELY if found.private else _TO_OWNER,
    )
    return modal(
        FLAG_VIEW,
        "Flag outdated",
        [input_block("source", "Which source?", which, optional=False), words],
        remember=remember,
        submit="Flag",
        close="Cancel",
    )


def listen_for_flags(app: App, put: Enqueue, *, web: SlackClient, outdated: FlagService) -> None:
    def open_form(body: Json, action: Json) -> None:
        user, (channel, thread_ts) = _user(body), _place(body)
        question_id = str(action.get("value") or "")

        def open_it() -> None:
            found = outdated.flaggable(question_id, user)
            if not found or not flag_button(found.answer, question_id):
                _whisper(web, user, channel, thread_ts, NOT_YOURS)
                return
            if outdated.had_enough(user):
                _whisper(web, user, channel, thread_ts, ENOUGH)
                return
            remember = json.dumps([question_id, channel, thread_ts])
            view = flag_view(found, remember)
            web.once("views.open", trigger_id=body.get("trigger_id"), view=view)

        if not _tried(open_it):
            _whisper(web, user, channel, thread_ts, AGAIN)

    def flagged(ack: Callable[..., Any], body: Json, view: Json) -> None:
        words = submitted(view, "words").strip()
        if not words:
            ack(response_action="errors", errors={"words": "Say what is out of date."})
            return
        event = SourceFlagged(
            question_id=_remembered(view)[0],
            user=_user(body),
            number=int(submitted(view, "source") or 0),
            words=words,
        )
        put(f"flag-{view.get('id')}-{view.get('hash', '')}", event)
        ack()

    def thank(body: Json, view: Json) -> None:
        if not submitted(view, "words").strip():
            return
        _, channel, thread_ts = _remembered(view)
        _whisper(web, _user(body), channel, thread_ts, FLAGGED)

    app.action(FLAG)(ack=lambda ack: ack(), lazy=[open_form])
    app.view(FLAG_VIEW)(ack=flagged, lazy=[thank])


def _whisper(web: SlackClient, user: str, channel: str, thread_ts: str, text: str) -> None:
    _tried(
        lambda: web.once(
            "chat.postEphemeral",
            channel=channel,
            user=user,
            thread_ts=thread_ts or None,
            text=text,
        )
    )


def _tried(act: Callable[[], object]) -> bool:
    """What only this moment is good for; pressed again, it is tried again."""
    try:
        act()
    except _TROUBLE as error:
        log.warning("a press on flag outdated was not answered", reason=str(error))
        return False
    return True


def _user(body: Json) -> str:
    return str((body.get("user") or {}).get("id") or "")


def _place(body: Json) -> tuple[str, str]:
    """Channel and thread of the message that was acted on."""
    container, message = body.get("container") or {}, body.get("message") or {}
    channel = (body.get("channel") or {}).get("id") or container.get("channel_id")
    return str(channel or ""), str(message.get("thread_ts") or container.get("thread_ts") or "")


def _remembered(view: Json) -> tuple[str, str, str]:
    """Question, channel and thread that the form was opened for."""
    question_id, channel, thread_ts = json.loads(view["private_metadata"])
    return question_id, channel, thread_ts
