"""What the bot shows is on record before it is shown: by whom, through which door."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from sqlalchemy import text

from agents.answer import document_uses
from agents.steps import Progress
from bot.questions.store import decode_answer, encode_answer
from enrichment.chunk import Chunk
from playground.slack_stand_in import SlackStandIn
from tests.bot.conftest import Desk, running, words
from tests.bot.fakes import CHANNEL, Agents, answer, domain

LIMITS = {"questions_per_user_per_hour": 10_000}
DOMAINS = {
    "security": domain(limits=LIMITS),
    "privacy": domain("privacy", "C0PRIVACY", limits=LIMITS, access={"audience": "asker"}),
}


@pytest.fixture(scope="module")
def running_desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    agents = Agents()
    with (
        SlackStandIn(enforce_rate_limits=False) as slack,
        running(slack, tmp_path_factory.mktemp("s"), agents, DOMAINS, streaming=True) as bot,
    ):
        yield Desk(slack, bot, agents)


@contextmanager
def unwritable(desk: Desk) -> Iterator[None]:
    """The audit log can't be written meanwhile."""
    with desk.bot.engine.begin() as connection:
        connection.execute(text("ALTER TABLE audit_shown RENAME TO elsewhere"))
    try:
        yield
    finally:
        with desk.bot.engine.begin() as connection:
            connection.execute(text("ALTER TABLE elsewhere RENAME TO audit_shown"))


def last(desk: Desk) -> dict[str, Any]:
    """The newest row, without its time."""
    desk.settle()
    *_, row = desk.bot.audit.export()
    return {name: value for name, value in row.items() if name != "at"}


CITED = {"cited": ["key-rotation-standard"]}


def test_a_channel_a_thread_and_a_direct_message_are_doors(desk: Desk) -> None:
    ts, _ = desk.ask("how often?", user="U0DANA")
    row = {"place": CHANNEL, "asker": "U0DANA", "domain": "security", "generation": 7}
    assert last(desk) == {**row, "door": "channel", "documents": CITED}
    desk.ask("and tokens?", user="U0DANA", thread_ts=ts)
    assert last(desk) == {**row, "door": "thread", "documents": CITED}
    direct = desk.slack.workspace.direct("U0DANA").id
    desk.ask("in private?", channel=direct, user="U0DANA")
    assert last(desk) == {**row, "place": direct, "door": "direct", "documents": CITED}


def test_what_is_sent_privately_is_told_apart(desk: Desk) -> None:
    desk.ask("who may?", channel="C0PRIVACY", user="U0DANA")
    assert last(desk)["door"] == "private"


def test_the_nearest_documents_and_those_drawn_from_are_on_record(desk: Desk) -> None:
    chunk = Chunk(
        id="1", document_id="drawn", document_title="Drawn", kind="text", position=0,
        heading_path=(), text="x", index_text="x", tokens=1,
    )  # fmt: skip
    found = answer(path="no_answer_found", citations=(), nearest=answer().citations)
    desk.agents.reply = answer(
        path="no_answer_found",
        citations=(),
        nearest=found.nearest,
        context=(chunk,),
        documents=frozenset({chunk.document_id}),
    )
    desk.ask("where?")
    assert last(desk)["documents"] == {
        "nearest": ["key-rotation-standard"],
        "drawn_from": ["drawn"],
    }


def test_what_shows_no_document_is_not_on_record(desk: Desk) -> None:
    desk.settle()
    before = list(desk.bot.audit.export())
    desk.agents.reply = answer("Hello.", path="small_talk", citations=())
    desk.ask("hello")
    desk.settle()
    assert list(desk.bot.audit.export()) == before


def test_without_a_record_single_readers_see_nothing(desk: Desk) -> None:
    desk.agents.reply = answer("The merger closes in May [1].")
    with unwritable(desk):
        ts, reply = desk.ask("when?", channel="C0PRIVACY")
        assert "Reference" in words(reply)
        everything = [m for c in desk.slack.workspace.channels for m in desk.slack.messages(c)]
        assert not any("merger" in words(message) for message in everything)
        assert len(desk.said("C0PRIVACY", ts)) == 1


def test_without_a_record_a_channel_is_answered_all_the_same(desk: Desk) -> None:
    with unwritable(desk):
        _, reply = desk.ask("how often?")
    assert "90 days" in words(reply)


def test_no_word_for_single_readers_is_shown_before_the_record(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also not in a direct message, where an answer otherwise grows."""
    direct = desk.slack.workspace.direct("U0DANA").id
    told: list[Progress] = []
    desk.agents.tell = told.append
    for single, other in (("privacy", "security"), ("security", "privacy")):
        with monkeypatch.context() as patch:
            patch.delitem(DOMAINS, other)  # the one that answers is known from the start
            desk.ask("when is it, in private?", channel=direct, user="U0DANA")
            assert bool(told) == (single == "security")


def test_what_an_answer_was_drawn_from_outlives_a_crash() -> None:
    """An answer on record has no context any more."""
    made = answer(documents=frozenset({"drawn"}))
    assert document_uses(decode_answer(encode_answer(made))) == document_uses(made)
    assert document_uses(made)["drawn_from"] == ["drawn"]
