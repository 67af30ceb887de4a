"""Asks the questions of gaps again after documents changed, the worst first and one by one, and
closes a gap that is answered from the document that it waited for.

Questions asked here are not stored, and count against no limit of a person. They wait once half of
a day's tokens is used, so that people have the rest. In doubt a gap stays open: nobody fixes one
that was closed too early."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from secrets import token_hex
from typing import Literal

import structlog

from agents.answer import Answer, Ask, Passage, Question
from agents.checks.groundedness import FINE, groundedness
from agents.context.sources import Source
from agents.ledger.ledger import Attempt, QuestionOrigin, RunLedger
from bot.feature import FeatureContext, PublishedIndex
from bot.features.gaps.gap import Gap, UnansweredQuestion, gaps_of, nearest_place, state_of
from bot.features.gaps.question_store import GapDraftStore, answered_questions
from bot.features.gaps.questions import UNANSWERED
from bot.features.gaps.store import GapDraftRow, GapRow, GapStore
from config.errors import CopilotError, ModelUnavailable
from enrichment.chunk import Chunk
from enrichment.chunking.chunker import split
from enrichment.language.words import naming_words, stems
from index.permissions.rules import visible_to
from index.search import Snapshot
from loaders.files.markdown import parse_markdown
from telemetry import metrics

MIN_WORD_SHARE = 0.8
"""Share of the words that name something."""
ANSWERER = "answer"
"""The agent that writes the answer, as `Answer.degraded` names it."""
Outcome = Literal["answered", "unanswered", "unknown"]
"""`unknown`: a model was unavailable."""


def outcome_of(
    answer: Answer,
    *,
    documents: Collection[str],
    words: str,
    proven_by: Sequence[Passage] | None = None,
) -> Outcome:
    """`documents`: one of them has to be cited; empty: any. `words`: the accepted draft, or the
    human answer; without a model, the passages have to support them. `proven_by`: cited sections,
    of a question whose earlier answer helped nobody: they have to support the words."""
    if ANSWERER in answer.degraded:
        return "unknown"  # the answer of its fallback proves nothing
    if _is_answered(answer, documents, words, proven_by):
        return "answered"
    return "unknown" if answer.degraded else "unanswered"


def cited_sections(answer: Answer, chunks_of: Callable[[str], Sequence[Chunk]]) -> list[Passage]:
    """Text of the sections that an answer cites. `chunks_of`: by document."""
    sections = []
    for one in answer.citations:
        chunks = chunks_of(one.document) if one.document else ()
        section = [chunk for chunk in chunks if chunk.id == one.chunk_id] or [
            chunk for chunk in chunks if chunk.heading == one.heading
        ]
        if section:
            text = "\n\n".join(chunk.text for chunk in section)
            sections.append(Passage(citation=one, text=text))
    return sections


def _is_answered(
    answer: Answer,
    documents: Collection[str],
    words: str,
    proven_by: Sequence[Passage] | None,
) -> bool:
    if answer.path == "company_specific_rag_success" and proven_by is None:
        cited = {one.document for one in answer.citations if one.document}
        return bool(cited) and (not documents or bool(cited & set(documents)))
    if answer.path not in ("company_specific_rag_success", "passages_found"):
        return False
    passages = [
        one
        for one in (proven_by or answer.passages)
        if one.citation.document and (not documents or one.citation.document in documents)
    ]
    return bool(words.strip() and passages) and supports(passages, words)


def supports(passages: Sequence[Passage], words: str) -> bool:
    """Whether the passages support these words: at least 80 % of the words that name something,
    every figure, and no fault found by the groundedness check of answers, which alone would accept
    a changed subject."""
    naming = naming_words(words).keys()
    available = stems(" ".join(f"{one.citation.heading} {one.text}" for one in passages))
    if not naming or len(naming & available) < MIN_WORD_SHARE * len(naming):
        return False
    sources = [_source(one) for one in passages]
    numbers = "".join(f"[{number}]" for number in range(1, len(sources) + 1))
    lines = (line.strip() for line in words.splitlines())
    cited = "\n\n".join(f"{line} {numbers}" for line in lines if line)
    checked = groundedness(cited, sources)
    return bool(checked.claims) and checked.score >= FINE


def _source(passage: Passage) -> Source:
    """Only the part of the section that a reader sees."""
    text = passage.text.replace("**", "")
    document = parse_markdown(f"# {passage.citation.title}\n\n{text}\n", url=passage.citation.url)
    chunks = split(document, count_tokens=lambda part: len(part.split()))
    return Source(chunks=tuple(chunks), text=text)


log = structlog.get_logger()

GAPS_CLOSED = metrics.counter(
    "oncall_gaps_closed_total", "Gaps that the documents answer by now", "domain"
)

ASK_GAP = "gap_ask"
MAX_GAPS = 20
"""Maximum number of gaps per generation; the others wait for the next."""
MAX_QUESTIONS = 5
"""Maximum number of questions per gap."""
PAUSE = timedelta(seconds=5)
"""Between two gaps: people's questions go first."""
OUTAGE_DELAY = timedelta(hours=1)
"""Also while the tokens of the day are left to people."""
MAX_SHARE = 0.5
"""Of a day's tokens; from then on the gaps wait."""
_ORDER = {"accepted": 0, "proposed": 1, "closed": 2, "reopened": 3, "open": 4}


@dataclass(frozen=True, kw_only=True)
class GapRecheck:
    context: FeatureContext
    published: PublishedIndex
    store: GapStore
    drafts: GapDraftStore
    ledger: RunLedger
    ask_anew: Callable[[str], Ask]

    def changed(self, domain: str) -> bool:
        """Whether the published generation was not asked yet."""
        return self.published.snapshot(domain).generation != self.store.progress(domain)[0]

    def plan(self, domain: str) -> None:
        """Set a timer for each gap that the new documents may answer, or no longer answer."""
        snapshot = self.published.snapshot(domain)
        if self.store.progress(domain)[0] == snapshot.generation or self.must_wait(domain):
            return
        waiting = [
            gap
            for gap in gaps_of(self.store, domain, (*UNANSWERED, "closed"))
            if (row := self.store.get(gap.id)) and self._fingerprint(gap, snapshot) != row.asked_of
        ]
        waiting.sort(key=lambda gap: _ORDER[gap.state])
        for position, gap in enumerate(waiting[:MAX_GAPS]):
            at = datetime.now(UTC) + position * PAUSE
            self.context.timers.set(ASK_GAP, gap.id, at)
        self.store.set_progress(domain, generation=snapshot.generation)

    def ask(self, gap_id: str) -> None:
        """Ask one gap's questions again; close or reopen it by the outcome."""
        row = self.store.get(gap_id)
        if row is None or row.domain not in self.context.domains():
            return
        gap = next(
            (g for g in gaps_of(self.store, row.domain, [row.state]) if g.id == gap_id), None
        )
        if gap is None:
            return
        if self.must_wait(row.domain):
            self.context.timers.set(ASK_GAP, gap_id, datetime.now(UTC) + OUTAGE_DELAY)
            return
        try:
            snapshot = self.published.snapshot(row.domain)
            fingerprint = self._fingerprint(gap, snapshot)
            outcome = self._outcome(gap, visible_to(snapshot, None))
        except CopilotError as error:
            log.info("gap recheck failed, retrying later", gap=gap_id, reason=str(error))
            outcome = "unknown"
        if outcome == "unknown":
            self.context.timers.set(ASK_GAP, gap_id, datetime.now(UTC) + OUTAGE_DELAY)
            return
        self._move(row, outcome, snapshot)
        self.store.set(gap_id, asked_of=fingerprint)

    def must_wait(self, name: str) -> bool:
        """The rest of the day's tokens is for people."""
        domain = self.context.domains().get(name)
        return domain is not None and self.ledger.has_used(MAX_SHARE, domain)

    @contextmanager
    def attempt(self, name: str) -> Iterator[Attempt]:
        """A run that nobody asked for, which counts for the domain's budget. Raises
        ModelUnavailable once that is spent."""
        domain = self.context.domains()[name]
        run = QuestionOrigin(id=f"recheck-{token_hex(8)}", door="recheck", text="")
        self.ledger.admit(run, [domain], limited=False)
        with self.ledger.attempt(run, [domain]) as attempt:
            if attempt.spent:
                raise ModelUnavailable("the daily budget for the language model is used up")
            yield attempt

    def _ask(self, gap: Gap, question: UnansweredQuestion) -> Answer:
        with self.attempt(gap.domain) as attempt:
            answer = self.ask_anew(gap.domain)(Question(text=question.text), None)
            attempt.add(answer.usage)
        return answer

    def _move(self, gap: GapRow, outcome: Outcome, snapshot: Snapshot) -> None:
        if outcome == "answered" and gap.state in UNANSWERED:
            if self.store.move(gap, "closed", generation=snapshot.generation):
                GAPS_CLOSED.labels(gap.domain).inc()
        elif outcome == "unanswered" and gap.state == "closed":
            self.store.move(gap, "reopened", generation=snapshot.generation)

    def _outcome(self, gap: Gap, whole: Snapshot) -> Outcome:
        """`answered`: the leading question, and more than half of all that are asked. A closed gap
        stays closed as long as any document answers the leading question; a draft that was
        accepted for a deleted document may stand in any other. `whole`: all documents."""
        draft = _accepted_draft(self.drafts.of_gap(gap.id))
        documents = _target_documents(draft, whole) if gap.state != "closed" else []
        words = self._words(gap, draft)
        questions = _questions_to_ask(gap, draft)
        if not questions:
            return "unanswered"
        answered = answered_questions(self.store.engine, [one.question_id for one in questions])
        outcomes: list[Outcome] = []
        for question in questions[:1] if gap.state == "closed" else questions:
            answer = self._ask(gap, question)
            proven_by = (
                cited_sections(answer, whole.chunks) if question.question_id in answered else None
            )
            outcomes.append(
                outcome_of(answer, documents=documents, words=words, proven_by=proven_by)
            )
            if outcomes[0] != "answered":
                return outcomes[0]
        if outcomes.count("answered") * 2 > len(outcomes):
            return "answered"
        return "unknown" if "unknown" in outcomes else "unanswered"

    def _words(self, gap: Gap, accepted: GapDraftRow | None) -> str:
        """The accepted draft; without one, the last human answer."""
        if accepted and accepted.words:
            return accepted.words
        answers = list(self.drafts.human_answers([one.question_id for one in gap.questions]))
        return answers[-1].words if answers else ""

    def _fingerprint(self, gap: Gap, snapshot: Snapshot) -> str:
        """A hash of the nearest document and the one that its draft was accepted for. It is never
        displayed, so it covers documents that not everyone may read; the nearest place that is
        stored for display is one that everyone may read."""
        whole = visible_to(snapshot, None)
        documents = _target_documents(_accepted_draft(self.drafts.of_gap(gap.id)), whole)
        text = next((one.text for one in gap.questions if one.text), "")
        if text:
            place = nearest_place(snapshot, text)
            self.store.set(gap.id, document=place.document, heading=place.heading)
            nearest = place if whole is snapshot else nearest_place(whole, text)
            documents.append(nearest.document)
        return state_of(whole, documents)


def _accepted_draft(drafts: Sequence[GapDraftRow]) -> GapDraftRow | None:
    return next((one for one in drafts if one.outcome == "accepted"), None)


def _target_documents(draft: GapDraftRow | None, whole: Snapshot) -> list[str]:
    """The document that the draft was accepted for, while it exists."""
    named = [draft.document] if draft and draft.document else []
    return [card.id for card in whole.cards(named)]


def _questions_to_ask(gap: Gap, draft: GapDraftRow | None) -> list[UnansweredQuestion]:
    """The question whose answer was accepted leads; without one, the gap's first."""
    leading = [one for one in gap.questions if draft and one.question_id == draft.question_id]
    by_text: dict[str, UnansweredQuestion] = {}
    for one in (*leading, *gap.questions):
        if one.text:
            by_text.setdefault(one.text, one)
    return list(by_text.values())[:MAX_QUESTIONS]
