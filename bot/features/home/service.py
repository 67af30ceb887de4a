"""App Home, questions that people choose there, and what the agent pane suggests."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import ClassVar

import structlog

from bot.access.gate import EntryPoint, Gate
from bot.blocks.kit import Json, short
from bot.blocks.render import text_message
from bot.blocks.sanitize.text import sanitize_mrkdwn, sanitize_plain
from bot.bus.events import Event
from bot.db import now
from bot.feature import VerdictsOf
from bot.features.home.suggestions import Suggest, of_several, only_examples
from bot.features.home.views import (
    EXAMPLES,
    IndexStatus,
    JustAsked,
    Offered,
    Report,
    blocks,
)
from bot.posting.posts import metadata_of, post_key
from bot.questions.outcomes import is_question, went_wrong
from bot.questions.store import QuestionStore
from bot.slack.client import SlackBusy, SlackClient, SlackRefused, SlackUnsure, backoff
from bot.slack.events import AssistantOpened, IncomingMessage
from config.domain import Domain, domain_of

log = structlog.get_logger()

WEEK = timedelta(days=7)
MoreForAdmins = Callable[[str, Sequence[Domain]], Iterator[Json]]
"""(viewer, the domains whose admin they are) → blocks."""
StatusOf = Callable[[str], IndexStatus | None]
"""Domain name → its index; None when nothing was ever published."""


class Home:
    def __init__(
        self,
        web: SlackClient,
        records: QuestionStore,
        verdicts: VerdictsOf,
        *,
        domains: Callable[[], Mapping[str, Domain]],
        gate: Gate,
        status: StatusOf,
        team_url: str,
        suggest: Suggest = only_examples,
        troubles: Callable[[], Sequence[str]] = tuple,
        more: Sequence[MoreForAdmins] = (),
    ) -> None:
        """`troubles`: what Slack doesn't let the bot do, for admins. `more`: see `bot.feature`."""
        self._web = web
        self._records = records
        self._verdicts = verdicts
        self._domains = domains
        self._gate = gate
        self._status = status
        self._team_url = team_url.rstrip("/")
        self._suggest = suggest
        self._troubles = troubles
        self._more = more

    def publish(self, user: str, just_asked: JustAsked | None = None) -> None:
        """Show the user their home."""
        domains = list(self._domains().values())
        theirs = self._gate.open_to(EntryPoint.HOME, user, domains)
        offered = [self._offered(user, domain) for domain in theirs]
        why_not = "" if theirs else self._gate.why_not(user, domains)
        reports = [self._report(domain, user) for domain in domains if user in domain.admins]
        administered = [domain for domain in domains if user in domain.admins]
        more = [block for of in self._more for block in of(user, administered)]
        mine = [r for r in self._records.recent(asker=user, limit=25) if is_question(r)][:5]
        view = {
            "type": "home",
            "blocks": list(
                blocks(offered, reports, mine, self._team_url, why_not, just_asked, more)
            )[:100],
        }
        try:
            self._web.once("views.publish", user_id=user, view=view)
        except (SlackRefused, SlackUnsure, SlackBusy) as error:
            log.warning("the app home was not published", reason=str(error))

    def _offered(self, user: str, domain: Domain) -> Offered:
        """Names no channel that they may not see."""
        seen = [channel for channel in domain.channels if self._gate.may_see(user, channel)]
        return Offered(
            domain=domain.model_copy(update={"channels": seen}),
            questions=self._suggest(domain, EXAMPLES),
        )

    def _report(self, domain: Domain, admin: str) -> Report:
        today = now()
        recent = self._records.recent(domain=domain.domain, limit=200)
        failing = [
            record for record in recent if record.asked_at >= today - WEEK and went_wrong(record)
        ]
        return Report(
            domain=domain,
            index=self._status(domain.domain),
            this_week=self._verdicts(domain.domain, today - WEEK, today),
            last_week=self._verdicts(domain.domain, today - 2 * WEEK, today - WEEK),
            asked=self._records.count(today - WEEK, domain=domain.domain),
            passages=self._records.count(today - WEEK, domain=domain.domain, path="passages_found"),
            failing=failing[:5],
            readable=frozenset(
                channel
                for channel in {record.channel for record in failing[:5]}
                if not channel.startswith("D") and self._gate.may_see(admin, channel)
            ),
            troubles=self._troubles(),
        )


METADATA = "oncall_example"
PATIENCE = 60.0
"""Seconds; whoever pressed a button looks for what becomes of it."""


@dataclass(frozen=True, kw_only=True)
class ExampleChosen(Event):
    kind: ClassVar[str] = "example"
    user: str
    team: str
    domain: str
    question: str


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

    def __call__(self, event_id: str, example: ExampleChosen) -> None:
        user, question = example.user, example.question
        known = self.domains().get(example.domain)
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
            team=example.team,
            text=question,
            channel_type="im",
            mentioned=True,
            domain=example.domain,
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
