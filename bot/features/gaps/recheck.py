"""After documents changed: gaps that wait for them are asked again, the worst first and one by one.

Nobody is shown what is asked here; it is on no record and counts for nobody.

Whether a question, asked again, is answered from the document that it waited for. Pure.

In doubt it is not: a gap that is closed too early is one that nobody mends."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Literal

import structlog

from agents.answer import Answer, Ask, Passage, Question
from agents.checks.groundedness import FINE, groundedness
from agents.context.sources import Source
from bot.bus.timers import TimerStore
from bot.db import now
from bot.feature import PublishedIndex
from bot.features.gaps.drafts import GapDraft, GapDrafts
from bot.features.gaps.gap import Gap, UnansweredQuestion, gaps_of
from bot.features.gaps.naming import nearest_place, state_of
from bot.features.gaps.questions import UNANSWERED, unanswered
from bot.features.gaps.store import GapRow, GapStore
from bot.questions.store import QuestionStore
from config.domain import Domain
from config.errors import CopilotError
from enrichment.chunk import Chunk
from enrichment.chunking.chunker import split
from enrichment.language.words import naming_words, stems
from index.permissions.rules import visible_to
from index.search import Snapshot
from loaders.files.markdown import parse_markdown
from telemetry import metrics

MOST_WORDS = 0.8
"""Of the words that name something."""
ANSWERER = "answer"
"""The agent that writes the answer, among those that may have been degraded."""
Outcome = Literal["answered", "unanswered", "unknown"]
"""`unknown`: a model was away, so nothing can be told."""


def outcome_of(
    answer: Answer,
    *,
    documents: Collection[str],
    words: str,
    proven_by: Sequence[Passage] | None = None,
) -> Outcome:
    """`documents`: one of them has to say it; none: any. `words`: what was accepted, or what a
    human said; without a model, the passages shown have to hold them. `proven_by`: of a question
    that was answered already, and in vain: then it takes more than another answer, and the sections
    that it cites have to hold the words."""
    if ANSWERER in answer.degraded:
        return "unknown"  # what its stand-in says is no sign of what it would have said
    if _is_answered(answer, documents, words, proven_by):
        return "answered"
    return "unknown" if answer.degraded else "unanswered"


def cited_sections(answer: Answer, chunks_of: Callable[[str], Sequence[Chunk]]) -> list[Passage]:
    """What stands in the places that an answer cites. `chunks_of`: by document."""
    found = []
    for one in answer.citations:
        chunks = chunks_of(one.document) if one.document else ()
        meant = [chunk for chunk in chunks if chunk.id == one.chunk_id] or [
            chunk for chunk in chunks if chunk.heading == one.heading
        ]
        if meant:
            text = "\n\n".join(chunk.text for chunk in meant)
            found.append(Passage(citation=one, text=text))
    return found


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
    shown = [
        one
        for one in (proven_by or answer.passages)
        if one.citation.document and (not documents or one.citation.document in documents)
    ]
    return bool(words.strip() and shown) and hold(words, shown)


def hold(words: str, passages: Sequence[Passage]) -> bool:
    """Whether the passages, as they are shown, say what these words say: hardly a word that names
    something is missing, and no figure; and the check of answers, which knows what was asked and
    so lets a subject pass, finds no fault either."""
    wanted = naming_words(words).keys()
    shown = stems(" ".join(f"{one.citation.heading} {one.text}" for one in passages))
    if not wanted or len(wanted & shown) < MOST_WORDS * len(wanted):
        return False
    sources = [_source(one) for one in passages]
    numbers = "".join(f"[{number}]" for number in range(1, len(sources) + 1))
    lines = (line.strip() for line in words.splitlines())
    cited = "\n\n".join(f"{line} {numbers}" for line in lines if line)
    checked = groundedness(cited, sources)
    return bool(checked.claims) and checked.score >= FINE


def _source(passage: Passage) -> Source:
    """What a reader sees of it, and no more of the section than that."""
    text = passage.text.replace("**", "")
    shown = parse_markdown(f"# {passage.citation.title}\n\n{text}\n", url=passage.citation.url)
    chunks = split(shown, count_tokens=lambda said: len(said.split()))
    return Source(chunks=tuple(chunks), text=text)


log = structlog.get_logger()

ASK_GAP = "gap_ask"
MOST_GAPS = 20
"""For one generation; the others wait for the next."""
MOST_QUESTIONS = 5
"""Of one gap."""
APART = timedelta(seconds=5)
"""Between two gaps: people's questions go first."""
AFTER_OUTAGE = timedelta(hours=1)
_ORDER = {"accepted": 0, "proposed": 1, "closed": 2, "reopened": 3, "open": 4}


@dataclass(frozen=True, kw_only=True)
class GapRecheck:
    kept: GapStore
    drafts: GapDrafts
    published: PublishedIndex
    ask_anew: Callable[[str], Ask]
    timers: TimerStore
    domains: Callable[[], Mapping[str, Domain]]
    records: QuestionStore

    def changed(self, domain: str) -> bool:
        """Whether there is a generation after which nobody has asked yet."""
        return self.published.snapshot(domain).generation != self.kept.last(domain)[0]

    def plan(self, domain: str) -> None:
        """Sets a timer for each gap that the new documents may answer, or no longer do."""
        snapshot = self.published.snapshot(domain)
        if self.kept.last(domain)[0] == snapshot.generation or self._is_spent(domain):
            return
        waiting = [
            gap
            for gap in gaps_of(self.kept, domain, (*UNANSWERED, "closed"))
            if self._is_worth_it(gap, snapshot)
        ]
        waiting.sort(key=lambda gap: _ORDER[gap.state])
        for place, gap in enumerate(waiting[:MOST_GAPS]):
            self.timers.set(ASK_GAP, gap.id, datetime.now(UTC) + place * APART)
        self.kept.noted(domain, generation=snapshot.generation)

    def ask(self, gap_id: str) -> None:
        """Ask one gap's questions again, and close it or open it by what comes of it."""
        found = self.kept.get(gap_id)
        if found is None or found.domain not in self.domains():
            return
        gap = next(
            (g for g in gaps_of(self.kept, found.domain, [found.state]) if g.id == gap_id), None
        )
        if gap is None:
            return
        try:
            snapshot = self.published.snapshot(found.domain)
            state = self._watched(gap, snapshot)
            outcome = self._outcome(gap, visible_to(snapshot, None))
        except CopilotError as error:
            log.info("a gap can't be asked again now", gap=gap_id, reason=str(error))
            outcome = "unknown"
        if outcome == "unknown":
            self.timers.set(ASK_GAP, gap_id, datetime.now(UTC) + AFTER_OUTAGE)
            return
        self._moved(found, outcome, snapshot)
        self.kept.set(gap_id, asked_of=state)

    def _is_spent(self, name: str) -> bool:
        """People have used up what their domain may ask of the model today."""
        domain = self.domains().get(name)
        most = domain.limits.tokens_per_day if domain else 0
        return most > 0 and self.records.tokens(now() - timedelta(days=1), name) >= most

    def _moved(self, gap: GapRow, outcome: Outcome, snapshot: Snapshot) -> None:
        if outcome == "answered" and gap.state in UNANSWERED:
            if self.kept.move(gap, "closed", generation=snapshot.generation):
                metrics.GAPS_CLOSED.labels(gap.domain).inc()
        elif outcome == "unanswered" and gap.state == "closed":
            self.kept.move(gap, "reopened", generation=snapshot.generation)

    def _outcome(self, gap: Gap, whole: Snapshot) -> Outcome:
        """Answered: the question that leads, and most of the others looked at. What is closed
        stays so as long as any document answers the first; what was accepted for a document that
        is gone may stand in any other."""
        draft = _accepted(self.drafts.of(gap.id))
        documents = _waited_for(draft, whole) if gap.state != "closed" else []
        words = self._words(gap, draft)
        asked = _to_ask(gap, draft)
        if not asked:
            return "unanswered"
        in_vain = unanswered(self.kept.engine, [one.question_id for one in asked])
        outcomes: list[Outcome] = []
        for question in asked[:1] if gap.state == "closed" else asked:
            answer = self.ask_anew(gap.domain)(Question(text=question.text), None)
            proven_by = (
                cited_sections(answer, whole.chunks) if question.question_id in in_vain else None
            )
            outcomes.append(
                outcome_of(answer, documents=documents, words=words, proven_by=proven_by)
            )
            if outcomes[0] != "answered":
                return outcomes[0]
        if outcomes.count("answered") * 2 > len(outcomes):
            return "answered"
        return "unknown" if "unknown" in outcomes else "unanswered"

    def _words(self, gap: Gap, accepted: GapDraft | None) -> str:
        """What was accepted; before that, what a human said."""
        if accepted and accepted.words:
            return accepted.words
        said = list(self.drafts.said([one.question_id for one in gap.questions]))
        return said[-1].words if said else ""

    def _is_worth_it(self, gap: Gap, snapshot: Snapshot) -> bool:
        """The place that it waits for is another than when it was last asked."""
        kept = self.kept.get(gap.id)
        return kept is not None and self._watched(gap, snapshot) != kept.asked_of

    def _watched(self, gap: Gap, snapshot: Snapshot) -> str:
        """What the nearest document is like, and the one that its answer was accepted for. Nobody
        is told of it, so it counts as well what not everybody may read; the place that is shown is
        the nearest that everybody may."""
        whole = visible_to(snapshot, None)
        documents = _waited_for(_accepted(self.drafts.of(gap.id)), whole)
        text = next((one.text for one in gap.questions if one.text), "")
        if text:
            place = nearest_place(snapshot, text)
            self.kept.set(gap.id, document=place.document, heading=place.heading)
            near = place if whole is snapshot else nearest_place(whole, text)
            documents.append(near.document)
        return state_of(whole, documents)


def _accepted(drafts: Sequence[GapDraft]) -> GapDraft | None:
    return next((one for one in drafts if one.outcome == "accepted"), None)


def _waited_for(draft: GapDraft | None, whole: Snapshot) -> list[str]:
    """The document that its answer was accepted for, while there is one."""
    named = [draft.document] if draft and draft.document else []
    return [card.id for card in whole.cards(named)]


def _to_ask(gap: Gap, draft: GapDraft | None) -> list[UnansweredQuestion]:
    """The question whose answer was accepted leads, or else the most telling one."""
    leading = [one for one in gap.questions if draft and one.question_id == draft.question_id]
    by_text: dict[str, UnansweredQuestion] = {}
    for one in (*leading, *gap.questions):
        if one.text:
            by_text.setdefault(one.text, one)
    return list(by_text.values())[:MOST_QUESTIONS]
