"""The node `verify`: checks a model's answer, and has it written again once when it fails."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from agents.answer import CITATION
from agents.answerer.model import marks_of
from agents.answerer.nodes import ROUNDS, may_write_again, search_everywhere
from agents.checks.groundedness import Entails, groundedness, tier_of
from agents.checks.subject import subject_fault
from agents.confidence import confidence
from agents.state import Draft, State
from agents.steps import Step
from agents.thread.turns import question_time
from config.domain import Domain

_GOOD_EVIDENCE = 0.5
"""Probability from which the sources are more likely to hold the answer than not."""
_HELD_BACK = "none of the sources says so, and it was held back"
_SOURCE_NUMBER = re.compile(r"\bsources? \d{1,3}(?:(?:,| and|, and) \d{1,3})*")
_MAX_MARKED = 2
_MAX_MARKED_CHARS = 90


@dataclass(frozen=True, kw_only=True)
class Findings:
    """The result of all checks of one draft."""

    score: float
    """Share of the sentences that are cited and supported, 0–1; those held back are not."""
    reasons: tuple[str, ...] = ()
    """One line for each problem."""
    untraceable: tuple[str, ...] = ()
    """Sentences of the draft to mark: no source has their figures or names."""
    off_subject: bool = False
    """It is about something else than was asked."""

    @property
    def failed(self) -> bool:
        return self.off_subject or tier_of(self.score) == "strict"


class Verifier:
    """Configured for one domain."""

    def __init__(self, domain: Domain, entails: Entails | None = None) -> None:
        self._domain = domain
        self._entails = entails

    def verify(self, state: State) -> State:
        """Has a draft that fails the checks written again once; with poor sources, they are
        searched again before. The answer marks only facts that no source contains: other failures
        lower the confidence and appear in the trace (decision 080)."""
        draft = state["draft"]
        is_answer = draft.by_model and draft.path == "company_specific_rag_success"
        if not (is_answer or draft.held_back):
            return {"objections": ()}
        findings = self._check(draft, state)
        note = f"check: {findings.score:.0%} of what is said is cited and held up"
        if is_answer:
            draft = with_findings(draft, findings)
        first = state.get("first_draft")
        if findings.failed and may_write_again(state, self._domain):
            return self._try_again(draft, findings, note, state)
        if first and first.by_model and not (is_answer and draft.confidence > first.confidence):
            draft, note = first, f"{note}; the first version stands"
            findings = self._check(draft, state)
        if draft.by_model and findings.failed and findings.untraceable:
            line = unsupported_line(findings.untraceable)
            draft = replace(draft, text=f"{draft.text}\n\n{line}")
        return {"draft": draft, "objections": (), "notes": (note, *findings.reasons)}

    def _try_again(self, draft: Draft, findings: Findings, note: str, state: State) -> State:
        scores = {"groundedness": findings.score}
        state["progress"].step(Step.CHECK, "Checking the answer…", **scores)
        text = "\n".join(draft.held_back) if not draft.by_model else draft.text
        update: State = {
            "first_draft": draft,
            "objections": tuple(map(without_numbers, (text, *findings.reasons))),
        }
        left = ROUNDS[self._domain.answer.effort] - state.get("rounds", 0)
        if left > 0 and draft.confidence_parts.get("evidence", 1.0) < _GOOD_EVIDENCE:
            update["requests"] = search_everywhere(state)
            note = f"{note}; searched again"
        return {**update, "notes": (f"{note}; written again", *findings.reasons)}

    def _check(self, draft: Draft, state: State) -> Findings:
        reasons = tuple(f"“{one}”: {_HELD_BACK}" for one in draft.held_back)
        if not draft.by_model:
            return Findings(score=0.0, reasons=reasons)
        question = f"{state['question'].text} {state['plan'].question}"
        documents = state["snapshot"].documents
        check = groundedness(
            draft.text,
            draft.sources,
            question=question,
            glossary=self._domain.glossary,
            entails=self._entails,
            today=question_time(state["question"]),
            marks=[" | ".join(marks_of(one, documents)) for one in draft.sources],
        )
        count = len(check.claims)
        share = count / (count + len(reasons)) if count else 0.0 if reasons else 1.0
        subject = subject_fault(
            draft.text,
            draft.sources,
            question=question,
            glossary=self._domain.glossary,
            read=state["read"],
        )
        if subject:
            reasons = (f"it is about something else than was asked: {subject}", *reasons)
        return Findings(
            score=check.score * share,
            reasons=(*check.reasons, *reasons),
            untraceable=check.untraceable,
            off_subject=bool(subject),
        )


def with_findings(draft: Draft, findings: Findings) -> Draft:
    """The draft with the confidence that follows from the findings."""
    parts = {**draft.confidence_parts, "groundedness": findings.score}
    if findings.off_subject:
        parts["off subject"] = 1.0
    return replace(draft, confidence=confidence(parts, by_model=True), confidence_parts=parts)


def without_numbers(text: str) -> str:
    """An answer's numbers mean its own sources, not those of the prompt that quotes it."""
    return _SOURCE_NUMBER.sub("its source", CITATION.sub("", text))


def unsupported_line(unsupported: Sequence[str]) -> str:
    """A line that names the sentences without a source."""
    sentences = [" ".join(one.split())[:_MAX_MARKED_CHARS].rstrip(" .") for one in unsupported]
    quoted = "; ".join(f"“{one}”" for one in sentences[:_MAX_MARKED])
    return f"_Not found as said in the sources, look there before you act: {quoted}_"
