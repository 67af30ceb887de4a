"""Answers before they are checked: from quotations, as a refusal, or as a question back."""

from __future__ import annotations

from collections.abc import Mapping

from agents.extractive.ambiguity import readings_of
from agents.extractive.confidence_levels import ENOUGH
from agents.extractive.extractive_answer import extractive_answer
from agents.extractive.refusal import confidence, confidence_parts, nearest_documents, refusal
from agents.state import Draft, State
from config.domain import Domain


def signals(state: State) -> dict[str, float]:
    """What speaks for and against an answer being in the documents, each 0–1."""
    return confidence_parts(state["plan"], state["snapshot"], state["scored"])


def extractive_draft(state: State, domain: Domain) -> Draft:
    """What the documents say, verbatim; a refusal when that is too little."""
    parts = signals(state)
    text, citations = extractive_answer(
        state["plan"], state["snapshot"], state["context"], state["scored"], domain.glossary
    )
    if confidence(parts) < ENOUGH or not text:
        return refusal_draft(state, domain, parts)
    return Draft(
        text=text,
        path="company_specific_rag_success",
        citations=citations,
        documents=documents_read(state),
        confidence=confidence(parts),
        confidence_parts=parts,
    )


def refusal_draft(state: State, domain: Domain, parts: Mapping[str, float]) -> Draft:
    """The documents don't say; where a human would look next."""
    snapshot = state["snapshot"]
    return Draft(
        text=refusal(domain, snapshot),
        path="no_answer_found",
        nearest=nearest_documents(snapshot, state.get("hits", [])),
        confidence=confidence(parts),
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
