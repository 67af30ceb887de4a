"""From a stored event to a posted answer: which messages are questions to the bot, and who may ask
them. Every path is safe to repeat after a crash."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import structlog

from bot.access.gate import RefusalNotices, act_of, is_by_alert_bot
from bot.blocks.render import text_message
from bot.feature import FeatureContext
from bot.features.answering.service import AnsweringService, AnswerJob
from bot.questions.store import UNCONCLUDED, QuestionRecord, QuestionStore, forget_cached
from bot.slack.client import SlackBusy, SlackUnsure
from bot.slack.events import IncomingMessage, MessageDeleted
from bot.slack.messages import Message, earlier, fetch, is_own, is_question
from config.domain import Domain, domain_of
from enrichment.language.phrases import is_courtesy
from index.permissions.acts import Act
from telemetry import metrics

log = structlog.get_logger()


@dataclass(frozen=True, kw_only=True)
class Intake:
    """Decides which messages are questions and which domains may answer, and starts the answers."""

    context: FeatureContext
    records: QuestionStore
    attempts: AnsweringService
    notices: RefusalNotices = field(default_factory=RefusalNotices)

    def receive(self, event_id: str, event: IncomingMessage) -> None:
        """Answer a message if it is for the bot. After a crash, its event is delivered again."""
        if event.again:
            first = self.records.get(event.again)
            if first is None or not first.text or not _is_shown_at(event, first):
                return  # deleted meanwhile, or not what the button was below
            authors = self.records.authors.of(first.id, "message")
            event = replace(event, text=first.text, author=next(iter(authors), first.asker))
        record = self.records.get(event.id)
        if record and event.edited and (event.bot or event.user != record.asker):
            # What a bot rewrites, such as a progress bar, is no new question. Somebody who used the
            # shortcut asked about the message as it was: its author did not ask.
            return
        if record and event.edited:
            self._answer_edit(event_id, event, record)
        elif record is None or record.event_id == event_id:
            self._answer_new(event_id, event, resumed=record is not None)

    def withdraw(self, event_id: str, event: MessageDeleted) -> None:
        """A question was deleted: no answer is posted, and a posted one is removed."""
        if self.records.of_post(event.channel, event.ts):
            return
        message = IncomingMessage(
            channel=event.channel, ts=event.ts, thread_ts=event.ts, user="", team="", text=""
        )
        # Claimed even when unknown: the deletion may overtake the question.
        self.records.claim(event_id, message)
        record = self.records.get(event.id)
        # While the answer is still on record.
        forget_cached(self.context.engine, event.id)
        self.records.withdraw(event.id)
        if record and record.event_id != event_id:
            post = self.attempts.post(record.event, stream=self.attempts.streaming)
            post.withdraw()

    def _answer_new(self, event_id: str, event: IncomingMessage, *, resumed: bool) -> None:
        domain = domain_of(self.context.domains().values(), event.channel)
        if domain is None and not event.direct:
            if event.mentioned and not event.bot:
                self._in_unknown_channel(event_id, event, resumed=resumed)
            return
        thread = self._thread(event)
        decision = self._decide(event, domain, thread)
        if decision == "ignore":
            return
        domains = self._open_to(event)
        if not domains:
            self._turn_away(event)
            return
        record = self.records.claim(event_id, event, domains[0].domain)
        if record and record.state in UNCONCLUDED:
            quiet = decision == "answer_if_confident"
            others = self._others(event, domains[0]) if quiet and not event.bot else ()
            self._attempt(
                event, record, thread, domains, resumed=resumed, quiet=quiet, others=others
            )

    def _decide(
        self, event: IncomingMessage, domain: Domain | None, thread: Sequence[Message]
    ) -> Decision:
        """`thread`: the messages so far."""
        if event.bot:
            return _to_alert(event, domain) if domain else "ignore"
        if domain is None or event.mentioned:
            return "answer"
        if not event.text.strip():
            return "ignore"
        if event.starts_thread:
            return _to_unmentioned(event, domain)
        if domain.answer.follow_ups == "thread" and self._continues(event, thread):
            return "answer"
        return "ignore"

    def _continues(self, event: IncomingMessage, thread: Sequence[Message]) -> bool:
        """The asker continues with the bot, and no one else has written since."""
        askers = {r.asker for r in self.records.in_thread(event.channel, event.thread_ts)}
        if event.others_mentioned or event.user not in askers or is_courtesy(event.text):
            return False
        since_bot: set[str] = set()
        bot_spoke = False
        for message in thread:
            if not earlier(message, event.ts):
                continue
            if is_own(message, self.context.identity.user):
                bot_spoke, since_bot = True, set()
            else:
                since_bot.add(str(message.get("user") or message.get("bot_id") or ""))
        return bot_spoke and since_bot <= {event.user}

    def _attempt(
        self,
        event: IncomingMessage,
        record: QuestionRecord,
        thread: Sequence[Message],
        domains: Sequence[Domain],
        **more: Any,
    ) -> None:
        is_home = event.direct or domain_of(self.context.domains().values(), event.channel)
        self.attempts.respond(
            AnswerJob(
                event=event, record=record, thread=thread, domains=domains, privately=not is_home,
                **more,
            )
        )  # fmt: skip

    def _open_to(self, event: IncomingMessage) -> list[Domain]:
        """The channel's domain, if the asker may ask it. In a direct message, and in a channel
        without one, all that they may ask directly, or the one that they chose. In the agent
        pane only that of the channel they came from: the client names it, so it counts only if
        they may ask it."""
        domains = self.context.domains().values()
        here = domain_of(domains, event.channel)
        if here and not event.direct:
            return self.context.gate.open_to(act_of(event), event.user, [here])
        act = act_of(event) if event.direct else Act.DIRECT_MESSAGE
        allowed = self.context.gate.open_to(act, event.user, domains)
        if choice := [one for one in allowed if one.domain == event.domain]:
            return choice
        of_context = domain_of(allowed, event.context_channel)
        return [of_context] if of_context else allowed

    def _others(self, event: IncomingMessage, here: Domain) -> tuple[Domain, ...]:
        """Other domains than the channel's, to which a question there may belong."""
        others = [one for one in self.context.domains().values() if one.domain != here.domain]
        return tuple(self.context.gate.open_to(Act.DIRECT_MESSAGE, event.user, others))

    def _answer_edit(self, event_id: str, event: IncomingMessage, record: QuestionRecord) -> None:
        """Write a new answer into the same post, if the text has changed."""
        resumed = record.event_id == event_id
        is_same = record.text == event.text and not resumed
        if record.state == "withdrawn" or is_same:
            return
        domains = self._open_to(event)
        if not domains:
            self._turn_away(event)
            return
        if not resumed:
            self.records.reopen(event.id, event_id=event_id, text=event.text)
        latest = self.records.get(event.id)
        if latest and latest.state in {"working", "answered", "failed", "limited"}:
            notes = ("Answered again because the question was edited.",)
            self._attempt(event, latest, self._thread(event), domains, resumed=True, notes=notes)

    def _turn_away(self, event: IncomingMessage) -> None:
        """Answer nothing and store nothing; only a person who mentioned the bot learns why.

        A post of an attempt before a crash is removed."""
        record = self.records.get(event.id)
        if record and record.asker == event.user and record.state in UNCONCLUDED:
            self.records.withdraw(record.id)
            self.attempts.post(record.event, stream=self.attempts.streaming).withdraw()
        if event.mentioned and not event.bot:
            here = domain_of(self.context.domains().values(), event.channel)
            metrics.REFUSALS.labels(here.domain if here else "", "not_allowed").inc()
            self.say_why_not(event)

    def say_why_not(self, event: IncomingMessage) -> None:
        """Send the reason to the user alone, and not every time."""
        if self.notices.once(event.user, event.id):
            here = domain_of(self.context.domains().values(), event.channel)
            about = [here] if here else self.context.domains().values()
            if why := self.context.gate.why_not(event.user, about):
                self.attempts.tell_asker(event, why)

    def _thread(self, event: IncomingMessage) -> list[Message]:
        """The messages so far; a mention is answered without them while Slack doesn't respond."""
        try:
            return (
                []
                if event.starts_thread
                else fetch(self.context.web, event.channel, event.thread_ts)
            )
        except (SlackBusy, SlackUnsure) as error:
            if not event.mentioned:
                raise
            log.warning("answering without the thread", question=event.id, reason=str(error))
            return []

    def _in_unknown_channel(self, event_id: str, event: IncomingMessage, *, resumed: bool) -> None:
        """Answer privately: not everyone in this channel may read the documents."""
        domains = self._open_to(event)
        if not domains:
            self._no_documents_here(event_id, event)
            return
        record = self.records.claim(event_id, event, domains[0].domain)
        if record and record.state in UNCONCLUDED:
            thread = self._thread(event)
            self._attempt(event, record, thread, domains, resumed=resumed)

    def _no_documents_here(self, event_id: str, event: IncomingMessage) -> None:
        if self.context.gate.people.member(event.user).kind != "member":
            self._turn_away(event)
            return
        record = self.records.claim(event_id, event)
        if not record or record.state != "working":
            return
        public = self.context.gate.public(self.context.domains().values())
        places = ", ".join(f"<#{channel}>" for channel in public)
        text = (
            "This channel has no documents yet. "
            + (f"I answer in {places}. " if places else "")
            + f"To set this one up, add its id `{event.channel}` to a domain file."
        )
        self.attempts.post(event, stream=False).finish([text_message(text)])
        self.records.mark(event.id, state="posted")


Decision = Literal["answer", "answer_if_confident", "ignore"]


def _is_shown_at(event: IncomingMessage, question: QuestionRecord) -> bool:
    """Whether a question stands where somebody pressed a button to ask it again: in the same
    thread, or among their own direct messages."""
    if event.direct:
        return question.asker == event.user
    return (question.channel, question.thread_ts) == (event.channel, event.thread_ts)


def _to_alert(event: IncomingMessage, domain: Domain) -> Decision:
    """Only alert bots of the domain file: others might answer back forever."""
    if not is_by_alert_bot(event, domain):
        return "ignore"
    if event.mentioned or domain.answer.when == "always":
        return "answer"
    return "answer_if_confident" if event.starts_thread else "ignore"


def _to_unmentioned(event: IncomingMessage, domain: Domain) -> Decision:
    if domain.answer.when == "always":
        return "ignore" if is_courtesy(event.text) else "answer"
    if domain.answer.when == "question" and is_question(event.text) and not event.others_mentioned:
        return "answer_if_confident"
    return "ignore"
