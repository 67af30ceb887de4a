"""All that is kept about a person is handed out, and erased without harm to the others."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import create_engine, select

from agents.answer import Answer, Question
from bot.bus.stored_items import is_by, stored_items
from bot.connection import inbox_url, resolve_person
from bot.features.owner_drafts.proposals import propose
from bot.features.registry import FEATURE_TABLES
from bot.privacy.personal_data import Erased, PersonalData
from bot.questions.tables import HandoffRow, QuestionRow
from bot.slack.messages import ERASED
from config.errors import UsageError
from config.settings import Settings
from index.audit import AuditLog
from index.permissions.rules import Person
from index.store.database import open_database
from playground.slack_stand_in import SlackStandIn
from tests.bot.conftest import Desk, answered, eventually, running, settings_for, words
from tests.bot.fakes import CHANNEL, Agents, answer, domain
from tests.bot.features.answering.test_bot_crash import up, worker
from tests.databases import postgresql_database

SECRET = "heliotrope 4711"
DOMAINS = {"security": domain(limits={"questions_per_user_per_hour": 10_000})}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("personal")


@pytest.fixture(scope="module")
def running_desk(folder: Path) -> Iterator[Desk]:
    agents = Agents()
    with (
        SlackStandIn(enforce_rate_limits=False) as slack,
        running(slack, folder, agents, DOMAINS) as bot,
    ):
        yield Desk(slack, bot, agents)


@pytest.fixture
def data(desk: Desk) -> PersonalData:
    return PersonalData(
        engine=desk.bot.engine,
        features=FEATURE_TABLES,
        audit=desk.bot.audit,
        inbox=desk.bot.inbox.stored(),
    )


def helped(desk: Desk, text: str, *, asker: str, helper: str) -> str:
    """A question that another person corrects, takes and resolves; its id."""
    ts, reply = desk.ask(text, user=asker)
    question_id = f"{CHANNEL}:{ts}"
    desk.bot.feedback.explain(
        question_id, helper, reason="wrong", correction=f"{text} {helper}", source="the wiki"
    )
    desk.slack.click(CHANNEL, reply["ts"], "ask_human", user=asker)
    desk.slack.wait_for_reply(CHANNEL, ts, until=lambda m: "What I tried" in words(m))
    for what, more in (("take", {}), ("resolve", {"resolution": f"solved {text}"})):
        item = {"question_id": question_id, "user": helper, **more}
        desk.bot.inbox.put(f"{what}-{ts}", {what: item})
        desk.settle()
    return question_id


def test_everything_about_a_person_is_handed_out(desk: Desk, data: PersonalData) -> None:
    helped(desk, SECRET, asker="U0DANA", helper="U0INES")
    asker, helper = data.export("U0DANA"), data.export("U0INES")
    (asked,) = asker["bot_questions"]
    assert asked["text"] == SECRET
    assert "Rotate them every 90 days" in asked["answer"]
    assert asker["bot_handoffs"][0]["requested_by"] == "U0DANA"
    assert asker["shown"][0]["documents"] == {"cited": ["key-rotation-standard"]}
    assert SECRET in json.dumps(asker["inbox"])
    assert [set(one) for one in helper["bot_questions"]] == [{"id", "resolved_by"}]
    assert helper["bot_feedback"][0]["correction"] == f"{SECRET} U0INES"
    assert helper["bot_handoffs"][0]["resolution"] == f"solved {SECRET}"
    assert [one["reference"] for one in helper["proposals"]] == [f"{SECRET} U0INES"]
    assert json.dumps(asker, default=str)
    assert not any(data.export("U0MAREK")[name] for name in asker if name != "user")


def test_an_asker_is_erased_with_all_that_hangs_on_the_question(
    desk: Desk, data: PersonalData
) -> None:
    others = len(data.export("U0PRIYA")["bot_questions"])
    helped(desk, SECRET, asker="U0DANA", helper="U0INES")
    desk.ask("mine stays", user="U0PRIYA")
    desk.settle()
    shown = len(data.export("U0DANA")["shown"])
    done = data.erase("U0DANA")
    assert done.questions >= 1
    assert done.inbox >= 1
    assert done.still_working == 0
    left = data.export("U0DANA")
    assert [name for name in left if left[name] and name not in {"user", "shown"}] == []
    assert len(left["shown"]) == shown, "the audit log keeps its days"
    assert data.erase("U0DANA") == Erased()
    assert len(data.export("U0PRIYA")["bot_questions"]) == others + 1


def test_an_expert_is_erased_and_the_askers_keep_their_question(
    desk: Desk, data: PersonalData
) -> None:
    question_id = helped(desk, "who rotates?", asker="U0PRIYA", helper="U0MAREK")
    done = data.erase("U0MAREK")
    assert (done.questions, done.feedback, done.handoffs) == (0, 1, 1)
    record = desk.bot.records.get(question_id)
    assert record is not None
    assert (record.text, record.resolved_by) == ("who rotates?", ERASED)
    with desk.bot.engine.connect() as connection:
        (card,) = connection.execute(
            select(HandoffRow).where(HandoffRow.question_id == question_id)
        ).mappings()
    assert (card["taken_by"], card["resolved_by"], card["resolution"]) == (ERASED, ERASED, "")
    assert card["requested_by"] == "U0PRIYA"
    assert question_id not in {one.id for one in propose(desk.bot.engine)}
    # The card is still there to press, and names nobody who isn't.
    desk.bot.inbox.put("resolve-again", {"resolve": {
        "question_id": question_id, "user": "U0INES", "resolution": "again",
    }})  # fmt: skip
    desk.settle()
    ts = question_id.partition(":")[2]
    assert "Resolved by somebody" in words(desk.said(CHANNEL, ts)[-1])


def test_what_was_suggested_to_owners_is_erased_from_the_inbox_as_well(
    desk: Desk, data: PersonalData
) -> None:
    question_id = helped(desk, SECRET, asker="U0DANA", helper="U0INES")
    quoted, accepted = "Dana asks for the vault code", "Marek says it is in the safe"
    told = {
        "id": "s1", "kind": "answer", "domain": "security", "document": "d", "by": "U0INES",
        "question": quoted, "words": "ask Ines", "question_id": question_id,
    }  # fmt: skip
    outcome = {
        "id": "s2", "outcome": "accepted", "by": "U0INES", "document": "d", "heading": "",
        "words": accepted, "words_by": "U0MAREK",
    }  # fmt: skip
    desk.bot.inbox.put("suggestion-s1", {"suggestion": told})
    desk.bot.inbox.put("outcome-s2", {"suggestion_outcome": outcome})
    desk.settle()

    def kept() -> str:
        return json.dumps([one.item for one in desk.bot.inbox.stored()._all()])

    assert quoted in kept()
    assert accepted in json.dumps(data.export("U0MAREK")["inbox"])
    assert quoted not in json.dumps(data.export("U0PRIYA")["inbox"])
    data.erase("U0DANA")
    data.erase("U0MAREK")
    assert quoted not in kept()
    assert accepted not in kept()


def test_words_that_somebody_else_asked_about_or_ticked_are_their_author_s(
    desk: Desk, data: PersonalData
) -> None:
    """By the shortcut, in a thread, and as a solution marked by a reaction."""
    author, asker, helper = "U0MAREK", "U0DANA", "U0PRIYA"
    message, part, solution = "the vault is jammed", "in Basel since May", "turn it twice"

    def restated(question: Question) -> Answer:
        text = f"{question.text} {' '.join(turn.content for turn in question.history)}"
        return answer(f"As to: {text}", standalone_question=text, restated_from=frozenset())

    desk.agents.reply = restated
    ts = desk.slack.post_as_user(CHANNEL, message, user=author)
    desk.slack.run_shortcut("ask_copilot", CHANNEL, ts, user=asker)
    desk.slack.wait_for_reply(CHANNEL, ts, until=answered)
    desk.slack.post_as_user(CHANNEL, part, user=author, thread_ts=ts)
    later, reply = desk.ask("and what now?", user=asker, thread_ts=ts)
    desk.slack.click(CHANNEL, reply["ts"], "ask_human", user=asker)
    desk.slack.wait_for_reply(CHANNEL, ts, until=lambda m: "What I tried" in words(m))
    solved = desk.slack.post_as_user(CHANNEL, solution, user=author, thread_ts=ts)
    desk.slack.add_reaction(CHANNEL, solved, "white_check_mark", helper)
    desk.settle()
    held = data.export(author)
    by_table = {name: json.dumps(rows, default=str) for name, rows in held.items()}
    assert message in by_table["bot_questions"]
    assert part in by_table["bot_questions"]
    assert solution in by_table["bot_handoffs"]
    assert asker not in by_table["bot_questions"] + by_table["bot_handoffs"]
    data.erase(author)
    desk.settle()
    for who in (asker, helper, author):
        left = json.dumps({**data.export(who), "shown": []}, default=str)
        assert not any(text in left for text in (message, part, solution)), who
    record = desk.bot.records.get(f"{CHANNEL}:{later}")
    assert record
    assert (record.text, record.answer) == ("and what now?", None)


def test_a_question_that_is_being_answered_is_taken_back(desk: Desk, data: PersonalData) -> None:
    begun, go_on = threading.Event(), threading.Event()

    def when_told(question: Question) -> Answer:
        begun.set()
        go_on.wait(30)
        return answer(SECRET)

    desk.agents.reply = when_told
    ts = desk.slack.post_as_user(CHANNEL, f"{desk.at} {SECRET}?", user="U0DANA")
    assert begun.wait(20)
    hasty = PersonalData(
        engine=data.engine,
        features=FEATURE_TABLES,
        audit=data.audit,
        inbox=data.inbox,
        sleep=lambda seconds: None,
    )
    assert hasty.erase("U0DANA").still_working >= 1
    assert desk.bot.records.get(f"{CHANNEL}:{ts}").text == ""  # type: ignore[union-attr]
    go_on.set()
    desk.settle()
    assert desk.said(CHANNEL, ts) == []
    assert data.erase("U0DANA").still_working == 0
    with desk.bot.engine.connect() as connection:
        asked = select(QuestionRow.id).where(QuestionRow.asker == "U0DANA")
        assert connection.scalars(asked).all() == []
    assert SECRET not in json.dumps(data.export("U0DANA"), default=str)


def test_erasing_waits_for_what_is_worked_on(desk: Desk, data: PersonalData) -> None:
    data.erase("U0DANA")  # what they asked in other tests
    begun, go_on = threading.Event(), threading.Event()

    def when_told(question: Question) -> Answer:
        begun.set()
        go_on.wait(30)
        return answer()

    desk.agents.reply = when_told
    ts = desk.slack.post_as_user(CHANNEL, f"{desk.at} {SECRET}?", user="U0DANA")
    assert begun.wait(20)

    def until_done(seconds: float) -> None:
        go_on.set()
        eventually(lambda: not desk.bot.inbox.backlog())

    waiting = PersonalData(
        engine=data.engine,
        features=FEATURE_TABLES,
        audit=data.audit,
        inbox=data.inbox,
        sleep=until_done,
    )
    done = waiting.erase("U0DANA")
    assert (done.questions, done.still_working) == (1, 0)
    assert desk.said(CHANNEL, ts) == []


def test_whose_an_event_is_stands_anywhere_in_it() -> None:
    assert is_by("U1", {"event": {"type": "message", "previous_message": {"user": "U1"}}})
    assert is_by("U1", {"event": {"assistant_thread": {"user_id": "U1"}}})
    assert is_by("U1", {"resolve": {"user": "U1"}})
    mentioned = {"user": "U2", "text": "<@U1>", "blocks": [{"type": "user", "user_id": "U1"}]}
    assert not is_by("U1", {"event": mentioned})


def test_a_person_is_known_by_id_or_address(slack: SlackStandIn, tmp_path: Path) -> None:
    settings = settings_for(slack, tmp_path)
    dana = Person(slack_user="U0YOU", email="sam.rivers@tidewater.example")
    assert resolve_person(settings, "U0YOU") == dana
    assert resolve_person(settings, "sam.rivers@tidewater.example") == dana
    with pytest.raises(UsageError, match="give the Slack user id"):
        resolve_person(settings, "nobody@tidewater.example")
    with pytest.raises(UsageError, match="is nobody"):
        resolve_person(settings, "sam")


def test_without_a_bot_there_is_no_inbox_and_none_is_made(tmp_path: Path) -> None:
    settings = Settings(_env_file=None, data_dir=tmp_path / "var")
    engine = create_engine("sqlite://")
    with stored_items(inbox_url(settings), engine) as items:
        assert items is None
    assert list((tmp_path / "var").iterdir()) == []


@pytest.mark.trial
def test_postgresql_hands_out_and_erases_alike(slack: SlackStandIn, tmp_path: Path) -> None:
    """From another process than the worker's, as the command does it."""
    with postgresql_database() as url:
        settings = Settings(_env_file=None, data_dir=tmp_path / "var", database_url=url)
        engine = open_database(settings)
        with stored_items(inbox_url(settings), engine) as items:
            assert items is None
        with worker(slack, tmp_path / "worker", DATABASE_URL=url) as process:
            up(process)
            ts = slack.post_as_user(CHANNEL, f"<@{slack.bot_user_id}> {SECRET}", user="U0DANA")
            slack.wait_for_reply(CHANNEL, ts, until=answered)
            log = AuditLog(engine)
            with stored_items(inbox_url(settings), engine) as items:
                data = PersonalData(engine=engine, features=FEATURE_TABLES, audit=log, inbox=items)
                held = data.export("U0DANA")
                assert [one["text"] for one in held["bot_questions"]] == [SECRET]
                assert SECRET in json.dumps(held["inbox"])
                assert len(held["shown"]) == 1
                done = data.erase("U0DANA")
                assert (done.questions, done.still_working) == (1, 0)
                assert done.inbox >= 1
                assert data.erase("U0DANA") == Erased()
            engine.dispose()
