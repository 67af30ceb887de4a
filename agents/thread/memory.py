"""What the agents remember of a thread from one question to the next, also on another worker."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any, TypedDict, cast

import structlog
from pydantic import TypeAdapter, ValidationError
from sqlalchemy import Engine
from sqlalchemy.exc import SQLAlchemyError

from agents.answer import (
    Answer,
    Ask,
    AskWrapper,
    Cited,
    Conversation,
    EarlierTurn,
    Question,
    bounded,
)
from agents.plan import Trace
from agents.steps import Progress
from agents.thread.store import (
    Overtaken,
    ThreadCheckpoints,
    Unreadable,
    create_thread_tables,
    forget_places,
    kept_at,
    key_of,
    last_domain,
)
from config.errors import CopilotError, StorageFailed

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig

log = structlog.get_logger()

MOST_TURNS = 12
_ATTEMPTS = 32
"""More than workers ask in one thread at a time."""
_turns = TypeAdapter(tuple[EarlierTurn, ...])
Turns = list[dict[str, Any]]


def _with(kept: Turns | None, new: Turns) -> Turns:
    """A question that was asked again keeps its place; what came after it stays."""
    turns = {turn["id"]: turn for turn in (*(kept or []), *new)}
    return list(turns.values())[-MOST_TURNS:]


class ThreadState(TypedDict):
    turns: Annotated[Turns, _with]
    """Of plain JSON: a release that knows more or fewer fields says so by its format."""


@dataclass(frozen=True, kw_only=True)
class Recalled:
    turns: tuple[EarlierTurn, ...] = ()
    """Oldest first."""
    note: str = ""
    """Why there are none although there may have been."""


class ThreadMemory:
    """Keeps what is needed of each question. Never raises: a question is answered without it."""

    def __init__(self, engine: Engine) -> None:
        from langgraph.graph import END, START, StateGraph

        self._engine = engine
        graph = StateGraph(ThreadState)
        graph.add_node("remember", lambda state: {})
        graph.add_edge(START, "remember")
        graph.add_edge("remember", END)
        self._graph = graph.compile(checkpointer=ThreadCheckpoints(engine))
        self._has_tables = False

    def recall(self, conversation: Conversation, domain: str) -> Recalled:
        """The turns before this question; itself asked before, as after a crash, is none."""
        try:
            self._make_tables()
            kept = self._graph.get_state(_config(conversation, domain)).values.get("turns", [])
            turns = _turns.validate_python(kept)
        except (Unreadable, ValidationError):
            self.forget(conversation.place)
            return Recalled(note="what was kept of this thread can't be read: by its words alone")
        except (SQLAlchemyError, CopilotError) as error:
            return Recalled(note=_away(error))
        ids = [turn.id for turn in turns]
        end = ids.index(conversation.message) if conversation.message in ids else len(ids)
        return Recalled(turns=turns[:end])

    def remember(self, conversation: Conversation, domain: str, turn: EarlierTurn) -> str:
        """Why it could not be kept; else empty."""
        update = {"turns": [asdict(turn)]}
        for _ in range(_ATTEMPTS):
            try:
                self._graph.invoke(
                    cast("ThreadState", update), _config(conversation, domain), durability="exit"
                )
            except Overtaken:
                continue
            except Unreadable:
                self.forget(conversation.place)
            except SQLAlchemyError as error:
                return _away(error)
            else:
                return ""
        return "this question was not kept for the next one: too many in the thread at once"

    def last_answered(self, conversation: Conversation) -> str:
        """The domain of the thread's newest turn; '' where none is kept, or nobody can tell."""
        try:
            self._make_tables()
            with self._engine.connect() as connection:
                return last_domain(connection, conversation.place)
        except (SQLAlchemyError, CopilotError) as error:
            _away(error)
            return ""

    def forget(self, *places: str) -> None:
        """All that is kept of these threads, in every domain."""
        try:
            with self._engine.begin() as connection:
                forget_places(connection, places)
        except SQLAlchemyError as error:
            log.warning("what is kept of a thread could not be deleted", cause=str(error))

    def turns_at(self, place: str) -> list[dict[str, Any]]:
        """All that is kept of a thread; see `kept_threads.kept_at`. Raises StorageFailed."""
        with _within_reach():
            self._make_tables()
            with self._engine.connect() as connection:
                return kept_at(connection, place)

    def erase(self, place: str) -> bool:
        """Whether there was anything. Unlike `forget`, raises StorageFailed: somebody waits to
        hear that it is gone."""
        with _within_reach():
            self._make_tables()
            with self._engine.begin() as connection:
                return forget_places(connection, [place]) > 0

    def _make_tables(self) -> None:
        if not self._has_tables:
            create_thread_tables(self._engine)
            self._has_tables = True


def with_thread_memory(domain: str, memory: Callable[[], ThreadMemory]) -> AskWrapper:
    """Adds the thread's earlier turns to a question, and stores the new turn after the answer.
    Without a conversation, nothing is read or stored."""

    def wrap(ask: Ask) -> Ask:
        def run(question: Question, progress: Progress | None = None) -> Answer:
            conversation = question.conversation
            if conversation is None:
                return ask(question, progress)
            threads = memory()
            recalled = threads.recall(conversation, domain)
            answer = ask(replace(question, earlier=recalled.turns), progress)
            if recalled.note or answer.path == "small_talk":
                return _noted(answer, recalled.note)
            turn = _turn(conversation, question, answer)
            return _noted(answer, threads.remember(conversation, domain, turn))

        return run

    return wrap


def _turn(talk: Conversation, question: Question, answer: Answer) -> EarlierTurn:
    cited = (
        Cited(document=one.document, heading=one.heading)
        for one in answer.citations
        if one.document
    )
    asked = bounded(question.text)
    return EarlierTurn(
        id=talk.message,
        asker=talk.asker,
        asked=asked,
        question=bounded(answer.standalone_question) or asked,
        path=answer.path,
        documents=tuple(sorted(answer.drawn_from)),
        cited=tuple(dict.fromkeys(cited)),
        options=answer.options,
    )


def _noted(answer: Answer, note: str) -> Answer:
    if not note:
        return answer
    trace = answer.trace or Trace()
    return replace(answer, trace=replace(trace, notes=(*trace.notes, note)))


def _config(conversation: Conversation, domain: str) -> RunnableConfig:
    named = {
        "thread_id": key_of(conversation.place),
        "domain": domain,
        "asker": conversation.asker,
    }
    return {"configurable": named}


@contextmanager
def _within_reach() -> Iterator[None]:
    try:
        yield
    except SQLAlchemyError as error:
        raise StorageFailed(
            "what is kept of conversations is out of reach", remedy="try again later"
        ) from error


def _away(error: Exception) -> str:
    log.warning("a question is answered without what is kept of its thread", cause=str(error))
    return "what is kept of this thread is out of reach: answered by its words alone"
