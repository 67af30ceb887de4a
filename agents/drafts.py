"""Answers before they are checked: from quotations, as a refusal, or as a question back."""

from __future__ import annotations

from collections.abc import Mapping

from agents.confidence.calibrated import confidence
from agents.extractive.ambiguity import readings_of
from agents.extractive.extractive_answer import extractive_answer
from agents.extractive.refusal import ENOUGH, confidence_parts, nearest_documents, refusal
from agents.state import Draft, State
from config.domain import Domain


def signals(state: State) -> dict[str, float]:
    """What speaks for and against an answer, each 0–1."""
    found = confidence_parts(state["plan"], state["snapshot"], state["scored"])
    return {**found, "looked again": float(state.get("rounds", 0) > 0)}


def extractive_draft(state: State, domain: Domain) -> Draft:
    """What the documents say, verbatim; a refusal when that is too little."""
    parts = signals(state)
    quoted = extractive_answer(
        state["plan"], state["snapshot"], state["context"], state["scored"], domain.glossary
    )
    if parts.get("evidence", 0.0) < ENOUGH or not quoted.text:
        return refusal_draft(state, domain, parts)
    parts["share said"] = quoted.share_said
    return Draft(
        text=quoted.text,
        path="company_specific_rag_success",
        citations=quoted.citations,
        documents=documents_read(state),
        confidence=confidence(parts),
        confidence_parts=parts,
    )


def refusal_draft(
    state: State, domain: Domain, parts: Mapping[str, float], *, judged: bool = False
) -> Draft:
    """The documents don't say; where a human would look next. `judged`: by a model."""
    snapshot = state["snapshot"]
    return Draft(
        text=refusal(domain, snapshot),
        path="no_answer_found",
        nearest=nearest_documents(snapshot, state.get("hits", [])),
        confidence=confidence(parts, refused=True, by_model=judged),
        confidence_parts=parts,
    )


def question_back(state: State, domain: Domain) -> Draft | None:
    """None when the question has one reading, as far as can be told without a model."""
    readings = readings_of(state["plan"], state["snapshot"], state["scored"], domain.glossary)
    if readings is None:
        return None
    return Draft(
        text=readings.text,
        path="ambiguous_query",
        citations=readings.citations,
        options=readings.options,
        documents=readings.documents,
        confidence=0.5,
    )


def documents_read(state: State) -> frozenset[str]:
    """Documents that the answerer saw, cited or not."""
    return frozenset(chunk.document_id for chunk in state["context"])
