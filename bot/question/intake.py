"""From a stored event to a posted answer. Every path is safe to walk again after a crash."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import structlog

from bot.memory.record import Record, Records
from bot.message.render import said
from bot.question.asking import Asking
from bot.question.attempt import Attempts, Job
from bot.rules import decide
from bot.slack.event import Asked, Deleted
from bot.slack.thread import Message, fetch
from bot.slack.web import SlackBusy, SlackUnsure, Web
from config.domain import Domain

log = structlog.get_logger()


@dataclass(frozen=True, kw_only=True)
class Intake:
    """Decides what is a question, and has each one seen through."""

    web: Web
    records: Records
    asking: Asking
    responding: Attempts
    bot_user: str

    def deleted(self, event_id: str, event: Deleted) -> None:
        """The question is gone: no answer, and none left standing."""
        if self.records.of_post(event.channel, event.ts):
            return
        gone = Asked(
            channel=event.channel, ts=event.ts, thread_ts=event.ts, user="", team="", text=""
        )
        # Claimed even when unknown: the deletion may overtake the question.
        self._claim(event_id, gone)
        record = self.records.get(event.id)
        self.records.mark(event.id, state="withdrawn", text="", answer=None)
        if record and record.event_id != event_id:
            post = self.responding.post(_event_of(record), stream=self.responding.streaming)
            post.withdraw()

    def asked(self, event_id: str, event: Asked) -> None:
        """Answer it if it is for the bot."""
        known = self.records.get(event.id)
        if known and event.edited:
            self._edited(event_id, event, known)
            return
        if known and known.event_id != event_id:
            return
        domain = self.asking.domain_of(event)
        if domain is None and not event.direct:
            if event.mentioned and not event.bot:
                self._unknown_channel(event_id, event)
            return
        thread = self._thread(event)
        decision = self._decide(event, domain, thread)
        record = self._claim(event_id, event) if decision != "ignore" else None
        if record and record.state in {"working", "answered"}:
            self.responding.respond(
                Job(
                    event=event,
                    record=record,
                    thread=thread,
                    resumed=known is not None,
                    quiet=decision == "answer_if_confident",
                )
            )

    def _decide(self, event: Asked, domain: Domain | None, thread: Sequence[Message]) -> str:
        if domain is None:
            return "ignore" if event.bot else "answer"
        askers = {r.asker for r in self.records.in_thread(event.channel, event.thread_ts)}
        return decide(event, domain, thread=thread, askers=askers, bot_user=self.bot_user)

    def _edited(self, event_id: str, event: Asked, known: Record) -> None:
        """The same post gets a new answer, when the words really changed."""
        again = known.event_id == event_id
        if known.state in {"withdrawn", "limited"} or (known.text == event.text and not again):
            return
        if not again:
            self.records.reopen(event.id, event_id=event_id, text=event.text)
        record = self.records.get(event.id)
        if record and record.state in {"working", "answered", "failed"}:
            notes = ("Answered again because the question was edited.",)
            self.responding.respond(
                Job(
                    event=event,
                    record=record,
                    thread=self._thread(event),
                    resumed=True,
                    notes=notes,
                )
            )

    def _thread(self, event: Asked) -> list[Message]:
        """What was said before; who asks the bot itself is answered without it, if need be."""
        try:
            return [] if event.starts_thread else fetch(self.web, event.channel, event.thread_ts)
        except (SlackBusy, SlackUnsure) as error:
            if not event.mentioned:
                raise
            log.warning("answering without the thread", question=event.id, reason=str(error))
            return []

    def _claim(self, event_id: str, event: Asked) -> Record | None:
        return self.records.claim(
            question_id=event.id, event_id=event_id, channel=event.channel,
            thread_ts=event.thread_ts, asker=event.user, text=event.text,
        )  # fmt: skip

    def _unknown_channel(self, event_id: str, event: Asked) -> None:
        record = self._claim(event_id, event)
        if not record or record.state != "working":
            return
        known = [c for domain in self.asking.domains().values() for c in domain.channels]
        places = ", ".join(f"<#{channel}>" for channel in known[:10])
        text = (
            "This channel has no documents yet. "
            + (f"I answer in {places}. " if places else "")
            + f"To set this one up, add its id `{event.channel}` to a domain file."
        )
        self.responding.post(event, stream=False).finish([said(text)])
        self.records.mark(event.id, state="posted")


def _event_of(record: Record) -> Asked:
    return Asked(
        channel=record.channel, ts=record.ts, thread_ts=record.thread_ts, user=record.asker,
        team="", text=record.text,
    )  # fmt: skip
