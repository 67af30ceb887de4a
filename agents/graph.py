"""The graph of the agents: one question in, one answer out.

    small talk?  general?  in the documents?
    query optimizer → source identifier → retrieval → post-processor → answer → verify
                                                            ↑            ↓
                                                            └── look ←───┘   not enough?

`fast` skips the source identifier and looks nothing up. `standard` calls a model two or three
times when the first passages are enough, and six times at most. `thorough` judges the passages,
searches in other ways, and criticizes the answer before it is final."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, cast

from agents import nodes as node
from agents.answer import Answer, Ask, Question
from agents.answer_cache.cache import AnswerCache, cached_answer, look_up
from agents.answerer.nodes import Answerer
from agents.answerer.verification import Verifier
from agents.checks.groundedness import Entails
from agents.confidence import MEDIUM
from agents.drafts import final_answer
from agents.extractive.conversation import clean_message
from agents.observability import fallbacks_of
from agents.own_knowledge import answer_from_cards
from agents.query_optimizer import planner_titles
from agents.requests import Toolbox
from agents.state import Node, State
from agents.steps import NullProgress, Progress
from agents.thorough.gates import gates
from agents.thorough.routing import MAX_STEPS, Edge, ThoroughState, with_gates
from agents.thread.turns import resolve, restated_from, zone_notes
from config.domain import Domain
from config.models import ChatModel, Usage
from index.memory_map import PARSING
from index.permissions.rules import visible_to
from index.ranking.rerank import Reranker
from index.search import Snapshot
from telemetry.tracing import span

if TYPE_CHECKING:
    from langgraph.graph.state import CompiledStateGraph


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
    """The agents of one domain, without the wrappers of `Ask`.

    `snapshot` is called once per question and may raise IndexUnavailable; nothing else is raised.
    `needed`: the confidence from which answers are shown without reserve."""
    with PARSING:
        graph = build_graph(
            domain, model, cache=cache, entails=entails, reranker=reranker, toolbox=toolbox
        )

    def ask(question: Question, progress: Progress | None = None) -> Answer:
        visible = visible_to(snapshot(), question.readers)
        if own := answer_from_cards(clean_message(question.text), visible, domain):
            return own
        short = resolve(question, visible.documents)
        start: State = {
            "question": short,
            "snapshot": visible,
            "progress": progress or NullProgress(),
            "usage": Usage(),
            "notes": zone_notes(question),
        }

        def with_sources(answer: Answer) -> Answer:
            def titles() -> Collection[str]:
                return planner_titles(visible, short) if answer.usage.calls else ()

            text = answer.standalone_question
            sources = restated_from(question, text, visible.documents, titles)
            return replace(answer, restated_from=sources)

        started = time.perf_counter()
        # A follow-up is self-contained only once it is planned.
        if short.stands_alone:
            start = look_up(cache, short.text, start)
        if "cached" in start:
            return with_sources(cached_answer(start, (time.perf_counter() - started) * 1000))
        answer = with_sources(answer_from(graph, start, needed=needed()))
        if cache:
            cache.keep(answer, short, start["snapshot"])
        return answer

    return ask


def answer_from(
    graph: CompiledStateGraph[Any, Any, Any, Any], start: State, *, needed: float = MEDIUM
) -> Answer:
    """Run a compiled graph to its end. `needed`: see `build_ask`."""
    started = time.perf_counter()
    state = cast("State", graph.invoke(start))
    total_ms = (time.perf_counter() - started) * 1000
    if "cached" in state:
        return cached_answer(state, total_ms)
    return final_answer(state, total_ms, needed)


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

    `begin`: runs first and sets the fields that `build_ask` sets otherwise. `cache`: for follow-ups
    by their self-contained question."""
    from langgraph.graph import END, START, StateGraph

    has_model = model is not None
    answerer, retrieval = Answerer(domain, model, toolbox), node.search_documents(reranker)
    nodes: dict[str, Node] = {
        "query_optimizer": node.plan_question(domain, model, cache),
        "source_identifier": node.identify_sources(domain, model),
        "retrieval": retrieval,
        "post_processor": node.post_process(domain, has_model=has_model),
        "reply": node.reply_to_small_talk,
        "answer_generally": node.answer_from_general_knowledge(domain, model),
        "answer": answerer.answer,
        "look": answerer.look,
        "refuse": node.refuse(domain),
        "verify": Verifier(domain, entails).verify,
    }
    edges: dict[str, Edge] = {
        "query_optimizer": what_kind(domain, has_model=has_model),
        "answer_generally": is_answered(domain),
        "post_processor": may_call_tools if toolbox and model else has_evidence,
        "answer": is_enough,
        "look": has_found_more,
        "verify": is_supported,
    }
    thorough = model if domain.answer.effort == "thorough" else None
    if thorough:
        nodes, edges = {**nodes, **gates(domain, thorough, retrieval)}, with_gates(edges)
    schema = ThoroughState if thorough else State
    graph = StateGraph(schema)
    for name, run in nodes.items():
        timed: Any = _timed(name, run)
        graph.add_node(name, timed, input_schema=schema)
    if begin:
        first: Any = begin
        graph.add_node("begin", first)
        graph.add_edge("begin", "query_optimizer")
    graph.add_edge(START, "begin" if begin else "query_optimizer")
    graph.add_edge("source_identifier", "retrieval")
    graph.add_edge("retrieval", "post_processor")
    for name, edge in edges.items():
        graph.add_conditional_edges(name, edge)
    for last in ("reply", "refuse"):
        graph.add_edge(last, END)
    return graph.compile().with_config(recursion_limit=MAX_STEPS)


DocumentNode = Literal["source_identifier", "retrieval"]


def what_kind(
    domain: Domain, *, has_model: bool
) -> Callable[[State], Literal["__end__", "reply", "answer_generally", DocumentNode]]:
    def edge(state: State) -> Literal["__end__", "reply", "answer_generally", DocumentNode]:
        if "cached" in state:
            return "__end__"
        kind = state["plan"].kind
        if kind == "small_talk":
            return "reply"
        if kind == "general" and has_model:
            return "answer_generally"
        return _first_document_node(domain)

    return edge


def is_answered(domain: Domain) -> Callable[[State], Literal["__end__", DocumentNode]]:
    """Without an answer from general knowledge, the documents are searched."""

    def edge(state: State) -> Literal["__end__", DocumentNode]:
        return "__end__" if "draft" in state else _first_document_node(domain)

    return edge


def _first_document_node(domain: Domain) -> DocumentNode:
    return "retrieval" if domain.answer.effort == "fast" else "source_identifier"


def has_evidence(state: State) -> Literal["answer", "refuse"]:
    return "answer" if state["context"] else "refuse"


def may_call_tools(_: State) -> Literal["answer"]:
    """With tools, the answerer decides even when no passage was found."""
    return "answer"


def is_enough(state: State) -> Literal["look", "verify"]:
    return "look" if state.get("requests") else "verify"


def has_found_more(state: State) -> Literal["post_processor", "answer", "verify"]:
    """The refusal is final when a search in all documents finds nothing new. Tool results,
    failures of tools, and objections to a draft go to the answerer."""
    context = {chunk.id for chunk in state["context"]}
    if not context.issuperset(state["requested_chunks"]):
        return "post_processor"
    is_final = "draft" in state and not (state.get("tools_called") or state.get("objections"))
    return "verify" if is_final else "answer"


def is_supported(state: State) -> Literal["__end__", "look", "answer"]:
    if state.get("requests"):
        return "look"
    return "answer" if state["objections"] else "__end__"


def _timed(name: str, run: Node) -> Node:
    def timed(state: State) -> State:
        started = time.perf_counter()
        with span(f"node {name}", {"oncall.node": name}) as traced:
            update = run(state)
            traced.set(fallbacks_of(update.get("fallbacks", ())))
        update["timings_ms"] = {name: (time.perf_counter() - started) * 1000}
        update["runs"] = {name: 1}
        return update

    return timed
