"""A question to several domains: all are looked into at once, the best one answers and is named.

One search in each tells where the documents speak of it. Where some come close to each other, a
model chooses, or has the asker choose; without one, passages of the best two are shown. A domain
that has answered in a thread goes on answering there, unless it finds nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace

from agents.answer import Answer, Conversation, Fallback, Question
from agents.extractive.conversation import clean_message, self_contained, small_talk_reply
from agents.observability import AskIn, QuestionLog, QuestionOrigin
from agents.routing.candidates import DomainScore, close_ones, picked_by_model, score_domains
from agents.routing.rules import (
    AlertAmong,
    alert_among,
    answered_by_name,
    hello,
    named,
    which_one,
    with_second,
)
from agents.runbooks.answer import no_runbook
from config.domain import Domain
from config.errors import CopilotError, IndexUnavailable, ModelError, PermissionsUnknown
from config.models import ChatModel, Usage
from index.permissions.rules import visible_to
from index.search import Snapshot

MOST_COMPARED = 3
"""Domains that a model or a person chooses from."""
MOST_ASKED = 2
"""Domains whose agents are asked, one after the other, where the first finds nothing."""

QuestionIn = Callable[[Domain], Question]
"""The question, with as whom this domain is read for it."""


@dataclass(frozen=True, kw_only=True)
class DomainRouter:
    """What every door asks."""

    snapshot: Callable[[str], Snapshot]
    """By a domain's name. Raises IndexUnavailable."""
    model: Callable[[], ChatModel | None] = lambda: None
    last_answered: Callable[[Conversation], str] = lambda conversation: ""
    """The domain that answered last in a thread; '' where none did, or nobody knows."""
    log: QuestionLog = QuestionLog()

    def __call__(
        self,
        through: QuestionOrigin,
        domains: Sequence[Domain],
        question_in: QuestionIn,
        ask: AskIn,
    ) -> tuple[Answer, Domain]:
        """The answer and the domain that gave it; there is a line in the log of it.

        Raises IndexUnavailable when none of the domains has published documents, and
        PermissionsUnknown when nothing was found but one of them could not be searched for it."""

        def among(ask: AskIn) -> tuple[Answer, Domain]:
            if len(domains) == 1:
                return ask(domains[0], question_in(domains[0])), domains[0]
            return _Several(self, domains, question_in, ask).answer()

        return self.log.answered(through, domains, ask, among)

    def belongs_here(self, here: Domain, others: Iterable[Domain], question_in: QuestionIn) -> bool:
        """Whether a question that nobody put to the bot is for this domain rather than for one of
        the others. In doubt it isn't: then nothing is said."""
        found, _ = self.looked_into([here, *others], question_in)
        close = close_ones(found, MOST_COMPARED)
        if here.domain not in {one.domain.domain for one in close}:
            return False
        picked = self.picked(question_in(here), close)
        return [one.domain.domain for one in picked.close] == [here.domain]

    def looked_into(
        self, domains: Sequence[Domain], question_in: QuestionIn
    ) -> tuple[list[DomainScore], CopilotError | None]:
        """Those that could be searched, the best first; and why another could not."""
        unavailable: CopilotError | None = None
        readable: list[tuple[Domain, Snapshot]] = []
        words = ""
        for domain in domains:
            try:
                question = question_in(domain)
                view = visible_to(self.snapshot(domain.domain), question.readers)
            except IndexUnavailable as error:
                unavailable = unavailable or error
            except PermissionsUnknown as error:
                unavailable = error
            else:
                words = words or self_contained(question)
                readable.append((domain, view))
        found, unchecked = score_domains(words, readable)
        return found, unchecked or unavailable

    def picked(self, question: Question, close: Sequence[DomainScore]) -> _Picked:
        """One of them, or those that the asker chooses from; all of them without a model."""
        model = self.model() if len(close) > 1 else None
        if model is None:
            return _Picked(close=tuple(close))
        try:
            picked = picked_by_model(model, question, close)
        except ModelError as error:
            failed = Fallback(node="which_domain", reason=error.kind)
            return _Picked(close=tuple(close), failed=(failed,))
        several = len(picked.domains) > 1
        return _Picked(close=picked.domains, usage=picked.usage, asks_back=several)


@dataclass(frozen=True, kw_only=True)
class _Picked:
    close: tuple[DomainScore, ...]
    """Likeliest first."""
    usage: Usage = field(default_factory=Usage)
    failed: tuple[Fallback, ...] = ()
    asks_back: bool = False


@dataclass(frozen=True)
class _Several:
    """One question, and the domains that may answer it."""

    answering: DomainRouter
    domains: Sequence[Domain]
    question_in: QuestionIn
    ask: AskIn

    def answer(self) -> tuple[Answer, Domain]:
        question = self._question()
        if greeted := small_talk_reply(clean_message(question.text), hello(self.domains)):
            answer = Answer(text=greeted, path="small_talk", confidence=1.0)
            return answer, self.domains[0]
        if by_name := answered_by_name(question, self.domains):
            domain, text = by_name
            return self._asked(domain, text=text), domain
        if alert := alert_among(
            question.text, self.domains, self.question_in, self.answering.snapshot
        ):
            return self._of_alert(alert)
        going_on = self._goes_on(question)
        if going_on and not going_on[0].found_nothing:
            return going_on
        answer, domain = self._of_the_best(question, going_on)
        spent = going_on[0].usage if going_on else Usage()
        return replace(answer, usage=answer.usage + spent), domain

    def _question(self) -> Question:
        """Its words, as which reader whatever. Raises PermissionsUnknown where no domain can tell
        who asks."""
        failed: PermissionsUnknown | None = None
        for domain in self.domains:
            try:
                return self.question_in(domain)
            except PermissionsUnknown as error:
                failed = error
        raise failed or IndexUnavailable("no domain is configured")

    def _of_alert(self, alert: AlertAmong) -> tuple[Answer, Domain]:
        """Of the domain that has its row; where several have one, the asker says which is meant."""
        if len(alert.domains) > 1:
            return which_one(alert.domains[:MOST_COMPARED]), alert.domains[0]
        known = (*alert.domains, *alert.nearly)
        if known:
            return self._asked(known[0]), known[0]
        if alert.failed:
            raise alert.failed
        titles = [one.title for one in self.domains]
        nowhere = "\n\n".join(no_runbook(name, titles) for name in alert.names)
        answer, domain = self._asked(self.domains[0]), self.domains[0]
        return replace(answer, text=nowhere, from_title=""), domain

    def _goes_on(self, question: Question) -> tuple[Answer, Domain] | None:
        """In the domain that has answered in this thread."""
        talk = question.conversation
        name = self.answering.last_answered(talk) if talk else ""
        domain = next((one for one in self.domains if one.domain == name), None)
        if domain is None:
            return None
        try:
            return self._asked(domain), domain
        except (IndexUnavailable, PermissionsUnknown):
            return None

    def _of_the_best(
        self, question: Question, before: tuple[Answer, Domain] | None
    ) -> tuple[Answer, Domain]:
        """`before`: the refusal of a domain that was asked already."""
        found, unavailable = self.answering.looked_into(self.domains, self.question_in)
        if not found:
            raise unavailable or IndexUnavailable("no domain is configured")
        picked = self.answering.picked(question, close_ones(found, MOST_COMPARED))
        if picked.asks_back:
            asked_back = which_one([one.domain for one in picked.close])
            asked_back = replace(asked_back, usage=picked.usage)
            return asked_back, picked.close[0].domain
        known = {one.domain.domain for one in picked.close}
        others = [one for one in found if one.domain.domain not in known]
        answer, domain = self._first_that_finds([*picked.close, *others][:MOST_ASKED], before)
        if answer.found_nothing and isinstance(unavailable, PermissionsUnknown):
            # That the documents say nothing is known only once all of them could be searched.
            raise unavailable
        if answer.path == "passages_found" and len(picked.close) > 1:
            answer = self._with_the_other(answer, domain, picked.close)
        usage, fallbacks = answer.usage + picked.usage, (*picked.failed, *answer.fallbacks)
        return replace(answer, usage=usage, fallbacks=fallbacks), domain

    def _first_that_finds(
        self, found: Sequence[DomainScore], before: tuple[Answer, Domain] | None
    ) -> tuple[Answer, Domain]:
        """Else the refusal of the best. Raises what the last of them raised, where none answers,
        and PermissionsUnknown of one where the others find nothing."""
        refusals: list[tuple[Answer, Domain]] = []
        failed: CopilotError | None = None
        spent = Usage()
        for one in found:
            if before and before[1] is one.domain:
                refusals.append((replace(before[0], usage=Usage()), one.domain))
                continue
            try:
                answer = self._asked(one.domain)
            except PermissionsUnknown as error:
                failed = error
                continue
            except IndexUnavailable as error:
                failed = failed or error
                continue
            spent += answer.usage
            if not answer.found_nothing:
                return replace(answer, usage=spent), one.domain
            refusals.append((answer, one.domain))
        if failed and (not refusals or isinstance(failed, PermissionsUnknown)):
            raise failed
        answer, domain = refusals[0]
        return replace(answer, usage=spent), domain

    def _with_the_other(
        self, answer: Answer, domain: Domain, close: Sequence[DomainScore]
    ) -> Answer:
        second = next(one.domain for one in close if one.domain.domain != domain.domain)
        try:
            # Of the thread's next question the first domain is remembered, not this one.
            other = self.ask(second, replace(self.question_in(second), conversation=None))
        except CopilotError:
            return answer
        return with_second(answer, other, second) if other.passages else answer

    def _asked(self, domain: Domain, *, text: str = "") -> Answer:
        question = self.question_in(domain)
        return named(self.ask(domain, replace(question, text=text or question.text)), domain)
