"""The last nodes: ask back, answer with a model or without, refuse, verify."""

from __future__ import annotations

from dataclasses import replace

from agents.answer import Citation
from agents.context.source import sources_of
from agents.extractive.ambiguity import readings_of
from agents.extractive.confidence_levels import ENOUGH
from agents.extractive.conversation import cleaned
from agents.extractive.extractive_answer import citation, extractive_answer
from agents.extractive.refusal import (
    confidence,
    confidence_parts,
    nearest_documents,
    refusal,
)
from agents.model_answer import Written, answer_from_sources, answer_generally
from agents.plan import Plan
from agents.query_optimizer import titles_shown
from agents.state import Draft, State
from agents.verify import best_quote, claims_citing, support
from config.domain import Domain
from config.errors import ModelError
from config.models import ChatModel
from enrichment.trust.grounding import Grounds

_GENERAL = "_From general knowledge, not from your team's documents:_\n"
_SUPPORTED_ENOUGH = 0.5
"""Below this share of supported sentences, quotations replace the model's words."""


class AnswerNodes:
    """The last nodes, for one domain and perhaps a model."""

    def __init__(self, domain: Domain, model: ChatModel | None) -> None:
        self._domain = domain
        self._model = model

    def reply(self, state: State) -> State:
        text = state["plan"].small_talk_reply
        state["progress"].delta(text)
        named = _titled(state)
        return {"draft": Draft(text=text, path="small_talk", confidence=1.0, documents=named)}

    def generally(self, state: State) -> State:
        """No draft when the model fails or declines: then the documents are searched."""
        if self._model is None:
            return {}
        tell = state["progress"].delta
        try:
            written = answer_generally(self._model, self._domain, _in_own_words(state), tell)
        except ModelError as error:
            return {"degraded": ("answer_generally",), "notes": (error.problem,)}
        if not written.text:
            return {"usage": written.usage, "notes": ("not general knowledge after all",)}
        text = _GENERAL + written.text
        draft = Draft(
            text=text, path="general_llm_knowledge", confidence=0.5, cut=written.usage.cut
        )
        return {"draft": draft, "usage": written.usage}

    def clarify(self, state: State) -> State:
        """No draft when the question has one reading: then it is answered."""
        readings = readings_of(
            state["plan"], state["snapshot"], state["scored"], self._domain.glossary
        )
        if readings is None:
            return {}
        state["progress"].delta(readings.text)
        draft = Draft(
            text=readings.text,
            path="ambiguous_query",
            citations=readings.citations,
            options=readings.options,
            documents=readings.documents | _titled(state),
            confidence=0.5,
        )
        return {"draft": draft}

    def answer(self, state: State) -> State:
        if self._model is None:
            return {"draft": self._extractive(state, tell=True)}
        try:
            written = answer_from_sources(
                self._model,
                self._domain,
                state["plan"],
                state["question"].text,
                sources_of(state["context"], state["snapshot"]),
                state["snapshot"].documents,
                state["progress"].delta,
            )
        except ModelError as error:
            note = f"answer went on without the model: {error.problem}"
            draft = self._extractive(state, tell=True)
            return {"draft": draft, "degraded": ("answer",), "notes": (note,)}
        if not written.strays:
            return {"draft": self._by_model(written, state), "usage": written.usage}
        kept = bool(written.text and written.sources)
        draft = (
            self._by_model(written, state)
            if kept
            else self._extractive(state, tell=not written.text)
        )
        note = f"{len(written.strays)} sentences of the model stand in no source and were held back"
        return {"draft": draft, "usage": written.usage, "notes": (note,)}

    def verify(self, state: State) -> State:
        """Words of a model that its sources don't hold up give way to quotations."""
        draft = state["draft"]
        if draft.path != "company_specific_rag_success" or not draft.by_model:
            return {}
        held = support(draft.text, draft.sources)
        note = f"verify: {held.score:.0%} of the sentences are cited and supported"
        if held.score < _SUPPORTED_ENOUGH:
            return {"draft": self._extractive(state), "notes": (f"{note}; quoted instead",)}
        verified = replace(
            draft,
            confidence=draft.confidence * held.score,
            confidence_parts={**draft.confidence_parts, "support": held.score},
        )
        return {"draft": verified, "notes": (note,)}

    def refuse(self, state: State) -> State:
        draft = self._refusal(state, {})
        state["progress"].delta(draft.text)
        return {"draft": draft}

    def _extractive(self, state: State, *, tell: bool = False) -> Draft:
        parts = _parts(state)
        text, citations = extractive_answer(
            state["plan"],
            state["snapshot"],
            state["context"],
            state["scored"],
            self._domain.glossary,
        )
        if confidence(parts) < ENOUGH or not text:
            draft = self._refusal(state, parts)
        else:
            draft = Draft(
                text=text,
                path="company_specific_rag_success",
                citations=citations,
                documents=_read(state),
                confidence=confidence(parts),
                confidence_parts=parts,
            )
        if tell:
            state["progress"].delta(draft.text)
        return draft

    def _by_model(self, written: Written, state: State) -> Draft:
        parts = _parts(state)
        if not written.text:
            return self._refusal(state, parts)
        return Draft(
            text=written.text,
            path="company_specific_rag_success",
            citations=_citations(written, state),
            sources=written.sources,
            documents=_read(state),
            by_model=True,
            cut=written.usage.cut,
            confidence=confidence(parts),
            confidence_parts=parts,
        )

    def _refusal(self, state: State, parts: dict[str, float]) -> Draft:
        snapshot = state["snapshot"]
        return Draft(
            text=refusal(self._domain, snapshot),
            path="no_answer_found",
            nearest=nearest_documents(snapshot, state.get("hits", [])),
            confidence=confidence(parts),
            confidence_parts=parts,
        )


def _parts(state: State) -> dict[str, float]:
    return confidence_parts(state["plan"], state["snapshot"], state["scored"])


def _read(state: State) -> frozenset[str]:
    """Documents that the answerer saw, cited or not."""
    return frozenset(chunk.document_id for chunk in state["context"])


def _titled(state: State) -> frozenset[str]:
    """Documents whose titles may stand in words of the planner's that are shown as they are."""
    by_model = state["usage"].calls > 0 and state["plan"].kind in {"ambiguous", "small_talk"}
    return frozenset(titles_shown(state["snapshot"])) if by_model else frozenset()


def _in_own_words(state: State) -> Plan:
    """With the question as it was asked, when the planner made another one of it: nothing that a
    title or somebody else in the thread put there is answered from general knowledge."""
    question, plan = state["question"], state["plan"]
    said = " ".join((question.text, *(t.content for t in question.history if t.role == "user")))
    if Grounds([], asked=said).hold(plan.question):
        return plan
    return plan.model_copy(update={"question": cleaned(question.text)})


def _citations(written: Written, state: State) -> tuple[Citation, ...]:
    documents = state["snapshot"].documents
    return tuple(
        citation(
            source.first,
            number,
            best_quote(claims_citing(written.text, number), source),
            documents,
        )
        for number, source in enumerate(written.sources, start=1)
    )
