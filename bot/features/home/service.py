"""A question that somebody chose in App Home: asked in their direct messages, answered there.

The agent pane: what it offers before the first question."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

import structlog

from bot.access.gate import EntryPoint, Gate
from bot.blocks.kit import short
from bot.blocks.render import text_message
from bot.blocks.sanitize.text import sanitize_mrkdwn, sanitize_plain
from bot.features.home.feature import Home
from bot.features.home.suggestions import Suggest, of_several, only_examples
from bot.features.home.views import JustAsked
from bot.posting.posts import metadata_of, post_key
from bot.questions.store import QuestionStore
from bot.slack.client import SlackBusy, SlackClient, SlackRefused, SlackUnsure, backoff
from bot.slack.events import AssistantOpened, IncomingMessage
from config.domain import Domain, domain_of

METADATA = "oncall_example"
PATIENCE = 60.0
"""Seconds; whoever pressed a button looks for what becomes of it."""


@dataclass(frozen=True, kw_only=True)
class ExampleAsked:
    """Safe to walk again after a crash."""

    web: SlackClient
    records: QuestionStore
    ask: Callable[[str, IncomingMessage], None]
    """(event id, question): answers it."""
    gate: Gate
    home: Home
    domains: Callable[[], Mapping[str, Domain]]
    team_url: str

    def __call__(self, event_id: str, *, user: str, team: str, domain: str, question: str) -> None:
        known = self.domains().get(domain)
        if known is None or not self.gate.open_to(EntryPoint.HOME, user, [known]):
            self.home.publish(user)  # as it is for them now
            return
        channel, ts = self._root(event_id, user, question)
        place = f"{self.team_url.rstrip('/')}/archives/{channel}/p{ts.replace('.', '')}"
        address = place if self.team_url else ""
        asked = JustAsked(question=question, address=address)
        self.home.publish(user, asked)
        event = IncomingMessage(
            channel=channel,
            ts=ts,
            thread_ts=ts,
            user=user,
            team=team,
            text=question,
            channel_type="im",
            mentioned=True,
            domain=domain,
        )
        self.ask(event_id, event)
        self.home.publish(user, asked)  # with what came of it

    def _root(self, event_id: str, user: str, question: str) -> tuple[str, str]:
        """Channel and ts of the message that the answer replies to."""
        key = post_key(event_id)  # goes with the question
        if done := self.records.place_of(key):
            return done
        message = text_message(f"You asked in *Home*:\n> {sanitize_mrkdwn(question)}")
        pauses = backoff(PATIENCE)
        while True:
            try:
                posted = self.web.once(
                    "chat.postMessage",
                    channel=user,  # Slack takes a user's id for their direct messages
                    text=message.text,
                    blocks=message.blocks,
                    metadata=metadata_of(METADATA, event_id),
                    unfurl_links=False,
                    unfurl_media=False,
                )
                break
            except SlackBusy as busy:
                self.web.wait(pauses, exactly=busy.after, cause=busy)
            except SlackUnsure as unsure:
                # Nobody knows the conversation's id yet: better the question twice than never.
                self.web.wait(pauses, cause=unsure)
        channel, ts = str(posted.get("channel") or ""), str(posted.get("ts") or "")
        self.records.own_post(key, 0, channel, ts)
        return channel, ts


log = structlog.get_logger()

MAX_PROMPTS = 4


def greet(
    web: SlackClient,
    event: AssistantOpened,
    domains: Iterable[Domain],
    gate: Gate,
    suggest: Suggest,
) -> None:
    """Suggested questions, of domains that they may ask: that of the channel they came from, else
    one of each."""
    try:
        theirs = gate.open_to(EntryPoint.SUGGESTED_PROMPTS, event.user, domains)
        prompts = suggested(theirs, event.context_channel, suggest)
        if not (prompts and event.channel):
            return
        web.once(
            "assistant.threads.setSuggestedPrompts",
            channel_id=event.channel,
            # Of the earlier assistant view alone: an agent's call with it does nothing.
            thread_ts=event.thread_ts or None,
            title="What do you need to know?",
            prompts=prompts,
        )
    except (SlackRefused, SlackUnsure, SlackBusy) as error:
        log.info("no suggested prompts", reason=str(error))


def suggested(
    domains: list[Domain], context_channel: str = "", suggest: Suggest = only_examples
) -> list[dict[str, str]]:
    here = domain_of(domains, context_channel)
    questions = of_several(suggest, [here] if here else domains, MAX_PROMPTS)
    return [
        {"title": sanitize_plain(short(q, 60)), "message": sanitize_plain(q)[:300]}
        for q in questions
    ]
