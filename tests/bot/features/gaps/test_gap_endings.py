"""When a gap closes, opens again and is let go: what proves it, and what proves nothing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from sqlalchemy import select

from agents.answer import Answer
from bot.features.gaps.recheck import outcome_of
from bot.features.gaps.store import GapDraftRow
from bot.features.registry import FEATURE_TABLES
from bot.privacy.personal_data import PersonalData
from index.audit import AuditLog
from index.permissions.rules import Guarded, PermissionIndex
from tests.bot.fakes import answer, passages_found
from tests.bot.features.gaps.room import LAPTOPS, TRAVEL, WITH_TRAVEL, GapRoom, gap_room
from tests.bot.features.gaps.test_gaps import WAYS, accepted, asked_by_three

EDITED = LAPTOPS.replace("5 minutes", "6 minutes")
TRAVEL_GUIDE = f"""---
id: travel-guide
title: Travel Guide
---
# Travel Guide

## Loaner laptops for travel

{TRAVEL}
"""


@pytest.fixture
def room() -> Iterator[GapRoom]:
    with gap_room() as found:
        yield found


def citing(heading: str, **more: Any) -> Answer:
    (cited,) = answer().citations
    cited = replace(cited, document="laptops", heading=heading, quote="")
    return answer("They are at the desk [1].", citations=(cited,), **more)


def disliked(room: GapRoom, correction: str = "") -> None:
    name = room.ask(WAYS[0], reply=citing("Screen lock"))
    room.dislike(name, "outdated", correction)
    assert len(room.look()) == 1


def test_an_answer_that_failed_people_closes_nothing_when_it_is_given_again(
    room: GapRoom,
) -> None:
    disliked(room, TRAVEL)
    room.answers = lambda question: citing("Screen lock")
    room.publish(EDITED)
    assert [gap.state for gap in room.ask_again()] == ["proposed"]
    assert room.asked
    room.answers = lambda question: citing("Loaner laptops for travel")
    room.publish(WITH_TRAVEL)
    assert [gap.state for gap in room.ask_again()] == ["closed"]


def test_without_a_human_s_words_nobody_can_tell_a_right_answer_from_the_one_that_failed(
    room: GapRoom,
) -> None:
    disliked(room)
    room.answers = lambda question: citing("Screen lock")
    room.publish(EDITED)
    assert [gap.state for gap in room.ask_again()] == ["open"]
    assert room.asked


def test_what_was_refused_needs_an_answer_in_no_particular_words(room: GapRoom) -> None:
    accepted(room)
    room.answers = lambda question: citing("Screen lock")
    room.publish(EDITED)
    assert [gap.state for gap in room.ask_again()] == ["closed"]


@pytest.mark.parametrize(
    ("reply", "outcome"),
    [
        (citing("Screen lock", degraded=("answer",)), "unknown"),
        (passages_found(degraded=("answer",)), "unknown"),
        (citing("Screen lock", degraded=("plan",)), "answered"),
        (answer(degraded=("plan",)), "unknown"),  # of another document
    ],
)
def test_what_is_answered_while_the_model_is_away_tells_little(reply: Answer, outcome: str) -> None:
    words = "Signing keys are rotated every 90 days."
    assert outcome_of(reply, documents=["laptops"], words=words) == outcome


def test_an_outage_is_asked_about_again_though_it_cited_something(room: GapRoom) -> None:
    accepted(room)
    room.answers = lambda question: answer(degraded=("answer",))
    room.publish(WITH_TRAVEL)
    assert [gap.state for gap in room.ask_again()] == ["accepted"]
    room.answers = None
    room.publish(f"{WITH_TRAVEL}\n", TRAVEL_GUIDE)
    assert [gap.state for gap in room.ask_again()] == ["closed"]


def test_a_document_with_a_long_name_is_seen_to_change(room: GapRoom) -> None:
    name = "handbook/" + "x" * 150
    room.publish(LAPTOPS.replace("id: laptops", f"id: {name}"))
    ids = asked_by_three(room)
    room.resolve(ids[0], TRAVEL)
    room.look()
    room.decide("accepted", document=name)
    room.ask_again()
    room.publish(WITH_TRAVEL.replace("id: laptops", f"id: {name}"))
    assert [gap.state for gap in room.ask_again()] == ["closed"]


def test_what_was_accepted_for_a_deleted_document_may_stand_in_another_one(room: GapRoom) -> None:
    accepted(room)
    room.publish(EDITED, TRAVEL_GUIDE)
    assert [gap.state for gap in room.ask_again()] == ["accepted"]
    room.publish(TRAVEL_GUIDE)
    assert [gap.state for gap in room.ask_again()] == ["closed"]


def test_an_answer_that_moved_is_missed_when_it_goes_from_there_too(room: GapRoom) -> None:
    accepted(room)
    room.publish(WITH_TRAVEL)
    assert [gap.state for gap in room.ask_again()] == ["closed"]
    room.publish(LAPTOPS, TRAVEL_GUIDE)
    assert [gap.state for gap in room.ask_again()] == ["closed"]
    room.publish(LAPTOPS)
    assert [gap.state for gap in room.ask_again()] == ["reopened"]


def test_a_closed_gap_opens_when_its_document_is_deleted(room: GapRoom) -> None:
    accepted(room)
    room.publish(WITH_TRAVEL, TRAVEL_GUIDE.replace(TRAVEL, "Trains are booked by the office."))
    assert [gap.state for gap in room.ask_again()] == ["closed"]
    room.publish(TRAVEL_GUIDE.replace(TRAVEL, "Trains are booked by the office."))
    assert [gap.state for gap in room.ask_again()] == ["reopened"]


def test_a_document_that_not_everybody_may_read_closes_its_gap(room: GapRoom) -> None:
    class OpenToNobody:
        epoch = 0
        open_to = PermissionIndex({}).open_to

        def check(self, documents: Any) -> None:
            """Nobody to ask."""

    accepted(room)
    room.publish(WITH_TRAVEL)
    room.snapshot = Guarded(room.snapshot, OpenToNobody())  # type: ignore[assignment]
    (gap,) = room.ask_again()
    assert (gap.state, gap.document) == ("closed", "")


def test_a_document_that_is_deleted_while_its_draft_waits_leaves_an_open_gap(
    room: GapRoom,
) -> None:
    ids = asked_by_three(room)
    room.resolve(ids[0], TRAVEL)
    assert [gap.state for gap in room.look()] == ["proposed"]
    room.decide("gone", "")
    assert room.states() == ["open"]
    assert [gap.state for gap in room.look()] == ["open"]
    room.dislike(ids[1], "no_answer", "Ask at the service desk.")
    assert [gap.state for gap in room.look()] == ["proposed"]


def test_what_is_dismissed_after_it_opened_again_is_not_accepted(room: GapRoom) -> None:
    ids = accepted(room)
    room.publish(WITH_TRAVEL)
    room.ask_again()
    room.publish(LAPTOPS)
    assert [gap.state for gap in room.ask_again()] == ["reopened"]
    room.dislike(ids[1], "no_answer", "No idea, sorry.")
    assert [gap.state for gap in room.look()] == ["proposed"]
    room.decide("dismissed", "")
    (gap,) = room.gaps()
    assert (gap.state, gap.history[-1].by) == ("reopened", "U0DANA")


def test_a_second_draft_that_is_dismissed_leaves_an_accepted_gap_accepted(room: GapRoom) -> None:
    ids = accepted(room)
    room.dislike(ids[1], "no_answer", "No idea, sorry.")
    room.look()
    room.decide("dismissed", "")
    assert room.states() == ["accepted"]


def test_words_that_an_owner_edited_go_with_whoever_said_them_first(room: GapRoom) -> None:
    ids = asked_by_three(room)
    room.resolve(ids[0], TRAVEL)
    room.look()
    room.decide("accepted", f"{TRAVEL} Bring your badge.", words_by="U0INES")
    PersonalData(
        engine=room.engine, features=FEATURE_TABLES, audit=AuditLog(room.engine), inbox=None
    ).erase("U0INES")
    with room.engine.connect() as connection:
        (draft,) = connection.execute(select(GapDraftRow)).all()
    assert draft.words == ""


def test_a_draft_that_comes_back_says_whose_words_were_accepted(room: GapRoom) -> None:
    ids = asked_by_three(room)
    room.resolve(ids[0], TRAVEL)
    room.look()
    room.decide("accepted", "Something of the owner's own.", words_by="U0DANA")
    PersonalData(
        engine=room.engine, features=FEATURE_TABLES, audit=AuditLog(room.engine), inbox=None
    ).erase("U0INES")
    with room.engine.connect() as connection:
        (draft,) = connection.execute(select(GapDraftRow)).all()
    assert draft.words == "Something of the owner's own."
