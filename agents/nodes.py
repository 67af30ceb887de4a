"""The graph's nodes, apart from those of the answerer and of `thorough`.

Each function takes what is configured and returns a node: the state in, an update out."""

from __future__ import annotations

from collections.abc import Sequence

from agents.answer import Fallback
from agents.answer_cache.cache import AnswerCache, look_up
from agents.answerer.model import answer_generally
from agents.answerer.nodes import ROUNDS
from agents.context.post_processor import (
    FoundPassages,
    build_context,
    first_look,
    max_characters,
)
from agents.drafts import refusal_draft
from agents.extractive.conversation import clean_message
from agents.extractive.relevance import score_units
from agents.plan import Plan, SourceChoice
from agents.query_optimizer import planner_titles, query_optimizer
from agents.retrieval import retrieve
from agents.source_identifier import source_identifier
from agents.state import Draft, Node, State, cost_of
from agents.steps import Step
from config.domain import Domain
from config.errors import ModelError
from config.models import ChatModel
from enrichment.chunk import Chunk
from enrichment.safety.grounding import GroundingText
from index.ranking.rerank import Reranker
from index.search import Snapshot
from telemetry.tracing import span

_GENERAL = "_From general knowledge, not from your team's documents:_\n"


def plan_question(domain: Domain, model: ChatModel | None, cache: AnswerCache | None) -> Node:
    """Plans the retrieval. A follow-up is looked up in the cache by its self-contained question."""
    optimize = query_optimizer(domain, model)

    def node(state: State) -> State:
        state["progress"].step(Step.UNDERSTAND, "Understanding the question…")
        outcome = optimize(state["question"], state["snapshot"])
        plan = outcome.value.searched_by(domain.retrieval)
        update: State = {"plan": plan, **cost_of(outcome)}
        is_understood = outcome.value.kind == "in_domain" and not outcome.fallbacks
        if state["question"].stands_alone or not is_understood:
            return update
        lookup = look_up(cache, outcome.value.question, {**state, "notes": update["notes"]})
        update["notes"] = lookup["notes"]
        if "cached" in lookup:
            return {**update, "cached": lookup["cached"]}
        return {**update, "cache_similarity": lookup.get("cache_similarity")}

    return node


def identify_sources(domain: Domain, model: ChatModel | None) -> Node:
    identify = source_identifier(domain, model)

    def node(state: State) -> State:
        plan, snapshot = state["plan"], state["snapshot"]
        hits = retrieve(plan, snapshot)
        outcome = identify(plan, snapshot, hits)
        return {"sources": outcome.value, "searched": (plan, hits), **cost_of(outcome)}

    return node


def search_documents(reranker: Reranker | None) -> Node:
    def node(state: State) -> State:
        sources, snapshot = state.get("sources", SourceChoice()), state["snapshot"]
        count = len(sources.documents) or len(snapshot.documents)
        text = f"Searching {count} documents…" if count != 1 else "Searching…"
        state["progress"].step(Step.SEARCH, text)
        about: dict[str, str | int] = {
            "gen_ai.operation.name": "retrieval",
            "gen_ai.data_source.id": snapshot.domain,
            "oncall.generation": snapshot.generation,
        }
        with span(f"retrieval {snapshot.domain}", about) as traced:
            plan, hits = state.get("searched", (None, []))
            if sources.documents or plan != state["plan"]:
                hits = retrieve(state["plan"], snapshot, sources.documents)
            traced.set({"oncall.hits": len(hits)})
        if reranker is None:
            return {"hits": hits}
        reranked = reranker(state["plan"].question, hits)
        # No outage for users: the hits are answered from in their first order.
        failed = Fallback(node="rerank", reason=reranked.failed, outage=False)
        return {
            "hits": list(reranked.hits),
            "reranked": tuple(hit.chunk.id for hit in reranked.hits[: len(reranked.scores)]),
            "usage": reranked.usage,
            "fallbacks": (failed,) if reranked.failed else (),
            "notes": (f"reranked by {', '.join(reranked.by)}" if reranked.by else "not reranked",),
        }

    return node


def post_process(domain: Domain, *, has_model: bool) -> Node:
    characters = max_characters(domain.answer, has_model=has_model)
    # `fast` can't look up more, and `thorough` judges all there is.
    looks_twice = has_model and domain.answer.effort == "standard"

    def node(state: State) -> State:
        plan, snapshot, hits = state["plan"], state["snapshot"], state["hits"]
        scored = score_units(plan, snapshot, hits, domain.glossary)
        passages = FoundPassages(
            plan=plan,
            snapshot=snapshot,
            hits=hits,
            scored=scored,
            requested=state.get("requested_chunks", ()),
            reranked=state.get("reranked", ()),
            can_look_up=has_model and ROUNDS[domain.answer.effort] > 0,
        )
        at_first = first_look(plan) if looks_twice else None
        context = build_context(passages, characters=characters, at_first=at_first)
        documents = len({chunk.document_id for chunk in context.chunks})
        text = f"Reading {documents} document{'s' * (documents != 1)}…"
        similarity = max((hit.similarity for hit in hits), default=0.0)
        state["progress"].step(Step.READ, text, similarity=similarity)
        return {
            "scored": scored,
            "context": context.chunks,
            "read": context.sources,
            "dropped": context.dropped,
            "notes": _injection_notes(context.chunks, snapshot),
        }

    return node


def _injection_notes(context: Sequence[Chunk], snapshot: Snapshot) -> tuple[str, ...]:
    """Notes for administrators about documents in use whose text addresses an AI."""
    documents = dict.fromkeys(chunk.document_id for chunk in context)
    return tuple(
        f"{card.id} has text that addresses an AI, {text}"
        for card in snapshot.cards(documents)
        for text in card.withheld
    )


def reply_to_small_talk(state: State) -> State:
    text = state["plan"].small_talk_reply
    state["progress"].delta(text)
    documents: frozenset[str] = frozenset()
    if state["usage"].calls > 0:
        # A model read these titles, and may repeat them in a reply that is not checked.
        documents = frozenset(planner_titles(state["snapshot"], state["question"]))
    return {"draft": Draft(text=text, path="small_talk", confidence=1.0, documents=documents)}


def answer_from_general_knowledge(domain: Domain, model: ChatModel | None) -> Node:
    """No draft when the model fails or declines: then the documents are searched."""

    def node(state: State) -> State:
        if model is None:
            return {}
        try:
            reply = answer_generally(model, domain, _own_words(state), state["progress"].delta)
        except ModelError as error:
            fallback = Fallback(node="answer_generally", reason=error.kind)
            return {"fallbacks": (fallback,), "notes": (error.problem,)}
        if reply.verdict != "answer" or not reply.text:
            return {"usage": reply.usage, "notes": ("not general knowledge after all",)}
        draft = Draft(
            text=_GENERAL + reply.text,
            path="general_llm_knowledge",
            confidence=0.5,
            cut=reply.usage.cut,
        )
        return {"draft": draft, "usage": reply.usage}

    return node


def _own_words(state: State) -> Plan:
    """The plan, with the question as it was asked where the planner changed it: text from titles
    or from others in the thread must not be answered from general knowledge."""
    question, plan = state["question"], state["plan"]
    turns = (turn.content for turn in question.history if turn.role == "user")
    if GroundingText([], question=" ".join((question.text, *turns))).supports(plan.question):
        return plan
    return plan.model_copy(update={"question": clean_message(question.text)})


def refuse(domain: Domain) -> Node:
    def node(state: State) -> State:
        draft = refusal_draft(state, domain, {})
        state["progress"].delta(draft.text)
        return {"draft": draft}

    return node
