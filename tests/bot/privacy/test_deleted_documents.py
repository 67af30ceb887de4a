"""Deleted means deleted: a document's text is in no table and no file once its time is over."""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr
from sqlalchemy import (
    Engine,
    LargeBinary,
    MetaData,
    String,
    Table,
    create_engine,
    insert,
    select,
    update,
)

from agents.answer import Answer, Cited, Contradiction, Conversation, EarlierTurn
from agents.thread.memory import ThreadMemory
from bot.app import Bot
from bot.blocks.render import FEEDBACK
from bot.features.registry import FEATURE_TABLES
from bot.privacy.deleted_documents import forget_documents
from bot.privacy.other_tables import OTHER_TABLES
from bot.privacy.retention import Retention
from bot.questions.store import QuestionStore, encode_answer
from bot.questions.tables import ExplanationRow, QuestionRow
from config.settings import Settings
from durable.database import now
from index.audit import AuditLog
from index.store.documents import GenerationInfo, Store
from oncall import Copilot
from playground.openai_stand_in import OpenAIStandIn, Request, Scripted
from playground.slack_stand_in import SlackStandIn
from tests.api.front import here
from tests.bot.conftest import Desk, eventually
from tests.bot.fakes import CHANNEL, answer, claim, domain
from tests.bot.privacy.test_every_column import blank
from tests.cli.test_commands import oncall
from tests.contracts.every_table import make_every_table
from tests.databases import postgresql_database
from tests.index.conftest import make_card

WORD = "zorblatqux"
"""Stands in the deleted document alone: nobody asks for it."""
DOMAIN = """\
domain: security
title: Security help
channels: [C0SECURITY]
admins: [U0INES]
sources: {files: [documents]}
"""
VAULT = f"# Vault\n\n## Opening\n\nThe vault opens with the {WORD} lamp on level four.\n"
GARAGE = "# Garage\n\n## Opening\n\nThe garage opens at seven in the morning on weekdays.\n"
ASKED = "what does the vault open with?"
_SOURCE = re.compile(r"<\S+ source (\d+) \|.*?>\n(.*?)\n</", re.DOTALL)


def model(request: Request) -> Scripted:
    """Repeats what it reads, as models do."""
    has_word = WORD in request.text.casefold()
    if request.name == "plan":
        return {"question": "", "kind": "in_domain"}
    if request.name == "sources":
        return {"documents": []}
    if request.name == "enrich_document":
        summary = f"The vault opens with the {WORD} lamp." if has_word else "When the garage opens."
        return {"summary": summary, "document_type": "guide", "keywords": [], "faqs": []}
    if request.name == "enrich_passages":
        passage = {"number": 1, "summary": "", "keywords": [WORD] if has_word else []}
        return {"passages": [passage | {"entities": []}]}
    sources = _SOURCE.findall(request.text)
    asked = request.text.rpartition(" question>")[2]
    for word, text in (("vault", VAULT), ("garage", GARAGE)):
        number = next((n for n, source in sources if text.strip().splitlines()[-1] in source), "")
        if word in asked and number:
            return f"ANSWER\n{text.strip().splitlines()[-1][:-1]} [{number}]."
    return "NOTHING"


@dataclass(frozen=True)
class House:
    folder: Path
    copilot: Copilot
    slack: SlackStandIn
    bot: Bot

    @property
    def desk(self) -> Desk:
        return Desk(self.slack, self.bot, agents=None)  # type: ignore[arg-type]

    def holding(self) -> list[str]:
        """Tables and files with the word, in any case, deflated or not."""
        held = {
            path.name
            for path in (self.folder / "var").rglob("*")
            if path.is_file() and WORD.encode() in path.read_bytes().lower()
        }
        engine = self.bot.engine
        reflected = MetaData()
        reflected.reflect(engine)
        with engine.connect() as connection:
            for table in reflected.tables.values():
                if any(
                    WORD in text(value)
                    for row in connection.execute(table.select())
                    for value in row
                ):
                    held.add(table.name)
        return sorted(held)

    def let_pass(self, hours: float) -> None:
        self.copilot.index.retire(at=datetime.now(UTC) + timedelta(hours=hours))
        self.bot.inbox.stored().forget_done(timedelta())
        self.bot.retention.purge(at=now() + timedelta(hours=hours))


def text(value: Any) -> str:
    if isinstance(value, bytes):
        with suppress(zlib.error):
            value = zlib.decompress(value)
        value = value.decode("utf-8", "replace")
    return str(value).casefold()


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    folder = tmp_path_factory.mktemp("deleted")
    documents = folder / "config/domains/documents"
    documents.mkdir(parents=True)
    (folder / "config/domains/security.yaml").write_text(DOMAIN)
    (documents / "vault.md").write_text(VAULT)
    (documents / "garage.md").write_text(GARAGE)
    with SlackStandIn(enforce_rate_limits=False) as slack, OpenAIStandIn(model) as server:
        settings = Settings(_env_file=None).model_copy(
            update={
                "slack_api_url": slack.api_url,
                "slack_bot_token": SecretStr(slack.bot_token),
                "slack_app_token": SecretStr(slack.app_token),
                "config_dir": folder / "config",
                "data_dir": folder / "var",
                "chat_model": "scripted",
                "openai_base_url": server.base_url,
            }
        )
        copilot = Copilot(settings)
        assert copilot.ingest("security").failed == ()
        bot = copilot.bot()
        bot.inbox.poll_seconds = 0.05
        bot.start()
        try:
            yield House(folder, copilot, slack, bot)
        finally:
            bot.stop(5)
            copilot.index.close()


def test_a_deleted_documents_text_is_in_no_table_and_no_file(house: House) -> None:
    ts, reply = house.desk.ask(ASKED)
    assert WORD in str(reply).casefold()
    chosen = {"value": f"helpful {CHANNEL}:{ts}"}
    house.slack.click(CHANNEL, reply["ts"], FEEDBACK, "U0YOU", chosen=chosen)
    house.desk.ask("and which level is the vault's lamp on?", thread_ts=ts)
    api = here(house.copilot.api(slack=False))
    asked = {"query": ASKED, "conversation_id": "vaults"}
    assert WORD in api.post("/api/agentic_qna", json=asked).text.casefold()
    house.desk.settle()
    held = house.holding()
    link = f"https://tidewater.slack.com/archives/{CHANNEL}/p{ts.replace('.', '')}"
    config = str(house.folder / "config")
    explained = oncall(house.folder, "explain", link, ONCALL_CONFIG_DIR=config)
    assert "Vault › Opening" in explained.stdout
    stored = {"bot_questions", "cached_answers", "index_chunks", "enrichment_replies"}
    assert stored <= set(held)

    (house.folder / "config/domains/documents/vault.md").unlink()
    assert house.copilot.ingest("security").failed == ()
    eventually(lambda: house.copilot.index.snapshot("security").generation == 2)
    house.let_pass(23)
    assert stored <= set(house.holding()), "a rollback is possible"
    house.let_pass(25)
    assert house.holding() == []

    explained = oncall(house.folder, "explain", link, ONCALL_CONFIG_DIR=config)
    assert "no answer of the bot is on record there" in explained.stderr
    records = house.bot.records
    question = records.get(f"{CHANNEL}:{ts}")
    assert question
    assert ASKED in question.text
    assert question.answer is None
    _, again = house.desk.ask("what does the vault open with now?", thread_ts=ts)
    assert WORD not in str(again).casefold()


EXEMPT = {
    # Of generations and of runs in progress, deleted with them; names and reasons, no sentences.
    "index_chunks", "index_revisions", "ingest_loaded", "ingest_prepared", "ingest_notices",
    "ingest_runs", "ingest_told",
    # Replaced by the measurement of the generation without the document.
    "canary_results",
    # Examples that experts wrote.
    "judge_corrections",
}  # fmt: skip


def test_each_table_with_text_of_documents_has_a_rule_for_deleted_ones() -> None:
    by_rule = {one.table.name for one in FEATURE_TABLES.every if one.drawn_from}
    by_rule |= {
        name for name, one in OTHER_TABLES.items() if one.drawn_from or one.packed or one.aged
    }
    with_text = {one.table.name for one in FEATURE_TABLES.every if one.documents}
    with_text |= {name for name, one in OTHER_TABLES.items() if one.documents}
    assert with_text - by_rule == EXEMPT


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def every(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Engine]:
    tmp_path = tmp_path_factory.mktemp("every")
    with ExitStack() as opened:
        url = f"sqlite:///{tmp_path / 'state.sqlite'}"
        if request.param == "postgresql":
            url = opened.enter_context(postgresql_database()).replace("ql://", "ql+psycopg://")
        engine = create_engine(url)
        opened.callback(engine.dispose)
        make_every_table(tmp_path, engine)
        yield engine


def planted(engine: Engine, table: Table, document: str, mark: str) -> None:
    """A row with a text of this document, named as the table's rule finds it."""
    personal = {one.table.name: one for one in FEATURE_TABLES.every}.get(table.name)
    other = OTHER_TABLES.get(table.name)
    columns = [
        *(f"{personal.documents} {personal.emptied}".split() if personal else ()),
        *(f"{other.documents} {other.words}".split() if other else ()),
    ]
    values: dict[str, Any] = blank(table)
    for column in table.columns:
        if isinstance(column.type, String):
            values[column.name] = "security" if column.name == "domain" else mark[-8:]
    if len(table.primary_key) == 1 and "id" in values and not isinstance(values["id"], str):
        del values["id"]
    quoted = json.dumps({"document": document, "text": mark}, ensure_ascii=int(mark[-1]) % 2 == 0)
    for name in columns:
        if isinstance(table.c[name].type, LargeBinary):
            values[name] = zlib.compress(quoted.encode())
        elif not getattr(table.c[name].type, "length", None):
            values[name] = quoted
    drawn_from = personal.drawn_from if personal else other.drawn_from if other else ""
    for name in drawn_from.split():
        if name not in columns:
            values[name] = document if name == "document" else json.dumps([document])
    if other and other.aged:
        values[other.aged] = datetime.now(UTC) - timedelta(days=2)
    with engine.begin() as connection:
        connection.execute(insert(table).values(values))


def everything(engine: Engine, tables: MetaData) -> str:
    with engine.connect() as connection:
        return "\n".join(
            text(value)
            for table in tables.tables.values()
            for row in connection.execute(select(table))
            for value in row
        )


GONE = 'gone%_"\\é'


def test_each_feature_and_cache_forgets_the_deleted_document_alone(every: Engine) -> None:
    reflected = MetaData()
    reflected.reflect(every)
    tables = [one.table.name for one in FEATURE_TABLES.every if one.drawn_from]
    tables += [name for name, one in OTHER_TABLES.items() if one.drawn_from or one.packed]
    marks = (f"{WORD} {number:08}" for number in range(1_000))
    stays, goes = [], []
    for name in tables:
        for document in ("kept", GONE.upper(), GONE.replace("%_", "ab"), GONE[1:]):
            stays.append(next(marks))
            planted(every, reflected.tables[name], document, stays[-1])
    for name in (*tables, *(name for name, one in OTHER_TABLES.items() if one.aged)):
        goes.append(next(marks))
        planted(every, reflected.tables[name], GONE, goes[-1])
    before = everything(every, reflected)
    assert [one for one in (*stays, *goes) if one not in before] == []
    forget_documents(every, FEATURE_TABLES.every, {"security": {GONE}}, now())
    after = everything(every, reflected)
    assert [one for one in stays if one not in after] == []
    assert [one for one in goes if one in after] == []


def answered(engine: Engine, number: int, reply: Answer, domain: str = "security") -> str:
    records, ts = QuestionStore(engine), f"{number}.0"
    record = claim(
        records, question_id=f"C1:{ts}", channel="C1", thread_ts=ts, asker="U0YOU",
        text="own words", event_id=f"Ev{number}", domain=domain,
    )  # fmt: skip
    assert record
    assert records.store_answer(record, domain, reply)
    return record.id


def test_an_answer_goes_whatever_it_owes_to_the_document(every: Engine) -> None:
    cited = answer().citations[0]
    gone = replace(cited, document="gone")
    drawn = [
        answer(citations=(gone,)),
        answer(nearest=(gone,), path="no_answer_found"),
        answer(documents=frozenset({"gone"})),
        answer(restated_from=frozenset({"gone"})),
        answer(contradictions=(Contradiction(about="age", one=cited, other=gone),)),
    ]
    goes = [answered(every, n, one) for n, one in enumerate(drawn)]
    stays = [
        answered(every, 10, answer()),
        answered(every, 11, answer("gone", documents=frozenset({"gone-2"}))),
        answered(every, 12, answer(citations=(gone,)), domain="privacy"),
    ]
    old = encode_answer(answer()).replace('"documents":', '"of_an_older_release":')
    unknown = [answered(every, 20, answer()), answered(every, 21, answer(), domain="privacy")]
    with every.begin() as connection:
        which = QuestionRow.id.in_(unknown)
        connection.execute(update(QuestionRow).where(which).values(answer=old))
        row = {"question_id": goes[0], "at": now(), "explanation": '{"document_id":"gone"}'}
        connection.execute(insert(ExplanationRow).values(row))
    count = forget_documents(every, FEATURE_TABLES.every, {"security": {"gone"}}, now())
    records = QuestionStore(every)

    def remaining(ids: list[str]) -> list[str]:
        return [one for one in ids if (record := records.get(one)) and record.answer]

    assert remaining(goes) == []
    assert remaining(stays) == stays
    assert remaining(unknown) == unknown[1:]
    assert count == len(goes) + 1
    assert {record.text for one in goes if (record := records.get(one))} == {"own words"}
    with every.connect() as connection:
        assert connection.execute(select(ExplanationRow)).all() == []


def test_a_thread_forgets_what_it_repeats_of_the_document_and_goes_on(every: Engine) -> None:
    memory = ThreadMemory(every)
    place = Conversation(place="slack/C1/1.0", message="C1:1.0", asker="U0YOU")
    drawn = EarlierTurn(
        id="C1:1.0", asker="U0YOU", asked="and this?", question=f"what of the {WORD}?", path="",
        documents=("gone", "kept"), options=(f"the {WORD}",), restated_from=("gone",),
        cited=(Cited(document="gone", heading=WORD), Cited(document="kept", heading="Ages")),
    )  # fmt: skip
    other = replace(drawn, id="C1:2.0", question="what of keys?", documents=("kept",),
        restated_from=("kept",), options=("keys",), cited=drawn.cited[1:])  # fmt: skip
    for turn in (drawn, other):
        assert memory.remember(replace(place, message=turn.id), "security", turn) == ""
    forget_documents(every, FEATURE_TABLES.every, {"security": {"gone"}}, now())
    turns, note = memory.recall(replace(place, message="C1:3.0"), "security")
    assert note == ""
    assert turns == (
        replace(
            drawn, question="and this?", options=(), documents=("kept",), restated_from=(),
            cited=drawn.cited[1:],
        ),
        other,
    )  # fmt: skip
    later = replace(other, id="C1:3.0")
    assert memory.remember(replace(place, message="C1:3.0"), "security", later) == ""
    assert WORD not in str(memory.turns_at(place.place))


def test_documents_that_were_deleted_before_they_were_recorded_are_found(tmp_path: Path) -> None:
    engine = create_engine(f"sqlite:///{tmp_path / 'state.sqlite'}")
    retention = Retention(
        engine=engine, features=FEATURE_TABLES,
        domains=lambda: {"security": domain(), "privacy": domain("privacy")},
        audit=AuditLog(engine), settings=Settings(data_dir=tmp_path), unfinished=frozenset,
    )  # fmt: skip
    store, records = Store(engine), QuestionStore(engine)
    card = make_card("key-rotation-standard")
    info = GenerationInfo(
        domain="security", number=1, documents=1, chunks=0, units=0, embedded=0, seconds=0.0,
        created_at=datetime.now(UTC), embedder="words", dimensions=1, digest="",
    )  # fmt: skip
    store.publish(info, [store.save("security", card, ())], {})
    other = replace(answer().citations[0], document="gone")
    stays = [answered(engine, 1, answer()), answered(engine, 2, answer(), domain="privacy")]
    goes = answered(engine, 3, answer(citations=(other,)))
    retention.purge()
    assert store.withdrawn(now() + timedelta(hours=1)) == {"security": {"gone"}}
    retention.purge(at=now() + timedelta(hours=25))
    given = [record.answer for one in (*stays, goes) if (record := records.get(one))]
    assert [bool(one) for one in given] == [True, True, False], "privacy was never published here"
    retention.purge(at=now() + timedelta(days=4))
    assert store.withdrawn(now() + timedelta(hours=1)) == {}
    engine.dispose()
