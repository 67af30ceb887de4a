"""Puts one question to the agents of the right domain, and stores their answer; the run of each
question in the ledger."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass

from agents.answer import Answer, Ask, Conversation, Question, Turn
from agents.ledger.ledger import LimitReached, QuestionDoor, QuestionOrigin
from agents.ledger.runs import RunRow
from agents.routing.router import DomainRouter
from agents.steps import Progress
from agents.thread.store import slack_place
from bot.feature import FeatureContext
from bot.questions.personal import Authors, PersonalTable
from bot.questions.store import QuestionRecord, QuestionStore, decode_answer
from bot.slack.events import IncomingMessage
from config.domain import Domain
from config.errors import StorageFailed
from durable.database import table_of
from index.permissions.rules import readers_of

RUNS = PersonalTable(
    table=table_of(RunRow), at="started_at", people=("asker",),
    words={"place": Authors(by=("asker",))}, plain="id door quoted",
)  # fmt: skip
"""A direct message's channel belongs to one person, so the place goes with them."""
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
    ) -> tuple[Answer, Domain]:
        """The answer; the stored one after a crash, unless the asker's permissions could have
        changed since.

        Raises IndexUnavailable when no candidate has published documents."""
        answered_in = next((one for one in candidates if one.domain == record.domain), None)
        if record.answer and answered_in and answered_in.access.audience == "channel":
            with suppress(StorageFailed):  # of another release: asked again
                return decode_answer(record.answer), answered_in
        answer, domain = self.router(
            origin_of(event, record, text),
            candidates,
            lambda domain: self._question_in(domain, event, text, history),
            lambda domain, question: self.ask(domain.domain)(
                question, progress if can_stream(domain) else None
            ),
        )
        if not self.records.store_answer(
            record, domain.domain, answer
        ):  # deleted or edited meanwhile, and the agents have stored its text
            self.records.forget_threads([record])
        return answer, domain

    def store_alert(self, event: IncomingMessage, record: QuestionRecord, domain: Domain) -> None:
        """Answer a bot's alert on record only, outside all limits."""
        self.router.admit(origin_of(event, record), [domain], limited=False)
        self.answer(event, record, [domain], record.text, (), None)

    def is_private(self, domain: Domain, answer: Answer) -> bool:
        """Some of the channel may not read the documents of the answer, or of a question back."""
        if domain.access.audience == "channel" or not answer.drawn_from:
            return False
        return not self.everyone_may_read(domain.domain, answer.drawn_from)

    def belongs_here(
        self,
        event: IncomingMessage,
        record: QuestionRecord,
        here: Domain,
        others: Sequence[Domain],
        text: str,
        history: Sequence[Turn],
    ) -> bool:
        """Whether to answer a question not for the bot; see `DomainRouter.belongs_here`."""
        return self.router.belongs_here(
            origin_of(event, record, text), here, others,
            lambda domain: self._question_in(domain, event, text, history),
        )  # fmt: skip

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


def origin_of(event: IncomingMessage, record: QuestionRecord, text: str = "") -> QuestionOrigin:
    """Each event of a question is a run of its own: its message, and every edit of it."""
    return QuestionOrigin(
        id=event.id, run=record.event_id, door=_entry_point(event), text=text,
        asker=event.user or event.bot, place=event.channel,
    )  # fmt: skip


def refusal(reached: LimitReached) -> str:
    """The reason for the asker."""
    limits = reached.domain.limits
    if reached.limit == "person":
        return (
            f"You have asked {limits.questions_per_user_per_hour} questions in the last hour, "
            "which is as many as I may answer for one person. Please try again a little later."
        )
    return (
        "This channel has asked as many questions in the last hour as I may answer. "
        "Please try again a little later."
    )


def can_stream(domain: Domain) -> bool:
    """Whether an answer may be visible while it is written, before its documents are known."""
    return domain.access.audience == "channel"
