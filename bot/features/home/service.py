"""App Home, questions that people choose there, and suggestions in the agent pane."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import ClassVar

import structlog

from bot.blocks.kit import Json, short
from bot.blocks.render import text_message
from bot.blocks.sanitize.text import sanitize_mrkdwn, sanitize_plain
from bot.bus.events import Event
from bot.feature import FeatureContext, VerdictsOf
from bot.features.home.suggestions import Suggest, of_several, only_examples
from bot.features.home.views import EXAMPLES, IndexStatus, JustAsked, Offered, Report, blocks
from bot.posting.posts import metadata_of
from bot.questions.store import QuestionStore, is_question, went_wrong
from bot.questions.tables import private_post_key
from bot.showing import Showing
from bot.slack.client import SlackBusy, SlackRefused, SlackUnsure, backoff
from bot.slack.events import AssistantOpened, IncomingMessage
from config.domain import Domain, domain_of
from durable.database import now
from index.audit import AuditUnavailable
from index.permissions.acts import Act

log = structlog.get_logger()

WEEK = timedelta(days=7)
MAX_PROMPTS = 4
METADATA = "oncall_example"
PATIENCE = 60.0
"""Seconds until a chosen question is abandoned: its asker waits for the answer."""
MoreForAdmins = Callable[[Showing, Sequence[Domain]], Iterator[Json]]
"""(showing to the viewer, the domains whose admin they are) → blocks."""
StatusOf = Callable[[str], IndexStatus | None]
"""Domain name → its index; None when nothing was ever published."""


@dataclass(frozen=True)
class ReportSources:
    """The sources of the reports for a domain's admins."""

    verdicts: VerdictsOf
    status: StatusOf
    problems: Callable[[], Sequence[str]]
    """Returns missing Slack permissions and their remedies."""


@dataclass(frozen=True)
class HomeService:
    context: FeatureContext
    records: QuestionStore
    suggest: Suggest
    sources: ReportSources
    more: Sequence[MoreForAdmins]
    """Of other features."""

    def publish(self, user: str, just_asked: JustAsked | None = None) -> None:
        """Show the user their home."""
        gate = self.context.gate
        domains = list(self.context.domains().values())
        theirs = gate.open_to(Act.HOME, user, domains)
        offered = [self._offered(user, domain) for domain in theirs]
        why_not = "" if theirs else gate.why_not(user, domains)
        administered = gate.open_to(Act.ADMINISTER, user, domains)
        reports = [self._report(domain, user) for domain in administered]
        more = self._more(user, administered)
        mine = [r for r in self.records.recent(asker=user, limit=25) if is_question(r)][:5]
        team_url = self.context.identity.team_url
        every = blocks(offered, reports, mine, team_url, why_not, just_asked, more)
        view = {"type": "home", "blocks": list(every)[:100]}
        try:
            self.context.web.once("views.publish", user_id=user, view=view)
        except (SlackRefused, SlackUnsure, SlackBusy) as error:
            log.warning("the app home was not published", reason=str(error))

    def _more(self, user: str, administered: Sequence[Domain]) -> list[Json]:
        """Nothing where it can't be recorded."""
        readers = self.context.readers
        showing = readers.showing(readers.person(user), "home")
        blocks = [block for of in self.more for block in of(showing, administered)]
        try:
            showing.record()
        except AuditUnavailable as error:
            log.warning("app home without its reports", reason=error.problem)
            return []
        return blocks

    def greet(self, event: AssistantOpened) -> None:
        """Suggest questions in the agent pane, of domains that the user may ask."""
        try:
            theirs = self.context.gate.open_to(
                Act.SUGGESTED_PROMPTS, event.user, self.context.domains().values()
            )
            prompts = suggested_prompts(theirs, event.context_channel, self.suggest)
            if not (prompts and event.channel):
                return
            self.context.web.once(
                "assistant.threads.setSuggestedPrompts",
                channel_id=event.channel,
                # Of the earlier assistant view alone: an agent's call with it does nothing.
                thread_ts=event.thread_ts or None,
                title="What do you need to know?",
                prompts=prompts,
            )
        except (SlackRefused, SlackUnsure, SlackBusy) as error:
            log.info("suggested prompts could not be set", reason=str(error))

    def _offered(self, user: str, domain: Domain) -> Offered:
        """Names no channel that the user may not see."""
        may_see = self.context.gate.may_see
        channels = [channel for channel in domain.channels if may_see(user, channel)]
        return Offered(
            domain=domain.model_copy(update={"channels": channels}),
            questions=self.suggest(domain, EXAMPLES),
        )

    def _report(self, domain: Domain, admin: str) -> Report:
        today, name = now(), domain.domain
        recent = self.records.recent(domain=name, limit=200)
        failing = [one for one in recent if one.asked_at >= today - WEEK and went_wrong(one)][:5]
        return Report(
            domain=domain,
            index=self.sources.status(name),
            this_week=self.sources.verdicts(name, today - WEEK, today),
            last_week=self.sources.verdicts(name, today - 2 * WEEK, today - WEEK),
            questions=self.records.count(today - WEEK, domain=name),
            passages=self.records.count(today - WEEK, domain=name, path="passages_found"),
            failing=failing,
            readable=frozenset(
                channel
                for channel in {record.channel for record in failing}
                if not channel.startswith("D") and self.context.gate.may_see(admin, channel)
            ),
            problems=self.sources.problems(),
        )


@dataclass(frozen=True, kw_only=True)
class ExampleChosen(Event):
    kind: ClassVar[str] = "example"
    user: str
    team: str
    domain: str
    question: str


@dataclass(frozen=True)
class ExampleService:
    """Asks a chosen question in direct messages. Safe to repeat after a crash."""

    context: FeatureContext
    records: QuestionStore
    home: HomeService
    answer: Callable[[str, IncomingMessage], None]
    """(event id, question)."""

    def ask(self, event_id: str, example: ExampleChosen) -> None:
        user, question = example.user, example.question
        domain = self.context.domains().get(example.domain)
        if domain is None or not self.context.gate.open_to(Act.HOME, user, [domain]):
            self.home.publish(user)  # as it is for them now
            return
        channel, ts = self._root(event_id, user, question)
        team_url = self.context.identity.team_url
        place = f"{team_url}/archives/{channel}/p{ts.replace('.', '')}"
        just_asked = JustAsked(question=question, address=place if team_url else "")
        self.home.publish(user, just_asked)
        message = IncomingMessage(
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
        self.answer(event_id, message)
        self.home.publish(user, just_asked)  # with its outcome

    def _root(self, event_id: str, user: str, question: str) -> tuple[str, str]:
        """Channel and ts of the message that the answer replies to."""
        key = private_post_key(event_id)  # deleted with the question
        if done := self.records.place_of(key):
            return done
        message = text_message(f"You asked in *Home*:\n> {sanitize_mrkdwn(question)}")
        web, pauses = self.context.web, backoff(PATIENCE)
        while True:
            try:
                posted = web.once(
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
                web.wait(pauses, exactly=busy.after, cause=busy)
            except SlackUnsure as unsure:
                # Nobody knows the conversation's id yet: better the question twice than never.
                web.wait(pauses, cause=unsure)
        channel, ts = str(posted.get("channel") or ""), str(posted.get("ts") or "")
        self.records.own_post(key, 0, channel, ts)
        return channel, ts


def suggested_prompts(
    domains: list[Domain], context_channel: str = "", suggest: Suggest = only_examples
) -> list[dict[str, str]]:
    """Prompts of the domain whose channel the user came from, else one of each domain."""
    here = domain_of(domains, context_channel)
    questions = of_several(suggest, [here] if here else domains, MAX_PROMPTS)
    return [
        {"title": sanitize_plain(short(q, 60)), "message": sanitize_plain(q)[:300]}
        for q in questions
    ]
