"""From a stored event to a posted answer. Every path is safe to walk again after a crash."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import structlog

from bot.memory.record import Record, Records
from bot.message.render import said
from bot.question.attempt import Attempts, Job
from bot.question.rules import decide
from bot.slack.event import Asked, Deleted
from bot.slack.thread import Message, fetch
from bot.slack.web import SlackBusy, SlackUnsure, Web
from config.domain import Domain, domain_of

log = structlog.get_logger()


@dataclass(frozen=True, kw_only=True)
class Intake:
    """Decides what is a question and which domains may answer it, and has it seen through."""

    web: Web
    records: Records
    domains: Callable[[], Mapping[str, Domain]]
    attempts: Attempts
    bot_user: str

    def asked(self, event_id: str, event: Asked) -> None:
        """Answer it if it is for the bot. The event that a crash left behind comes again."""
        known = self.records.get(event.id)
        if known and event.edited:
            self._edited(event_id, event, known)
        elif known is None or known.event_id == event_id:
            self._considered(event_id, event, resumed=known is not None)

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
            post = self.attempts.post(record.event, stream=self.attempts.streaming)
            post.withdraw()

    def _considered(self, event_id: str, event: Asked, *, resumed: bool) -> None:
        domain = self._domain_of(event)
        if domain or event.direct:
            thread = self._thread(event)
            decision = self._decide(event, domain, thread)
            if decision == "ignore":
                return
            likely = next((one.domain for one in self._candidates(event)), "")
            record = self._claim(event_id, event, likely)
            if record and record.state in {"working", "answered"}:
                quiet = decision == "answer_if_confident"
                self._attempt(event, record, thread, resumed=resumed, quiet=quiet)
        elif event.mentioned and not event.bot:
            self._unknown_channel(event_id, event)

    def _decide(self, event: Asked, domain: Domain | None, thread: Sequence[Message]) -> str:
        if domain is None:
            return "ignore" if event.bot else "answer"
        askers = {r.asker for r in self.records.in_thread(event.channel, event.thread_ts)}
        return decide(event, domain, thread=thread, askers=askers, bot_user=self.bot_user)

    def _attempt(
        self, event: Asked, record: Record, thread: Sequence[Message], **more: Any
    ) -> None:
        domains = self._candidates(event)
        if domains:
            self.attempts.respond(
                Job(event=event, record=record, thread=thread, domains=domains, **more)
            )

    def _domain_of(self, event: Asked) -> Domain | None:
        """By channel id; in the agent pane by the channel the asker came from."""
        channel = event.context_channel if event.direct else event.channel
        return domain_of(self.domains().values(), channel)

    def _candidates(self, event: Asked) -> list[Domain]:
        """The channel's domain; in a direct message all, the one last asked in first."""
        if domain := self._domain_of(event):
            return [domain]
        recent = [record.domain for record in self.records.recent(asker=event.user, limit=5)]
        return sorted(
            self.domains().values(),
            key=lambda d: recent.index(d.domain) if d.domain in recent else len(recent),
        )

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
            self._attempt(event, record, self._thread(event), resumed=True, notes=notes)

    def _thread(self, event: Asked) -> list[Message]:
        """What was said before; who asks the bot itself is answered without it, if need be."""
        try:
            return [] if event.starts_thread else fetch(self.web, event.channel, event.thread_ts)
        except (SlackBusy, SlackUnsure) as error:
            if not event.mentioned:
                raise
            log.warning("answering without the thread", question=event.id, reason=str(error))
            return []

    def _claim(self, event_id: str, event: Asked, domain: str = "") -> Record | None:
        return self.records.claim(
            question_id=event.id, event_id=event_id, channel=event.channel,
            thread_ts=event.thread_ts, asker=event.user, text=event.text, domain=domain,
        )  # fmt: skip

    def _unknown_channel(self, event_id: str, event: Asked) -> None:
        record = self._claim(event_id, event)
        if not record or record.state != "working":
            return
        known = [c for domain in self.domains().values() for c in domain.channels]
        places = ", ".join(f"<#{channel}>" for channel in known[:10])
        text = (
            "This channel has no documents yet. "
            + (f"I answer in {places}. " if places else "")
            + f"To set this one up, add its id `{event.channel}` to a domain file."
        )
        self.attempts.post(event, stream=False).finish([said(text)])
        self.records.mark(event.id, state="posted")
