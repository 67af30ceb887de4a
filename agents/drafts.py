"""Drafts without a model (a direct answer, passages, a refusal), and the answer of a draft."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from agents.answer import Answer, Citation, RefusalReason
from agents.checks.groundedness import with_picture_notice
from agents.confidence import DIRECT, confidence, path_for
from agents.extractive.direct_answer import direct_answer
from agents.extractive.excerpts import passages_of
from agents.extractive.language import asked_language, foreign_language, notice
from agents.extractive.markdown import passages_text
from agents.extractive.quotable import quotable
from agents.extractive.relevance import (
    aspects_of,
    confidence_parts,
    is_too_little,
    nearest_documents,
)
from agents.plan import SourceChoice, Trace
from agents.state import Draft, State
from config.domain import Domain
from enrichment.chunk import DocumentCard

_SHARED = 0.2
"""Share of a question's rarity that a statement must cover where vectors can't tell its meaning."""


def signals(state: State) -> dict[str, float]:
    """Signals for the confidence, each 0–1."""
    parts = confidence_parts(state["plan"], state["snapshot"], state["scored"])
    return {**parts, "looked again": float(state.get("rounds", 0) > 0)}


def extractive_draft(
    state: State, domain: Domain, *, has_model: bool, held_back: bool = False
) -> Draft:
    """Without a model: the cell or sentence that answers the whole question, else passages that
    mention it, else a refusal.

    `has_model`: a model is configured and did not answer. `held_back`: its answer is not grounded,
    for instance because it is in another language."""
    parts, snapshot = signals(state), state["snapshot"]
    aspects = aspects_of(state["plan"], snapshot, domain.glossary)
    units = quotable(state["scored"], state["context"], aspects[0], snapshot.documents)
    question = state["plan"].question
    foreign = "" if held_back else foreign_language(question, snapshot)
    language = asked_language(question, snapshot)
    why = notice("held_back" if held_back else "model_away" if has_model else "no_model", language)
    about = [] if state["question"].quotes else [f"{why}."]  # of which the answer's notice tells
    if foreign:
        about = [notice("foreign", language, question=foreign, embedded=snapshot.language)]
        units = [unit for unit in units if unit.coverage >= _SHARED]
    elif direct := direct_answer(units, aspects, snapshot):
        return _direct_draft(*direct, state, parts)
    passages, share = passages_of(units, aspects, snapshot.documents)
    if is_too_little(parts) or not passages:
        draft = refusal_draft(state, domain, parts)
        if not (foreign or held_back):
            silent = has_model or state["question"].quotes
            about = [] if silent else [notice("by_words", language)]
        return replace(draft, text=" ".join([draft.text, *about]))
    lead = " ".join([*about, notice("nearest", language)])
    parts["share shown"] = share
    return Draft(
        text=passages_text(lead, passages),
        path="passages_found",
        lead=lead,
        passages=passages,
        citations=tuple(one.citation for one in passages),
        documents=documents_read(state),
        confidence=confidence(parts),
        confidence_parts=parts,
    )


def _direct_draft(text: str, citation: Citation, state: State, parts: Mapping[str, float]) -> Draft:
    return Draft(
        text=text,
        path="company_specific_rag_success",
        citations=(citation,),
        documents=documents_read(state),
        confidence=DIRECT,
        confidence_parts=parts,
    )


def refusal_draft(
    state: State, domain: Domain, parts: Mapping[str, float], *, by_model: bool = False
) -> Draft:
    """A refusal with the nearest documents. `by_model`: a model read the passages."""
    snapshot = state["snapshot"]
    reason: RefusalReason = "too_little" if state.get("context") else "nothing_found"
    language = asked_language(state["plan"].question, snapshot)
    searched = len(snapshot.documents)
    documents = "1 document" if searched == 1 else f"{searched} documents"
    return Draft(
        refusal="not_in_documents" if by_model else reason,
        text=notice("nothing", language, title=domain.title, documents=documents),
        path="no_answer_found",
        nearest=nearest_documents(snapshot, state.get("hits", [])),
        confidence=confidence(parts, refused=True, by_model=by_model),
        confidence_parts=parts,
    )


def documents_read(state: State) -> frozenset[str]:
    """All documents of the context, cited or not."""
    return frozenset(chunk.document_id for chunk in state["context"])


def final_answer(state: State, total_ms: float, needed: float) -> Answer:
    """The answer from a finished state. `needed`: see `agents.graph.build_ask`."""
    draft, plan = with_picture_notice(state["draft"]), state["plan"]
    confidence_score, fallbacks = round(draft.confidence, 3), state.get("fallbacks", ())
    failed_tools = state.get("failed_tools", ())
    is_searched, runs = "hits" in state, state.get("runs", {})
    return Answer(
        text="\n\n".join((draft.text, *(f"_{line}._" for line in dict.fromkeys(failed_tools)))),
        path=path_for(draft.path, confidence_score, needed),
        confidence=confidence_score,
        confidence_parts=draft.confidence_parts,
        citations=draft.citations,
        passages=draft.passages,
        lead=draft.lead,
        context=state.get("context", ()),
        documents=_documents_used(draft, state["snapshot"].documents),
        options=draft.options,
        nearest=draft.nearest,
        degraded=tuple(dict.fromkeys(one.node for one in fallbacks if one.outage)),
        fallbacks=fallbacks,
        contradictions=draft.contradictions,
        refusal=draft.refusal if draft.path == "no_answer_found" else "",
        timings_ms={**state.get("timings_ms", {}), "total": total_ms},
        usage=state["usage"],
        generation=state["snapshot"].generation,
        cut=draft.cut,
        of_the_moment=bool(state.get("tool_results") or failed_tools),
        standalone_question=plan.question,
        query_kind=plan.query_kind if is_searched else plan.kind,
        strategy=plan.strategy if is_searched else "",
        searches=runs.get("retrieval", 0) + runs.get("look", 0),
        drafts=runs.get("answer", 0) + runs.get("answer_generally", 0),
        cache_similarity=state.get("cache_similarity"),
        trace=Trace(
            plan=plan,
            sources=state.get("sources", SourceChoice()),
            hits=tuple(state.get("hits", ())),
            dropped=state.get("dropped", {}),
            notes=state.get("notes", ()),
        ),
    )


def _documents_used(draft: Draft, documents: Mapping[str, DocumentCard]) -> frozenset[str]:
    """Documents of the draft, and the successors that are named next to outdated ones."""
    cited = {one.document for one in (*draft.citations, *draft.nearest) if one.document}
    used = draft.documents | cited
    successors = {documents[one].superseded_by for one in used if one in documents}
    return used | (successors & set(documents))
