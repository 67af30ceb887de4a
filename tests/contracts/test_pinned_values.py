"""What the last release stored as JSON is read, and written back the same."""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from pydantic import TypeAdapter
from sqlalchemy import Engine, MetaData, create_engine, insert, select, text

from agents.answer import Answer, Conversation, EarlierTurn
from agents.confidence import ThresholdStore
from agents.freshness.cited_places import CitedSection
from agents.judging.corrections import CorrectionStore
from agents.thread.memory import ThreadMemory
from bot.features.answering.screenshots import ReadFile
from bot.features.checklists.progress import Runbook
from bot.features.checklists.store import ChecklistStore
from bot.questions.store import decode_answer, encode_answer
from bot.slack.events import IncomingMessage
from enrichment.chunk import Chunk, DocumentCard
from index.store.documents import Store
from jobs.canary.store import CanaryStore
from jobs.evaluation.agreement import JudgeCardStore
from jobs.evaluation.history import keep_run, run_report
from jobs.evaluation.reply_store import SqlReplyStore
from jobs.golden.questions import GoldenQuestion
from jobs.ingest.handoff_store import PreparationStore
from jobs.ingest.shared_queue import PreparationTask, read_assignment, written_assignment
from jobs.schedule.runs import RunStore
from loaders.document import Document
from tests.contracts.every_table import make_every_table
from tests.contracts.pins import check_json, read_json

ROWS = read_json("stored-rows.json")
"""Table → rows as the last release wrote them; bytes as base64, times as text."""
TYPES: dict[str, Any] = {
    "answer": Answer,
    "asked": IncomingMessage,
    "assignment": PreparationTask,
    "card": DocumentCard,
    "chunk": Chunk,
    "document": Document,
    "place": CitedSection,
    "runbook": Runbook,
    "screenshots": tuple[ReadFile, ...],
    "turns": tuple[EarlierTurn, ...],
}


def same(value: Any) -> Any:
    """Of sets, which have no order, sorted lists."""
    if isinstance(value, dict):
        return {name: same(one) for name, one in value.items()}
    if isinstance(value, list):
        held = [same(one) for one in value]
        return sorted(held) if held and all(isinstance(one, str) for one in held) else held
    return value


def values() -> list[tuple[str, str]]:
    return [(kind, one) for kind, several in read_json("stored-values.json").items()
            for one in several]  # fmt: skip


@pytest.mark.parametrize(("kind", "stored"), values())
def test_a_value_is_written_back_as_it_was_read(kind: str, stored: str) -> None:
    adapter = TypeAdapter(TYPES[kind])
    again = adapter.dump_json(adapter.validate_json(stored))
    assert same(json.loads(again)) == same(json.loads(stored))
    assert list(json.loads(again)) == list(json.loads(stored)), "in the same order"


def test_every_type_is_sampled() -> None:
    assert {kind for kind, _ in values()} == set(TYPES)


def test_types_that_are_stored_keep_their_fields() -> None:
    """As their JSON schemas; classes may be called otherwise."""
    schemas = {
        kind: TypeAdapter(of).json_schema(mode="serialization") for kind, of in TYPES.items()
    }
    named = {
        kind: [without_names(schema, schema.get("$defs", {}))] for kind, schema in schemas.items()
    }
    check_json("stored-fields.json", named)


def without_names(schema: Any, known: dict[str, Any], depth: int = 9) -> Any:
    """References resolved; without titles, descriptions and the list of definitions."""
    if isinstance(schema, list):
        return [without_names(one, known, depth) for one in schema]
    if not isinstance(schema, dict):
        return schema
    if reference := schema.get("$ref"):
        return without_names(known[reference.rpartition("/")[2]], known, depth - 1) if depth else {}
    left_out = ("title", "description", "$defs", "discriminator")
    if "properties" in schema:
        kept = {
            name: without_names(one, known, depth) for name, one in schema["properties"].items()
        }
        rest = {k: v for k, v in schema.items() if k not in (*left_out, "properties")}
        return {**rest, "properties": kept}
    return {
        name: without_names(one, known, depth)
        for name, one in schema.items()
        if name not in left_out
    }


def written(value: Any) -> Any:
    """As the file of rows has it."""
    if isinstance(value, bytes):
        return {"bytes": base64.b64encode(value).decode()}
    return {"time": value.isoformat()} if isinstance(value, datetime) else value


def read(value: Any) -> Any:
    match value:
        case {"bytes": held}:
            return base64.b64decode(held)
        case {"time": held}:
            return datetime.fromisoformat(held)
    return value


class Databases:
    """One with the last release's rows, an empty one for what is written back."""

    def __init__(self, folder: Path) -> None:
        self.old, self.new = (
            create_engine(f"sqlite:///{folder / name}.sqlite") for name in ("old", "new")
        )
        for engine in (self.old, self.new):
            make_every_table(folder, engine)
            self.empty(engine)
        known = MetaData()
        known.reflect(self.old)
        with self.old.begin() as connection:
            for table, rows in ROWS.items():
                for row in rows:
                    held = {name: read(value) for name, value in row.items()}
                    connection.execute(insert(known.tables[table]).values(held))
        self.tables = known.tables

    def empty(self, engine: Engine) -> None:
        with engine.begin() as connection:
            for name in ROWS:
                connection.execute(text(f'DELETE FROM "{name}"'))  # noqa: S608 - names of the file

    def close(self) -> None:
        self.old.dispose()
        self.new.dispose()

    def check(self, table: str, *but: str) -> None:
        """What was written back is what was there; packed JSON is compared unpacked."""
        (before, after) = (self._rows(engine, table, but) for engine in (self.old, self.new))
        assert before
        assert after == before

    def _rows(self, engine: Engine, table: str, but: tuple[str, ...]) -> list[dict[str, Any]]:
        with engine.connect() as connection:
            rows = connection.execute(select(self.tables[table])).mappings().all()
        return sorted(
            (
                {name: same(plain(value)) for name, value in row.items() if name not in but}
                for row in rows
            ),
            key=str,
        )


def plain(value: Any) -> Any:
    """Unpacked, and parsed where it is JSON."""
    if isinstance(value, bytes):
        value = zlib.decompress(value).decode()
    if isinstance(value, str) and value[:1] in ("{", "["):
        return json.loads(value)
    return value


@pytest.fixture(scope="module")
def databases(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Databases]:
    both = Databases(tmp_path_factory.mktemp("values"))
    yield both
    both.close()


def only(table: str) -> dict[str, Any]:
    (row,) = ROWS[table]
    return {name: read(value) for name, value in row.items()}


def test_answers_of_questions() -> None:
    for kind, stored in values():
        if kind == "answer":
            # Older releases stored the trace with the answer.
            expected = {**json.loads(stored), "trace": None}
            assert same(json.loads(encode_answer(decode_answer(stored)))) == same(expected)


def test_threads(databases: Databases) -> None:
    """Read by the place that they were kept under."""
    talk = Conversation(place="slack/C0SECURITY/1.1", message="C0SECURITY:9.9", asker="U0DANA")
    earlier, note = ThreadMemory(databases.old).recall(talk, "security")
    assert note == ""
    turns = json.loads(TypeAdapter(tuple[EarlierTurn, ...]).dump_json(earlier))
    stored = json.loads(only("agent_threads")["checkpoint"])["checkpoint"]["channel_values"]
    assert turns == stored["turns"]
    memory = ThreadMemory(databases.new)
    for turn in earlier:
        before = Conversation(place=talk.place, message=turn.id, asker=turn.asker)
        assert memory.remember(before, "security", turn) == ""
    assert memory.turns_at(talk.place) == ThreadMemory(databases.old).turns_at(talk.place)
    databases.check("agent_threads", "checkpoint", "checkpoint_id", "begun_at")


def test_checklists(databases: Databases) -> None:
    checklist = ChecklistStore(databases.old).get(only("bot_checklists")["id"])
    assert checklist
    assert ChecklistStore(databases.new).begin(checklist)
    databases.check("bot_checklists")


def test_replies_to_golden_questions(databases: Databases) -> None:
    question = GoldenQuestion(id="q1", kind="lookup", question="How long?")
    reply = SqlReplyStore(databases.old, "security", "v").find(question, 1)
    assert reply
    SqlReplyStore(databases.new, "security", "v").keep(reply)
    databases.check("evaluation_replies", "given_at")


def test_runs_of_evaluations(databases: Databases) -> None:
    keep_run(databases.new, run_report(databases.old, "last"))
    databases.check("evaluation_runs")


def test_canaries(databases: Databases) -> None:
    domain = only("canary_results")["domain"]
    last = CanaryStore(databases.old, domain).last()
    assert last
    CanaryStore(databases.new, domain).keep(last)
    databases.check("canary_results", "measured_at")


def test_report_cards_of_the_judge(databases: Databases) -> None:
    row = only("judge_cards")
    card = JudgeCardStore(databases.old).of(row["domain"], row["judge"])
    assert card
    JudgeCardStore(databases.new).keep(row["domain"], row["judge"], card)
    databases.check("judge_cards")


def test_corrections_of_the_judge(databases: Databases) -> None:
    domain = only("judge_corrections")["domain"]
    corrections = CorrectionStore(databases.old).of(domain)
    assert corrections
    CorrectionStore(databases.new).keep(domain, corrections)
    databases.check("judge_corrections")


def test_thresholds(databases: Databases) -> None:
    row = only("confidence_thresholds")
    found = ThresholdStore(databases.old, row["model"]).of(row["domain"], row["max_wrong"])
    ThresholdStore(databases.new, row["model"]).keep(row["domain"], found)
    databases.check("confidence_thresholds")


def test_documents_that_are_handed_over(databases: Databases) -> None:
    for row in ROWS["ingest_loaded"]:
        loaded = PreparationStore(databases.old, row["domain"]).loaded(row["document_id"])
        assert loaded
        digest = PreparationStore(databases.new, row["domain"]).keep(loaded.document)
        assert digest == row["digest"]
    databases.check("ingest_loaded", "deaths")


def test_prepared_documents_that_are_handed_over(databases: Databases) -> None:
    for row in ROWS["ingest_prepared"]:
        wanted = {(row["document_id"], row["way"]): [row["digest"]]}
        (prepared,) = PreparationStore(databases.old, row["domain"]).completed(wanted)
        PreparationStore(databases.new, row["domain"]).finish(prepared, row["digest"])
    databases.check("ingest_prepared")


def test_published_documents(databases: Databases) -> None:
    """By their digest, which is that of the JSON: another one, and all is published anew."""
    old, new = Store(databases.old), Store(databases.new)
    for row in ROWS["index_revisions"]:
        card = TypeAdapter(DocumentCard).validate_json(row["card"])
        content = [chunk for _, chunk in old.content(row["id"])]
        assert len(content) == row["chunks"]
        assert new.save(row["domain"], card, content).digest == row["digest"]


def test_runs_of_ingestion(databases: Databases) -> None:
    domain = ROWS["ingest_runs"][0]["domain"]
    for run in reversed(RunStore(databases.old).of(domain)):
        RunStore(databases.new).end(run)
    databases.check("ingest_runs")


def test_assignments_in_the_queue() -> None:
    stored = [one for kind, one in values() if kind == "assignment"]
    assert [written_assignment(read_assignment(one)) for one in stored] == stored
    digests = [read_assignment(one).digest for one in stored]
    check_json("assignment-digests.json", digests)
