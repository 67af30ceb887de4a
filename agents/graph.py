"""The agents, joined: one question in, one answer out.

    small talk?  general?  in the documents?
    query optimizer → source identifier → retrieval → post-processor → answer → verify
                                                            ↑            ↓
                                                            └── look ←───┘   not enough?

`fast` leaves out the source identifier and never looks twice; `standard` asks a model three times
where the first passages are enough, and six times at most. `thorough` judges what was found,
searches in other ways, and lets an answer go only once it stood a critique."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from threading import Lock
from typing import TYPE_CHECKING, Any, Literal, cast

from agents.answer import Answer, Ask, Fallback, Question
from agents.answer_cache.cache import AnswerCache
from agents.answer_cache.lookup import cached_answer, look_up
from agents.answerer.nodes import ROUNDS, Answerer
from agents.checks.groundedness import Entails, with_pictured_marked
from agents.confidence import MEDIUM, told_apart
from agents.context.post_processor import FoundPassages, build_context, most_characters
from agents.extractive.relevance import score_units
from agents.fallback import AgentResult
from agents.nodes import AnswerNodes
from agents.plan import SourceChoice, Trace
from agents.query_optimizer import PlanRequest, query_optimizer
from agents.retrieval import RetrievalRequest, retrieve
from agents.source_identifier import SourceRequest, source_identifier
from agents.state import Draft, State
from agents.steps import NullProgress, Progress, Step
from agents.thorough.gates import gates
from agents.thorough.routing import MOST_STEPS, Edge, with_gates
from agents.thorough.state import ThoroughState
from agents.thread.turns import resolved, zone_notes
from agents.tools.toolbox import Toolbox
from config.domain import Domain
from config.models import ChatModel, Usage
from enrichment.chunk import Chunk, DocumentCard
from index.permissions.rules import visible_to
from index.ranking.rerank import Reranked, Reranker
from index.search import Snapshot
from telemetry.tracing import span

if TYPE_CHECKING:
    from langgraph.graph.state import CompiledStateGraph

Node = Callable[[State], State]

_BUILDING = Lock()
"""LangGraph reads signatures by parsing them, and CPython 3.11 fails with a SystemError when two
threads parse at once: an asker's graph beside the one that is being warmed."""


def build_ask(
    *,
    snapshot: Callable[[], Snapshot],
    domain: Domain,
    model: ChatModel | None,
    cache: AnswerCache | None = None,
    entails: Entails | None = None,
    reranker: Reranker | None = None,
    needed: Callable[[], float] = lambda: MEDIUM,
    toolbox: Toolbox | None = None,
) -> Ask:
    """One domain's agents, wired. `snapshot` is called once a question and may raise
    IndexUnavailable; nothing else is raised, whatever the question.

    `needed`: the confidence from which on an answer is shown without reserve."""
    with _BUILDING:
        graph = build_graph(
            domain, model, cache=cache, entails=entails, reranker=reranker, toolbox=toolbox
        )

    def ask(question: Question, progress: Progress | None = None) -> Answer:
        seen = visible_to(snapshot(), question.readers)
        short = resolved(question, seen.documents)
        start: State = {
            "question": short,
            "snapshot": seen,
            "progress": progress or NullProgress(),
            "usage": Usage(),
            "notes": zone_notes(question),
        }
        begun = time.perf_counter()
        # A follow-up says what it asks only once it is planned.
        if not short.history:
            start = look_up(cache, short.text, start)
        if "cached" in start:
            return cached_answer(start, (time.perf_counter() - begun) * 1000)
        answer = answer_from(graph, start, needed=needed())
        if cache:
            cache.keep(answer, short, start["snapshot"])
        return answer

    return ask


def answer_from(
    graph: CompiledStateGraph[Any, Any, Any, Any], start: State, *, needed: float = MEDIUM
) -> Answer:
    """Run a compiled graph to its end. `needed`: see `build_ask`."""
    begun = time.perf_counter()
    state = cast("State", graph.invoke(start))
    total_ms = (time.perf_counter() - begun) * 1000
    return cached_answer(state, total_ms) if "cached" in state else _answer(state, total_ms, needed)


def build_graph(
    domain: Domain,
    model: ChatModel | None,
    *,
    begin: Node | None = None,
    cache: AnswerCache | None = None,
    entails: Entails | None = None,
    reranker: Reranker | None = None,
    toolbox: Toolbox | None = None,
) -> CompiledStateGraph[Any, Any, Any, Any]:
    """The compiled graph; its drawing is in the README.

    `begin` comes first and sets what a caller who knows nothing but the question can't. In
    `cache` the self-contained question of a follow-up is looked up."""
    from langgraph.graph import END, START, StateGraph

    answering, answerer = AnswerNodes(domain, model), Answerer(domain, model, entails, toolbox)
    retrieval = _retrieve(reranker)
    nodes: dict[str, Node] = {
        "query_optimizer": _plan(domain, model, cache),
        "source_identifier": _identify_sources(domain, model),
        "retrieval": retrieval,
        "post_processor": _post_process(domain, has_model=model is not None),
        "reply": answering.reply,
        "answer_generally": answering.generally,
        "answer": answerer.answer,
        "look": answerer.look,
        "refuse": answering.refuse,
        "verify": answerer.verify,
    }
    edges: dict[str, Edge] = {
        "post_processor": has_something_to_ask if toolbox and model else has_evidence,
        "answer": is_enough,
        "look": has_found_more,
        "verify": is_held_up,
    }
    thorough = model if domain.answer.effort == "thorough" else None
    if thorough:
        nodes, edges = {**nodes, **gates(domain, thorough, retrieval)}, with_gates(edges)
    flowing = ThoroughState if thorough else State
    graph = StateGraph(flowing)
    for name, node in nodes.items():
        timed: Any = _timed(name, node)
        graph.add_node(name, timed, input_schema=flowing)
    if begin:
        first: Any = begin
        graph.add_node("begin", first)
        graph.add_edge("begin", "query_optimizer")
    graph.add_edge(START, "begin" if begin else "query_optimizer")
    graph.add_conditional_edges("query_optimizer", _what_kind(domain, has_model=model is not None))
    graph.add_conditional_edges("answer_generally", _is_answered(domain))
    graph.add_edge("source_identifier", "retrieval")
    graph.add_edge("retrieval", "post_processor")
    for name, edge in edges.items():
        graph.add_conditional_edges(name, edge)
    for last in ("reply", "refuse"):
        graph.add_edge(last, END)
    return graph.compile().with_config(recursion_limit=MOST_STEPS)


def _what_kind(
    domain: Domain, *, has_model: bool
) -> Callable[
    [State], Literal["__end__", "reply", "answer_generally", "source_identifier", "retrieval"]
]:
    def what_kind(
        state: State,
    ) -> Literal["__end__", "reply", "answer_generally", "source_identifier", "retrieval"]:
        if "cached" in state:
            return "__end__"
        kind = state["plan"].kind
        if kind == "small_talk":
            return "reply"
        if kind == "general" and has_model:
            return "answer_generally"
        return _way_to_the_documents(domain)

    return what_kind


def _way_to_the_documents(domain: Domain) -> Literal["source_identifier", "retrieval"]:
    return "retrieval" if domain.answer.effort == "fast" else "source_identifier"


def _is_answered(
    domain: Domain,
) -> Callable[[State], Literal["__end__", "source_identifier", "retrieval"]]:
    """Without an answer from general knowledge, the documents are searched after all."""

    def is_answered(state: State) -> Literal["__end__", "source_identifier", "retrieval"]:
        return "__end__" if "draft" in state else _way_to_the_documents(domain)

    return is_answered


def has_evidence(state: State) -> Literal["answer", "refuse"]:
    return "answer" if state["context"] else "refuse"


def has_something_to_ask(_: State) -> Literal["answer"]:
    """Where tools may be asked, the answerer decides also when no passage was found."""
    return "answer"


def is_enough(state: State) -> Literal["look", "verify"]:
    return "look" if state.get("requests") else "verify"


def has_found_more(state: State) -> Literal["post_processor", "answer", "verify"]:
    """A refusal that a search in all documents changes nothing about stands; what a tool said, or
    that it said nothing, is for the answerer to read."""
    known = {chunk.id for chunk in state["context"]}
    if not known.issuperset(state["wanted"]):
        return "post_processor"
    return "verify" if "draft" in state and not state.get("told_now") else "answer"


def is_held_up(state: State) -> Literal["__end__", "answer"]:
    return "answer" if state["objections"] else "__end__"


def _plan(domain: Domain, model: ChatModel | None, cache: AnswerCache | None) -> Node:
    optimize = query_optimizer(domain, model)

    def node(state: State) -> State:
        state["progress"].step(Step.UNDERSTAND, "Understanding the question…")
        outcome = optimize(PlanRequest(question=state["question"], snapshot=state["snapshot"]))
        update: State = {"plan": outcome.value, **_cost_of(outcome)}
        understood = outcome.value.kind == "in_domain" and not outcome.fallbacks
        if not (state["question"].history and understood):
            return update
        found = look_up(cache, outcome.value.question, {**state, "notes": update["notes"]})
        return {**update, "notes": found["notes"], **_looked_up(found)}

    return node


def _looked_up(state: State) -> State:
    if "cached" in state:
        return {"cached": state["cached"]}
    return {"cache_similarity": state.get("cache_similarity")}


def _identify_sources(domain: Domain, model: ChatModel | None) -> Node:
    identify = source_identifier(domain, model)

    def node(state: State) -> State:
        outcome = identify(SourceRequest(plan=state["plan"], snapshot=state["snapshot"]))
        return {"sources": outcome.value, **_cost_of(outcome)}

    return node


def _retrieve(reranker: Reranker | None) -> Node:
    def node(state: State) -> State:
        sources = state.get("sources", SourceChoice())
        count = len(sources.documents) or len(state["snapshot"].documents)
        text = f"Searching {count} documents…" if count != 1 else "Searching…"
        state["progress"].step(Step.SEARCH, text)
        narrowed = RetrievalRequest(plan=state["plan"], sources=sources, snapshot=state["snapshot"])
        with span(
            f"retrieval {state['snapshot'].domain}",
            {
                "gen_ai.operation.name": "retrieval",
                "gen_ai.data_source.id": state["snapshot"].domain,
                "oncall.generation": state["snapshot"].generation,
            },
        ) as traced:
            hits = retrieve(narrowed)
            traced.set({"oncall.hits": len(hits)})
        if reranker is None:
            return {"hits": hits}
        judged = reranker(state["plan"].question, hits)
        return {
            "hits": list(judged.hits),
            "reranked": tuple(hit.chunk.id for hit in judged.hits[: len(judged.scores)]),
            "usage": judged.usage,
            "fallbacks": _not_reranked(judged),
            "notes": (f"reranked by {', '.join(judged.by)}" if judged.by else "not reranked",),
        }

    return node


def _not_reranked(judged: Reranked) -> tuple[Fallback, ...]:
    """Not said to askers: what was found is answered from all the same."""
    if not judged.failed:
        return ()
    return (Fallback(node="rerank", reason=judged.failed, outage=False),)


def _post_process(domain: Domain, *, has_model: bool) -> Node:
    characters = most_characters(domain.answer, has_model=has_model)

    def node(state: State) -> State:
        plan, snapshot, hits = state["plan"], state["snapshot"], state["hits"]
        scored = score_units(plan, snapshot, hits, domain.glossary)
        found = FoundPassages(
            plan=plan,
            snapshot=snapshot,
            hits=hits,
            scored=scored,
            wanted=state.get("wanted", ()),
            reranked=state.get("reranked", ()),
            may_look=has_model and ROUNDS[domain.answer.effort] > 0,
        )
        context = build_context(found, characters=characters)
        documents = len({chunk.document_id for chunk in context.chunks})
        text = f"Reading {documents} document{'s' * (documents != 1)}…"
        state["progress"].step(Step.READ, text)
        return {
            "scored": scored,
            "context": context.chunks,
            "read": context.sources,
            "dropped": context.dropped,
            "notes": _withheld(context.chunks, snapshot),
        }

    return node


def _withheld(context: Sequence[Chunk], snapshot: Snapshot) -> tuple[str, ...]:
    """What an administrator should look at: documents in use that address an AI."""
    read = dict.fromkeys(chunk.document_id for chunk in context)
    return tuple(
        f"{card.id} has text that addresses an AI, {text}"
        for card in snapshot.cards(read)
        for text in card.withheld
    )


def _timed(name: str, node: Node) -> Node:
    def timed(state: State) -> State:
        begun = time.perf_counter()
        with span(f"node {name}", {"oncall.node": name}) as traced:
            update = node(state)
            traced.set(fallbacks_of(update.get("fallbacks", ())))
        update["timings_ms"] = {name: (time.perf_counter() - begun) * 1000}
        return update

    return timed


def fallbacks_of(fallbacks: Sequence[Fallback]) -> dict[str, list[str]]:
    """As a span's attribute."""
    told = [f"{one.node}: {one.reason}" for one in fallbacks]
    return {"oncall.fallbacks": told} if told else {}


def _cost_of(outcome: AgentResult[Any]) -> State:
    notes = (outcome.note,) if outcome.note else ()
    return {"usage": outcome.usage, "fallbacks": outcome.fallbacks, "notes": notes}


def _drawn_from(draft: Draft, documents: Mapping[str, DocumentCard]) -> frozenset[str]:
    """Also the successors of what is out of force: they are named beside it."""
    named = {one.document for one in (*draft.citations, *draft.nearest) if one.document}
    used = draft.documents | named
    successors = {documents[one].superseded_by for one in used if one in documents}
    return used | (successors & set(documents))


def _untold(state: State) -> list[str]:
    """A line for each tool that the answer had to do without."""
    return [f"_{line}._" for line in dict.fromkeys(state.get("untold", ()))]


def _answer(state: State, total_ms: float, needed: float) -> Answer:
    draft, plan = with_pictured_marked(state["draft"]), state["plan"]
    confidence, fallbacks = round(draft.confidence, 3), state.get("fallbacks", ())
    return Answer(
        text="\n\n".join((draft.text, *_untold(state))),
        path=told_apart(draft.path, confidence, needed),
        confidence=confidence,
        confidence_parts=draft.confidence_parts,
        citations=draft.citations,
        passages=draft.passages,
        lead=draft.lead,
        context=state.get("context", ()),
        documents=_drawn_from(draft, state["snapshot"].documents),
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
        of_the_moment=bool(state.get("told") or state.get("untold")),
        standalone_question=plan.question,
        cache_similarity=state.get("cache_similarity"),
        trace=Trace(
            plan=plan,
            sources=state.get("sources", SourceChoice()),
            hits=tuple(state.get("hits", ())),
            dropped=state.get("dropped", {}),
            notes=state.get("notes", ()),
        ),
    )
