"""Asks past questions with the documents as they are and with an edit, and compares.

Both are asked now, never compared with the answer of then: only the edit differs, and not also the
index, the product or the model since. Alerts are looked up on both sides, without a model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import cache, cached_property, partial
from secrets import token_hex
from threading import Lock
from typing import Literal, Protocol

from agents.alerts.reader import alerts_in
from agents.answer import Answer, Ask, Question
from agents.ledger.ledger import QuestionOrigin, RunLedger
from agents.runbooks.matching import RunbookMatch, match_alerts
from agents.steps import Progress
from bot.feature import FeatureContext
from bot.features.replay.store import PastKind, PastQuestion, PastQuestions
from config.domain import Domain
from config.errors import IndexUnavailable, ModelUnavailable
from durable.database import now
from enrichment.language.words import tokens
from index.search import SearchQuery, Snapshot

SEARCHED = 20
"""Passages of a search that are compared: about as many as an answer is drawn from."""
ANSWERED: dict[str, int] = {"company_specific_rag_success": 2, "cached": 2}
"""Path of an answer → how well it answers; 0 for others. Passages alone are no answer."""
MATCHED: dict[str, int] = {"found": 2, "several": 1}
"""The same of a runbook lookup."""
LABELS = {
    "company_specific_rag_success": "answered", "cached": "answered",
    "company_specific_rag_failure": "unsure", "passages_found": "passages shown",
    "ambiguous_query": "asked back", "no_answer_found": "no answer",
    "general_llm_knowledge": "not from documents", "small_talk": "not from documents",
    "found": "runbook found", "several": "several runbooks", "other_scope": "runbook for others",
    "none": "no runbook",
}  # fmt: skip
ANSWERER = "answer"
"""The agent that writes the answer, as `Answer.degraded` names it."""

Verdict = Literal["answered", "excerpt", "changed", "worse", "same", "unknown"]
"""`answered`: now, by the edited document. `excerpt`: still not, but words of the edit are shown.
`unknown`: a model was unavailable."""
Source = tuple[str, str, str]
"""Document, place and quote."""


@dataclass(frozen=True, kw_only=True)
class EditPreview:
    """Two versions of a domain's documents, which differ by one document."""

    domain: Domain
    document: str
    before: Snapshot
    after: Snapshot
    ask_before: Ask
    ask_after: Ask

    @cached_property
    def texts(self) -> tuple[str, str]:
        """The document's words before and after, each between spaces."""
        old, new = (
            _words(chunk.text for chunk in one.chunks(self.document))
            for one in (self.before, self.after)
        )
        return old, new

    def reaches(self, text: str) -> bool:
        """Whether a search finds other passages than before."""
        query = SearchQuery(variants=(text,), limit=SEARCHED)
        old, new = (
            Counter((hit.chunk.place, hit.chunk.text) for hit in one.search(query))
            for one in (self.before, self.after)
        )
        return old != new

    def removes(self, document: str, quote: str) -> bool:
        old, new = self.texts
        return document == self.document and (words := _words([quote])) in old and words not in new

    def adds(self, document: str, quote: str) -> bool:
        old, new = self.texts
        return document == self.document and (words := _words([quote])) in new and words not in old


def _words(texts: Iterable[str]) -> str:
    return f" {' '.join(word for text in texts for word in tokens(text))} "


@dataclass(frozen=True, kw_only=True)
class Reply:
    """An answer, or the lookup of a message's alerts."""

    ranks: tuple[int, ...]
    """How well it answers: of a question one, of alerts one for each."""
    label: str
    sources: tuple[Source, ...] = ()
    is_sound: bool = True
    """Whether no model failed."""

    @property
    def places(self) -> tuple[str, ...]:
        """`Title › Heading` of each source, once."""
        return tuple(dict.fromkeys(place for _, place, _ in self.sources))


Replies = tuple[Reply, Reply]
"""Before and after."""


@dataclass(frozen=True, kw_only=True)
class Change:
    question: PastQuestion
    verdict: Verdict
    before: Reply
    after: Reply
    why: str = ""
    """Why it gets worse."""


@dataclass(frozen=True, kw_only=True)
class ReplayReport:
    changes: tuple[Change, ...]
    """Of what was asked; also what stays the same."""
    totals: Mapping[PastKind, int]
    """All of the time, asked or not."""
    left_out: int = 0
    """Number that the edit reaches and that the limit left out."""

    def count(self, verdict: Verdict, *kinds: PastKind) -> int:
        """`kinds`: none for all."""
        return sum(
            one.verdict == verdict and (not kinds or one.question.kind in kinds)
            for one in self.changes
        )

    @property
    def not_reached(self) -> int:
        return sum(self.totals.values()) - len(self.changes) - self.left_out


@dataclass(frozen=True, kw_only=True)
class ReplayPlan:
    edit: EditPreview
    reached: Sequence[PastQuestion]
    """To be asked: the edit may change their answers."""
    totals: Mapping[PastKind, int]
    left_out: int

    @property
    def answers(self) -> int:
        """Answers that are to be made; alerts are looked up only."""
        return 2 * len({one.text for one in self.reached if not one.is_alert})


def plan_replay(edit: EditPreview, past: Sequence[PastQuestion], *, limit: int) -> ReplayPlan:
    """Select what the edit may change: up to `limit` different questions, hand-offs first and then
    in the order of `past`, and all alerts, whose lookup costs nothing."""
    looked_up = cache(partial(_looked_up, edit))
    search = cache(edit.reaches)
    reached, left_out, texts = list[PastQuestion](), 0, set[str]()
    for one in sorted(past, key=lambda one: not one.handed_off):
        if one.is_alert:
            before, after = looked_up(one.text)
            is_reached = before != after
        elif is_reached := edit.document in one.documents or search(one.text):
            if one.text not in texts and len(texts) == limit:
                left_out += 1
                continue
            texts.add(one.text)
        if is_reached:
            reached.append(one)
    totals = Counter(one.kind for one in past)
    return ReplayPlan(edit=edit, reached=reached, totals=totals, left_out=left_out)


class MapTexts(Protocol):
    """`map`, or that of a pool."""

    def __call__(
        self, reply: Callable[[str], Replies], texts: Iterable[str], /
    ) -> Iterable[Replies]: ...


def replay(plan: ReplayPlan, ask_all: MapTexts = map) -> ReplayReport:
    """Ask each question once with both versions. Raises IndexUnavailable."""
    edit = plan.edit

    def replies(text: str) -> Replies:
        question = Question(text=text)
        before, after = (ask(question, None) for ask in (edit.ask_before, edit.ask_after))
        return _reply(before), _reply(after)

    texts = list(dict.fromkeys(one.text for one in plan.reached if not one.is_alert))
    by_text = dict(zip(texts, ask_all(replies, texts), strict=True))
    changes = []
    for one in plan.reached:
        both = _looked_up(edit, one.text) if one.is_alert else by_text[one.text]
        verdict, why = _verdict(edit, one, *both)
        changes.append(
            Change(question=one, verdict=verdict, before=both[0], after=both[1], why=why)
        )
    return ReplayReport(changes=tuple(changes), totals=plan.totals, left_out=plan.left_out)


def _reply(answer: Answer) -> Reply:
    cited = answer.citations or tuple(one.citation for one in answer.passages)
    return Reply(
        ranks=(ANSWERED.get(answer.path, 0),),
        label=LABELS[answer.path],
        sources=tuple((one.document, _place(one.title, one.heading), one.quote) for one in cited),
        is_sound=ANSWERER not in answer.degraded,
    )


def _looked_up(edit: EditPreview, text: str) -> Replies:
    alerts = alerts_in(text, by_bot=True)
    before, after = (
        _runbook_reply(match_alerts(alerts, one, edit.domain)) for one in (edit.before, edit.after)
    )
    return before, after


def _runbook_reply(matches: Sequence[RunbookMatch]) -> Reply:
    return Reply(
        ranks=tuple(MATCHED.get(one.outcome, 0) for one in matches),
        label=", ".join(dict.fromkeys(LABELS[one.outcome] for one in matches)),
        sources=tuple(source for one in matches for source in _sources(one)),
    )


def _sources(match: RunbookMatch) -> Iterator[Source]:
    for entry in match.entries if match.outcome in MATCHED else ():
        cells = " | ".join(cell.text for cell in entry.cells if cell.text)
        place = _place(*entry.place.split(" › "))
        yield entry.chunk.document_id, place, cells or entry.quote


def _place(*names: str) -> str:
    """`Title › Heading`; once where the heading is the title."""
    return " › ".join(dict.fromkeys(filter(None, names)))


def _verdict(
    edit: EditPreview, question: PastQuestion, before: Reply, after: Reply
) -> tuple[Verdict, str]:
    """With why it is worse. Only what can be shown is worse: an answer that is gone, or the words
    of a helpful one."""
    if not (before.is_sound and after.is_sound):
        return "unknown", ""
    steps = [now - then for then, now in zip(before.ranks, after.ranks, strict=True)]
    if min(steps, default=0) < 0:
        return "worse", f"{before.label} before, {after.label} now"
    if any(edit.removes(*quote) for quote in question.quotes):
        return "worse", "its answer helped, and the words that it cited are gone"
    is_of_edit = any(document == edit.document for document, *_ in after.sources)
    if max(steps, default=0) > 0 and (is_of_edit or question.is_alert):
        return "answered", ""
    if question.is_alert:
        return ("same" if before == after else "changed"), ""
    is_unanswered = not any(before.ranks + after.ranks)
    adds = any(edit.adds(document, quote) for document, _, quote in after.sources)
    if is_unanswered and adds:
        return "excerpt", ""
    # A model words and quotes differently each time: places count, and what the edit changed. Other
    # passages below a refusal are no other answer.
    is_same = before.label == after.label and (
        is_unanswered or set(before.places) == set(after.places)
    )
    removes = any(edit.removes(document, quote) for document, _, quote in before.sources)
    return ("same" if is_same and not (adds or removes) else "changed"), ""


DAYS = 30
MAX_QUESTIONS = 20
"""That are asked again; each takes two answers."""
MAX_MESSAGES = 1_000
"""That are searched for."""
MAX_SHARE = 0.5
"""Of a day's tokens; the rest is for people, as where gaps are asked again."""

PreviewWords = Callable[[str, str, str, str], AbstractContextManager[EditPreview]]
"""(domain, document, heading, words) → the documents with these words below the heading. Raises
CopilotError."""


@dataclass(frozen=True, kw_only=True)
class DraftReplay:
    context: FeatureContext
    past: PastQuestions
    ledger: RunLedger
    preview_words: PreviewWords
    summary: Callable[[ReplayReport], str]
    """Numbers alone: an owner may not see the questions, nor read all documents."""
    turn: Lock = field(default_factory=Lock)
    """One draft at a time: people's questions need the processors, too."""

    def __call__(self, domain: str, document: str, heading: str, words: str) -> str:
        """A sentence of numbers. Raises CopilotError, with ModelUnavailable for a budget that is
        left to people."""
        # Presses that waited would hold the threads that answer people and alerts.
        if not self.turn.acquire(blocking=False):
            raise IndexUnavailable("another draft is tried just now")
        try:
            return self._sentence(domain, document, heading, words)
        finally:
            self.turn.release()

    def _sentence(self, domain: str, document: str, heading: str, words: str) -> str:
        policy = self.context.domains()[domain]
        if self.ledger.has_used(MAX_SHARE, policy):
            raise ModelUnavailable("the rest of the day's tokens is for people")
        past = self.past.since(domain, now() - timedelta(days=DAYS), limit=MAX_MESSAGES)
        with self.preview_words(domain, document, heading, words) as edit:
            edit = replace(
                edit,
                ask_before=self._counted(policy, edit.ask_before),
                ask_after=self._counted(policy, edit.ask_after),
            )
            report = replay(plan_replay(edit, past, limit=MAX_QUESTIONS))
        return self.summary(report) if past else "nobody asked anything."

    def _counted(self, domain: Domain, ask: Ask) -> Ask:
        """Counts for the domain's budget, as a run that nobody asked for."""

        def counted(question: Question, progress: Progress | None) -> Answer:
            run = QuestionOrigin(id=f"replay-{token_hex(8)}", door="recheck", text="")
            self.ledger.admit(run, [domain], limited=False)
            with self.ledger.attempt(run, [domain]) as attempt:
                if attempt.spent:
                    raise ModelUnavailable("the daily budget for the language model is used up")
                answer = ask(question, progress)
                attempt.add(answer.usage)
            return answer

        return counted
