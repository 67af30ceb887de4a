"""Answers before they are checked: from quotations, as a refusal, or as a question back."""

from __future__ import annotations

from collections.abc import Mapping

from agents.confidence.calibrated import DIRECT, confidence
from agents.extractive.ambiguity import readings_of
from agents.extractive.direct_answer import direct_answer
from agents.extractive.excerpts import passages_of, written
from agents.extractive.quotable import quotable
from agents.extractive.refusal import ENOUGH, confidence_parts, nearest_documents, refusal
from agents.extractive.relevance import aspects_of
from agents.state import Draft, State
from config.domain import Domain

NO_MODEL = "No language model is connected, so here is where the documents speak of this:"
MODEL_AWAY = (
    "The language model isn't available right now, so here is where the documents speak of this:"
)


def signals(state: State) -> dict[str, float]:
    """What speaks for and against an answer, each 0–1."""
    found = confidence_parts(state["plan"], state["snapshot"], state["scored"])
    return {**found, "looked again": float(state.get("rounds", 0) > 0)}


def extractive_draft(state: State, domain: Domain, *, has_model: bool) -> Draft:
    """Without a model: where the documents speak of the question; a refusal when they hardly do.

    `has_model`: there is one, and it didn't answer."""
    parts = signals(state)
    snapshot = state["snapshot"]
    aspects = aspects_of(state["plan"], snapshot, domain.glossary)
    found = quotable(state["scored"], state["context"], aspects[0], snapshot.documents)
    direct = direct_answer(found, aspects, snapshot)
    if direct:
        parts["share shown"] = 0.0
        return Draft(
            text=direct.text,
            path="company_specific_rag_success",
            citations=(direct.citation,),
            documents=documents_read(state),
            confidence=DIRECT,
            confidence_parts=parts,
        )
    excerpts = passages_of(found, aspects, snapshot.documents)
    passages = excerpts.passages
    if parts.get("evidence", 0.0) < ENOUGH or not passages:
        return refusal_draft(state, domain, parts)
    parts["share shown"] = excerpts.share_shown
    lead = MODEL_AWAY if has_model else NO_MODEL
    return Draft(
        text=written(lead, passages),
        path="passages_found",
        lead=lead,
        passages=passages,
        citations=tuple(one.citation for one in passages),
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
