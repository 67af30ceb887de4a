"""Drafts without a model (a direct answer, passages, a refusal), and the answer of a draft."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from agents.answer import Answer, Citation, RefusalReason
from agents.checks.groundedness import with_picture_notice
from agents.confidence import DIRECT, confidence, path_for
from agents.extractive.direct_answer import direct_answer
from agents.extractive.excerpts import passages_of, passages_text, quotable
from agents.extractive.language import foreign_language, foreign_notice
from agents.extractive.relevance import (
    aspects_of,
    confidence_parts,
    is_too_little,
    nearest_documents,
    refusal,
)
from agents.plan import SourceChoice, Trace
from agents.state import Draft, State
from config.domain import Domain
from enrichment.chunk import DocumentCard

NO_MODEL = "No language model is connected"
MODEL_AWAY = "The language model isn't available right now"
HELD_BACK = "What the language model wrote could not be held against the documents"
BY_WORDS = f"{NO_MODEL}, so I only match words: others may find it."
_SPEAK = "here is where the documents speak of this:"
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
    why = HELD_BACK if held_back else MODEL_AWAY if has_model else NO_MODEL
    is_spent = state["question"].quotes  # of which the answer's notice tells
    lead = _SPEAK.capitalize() if is_spent else f"{why}, so {_SPEAK}"
    language = foreign_language(state["plan"].question, snapshot)
    if language and not held_back:
        lead = f"{foreign_notice(language, snapshot)}\n\n{_SPEAK.capitalize()}"
        units = [unit for unit in units if unit.coverage >= _SHARED]
    elif direct := direct_answer(units, aspects, snapshot):
        return _direct_draft(*direct, state, parts)
    passages, share_visible = passages_of(units, aspects, snapshot.documents)
    if is_too_little(parts) or not passages:
        draft = refusal_draft(state, domain, parts)
        if held_back:
            text = f"{HELD_BACK}. {draft.text}"
        elif language:
            text = f"{foreign_notice(language, snapshot)}\n\n{draft.text}"
        else:
            text = draft.text if has_model or is_spent else f"{draft.text} {BY_WORDS}"
        return replace(draft, text=text)
    parts["share shown"] = share_visible
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
    return Draft(
        refusal="not_in_documents" if by_model else reason,
        text=refusal(domain, snapshot),
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
