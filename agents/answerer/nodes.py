"""The answerer's nodes: answer, and look up what is missing."""

from __future__ import annotations

import re
from dataclasses import replace

from agents.answer import CITATION, Citation, Fallback, Question
from agents.answerer.lookups import look_up_requests
from agents.answerer.model import AnswerRequest, ModelAnswer, answer_from_sources
from agents.answerer.reply import contradictions_from
from agents.checks.groundedness import supporting_words
from agents.confidence import ASKED_BACK_BY_A_MODEL, confidence
from agents.context.sources import outline_of
from agents.drafts import documents_read, extractive_draft, refusal_draft, signals
from agents.extractive.relevance import citation
from agents.requests import LookupRequest, Toolbox
from agents.state import Draft, State
from agents.steps import NullProgress, Progress, Step
from agents.thread.turns import question_time
from agents.tools.calls import ToolRound, ask_tools, tool_source
from config.domain import Domain
from config.errors import ModelError
from config.models import ChatModel
from enrichment.safety.grounding import GroundingText
from enrichment.safety.injection import redacted

ROUNDS = {"fast": 0, "standard": 2, "thorough": 5}
"""Rounds of lookups, by effort."""
_MAX_OPTIONS = 4
_OUTLINE_CHARS = 1_500
_READING = re.compile(r"\s*(?:[-*+]|\d{1,2}[.)])\s+([^\n:]{2,120}?)\s*:\s")
"""A line of a question back: one reading, then its answer."""


class Answerer:
    """Configured for one domain. Without a model it quotes the documents."""

    def __init__(
        self,
        domain: Domain,
        model: ChatModel | None,
        toolbox: Toolbox | None = None,
    ) -> None:
        self._domain = domain
        self._model = model
        self._toolbox = toolbox if model else None

    def answer(self, state: State) -> State:
        """A draft, or requests for lookups."""
        if self._model is None:
            return self._without_model(state)
        is_revision = bool(state.get("objections"))
        left = ROUNDS[self._domain.answer.effort] - state.get("rounds", 0)
        # The first version was streamed already; the second appears once it is verified.
        progress = NullProgress() if is_revision else state["progress"]
        request = self._request(state, max(0, left))
        try:
            reply = self._reply(self._model, request, progress)
        except ModelError as error:
            return self._model_failed(state, error)
        update: State = {"usage": reply.usage}
        if reply.ungrounded:
            count = len(reply.ungrounded)
            note = f"{count} sentences of the model stand in no source and were held back"
            update["notes"] = (note,)
        if reply.verdict == "look":
            return {**update, **self._lookups(state, reply, left)}
        if reply.verdict == "nothing":
            update["draft"] = self._refusal(reply, state, looks=left > 0)
            if left > 0 and not state.get("rounds", 0):
                # A refusal is final only after a search in all documents.
                update["requests"] = search_everywhere(state)
            return update
        if not reply.text or (reply.ungrounded and not reply.sources):
            return {**update, **self._held_back(reply, state)}
        which = self._question_back(reply, state) if reply.verdict == "which" else None
        return {**update, "draft": which or self._by_model(reply, state)}

    def _reply(self, model: ChatModel, request: AnswerRequest, progress: Progress) -> ModelAnswer:
        """Asks again when it says nothing and text that may have silenced it is in the sources."""
        reply = answer_from_sources(model, self._domain, request, progress.delta)
        if reply.verdict != "nothing":
            return reply
        sources = [replace(one, text=redacted(one.text)) for one in request.sources]
        if sources == [*request.sources]:
            return reply
        safe = replace(request, sources=sources)
        again = answer_from_sources(model, self._domain, safe, progress.delta)
        return replace(again, usage=reply.usage + again.usage)

    def look(self, state: State) -> State:
        state["progress"].step(Step.READ, "Looking further…")
        tools = self._call_tools(state)
        requests = [one for one in state["requests"] if one.tool != "ask"]
        hits, lookup_notes = look_up_requests(requests, state["read"], state["snapshot"])
        notes = (*lookup_notes, *tools.notes)
        return {
            "requests": (),
            "rounds": 1,
            "hits": [*hits, *state["hits"]],
            "requested_chunks": tuple(hit.chunk.id for hit in hits),
            "lookup_notes": notes,
            "notes": notes,
            "tool_results": tools.results,
            "tools_called": bool(tools.notes),
            "failed_tools": tools.failures,
            "fallbacks": tools.fallbacks,
        }

    def _call_tools(self, state: State) -> ToolRound:
        requests = [one for one in state["requests"] if one.tool == "ask"]
        if not (requests and self._toolbox):
            return ToolRound()
        before, question = state.get("tool_results", ()), state["question"]
        document_text = "\n".join(f"{one.place}\n{one.text}" for one in state["read"])
        return ask_tools(
            self._toolbox,
            requests,
            before=before,
            calls_before=len(before) + len(state.get("failed_tools", ())),
            question=f"{question.text}\n{state['plan'].question}",
            # With permissions per reader, no word of a document leaves for a tool.
            documents=document_text if self._domain.access.audience == "channel" else "",
            progress=state["progress"],
        )

    def _request(self, state: State, rounds_left: int) -> AnswerRequest:
        question = state["question"]
        results = enumerate(state.get("tool_results", ()), start=1)
        by_tools = (tool_source(one, number, question.time_zone) for number, one in results)
        return AnswerRequest(
            plan=state["plan"],
            message=question.text,
            own_words=own_words(question, state["plan"].question),
            today=question_time(question),
            sources=(*state["read"], *by_tools),
            documents=state["snapshot"].documents,
            outline=unread_sections(state),
            lookup_notes=state.get("lookup_notes", ()),
            rounds_left=rounds_left,
            requested=frozenset(state.get("requested_chunks", ())),
            searched_again="draft" in state and not state.get("objections"),
            objections=state.get("objections", ()),
            offers=self._toolbox.offers() if self._toolbox and rounds_left else (),
        )

    def _model_failed(self, state: State, error: ModelError) -> State:
        """Falls back to the best draft; without a draft, to quotes from the documents."""
        note = f"answer went on without the model: {error.problem}"
        fallbacks = (Fallback(node="answer", reason=error.kind),)
        if "first_draft" in state or "draft" in state:
            return {"fallbacks": fallbacks, "notes": (note,), "objections": ()}
        return {**self._without_model(state), "fallbacks": fallbacks, "notes": (note,)}

    def _lookups(self, state: State, reply: ModelAnswer, left: int) -> State:
        if left > 0:
            return {"requests": reply.requests or search_everywhere(state)}
        if "draft" in state:
            return {}
        note = "the model kept asking for more"
        fallbacks = (Fallback(node="answer", reason="kept_looking"),)
        return {**self._without_model(state), "fallbacks": fallbacks, "notes": (note,)}

    def _without_model(self, state: State) -> State:
        draft = extractive_draft(state, self._domain, has_model=self._model is not None)
        state["progress"].delta(draft.text)
        return {"draft": draft}

    def _held_back(self, reply: ModelAnswer, state: State) -> State:
        """Passages in place of a reply of which no sentence is left. `verify` has it written again
        before they are shown."""
        sentences, is_final = reply.ungrounded, not may_write_again(state, self._domain)
        draft = extractive_draft(state, self._domain, has_model=True, held_back=bool(sentences))
        draft = replace(draft, held_back=sentences)
        if sentences and not is_final:
            return {"draft": draft}
        state["progress"].delta(draft.text)
        reason = "held_back" if sentences else "empty"
        fallback = Fallback(node="answer", reason=reason, outage=False)
        return {"draft": draft, "fallbacks": (fallback,)}

    def _by_model(self, reply: ModelAnswer, state: State) -> Draft:
        parts = signals(state)
        return Draft(
            text=reply.text,
            path="company_specific_rag_success",
            citations=_citations(reply, state),
            sources=reply.sources,
            documents=documents_read(state),
            by_model=True,
            cut=reply.usage.cut,
            held_back=reply.ungrounded,
            contradictions=contradictions_from(
                reply.conflicts, reply.sources, state["plan"].question, state["snapshot"].documents
            ),
            confidence=confidence(parts, by_model=True),
            confidence_parts=parts,
        )

    def _refusal(self, reply: ModelAnswer, state: State, *, looks: bool) -> Draft:
        """A refusal, with the nearest passages when the model named them.

        `looks`: all documents are searched before the refusal is final."""
        parts = signals(state)
        again = max(parts["looked again"], float(looks))
        draft = refusal_draft(state, self._domain, {**parts, "looked again": again}, by_model=True)
        if not reply.text:
            return draft
        citations = _citations(reply, state)
        return replace(
            draft,
            text=reply.text,
            citations=citations,
            nearest=() if citations else draft.nearest,
            sources=reply.sources,
            documents=documents_read(state),
            by_model=True,
        )

    def _question_back(self, reply: ModelAnswer, state: State) -> Draft | None:
        """None unless at least two readings are supported by a source."""
        lines = reply.text.splitlines()
        things = [match[1].strip("*_ ") for line in lines if CITATION.search(line)
                  for match in [_READING.match(line)] if match]  # fmt: skip
        if len(set(things)) < 2:
            return None
        question = state["plan"].question.rstrip("?!. ")
        options = tuple(f"{question}: {thing}?" for thing in dict.fromkeys(things))
        return Draft(
            text=reply.text,
            path="ambiguous_query",
            citations=_citations(reply, state),
            options=options[:_MAX_OPTIONS],
            sources=reply.sources,
            documents=documents_read(state),
            by_model=True,
            confidence=ASKED_BACK_BY_A_MODEL,
        )


def may_write_again(state: State, domain: Domain) -> bool:
    """Whether a draft that the checks reject is sent back: once, and not in a hurry."""
    return "first_draft" not in state and domain.answer.effort != "fast"


def own_words(question: Question, planned: str) -> str:
    """The question as asked, and as planned if that has nothing but words of the conversation."""
    turns = [turn.content for turn in question.history]
    is_own = GroundingText(turns, question=question.text).supports(planned)
    return f"{question.text} {planned}" if is_own else question.text


def search_everywhere(state: State) -> tuple[LookupRequest, ...]:
    plan = state["plan"]
    words = dict.fromkeys((plan.question, *plan.sub_questions, *plan.paraphrases[:1]))
    return tuple(LookupRequest(tool="find", words=text) for text in words)


def unread_sections(state: State) -> list[str]:
    return outline_of(state["read"], state["snapshot"], characters=_OUTLINE_CHARS)


def _citations(reply: ModelAnswer, state: State) -> tuple[Citation, ...]:
    documents = state["snapshot"].documents
    return tuple(
        citation(source.first, number, supporting_words(reply.text, number, source), documents)
        for number, source in enumerate(reply.sources, start=1)
    )
