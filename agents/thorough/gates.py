"""The nodes of `thorough`: judge, rewrite, critique."""

from __future__ import annotations

from dataclasses import replace
from typing import cast

from agents.answer import Answer, Ask, AskWrapper, Question
from agents.answerer.model import label_sources
from agents.answerer.nodes import unread_sections
from agents.answerer.verification import without_numbers
from agents.plan import SourceChoice
from agents.retrieval import CANDIDATES, merge_hits
from agents.state import AgentResult, Draft, Node, State, cost_of
from agents.steps import BufferedProgress, Progress, Step
from agents.thorough.judges import (
    CritiqueRequest,
    SourceJudgeRequest,
    answer_critic,
    covers_every_part,
    retrieval_judge,
)
from agents.thorough.rewrite import RewriteRequest, better_draft, final_draft, query_rewriter
from agents.thorough.routing import (
    GOOD,
    MAX_TRIES,
    PASSABLE,
    Critique,
    Judgment,
    RatedDraft,
    ThoroughState,
    after_critique,
    after_judging,
    is_early_switch,
    is_stale,
    passes,
)
from config.domain import Domain
from config.models import ChatModel
from config.prompts import Foreign

_NEXT_STEP = {
    "answer": "answered from it",
    "look": "looked for more",
    "rewrite": "searched again",
    "refuse": "no try is left",
    "critique": "no try is left",
}
_NO_PASSAGES = Judgment(score=0.0, issues=("off_topic",))
_COVERED = Judgment(score=1.0)


class Gates:
    def __init__(self, domain: Domain, model: ChatModel) -> None:
        self._ask_judge = retrieval_judge(domain, model)
        self._ask_rewriter = query_rewriter(domain, model)
        self._ask_critic = answer_critic(domain, model)

    def judge(self, state: ThoroughState) -> ThoroughState:
        """Are the passages enough? Passages that the answerer looked up are not judged."""
        if state.get("next_node") == "answer":
            return {}
        outcome, how = self._judge_context(state)
        judgment = outcome.value
        next_node: str = after_judging(judgment, tries=_tries(state), rounds=state.get("rounds", 0))
        is_known = next_node == "answer" and _context_ids(state) == state.get("judged_chunks")
        if (is_known or next_node == "refuse") and "best_draft" in state:
            next_node = "critique"  # the best draft of earlier searches is the answer
        problems = ", ".join((*judgment.issues, *judgment.missing))
        rating = f"judge: {judgment.score:.2f}, {how}{': ' * bool(problems)}{problems}"
        note = f"{rating}; {_NEXT_STEP[next_node]}"
        return {
            "next_node": next_node,
            "judgment": judgment,
            "judged_chunks": _context_ids(state),
            "requests": judgment.requests if next_node == "look" else (),
            "lookup_notes": _gaps_for_the_answerer(judgment) if next_node == "answer" else (),
            **cast("ThoroughState", cost_of(outcome, note)),
        }

    def rewrite(self, state: ThoroughState) -> ThoroughState:
        """Other words after a fair search. Another strategy, in all documents, after a poor first
        search (early) and after a failed try (late)."""
        sufficiency = state["judgment"].score
        state["progress"].step(Step.SEARCH, "Searching in other words…", sufficiency=sufficiency)
        early = is_early_switch(state["judgment"], tries=_tries(state))
        switch = early or _tries(state) > 1 or "best_draft" in state
        outcome = self._ask_rewriter(
            RewriteRequest(
                plans=(*state.get("earlier_plans", ()), state["plan"]),
                judgment=state["judgment"],
                places=tuple(source.place for source in state["read"]),
                switch=switch,
            )
        )
        plan = outcome.value
        how = f"searched by {plan.strategy} in all documents" if switch else "rewrote the query"
        wordings = " / ".join((*plan.paraphrases, *plan.keywords)) or plan.question
        return {
            "tries": 1,
            "next_node": "retrieval",
            "plan": plan,
            "sources": SourceChoice() if switch else state.get("sources", SourceChoice()),
            "earlier_plans": (state["plan"],),
            "earlier_hits": [] if early else state["hits"],
            **cast("ThoroughState", cost_of(outcome, f"{how}: {wordings}")),
        }

    def criticize(self, state: ThoroughState) -> ThoroughState:
        """Is the answer good enough? The best draft of all tries becomes the answer."""
        draft, best = state["draft"], state.get("best_draft")
        if best and is_stale(state):
            return _finished(best, "critique: nothing better was written")
        unrated = RatedDraft(draft=draft, context=state["context"], score=PASSABLE, passed=True)
        if _is_a_surprise(state):
            note = "the sources looked enough, and no answer was found in them; searched again"
            return _try_again("rewrite", unrated, draft, note)
        if not draft.by_model or draft.path != "company_specific_rag_success":
            return _finished(better_draft(best, unrated))
        state["progress"].step(Step.CHECK, "Checking the answer…")
        outcome = self._ask_critic(
            CritiqueRequest(plan=state["plan"], draft=draft, sources=_cited_first(state))
        )
        if outcome.value is None:
            update = _finished(better_draft(best, unrated), outcome.note)
            return {**update, "fallbacks": outcome.fallbacks}
        return {**_after_critique(state, outcome.value), "usage": outcome.usage}

    def _judge_context(self, state: ThoroughState) -> tuple[AgentResult[Judgment], str]:
        """The judgment and its method: the model is called only when rules can't decide."""
        if not state["context"]:
            return AgentResult(value=_NO_PASSAGES), "nothing was found"
        if _context_ids(state) == state.get("judged_chunks"):
            same = replace(state["judgment"], requests=())
            return AgentResult(value=same), "nothing new was found"
        if covers_every_part(state["plan"], state["scored"], state["context"]):
            return AgentResult(value=_COVERED), "every part is covered"
        state["progress"].step(Step.READ, "Weighing what was found…")
        sources = label_sources(state["read"], state["snapshot"].documents)
        request = SourceJudgeRequest(
            plan=state["plan"],
            sources=sources,
            outline=unread_sections(state),
            lookup_notes=state.get("lookup_notes", ()),
        )
        return self._ask_judge(request), "by the model"


def _gaps_for_the_answerer(judgment: Judgment) -> tuple[str, ...]:
    """Of sources that fall short when no search is left: the answerer names the gap, or finds that
    the judge overlooked something. Nothing of sources that are enough: it answers plainly."""
    gaps = judgment.missing or judgment.issues
    if judgment.score >= GOOD or not gaps:
        return ()
    return (f"{'; '.join(gaps)}: no search brought it, a first reader of the sources says",)


def _after_critique(state: ThoroughState, critique: Critique) -> ThoroughState:
    draft, judgment = state["draft"], state["judgment"]
    rated = RatedDraft(
        draft=draft,
        context=state["context"],
        score=critique.score,
        passed=passes(critique, judgment),
        unsupported=critique.unsupported,
    )
    best = better_draft(state.get("best_draft"), rated)
    next_node = after_critique(critique, judgment, tries=_tries(state))
    note = "; ".join((f"critique: {critique.score:.2f}", *critique.objections))
    if next_node == "__end__":
        return _finished(best, note)
    if next_node == "rewrite":
        return _try_again(next_node, best, draft, f"{note}; searched again")
    objections = tuple(map(without_numbers, (draft.text, *critique.objections)))
    again = _try_again(next_node, best, draft, f"{note}; written again")
    return {**again, "tries": 1, "objections": objections}


def _try_again(next_node: str, best: RatedDraft, draft: Draft, note: str) -> ThoroughState:
    drafts: ThoroughState = {"best_draft": best, "critiqued_draft": draft}
    return {**drafts, "next_node": next_node, "notes": (note,)}


def _finished(rated: RatedDraft, note: str = "") -> ThoroughState:
    notes = [note] if note else []
    if not rated.passed:
        notes.append(f"critique: the best of all tries came to {rated.score:.2f}; marked")
    return {
        "next_node": "__end__",
        "draft": final_draft(rated),
        "context": rated.context,
        "notes": tuple(notes),
    }


def _is_a_surprise(state: ThoroughState) -> bool:
    """A first refusal although the sources were judged sufficient."""
    return (
        state["draft"].path == "no_answer_found"
        and state["judgment"].score >= GOOD
        and "best_draft" not in state
        and _tries(state) < MAX_TRIES
    )


def _tries(state: ThoroughState) -> int:
    return 1 + state.get("tries", 0)


def _context_ids(state: ThoroughState) -> tuple[str, ...]:
    return tuple(chunk.id for chunk in state["context"])


def _cited_first(state: ThoroughState) -> list[Foreign]:
    """The draft's sources with its numbers, then the others."""
    draft_sources = state["draft"].sources
    unread = [source for source in state["read"] if source not in draft_sources]
    return label_sources([*draft_sources, *unread], state["snapshot"].documents)


def gates(domain: Domain, model: ChatModel, retrieve: Node) -> dict[str, Node]:
    """Node name → node. Hits of an earlier search are merged with those of `retrieve`."""
    gate = Gates(domain, model)

    def retrieval(state: ThoroughState) -> State:
        update = retrieve(state)
        before = state.get("earlier_hits", [])
        if before:
            update["hits"] = merge_hits([update["hits"], before])[:CANDIDATES]
        return update

    nodes = {"judge": gate.judge, "rewrite": gate.rewrite, "critique": gate.criticize}
    return cast("dict[str, Node]", {"retrieval": retrieval, **nodes})


def with_buffered_progress(domain: Domain, model: ChatModel | None) -> AskWrapper:
    """Reports the text in one piece where drafts are criticized before one is final."""

    def wrap(ask: Ask) -> Ask:
        def run(question: Question, progress: Progress | None = None) -> Answer:
            answer = ask(question, progress and BufferedProgress(progress))
            if progress:
                progress.delta(answer.text)
            return answer

        return run if model and domain.answer.effort == "thorough" else ask

    return wrap
