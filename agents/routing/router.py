"""Routes a question to one of several domains, and names it in the answer.

One search per domain scores them. Between close ones a model chooses, or lets the user choose;
without a model, passages of the best two are shown. A domain that answered in a thread keeps
answering there unless it finds nothing."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from agents.answer import Answer, Budget, Conversation, Fallback, Question
from agents.extractive.conversation import clean_message, self_contained, small_talk_reply
from agents.ledger.ledger import Attempt, QuestionOrigin, RunLedger
from agents.observability import AskIn, QuestionLog
from agents.own_knowledge import answer_from_cards, own_question
from agents.routing.candidates import DomainScore, choose_by_model, close_ones, score_domains
from agents.routing.rules import (
    AlertDomains,
    alert_domains,
    ask_which_domain,
    domain_by_name,
    joined_titles,
    with_second_domain,
    with_title,
)
from agents.runbooks.answer import no_runbook
from config.domain import Domain
from config.errors import CopilotError, IndexUnavailable, ModelError, PermissionsUnknown
from config.models import ChatModel, Usage
from index.permissions.rules import visible_to
from index.search import Snapshot

MAX_COMPARED = 3
"""Domains that a model or the user chooses from."""
MAX_ASKED = 2
"""Domains whose agents are asked in turn while they find nothing."""

QuestionIn = Callable[[Domain], Question]
"""The question with its reader in this domain."""


@dataclass(frozen=True, kw_only=True)
class DomainRouter:
    """The way from every entry point to the agents."""

    snapshot: Callable[[str], Snapshot]
    """By a domain's name. Raises IndexUnavailable."""
    model: Callable[[], ChatModel | None] = lambda: None
    last_answered: Callable[[Conversation], str] = lambda conversation: ""
    """The domain that answered last in a thread; '' for none."""
    log: QuestionLog = QuestionLog()
    ledger: Callable[[], RunLedger] | None = None
    """None: runs are not counted, and no limit holds."""

    def admit(
        self, through: QuestionOrigin, domains: Sequence[Domain], *, limited: bool = True
    ) -> list[Domain]:
        """See `RunLedger.admit`. The operator's command line is not counted."""
        if self.ledger is None or through.door == "cli":
            return list(domains)
        return self.ledger().admit(through, domains, limited=limited)

    @contextmanager
    def attempt(self, through: QuestionOrigin, domains: Sequence[Domain]) -> Iterator[Attempt]:
        """See `RunLedger.attempt`."""
        if self.ledger is None or through.door == "cli":
            yield Attempt()
            return
        with self.ledger().attempt(through, domains) as attempt:
            yield attempt

    def __call__(
        self,
        through: QuestionOrigin,
        domains: Sequence[Domain],
        question_in: QuestionIn,
        ask: AskIn,
    ) -> tuple[Answer, Domain]:
        """The answer and its domain, with one log line and one run in the ledger.

        A domain whose budget is spent is asked without the model, and its answer says so. Raises
        LimitReached unless the run was admitted before, IndexUnavailable when no domain has
        published documents, and PermissionsUnknown when nothing was found while one domain could
        not be searched."""

        def among(ask: AskIn) -> tuple[Answer, Domain]:
            if len(domains) == 1:
                return ask(domains[0], question_in(domains[0])), domains[0]
            return _Routing(self, domains, question_in, ask, attempt.spent).answer()

        domains = self.admit(through, domains)
        with self.attempt(through, domains) as attempt:

            def ask_counted(domain: Domain, question: Question) -> Answer:
                spent = attempt.spent.get(domain.domain)
                answer = ask(domain, replace(question, quotes=spent is not None))
                attempt.add(answer.usage)
                return _without_the_model(answer, spent) if spent else answer

            answer, domain = self.log.answered(through, domains, ask_counted, among)
            attempt.usage, attempt.domain = answer.usage, domain.domain
        return answer, domain

    def belongs_here(
        self,
        through: QuestionOrigin,
        here: Domain,
        others: Iterable[Domain],
        question_in: QuestionIn,
    ) -> bool:
        """Whether a question that was not addressed to the bot is for this domain. In doubt it is
        not, and the bot stays silent."""
        scores, _ = self.score([here, *others], question_in)
        close = close_ones(scores, MAX_COMPARED)
        if here.domain not in {one.domain.domain for one in close}:
            return False
        with self.attempt(through, [one.domain for one in close]) as attempt:
            choice = self.choose(question_in(here), close, attempt.spent)
            attempt.usage = choice.usage
        return [one.domain.domain for one in choice.close] == [here.domain]

    def score(
        self, domains: Sequence[Domain], question_in: QuestionIn
    ) -> tuple[list[DomainScore], CopilotError | None]:
        """Searchable domains, best first; and the error of another one."""
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
        scores, unchecked = score_domains(words, readable)
        return scores, unchecked or unavailable

    def choose(
        self, question: Question, close: Sequence[DomainScore], spent: Collection[str] = ()
    ) -> _Choice:
        """One domain, or several for the user to choose from; all of them without a model. `spent`:
        domains for which none may be asked."""
        may_ask = len(close) > 1 and not any(one.domain.domain in spent for one in close)
        model = self.model() if may_ask else None
        if model is None:
            return _Choice(close=tuple(close))
        try:
            domains, usage = choose_by_model(model, question, close)
        except ModelError as error:
            failed = Fallback(node="which_domain", reason=error.kind)
            return _Choice(close=tuple(close), failed=(failed,))
        return _Choice(close=domains, usage=usage, asks_back=len(domains) > 1)


def _without_the_model(answer: Answer, spent: Budget) -> Answer:
    """Marks an answer that the model would have given; one of its own from the cache is as good."""
    if answer.path in ("small_talk", "cached"):
        return answer
    return replace(answer, spent=spent, degraded=(*answer.degraded, "answer"))


@dataclass(frozen=True, kw_only=True)
class _Choice:
    close: tuple[DomainScore, ...]
    """Likeliest first."""
    usage: Usage = field(default_factory=Usage)
    failed: tuple[Fallback, ...] = ()
    asks_back: bool = False


@dataclass(frozen=True)
class _Routing:
    answering: DomainRouter
    domains: Sequence[Domain]
    question_in: QuestionIn
    ask: AskIn
    spent: Collection[str] = ()
    """Domains for which no model may be asked."""

    def answer(self) -> tuple[Answer, Domain]:
        question = self._question()
        if reply := small_talk_reply(clean_message(question.text), joined_titles(self.domains)):
            return Answer(text=reply, path="small_talk", confidence=1.0), self.domains[0]
        if own := self._own_answer(clean_message(question.text)):
            return own
        if by_name := domain_by_name(question, self.domains):
            domain, text = by_name
            return self._ask_agents(domain, text=text), domain
        if alert := alert_domains(
            question.text, self.domains, self.question_in, self.answering.snapshot
        ):
            return self._answer_to_alert(alert)
        continued = self._continue_thread(question)
        if continued and not continued[0].found_nothing:
            return continued
        answer, domain = self._best_answer(question, continued)
        usage = continued[0].usage if continued else Usage()
        return replace(answer, usage=answer.usage + usage), domain

    def _question(self) -> Question:
        """The question in the first domain that can identify its reader. Raises PermissionsUnknown
        where no domain can."""
        failed: PermissionsUnknown | None = None
        for domain in self.domains:
            try:
                return self.question_in(domain)
            except PermissionsUnknown as error:
                failed = error
        raise failed or IndexUnavailable("no domain is configured")

    def _own_answer(self, text: str) -> tuple[Answer, Domain] | None:
        """Of the domain whose cards answer it; of several such domains, the user chooses."""
        question, domains = own_question(text), []
        for domain in self.domains if question and question.is_of_cards else ():
            try:
                readers = self.question_in(domain).readers
                view = visible_to(self.answering.snapshot(domain.domain), readers)
            except (IndexUnavailable, PermissionsUnknown):
                continue
            if answer_from_cards(text, view, domain):
                domains.append(domain)
        if len(domains) > 1:
            return ask_which_domain(domains[:MAX_COMPARED], "documents"), domains[0]
        return (self._ask_agents(domains[0]), domains[0]) if domains else None

    def _answer_to_alert(self, alert: AlertDomains) -> tuple[Answer, Domain]:
        """The answer of the domain with a row for the alert; with several such domains, the user
        chooses."""
        if len(alert.domains) > 1:
            return ask_which_domain(alert.domains[:MAX_COMPARED]), alert.domains[0]
        candidates = (*alert.domains, *alert.nearly)
        if candidates:
            return self._ask_agents(candidates[0]), candidates[0]
        if alert.failed:
            raise alert.failed
        titles = [one.title for one in self.domains]
        text = "\n\n".join(no_runbook(name, titles) for name in alert.names)
        answer, domain = self._ask_agents(self.domains[0]), self.domains[0]
        return replace(answer, text=text, from_title=""), domain

    def _continue_thread(self, question: Question) -> tuple[Answer, Domain] | None:
        """The answer of the domain that answered in this thread before."""
        talk = question.conversation
        name = self.answering.last_answered(talk) if talk else ""
        domain = next((one for one in self.domains if one.domain == name), None)
        if domain is None:
            return None
        try:
            return self._ask_agents(domain), domain
        except (IndexUnavailable, PermissionsUnknown):
            return None

    def _best_answer(
        self, question: Question, before: tuple[Answer, Domain] | None
    ) -> tuple[Answer, Domain]:
        """`before`: the refusal of the domain that answered in this thread."""
        scores, unavailable = self.answering.score(self.domains, self.question_in)
        if not scores:
            raise unavailable or IndexUnavailable("no domain is configured")
        choice = self.answering.choose(question, close_ones(scores, MAX_COMPARED), self.spent)
        if choice.asks_back:
            answer = ask_which_domain([one.domain for one in choice.close])
            return replace(answer, usage=choice.usage), choice.close[0].domain
        close_names = {one.domain.domain for one in choice.close}
        others = [one for one in scores if one.domain.domain not in close_names]
        answer, domain = self._first_that_finds([*choice.close, *others][:MAX_ASKED], before)
        if answer.found_nothing and isinstance(unavailable, PermissionsUnknown):
            # A refusal is only certain once all domains were searched.
            raise unavailable
        if answer.path == "passages_found" and len(choice.close) > 1:
            answer = self._with_the_other(answer, domain, choice.close)
        usage, fallbacks = answer.usage + choice.usage, (*choice.failed, *answer.fallbacks)
        return replace(answer, usage=usage, fallbacks=fallbacks), domain

    def _first_that_finds(
        self, scores: Sequence[DomainScore], before: tuple[Answer, Domain] | None
    ) -> tuple[Answer, Domain]:
        """The first answer found; without one, the refusal of the best domain. Raises the last
        error when no domain answers, and PermissionsUnknown of one when the others find nothing."""
        refusals: list[tuple[Answer, Domain]] = []
        failed: CopilotError | None = None
        usage = Usage()
        for one in scores:
            if before and before[1] is one.domain:
                refusals.append((replace(before[0], usage=Usage()), one.domain))
                continue
            try:
                answer = self._ask_agents(one.domain)
            except PermissionsUnknown as error:
                failed = error
                continue
            except IndexUnavailable as error:
                failed = failed or error
                continue
            usage += answer.usage
            if not answer.found_nothing:
                return replace(answer, usage=usage), one.domain
            refusals.append((answer, one.domain))
        if failed and (not refusals or isinstance(failed, PermissionsUnknown)):
            raise failed
        answer, domain = refusals[0]
        return replace(answer, usage=usage), domain

    def _with_the_other(
        self, answer: Answer, domain: Domain, close: Sequence[DomainScore]
    ) -> Answer:
        second = next(one.domain for one in close if one.domain.domain != domain.domain)
        try:
            # The thread remembers the first domain, not this one.
            other = self.ask(second, replace(self.question_in(second), conversation=None))
        except CopilotError:
            return answer
        return with_second_domain(answer, other, second) if other.passages else answer

    def _ask_agents(self, domain: Domain, *, text: str = "") -> Answer:
        question = self.question_in(domain)
        return with_title(self.ask(domain, replace(question, text=text or question.text)), domain)
