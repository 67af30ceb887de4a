"""The agents for LangGraph's Studio: JSON input and output, one expandable node per domain."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Literal, TypedDict

from agents.answer import Question, Turn
from agents.graph import answer_from, build_graph
from agents.response import to_full_response
from agents.state import State
from agents.steps import NullProgress
from config.domain import Domain
from config.errors import UsageError
from config.models import ChatModel, Usage
from index.permissions.rules import EVERYONE, readers_of, visible_to
from index.search import Snapshot

if TYPE_CHECKING:
    from langgraph.graph.state import CompiledStateGraph


class StudioTurn(TypedDict):
    role: Literal["user", "assistant"]
    content: str


class StudioInput(TypedDict, total=False):
    question: str
    domain: str
    """Defaults to the first domain."""
    history: list[StudioTurn]
    """Oldest first."""


class StudioOutput(TypedDict):
    answer: dict[str, Any]
    """The JSON of `oncall ask --json`."""


class _Exchange(StudioInput, StudioOutput, total=False):
    """State of the outer graph."""


def build_studio(
    *,
    domains: Mapping[str, Domain],
    snapshot: Callable[[str], Snapshot],
    model: ChatModel | None,
) -> CompiledStateGraph[Any, Any, Any, Any]:
    """Returns a graph that sends each question to the agents of its domain.

    `snapshot` is called for each question and may raise IndexUnavailable."""
    from langgraph.graph import END, START, StateGraph

    names = list(domains)

    def which_domain(state: _Exchange) -> str:
        name = state.get("domain") or names[0]
        if name not in domains:
            raise UsageError(f"no domain {name!r}", remedy=f"name one of {', '.join(names)}")
        return name

    graph = StateGraph(_Exchange, input_schema=StudioInput, output_schema=StudioOutput)
    for name, domain in domains.items():
        node: Any = _answering(build_graph(domain, model, begin=_begin(domain, snapshot)))
        graph.add_node(name, node)
        graph.add_edge(name, END)
    graph.add_conditional_edges(START, which_domain, names)
    return graph.compile()


def _begin(domain: Domain, snapshot: Callable[[str], Snapshot]) -> Callable[[State], State]:
    # Created inside the graph: input from outside would be written to checkpoints.
    def node(state: State) -> State:
        nobody = readers_of(domain.access.audience, lambda: EVERYONE)
        readable = visible_to(snapshot(domain.domain), nobody)
        return {"snapshot": readable, "progress": NullProgress(), "usage": Usage()}

    return node


def _answering(
    agents: CompiledStateGraph[Any, Any, Any, Any],
) -> Callable[[_Exchange], StudioOutput]:
    # Studio finds the agents to draw in the closure of the node.
    def node(state: _Exchange) -> StudioOutput:
        history = tuple(Turn(**turn) for turn in state.get("history", ()))
        question = Question(text=state["question"], history=history)
        return {"answer": to_full_response(answer_from(agents, {"question": question}))}

    return node
