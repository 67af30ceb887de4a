from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import Engine

from agents.answer import Answer, Question
from agents.plan import Trace
from agents.steps import Progress, Step
from config.domain import Domain
from config.errors import IndexUnavailable
from config.settings import Settings
from enrichment.chunk import Chunk
from index.search import Hit
from index.store.database import open_database
from jobs.evaluation.asking import ask_all, version_of
from jobs.evaluation.metrics.retrieval import Retrieved
from jobs.evaluation.reply_store import VERSIONS, SqlReplyStore
from jobs.golden.questions import GoldenQuestion

ROOT = Path(__file__).parents[3]


def questions(count: int) -> list[GoldenQuestion]:
    return [
        GoldenQuestion.model_validate(
            {"id": f"q{n}", "kind": "lookup", "question": f"question {n}",
             "evidence": [{"document": "keys", "quote": f"answer {n}"}]}
        )
        for n in range(count)
    ]  # fmt: skip


class Asked:
    """Answers, and remembers what it was asked."""

    def __init__(self, *, degraded: bool = False) -> None:
        self.questions: list[str] = []
        self._degraded = ("answer",) if degraded else ()

    def __call__(self, question: Question, progress: Progress | None) -> Answer:
        self.questions.append(question.text)
        chunk = Chunk(
            id="c1",
            document_id="keys",
            document_title="Keys",
            kind="text",
            position=0,
            heading_path=("Keys",),
            text=question.text.replace("question", "answer"),
            index_text="",
            tokens=3,
        )
        if progress:
            progress.step(Step.SEARCH, "Searching…")
            progress.delta("It ")
        return Answer(
            text=f"to {question.text}",
            path="company_specific_rag_success",
            confidence=0.5,
            degraded=self._degraded,
            trace=Trace(hits=(Hit(chunk=chunk, score=1.0),)),
        )


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    opened = open_database(Settings.model_validate({"data_dir": tmp_path}))
    yield opened
    opened.dispose()


def test_replies_come_in_the_order_of_the_questions_and_repeats() -> None:
    asked = Asked()
    replies = ask_all(asked, questions(5), parallel=4, repeats=2)
    assert [(one.question.id, one.repeat) for one in replies] == [
        (f"q{n}", repeat) for n in range(5) for repeat in (1, 2)
    ]
    assert sorted(asked.questions) == sorted([f"question {n}" for n in range(5)] * 2)
    first = replies[0]
    assert first.retrieved == (
        Retrieved(chunk="c1", document="keys", heading="Keys", evidence=(0,)),
    )
    assert first.first_token_ms is not None
    assert first.answer.trace is None


def test_at_most_so_many_are_asked_at_a_time() -> None:
    together = threading.Barrier(3, timeout=120)
    now, most, lock = 0, 0, threading.Lock()

    def ask(question: Question, progress: Progress | None) -> Answer:
        nonlocal now, most
        with lock:
            now += 1
            most = max(most, now)
        together.wait()  # passes only when three are asked at once
        with lock:
            now -= 1
        return Answer(text="", path="no_answer_found", confidence=0.0)

    ask_all(ask, questions(6), parallel=3)
    assert most == 3


def test_what_an_earlier_run_was_told_is_not_asked_again(engine: Engine) -> None:
    kept = SqlReplyStore(engine, "security", "v1")
    before, after = Asked(), Asked()
    told = ask_all(before, questions(3), replies=kept, repeats=2)
    again = ask_all(after, questions(4), replies=SqlReplyStore(engine, "security", "v1"), repeats=2)
    assert after.questions == ["question 3", "question 3"]
    assert [one.answer for one in again[:6]] == [one.answer for one in told]
    assert [one.retrieved for one in again[:6]] == [one.retrieved for one in told]
    assert [one.reused for one in again] == [True] * 6 + [False] * 2


def test_a_question_that_changed_is_asked_again(engine: Engine) -> None:
    kept = SqlReplyStore(engine, "security", "v1")
    one = questions(1)[0]
    ask_all(Asked(), [one], replies=kept)
    asked = Asked()
    other_reference = one.model_copy(update={"reference": "better said"})
    ask_all(asked, [other_reference], replies=kept)
    assert asked.questions == []
    ask_all(asked, [one.model_copy(update={"question": "another"})], replies=kept)
    assert asked.questions == ["another"]


def test_another_version_and_anew_ask_again(engine: Engine) -> None:
    ask_all(Asked(), questions(1), replies=SqlReplyStore(engine, "security", "v1"))
    for kept in (
        SqlReplyStore(engine, "security", "v2"),
        SqlReplyStore(engine, "security", "v1", ask_again=True),
    ):
        asked = Asked()
        ask_all(asked, questions(1), replies=kept)
        assert len(asked.questions) == 1


def test_what_an_outage_made_of_an_answer_is_not_kept(engine: Engine) -> None:
    kept = SqlReplyStore(engine, "security", "v1")
    ask_all(Asked(degraded=True), questions(2), replies=kept)
    asked = Asked()
    ask_all(asked, questions(2), replies=kept)
    assert len(asked.questions) == 2


def test_old_versions_of_a_domain_are_forgotten(engine: Engine) -> None:
    for number in range(VERSIONS + 2):
        ask_all(Asked(), questions(1), replies=SqlReplyStore(engine, "security", f"v{number}"))
    SqlReplyStore(engine, "security", "newer")
    assert SqlReplyStore(engine, "security", "v0").find(questions(1)[0], 1) is None
    last = SqlReplyStore(engine, "security", f"v{VERSIONS + 1}")
    assert last.find(questions(1)[0], 1) is not None


def test_without_an_index_the_run_ends_and_keeps_what_it_was_told(engine: Engine) -> None:
    good = Asked()

    def ask(question: Question, progress: Progress | None) -> Answer:
        if question.text == "question 2":
            raise IndexUnavailable("nothing has been published")
        return good(question, progress)

    kept = SqlReplyStore(engine, "security", "v1")
    with pytest.raises(IndexUnavailable):
        ask_all(ask, questions(3), replies=kept, parallel=1)
    assert kept.find(questions(3)[0], 1) is not None


KILLED = """
import os, signal, sys
from pathlib import Path
sys.path.insert(0, {root!r})
from config.settings import Settings
from index.store.database import open_database
from jobs.evaluation.asking import ask_all
from jobs.evaluation.reply_store import SqlReplyStore
from tests.jobs.evaluation.test_asking import Asked, questions

class Killed(Asked):
    def __call__(self, question, progress):
        if len(self.questions) == 4:
            os.kill(os.getpid(), signal.SIGKILL)
        return super().__call__(question, progress)

engine = open_database(Settings.model_validate({{"data_dir": Path({data!r})}}))
ask_all(Killed(), questions(6), replies=SqlReplyStore(engine, "security", "v1"))
"""


@pytest.mark.kill
def test_a_run_that_was_killed_goes_on_and_asks_nothing_twice(tmp_path: Path) -> None:
    script = textwrap.dedent(KILLED).format(root=str(ROOT), data=str(tmp_path))
    ended = subprocess.run([sys.executable, "-c", script], check=False, cwd=ROOT, env=os.environ)
    assert ended.returncode == -signal.SIGKILL
    engine = open_database(Settings.model_validate({"data_dir": tmp_path}))
    asked = Asked()
    replies = ask_all(asked, questions(6), replies=SqlReplyStore(engine, "security", "v1"))
    engine.dispose()
    assert asked.questions == ["question 4", "question 5"]
    assert len(replies) == 6


def test_a_version_changes_with_what_answers_depend_on_and_with_nothing_else() -> None:
    domain = Domain.model_validate({"domain": "d", "title": "D", "sources": {}})
    same = version_of(domain, index="one", model="m")
    assert version_of(domain, index="one", model="m") == same
    assert version_of(domain, index="two", model="m") != same
    assert version_of(domain, index="one", model="n") != same
    with_glossary = domain.model_copy(update={"glossary": {"SG": ["Singapore"]}})
    assert version_of(with_glossary, index="one", model="m") != same
    in_a_channel = domain.model_copy(update={"channels": ["C0SECURITY"]})
    assert version_of(in_a_channel, index="one", model="m") == same
