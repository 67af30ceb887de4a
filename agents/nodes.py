"""Answers that need no passage: small talk, general knowledge, a refusal."""

from __future__ import annotations

from agents.answer import Fallback
from agents.answerer.model import answer_generally
from agents.drafts import refusal_draft
from agents.extractive.conversation import cleaned
from agents.plan import Plan
from agents.query_optimizer import titles_shown
from agents.state import Draft, State
from config.domain import Domain
from config.errors import ModelError
from config.models import ChatModel
from enrichment.safety.grounding import Grounds

_GENERAL = "_From general knowledge, not from your team's documents:_\n"


class AnswerNodes:
    """For one domain and perhaps a model."""

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
            fallback = Fallback(node="answer_generally", reason=error.kind)
            return {"fallbacks": (fallback,), "notes": (error.problem,)}
        if written.verdict != "answer" or not written.text:
            return {"usage": written.usage, "notes": ("not general knowledge after all",)}
        text = _GENERAL + written.text
        draft = Draft(
            text=text, path="general_llm_knowledge", confidence=0.5, cut=written.usage.cut
        )
        return {"draft": draft, "usage": written.usage}

    def refuse(self, state: State) -> State:
        draft = refusal_draft(state, self._domain, {})
        state["progress"].delta(draft.text)
        return {"draft": draft}


def _titled(state: State) -> frozenset[str]:
    """Documents whose titles may stand in words of the planner's that are shown as they are."""
    by_model = state["usage"].calls > 0 and state["plan"].kind == "small_talk"
    return (
        frozenset(titles_shown(state["snapshot"], cleaned(state["question"].text)))
        if by_model
        else frozenset()
    )


def _in_own_words(state: State) -> Plan:
    """With the question as it was asked, when the planner made another one of it: nothing that a
    title or somebody else in the thread put there is answered from general knowledge."""
    question, plan = state["question"], state["plan"]
    said = " ".join((question.text, *(t.content for t in question.history if t.role == "user")))
    if Grounds([], asked=said).hold(plan.question):
        return plan
    return plan.model_copy(update={"question": cleaned(question.text)})
