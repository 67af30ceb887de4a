"""From a stored event to a posted answer. Every path is safe to walk again after a crash."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import structlog

from agents.answer import Answer, Ask, Progress, Question
from bot.defang import mrkdwn
from bot.event import Asked, Deleted
from bot.limits import Limiter
from bot.people import People
from bot.post import Pace, Post
from bot.records import Record, Records, now
from bot.reply import FOUND_NOTHING, Outgoing, apology, render, said
from bot.rules import CONFIDENT, decide
from bot.thread import Message, earlier, fetch, is_own, turns
from bot.web import SlackBusy, SlackRefused, SlackUnsure, Web
from bot.words import plain, words_of
from config.domain import Domain
from config.errors import IndexUnavailable

log = structlog.get_logger()

Domains = Callable[[], Mapping[str, Domain]]
AskOf = Callable[[str], Ask]
THINKING = "Looking through the documents…"
SLACK_TROUBLE = (SlackBusy, SlackUnsure, SlackRefused)


@dataclass(frozen=True, kw_only=True)
class Answering:
    """The worker's job, with everything it needs."""

    web: Web
    records: Records
    domains: Domains
    ask: AskOf
    limiter: Limiter
    people: People
    bot_user: str
    streaming: bool = False
    pace: Pace = field(default_factory=Pace)

    def deleted(self, event_id: str, event: Deleted) -> None:
        """The question is gone: no answer, and none left standing."""
        if self.records.of_post(event.channel, event.ts):
            return
        gone = Asked(
            channel=event.channel, ts=event.ts, thread_ts=event.ts, user="", team="", text=""
        )
        # Claimed even when unknown: the deletion may overtake the question.
        self.records.claim(
            question_id=event.id, event_id=event_id, channel=event.channel, thread_ts=event.ts,
            asker="", text="",
        )  # fmt: skip
        record = self.records.get(event.id)
        self.records.mark(event.id, state="withdrawn", text="", answer=None)
        if record and record.event_id != event_id:
            gone = _event_of(record)
            self._post(gone, stream=False).withdraw()

    def asked(self, event_id: str, event: Asked) -> None:
        """Answer it if it is for the bot."""
        domain = self._domain(event)
        known = self.records.get(event.id)
        if event.edited and known:
            self._edited(event_id, event, known, domain)
            return
        if known and known.event_id != event_id:
            return
        if domain is None and not event.direct:
            if event.mentioned and not event.bot:
                self._unknown_channel(event_id, event)
            return
        thread = self._thread(event)
        decision = decide(
            event,
            domain or next(iter(self.domains().values())),
            thread=thread,
            askers={r.asker for r in self.records.in_thread(event.channel, event.thread_ts)},
            bot_user=self.bot_user,
        )
        if decision == "ignore":
            return
        record = self._claim(event_id, event)
        if record and record.state in {"working", "answered"}:
            quiet = decision == "answer_if_confident"
            self._answer(event, record, domain, thread, resumed=known is not None, quiet=quiet)

    def _edited(self, event_id: str, event: Asked, known: Record, domain: Domain | None) -> None:
        """The same post gets a new answer, when the words really changed."""
        again = known.event_id == event_id
        if known.state in {"withdrawn", "limited"} or (known.text == event.text and not again):
            return
        if not again:
            self.records.reopen(event.id, event_id=event_id, text=event.text)
        record = self.records.get(event.id)
        if record and record.state in {"working", "answered"} and (domain or event.direct):
            note = "Answered again because the question was edited."
            self._answer(event, record, domain, self._thread(event), resumed=True, notes=(note,))

    def _answer(
        self,
        event: Asked,
        record: Record,
        domain: Domain | None,
        thread: Sequence[Message],
        *,
        resumed: bool,
        quiet: bool = False,
        notes: Sequence[str] = (),
    ) -> None:
        candidates = [domain] if domain else self._for_direct(event)
        if not resumed and (refusal := self.limiter.refusal(event, candidates[0])):
            self.records.mark(event.id, state="limited", domain=candidates[0].domain)
            self._whisper(event, refusal)
            return
        post = self._post(event, stream=self.streaming and len(candidates) == 1)
        try:
            text = self._question_text(event, thread)
            if not text:
                messages = [said(self._help(event, domain))]
                self.records.mark(event.id, state="answered")
            else:
                if not quiet:
                    post.begin(THINKING, resumed=resumed)
                messages = self._ask(event, record, candidates, text, thread, post, quiet, notes)
        except SLACK_TROUBLE:
            raise
        except Exception as error:
            messages = self._sorry(event, candidates[0], error)
        if messages and self._still_mine(record):
            post.finish(messages)
            self.records.mark(event.id, state=self._final_state(event.id))
        elif self._withdrawn(record):
            post.withdraw()

    def _ask(
        self,
        event: Asked,
        record: Record,
        candidates: Sequence[Domain],
        text: str,
        thread: Sequence[Message],
        post: Post,
        quiet: bool,
        notes: Sequence[str],
    ) -> list[Outgoing]:
        """The answer's messages; none when it is better to stay quiet."""
        from bot.codec import decode, encode

        if record.answer:
            answer, domain = decode(record.answer), self.domains().get(record.domain, candidates[0])
        else:
            history = turns(thread, before=event.ts, bot_user=self.bot_user)
            progress: Progress | None = None if quiet else post
            answer, domain = self._best(event, candidates, text, history, progress)
            self.records.mark(
                event.id, domain=domain.domain, state="answered", answer=encode(answer),
                path=answer.path, confidence=answer.confidence, generation=answer.generation,
                tokens=answer.usage.input_tokens + answer.usage.output_tokens, answered_at=now(),
            )  # fmt: skip
        if quiet and not _worth_saying(answer):
            self.records.mark(event.id, state="silent")
            return []
        return render(
            answer,
            question_id=event.id,
            allowed_hosts=domain.answer.links,
            notes=[*notes, *_about_files(event)],
        )

    def _best(
        self,
        event: Asked,
        candidates: Sequence[Domain],
        text: str,
        history: Sequence[Any],
        progress: Progress | None,
    ) -> tuple[Answer, Domain]:
        """The first confident answer, else the most confident one."""
        best: tuple[Answer, Domain] | None = None
        for domain in candidates:
            readers = self.people.readers(event.user) if domain.access.audience == "asker" else None
            question = Question(
                text=text, history=tuple(history), id=event.id, asker=event.user, readers=readers
            )
            try:
                answer = self.ask(domain.domain)(question, progress)
            except IndexUnavailable:
                if domain is candidates[-1] and best is None:
                    raise
                continue
            if best is None or _rank(answer) > _rank(best[0]):
                best = answer, domain
            if _worth_saying(answer):
                break
        if best is None:
            raise IndexUnavailable("no domain has any published documents")
        return best

    def _sorry(self, event: Asked, domain: Domain, error: Exception) -> list[Outgoing]:
        reference = secrets.token_hex(4)
        log.exception("no answer", reference=reference, question=event.id, domain=domain.domain)
        self.records.mark(event.id, state="failed", reference=reference, domain=domain.domain)
        if isinstance(error, IndexUnavailable):
            return [
                said(
                    f"I have nothing to answer from yet: the documents of {mrkdwn(domain.title)} "
                    f"have not been read. An operator can run `oncall ingest {domain.domain}`. "
                    f"Reference: `{reference}`"
                )
            ]
        return [apology(reference, question_id=event.id)]

    def _final_state(self, question_id: str) -> str:
        record = self.records.get(question_id)
        return "failed" if record and record.state == "failed" else "posted"

    def _still_mine(self, record: Record) -> bool:
        """Not deleted, and not taken over by an edit, while the agents were thinking."""
        current = self.records.get(record.id)
        return bool(
            current and current.event_id == record.event_id and current.state != "withdrawn"
        )

    def _withdrawn(self, record: Record) -> bool:
        current = self.records.get(record.id)
        return bool(current and current.state == "withdrawn")

    def _domain(self, event: Asked) -> Domain | None:
        """By channel id; in the agent pane by the channel the asker came from."""
        channel = event.context_channel if event.direct else event.channel
        for domain in self.domains().values():
            if channel and channel in domain.channels:
                return domain
        return None

    def _for_direct(self, event: Asked) -> list[Domain]:
        """All domains, the one the asker last asked in first."""
        recent = [record.domain for record in self.records.recent(asker=event.user, limit=5)]
        everything = list(self.domains().values())
        return sorted(
            everything, key=lambda d: recent.index(d.domain) if d.domain in recent else len(recent)
        )

    def _thread(self, event: Asked) -> list[Message]:
        return [] if event.starts_thread else fetch(self.web, event.channel, event.thread_ts)

    def _question_text(self, event: Asked, thread: Sequence[Message]) -> str:
        """A bare mention in a thread asks about what was said before it."""
        if event.text.strip() or event.starts_thread:
            return event.text.strip()
        before = [m for m in thread if earlier(m, event.ts) and not is_own(m, self.bot_user)]
        words = [plain(words_of(message), bot_user=self.bot_user) for message in before]
        return next((text for text in reversed(words) if text), "")

    def _help(self, event: Asked, domain: Domain | None) -> str:
        if event.files:
            return "I can't read files or images. Please describe the question in words."
        where = f" about {mrkdwn(domain.title)}" if domain else ""
        return f"Ask me a question{where}, and I'll answer from the documents, with sources."

    def _claim(self, event_id: str, event: Asked) -> Record | None:
        return self.records.claim(
            question_id=event.id, event_id=event_id, channel=event.channel,
            thread_ts=event.thread_ts, asker=event.user, text=event.text,
        )  # fmt: skip

    def _post(self, event: Asked, *, stream: bool) -> Post:
        return Post(
            self.web, self.records, event, bot_user=self.bot_user, pace=self.pace, stream=stream
        )

    def _unknown_channel(self, event_id: str, event: Asked) -> None:
        record = self._claim(event_id, event)
        if not record or record.state != "working":
            return
        known = [channel for domain in self.domains().values() for channel in domain.channels]
        places = ", ".join(f"<#{channel}>" for channel in known[:10])
        text = (
            "This channel has no documents yet. "
            + (f"I answer in {places}. " if places else "")
            + f"To set this one up, add its id `{event.channel}` to a domain file."
        )
        self._post(event, stream=False).finish([said(text)])
        self.records.mark(event.id, state="posted")

    def _whisper(self, event: Asked, text: str) -> None:
        """Only the asker sees it."""
        try:
            self.web.call(
                "chat.postEphemeral",
                channel=event.channel,
                user=event.user,
                thread_ts=None if event.starts_thread else event.thread_ts,
                text=text,
            )
        except SlackRefused as refused:
            log.info("could not tell the asker about the limit", reason=refused.code)


def _event_of(record: Record) -> Asked:
    return Asked(
        channel=record.channel, ts=record.ts, thread_ts=record.thread_ts, user=record.asker,
        team="", text=record.text,
    )  # fmt: skip


def _worth_saying(answer: Answer) -> bool:
    found = answer.path in {"company_specific_rag_success", "cached"}
    return found and answer.confidence >= CONFIDENT


def _rank(answer: Answer) -> tuple[bool, float]:
    return answer.path not in FOUND_NOTHING, answer.confidence


def _about_files(event: Asked) -> list[str]:
    if not event.files:
        return []
    names = ", ".join(event.files[:3])
    return [f"I can't read attached files or images ({names}); this answers your words alone."]
