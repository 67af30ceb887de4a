"""The nodes of `thorough`: judge, rewrite, critique."""

from __future__ import annotations

from dataclasses import replace
from typing import cast

from agents.answer import Answer, Ask, AskWrapper, Question
from agents.answerer.model import labelled
from agents.answerer.nodes import sections_beside, unnumbered
from agents.plan import SourceChoice
from agents.retrieval import CANDIDATES, merged
from agents.state import AgentResult, Node, State, cost_of
from agents.steps import BufferedProgress, Progress, Step
from agents.thorough.judges import (
    ToCriticise,
    ToJudge,
    answer_critic,
    covers_every_part,
    retrieval_judge,
)
from agents.thorough.rewrite import ToRewrite, as_shown, better, query_rewriter
from agents.thorough.routing import (
    GOOD,
    MOST_TRIES,
    PASSABLE,
    after_critique,
    after_judging,
    is_early_switch,
    is_stale,
    passes,
)
from agents.thorough.state import Critique, Judgement, Rated, ThoroughState
from config.domain import Domain
from config.models import ChatModel
from config.prompts import Foreign

_SAID = {
    "answer": "answered from it",
    "look": "looked for more",
    "rewrite": "searched again",
    "refuse": "no try is left",
    "critique": "no try is left",
}
_NOTHING_FOUND = Judgement(score=0.0, issues=("off_topic",))
_COVERED = Judgement(score=1.0)


class Gates:
    """For one domain and a model."""

    def __init__(self, domain: Domain, model: ChatModel) -> None:
        self._ask_judge = retrieval_judge(domain, model)
        self._ask_rewriter = query_rewriter(domain, model)
        self._ask_critic = answer_critic(domain, model)

    def judge(self, state: ThoroughState) -> ThoroughState:
        """Is this enough? What the answerer asked for beyond it is not judged again."""
        if state.get("way") == "answer":
            return {}
        outcome, how = self._judged(state)
        judgement = outcome.value
        way: str = after_judging(judgement, tries=_tries(state), rounds=state.get("rounds", 0))
        in_vain = way == "refuse" or (way == "answer" and _read(state) == state.get("judged"))
        if in_vain and "best" in state:
            way = "critique"  # the best of the searches before stands
        named = ", ".join((*judgement.issues, *judgement.missing))
        note = f"judge: {judgement.score:.2f}, {how}{': ' * bool(named)}{named}; {_SAID[way]}"
        return {
            "way": way,
            "judgement": judgement,
            "judged": _read(state),
            "requests": judgement.requests if way == "look" else (),
            **cast("ThoroughState", cost_of(outcome, note)),
        }

    def rewrite(self, state: ThoroughState) -> ThoroughState:
        """Other words after a fair search; another strategy, in all documents, after a poor one
        (early) and after a try that failed (late)."""
        state["progress"].step(Step.SEARCH, "Searching in other words…")
        early = is_early_switch(state["judgement"], tries=_tries(state))
        switch = early or _tries(state) > 1 or "best" in state
        outcome = self._ask_rewriter(
            ToRewrite(
                searched=(*state.get("searched", ()), state["plan"]),
                judgement=state["judgement"],
                found=tuple(source.place for source in state["read"]),
                switch=switch,
            )
        )
        plan = outcome.value
        how = f"searched by {plan.strategy} in all documents" if switch else "rewrote the query"
        said = " / ".join((*plan.paraphrases, *plan.keywords)) or plan.question
        return {
            "tries": 1,
            "way": "retrieval",
            "plan": plan,
            "sources": SourceChoice() if switch else state.get("sources", SourceChoice()),
            "searched": (state["plan"],),
            "found_before": [] if early else state["hits"],
            **cast("ThoroughState", cost_of(outcome, f"{how}: {said}")),
        }

    def criticise(self, state: ThoroughState) -> ThoroughState:
        """Is the answer good enough? The best one of all tries leaves."""
        draft, best = state["draft"], state.get("best")
        if best and is_stale(state):
            return _left(best, "critique: nothing better was written")
        unrated = Rated(draft=draft, context=state["context"], score=PASSABLE, passed=True)
        if _is_a_surprise(state):
            note = "the sources looked enough, and no answer was found in them; searched again"
            return {"way": "rewrite", "best": unrated, "criticised": draft, "notes": (note,)}
        if not draft.by_model or draft.path != "company_specific_rag_success":
            return _left(better(best, unrated))
        state["progress"].step(Step.CHECK, "Checking the answer…")
        outcome = self._ask_critic(
            ToCriticise(plan=state["plan"], draft=draft, sources=_cited_first(state))
        )
        if outcome.value is None:
            left = _left(better(best, unrated), outcome.note)
            return {**left, "fallbacks": outcome.fallbacks}
        return {**_weighed(state, outcome.value), "usage": outcome.usage}

    def _judged(self, state: ThoroughState) -> tuple[AgentResult[Judgement], str]:
        """And how: the model is asked only where it can't be told without it."""
        if not state["context"]:
            return AgentResult(value=_NOTHING_FOUND), "nothing was found"
        if _read(state) == state.get("judged"):
            return AgentResult(
                value=replace(state["judgement"], requests=())
            ), "nothing new was found"
        if covers_every_part(state["plan"], state["scored"], state["context"]):
            return AgentResult(value=_COVERED), "every part is covered"
        state["progress"].step(Step.READ, "Weighing what was found…")
        sources = labelled(state["read"], state["snapshot"].documents)
        asked = ToJudge(
            plan=state["plan"],
            sources=sources,
            outline=sections_beside(state),
            looked=state.get("lookup_notes", ()),
        )
        return self._ask_judge(asked), "by the model"


def _weighed(state: ThoroughState, critique: Critique) -> ThoroughState:
    draft, judgement = state["draft"], state["judgement"]
    rated = Rated(
        draft=draft,
        context=state["context"],
        score=critique.score,
        passed=passes(critique, judgement),
        unsupported=critique.unsupported,
    )
    best = better(state.get("best"), rated)
    way = after_critique(critique, judgement, tries=_tries(state))
    note = "; ".join((f"critique: {critique.score:.2f}", *critique.objections))
    if way == "__end__":
        return _left(best, note)
    if way == "rewrite":
        searching = (f"{note}; searched again",)
        return {"way": way, "best": best, "criticised": draft, "notes": searching}
    return {
        "way": way,
        "best": best,
        "criticised": draft,
        "tries": 1,
        "objections": tuple(map(unnumbered, (draft.text, *critique.objections))),
        "notes": (f"{note}; written again",),
    }


def _left(rated: Rated, note: str = "") -> ThoroughState:
    notes = [note] if note else []
    if not rated.passed:
        notes.append(f"critique: the best of all tries came to {rated.score:.2f}; marked")
    return {
        "way": "__end__",
        "draft": as_shown(rated),
        "context": rated.context,
        "notes": tuple(notes),
    }


def _is_a_surprise(state: ThoroughState) -> bool:
    """A first refusal, although the sources were judged to be enough."""
    return (
        state["draft"].path == "no_answer_found"
        and state["judgement"].score >= GOOD
        and "best" not in state
        and _tries(state) < MOST_TRIES
    )


def _tries(state: ThoroughState) -> int:
    return 1 + state.get("tries", 0)


def _read(state: ThoroughState) -> tuple[str, ...]:
    return tuple(chunk.id for chunk in state["context"])


def _cited_first(state: ThoroughState) -> list[Foreign]:
    """Numbered as the draft cites them."""
    cited = state["draft"].sources
    others = [source for source in state["read"] if source not in cited]
    return labelled([*cited, *others], state["snapshot"].documents)


def gates(domain: Domain, model: ChatModel, retrieve: Node) -> dict[str, Node]:
    """Node name → node. `retrieve` searches; what an earlier search found stays beside it."""
    gate = Gates(domain, model)

    def retrieval(state: ThoroughState) -> State:
        update = retrieve(state)
        before = state.get("found_before", [])
        return (
            {**update, "hits": merged([update["hits"], before])[:CANDIDATES]} if before else update
        )

    nodes = {
        "retrieval": retrieval,
        "judge": gate.judge,
        "rewrite": gate.rewrite,
        "critique": gate.criticise,
    }
    return cast("dict[str, Node]", nodes)


def with_buffered_progress(domain: Domain, model: ChatModel | None) -> AskWrapper:
    """Where answers are criticised before they are final, text is reported in one piece."""

    def wrap(ask: Ask) -> Ask:
        def run(question: Question, progress: Progress | None = None) -> Answer:
            answer = ask(question, progress and BufferedProgress(progress))
            if progress:
                progress.delta(answer.text)
            return answer

        return run if model and domain.answer.effort == "thorough" else ask

    return wrap
