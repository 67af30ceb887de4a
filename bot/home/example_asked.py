"""A question that somebody chose in App Home: asked in their direct messages, answered there."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from bot.access.doors import Door
from bot.access.gate import Gate
from bot.home.home_page import Home
from bot.home.home_view import JustAsked
from bot.memory.record import Records
from bot.message.delivery import metadata_of
from bot.message.harmless.harmless_words import mrkdwn
from bot.message.private import post_key
from bot.message.render import said
from bot.slack.event import Asked
from bot.slack.web import SlackBusy, SlackUnsure, Web, backoff
from config.domain import Domain

METADATA = "oncall_example"
PATIENCE = 60.0
"""Seconds; whoever pressed a button looks for what becomes of it."""


@dataclass(frozen=True, kw_only=True)
class ExampleAsked:
    """Safe to walk again after a crash."""

    web: Web
    records: Records
    ask: Callable[[str, Asked], None]
    """(event id, question): answers it."""
    gate: Gate
    home: Home
    domains: Callable[[], Mapping[str, Domain]]
    team_url: str

    def __call__(self, event_id: str, *, user: str, team: str, domain: str, question: str) -> None:
        known = self.domains().get(domain)
        if known is None or not self.gate.open_to(Door.HOME, user, [known]):
            self.home.publish(user)  # as it is for them now
            return
        channel, ts = self._root(event_id, user, question)
        place = f"{self.team_url.rstrip('/')}/archives/{channel}/p{ts.replace('.', '')}"
        address = place if self.team_url else ""
        asked = JustAsked(question=question, address=address)
        self.home.publish(user, asked)
        event = Asked(
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
        message = said(f"You asked in *Home*:\n> {mrkdwn(question)}")
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
