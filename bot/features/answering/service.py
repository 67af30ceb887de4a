"""Answers one question: progress, the answer or an apology, and its state on record."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import structlog

from agents.answer import MAX_QUESTION_CHARS, Answer, document_uses_by_domain, shorten
from agents.confidence import is_confident_enough
from agents.extractive.conversation import clean_message
from agents.ledger.ledger import LimitReached
from agents.own_knowledge import OwnQuestion, own_question
from bot.blocks.kit import short
from bot.blocks.render import SlackMessage, apology, render, text_message, waiting_line
from bot.blocks.sanitize.text import sanitize_mrkdwn
from bot.feature import (
    AnswerExtras,
    BotQuestion,
    Feature,
    FeatureContext,
    OutgoingAnswer,
    additions_of,
    own_reply,
)
from bot.features.answering.ask import AskService, can_stream, origin_of, refusal
from bot.features.answering.earlier_threads import ThreadSearch, ThreadsForDomain, with_earlier
from bot.features.answering.screenshots import Attachments, Screenshots
from bot.posting import posts as private
from bot.posting.live_answer import LiveAnswer
from bot.posting.posts import UNREACHABLE
from bot.posting.streaming import UpdatePacer
from bot.questions.store import QuestionRecord, QuestionStore
from bot.slack.client import SlackBusy, SlackRefused, SlackUnsure
from bot.slack.events import IncomingMessage
from bot.slack.messages import Message, authors_before, earlier, is_own, plain, turns, words_of
from config.domain import Domain
from config.errors import (
    GenerationReplaced,
    IndexUnavailable,
    NothingPublished,
    PermissionsUnknown,
    new_reference,
)  # fmt: skip
from durable.failures import passing_failure
from index.audit import AuditEntry
from telemetry import metrics

log = structlog.get_logger()

THINKING = "Looking through the documents…"
PASSING = (SlackBusy, SlackUnsure, SlackRefused, GenerationReplaced)
"""The inbox tries again, or ends it."""


@dataclass(frozen=True, kw_only=True)
class AnswerJob:
    """One question being answered."""

    event: IncomingMessage
    record: QuestionRecord
    thread: Sequence[Message]
    domains: Sequence[Domain]
    """Those that may answer, likeliest first; never empty."""
    resumed: bool = False
    """An earlier attempt may have posted something."""
    quiet: bool = False
    """Nobody asked the bot: answer only when confident."""
    alert: bool = False
    """A bot's first alert of a kind: answered without a runbook, too, and outside all limits."""
    others: tuple[Domain, ...] = ()
    """Other domains that a question may belong to that was not addressed to the bot."""
    privately: bool = False
    """The channel belongs to no domain: not everyone in it may read the documents."""
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class AnsweringService:
    context: FeatureContext
    asking: AskService
    screenshots: Screenshots
    streaming: bool
    earlier: ThreadSearch
    features: Callable[[], Sequence[Feature]]
    """Of their notes and buttons below an answer, and what they know themselves."""
    pace: UpdatePacer = field(default_factory=UpdatePacer, init=False)

    @property
    def records(self) -> QuestionStore:
        return self.asking.records

    def respond(self, job: AnswerJob) -> None:
        """Answer, apologize, or stay quiet. Safe to repeat after a crash. Raises what passes by
        itself, such as an outage of Slack or of the database.

        The answer is found with the permissions of the event's user, and sent to the record's
        asker: unless both are one person, there is none."""
        if job.event.user != job.record.asker:
            log.error("no answer: the question is another person's", question=job.record.id)
            return
        try:
            domains = self.asking.router.admit(
                origin_of(job.event, job.record), job.domains, limited=not job.alert
            )
        except LimitReached as reached:
            self.records.advance(job.record, state="limited", domain=reached.domain.domain)
            self.tell_asker(job.event, refusal(reached))
        else:
            self._answer(replace(job, domains=domains))

    def answer_alert(self, event: IncomingMessage, record: QuestionRecord, domain: Domain) -> None:
        """Reply to a bot's alert, the first of its kind."""
        self.respond(
            AnswerJob(
                event=event, record=record, thread=[], domains=[domain],
                resumed=record.state == "answered", quiet=True, alert=True,
            )
        )  # fmt: skip

    def _answer(self, job: AnswerJob) -> None:
        is_visible = len(job.domains) == 1 and can_stream(job.domains[0]) and not job.privately
        stream = self.streaming and is_visible
        post = self.post(job.event, stream=stream, may_show=lambda: self._is_current(job))
        failed = False
        try:
            messages = self._messages(job, post)
        except PASSING:
            raise
        except Exception as error:
            if failure := passing_failure(error):
                if not job.quiet:
                    post.wait(waiting_line(failure))
                raise failure from error
            messages, failed = self._apology(job, error), True
        finally:
            post.settle()
        if messages and self._is_current(job):
            try:
                post.finish(messages, failed=failed)
            except SlackRefused as refused:
                if refused.code in UNREACHABLE or failed:
                    raise
                messages, failed = self._apology(job, refused), True
                post.finish(messages)
        self._conclude(job, post, state=_state(messages, failed=failed))

    def post(
        self, event: IncomingMessage, *, stream: bool, may_show: Callable[[], bool] = lambda: True
    ) -> LiveAnswer:
        return LiveAnswer(
            self.context.web, self.records, event, pace=self.pace, stream=stream, may_show=may_show
        )

    def _conclude(self, job: AnswerJob, post: LiveAnswer, *, state: str) -> None:
        """Store the state, unless the question was deleted or edited meanwhile."""
        stored = self.records.advance(job.record, state=state)
        current = self.records.get(job.record.id)
        waited = job.event.wait_seconds
        if stored and current and state == "posted" and waited is not None:
            metrics.MENTION_TO_ANSWER.labels(current.domain).observe(waited)
        if not stored and current and current.state == "withdrawn":
            post.withdraw()

    def _is_current(self, job: AnswerJob) -> bool:
        current = self.records.get(job.record.id)
        return bool(
            current and current.event_id == job.record.event_id and current.state != "withdrawn"
        )

    def _messages(self, job: AnswerJob, post: LiveAnswer) -> list[SlackMessage]:
        """The answer's messages; none to stay quiet."""
        text = self._question_text(job)
        if own := self._own_reply(job, text):
            if job.resumed:
                post.resume()
            return self._deliver(job, [own], privately=job.privately)
        if not job.quiet:
            visible = post.begin(THINKING, resumed=job.resumed)
            if visible and (waited := job.event.wait_seconds) is not None:
                metrics.FIRST_SIGN.observe(waited)
            post.title(text or "A screenshot")
        elif job.resumed:
            post.resume()
        files = Attachments() if job.quiet else self._read_files(job)
        if not text and not files.words:
            return [text_message("\n".join(sanitize_mrkdwn(note) for note in files.notes))]
        bot_user = self.context.identity.user
        history = turns(job.thread, before=job.event.ts, bot_user=bot_user)
        question = shorten("\n\n".join(filter(None, (text, files.words))))
        if job.others and not self.asking.belongs_here(
            job.event, job.record, job.domains[0], job.others, question, history
        ):
            return []
        others = authors_before(job.thread, job.event.ts, without=(bot_user, job.event.user))
        self.records.authors.add(job.record.id, "thread", others, job.domains[0].domain)
        threads = self.earlier(job.event, job.domains, text)
        answer, domain = self.asking.answer(
            job.event, job.record, job.domains, question, history,
            None if job.quiet or job.privately else post,
        )  # fmt: skip
        if job.quiet and not (job.alert or is_confident_enough(answer)):
            return []
        notes = _about_files(job.event) if job.quiet else files.notes
        job = replace(job, notes=(*job.notes, *notes))
        return self._render(job, text, answer, domain, threads)

    def _own_reply(self, job: AnswerJob, text: str) -> SlackMessage | None:
        """What the bot itself knows; None for a question to the documents."""
        about = own_question(clean_message(text)) if text else OwnQuestion(kind="abilities")
        if about is None or job.event.attached or (text and job.event.bot):
            return None
        if job.quiet and about.kind not in ("on_call", "turns", "escalation"):
            return None  # said to colleagues
        question = BotQuestion(about=about, event=job.event, domains=job.domains)
        if reply := own_reply(self.features(), question):
            # Its text names people and questions, and stays in Slack alone.
            stored = Answer(text="Answered without documents.", path="small_talk", confidence=1.0)
            self.records.store_answer(job.record, job.domains[0].domain, stored)
            log.info("answered without documents", question=job.event.id, about=about.kind)
        return reply

    def _read_files(self, job: AnswerJob) -> Attachments:
        if not job.event.attached:
            return self.screenshots.of(job.event)
        with self.asking.router.attempt(origin_of(job.event, job.record), job.domains) as attempt:
            files = self.screenshots.of(job.event, may_ask=attempt.may_cost)
            attempt.usage, attempt.prices = files.usage, self.screenshots.prices
        return files

    def _render(
        self, job: AnswerJob, text: str, answer: Answer, domain: Domain, threads: ThreadsForDomain
    ) -> list[SlackMessage]:
        """Messages for the thread; only the asker gets an answer that some there may not read."""
        privately = job.privately or (
            not job.event.direct and self.asking.is_private(domain, answer)
        )
        self._audit(job, answer, domain, privately=privately)
        extras = self._extras(job, answer, domain, privately=privately)
        lead = f"You asked in <#{job.event.channel}>: {sanitize_mrkdwn(short(text, 300))}"
        messages = render(
            answer,
            question_id=job.event.id,
            allowed_hosts=domain.answer.links,
            notes=[*job.notes, *_about_length(job.event, answer), *extras.notes],
            more=extras.buttons,
            lead=lead if privately else sanitize_mrkdwn(short(job.event.lead, 300)),
        )
        if answer.path not in ("small_talk", "ambiguous_query"):
            messages = with_earlier(messages, threads(domain))
        return self._deliver(job, messages, privately=privately)

    def _extras(
        self, job: AnswerJob, answer: Answer, domain: Domain, *, privately: bool
    ) -> AnswerExtras:
        """The additions; none where they fail: the answer is posted without them."""
        record = self.records.get(job.event.id) or job.record
        outgoing = OutgoingAnswer(record=record, answer=answer, domain=domain, privately=privately)
        try:
            return additions_of(self.features(), outgoing)
        except Exception as error:
            if passing_failure(error):
                raise
            log.warning("answer posted without its additions", cause=type(error).__name__)
            return AnswerExtras()

    def _deliver(
        self, job: AnswerJob, messages: list[SlackMessage], *, privately: bool
    ) -> list[SlackMessage]:
        """Messages for the thread: a notice where only the asker gets the answer."""
        if not privately:
            return messages
        why = private.no_documents(job.event.channel) if job.privately else private.NOT_FOR_ALL
        return [private.send_privately(self.context.web, self.records, job.record, messages, why)]

    def _audit(self, job: AnswerJob, answer: Answer, domain: Domain, *, privately: bool) -> None:
        """An entry for each domain that the documents are of."""
        event, domains = job.event, {one.domain: one for one in job.domains}
        door = "direct" if event.direct else "channel" if event.starts_thread else "thread"
        for name, generation, documents in document_uses_by_domain(answer, domain.domain):
            entry = AuditEntry(
                door="private" if privately else door,
                place=event.channel,
                asker=event.user or event.bot,
                domain=name,
                generation=generation,
                documents=documents,
                showing=job.record.event_id,
            )
            self.context.audit(entry, domains.get(name, domain))

    def _apology(self, job: AnswerJob, error: Exception) -> list[SlackMessage]:
        """A message for the asker; the log holds the traceback, under the same reference."""
        reference, domain = new_reference(), job.domains[0]
        metrics.FAILED.labels(domain.domain).inc()
        log.exception("no answer", reference=reference, question=job.event.id, domain=domain.domain)
        self.records.advance(job.record, reference=reference, domain=domain.domain)
        if job.quiet and not job.alert:
            return []
        if isinstance(error, PermissionsUnknown):
            text = (
                "I can't check who may read these documents right now, so I don't answer from "
                "them. Please ask again in a few minutes."
            )
        elif isinstance(error, NothingPublished):
            # Elsewhere than in the domain's channel, not everyone may know its name.
            of_domain = "" if job.privately else f" of {sanitize_mrkdwn(domain.title)}"
            name = "" if job.privately else f" {domain.domain}"
            text = (
                f"I have nothing to answer from yet: the documents{of_domain} have not been "
                f"read. An operator can run `oncall ingest{name}`."
            )
        else:
            reason = "the documents can't be opened at the moment"
            if not isinstance(error, IndexUnavailable):
                reason = "something went wrong on my side"
            return [apology(reference, question_id=job.event.id, reason=reason)]
        return [text_message(f"{text} Reference: `{reference}`")]

    def _question_text(self, job: AnswerJob) -> str:
        """A bare mention in a thread asks about the message before it."""
        event, bot_user = job.event, self.context.identity.user
        if event.text.strip() or event.starts_thread:
            return event.text.strip()
        before = [m for m in job.thread if earlier(m, event.ts) and not is_own(m, bot_user)]
        words = [plain(words_of(message), bot_user=bot_user) for message in before]
        return next((text for text in reversed(words) if text), "")

    def tell_asker(self, event: IncomingMessage, text: str) -> None:
        """Only they see it."""
        web, where, thread_ts = self.context.web, event.channel, event.thread_ts
        try:
            if event.direct:
                web.call("chat.postMessage", channel=where, thread_ts=thread_ts, text=text)
            else:
                web.call(
                    "chat.postEphemeral",
                    channel=where,
                    user=event.user,
                    thread_ts=None if event.starts_thread else thread_ts,
                    text=text,
                )
        except SlackRefused as refused:
            log.info("asker could not be notified that there is no answer", reason=refused.code)


def _state(messages: Sequence[SlackMessage], *, failed: bool) -> str:
    if not messages:
        return "silent"
    return "failed" if failed else "posted"


def _about_length(event: IncomingMessage, answer: Answer) -> list[str]:
    notes = []
    if event.cut:
        notes.append(
            f"Your message is longer than {MAX_QUESTION_CHARS:,} characters: I read its beginning "
            "and its end."
        )
    if answer.cut:
        notes.append("This answer was cut off: ask for the part that is missing.")
    return notes


def _about_files(event: IncomingMessage) -> list[str]:
    if not event.files:
        return []
    names = ", ".join(event.files[:3])
    return [f"I didn't look at the attached files ({names}); this answers your words alone."]
