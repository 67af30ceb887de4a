"""What is asked in vain becomes a gap, and what is written closes it."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import insert, select

from agents.ledger.runs import RunRow
from bot.bus.events import SuggestionDecided
from bot.features.gaps.recheck import GAPS_CLOSED, outcome_of
from bot.features.gaps.service import GAPS_OPEN
from bot.features.gaps.store import GapDraftRow, GapQuestionRow, GapRow, GapVectorRow
from bot.features.registry import FEATURE_TABLES
from bot.privacy.personal_data import PersonalData
from bot.privacy.retention import Retention
from bot.privacy.tables import delete_questions
from bot.questions.tables import HandoffRow
from config.models import Usage
from config.settings import Settings
from index.audit import AuditLog
from index.store.database import open_database
from tests.bot.fakes import CHANNEL, answer, domain, passages_found, showing_to_all
from tests.bot.features.gaps.room import (
    CLOSED,
    DIRECT,
    LAPTOPS,
    TRAVEL,
    WITH_TRAVEL,
    GapRoom,
    Rewired,
    gap_room,
    refused,
)

WAYS = (
    "where do I pick up a loaner laptop for a trip?",
    "who hands out loaner laptops for travel?",
    "I travel next week, how do I get a loaner laptop",
)
OTHER = "how long is the screen recording of a support call kept?"


@pytest.fixture
def room() -> Iterator[GapRoom]:
    with gap_room() as found:
        yield found


def asked_by_three(room: GapRoom) -> list[str]:
    people = ("U0YOU", "U0DANA", "U0PRIYA")
    return [room.ask(text, user=who) for text, who in zip(WAYS, people, strict=True)]


def accepted(room: GapRoom) -> list[str]:
    """Three people asked, a human told one of them, and an owner took the words."""
    ids = asked_by_three(room)
    room.resolve(ids[0], TRAVEL)
    room.look()
    room.decide("accepted")
    assert room.states() == ["accepted"]
    return ids


def test_questions_in_other_words_are_one_gap_and_another_question_is_another(
    room: GapRoom,
) -> None:
    asked_by_three(room)
    room.ask(OTHER, user="U0PRIYA")
    found = room.look()
    assert [(gap.times, gap.people) for gap in found] == [(3, 3), (1, 1)]
    assert [one.state for one in found[0].history] == ["open"]
    assert (found[0].document, found[0].heading) == ("laptops", "Lost or stolen")


@pytest.mark.parametrize(
    ("reply", "is_gap"),
    [
        (refused("x"), True),
        (refused("x", refusal="not_in_documents"), True),
        (refused("x", degraded=("answer",)), False),
        (refused("x", refusal="not_in_documents", degraded=("plan",)), True),
        (answer(path="company_specific_rag_failure"), True),
        (answer(path="company_specific_rag_failure", degraded=("answer",)), False),
        (answer(), False),
        (answer(path="general_llm_knowledge"), False),
        (answer(path="small_talk"), False),
        (answer(path="ambiguous_query"), False),
        (passages_found(), False),
    ],
    ids=lambda value: str(getattr(value, "path", value)),
)
def test_what_the_documents_failed_is_a_gap_and_our_outage_is_none(
    room: GapRoom, reply: Any, *, is_gap: bool
) -> None:
    room.ask(WAYS[0], reply=reply)
    assert bool(room.look()) == is_gap


@pytest.mark.parametrize("state", ["failed", "limited", "withdrawn", "working", "silent"])
def test_what_was_never_answered_is_none(room: GapRoom, state: str) -> None:
    room.ask(WAYS[0], state=state)
    assert room.look() == []


def test_passages_count_once_somebody_asks_a_human_or_says_that_they_did_not_help(
    room: GapRoom,
) -> None:
    ids = [room.ask(text, reply=passages_found()) for text in (WAYS[0], OTHER)]
    assert room.look() == []
    room.resolve(ids[0], "")
    room.dislike(ids[1])
    assert {gap.questions[0].why for gap in room.look()} == {"handed_off", "unhelpful"}


@pytest.mark.parametrize(
    ("reason", "is_gap"),
    [("outdated", True), ("incomplete", True), ("other_question", False), ("sources", False)],
)
def test_not_helpful_counts_by_its_reason(room: GapRoom, reason: str, *, is_gap: bool) -> None:
    room.dislike(room.ask(WAYS[0], reply=answer()), reason)
    assert bool(room.look()) == is_gap


def test_a_verdict_that_is_taken_back_takes_its_gap_with_it(room: GapRoom) -> None:
    name = room.ask(WAYS[0], reply=passages_found())
    room.dislike(name)
    assert len(room.look()) == 1
    from bot.features.feedback.store import FeedbackStore

    FeedbackStore(room.engine).give(name, "U0YOU", "helpful")
    assert room.look() == []


def test_an_alert_that_nothing_is_written_about_counts_though_nobody_heard_of_it(
    room: GapRoom,
) -> None:
    room.ask("HighErrorRate: payments 5xx above 2%", user="U0BEACON", state="silent")
    room.ask("is anybody there for lunch?", user="U0DANA", state="silent")
    assert [gap.questions[0].why for gap in room.look()] == ["alert"]


def test_orders_of_other_numbers_are_other_gaps(room: GapRoom) -> None:
    for number in ("48213", "48231"):
        room.ask(f"why was laptop order {number} cancelled?")
    assert [gap.times for gap in room.look()] == [1, 1]


def test_what_one_person_asks_that_the_documents_are_not_about_is_no_news(room: GapRoom) -> None:
    room.ask("what does the cafeteria serve on Fridays?")
    (gap,) = room.look()
    assert gap.is_off_topic
    assert "cafeteria" not in room.home()
    room.ask("what's on the cafeteria menu this Friday?", user="U0DANA")
    assert not room.look()[0].is_off_topic
    assert "cafeteria" in room.home()


def test_an_edited_question_is_looked_at_anew_and_one_taken_back_is_gone(room: GapRoom) -> None:
    name, other = room.ask(WAYS[0]), room.ask(OTHER)
    assert len(room.look()) == 2
    room.records.mark(
        name, event_id="Ev2", text=OTHER, answer=room.records.get(other).answer  # type: ignore[union-attr]
    )  # fmt: skip
    assert [gap.times for gap in room.look()] == [2]
    room.records.withdraw(name)
    room.records.withdraw(other)
    assert room.look() == []
    with room.engine.connect() as connection:
        assert connection.execute(select(GapRow)).all() == []
        assert connection.execute(select(GapVectorRow)).all() == []


def test_while_the_embedder_is_away_nothing_is_lost(room: GapRoom) -> None:
    room.embedder_down = True
    ids = asked_by_three(room)
    assert room.look() == []
    room.feature.plan()  # type: ignore[misc]
    room.embedder_down = False
    assert [gap.times for gap in room.look()] == [3]
    room.embedder_down = True
    room.resolve(ids[0], TRAVEL)  # what is known already needs no embedder
    room.look()
    assert [one["words"] for one in room.suggestions()] == [TRAVEL]


def test_a_human_s_words_are_suggested_to_the_owner_once(room: GapRoom) -> None:
    ids = asked_by_three(room)
    room.resolve(ids[0], TRAVEL)
    room.dislike(ids[1], "no_answer", "Ask at the service desk.")
    for _ in range(2):
        found = room.look()
    assert [gap.state for gap in found] == ["proposed"]
    by_words = {one["words"]: one for one in room.suggestions()}
    assert set(by_words) == {TRAVEL, "Ask at the service desk."}
    one = by_words[TRAVEL]
    assert (one["kind"], one["domain"], one["document"]) == ("answer", "security", "laptops")
    assert (one["by"], one["question_id"], one["question"]) == ("U0INES", ids[0], WAYS[0])
    assert one["channel"] == ids[0].partition(":")[0]
    assert "/archives/" in one["permalink"]


def test_what_was_said_in_a_direct_message_is_suggested_to_nobody(room: GapRoom) -> None:
    room.resolve(room.ask(WAYS[0], channel=DIRECT), TRAVEL)
    assert [gap.state for gap in room.look()] == ["open"]
    assert room.suggestions() == []


def test_a_gap_closes_when_the_document_answers_and_opens_when_it_no_longer_does(
    room: GapRoom,
) -> None:
    accepted(room)
    closed = GAPS_CLOSED.labels("security")._value.get()
    room.publish(LAPTOPS.replace("5 minutes", "6 minutes"))
    assert [gap.state for gap in room.ask_again()] == ["accepted"]
    room.publish(WITH_TRAVEL)
    (gap,) = room.ask_again()
    assert gap.state == "closed"
    assert GAPS_CLOSED.labels("security")._value.get() == closed + 1
    room.publish(LAPTOPS)
    (gap,) = room.ask_again()
    assert [one.state for one in gap.history] == [
        "open", "proposed", "accepted", "closed", "reopened",
    ]  # fmt: skip
    assert gap.history[-2].generation == 3
    assert gap.history[2].by == "U0DANA"


def test_nothing_of_what_is_asked_anew_is_on_record(room: GapRoom) -> None:
    ids = accepted(room)
    room.publish(WITH_TRAVEL)
    room.ask_again()
    assert room.asked
    assert {one.id for one in room.records.recent(limit=50)} == set(ids)


def test_what_is_asked_again_counts_and_leaves_people_half_of_the_days_tokens(
    room: GapRoom,
) -> None:
    accepted(room)
    reply = answer(usage=Usage(calls=1, input_tokens=room.domain.limits.tokens_per_day // 2))
    room.answers = lambda question: reply
    for text in (LAPTOPS.replace("5 minutes", "6 minutes"), WITH_TRAVEL):
        room.publish(text)
        room.ask_again()
    with room.engine.connect() as connection:
        runs = connection.execute(select(RunRow.door, RunRow.asker, RunRow.finished)).all()
    assert runs == [("recheck", "", 1)] * len(room.asked)
    first = len(room.asked)
    assert first == 1
    room.publish(LAPTOPS)
    room.ask_again()
    assert len(room.asked) == first


def test_a_document_that_did_not_change_is_not_asked_again(room: GapRoom) -> None:
    accepted(room)
    room.ask_again()
    before = len(room.asked)
    room.publish(LAPTOPS)  # another document changed
    room.ask_again()
    assert len(room.asked) == before


def test_an_edit_that_somebody_made_without_us_closes_the_gap_as_well(room: GapRoom) -> None:
    ids = asked_by_three(room)
    room.look()
    room.resolve(ids[1], TRAVEL)
    room.look()
    room.publish(WITH_TRAVEL)
    assert [gap.state for gap in room.ask_again()] == ["closed"]


def test_an_owner_who_wrote_it_first_and_accepted_then_closes_it_too(room: GapRoom) -> None:
    ids = asked_by_three(room)
    room.resolve(ids[0], TRAVEL)
    room.look()
    room.publish(WITH_TRAVEL.replace("3 days", "4 days"))
    assert [gap.state for gap in room.ask_again()] == ["proposed"]
    room.decide("accepted", TRAVEL.replace("3 days", "4 days"))
    room.feature.timers["gap_ask"](room.gaps()[0].id)
    assert room.states() == ["closed"]


def test_passages_of_another_document_or_in_other_words_close_nothing(room: GapRoom) -> None:
    ids = asked_by_three(room)
    room.resolve(ids[0], TRAVEL)
    room.look()
    room.decide("accepted", document="travel-guide")
    room.publish(WITH_TRAVEL, LAPTOPS.replace("id: laptops", "id: travel-guide"))
    assert [gap.state for gap in room.ask_again()] == ["accepted"]


def test_with_a_model_an_answer_that_cites_the_document_closes(room: GapRoom) -> None:
    accepted(room)
    cited = replace(answer().citations[0], document="laptops")
    room.answers = lambda question: answer(citations=(cited,))
    room.publish(LAPTOPS.replace("5 minutes", "6 minutes"))
    assert [gap.state for gap in room.ask_again()] == ["closed"]


def test_while_the_model_is_away_nothing_closes_and_nothing_opens(room: GapRoom) -> None:
    accepted(room)
    room.publish(WITH_TRAVEL)
    room.ask_again()
    room.answers = lambda question: refused(question.text, degraded=("answer",))
    room.publish(LAPTOPS)
    assert [gap.state for gap in room.ask_again()] == ["closed"]
    room.answers = None
    (timer,) = room.timers.due(datetime.now(UTC) + timedelta(hours=2))
    room.feature.timers[timer.kind](timer.subject)
    assert room.states() == ["reopened"]


def test_most_of_the_questions_have_to_be_answered(room: GapRoom) -> None:
    accepted(room)
    cited = replace(answer().citations[0], document="laptops")
    room.answers = lambda question: (
        answer(citations=(cited,)) if question.text == WAYS[0] else refused(question.text)
    )
    room.publish(WITH_TRAVEL)
    assert [gap.state for gap in room.ask_again()] == ["accepted"]
    assert len(room.asked) == len(WAYS)


@pytest.mark.parametrize(
    ("reply", "outcome"),
    [
        (answer(), "answered"),
        (answer(path="general_llm_knowledge", citations=()), "unanswered"),
        (answer(citations=()), "unanswered"),
        (passages_found(), "answered"),
        (passages_found("**Signing keys** are rotated every 60 days."), "unanswered"),
        (passages_found("Webhook secrets are rotated every 90 days."), "unanswered"),
        (refused("x"), "unanswered"),
        (refused("x", degraded=("answer",)), "unknown"),
    ],
)
def test_in_doubt_nothing_is_answered(reply: Any, outcome: str) -> None:
    told = outcome_of(
        reply,
        documents=["key-rotation-standard"],
        words="Signing keys are rotated every 90 days.",
    )
    assert told == outcome
    if reply.path == "passages_found":
        assert outcome_of(reply, documents=[], words="") == "unanswered"
        assert outcome_of(reply, documents=["other"], words="Signing keys.") == "unanswered"


def test_a_dismissed_draft_dismisses_and_another_one_s_words_propose_again(room: GapRoom) -> None:
    ids = asked_by_three(room)
    room.resolve(ids[0], "No idea, sorry.")
    room.look()
    room.decide("dismissed", "")
    assert room.states() == ["dismissed"]
    assert "loaner" not in room.home()
    room.resolve(ids[1], TRAVEL)
    assert [gap.state for gap in room.look()] == ["proposed"]


def test_a_decision_that_comes_twice_counts_once_and_one_of_others_not_at_all(
    room: GapRoom,
) -> None:
    accepted(room)
    room.decide("accepted")
    decided = room.feature.handlers[SuggestionDecided]
    event = SuggestionDecided(id="another-room-s", outcome="dismissed", by="U0DANA")
    decided("Ev9", event)
    decided("Ev9", replace(event, id=room.suggestions()[0]["id"], outcome="perhaps"))
    assert [one.state for one in room.gaps()[0].history] == ["open", "proposed", "accepted"]


def test_asked_in_vain_after_it_was_closed_it_is_open_again(room: GapRoom) -> None:
    accepted(room)
    room.publish(WITH_TRAVEL)
    assert [gap.state for gap in room.ask_again()] == ["closed"]
    room.ask("where do I pick up a loaner laptop for travel?", days_ago=-0.01)
    assert [gap.state for gap in room.look()] == ["reopened"]


def test_with_another_embedder_what_is_asked_still_joins_its_gap(room: GapRoom) -> None:
    room.ask(WAYS[0])
    room.ask(WAYS[1], user="U0DANA")
    room.ask(OTHER, user="U0PRIYA")
    assert [gap.times for gap in room.look()] == [2, 1]
    # Of as many dimensions, or of others: what the one says means nothing to the other.
    for name, dimensions in (("turned", 384), ("wider", 400)):
        room.embedder = Rewired(name, dimensions)
        room.feature = room.worker()
        room.ask(f"{WAYS[2]} ({name})", user="U0MAREK")
        room.look()
    assert [gap.times for gap in room.gaps()] == [4, 1]
    assert "loaner" in room.home()


def test_several_workers_at_once_make_one_gap_of_it(tmp_path: Path) -> None:
    with gap_room(open_database(Settings(data_dir=tmp_path))) as room:
        asked_by_three(room)
        workers = [room.worker() for _ in range(4)]
        with ThreadPoolExecutor(len(workers)) as pool:
            list(pool.map(room.look, workers))
        assert [gap.times for gap in room.look()] == [3]
        assert len(room.gaps()[0].history) == 1


# Who sees what.


def test_an_admin_reads_the_words_of_channels_that_they_may_see(room: GapRoom) -> None:
    room.ask(WAYS[0], channel=CLOSED)
    room.ask(WAYS[1], channel=DIRECT, user="U0DANA")
    room.look()
    assert "loaner" not in room.home()
    assert "asked 2 times by 2 people" in room.home()
    assert "in private channels and direct messages" in room.home()
    room.members = {CLOSED: frozenset({"U0INES"})}
    assert WAYS[0] in room.home()
    assert WAYS[1] not in room.home()
    assert "1 of them in a direct message" in room.home()


def test_what_people_wrote_pings_nobody(room: GapRoom) -> None:
    room.ask("where do I get a loaner laptop <!channel> <@U0DANA> http://evil.example/x?")
    room.look()
    shown = room.home()
    assert "<!channel>" not in shown
    assert "<@U0DANA>" not in shown
    assert "http://evil.example" not in shown


def test_home_links_the_nearest_heading_and_says_how_it_goes(room: GapRoom) -> None:
    accepted(room)
    shown = room.home()
    assert "Laptop Guide › Lost or stolen" in shown
    assert "https://docs.example/d/" in shown
    assert "accepted, not in the document yet" in shown
    assert room.feature.home
    assert list(room.feature.home(showing_to_all(), [])) == []


def test_the_digest_tells_what_was_asked_again_in_words_that_all_may_read(room: GapRoom) -> None:
    since = datetime.now(UTC) - timedelta(hours=8)
    room.public = frozenset({CHANNEL, "C0ELSE"})
    room.ask(WAYS[0], channel="C0ELSE", days_ago=3)
    room.ask(WAYS[1], channel="C0ELSE", user="U0DANA")
    room.look()
    assert room.digest(since) == []
    room.ask(WAYS[2], user="U0PRIYA", channel=CLOSED)
    room.look()
    (part,) = room.digest(since)
    (line,) = part.lines
    assert line.endswith("2 times, by 2 people")
    assert WAYS[2] not in line
    assert "loaner" in line
    room.shared = frozenset({CHANNEL})  # with another organisation
    (part,) = room.digest(since)
    assert "loaner" not in part.lines[0]
    room.shared, room.public = frozenset(), frozenset()
    (part,) = room.digest(since)
    assert "loaner" not in part.lines[0]


# What is kept of people.


def test_what_an_erased_person_asked_and_said_is_gone(room: GapRoom) -> None:
    accepted(room)
    data = PersonalData(
        engine=room.engine, features=FEATURE_TABLES, audit=AuditLog(room.engine), inbox=None
    )
    held = data.export("U0INES")
    assert held["bot_gap_drafts"][0]["words"] == TRAVEL
    assert [one["question_id"] for one in data.export("U0YOU")["bot_gap_questions"]]
    data.erase("U0INES")
    with room.engine.connect() as connection:
        (draft,) = connection.execute(select(GapDraftRow)).all()
    assert (draft.words, draft.by, draft.words_by) == ("", "erased", "erased")
    for user in ("U0YOU", "U0DANA", "U0PRIYA"):
        data.erase(user)
    assert room.gaps() == []
    with room.engine.connect() as connection:
        assert connection.execute(select(GapQuestionRow)).all() == []
    room.look()
    with room.engine.connect() as connection:
        assert connection.execute(select(GapRow)).all() == []


def test_what_is_kept_long_enough_goes_with_all_that_hangs_on_it(room: GapRoom) -> None:
    room.ask(WAYS[0], days_ago=200)
    room.ask(WAYS[1], user="U0DANA")
    assert room.look()[0].times == 2
    retention = Retention(
        engine=room.engine,
        features=FEATURE_TABLES,
        domains=lambda: {"security": room.domain},
        audit=AuditLog(room.engine),
        settings=Settings.model_validate({"data_dir": "nowhere"}),
        unfinished=frozenset,
    )
    retention.purge()
    assert [gap.times for gap in room.look()] == [1]
    with room.engine.begin() as connection:
        ids = set(connection.scalars(select(GapQuestionRow.question_id)))
        delete_questions(connection, ids, FEATURE_TABLES.tables)
    assert room.look() == []
    tables = {
        kept.table.name
        for kept in FEATURE_TABLES.tables
        if kept.table.name.startswith("bot_gap") and kept.at
    }
    with room.engine.connect() as connection:
        for kept in FEATURE_TABLES.tables:
            if kept.table.name in tables:
                assert connection.execute(select(kept.table)).all() == []


def test_a_question_whose_words_are_forgotten_shows_none(room: GapRoom) -> None:
    name = room.ask(WAYS[0])
    with room.engine.begin() as connection:
        connection.execute(
            insert(HandoffRow).values(
                question_id=name,
                channel="C",
                requested_by="U0YOU",
                requested_at=datetime(2026, 1, 1),
            )
        )
    assert room.look()
    room.records.mark(name, state="forgotten", text="", answer=None)
    assert "loaner" not in room.home()
    assert room.look() == []


# Counted.


def test_open_gaps_are_counted_by_domain(room: GapRoom) -> None:
    asked_by_three(room)
    room.look()
    room.feature.plan()  # type: ignore[misc]
    assert GAPS_OPEN.labels("security")._value.get() == 1


def test_a_minute_without_news_plans_nothing(room: GapRoom) -> None:
    plan = room.feature.plan
    assert plan
    asked_by_three(room)
    plan()
    late = datetime.now(UTC) + timedelta(days=1)
    assert [(one.kind, one.subject) for one in room.timers.due(late)] == [("gaps_look", "security")]
    for timer in room.timers.due(late):
        room.timers.delete_stored(timer)
    room.look()
    room.ask_again()
    plan()
    assert room.timers.due(late) == []
    room.publish(WITH_TRAVEL)
    plan()
    assert [one.kind for one in room.timers.due(late)] == ["gaps_ask"]


def test_a_change_says_what_by_whom_and_when(room: GapRoom) -> None:
    accepted(room)
    change = room.gaps()[0].history[-1]
    assert (change.state, change.by, change.generation) == ("accepted", "U0DANA", 0)


def test_without_documents_the_bot_has_no_gaps() -> None:
    from types import SimpleNamespace

    from bot.features.gaps.feature import build_gaps

    tools: Any = SimpleNamespace(published=None)
    feature = build_gaps(tools, tools, None, tools)
    assert feature.plan is None
    assert not feature.timers
    assert domain().gaps.report is None
