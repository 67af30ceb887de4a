"""What the agents keep of Slack threads: by which name, in whose time zone, and until when."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import select, update

from agents.answer import Answer, Conversation, EarlierTurn, Question
from agents.thread.memory import ThreadMemory
from agents.thread.store import ThreadRow
from bot.features.registry import FEATURE_TABLES
from bot.privacy.personal_data import PersonalData
from playground.slack_stand_in import SlackStandIn
from tests.bot.conftest import Desk, eventually, running
from tests.bot.fakes import CHANNEL, Agents, answer, domain

DOMAINS = {
    "security": domain(limits={"questions_per_user_per_hour": 10_000}, retention={"days": 30})
}


@pytest.fixture(scope="module")
def running_desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    agents, folder = Agents(), tmp_path_factory.mktemp("threads")
    with (
        SlackStandIn(enforce_rate_limits=False) as slack,
        running(slack, folder, agents, DOMAINS) as bot,
    ):
        yield Desk(slack, bot, agents)


@pytest.fixture
def remembering_desk(desk: Desk) -> Desk:
    """Its agents keep each question."""
    memory = ThreadMemory(desk.bot.engine)

    def reply(question: Question) -> Answer:
        talk = question.conversation
        assert talk is not None
        memory.recall(talk, "security")
        kept = EarlierTurn(
            id=talk.message, asker=talk.asker, asked=question.text, question=question.text,
            path="company_specific_rag_success",
        )  # fmt: skip
        assert memory.remember(talk, "security", kept) == ""
        return answer()

    desk.agents.reset(reply)
    return desk


def kept(desk: Desk) -> str:
    with desk.bot.engine.connect() as connection:
        return "\n".join(connection.scalars(select(ThreadRow.checkpoint)))


def test_a_question_carries_its_thread_its_moment_and_its_asker_s_zone(desk: Desk) -> None:
    ts, _ = desk.ask("how old?", user="U0PRIYA")
    desk.ask("and webhooks?", user="U0DANA", thread_ts=ts)
    first, second = desk.agents.asked
    assert first.conversation is not None
    assert second.conversation is not None
    assert first.conversation.place == second.conversation.place
    assert first.conversation.message == f"{CHANNEL}:{ts}"
    assert (first.conversation.asker, second.conversation.asker) == ("U0PRIYA", "U0DANA")
    assert (first.time_zone, second.time_zone) == ("Asia/Singapore", "America/Chicago")
    assert first.asked_at == datetime.fromtimestamp(float(ts), UTC)


def test_nobody_is_looked_up_again_for_the_time_zone(desk: Desk) -> None:
    desk.ask("how old?", user="U0INES")
    before = desk.slack.api.calls.count("users.info")
    desk.ask("and webhooks?", user="U0INES")
    assert desk.slack.api.calls.count("users.info") == before


def test_a_deleted_question_takes_along_what_is_kept_of_its_thread(remembering_desk: Desk) -> None:
    desk = remembering_desk
    ts, _ = desk.ask("heliotrope one?")
    other, _ = desk.ask("heliotrope two?")
    assert "heliotrope one?" in kept(desk)
    desk.slack.delete_message(CHANNEL, ts)
    eventually(lambda: "heliotrope one?" not in kept(desk))
    assert "heliotrope two?" in kept(desk)
    desk.slack.delete_message(CHANNEL, other)


def test_a_question_that_is_deleted_while_it_is_answered_is_not_kept_either(desk: Desk) -> None:
    memory, begun, deleted = ThreadMemory(desk.bot.engine), threading.Event(), threading.Event()
    done = threading.Event()

    def reply(question: Question) -> Answer:
        talk = question.conversation
        assert talk is not None
        begun.set()
        assert deleted.wait(30)
        memory.recall(talk, "security")
        memory.remember(
            talk, "security",
            EarlierTurn(id=talk.message, asker="U", asked="heliotrope late?", question="", path=""),
        )  # fmt: skip
        done.set()
        return answer()

    desk.agents.reset(reply)
    ts = desk.slack.post_as_user(CHANNEL, f"{desk.at} heliotrope late?")
    assert begun.wait(30)
    desk.slack.delete_message(CHANNEL, ts)
    eventually(lambda: getattr(desk.bot.records.get(f"{CHANNEL}:{ts}"), "state", "") == "withdrawn")
    deleted.set()
    assert done.wait(30)
    desk.settle()
    assert "heliotrope late?" not in kept(desk)


def test_it_is_handed_out_erased_and_purged(remembering_desk: Desk) -> None:
    desk = remembering_desk
    data = PersonalData(
        engine=desk.bot.engine, features=FEATURE_TABLES, audit=desk.bot.audit, inbox=None
    )
    desk.ask("heliotrope mine?", user="U0DANA")
    desk.ask("heliotrope theirs?", user="U0PRIYA")
    desk.settle()
    assert [one["asked"] for one in data.export("U0DANA")["threads"]] == ["heliotrope mine?"]
    assert data.erase("U0DANA").threads == 1
    assert data.export("U0DANA")["threads"] == []
    assert "heliotrope mine?" not in kept(desk)
    assert "heliotrope theirs?" in kept(desk)
    long_ago = datetime.now(UTC).replace(tzinfo=None) - timedelta(days=31)
    with desk.bot.engine.begin() as connection:
        connection.execute(update(ThreadRow).values(begun_at=long_ago))
    assert desk.bot.retention.purge().threads >= 1
    assert kept(desk) == ""


def test_the_api_s_threads_are_known_by_address(desk: Desk) -> None:
    memory, engine = ThreadMemory(desk.bot.engine), desk.bot.engine
    kept_turn = EarlierTurn(
        id="1", asker="ines@tidewater.example", asked="heliotrope?", question="", path=""
    )
    talk = Conversation(place='["api"]', message="1", asker="ines@tidewater.example")
    memory.recall(talk, "security")
    memory.remember(talk, "security", kept_turn)
    data = PersonalData(engine=engine, features=FEATURE_TABLES, audit=desk.bot.audit, inbox=None)
    assert data.export("U0INES")["threads"] == []
    assert len(data.export("U0INES", "ines@tidewater.example")["threads"]) == 1
    assert data.erase("U0INES", "ines@tidewater.example").threads == 1
    assert data.export("U0INES", "ines@tidewater.example")["threads"] == []
