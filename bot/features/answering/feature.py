"""Questions: wiring, and the listeners of the shortcut and of buttons that ask one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, ClassVar, Self

from slack_bolt import App

from agents.extractive.conversation import about_me
from bot.blocks.kit import Json
from bot.blocks.render import CLARIFY, LOOK_IN, MAX_CHOICES, SlackMessage, text_message
from bot.blocks.sanitize.text import sanitize_mrkdwn
from bot.bus.events import Enqueue, Event, Item
from bot.feature import Ack, BotQuestion, Feature
from bot.features.answering.abandoned import ABANDONED, AbandonedQuestions
from bot.features.answering.intake import Intake
from bot.rotas.on_call import calls_someone
from bot.slack.events import IncomingMessage, MessageDeleted, files_of
from bot.slack.manifest import SHORTCUT
from bot.slack.messages import place_of, plain, posted_at, team_of, user_of, words_of


@dataclass(frozen=True, kw_only=True)
class QuestionAsked(Event):
    """By the shortcut, or by choosing one of several options."""

    kind: ClassVar[str] = "asked"
    message: IncomingMessage

    def item(self) -> Item:
        return {self.kind: asdict(self.message)}

    @classmethod
    def from_item(cls, item: Mapping[str, Any]) -> Self:
        return cls(message=IncomingMessage.from_json(item[cls.kind]))


def build_answering(intake: Intake, abandoned: AbandonedQuestions, bot_user: str) -> Feature:
    def listen(app: App, put: Enqueue) -> None:
        def ask_about(ack: Ack, body: Json) -> None:
            if event := shortcut_question(body, bot_user):
                put(f"shortcut-{event.id}-{event.user}", QuestionAsked(message=event))
            ack()

        def choose(ack: Ack, body: Json, action: Json) -> None:
            is_choice = str(action.get("action_id")).startswith(CLARIFY)
            event = (chosen_question if is_choice else question_for_domain)(body, action)
            put(f"option-{event.id}", QuestionAsked(message=event))
            ack()

        app.message_shortcut(SHORTCUT)(ask_about)
        for number in range(MAX_CHOICES):
            app.action(f"{CLARIFY}_{number}")(choose)
            app.action(f"{LOOK_IN}_{number}")(choose)

    return Feature(
        listen=listen,
        handlers={
            IncomingMessage: intake.receive,
            MessageDeleted: intake.withdraw,
            QuestionAsked: lambda event_id, event: intake.receive(event_id, event.message),
        },
        timers={ABANDONED: abandoned.conclude},
        replies={"abilities": abilities},
        plan=abandoned.plan,
    )


def shortcut_question(body: Json, bot_user: str) -> IncomingMessage | None:
    """The message of the shortcut, as a question of the person who used it."""
    message = body.get("message") or {}
    ts = str(body.get("message_ts") or message.get("ts") or "")
    text = plain(words_of(message), bot_user=bot_user)
    files = files_of(message)
    if not (ts and (text or files["attached"])) or message.get("user") == bot_user:
        return None
    channel = str((body.get("channel") or {}).get("id") or "")
    return IncomingMessage(
        channel=channel,
        ts=ts,
        thread_ts=str(message.get("thread_ts") or ts),
        user=user_of(body),
        team=team_of(body),
        text=text,
        channel_type="im" if channel.startswith("D") else "channel",
        mentioned=True,
        by_shortcut=True,
        author=str(message.get("user") or ""),
        **files,
    )


def chosen_question(body: Json, action: Mapping[str, Any]) -> IncomingMessage:
    """The option as a question of who chose it; their second click is the same question."""
    channel, thread_ts = place_of(body)
    post = posted_at(body)
    text = str(action.get("value") or "")
    return IncomingMessage(
        channel=channel,
        ts=str(action.get("action_ts") or post),
        thread_ts=thread_ts or post,
        user=user_of(body),
        team=team_of(body),
        text=text,
        channel_type="im" if channel.startswith("D") else "channel",
        mentioned=True,
        key=f"{post}-{action.get('action_id')}-{user_of(body)}",
        lead=f"Chosen: {text}",
    )


def question_for_domain(body: Json, action: Mapping[str, Any]) -> IncomingMessage:
    """The same question, for the chosen domain; its text is on record."""
    domain, _, question_id = str(action.get("value") or "").partition(" ")
    label = str((action.get("text") or {}).get("text") or "")
    event = chosen_question(body, action)
    return replace(event, text="", domain=domain, again=question_id, lead=f"Chosen: {label}")


def abilities(question: BotQuestion) -> SlackMessage:
    titles = "*, *".join(sanitize_mrkdwn(one.title) for one in question.domains[:5])
    lines = [
        f"{about_me(titles)} Ask in your own words, and follow up in the thread. "
        "You can also ask me",
        "• which documents I know, and when one of them was last updated",
    ]
    if any(map(calls_someone, question.domains)):
        lines.append("• who is on call, and how to escalate: *Ask a human* calls them")
        lines.append("• who was on call last night, and when you are on call next")
    if not question.event.direct:
        lines.append("• what is open in this channel")
    elif any(one.runbooks.rehearsal for one in question.domains):
        lines.append("• to *rehearse*: past alerts as a drill that only you see")
    return text_message("\n".join(lines))
