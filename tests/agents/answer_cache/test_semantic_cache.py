"""When an answer is given again, and what happens when its table can't be used."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from secrets import token_hex
from typing import Any

import numpy as np
import pytest
from sqlalchemy import Engine, create_engine, text

from agents.answer import Answer, Citation, Conversation, EarlierTurn, Question, Turn
from agents.answer_cache import store as kept_answers
from agents.answer_cache.cache import CachedAnswer, SemanticCache
from agents.answer_cache.store import CachedAnswerStore
from agents.graph import build_ask
from agents.thread.memory import ThreadMemory, with_thread_memory
from config.domain import Domain
from config.models import Usage, Vectors
from config.settings import Settings
from durable.database import now
from index.permissions.rules import visible_to
from index.search import Snapshot
from index.store.database import open_database
from loaders.document import Permission
from tests.agents.corpus import domain, snapshot
from tests.agents.memory import MemorySnapshot, bag_of_words
from tests.agents.scripted import PLAN, ScriptedModel
from tests.agents.test_with_a_model import good
from tests.databases import engine_of, postgresql_database

ASKED = "How old may an API signing key get?"
REWORDED = "Could you tell me how old an API signing key may get?"
GIVEN = Answer(
    text="It may be 60 days old [1].",
    path="company_specific_rag_success",
    confidence=0.95,
    citations=(
        Citation(
            number=1, document="key-rotation", title="Key Rotation Standard", heading="Maximum age",
            url="https://docs.example/key", quote="API signing key: 60 days",
        ),
    ),
    documents=frozenset({"key-rotation"}),
    usage=Usage(calls=3, input_tokens=900, output_tokens=40),
    standalone_question=ASKED,
)  # fmt: skip


class Words:
    """Texts that share words have near vectors."""

    name = "words"
    dimensions = 512
    max_tokens = 256
    language = ""

    def count_tokens(self, text: str) -> int:
        return len(text.split())

    def knows(self, word: str) -> bool:
        return True

    def __call__(self, texts: Sequence[str]) -> Vectors:
        return bag_of_words(texts, self.dimensions).astype(np.float32)


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with postgresql_database() as url:
        yield url


@pytest.fixture(params=["sqlite", "postgresql"])
def engine(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Engine]:
    with engine_of(request, tmp_path, "cached_answers") as opened:
        yield opened


def cache_on(
    engine: Engine,
    file: Domain | None = None,
    *,
    model: str = "sonnet",
    embedder: Words | None = None,
) -> SemanticCache:
    return SemanticCache(
        open_store=lambda: CachedAnswerStore(engine),
        embedder=embedder or Words(),
        domain=file or domain("standard"),
        model=model,
    )


def asked(words: str, *, readers: frozenset[str] | None = None) -> Question:
    return Question(text=words, readers=readers)


def found(
    cache: SemanticCache,
    words: str,
    known: Snapshot | None = None,
    *,
    readers: frozenset[str] | None = None,
) -> Answer | None:
    return cache.find(words, asked(words, readers=readers), known or snapshot()).answer


def kept(engine: Engine, answer: Answer = GIVEN, words: str = ASKED) -> SemanticCache:
    cache = cache_on(engine)
    cache.keep(answer, asked(words), snapshot())
    return cache


def test_the_same_question_in_other_words_gets_the_answer_given_before(engine: Engine) -> None:
    again = found(kept(engine), REWORDED)
    assert again is not None
    assert (again.path, again.original_path) == ("cached", "company_specific_rag_success")
    assert again.text == GIVEN.text
    assert again.citations == GIVEN.citations
    assert again.usage == Usage()
    assert again.cache_similarity is not None
    assert 0.7 <= again.cache_similarity <= 1.0


def test_the_words_of_whoever_asked_first_stay_out_of_anothers_answer(engine: Engine) -> None:
    lookup = kept(engine).find(REWORDED, asked(REWORDED), snapshot())
    assert lookup.note.startswith("answered before, on ")
    assert ASKED not in repr(lookup)


def test_how_near_the_nearest_question_is_is_told_also_where_it_asks_something_else(
    engine: Engine,
) -> None:
    cache = kept(engine)
    cache.keep(GIVEN, asked("Who cleans the kitchen?"), snapshot())
    near = cache.find("How old may a webhook secret get?", asked("x"), snapshot())
    far = cache.find("Where is the moon?", asked("x"), snapshot())
    assert (near.answer, far.answer) == (None, None)
    assert near.nearest is not None
    assert far.nearest is not None
    assert 0 <= far.nearest < near.nearest < 1
    nobody_s = cache_on(engine, model="opus").find(ASKED, asked(ASKED), snapshot())
    assert nobody_s.nearest is None


@pytest.mark.parametrize(
    "other",
    [
        "How old may a webhook secret get?",
        "How old must an API signing key get?",
        "How old may an API signing key not get?",
        "Who may get an API signing key?",
    ],
)
def test_another_question_does_not(engine: Engine, other: str) -> None:
    assert found(kept(engine), other) is None


def test_questions_below_the_similarity_of_the_domain_file_are_not_compared(
    engine: Engine,
) -> None:
    file = domain("standard")
    strict = file.answer.cache.model_copy(update={"similarity": 1.0})
    answering = file.answer.model_copy(update={"cache": strict})
    cache = cache_on(engine, file.model_copy(update={"answer": answering}))
    cache.keep(GIVEN, asked(ASKED), snapshot())
    assert found(cache, "How old may the API signing key of a payment system get?") is None
    assert found(cache, ASKED) is not None


@pytest.mark.parametrize(
    "change",
    [
        {"path": "no_answer_found"},
        {"confidence": 0.89},
        {"confidence_parts": {"groundedness": 0.9}},
        {"confidence_parts": {"groundedness": 1.0, "off subject": 1.0}},
        {"cut": True},
        {"degraded": ("answer",)},
        {"usage": Usage()},
        {"citations": ()},
        {"text": "It is due today [1]."},
    ],
)
def test_what_is_unsure_partial_or_of_today_is_not_kept(
    engine: Engine, change: dict[str, object]
) -> None:
    assert found(kept(engine, replace(GIVEN, **change)), ASKED) is None  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "words",
    [
        "How old may an API signing key get today?",
        "Am I the owner of an API signing key?",
        "How old may my team's API signing key get?",
        "Which API signing key expires this week?",
        "And how old may an API signing key get?",
    ],
)
def test_what_depends_on_the_day_on_the_asker_or_on_what_was_said_is_not_kept(
    engine: Engine, words: str
) -> None:
    assert found(kept(engine, words=words), words) is None


BEFORE = EarlierTurn(
    id="1", asker="U0YOU", asked="about webhooks", question="about webhooks", path="cached"
)


@pytest.mark.parametrize(
    "lent",
    [{"history": (Turn(role="user", content="about keys"),)}, {"earlier": (BEFORE,)}],
)
def test_a_follow_up_is_answered_from_the_cache_and_never_kept(
    engine: Engine, lent: dict[str, Any]
) -> None:
    """Whoever writes the turns before chooses what is searched, whatever the question says."""
    cache = cache_on(engine)
    for words in (ASKED, "and API signing keys?"):
        cache.keep(GIVEN, Question(text=words, **lent), snapshot())
    assert CachedAnswerStore(engine).counts() == {}
    assert kept(engine).find(ASKED, Question(text="and they?", **lent), snapshot()).answer


def test_an_answer_belongs_to_the_clock_that_it_was_written_for(engine: Engine) -> None:
    cache = cache_on(engine)
    summer = datetime(2026, 7, 1, 9, tzinfo=UTC)

    def on_the_clock_of(zone: str) -> Question:
        return Question(text=ASKED, asked_at=summer, time_zone=zone)

    cache.keep(GIVEN, on_the_clock_of("Europe/Berlin"), snapshot())
    for zone, is_given in (("Europe/Paris", True), ("Asia/Singapore", False), ("nowhere", False)):
        again = cache.find(ASKED, on_the_clock_of(zone), snapshot())
        assert bool(again.answer) is is_given, zone


def in_a_conversation(engine: Engine, model: ScriptedModel) -> Callable[[str, str], Answer]:
    """The agents with a cache and memory of threads: (conversation, text) → answer."""
    memory, found_by_all = ThreadMemory(engine), snapshot()
    agents = build_ask(
        snapshot=lambda: found_by_all,
        domain=domain("standard"),
        model=model,
        cache=cache_on(engine),
        needed=lambda: 0.0,
    )
    ask = with_thread_memory("security", lambda: memory)(agents)

    def run(place: str, text: str) -> Answer:
        talk = Conversation(place=place, message=token_hex(4), asker=place)
        return ask(Question(text=text, conversation=talk), None)

    return run


def test_nobody_answers_anothers_question_by_what_they_said_before(engine: Engine) -> None:
    """A follow-up that looks whole is what it leans on, also where only its turns are stored."""
    plan = {**PLAN, "question": "how old may an API signing key for Restricted data get?"}
    model = ScriptedModel({"plan": plan, "answer": good})
    ask = in_a_conversation(engine, model)
    which = "Which form is needed?"
    ask("mallory", "Tell me about API signing keys.")
    ask("mallory", which)
    with engine.connect() as connection:
        questions = connection.scalars(text("SELECT question FROM cached_answers")).all()
    assert which not in questions
    assert ask("ines", which).path != "cached"


def changed(**values: object) -> MemorySnapshot:
    known = snapshot()
    assert isinstance(known, MemorySnapshot)
    card = replace(known.documents["key-rotation"], **values)  # type: ignore[arg-type]
    known.documents = {**known.documents, "key-rotation": card}
    return known


def test_a_document_that_changed_ends_its_answers(engine: Engine) -> None:
    cache = kept(engine)
    assert found(cache, ASKED, changed(content_hash="other")) is None
    assert found(cache, ASKED, changed(superseded_by="key-rotation-2027")) is None
    assert found(cache, ASKED) is not None


def test_another_generation_with_the_same_document_does_not(engine: Engine) -> None:
    later = changed()
    later.generation = 2
    again = found(kept(engine), ASKED, later)
    assert again is not None
    assert again.generation == 2


def test_a_document_that_is_gone_ends_its_answers(engine: Engine) -> None:
    known = changed()
    known.documents = {name: c for name, c in known.documents.items() if name != "key-rotation"}
    assert found(kept(engine), ASKED, known) is None


def test_another_domain_file_model_or_embedder_starts_anew(engine: Engine) -> None:
    kept(engine)
    file = domain("standard")
    told = file.answer.model_copy(update={"instructions": "Answer in French."})

    class Other(Words):
        name = "other words"

    assert found(cache_on(engine, file.model_copy(update={"answer": told})), ASKED) is None
    assert found(cache_on(engine, model="opus"), ASKED) is None
    assert found(cache_on(engine, embedder=Other()), ASKED) is None
    assert found(cache_on(engine), ASKED) is not None


ANN, BOB = frozenset({"ann@example.com"}), frozenset({"bob@example.com"})


def shared(**readers: Sequence[str]) -> MemorySnapshot:
    """Everything is open to Ann and Bob, but for what is said of a document."""
    known = changed()
    open_to = {name.replace("_", "-"): people for name, people in readers.items()}
    known.documents = {
        name: replace(
            card,
            permissions=tuple(
                Permission(kind="user", value=f"{person}@example.com")
                for person in open_to.get(name, ("ann", "bob"))
            ),
        )
        for name, card in known.documents.items()
    }
    return known


def test_readers_of_the_same_documents_share_answers(engine: Engine) -> None:
    cache, known = cache_on(engine), shared()
    cache.keep(GIVEN, asked(ASKED, readers=ANN), visible_to(known, ANN))
    assert found(cache, ASKED, visible_to(known, BOB), readers=BOB) is not None


def test_who_may_not_read_the_source_or_may_read_more_is_answered_anew(engine: Engine) -> None:
    for known in (shared(key_rotation=["ann"]), shared(laptops=["bob"])):
        cache = cache_on(engine)
        CachedAnswerStore(engine).clear()
        cache.keep(GIVEN, asked(ASKED, readers=ANN), visible_to(known, ANN))
        assert found(cache, ASKED, visible_to(known, BOB), readers=BOB) is None
        assert found(cache, ASKED, visible_to(known, ANN), readers=ANN) is not None


def test_a_permission_taken_away_counts_at_once(engine: Engine) -> None:
    cache = cache_on(engine)
    cache.keep(GIVEN, asked(ASKED, readers=BOB), visible_to(shared(), BOB))
    now_closed = visible_to(shared(key_rotation=["ann"]), BOB)
    assert found(cache, ASKED, now_closed, readers=BOB) is None


def test_an_old_answer_is_not_given_again(
    engine: Engine,
) -> None:
    cache = kept(engine)
    with engine.begin() as connection:
        old = now() - timedelta(days=8)
        connection.execute(text("UPDATE cached_answers SET kept_at = :old"), {"old": old})
    assert found(cache, ASKED) is None


def test_clearing_counts_at_once_in_every_process(engine: Engine) -> None:
    cache, elsewhere = kept(engine), CachedAnswerStore(engine)
    assert found(cache, ASKED) is not None
    assert elsewhere.clear("another") == 0
    assert elsewhere.clear("security") == 1
    assert found(cache, ASKED) is None


def test_two_workers_that_keep_the_same_at_once_leave_one_answer(engine: Engine) -> None:
    caches = [cache_on(engine) for _ in range(4)]
    at_once = threading.Barrier(len(caches))

    def keep(cache: SemanticCache) -> None:
        at_once.wait()
        cache.keep(GIVEN, asked(ASKED), snapshot())

    threads = [threading.Thread(target=keep, args=(cache,)) for cache in caches]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert CachedAnswerStore(engine).counts()["security"][0] == 1


def damage(engine: Engine, statement: str) -> None:
    with engine.begin() as connection:
        connection.execute(text(statement))


@pytest.mark.parametrize(
    "statement",
    [
        "DROP TABLE cached_answers",
        "UPDATE cached_answers SET answer = '{'",
        "UPDATE cached_answers SET documents = '[]'",
        "UPDATE cached_answers SET documents = 'x'",
    ],
)
def test_a_damaged_table_is_as_if_there_were_none(engine: Engine, statement: str) -> None:
    cache = kept(engine)
    damage(engine, statement)
    outcome = cache.find(ASKED, asked(ASKED), snapshot())
    assert outcome.answer is None
    cache.keep(GIVEN, asked(ASKED), snapshot())


def test_a_damaged_vector_is_similar_to_nothing(engine: Engine) -> None:
    cache = kept(engine)
    with engine.begin() as connection:
        connection.execute(text("UPDATE cached_answers SET vector = :bytes"), {"bytes": b"00"})
    assert cache.find(ASKED, asked(ASKED), snapshot()).answer is None


def test_a_database_that_is_away_is_noted_and_nothing_more() -> None:
    away = create_engine("postgresql+psycopg://nobody@127.0.0.1:1/none")
    cache = cache_on(away)
    assert "without the cache" in cache.find(ASKED, asked(ASKED), snapshot()).note
    cache.keep(GIVEN, asked(ASKED), snapshot())
    assert cache.find(ASKED, asked(ASKED), snapshot()) != CachedAnswer()


def test_while_another_process_writes_it_is_read_and_nothing_is_kept(tmp_path: Path) -> None:
    engine = open_database(Settings(_env_file=None, data_dir=tmp_path))
    cache = kept(engine)
    with closing(engine.raw_connection()) as writer:
        writer.cursor().execute("BEGIN IMMEDIATE")
        cache.keep(GIVEN, asked("How old may a webhook secret get?"), snapshot())
        assert found(cache, ASKED) is not None
    assert CachedAnswerStore(engine).counts()["security"][0] == 1


def test_the_newest_five_thousand_of_a_domain_are_kept(tmp_path: Path) -> None:
    engine = open_database(Settings(_env_file=None, data_dir=tmp_path))
    kept(engine)
    filled = """
        WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000)
        INSERT INTO cached_answers
            (domain, key, question, question_digest, vector, answer, answer_digest, documents,
             kept_at)
        SELECT domain, key, question || i, 'digest' || i, vector, answer, answer_digest,
               documents, kept_at
        FROM cached_answers, n"""
    damage(engine, filled)
    cache = kept(engine, words="How old may a TLS certificate get?")
    assert CachedAnswerStore(engine).counts()["security"][0] == kept_answers.MAX_PER_DOMAIN
    assert found(cache, "How old may a TLS certificate get?") is not None
