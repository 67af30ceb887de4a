"""Puts one question to the agents of the right domain, and stores their answer; how many questions
a person, channel or domain may ask."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta

from agents.answer import Answer, Ask, Conversation, Question, Turn
from agents.observability import QuestionDoor, QuestionOrigin
from agents.routing.router import DomainRouter
from agents.steps import Progress
from agents.thread.store import slack_place
from bot.blocks.sanitize.text import sanitize_mrkdwn
from bot.feature import FeatureContext
from bot.questions.store import QuestionRecord, QuestionStore, decode_answer, encode_answer
from bot.slack.events import IncomingMessage
from config.domain import Domain
from config.models import Usage
from durable.database import now
from index.permissions.rules import readers_of

EveryoneMayRead = Callable[[str, frozenset[str]], bool]
"""Domain name and document ids: whether all of them are open to everyone."""


@dataclass(frozen=True, kw_only=True)
class AskService:
    context: FeatureContext
    records: QuestionStore
    ask: Callable[[str], Ask]
    """Domain name → its agents."""
    everyone_may_read: EveryoneMayRead
    router: DomainRouter

    def answer(
        self,
        event: IncomingMessage,
        record: QuestionRecord,
        candidates: Sequence[Domain],
        text: str,
        history: Sequence[Turn],
        progress: Progress | None,
        spent: Usage = Usage(),
    ) -> tuple[Answer, Domain]:
        """The answer; the stored one after a crash, unless the asker's permissions could have
        changed since.

        `spent`: on reading its screenshots. Raises IndexUnavailable when no candidate has published
        documents."""
        answered_in = next((one for one in candidates if one.domain == record.domain), None)
        if record.answer and answered_in and answered_in.access.audience == "channel":
            return decode_answer(record.answer), answered_in
        answer, domain = self.router(
            QuestionOrigin(id=event.id, door=_entry_point(event), text=text),
            candidates,
            lambda domain: self._question_in(domain, event, text, history),
            lambda domain, question: self.ask(domain.domain)(
                question, progress if can_stream(domain) else None
            ),
        )
        answer = replace(answer, usage=answer.usage + spent)
        stored = self.records.advance(
            record, domain=domain.domain, state="answered", answer=encode_answer(answer),
            path=answer.path, confidence=answer.confidence, generation=answer.generation,
            tokens=answer.usage.input_tokens + answer.usage.output_tokens, answered_at=now(),
        )  # fmt: skip
        if not stored:  # deleted or edited meanwhile, and the agents have stored its text
            self.records.forget_threads([record])
        return answer, domain

    def store_alert(self, event: IncomingMessage, record: QuestionRecord, domain: Domain) -> None:
        """Answer a bot's alert on record only."""
        self.answer(event, record, [domain], record.text, (), None)

    def is_private(self, domain: Domain, answer: Answer) -> bool:
        """Some of the channel may not read the documents of the answer, or of a question back."""
        if domain.access.audience == "channel" or not answer.drawn_from:
            return False
        return not self.everyone_may_read(domain.domain, answer.drawn_from)

    def belongs_here(
        self,
        event: IncomingMessage,
        here: Domain,
        others: Sequence[Domain],
        text: str,
        history: Sequence[Turn],
    ) -> bool:
        """Whether to answer a question not for the bot; see `DomainRouter.belongs_here`."""
        return self.router.belongs_here(
            here, others, lambda domain: self._question_in(domain, event, text, history)
        )

    def _question_in(
        self, domain: Domain, event: IncomingMessage, text: str, history: Sequence[Turn]
    ) -> Question:
        people = self.context.gate.people
        return Question(
            text=text,
            history=tuple(history),
            readers=readers_of(
                domain.access.audience,
                lambda: self.context.identities(domain, people.person(event.user)),
            ),
            asked_at=event.sent_at,
            time_zone="UTC" if event.bot else people.time_zone(event.user),
            conversation=Conversation(
                place=slack_place(event.channel, event.thread_ts),
                message=event.id,
                asker=event.user or event.bot,
            ),
            by_bot=bool(event.bot),
        )


def _entry_point(event: IncomingMessage) -> QuestionDoor:
    if event.direct:
        return "direct_message"
    if event.bot:
        return "alert"
    if event.mentioned:
        return "mention"
    return "channel" if event.starts_thread else "follow_up"


def refusal(records: QuestionStore, question: QuestionRecord, domain: Domain) -> str:
    """The reason for the asker why `domain` does not answer this question now; empty when it does.

    Of simultaneous questions, those stored first are answered."""
    hour_ago, day_ago = now() - timedelta(hours=1), now() - timedelta(days=1)
    limits, name = domain.limits, domain.domain
    by_asker = records.count(hour_ago, before=question, asker=question.asker, domain=name)
    if by_asker >= limits.questions_per_user_per_hour:
        return (
            f"You have asked {limits.questions_per_user_per_hour} questions in the last hour, "
            "which is as many as I may answer for one person. Please try again a little later."
        )
    in_channel = records.count(hour_ago, before=question, channel=question.channel)
    if in_channel >= limits.questions_per_channel_per_hour:
        return (
            "This channel has asked as many questions in the last hour as I may answer. "
            "Please try again a little later."
        )
    if limits.tokens_per_day and records.tokens(day_ago, name) >= limits.tokens_per_day:
        return (
            f"{sanitize_mrkdwn(domain.title)} has used up its daily budget for the language model. "
            "Please ask a human today, or ask me again tomorrow."
        )
    return ""


def can_stream(domain: Domain) -> bool:
    """Whether an answer may be visible while it is written, before its documents are known."""
    return domain.access.audience == "channel"
