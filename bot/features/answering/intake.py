"""From a stored event to a posted answer. Every path is safe to walk again after a crash."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import structlog

from bot.access.gate import EntryPoint, Gate, Told, door_of
from bot.blocks.render import text_message
from bot.features.answering.rules import decide
from bot.features.answering.service import AnsweringService, AnswerJob
from bot.questions.store import QuestionRecord, QuestionStore
from bot.slack.client import SlackBusy, SlackClient, SlackUnsure
from bot.slack.events import IncomingMessage, MessageDeleted
from bot.slack.messages import Message, fetch
from config.domain import Domain, domain_of
from telemetry import metrics

log = structlog.get_logger()


@dataclass(frozen=True, kw_only=True)
class Intake:
    """Decides what is a question and which domains may answer it, and has it seen through."""

    web: SlackClient
    records: QuestionStore
    domains: Callable[[], Mapping[str, Domain]]
    attempts: AnsweringService
    gate: Gate
    bot_user: str
    forget_cached: Callable[[str], None]
    """See `bot.privacy.cached_words`; called while the answer is still on record."""
    told: Told = field(default_factory=Told)

    def asked(self, event_id: str, event: IncomingMessage) -> None:
        """Answer it if it is for the bot. The event that a crash left behind comes again."""
        if event.again:
            first = self.records.get(event.again)
            if first is None or not first.text:  # taken back meanwhile
                return
            event = replace(event, text=first.text)
        known = self.records.get(event.id)
        if known and event.edited and event.bot:
            return  # what a bot rewrites, such as a progress bar, asks nothing anew
        if known and event.edited:
            self._edited(event_id, event, known)
        elif known is None or known.event_id == event_id:
            self._considered(event_id, event, resumed=known is not None)

    def deleted(self, event_id: str, event: MessageDeleted) -> None:
        """The question is gone: no answer, and none left standing."""
        if self.records.of_post(event.channel, event.ts):
            return
        gone = IncomingMessage(
            channel=event.channel, ts=event.ts, thread_ts=event.ts, user="", team="", text=""
        )
        # Claimed even when unknown: the deletion may overtake the question.
        self._claim(event_id, gone)
        record = self.records.get(event.id)
        self.forget_cached(event.id)
        self.records.withdraw(event.id)
        if record and record.event_id != event_id:
            post = self.attempts.post(record.event, stream=self.attempts.streaming)
            post.withdraw()

    def _considered(self, event_id: str, event: IncomingMessage, *, resumed: bool) -> None:
        domain = domain_of(self.domains().values(), event.channel)
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
        record = self._claim(event_id, event, domains[0].domain)
        if record and record.state in {"working", "answered"}:
            quiet = decision == "answer_if_confident"
            others = self._others(event, domains[0]) if quiet and not event.bot else ()
            self._attempt(
                event, record, thread, domains, resumed=resumed, quiet=quiet, others=others
            )

    def _decide(
        self, event: IncomingMessage, domain: Domain | None, thread: Sequence[Message]
    ) -> str:
        if domain is None:
            return "ignore" if event.bot else "answer"
        askers = {r.asker for r in self.records.in_thread(event.channel, event.thread_ts)}
        return decide(event, domain, thread=thread, askers=askers, bot_user=self.bot_user)

    def _attempt(
        self,
        event: IncomingMessage,
        record: QuestionRecord,
        thread: Sequence[Message],
        domains: Sequence[Domain],
        **more: Any,
    ) -> None:
        owned = event.direct or domain_of(self.domains().values(), event.channel)
        self.attempts.respond(
            AnswerJob(
                event=event, record=record, thread=thread, domains=domains, privately=not owned,
                **more,
            )
        )  # fmt: skip

    def _open_to(self, event: IncomingMessage) -> list[Domain]:
        """The channel's domain, if the asker may ask it. In a direct message, and in a channel
        that has none, all that they may ask directly, or the one that they chose; in the agent
        pane that of the channel they came from alone, which is the client's word and counts only
        among these."""
        known = self.domains().values()
        here = domain_of(known, event.channel)
        if here and not event.direct:
            return self.gate.open_to(door_of(event), event.user, [here])
        door = door_of(event) if event.direct else EntryPoint.DIRECT_MESSAGE
        found = self.gate.open_to(door, event.user, known)
        if chosen := [one for one in found if one.domain == event.domain]:
            return chosen
        beside = domain_of(found, event.context_channel)
        return [beside] if beside else found

    def _others(self, event: IncomingMessage, here: Domain) -> tuple[Domain, ...]:
        """Domains beside that of the channel to which a question there may belong."""
        known = [one for one in self.domains().values() if one.domain != here.domain]
        return tuple(self.gate.open_to(EntryPoint.DIRECT_MESSAGE, event.user, known))

    def _edited(self, event_id: str, event: IncomingMessage, known: QuestionRecord) -> None:
        """The same post gets a new answer, when the words really changed."""
        again = known.event_id == event_id
        if known.state in {"withdrawn", "limited"} or (known.text == event.text and not again):
            return
        domains = self._open_to(event)
        if not domains:
            self._turn_away(event)
            return
        if not again:
            self.records.reopen(event.id, event_id=event_id, text=event.text)
        record = self.records.get(event.id)
        if record and record.state in {"working", "answered", "failed"}:
            notes = ("Answered again because the question was edited.",)
            self._attempt(event, record, self._thread(event), domains, resumed=True, notes=notes)

    def _turn_away(self, event: IncomingMessage) -> None:
        """Nothing is asked, shown or kept; who addressed the bot is told why, and nobody else.

        What an attempt before a crash had begun to show is taken back."""
        record = self.records.get(event.id)
        if record and record.asker == event.user and record.state in {"working", "answered"}:
            self.records.withdraw(record.id)
            self.attempts.post(record.event, stream=self.attempts.streaming).withdraw()
        if event.mentioned and not event.bot:
            here = domain_of(self.domains().values(), event.channel)
            metrics.REFUSALS.labels(here.domain if here else "", "not_allowed").inc()
            self.say_why_not(event)

    def say_why_not(self, event: IncomingMessage) -> None:
        """To them alone, and not for ever."""
        if self.told.once(event.user, event.id):
            here = domain_of(self.domains().values(), event.channel)
            about = [here] if here else self.domains().values()
            if why := self.gate.why_not(event.user, about):
                self.attempts.tell_asker(event, why)

    def _thread(self, event: IncomingMessage) -> list[Message]:
        """What was said before; who asks the bot itself is answered without it, if need be."""
        try:
            return [] if event.starts_thread else fetch(self.web, event.channel, event.thread_ts)
        except (SlackBusy, SlackUnsure) as error:
            if not event.mentioned:
                raise
            log.warning("answering without the thread", question=event.id, reason=str(error))
            return []

    def _claim(
        self, event_id: str, event: IncomingMessage, domain: str = ""
    ) -> QuestionRecord | None:
        return self.records.claim(
            question_id=event.id, event_id=event_id, channel=event.channel,
            thread_ts=event.thread_ts, asker=event.user, text=event.text, domain=domain,
        )  # fmt: skip

    def _in_unknown_channel(self, event_id: str, event: IncomingMessage, *, resumed: bool) -> None:
        """Answered privately: nobody says who of this channel may read which documents."""
        domains = self._open_to(event)
        if not domains:
            self._no_documents_here(event_id, event)
            return
        record = self._claim(event_id, event, domains[0].domain)
        if record and record.state in {"working", "answered"}:
            thread = self._thread(event)
            self._attempt(event, record, thread, domains, resumed=resumed)

    def _no_documents_here(self, event_id: str, event: IncomingMessage) -> None:
        if self.gate.people.known(event.user).standing != "member":
            self._turn_away(event)
            return
        record = self._claim(event_id, event)
        if not record or record.state != "working":
            return
        public = self.gate.public(self.domains().values())
        places = ", ".join(f"<#{channel}>" for channel in public)
        text = (
            "This channel has no documents yet. "
            + (f"I answer in {places}. " if places else "")
            + f"To set this one up, add its id `{event.channel}` to a domain file."
        )
        self.attempts.post(event, stream=False).finish([text_message(text)])
        self.records.mark(event.id, state="posted")
