"""Collects failed questions into gaps, and suggests people's answers to document owners. Nothing is
done twice, and the next run retries failures."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import structlog

from agents.answer_cache.same_question import nearest_gap
from bot.bus.events import Suggestion
from bot.feature import FeatureContext, PublishedIndex
from bot.features.gaps.gap import (
    NOWHERE,
    NearestPlace,
    comparable_gaps,
    nearest_place,
    refresh_vectors,
    with_question,
)
from bot.features.gaps.question_store import (
    GapDraftStore,
    HumanAnswer,
    failed_questions,
    question_texts,
)
from bot.features.gaps.questions import FailureSignals, WhyFailed, alert_gap, alert_name, why_failed
from bot.features.gaps.store import GapQuestionRow, GapStore
from bot.questions.store import QuestionRecord, QuestionStore, decode_answer
from bot.slack.messages import permalink
from config.errors import NothingPublished
from enrichment.language.words import written_out
from index.search import Snapshot

log = structlog.get_logger()

MAX_QUESTIONS = 200
"""Maximum number of questions per run; the next run continues."""


@dataclass(frozen=True, kw_only=True)
class _NewQuestion:
    signals: FailureSignals
    why: WhyFailed
    text: str
    alert: str
    """Its name; empty for a question."""


@dataclass(frozen=True, kw_only=True)
class GapCollector:
    context: FeatureContext
    published: PublishedIndex
    store: GapStore
    drafts: GapDraftStore
    records: QuestionStore

    def changed_domains(self) -> set[str]:
        """Domains in which something has changed since the last run."""
        failed, stored = failed_questions(self.store.engine), self.store.questions()
        drafts = self.drafts.counts()
        changed = {question.domain for name, question in stored.items() if name not in failed}
        for name, signals in failed.items():
            before = stored.get(name)
            is_answered = signals.words > drafts.get(name, 0) and not name.startswith("D")
            if before is None or before.marks != signals.marks or (before.gap and is_answered):
                changed.add(signals.domain)
        return changed

    def collect(self, domain: str) -> None:
        """Raises CopilotError where the documents or the embedder are unavailable."""
        if not self.store.claim_domain(domain):
            return
        try:
            questions = failed_questions(self.store.engine).items()
            failed = {name: signals for name, signals in questions if signals.domain == domain}
            stored = self.store.questions(domain)
            self._drop_withdrawn(failed, stored)
            self._update_changed(failed, stored)
            # Before anything needs the embedder: human answers don't wait for it.
            self._suggest(domain)
            new = list(self._new_questions(failed, stored))
            if new:
                self._assign(domain, new)
                self._suggest(domain)
            self.store.delete_empty(domain)
        finally:
            self.store.release_domain(domain)

    def _drop_withdrawn(
        self, failed: Mapping[str, FailureSignals], stored: dict[str, GapQuestionRow]
    ) -> None:
        """Withdrawn: deleted, edited or erased, or their asker changed the verdict."""
        dropped = [
            name
            for name, question in stored.items()
            if name not in failed or failed[name].event_id != question.marks.partition(" ")[0]
        ]
        self.store.drop(dropped)
        for name in dropped:
            del stored[name]

    def _update_changed(
        self, failed: Mapping[str, FailureSignals], stored: dict[str, GapQuestionRow]
    ) -> None:
        for name, question in list(stored.items()):
            signals = failed[name]
            if question.marks == signals.marks:
                continue
            why = self._why(signals)
            if question.gap and why:
                self.store.update_question(name, marks=signals.marks, why=why)
            else:
                self.store.drop([name])
                del stored[name]

    def _new_questions(
        self, failed: Mapping[str, FailureSignals], stored: Mapping[str, GapQuestionRow]
    ) -> Iterator[_NewQuestion]:
        new = [name for name in failed if name not in stored][:MAX_QUESTIONS]
        texts = question_texts(self.store.engine, new)
        for name in new:
            why = self._why(failed[name])
            if why and name in texts:
                alert = self._alert(self.records.get(name))
                yield _NewQuestion(signals=failed[name], why=why, text=texts[name], alert=alert)
            else:
                self.store.add(failed[name], gap="")

    def _why(self, signals: FailureSignals) -> WhyFailed | None:
        record = self.records.get(signals.question_id)
        if record is None or not record.answer:
            return None
        silent = signals.state == "silent"
        is_alert = self._by_bot(signals.asker) if silent else bool(self._alert(record))
        return why_failed(signals, decode_answer(record.answer), is_alert=is_alert)

    def _alert(self, record: QuestionRecord | None) -> str:
        return alert_name(record.text, lambda: self._by_bot(record.asker)) if record else ""

    def _by_bot(self, user: str) -> bool:
        return not user or self.context.gate.people.member(user).kind == "bot"

    def _assign(self, domain: str, new: Sequence[_NewQuestion]) -> None:
        refresh_vectors(self.store, domain, self.published)
        vectors = self.published.embed([written_out(one.text) for one in new])
        gaps = comparable_gaps(self.store, domain)
        snapshot = self._snapshot(domain)
        for one, vector in zip(new, vectors, strict=True):
            place = nearest_place(snapshot, one.text) if snapshot else NOWHERE
            if one.alert:
                gap = alert_gap(domain, one.alert)
            else:
                seed = one.signals.question_id.encode()  # the same in every worker
                new_gap = f"gap-{hashlib.sha256(seed).hexdigest()[:16]}"
                gap = nearest_gap(one.text, vector, gaps.values()) or new_gap
                gaps[gap] = with_question(gaps.get(gap), gap, one.text, vector)
            if self.store.open(gap, domain, asked_at=one.signals.asked_at):
                self.store.set(gap, document=place.document, heading=place.heading)
            name = f"Runbook for {one.alert}"[:80] if one.alert else ""
            self.store.add(
                one.signals, gap=gap, why=one.why, near=place.similarity, vector=vector,
                embedder=self.published.embedder, name=name,
            )  # fmt: skip
            self._reopen(gap, one.signals)

    def _reopen(self, gap_id: str, signals: FailureSignals) -> None:
        """A closed gap is open again when a later question fails."""
        gap = self.store.get(gap_id)
        if gap and gap.state == "closed" and signals.asked_at > gap.changed_at:
            self.store.move(gap, "reopened")

    def _suggest(self, domain: str) -> None:
        """Suggest each human answer to its document's owner, once."""
        questions = self.store.questions(domain)
        gap_of = {name: one.gap for name, one in questions.items() if one.gap}
        existing = self.drafts.existing_ids(gap_of)
        for human in self.drafts.human_answers(gap_of):
            if human.id in existing:
                continue
            gap = self.store.get(gap_of[human.question_id])
            record = self.records.get(human.question_id)
            if gap is None or record is None:
                continue
            place = self._place(domain, record, human)
            self.context.suggest(self._suggestion(human, record, place))
            self.drafts.add(
                human, gap=gap.id, domain=domain, document=place.document, heading=place.heading
            )
            if gap.state in ("open", "reopened", "dismissed"):
                self.store.move(gap, "proposed", by=human.by)

    def _suggestion(
        self, human: HumanAnswer, record: QuestionRecord, place: NearestPlace
    ) -> Suggestion:
        return Suggestion(
            id=human.id,
            kind="answer",
            domain=record.domain,
            document=place.document,
            heading=place.heading,
            # Self-contained it is only for those who may read what it is drawn from.
            question=record.text,
            words=human.words,
            by=human.by,
            question_id=record.id,
            channel=record.channel,
            permalink=permalink(self.context.identity.team_url, record),
            drawn_from=(),
        )

    def _place(self, domain: str, record: QuestionRecord, human: HumanAnswer) -> NearestPlace:
        """The place that the answer cites, or the nearest one that everyone may read."""
        snapshot = self._snapshot(domain)
        if snapshot is None:
            return NOWHERE
        answer = decode_answer(record.answer) if record.answer else None
        for cited in (*answer.citations, *answer.nearest) if answer else ():
            if cited.document and snapshot.cards([cited.document]):
                return NearestPlace(document=cited.document, heading=cited.heading)
        return nearest_place(snapshot, f"{record.text} {human.words}")

    def _snapshot(self, domain: str) -> Snapshot | None:
        """None where nothing was published yet: then every question is a gap."""
        try:
            return self.published.snapshot(domain)
        except NothingPublished:
            return None
