"""The answerer's nodes: answer, look for what is missing, check what was said."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from agents.answer import CITED, Citation, Fallback
from agents.answerer.lookups import look
from agents.answerer.model import (
    ModelAnswer,
    ToAnswer,
    answer_from_sources,
    marks_of,
)
from agents.answerer.reply import contradictions_told
from agents.checks.groundedness import (
    Entails,
    Groundedness,
    groundedness,
    supporting_words,
    tier_of,
)
from agents.confidence import ASKED_BACK_BY_A_MODEL, confidence
from agents.context.sources import Source, outline_of
from agents.drafts import documents_read, extractive_draft, refusal_draft, signals
from agents.extractive.relevance import citation
from agents.requests import LookupRequest
from agents.state import Draft, State
from agents.steps import Step
from agents.thread.turns import said_at
from agents.tools.calls import ToolRound, ask_tools, source_of
from agents.tools.toolbox import Toolbox
from config.domain import Domain
from config.errors import ModelError
from config.models import ChatModel

ROUNDS = {"fast": 0, "standard": 2, "thorough": 5}
"""How often the answerer may ask for more, by effort."""
_MOST_OPTIONS = 4
_MOST_HEADINGS = 40
_READING = re.compile(r"\s*(?:[-*+]|\d{1,2}[.)])\s+([^\n:]{2,120}?)\s*:\s")
"""A line of a question back: what is meant, then its answer."""
_SOURCE_NUMBER = re.compile(r"\bsources? \d{1,3}(?:, \d{1,3})*")
_MOST_MARKED = 2
_LONGEST_MARKED = 90


class Answerer:
    """For one domain and perhaps a model."""

    def __init__(
        self,
        domain: Domain,
        model: ChatModel | None,
        entails: Entails | None = None,
        toolbox: Toolbox | None = None,
    ) -> None:
        self._domain = domain
        self._model = model
        self._entails = entails
        self._toolbox = toolbox if model else None

    def answer(self, state: State) -> State:
        """A draft, or what has to be looked for first."""
        if self._model is None:
            return self._quoted(state)
        asked_back = bool(state.get("objections"))
        left = ROUNDS[self._domain.answer.effort] - state.get("rounds", 0)
        # What was shown once is not shown twice: a second version comes when it is checked.
        tell = _quietly if asked_back else state["progress"].delta
        try:
            written = answer_from_sources(
                self._model, self._domain, self._given(state, max(0, left)), tell
            )
        except ModelError as error:
            return self._without_the_model(state, error)
        update: State = {"usage": written.usage}
        if written.strays:
            held = len(written.strays)
            update["notes"] = (
                f"{held} sentences of the model stand in no source and were held back",
            )
        if written.verdict == "look":
            return {**update, **self._asked_for_more(state, written, left)}
        if written.verdict == "nothing":
            update["draft"] = self._nothing(written, state, looks=left > 0)
            if left > 0 and not state.get("rounds", 0):
                # That the documents don't say is said only after a search in all of them.
                update["requests"] = _everywhere(state)
            return update
        if not written.text or (written.strays and not written.sources):
            held_back = bool(written.strays)
            reason = "held_back" if held_back else "empty"
            fell = (Fallback(node="answer", reason=reason, outage=False),)
            return {**update, **self._quoted(state, held_back=held_back), "fallbacks": fell}
        which = self._which(written, state) if written.verdict == "which" else None
        return {**update, "draft": which or self._by_model(written, state)}

    def look(self, state: State) -> State:
        requests = state["requests"]
        state["progress"].step(Step.READ, "Looking further…")
        asked = self._asked_tools(state)
        requests = tuple(one for one in requests if one.tool != "ask")
        looked = look(requests, state["read"], state["snapshot"])
        notes = (*looked.notes, *asked.notes)
        return {
            "requests": (),
            "rounds": 1,
            "hits": [*looked.hits, *state["hits"]],
            "requested_chunks": tuple(hit.chunk.id for hit in looked.hits),
            "lookup_notes": notes,
            "notes": notes,
            "tool_results": asked.said,
            "tools_called": bool(asked.notes),
            "failed_tools": asked.failures,
            "fallbacks": asked.fallbacks,
        }

    def verify(self, state: State) -> State:
        """What the sources don't hold up is written again, once; what still fails is marked.

        Marked is what is nowhere in the sources. Whatever else the check doesn't hold lowers the
        confidence and is named in the trace: often it only failed to follow (decision 080)."""
        draft = state["draft"]
        if not draft.by_model or draft.path != "company_specific_rag_success":
            return {"objections": ()}
        held = self._held(draft, state)
        note = f"check: {held.score:.0%} of what is said is cited and held up"
        draft = _supported(draft, held.score)
        doubted = state.get("first_draft")
        is_strict = tier_of(held.score) == "strict"
        if doubted is None and is_strict and self._domain.answer.effort != "fast":
            state["progress"].step(Step.CHECK, "Checking the answer…")
            objections = tuple(map(unnumbered, (draft.text, *held.reasons)))
            return {
                "first_draft": draft,
                "objections": objections,
                "notes": (f"{note}; written again", *held.reasons),
            }
        if doubted and doubted.confidence_parts["groundedness"] >= held.score:
            draft, note = doubted, f"{note}; the first version stands"
            held = self._held(draft, state)
        if tier_of(held.score) == "strict" and held.untraceable:
            draft = replace(draft, text=f"{draft.text}\n\n{marked(held.untraceable)}")
        return {"draft": draft, "objections": (), "notes": (note, *held.reasons)}

    def _held(self, draft: Draft, state: State) -> Groundedness:
        asked = f"{state['question'].text} {state['plan'].question}"
        documents = state["snapshot"].documents
        return groundedness(
            draft.text,
            draft.sources,
            question=asked,
            glossary=self._domain.glossary,
            entails=self._entails,
            marks=[" | ".join(marks_of(one, documents)) for one in draft.sources],
        )

    def _asked_tools(self, state: State) -> ToolRound:
        requests = [one for one in state["requests"] if one.tool == "ask"]
        if not (requests and self._toolbox):
            return ToolRound()
        before, question = state.get("tool_results", ()), state["question"]
        read = "\n".join(f"{one.place}\n{one.text}" for one in state["read"])
        return ask_tools(
            self._toolbox,
            requests,
            before=before,
            asked_before=len(before) + len(state.get("failed_tools", ())),
            question=f"{question.text}\n{state['plan'].question}",
            # Where each reads their own, no word of a document goes further than to its reader.
            documents=read if self._domain.access.audience == "channel" else "",
            progress=state["progress"],
        )

    def _given(self, state: State, rounds_left: int) -> ToAnswer:
        return ToAnswer(
            plan=state["plan"],
            asked=state["question"].text,
            today=said_at(state["question"]),
            sources=(*state["read"], *_told(state)),
            documents=state["snapshot"].documents,
            outline=sections_beside(state),
            looked=state.get("lookup_notes", ()),
            rounds_left=rounds_left,
            objections=state.get("objections", ()),
            offers=self._toolbox.offers() if self._toolbox and rounds_left else (),
        )

    def _without_the_model(self, state: State, error: ModelError) -> State:
        """The best so far stands, marked; without any, what the documents say verbatim."""
        note = f"answer went on without the model: {error.problem}"
        fell = (Fallback(node="answer", reason=error.kind),)
        if "first_draft" in state or "draft" in state:
            return {"fallbacks": fell, "notes": (note,), "objections": ()}
        return {**self._quoted(state), "fallbacks": fell, "notes": (note,)}

    def _asked_for_more(self, state: State, written: ModelAnswer, left: int) -> State:
        if left > 0:
            return {"requests": written.requests or _everywhere(state)}
        if "draft" in state:
            return {}
        note = "the model kept asking for more"
        fell = (Fallback(node="answer", reason="kept_looking"),)
        return {**self._quoted(state), "fallbacks": fell, "notes": (note,)}

    def _quoted(self, state: State, *, held_back: bool = False) -> State:
        draft = extractive_draft(
            state, self._domain, has_model=self._model is not None, held_back=held_back
        )
        state["progress"].delta(draft.text)
        return {"draft": draft}

    def _by_model(self, written: ModelAnswer, state: State) -> Draft:
        parts = signals(state)
        return Draft(
            text=written.text,
            path="company_specific_rag_success",
            citations=_citations(written, state),
            sources=written.sources,
            documents=documents_read(state),
            by_model=True,
            cut=written.usage.cut,
            contradictions=contradictions_told(
                written.conflicts,
                written.sources,
                state["plan"].question,
                state["snapshot"].documents,
            ),
            confidence=confidence(parts, by_model=True),
            confidence_parts=parts,
        )

    def _nothing(self, written: ModelAnswer, state: State, *, looks: bool) -> Draft:
        """With the nearest that the documents do say, when the model named it.

        `looks`: a search in all documents goes before it is said, or went already."""
        parts = signals(state)
        again = max(parts["looked again"], float(looks))
        draft = refusal_draft(state, self._domain, {**parts, "looked again": again}, judged=True)
        if not written.text:
            return draft
        cited = _citations(written, state)
        return replace(
            draft,
            text=written.text,
            citations=cited,
            nearest=() if cited else draft.nearest,
            sources=written.sources,
            documents=documents_read(state),
            by_model=True,
        )

    def _which(self, written: ModelAnswer, state: State) -> Draft | None:
        """None unless two readings at least are held up by a source."""
        lines = written.text.splitlines()
        things = [match[1].strip("*_ ") for line in lines if CITED.search(line)
                  for match in [_READING.match(line)] if match]  # fmt: skip
        if len(set(things)) < 2:
            return None
        asked = state["plan"].question.rstrip("?!. ")
        return Draft(
            text=written.text,
            path="ambiguous_query",
            citations=_citations(written, state),
            options=tuple(f"{asked}: {thing}?" for thing in dict.fromkeys(things))[:_MOST_OPTIONS],
            sources=written.sources,
            documents=documents_read(state),
            by_model=True,
            confidence=ASKED_BACK_BY_A_MODEL,
        )


def _told(state: State) -> list[Source]:
    zone = state["question"].time_zone
    said = state.get("tool_results", ())
    return [source_of(one, number, zone) for number, one in enumerate(said, start=1)]


def unnumbered(text: str) -> str:
    """An answer's numbers count its own sources, not those of the prompt that it is shown in."""
    return _SOURCE_NUMBER.sub("its source", CITED.sub("", text))


def _quietly(_: str) -> None:
    """Tells nobody."""


def _everywhere(state: State) -> tuple[LookupRequest, ...]:
    plan = state["plan"]
    words = dict.fromkeys((plan.question, *plan.sub_questions, *plan.paraphrases[:1]))
    return tuple(LookupRequest(tool="find", words=text) for text in words)


def sections_beside(state: State) -> list[str]:
    others = outline_of(state["read"], state["snapshot"], most=_MOST_HEADINGS)
    return [f"{title}: {'; '.join(headings)}" for title, headings in others]


def _supported(draft: Draft, score: float) -> Draft:
    parts = {**draft.confidence_parts, "groundedness": score}
    return replace(draft, confidence=confidence(parts, by_model=True), confidence_parts=parts)


def marked(unsupported: Sequence[str]) -> str:
    """A line that names what could not be traced."""
    said = [" ".join(one.split())[:_LONGEST_MARKED].rstrip(" .") for one in unsupported]
    quoted = "; ".join(f"“{one}”" for one in said[:_MOST_MARKED])
    return f"_Not found as said in the sources, look there before you act: {quoted}_"


def _citations(written: ModelAnswer, state: State) -> tuple[Citation, ...]:
    documents = state["snapshot"].documents
    return tuple(
        citation(
            source.first,
            number,
            supporting_words(written.text, number, source),
            documents,
        )
        for number, source in enumerate(written.sources, start=1)
    )
