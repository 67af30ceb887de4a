"""Nothing is kept for ever: what is older than its domain's retention goes, and leaves no trace."""

from __future__ import annotations

import base64
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from dbos._dbos import _get_dbos_instance
from sqlalchemy import Engine, create_engine, func, make_url, select, text, update
from sqlalchemy.exc import DBAPIError

from agents.answer import Answer, Question
from bot.features.registry import FEATURE_TABLES
from bot.privacy.retention import Purged, Retention, UpkeepRow
from bot.questions.store import QuestionStore
from bot.questions.tables import FeedbackRow, HandoffRow, PostRow, QuestionRow
from config.domain import Domain
from config.settings import Settings
from index.audit import AuditEntry, AuditLog, days_ago
from playground.slack.tidewater import SlackUser
from playground.slack_stand_in import SlackStandIn
from tests.bot.conftest import Desk, eventually, running, words
from tests.bot.fakes import CHANNEL, Agents, answer, claim, domain
from tests.databases import postgresql_database

SECRET = "my badge number is heliotrope 4711"
OLD = "C1:1.0"
LIMITS = {"questions_per_user_per_hour": 10_000}
DOMAINS = {
    "security": domain(limits=LIMITS, retention={"days": 30}, escalation={"usergroup": "S0SECENG"}),
    "privacy": domain("privacy", "C0PRIVACY", limits=LIMITS, retention={"days": 60}),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("retention")


@pytest.fixture(scope="module")
def running_desk(folder: Path) -> Iterator[Desk]:
    agents = Agents()
    before = create_engine(f"sqlite:///{folder / 'state.sqlite'}")
    an_old_question(before, OLD)
    before.dispose()
    with (
        SlackStandIn(enforce_rate_limits=False) as slack,
        running(slack, folder, agents, DOMAINS) as bot,
    ):
        eventually(lambda: bot.records.get(OLD) is None)
        yield Desk(slack, bot, agents)


def grown_older(engine: Engine, days: int) -> None:
    """All that was said moves into the past."""
    with engine.begin() as connection:
        for row in connection.execute(select(QuestionRow.id, QuestionRow.asked_at)).all():
            earlier = row.asked_at - timedelta(days=days)
            connection.execute(
                update(QuestionRow).where(QuestionRow.id == row.id).values(asked_at=earlier)
            )
        for table, column in ((FeedbackRow, "given_at"), (HandoffRow, "requested_at")):
            past = datetime.now(UTC).replace(tzinfo=None) - timedelta(days=days)
            connection.execute(update(table).values({column: past}))


def counts(engine: Engine) -> list[int]:
    with engine.connect() as connection:
        return [
            connection.scalar(select(func.count()).select_from(table)) or 0
            for table in (QuestionRow, PostRow, FeedbackRow, HandoffRow)
        ]


def files_with(folder: Path, secret: str) -> list[str]:
    """Names of files that hold these words, as they are or in base64."""
    forms = [secret.encode()]
    for shift in range(3):  # base64 looks different at each of three places
        coded = base64.b64encode(b"." * shift + secret.encode())
        forms.append(coded[4:-4])
    return sorted(
        path.name
        for path in folder.rglob("*")
        if path.is_file() and any(form in path.read_bytes() for form in forms)
    )


def test_what_is_purged_is_in_no_file_any_more(desk: Desk, folder: Path) -> None:
    desk.agents.reply = answer(f"You said {SECRET} [1].")
    ts, reply = desk.ask(f"{SECRET}, what does it open?")
    desk.bot.feedback.explain(
        f"{CHANNEL}:{ts}", "U0INES", reason="wrong", correction=SECRET, source=SECRET
    )
    desk.slack.click(CHANNEL, reply["ts"], "ask_human")
    desk.slack.wait_for_reply(CHANNEL, ts, until=lambda m: "What I tried" in words(m))
    desk.bot.inbox.put("resolve-x", {"resolve": {
        "question_id": f"{CHANNEL}:{ts}", "user": "U0INES", "resolution": SECRET,
    }})  # fmt: skip
    desk.settle()
    held = set(files_with(folder, SECRET))
    assert any(name.startswith("state.sqlite") for name in held)
    assert any(name.startswith("inbox.sqlite") for name in held)

    grown_older(desk.bot.engine, 29)
    assert desk.bot.retention.purge() == Purged()
    grown_older(desk.bot.engine, 2)
    desk.bot.inbox.stored().forget_done(timedelta())
    assert desk.bot.retention.purge() == Purged(questions=1)
    assert counts(desk.bot.engine) == [0, 0, 0, 0]
    assert files_with(folder, SECRET) == []


def test_a_private_answers_posts_go_with_their_question(desk: Desk) -> None:
    desk.ask("what is rotated?")
    desk.settle()
    (record,) = desk.bot.records.recent(limit=5)
    desk.bot.records.own_post(f"{record.event_id}/private", 0, "D1", "1.0")
    grown_older(desk.bot.engine, 31)
    assert desk.bot.retention.purge().questions == 1
    assert counts(desk.bot.engine) == [0, 0, 0, 0]


def test_each_domain_has_its_days_and_no_domain_the_fewest(desk: Desk) -> None:
    desk.ask("one?")
    desk.ask("two?", channel="C0PRIVACY")
    newcomer = SlackUser(id="U0NEW", handle="new", name="New", title="")
    desk.slack.workspace.welcome(newcomer, "C0PLATFORM")
    desk.slack.post_as_user("C0PLATFORM", f"{desk.at} three?", user=newcomer.id)
    desk.settle()
    with desk.bot.engine.connect() as connection:
        assert set(connection.scalars(select(QuestionRow.domain))) == {"security", "privacy", ""}
    grown_older(desk.bot.engine, 31)
    assert desk.bot.retention.purge().questions == 2
    grown_older(desk.bot.engine, 30)
    assert desk.bot.retention.purge().questions == 1


def test_an_open_hand_off_loses_its_words_and_still_works(desk: Desk) -> None:
    ts, reply = desk.ask(SECRET)
    desk.slack.click(CHANNEL, reply["ts"], "ask_human")
    card = desk.slack.wait_for_reply(CHANNEL, ts, until=lambda m: "What I tried" in words(m))
    desk.settle()
    grown_older(desk.bot.engine, 31)
    assert desk.bot.retention.purge() == Purged(open_handoffs=1)
    assert desk.bot.retention.purge() == Purged()
    assert desk.bot.records.get(f"{CHANNEL}:{ts}").text == ""  # type: ignore[union-attr]
    desk.slack.click(CHANNEL, card["ts"], "handoff_take")
    desk.settle()
    taken = next(m for m in desk.said(CHANNEL, ts) if m["ts"] == card["ts"])
    assert "is on it" in words(taken)
    assert "too long ago" in words(taken)
    desk.bot.inbox.put("resolve-y", {"resolve": {
        "question_id": f"{CHANNEL}:{ts}", "user": "U0INES", "resolution": "",
    }})  # fmt: skip
    desk.settle()
    assert desk.bot.retention.purge() == Purged(questions=1)


def test_an_open_hand_off_is_not_kept_for_ever_either(desk: Desk) -> None:
    ts, reply = desk.ask("anybody?")
    desk.slack.click(CHANNEL, reply["ts"], "ask_human")
    desk.slack.wait_for_reply(CHANNEL, ts, until=lambda m: "What I tried" in words(m))
    desk.settle()
    grown_older(desk.bot.engine, 61)
    assert desk.bot.retention.purge() == Purged(questions=1)
    assert counts(desk.bot.engine) == [0, 0, 0, 0]


def test_a_question_that_is_being_worked_on_stays_until_it_is_done(desk: Desk) -> None:
    done = threading.Event()

    def when_told(question: Question) -> Answer:
        done.wait(20)
        return answer()

    desk.agents.reply = when_told
    ts = desk.slack.post_as_user(CHANNEL, f"{desk.at} how long does it take?")
    eventually(lambda: desk.bot.records.get(f"{CHANNEL}:{ts}"))
    grown_older(desk.bot.engine, 31)
    assert desk.bot.retention.purge() == Purged()
    done.set()
    desk.settle()
    assert len(desk.said(CHANNEL, ts)) == 1
    assert desk.bot.retention.purge() == Purged(questions=1)


def test_the_bot_purges_by_itself_once_it_has_started(desk: Desk) -> None:
    assert desk.bot.records.get(OLD) is None
    assert desk.bot.retention.daily() is None


def test_it_is_done_once_a_day(tmp_path: Path) -> None:
    engine = create_engine(f"sqlite:///{tmp_path / 'state.sqlite'}")
    an_old_question(engine, OLD)
    retention = retention_of(engine)
    assert retention.daily() == Purged(questions=1)
    an_old_question(engine, "C1:2.0")
    assert retention.daily() is None
    assert retention_of(engine).daily() is None, "a restart is no new day"
    yesterday(engine)
    assert retention.daily() == Purged(questions=1)
    engine.dispose()


def test_of_several_workers_one_purges() -> None:
    with postgresql_database() as url:
        address = make_url(url).set(drivername="postgresql+psycopg")
        engines = [create_engine(address) for _ in range(4)]
        an_old_question(engines[0], OLD)
        workers = [retention_of(engine) for engine in engines]
        with ThreadPoolExecutor(4) as pool:
            done = list(pool.map(Retention.daily, workers))
        assert sorted(done, key=str) == [None] * 3 + [Purged(questions=1)]
        for engine in engines:
            engine.dispose()


def test_a_worker_that_fails_in_the_middle_leaves_the_day_to_another(tmp_path: Path) -> None:
    engine = create_engine(f"sqlite:///{tmp_path / 'state.sqlite'}")
    an_old_question(engine, OLD)
    failing = replace(retention_of(engine), domains=lambda: 1 / 0)  # type: ignore[arg-type]
    with pytest.raises(ZeroDivisionError):
        failing.daily()
    assert retention_of(engine).daily() == Purged(questions=1)
    engine.dispose()


def test_the_audit_log_has_its_own_days(tmp_path: Path) -> None:
    engine = create_engine(f"sqlite:///{tmp_path / 'state.sqlite'}")
    audit = AuditLog(engine)
    documents = {"cited": ["green"]}
    old = AuditEntry(door="channel", domain="security", generation=1, documents=documents)
    audit.record(old, at=days_ago(401))
    audit.record(old, at=days_ago(399))
    assert retention_of(engine).purge() == Purged(audit_rows=1)
    assert len(list(audit.export())) == 1
    engine.dispose()


def an_old_question(engine: Engine, question_id: str) -> None:
    claim(
            QuestionStore(engine),
        question_id=question_id, event_id=question_id, channel="C1", thread_ts="1.0",
        asker="U0DANA", text=SECRET, domain="security",
    )  # fmt: skip
    grown_older(engine, 31)


def retention_of(engine: Engine) -> Retention:
    """As a worker has it, which has nothing to do."""
    return Retention(
        engine=engine,
        features=FEATURE_TABLES,
        domains=lambda: {"security": DOMAINS["security"]},
        audit=AuditLog(engine),
        settings=Settings.model_validate({"data_dir": "nowhere"}),
        unfinished=frozenset,
    )


def yesterday(engine: Engine) -> None:
    with engine.begin() as connection:
        connection.execute(
            update(UpkeepRow).values(done_on=datetime.now(UTC).date() - timedelta(days=1))
        )


def test_the_default_is_no_more_than_half_a_year() -> None:
    plain = Domain.model_validate({"domain": "tea", "title": "Tea", "sources": {}})
    assert plain.retention.days == 180


def test_an_error_of_the_inbox_quotes_no_parameter(desk: Desk) -> None:
    """What is stored is what people said, and errors are logged."""
    for engine in (
        desk.bot.inbox._worker.client._sys_db.engine,
        _get_dbos_instance()._sys_db.engine,
    ):
        with pytest.raises(DBAPIError) as refused, engine.begin() as connection:
            connection.execute(text("INSERT INTO nowhere VALUES (:said)"), {"said": SECRET})
        assert "nowhere" in str(refused.value)
        assert SECRET not in str(refused.value)
