"""What is kept of a thread: for its next question, on any worker, and for nobody else."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from sqlalchemy import Engine, create_engine, make_url, select, text, update

from agents.answer import Answer, Ask, Citation, Conversation, Question
from agents.graph import build_ask
from agents.thread.memory import MAX_TURNS, ThreadMemory, with_thread_memory
from agents.thread.store import (
    FORMAT,
    ThreadRow,
    forget_begun_before,
    forget_places,
    forget_threads_of,
    stored_domains,
    turns_of_people,
)
from config.settings import Settings
from index.store.database import open_database
from tests.agents.corpus import LAPTOPS, ROTATION, domain, snapshot
from tests.databases import postgresql_database

OPTIONS = ("How old may a signing key get?", "How old may a webhook secret get?")


@pytest.fixture(scope="module")
def postgresql() -> Iterator[str]:
    with postgresql_database() as url:
        yield url


@pytest.fixture(params=["sqlite", "postgresql"])
def engine(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Engine]:
    address = None
    if request.param == "postgresql":
        url = make_url(request.getfixturevalue("postgresql"))
        name = f"threads_{tmp_path.name.lower()}"
        whole = create_engine(
            url.set(drivername="postgresql+psycopg"), isolation_level="AUTOCOMMIT"
        )
        with whole.connect() as connection:
            connection.execute(text(f'CREATE DATABASE "{name}"'))
        whole.dispose()
        address = url.set(database=name).render_as_string(hide_password=False)
    opened = open_database(Settings(_env_file=None, data_dir=tmp_path, database_url=address))
    yield opened
    opened.dispose()


def talk(message: str, place: str = "slack/C1/1.0", asker: str = "U0DANA") -> Conversation:
    return Conversation(place=place, message=message, asker=asker)


class Scripted:
    """Agents that say one thing, and remember what they were told of the thread."""

    def __init__(self) -> None:
        self.told: list[tuple[str, ...]] = []
        self.questions: list[Question] = []
        self.says = Answer(
            text="90 days [1].",
            path="company_specific_rag_success",
            confidence=0.9,
            citations=(
                Citation(number=1, document="key-rotation", title="Keys", heading="Maximum age",
                         url="u", quote="90 days"),
            ),
            standalone_question="how old may a signing key get?",
            options=OPTIONS,
        )  # fmt: skip

    def __call__(self, question: Question, progress: object = None) -> Answer:
        self.questions.append(question)
        self.told.append(tuple(turn.asked for turn in question.earlier))
        return self.says


def worker(engine: Engine, agents: Ask, name: str = "security") -> Ask:
    memory = ThreadMemory(engine)
    return with_thread_memory(name, lambda: memory)(agents)


def notes(answer: Answer) -> tuple[str, ...]:
    return answer.trace.notes if answer.trace else ()


def test_the_next_question_knows_what_the_one_before_was_about(engine: Engine) -> None:
    agents = Scripted()
    worker(engine, agents)(Question(text="how old?", conversation=talk("a")), None)
    worker(engine, agents)(Question(text="and webhooks?", conversation=talk("b")), None)
    (turn,) = agents.questions[1].earlier
    assert (turn.asked, turn.question) == ("how old?", "how old may a signing key get?")
    assert (turn.path, turn.documents) == ("company_specific_rag_success", ("key-rotation",))
    assert [(one.document, one.heading) for one in turn.cited] == [("key-rotation", "Maximum age")]
    assert turn.options == OPTIONS


def test_another_thread_and_another_domain_know_nothing_of_it(engine: Engine) -> None:
    agents = Scripted()
    worker(engine, agents)(Question(text="one", conversation=talk("a")), None)
    worker(engine, agents)(Question(text="two", conversation=talk("b", "slack/C1/2.0")), None)
    worker(engine, agents, "privacy")(Question(text="three", conversation=talk("c")), None)
    assert agents.told == [(), (), ()]


def test_without_a_conversation_nothing_is_kept(engine: Engine) -> None:
    ThreadMemory(engine).recall(talk("a"), "security")
    worker(engine, Scripted())(Question(text="how old?"), None)
    with engine.connect() as connection:
        assert connection.execute(select(ThreadRow)).all() == []


def test_small_talk_is_not_kept(engine: Engine) -> None:
    agents = Scripted()
    ask = worker(engine, agents)
    ask(Question(text="how old?", conversation=talk("a")), None)
    agents.says = replace(agents.says, path="small_talk")
    ask(Question(text="thanks!", conversation=talk("b")), None)
    ask(Question(text="and webhooks?", conversation=talk("c")), None)
    assert agents.told[2] == ("how old?",)


def test_a_message_that_is_answered_again_knows_only_what_came_before_it(engine: Engine) -> None:
    agents = Scripted()
    ask = worker(engine, agents)
    for message in ("a", "b", "c"):
        ask(Question(text=f"{message}?", conversation=talk(message)), None)
    ask(Question(text="b, edited?", conversation=talk("b")), None)
    ask(Question(text="d?", conversation=talk("d")), None)
    assert agents.told[3:] == [("a?",), ("a?", "b, edited?", "c?")]


def test_a_long_thread_keeps_its_last_turns(engine: Engine) -> None:
    agents = Scripted()
    ask = worker(engine, agents)
    for number in range(MAX_TURNS + 3):
        ask(Question(text=f"{number}?", conversation=talk(str(number))), None)
    assert len(agents.told[-1]) == MAX_TURNS
    assert agents.told[-1][-1] == f"{MAX_TURNS + 1}?"


def test_questions_asked_at_once_in_one_thread_are_all_kept(engine: Engine) -> None:
    together, count = threading.Barrier(8), 8
    results: list[Answer] = []

    def one(number: int) -> None:
        def agents(question: Question, progress: object = None) -> Answer:
            together.wait(30)
            return Scripted().says

        ask = worker(engine, agents)
        results.append(ask(Question(text=f"{number}?", conversation=talk(str(number))), None))

    workers = [threading.Thread(target=one, args=(number,)) for number in range(count)]
    for thread in workers:
        thread.start()
    for thread in workers:
        thread.join(60)
    turns, _ = ThreadMemory(engine).recall(talk("last"), "security")
    assert {turn.id for turn in turns} == {str(number) for number in range(count)}
    assert [notes(answer) for answer in results] == [()] * count


@pytest.mark.parametrize(
    "kept",
    [
        "no JSON", "[]", "{}", '{"checkpoint": {"id": "1"}}', "null",
        '{"checkpoint": null, "metadata": {}}', "[" * 5_000,
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_noted_and_the_next_turn_is_kept_again(
    engine: Engine, kept: str
) -> None:
    agents = Scripted()
    ask = worker(engine, agents)
    ask(Question(text="a?", conversation=talk("a")), None)
    with engine.begin() as connection:
        connection.execute(update(ThreadRow).values(checkpoint=kept))
    answer = ask(Question(text="b?", conversation=talk("b")), None)
    assert answer.text == "90 days [1]."
    assert notes(answer) == ("what was kept of this thread can't be read: by its words alone",)
    ask(Question(text="c?", conversation=talk("c")), None)
    ask(Question(text="d?", conversation=talk("d")), None)
    assert agents.told == [(), (), (), ("c?",)]


def test_turns_of_another_form_are_noted_too(engine: Engine) -> None:
    agents = Scripted()
    ask = worker(engine, agents)
    ask(Question(text="a?", conversation=talk("a")), None)
    with engine.begin() as connection:
        kept = json.loads(connection.scalars(select(ThreadRow.checkpoint)).one())
        kept["checkpoint"]["channel_values"]["turns"] = [{"id": "a"}]
        connection.execute(update(ThreadRow).values(checkpoint=json.dumps(kept)))
    answer = ask(Question(text="b?", conversation=talk("b")), None)
    assert notes(answer) == ("what was kept of this thread can't be read: by its words alone",)


def test_workers_of_two_releases_leave_each_other_s_state_alone(engine: Engine) -> None:
    agents = Scripted()
    ask = worker(engine, agents)
    ask(Question(text="a?", conversation=talk("a")), None)
    with engine.begin() as connection:
        connection.execute(update(ThreadRow).values(format=FORMAT + 1, checkpoint="of tomorrow"))
    answer = ask(Question(text="b?", conversation=talk("b")), None)
    ask(Question(text="c?", conversation=talk("c")), None)
    assert agents.told == [(), (), ("b?",)]
    assert notes(answer) == ()
    with engine.connect() as connection:
        assert "of tomorrow" in connection.scalars(select(ThreadRow.checkpoint)).all()


def test_a_database_that_is_away_costs_the_memory_and_not_the_answer(tmp_path: Path) -> None:
    away = create_engine(f"sqlite:///{tmp_path / 'no such folder' / 'state.sqlite'}")
    agents = Scripted()
    answer = worker(away, agents)(Question(text="how old?", conversation=talk("a")), None)
    assert answer.text == "90 days [1]."
    assert notes(answer) == (
        "what is kept of this thread is out of reach: answered by its words alone",
    )


def test_a_place_is_forgotten_in_every_domain(engine: Engine) -> None:
    agents = Scripted()
    for name in ("security", "privacy"):
        worker(engine, agents, name)(Question(text="a?", conversation=talk("a")), None)
    worker(engine, agents)(Question(text="b?", conversation=talk("b", "slack/C1/2.0")), None)
    with engine.begin() as connection:
        forget_places(connection, ["slack/C1/1.0"])
        assert len(turns_of_people(connection, ["U0DANA"])) == 1


def test_what_was_begun_too_long_ago_goes_domain_by_domain(engine: Engine) -> None:
    agents = Scripted()
    for name in ("security", "privacy"):
        worker(engine, agents, name)(
            Question(text="a?", conversation=talk("a", f"slack/{name}")), None
        )
    now = datetime.now(UTC).replace(tzinfo=None)
    with engine.begin() as connection:
        assert set(stored_domains(connection)) == {"security", "privacy"}
        assert forget_begun_before(connection, "security", now - timedelta(days=1)) == 0
        assert forget_begun_before(connection, "security", now + timedelta(days=1)) == 1
        assert stored_domains(connection) == ["privacy"]


def test_a_person_is_handed_their_own_turns_and_erased_with_their_threads(engine: Engine) -> None:
    ask = worker(engine, Scripted())
    ask(Question(text="mine?", conversation=talk("a")), None)
    ask(Question(text="theirs?", conversation=talk("b", asker="U0INES")), None)
    ask(Question(text="alone?", conversation=talk("c", "slack/C1/2.0", asker="U0INES")), None)
    with engine.begin() as connection:
        (mine,) = turns_of_people(connection, ["U0DANA"])
        assert (mine["asked"], mine["domain"], mine["options"]) == (
            "mine?", "security", list(OPTIONS)
        )  # fmt: skip
        assert forget_threads_of(connection, ["U0DANA"]) == 1
        assert turns_of_people(connection, ["U0DANA"]) == []
        assert [one["asked"] for one in turns_of_people(connection, ["U0INES"])] == ["alone?"]


def agents_over(engine: Engine, *documents: str) -> Ask:
    found = snapshot(*documents)
    ask = build_ask(snapshot=lambda: found, domain=domain("standard"), model=None)
    return worker(engine, ask)


def test_an_offered_reading_is_picked_by_its_place(engine: Engine) -> None:
    agents = Scripted()
    agents.says = replace(agents.says, path="ambiguous_query")
    worker(engine, agents)(Question(text="how old?", conversation=talk("a")), None)
    ask = agents_over(engine, ROTATION)
    answer = ask(Question(text="the second one", conversation=talk("b")), None)
    assert answer.standalone_question == OPTIONS[1]


def test_nothing_is_leant_on_that_is_no_longer_readable(engine: Engine) -> None:
    agents = Scripted()
    agents.says = replace(agents.says, path="ambiguous_query", documents=frozenset({"laptops"}))
    worker(engine, agents)(Question(text="how old?", conversation=talk("a")), None)
    answer = agents_over(engine, ROTATION)(
        Question(text="the second one", conversation=talk("b")), None
    )
    assert "webhook" not in repr(answer.standalone_question)
    again = agents_over(engine, ROTATION, LAPTOPS)(
        Question(text="the second one", conversation=talk("b")), None
    )
    assert again.standalone_question == OPTIONS[1]


def test_a_follow_up_without_history_leans_on_what_was_kept(engine: Engine) -> None:
    ask = agents_over(engine, ROTATION, LAPTOPS)
    first = "what is the maximum age of an API signing key for restricted data?"
    ask(Question(text=first, conversation=talk("a")), None)
    answer = ask(Question(text="and a webhook secret?", conversation=talk("b")), None)
    assert answer.standalone_question.startswith(first.rstrip("?"))
    assert "Webhook secret" in answer.text
