"""The earlier turns of a thread, shared by all workers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
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
    shorten,
)
from agents.plan import Trace
from agents.steps import Progress
from agents.thread.store import (
    Overtaken,
    ThreadCheckpoints,
    Unreadable,
    create_thread_tables,
    forget_places,
    key_of,
    last_domain,
    turns_at,
)
from config.errors import CopilotError, StorageFailed
from durable.failures import cause_of, passing_failure

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig

log = structlog.get_logger()

MAX_TURNS = 12
_ATTEMPTS = 32
"""More than workers that answer in one thread at the same time."""
_turns = TypeAdapter(tuple[EarlierTurn, ...])
Turns = list[dict[str, Any]]


def _merge_turns(stored: Turns | None, new: Turns) -> Turns:
    """A repeated question keeps its place, and later turns stay."""
    turns = {turn["id"]: turn for turn in (*(stored or []), *new)}
    return list(turns.values())[-MAX_TURNS:]


class ThreadState(TypedDict):
    turns: Annotated[Turns, _merge_turns]
    """Plain JSON; `store.FORMAT` changes with the fields."""


class ThreadMemory:
    """`recall` and `last_answered` raise DatabaseAway and DiskFull: a follow-up means another
    question without its thread. Whatever else fails, questions are answered without it, and
    `remember` never raises."""

    def __init__(self, engine: Engine) -> None:
        from langgraph.graph import END, START, StateGraph

        self._engine = engine
        graph = StateGraph(ThreadState)
        graph.add_node("remember", lambda state: {})
        graph.add_edge(START, "remember")
        graph.add_edge("remember", END)
        self._graph = graph.compile(checkpointer=ThreadCheckpoints(engine))
        self._has_tables = False

    def recall(
        self, conversation: Conversation, domain: str
    ) -> tuple[tuple[EarlierTurn, ...], str]:
        """(the turns before this question, oldest first, without itself when it is repeated after a
        crash; why turns may be missing)."""
        try:
            self._make_tables()
            stored = self._graph.get_state(_config(conversation, domain)).values.get("turns", [])
            turns = _turns.validate_python(stored)
        except (Unreadable, ValidationError):
            self.forget(conversation.place)
            return (), "what was kept of this thread can't be read: by its words alone"
        except (SQLAlchemyError, CopilotError) as error:
            _raise_what_passes(error)
            return (), _log_unavailable(error)
        ids = [turn.id for turn in turns]
        end = ids.index(conversation.message) if conversation.message in ids else len(ids)
        return turns[:end], ""

    def remember(self, conversation: Conversation, domain: str, turn: EarlierTurn) -> str:
        """Returns why it could not be stored; '' on success."""
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
                return _log_unavailable(error)
            else:
                return ""
        return "this question was not kept for the next one: too many in the thread at once"

    def last_answered(self, conversation: Conversation) -> str:
        """The domain of the thread's newest turn; '' for none, or when it can't be read."""
        try:
            self._make_tables()
            with self._engine.connect() as connection:
                return last_domain(connection, conversation.place)
        except (SQLAlchemyError, CopilotError) as error:
            _raise_what_passes(error)
            _log_unavailable(error)
            return ""

    def forget(self, *places: str) -> None:
        """Deletes the turns of these threads in every domain."""
        try:
            with self._engine.begin() as connection:
                forget_places(connection, places)
        except SQLAlchemyError as error:
            log.warning("stored thread history could not be deleted", cause=cause_of(error))

    def turns_at(self, place: str) -> list[dict[str, Any]]:
        """All stored turns of a thread; see `store.turns_at`. Raises StorageFailed."""
        with _storage_errors():
            self._make_tables()
            with self._engine.connect() as connection:
                return turns_at(connection, place)

    def erase(self, place: str) -> bool:
        """Whether there was anything. Unlike `forget` it raises StorageFailed, because a user waits
        for the result."""
        with _storage_errors():
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
            earlier, note = threads.recall(conversation, domain)
            answer = ask(replace(question, earlier=earlier), progress)
            if note or answer.path == "small_talk":
                return _with_note(answer, note)
            turn = _turn(conversation, question, answer)
            return _with_note(answer, threads.remember(conversation, domain, turn))

        return run

    return wrap


def _turn(conversation: Conversation, question: Question, answer: Answer) -> EarlierTurn:
    citations = (one for one in answer.citations if one.document)
    cited = (Cited(document=one.document, heading=one.heading) for one in citations)
    text = shorten(question.text)
    return EarlierTurn(
        id=conversation.message,
        asker=conversation.asker,
        asked=text,
        question=shorten(answer.standalone_question) or text,
        path=answer.path,
        documents=tuple(sorted(answer.drawn_from)),
        cited=tuple(dict.fromkeys(cited)),
        options=answer.options,
        restated_from=None if answer.restated_from is None else tuple(sorted(answer.restated_from)),
    )


def _with_note(answer: Answer, note: str) -> Answer:
    if not note:
        return answer
    trace = answer.trace or Trace()
    return replace(answer, trace=replace(trace, notes=(*trace.notes, note)))


def _config(conversation: Conversation, domain: str) -> RunnableConfig:
    thread = key_of(conversation.place)
    return {"configurable": {"thread_id": thread, "domain": domain, "asker": conversation.asker}}


@contextmanager
def _storage_errors() -> Iterator[None]:
    try:
        yield
    except SQLAlchemyError as error:
        failure = passing_failure(error) or StorageFailed(
            "what is kept of conversations is out of reach", remedy="try again later"
        )
        raise failure from error


def _raise_what_passes(error: Exception) -> None:
    if failure := passing_failure(error):
        raise failure from error


def _log_unavailable(error: Exception) -> str:
    log.warning("thread history unavailable, answering without it", cause=cause_of(error))
    return "what is kept of this thread is out of reach: answered by its words alone"
