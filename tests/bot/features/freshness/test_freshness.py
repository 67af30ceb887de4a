"""Documents that grow old, over the real Bolt, a real index and the real embedding model: changed
since they helped, flagged, past their date, contradicting."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from functools import partial
from threading import Barrier
from typing import Any

import pytest
from sqlalchemy import delete, insert, select, update

from agents.answer import Answer, Contradiction, Question
from agents.extractive.relevance import citation
from agents.freshness.cited_places import CitedSection
from agents.freshness.stale_documents import passed_at
from agents.graph import build_ask
from bot.blocks.render import FEEDBACK
from bot.bus.events import Suggestion
from bot.feature import Feature, PublishedIndex
from bot.features.freshness.citation_store import CitationCountStore
from bot.features.freshness.contradictions import ContradictionService, ContradictionSettled
from bot.features.freshness.flags import MAX_FLAGS_PER_DAY, SourceFlagged
from bot.features.freshness.places import dump_place
from bot.features.freshness.service import OverdueDocuments
from bot.features.freshness.store import (
    CitedDayRow,
    ContradictionRow,
    ContradictionSightingRow,
    ContradictionStore,
    FlagRow,
    HelpedPlaceRow,
    OwnerReminderRow,
    ReminderStore,
)
from bot.features.freshness.views import AGAIN, ENOUGH, FLAG, THANKS
from bot.features.registry import FEATURE_TABLES
from bot.privacy.tables import erase_in_features
from bot.questions.store import QuestionStore
from bot.questions.tables import FeedbackRow, QuestionRow
from bot.slack.messages import ERASED
from config.domain import AgingPolicy, ChunkOptions, Domain
from config.minilm import MiniLM
from config.settings import Settings
from durable.database import now
from enrichment.pipeline import prepare
from index.permissions.rules import EVERYONE, visible_to
from index.publish import Index, open_index
from index.search import Snapshot
from loaders.document import Permission
from loaders.files.markdown import parse_markdown
from playground.slack_stand_in import SlackStandIn
from tests.agents.corpus import LAPTOPS, ROTATION
from tests.bot.conftest import Desk, running, words
from tests.bot.crowd import COLLEAGUE, gather
from tests.bot.fakes import CHANNEL, Agents, domain, showing_to_all

GUIDE = """---
id: signing-guide
title: Signing Guide
modified: 2024-01-05
---
# Signing Guide

Owner: Ines. Next review: 2025-03-01.

## Keys

An API signing key for restricted data may be 45 days old.
"""
AGE = "What is the maximum age of an API signing key for restricted data?"
WIPED = "After how many hours does the service desk wipe a stolen laptop?"
MEMBERS = domain(
    admins=["U0INES"], limits={"questions_per_user_per_hour": 10_000}, aging={"review_months": 6}
)
PRIVATE = domain("privacy", "C0PRIVACY", access={"audience": "asker", "files": "nobody"})


@dataclass
class Library:
    """Documents as they are now; published anew, they are answered from at once."""

    index: Index
    embedder: MiniLM

    def publish(
        self,
        *texts: str,
        name: str = "security",
        options: ChunkOptions = ChunkOptions(),
        mark: str = "one",
        readers: tuple[Permission, ...] = (Permission(kind="anyone"),),
    ) -> None:
        with self.index.stage(name) as staging:
            for document in list(staging.documents):
                staging.remove(document)
            for text in texts:
                document = parse_markdown(text, url=f"https://docs.example/{len(text)}")
                document = replace(document, permissions=readers)
                made = prepare(document, count_tokens=self.embedder.count_tokens, options=options)
                staging.put(replace(made.card, made_by=mark), made.chunks)
            staging.commit({})

    def snapshot(self, name: str) -> Snapshot:
        """As everybody may read it."""
        found = self.index.snapshot(name)
        return visible_to(found, EVERYONE) if name == "privacy" else found

    def ask(self, question: Question, of: Domain = MEMBERS) -> Answer:
        name = of.domain
        return build_ask(snapshot=lambda: self.index.snapshot(name), domain=of, model=None)(
            question, None
        )


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Library]:
    settings = Settings.model_validate({"data_dir": tmp_path_factory.mktemp("index")})
    embedder = MiniLM()
    index = open_index(settings, embedder)
    try:
        yield Library(index, embedder)
    finally:
        index.close()


@pytest.fixture(scope="module")
def running_desk(tmp_path_factory: pytest.TempPathFactory, library: Library) -> Iterator[Desk]:
    agents, folder = Agents(), tmp_path_factory.mktemp("aging")
    library.publish(ROTATION, LAPTOPS, GUIDE)
    library.publish(ROTATION, name="privacy", readers=())
    published = PublishedIndex(snapshot=library.snapshot, embed=library.embedder)
    domains = {"security": MEMBERS, "privacy": PRIVATE}
    with SlackStandIn(enforce_rate_limits=False) as slack:
        gather(slack)
        with running(
            slack, folder, agents, domains, published=published,
            everyone_may_read=lambda name, documents: name != "privacy",
        ) as bot:  # fmt: skip
            bot.clock.stop()  # tests plan and run the day's work themselves
            yield Desk(slack, bot, agents)


@pytest.fixture
def desk(running_desk: Desk, library: Library) -> Desk:
    """The documents as they were first, nothing kept of them, and answers from the documents."""
    running_desk.slack.faults.clear()
    running_desk.settle()  # what the test before began
    stored = running_desk.bot.inbox.stored()
    # In SQLite, DBOS stamps items by the second: those of a test before may sort as the newest.
    stored.forget([one.id for one in stored._all()])
    library.publish(ROTATION, LAPTOPS, GUIDE)
    tables = (
        HelpedPlaceRow, FlagRow, ContradictionRow, ContradictionSightingRow, CitedDayRow,
        OwnerReminderRow, QuestionRow,
    )  # fmt: skip
    with running_desk.bot.engine.begin() as connection:
        for table in tables:
            connection.execute(delete(table))
    running_desk.agents.reset(library.ask)
    return running_desk


def aging(desk: Desk) -> Feature:
    (found,) = (one for one in desk.bot.features if SourceFlagged in one.handlers)
    return found


def flag(desk: Desk, event_id: str, values: dict[str, Any]) -> None:
    aging(desk).handlers[SourceFlagged](event_id, SourceFlagged(**values))


def settle_pair(desk: Desk, event_id: str, values: dict[str, Any]) -> None:
    event = ContradictionSettled(**values)
    aging(desk).handlers[ContradictionSettled](event_id, event)


def helped(desk: Desk, question: str, **more: Any) -> None:
    """Somebody asks, and is helped; a minute later the bot has looked."""
    _, reply = desk.ask(question, **more)
    chosen = {"value": f"helpful {desk.answers(reply)}"}
    desk.slack.click(CHANNEL, reply["ts"], FEEDBACK, "U0YOU", chosen=chosen)
    desk.settle()
    planned(desk)


def planned(desk: Desk) -> None:
    plan = aging(desk).plan
    assert plan is not None
    plan()


def suggestions(desk: Desk) -> list[dict[str, Any]]:
    """What owners are told in this test."""
    desk.settle()
    stored = desk.bot.inbox.stored()._all()
    return [dict(one.item["suggestion"]) for one in stored if "suggestion" in one.item]


def notes(message: Mapping[str, Any]) -> str:
    return words({"blocks": [b for b in message["blocks"] if b.get("block_id") == "oncall_notes"]})


def test_a_row_that_changed_since_it_helped_says_so_until_it_helps_again(
    desk: Desk, library: Library
) -> None:
    helped(desk, AGE)
    _, same = desk.ask(AGE)
    assert "changed since" not in words(same)
    changed = ROTATION.replace("| 60 days", "| 45 days")
    library.publish(changed, LAPTOPS, GUIDE)
    _, reply = desk.ask(AGE)
    today = f"{datetime.now(UTC):%b %Y}"
    assert (
        "The row “API signing key” of Key Rotation Standard › Maximum age changed since"
        in notes(reply)
    )
    assert "(60 days → 45 days)" in notes(reply)
    assert today in notes(reply)
    helped(desk, AGE)
    _, settled = desk.ask(AGE)
    assert "changed since" not in words(settled)
    library.publish(ROTATION, LAPTOPS, GUIDE)
    _, back = desk.ask(AGE)
    assert "(45 days → 60 days)" in notes(back)


def test_other_rows_other_pieces_and_other_formats_warn_of_nothing(
    desk: Desk, library: Library
) -> None:
    helped(desk, AGE)
    helped(desk, WIPED)
    other = ROTATION.replace("| 30 days", "| 31 days").replace(
        "API signing key", "**API signing key**"
    )
    again = LAPTOPS.replace("Call the service desk", "Call   the\nservice desk")
    for options, mark in ((ChunkOptions(), "one"), (ChunkOptions(size=14, table_size=12), "two")):
        library.publish(other, again, options=options, mark=mark)
        for question in (AGE, WIPED):
            _, reply = desk.ask(question)
            assert reply["blocks"]
            assert "changed since" not in words(reply)


def test_prose_that_changed_is_named_and_unhelpful_takes_its_base_away(
    desk: Desk, library: Library
) -> None:
    _, first = desk.ask(WIPED)
    chosen = {"value": f"helpful {desk.answers(first)}"}
    desk.slack.click(CHANNEL, first["ts"], FEEDBACK, "U0YOU", chosen=chosen)
    desk.settle()
    planned(desk)
    library.publish(ROTATION, LAPTOPS.replace("after 4 hours", "after 8 hours"))
    _, reply = desk.ask(WIPED)
    assert "Laptop Guide › Lost or stolen changed since an answer from it was last" in notes(reply)
    desk.bot.feedback.give(desk.answers(first), "U0YOU", "unhelpful")
    _, later = desk.ask(WIPED)
    assert "changed since" not in words(later)


def test_verdicts_that_can_not_be_looked_at_now_hold_up_no_others(desk: Desk) -> None:
    with desk.bot.engine.begin() as connection:
        for n in range(60):
            given = {"question_id": f"A:{n}", "user": "U0YOU", "verdict": "helpful"}
            connection.execute(insert(FeedbackRow).values(**given, given_at=now()))
    helped(desk, AGE)
    with desk.bot.engine.begin() as connection:
        kept = connection.execute(select(HelpedPlaceRow)).all()
        connection.execute(delete(FeedbackRow).where(FeedbackRow.question_id.startswith("A:")))
    assert [row.document for row in kept] == ["key-rotation"]


def form(number: str, said: str) -> dict[str, Any]:
    return {
        "source": {"value": {"type": "radio_buttons", "selected_option": {"value": number}}},
        "words": {"value": {"type": "plain_text_input", "value": said}},
    }


def flagged(desk: Desk, reply: Mapping[str, Any], said: str, channel: str = CHANNEL) -> None:
    desk.slack.click(channel, reply["ts"], FLAG)
    desk.slack.wait_for(desk.slack.view)
    desk.slack.submit_view(form("1", said))
    desk.settle()


def test_a_flag_reaches_the_owner_and_is_shown_until_they_decided(desk: Desk) -> None:
    _, reply = desk.ask(AGE)
    desk.slack.click(CHANNEL, reply["ts"], FLAG)
    view = desk.slack.wait_for(desk.slack.view)
    assert "[1] Key Rotation Standard › Maximum age" in json.dumps(view, ensure_ascii=False)
    assert "your name and your words" in json.dumps(view)
    desk.slack.submit_view(form("1", "It is 45 days since May. <!channel>"))
    assert desk.slack.view() is None
    desk.slack.wait_for(lambda: THANKS in words({"blocks": desk.slack.ephemerals()}))
    told = suggestions(desk)[-1]
    assert (told["kind"], told["document"], told["by"]) == ("outdated", "key-rotation", "U0YOU")
    assert told["heading"] == "Maximum age › API signing key"
    assert told["words"] == "It is 45 days since May. <!channel>"
    assert told["question_id"] == desk.answers(reply)
    assert f"/archives/{CHANNEL}/p" in told["permalink"]
    _, later = desk.ask(AGE)
    assert "flagged as out of date by a reader on" in notes(later)
    assert "45 days since May" not in words(later)
    _, elsewhere = desk.ask(WIPED)
    assert "flagged" not in words(elsewhere)
    outcome = {"id": told["id"], "outcome": "dismissed", "by": "U0INES"}
    for attempt in ("a", "b"):
        desk.bot.inbox.put(f"outcome-{told['id']}-{attempt}", {"suggestion_outcome": outcome})
    desk.settle()
    _, decided = desk.ask(AGE)
    assert "flagged" not in words(decided)


def test_an_accepted_flag_is_told_until_the_document_says_otherwise(
    desk: Desk, library: Library
) -> None:
    _, reply = desk.ask(AGE)
    flagged(desk, reply, "It is 45 days now.")
    outcome = {"id": suggestions(desk)[-1]["id"], "outcome": "accepted", "by": "U0INES"}
    desk.bot.inbox.put(f"outcome-{outcome['id']}", {"suggestion_outcome": outcome})
    desk.settle()
    _, later = desk.ask(AGE)
    assert "The document doesn't say otherwise yet" in notes(later)
    library.publish(ROTATION.replace("| 60 days", "| 45 days"), LAPTOPS, GUIDE)
    _, changed = desk.ask(AGE)
    assert "flagged" not in words(changed)


def test_two_who_flag_the_same_row_both_reach_its_owner_and_it_is_listed_once(
    desk: Desk,
) -> None:
    _, reply = desk.ask(AGE)
    before = {one["id"] for one in suggestions(desk)}
    for user, said in (("U0YOU", "45 days."), ("U0INES", "Since May.")):
        item = {"question_id": desk.answers(reply), "user": user, "number": 1, "words": said}
        flag(desk, f"flag-V8-{user}", item)
    told = [one["words"] for one in suggestions(desk) if one["id"] not in before]
    assert sorted(told) == ["45 days.", "Since May."]
    digest = aging(desk).digest
    assert digest is not None
    (part,) = digest(MEMBERS, datetime.now(UTC) - timedelta(hours=1), showing_to_all())
    assert len(part.lines) == 1
    _, later = desk.ask(AGE)
    assert notes(later).count("flagged as out of date") == 1


def test_a_flag_of_a_document_that_is_gone_meanwhile_still_reaches_somebody(
    desk: Desk, library: Library
) -> None:
    _, reply = desk.ask(AGE)
    library.publish(LAPTOPS)
    item = {"question_id": desk.answers(reply), "user": "U0YOU", "number": 1, "words": "Old."}
    flag(desk, "flag-V9-1", item)
    told = suggestions(desk)[-1]
    assert (told["document"], told["heading"], told["words"]) == (
        "key-rotation", "Maximum age", "Old.",
    )  # fmt: skip
    _, other = desk.ask(WIPED)
    assert "flagged" not in words(other)


def test_a_flag_without_marks_is_of_its_heading_alone(desk: Desk) -> None:
    for path, is_told in (("Maximum age", True), ("Other heading", False)):
        kept = CitedSection(document="key-rotation", title="Key Rotation Standard", path=path)
        with desk.bot.engine.begin() as connection:
            connection.execute(delete(FlagRow))
            connection.execute(insert(FlagRow).values(
                id="f", domain="security", document="key-rotation", place=kept.key,
                kept=dump_place(kept), words="", flagged_by="U0YOU", question_id="q", outcome="",
                flagged_at=now(),
            ))  # fmt: skip
        _, reply = desk.ask(AGE)
        assert ("flagged as out of date" in notes(reply)) is is_told


def test_a_flag_ends_when_its_place_changes(desk: Desk, library: Library) -> None:
    _, reply = desk.ask(AGE)
    flagged(desk, reply, "It is 45 days now.")
    library.publish(ROTATION.replace("| 60 days", "| 45 days"), LAPTOPS)
    _, later = desk.ask(AGE)
    assert "flagged" not in words(later)


def test_a_flag_that_is_worked_off_twice_is_one(desk: Desk) -> None:
    _, reply = desk.ask(AGE)
    item = {"question_id": desk.answers(reply), "user": "U0YOU", "number": 1, "words": "Old."}
    before = len(suggestions(desk))
    for _ in range(2):
        flag(desk, "flag-V1-1", item)
    assert len(suggestions(desk)) == before + 1
    with desk.bot.engine.connect() as connection:
        assert len(connection.execute(select(FlagRow)).all()) == 1


def test_a_person_who_flags_without_end_is_stopped_and_told(desk: Desk) -> None:
    _, reply = desk.ask(AGE)
    item = {"question_id": desk.answers(reply), "user": "U0YOU", "number": 1, "words": "Old."}
    before = len(suggestions(desk))
    for number in range(MAX_FLAGS_PER_DAY + 5):
        flag(desk, f"flag-many-{number}", item)
    flag(desk, "flag-many-0", item)  # again after a crash
    assert len(suggestions(desk)) == before + MAX_FLAGS_PER_DAY
    desk.slack.click(CHANNEL, reply["ts"], FLAG)
    desk.slack.wait_for(lambda: ENOUGH in words({"blocks": desk.slack.ephemerals()}))
    assert desk.slack.view() is None


@pytest.mark.parametrize("number", [0, 7, -1])
def test_a_source_that_was_not_cited_can_not_be_flagged(desk: Desk, number: int) -> None:
    _, reply = desk.ask(AGE)
    item = {"question_id": desk.answers(reply), "user": "U0YOU", "number": number, "words": "Old."}
    before = len(suggestions(desk))
    flag(desk, f"flag-V2-{number}", item)
    flag(desk, f"flag-V3-{number}", {**item, "question_id": "C1:unknown"})
    assert len(suggestions(desk)) == before


def test_who_may_not_ask_there_can_not_flag(desk: Desk) -> None:
    _, reply = desk.ask(AGE)
    desk.slack.click(CHANNEL, reply["ts"], FLAG, COLLEAGUE)
    assert desk.slack.view(COLLEAGUE) is None
    before = len(suggestions(desk))
    item = {"question_id": desk.answers(reply), "user": COLLEAGUE, "number": 1, "words": "Old."}
    flag(desk, "flag-V4-1", item)
    assert len(suggestions(desk)) == before


def test_a_form_that_could_not_open_is_said(desk: Desk) -> None:
    _, reply = desk.ask(AGE)
    desk.slack.faults.add("views.open", error="expired_trigger_id")
    desk.slack.click(CHANNEL, reply["ts"], FLAG)
    desk.slack.wait_for(lambda: AGAIN in words({"blocks": desk.slack.ephemerals()}))


def test_words_are_asked_for_where_there_are_none(desk: Desk) -> None:
    _, reply = desk.ask(AGE)
    desk.slack.click(CHANNEL, reply["ts"], FLAG)
    desk.slack.wait_for(desk.slack.view)
    before = len(suggestions(desk))
    answered = desk.slack.submit_view(form("1", "   "))
    assert "Say what is out of date" in json.dumps(answered)
    desk.slack.close_view()
    assert len(suggestions(desk)) == before


def asked_directly(desk: Desk, text: str) -> dict[str, Any]:
    ts = desk.slack.post_as_user("D0YOU", text)
    found = desk.slack.wait_for_reply(
        "D0YOU",
        ts,
        until=lambda m: desk.answers(m) == f"D0YOU:{ts}" and "oncall_feedback" in words(m),
    )
    return dict(found)


def test_what_was_asked_in_private_stays_there_when_it_is_flagged(desk: Desk) -> None:
    desk.agents.spoken_of = ("security",)
    reply = asked_directly(desk, AGE)
    desk.slack.click("D0YOU", reply["ts"], FLAG)
    view = desk.slack.wait_for(desk.slack.view)
    assert "your name, your words and your question stay here" in json.dumps(view)
    desk.slack.submit_view(form("1", "heliotrope"))
    told = suggestions(desk)[-1]
    assert (told["document"], told["kind"]) == ("key-rotation", "outdated")
    assert (told["words"], told["by"], told["question"], told["permalink"]) == ("", "", "", "")
    item = {"question_id": desk.answers(reply), "user": "U0INES", "number": 1, "words": "Old."}
    before = len(suggestions(desk))
    flag(desk, "flag-V5-1", item)  # somebody else's direct message
    assert len(suggestions(desk)) == before


def test_a_document_that_not_everybody_may_read_is_named_in_no_digest(
    desk: Desk, library: Library
) -> None:
    answer = library.ask(Question(text=AGE), PRIVATE)
    assert answer.citations
    desk.agents.reset(answer)
    ts = desk.slack.post_as_user("C0PRIVACY", f"{desk.at} {AGE}")
    desk.settle()
    item = {"question_id": f"C0PRIVACY:{ts}", "user": "U0YOU", "number": 1, "words": "heliotrope"}
    flag(desk, "flag-V6-1", item)
    told = suggestions(desk)[-1]
    assert (told["words"], told["by"], told["permalink"]) == ("", "", "")
    since = datetime.now(UTC) - timedelta(hours=1)
    digest = aging(desk).digest
    assert digest is not None
    (part,) = digest(PRIVATE, since, showing_to_all())
    assert part.lines == ["a document that is gone, or that not everybody may read"]


def test_a_digest_names_new_flags(desk: Desk) -> None:
    _, reply = desk.ask(AGE)
    flagged(desk, reply, "Old.")
    digest = aging(desk).digest
    assert digest is not None
    (part,) = digest(MEMBERS, datetime.now(UTC) - timedelta(hours=1), showing_to_all())
    assert part.title == "Flagged as out of date"
    assert list(part.lines) == ["Key Rotation Standard › Maximum age › API signing key"]
    assert digest(MEMBERS, datetime.now(UTC) + timedelta(hours=1), showing_to_all()) == []


def test_an_answer_from_a_document_past_its_own_review_date_says_so(
    desk: Desk, library: Library
) -> None:
    desk.agents.reset(apart(library))
    _, reply = desk.ask(AGE)
    assert "Signing Guide says that it was to be reviewed by 1 Mar 2025" in notes(reply)


def counted(desk: Desk, count: int, cited: str, *, days_ago: int = 2) -> None:
    """Questions of some days ago whose answers cited this document."""
    _, reply = desk.ask(AGE if cited == "key-rotation" else WIPED)
    desk.settle()
    with desk.bot.engine.begin() as connection:
        row = connection.execute(
            select(QuestionRow).where(QuestionRow.id == desk.answers(reply))
        ).mappings().one()  # fmt: skip
        asked = now() - timedelta(days=days_ago)
        for n in range(count):
            again = {**row, "id": f"{CHANNEL}:9{n}.{days_ago}{cited}", "asked_at": asked}
            connection.execute(insert(QuestionRow).values(again))


def test_what_is_cited_is_counted_for_each_day_once_and_without_anybody_s_name(
    desk: Desk,
) -> None:
    counted(desk, 4, "key-rotation")
    counts = CitationCountStore(engine=desk.bot.engine)
    today = datetime.now(UTC).date()
    for _ in range(2):
        counts.count(MEMBERS, today)
    assert counts.totals("security", today) == {"key-rotation": 4}
    assert counts.is_done("security", today)
    assert not counts.is_done("security", today + timedelta(days=1))
    counts.count(MEMBERS, today + timedelta(days=1))  # tomorrow, today's counts as well
    assert counts.totals("security", today + timedelta(days=1)) == {"key-rotation": 5}
    assert {column.name for column in CitedDayRow.__table__.c} == {
        "domain",
        "document",
        "day",
        "answers",
    }


def test_the_day_s_work_is_planned_once_and_done_by_its_timer(desk: Desk) -> None:
    counted(desk, 3, "laptops")
    planned(desk)
    due = [
        t
        for t in desk.bot.timers.due(datetime.now(UTC) + timedelta(days=1))
        if t.kind == "aging_day"
    ]
    for timer in due:
        aging(desk).timers["aging_day"](timer.subject)
        desk.bot.timers.delete_stored(timer)
    aging(desk).timers["aging_day"]("security")
    counts = CitationCountStore(engine=desk.bot.engine)
    assert counts.totals("security", date.today()) == {"laptops": 3}


def reminders(desk: Desk) -> list[dict[str, Any]]:
    return [one for one in suggestions(desk) if one["id"].startswith("aging-")]


def test_the_owner_of_a_document_to_look_over_is_told_once_a_quarter(desk: Desk) -> None:
    for _ in range(3):
        aging(desk).timers["aging_day"]("security")
    (told,) = reminders(desk)
    assert (told["document"], told["kind"], told["by"]) == ("signing-guide", "review", "")
    assert told["question"].startswith("Was to be reviewed by 1 Mar 2025, ")
    assert told["words"] == ""
    with desk.bot.engine.begin() as connection:
        kept = {row.document for row in connection.execute(select(OwnerReminderRow))}
        assert kept == {"", "signing-guide"}
        week_ago = now() - timedelta(days=8)
        connection.execute(update(OwnerReminderRow).values(reminded_at=week_ago))
    aging(desk).timers["aging_day"]("security")
    with desk.bot.engine.connect() as connection:
        at = connection.scalar(
            select(OwnerReminderRow.reminded_at).where(OwnerReminderRow.document != "")
        )
    assert at == week_ago  # another week, the same quarter


@pytest.mark.parametrize("month", [1, 4, 7, 10])
def test_each_quarter_s_reminder_is_one_of_its_own(
    desk: Desk, library: Library, month: int
) -> None:
    told: list[str] = []
    begins = datetime(2028, month, 1, 0, 10)
    for after in (0, 60, 90):
        moment = begins + timedelta(days=after)
        overdue = OverdueDocuments(
            reminders=ReminderStore(desk.bot.engine),
            counts=CitationCountStore(engine=desk.bot.engine),
            snapshot_of=library.snapshot, suggest=lambda one: told.append(one.id),
            clock=lambda at=moment: at,
        )  # fmt: skip
        overdue.remind(MEMBERS.model_copy(update={"aging": AgingPolicy(review_months=120)}))
    assert len(told) == len(set(told)) == 2


def test_a_digest_names_a_document_once_when_its_review_date_has_passed(
    desk: Desk, library: Library
) -> None:
    digest = aging(desk).digest
    assert digest is not None
    today = datetime.now(UTC).date()
    soon = GUIDE.replace("2025-03-01", f"{today - timedelta(days=3)}")
    library.publish(ROTATION, LAPTOPS, soon)
    passed = passed_at(today - timedelta(days=3))
    (part,) = digest(MEMBERS, passed - timedelta(minutes=1), showing_to_all())
    assert part.title == "Past their review date"
    assert "Signing Guide>: was to be reviewed by" in part.lines[0]
    assert digest(MEMBERS, passed, showing_to_all()) == []


def home(desk: Desk, user: str = "U0INES") -> str:
    desk.settle()  # what an answer met is worked off beside it
    desk.slack.open_app("home", user)
    desk.settle()
    return json.dumps(desk.slack.home(user), ensure_ascii=False)


def test_admins_see_what_is_to_be_looked_over_and_why(desk: Desk) -> None:
    seen = home(desk)
    assert "Security help: documents to look over" in seen
    assert "Signing Guide>: was to be reviewed by 1 Mar 2025, not cited lately" in seen
    assert "to look over" not in home(desk, "U0YOU")


def apart(library: Library) -> Answer:
    """An answer that met two sources which say different things, and cites one of them."""
    snapshot = library.index.snapshot("security")
    units = [
        (chunk, unit)
        for document in ("signing-guide", "key-rotation")
        for chunk in snapshot.chunks(document)
        for unit in chunk.units
        if "API signing key" in unit.text
    ]
    (one, said), (other, row) = units
    first = citation(one, 1, said.text, snapshot.documents)
    second = citation(other, 0, row.text, snapshot.documents)
    met = Contradiction(about="the age of an API signing key", one=first, other=second)
    return Answer(
        text="45 days [1].",
        path="company_specific_rag_success",
        confidence=0.9,
        citations=(first,),
        contradictions=(met,),
        generation=snapshot.generation,
    )


def settle_as(desk: Desk, choice: str) -> None:
    desk.slack.click_in_view(f"settle_contradiction_{choice}", "U0INES")
    desk.settle()


def test_two_sources_apart_are_one_entry_that_an_admin_settles(
    desk: Desk, library: Library
) -> None:
    desk.agents.reset(apart(library))
    for _ in range(2):
        _, reply = desk.ask(AGE)
    assert "Two sources say different things about the age of an API signing key" in notes(reply)
    assert "Signing Guide › Keys and Key Rotation Standard › Maximum age" in notes(reply)
    seen = home(desk)
    assert "the age of an API signing key · met 2 times" in seen
    assert "may be 45 days old" in seen
    assert "API signing key | 60 days | 180 days" in seen
    digest = aging(desk).digest
    assert digest is not None
    assert "Sources that say different things" in [
        part.title
        for part in digest(MEMBERS, datetime.now(UTC) - timedelta(hours=1), showing_to_all())
    ]
    settle_as(desk, "one")
    told = suggestions(desk)[-1]
    assert (told["kind"], told["document"]) == ("contradiction", "key-rotation")
    assert told["heading"] == "Maximum age › API signing key"
    assert told["words"].startswith("Signing Guide › Keys says otherwise: An API signing key for")
    assert "say different things" not in home(desk)


def test_a_settled_pair_comes_back_only_when_a_side_changes(desk: Desk, library: Library) -> None:
    desk.agents.reset(apart(library))
    desk.ask(AGE)
    home(desk)
    before = len(suggestions(desk))
    settle_as(desk, "none")
    desk.ask(AGE)
    assert "say different things" not in home(desk)
    assert len(suggestions(desk)) == before
    library.publish(ROTATION, LAPTOPS, GUIDE.replace("45 days", "30 days"))
    desk.agents.reset(apart(library))
    desk.ask(AGE)
    assert "may be 30 days old" in home(desk)


def test_a_pair_of_which_a_side_changed_is_no_longer_shown(desk: Desk, library: Library) -> None:
    desk.agents.reset(apart(library))
    desk.ask(AGE)
    assert "say different things" in home(desk)
    library.publish(ROTATION, LAPTOPS, GUIDE.replace("45 days", "60 days"))
    assert "say different things" not in home(desk)


def test_only_an_admin_of_the_domain_settles_and_the_first_decides(
    desk: Desk, library: Library
) -> None:
    desk.agents.reset(apart(library))
    desk.ask(AGE)
    desk.settle()
    settle = partial(settle_pair, desk)

    def state() -> tuple[str, str]:
        with desk.bot.engine.connect() as connection:
            row = connection.execute(select(ContradictionRow)).one()
        return row.state, row.decided_by

    pressed = {**waiting_pair(desk), "choice": "none", "user": "U0YOU", "team": ""}
    settle("settle-1", pressed)
    settle("settle-2", {**pressed, "user": "U0INES", "choice": "everything"})
    settle("settle-3", {**pressed, "user": "U0INES", "contradiction": "unknown"})
    assert state() == ("open", "")
    settle("settle-4", {**pressed, "user": "U0INES"})
    settle("settle-5", {**pressed, "user": "U0INES", "choice": "one"})
    assert state() == ("none", "U0INES")


def waiting_pair(desk: Desk) -> dict[str, str]:
    """The only one, as the buttons of a home that shows it now send it."""
    sent = re.search(r"none ([0-9a-f]{32}) ([0-9a-f]{12})", home(desk))
    assert sent
    return {"contradiction": sent[1], "seen": sent[2]}


def decided(desk: Desk) -> tuple[str, str]:
    with desk.bot.engine.connect() as connection:
        row = connection.execute(select(ContradictionRow)).one()
    return row.state, row.decided_by


def test_of_two_admins_who_press_at_once_one_decides_and_one_owner_is_told(
    desk: Desk, library: Library
) -> None:
    desk.agents.reset(apart(library))
    both_admins = ["U0INES", "U0YOU"]
    for attempt in range(8):
        with desk.bot.engine.begin() as connection:
            for table in (ContradictionRow, ContradictionSightingRow):
                connection.execute(delete(table))
        told: list[Suggestion] = []
        queue = ContradictionService(
            contradictions=ContradictionStore(desk.bot.engine),
            records=QuestionStore(desk.bot.engine),
            domains=lambda: {"security": MEMBERS.model_copy(update={"admins": both_admins})},
            snapshot_of=meeting(library, Barrier(2)), suggest=told.append,
            is_admin=lambda user, domain: user in domain.admins,
        )  # fmt: skip
        desk.ask(AGE)
        pair = waiting_pair(desk)
        pressed = (("one", "U0INES"), ("other", "U0YOU"))
        with ThreadPoolExecutor(2) as pool:
            both = [
                pool.submit(queue.decide, pair["contradiction"], choice, user, pair["seen"])
                for choice, user in pressed
            ]
        for each in both:
            each.result()
        assert decided(desk) in pressed, attempt
        lost = {"one": "key-rotation", "other": "signing-guide"}
        assert [one.document for one in told] == [lost[decided(desk)[0]]]


def meeting(library: Library, both: Barrier) -> Callable[[str], Snapshot | None]:
    """The documents; who looks at them waits until the other one has read the queue as well."""

    def snapshot(name: str) -> Snapshot:
        both.wait(timeout=120)
        return library.snapshot(name)

    return snapshot


def test_an_entry_that_says_something_else_than_the_admin_saw_is_void(
    desk: Desk, library: Library
) -> None:
    desk.agents.reset(apart(library))
    desk.ask(AGE)
    seen = waiting_pair(desk)
    before = len(suggestions(desk))
    library.publish(ROTATION, LAPTOPS, GUIDE.replace("45 days", "30 days"))
    settle = partial(settle_pair, desk)
    pressed = {**seen, "choice": "one", "user": "U0INES", "team": ""}
    settle("void-1", pressed)
    assert decided(desk) == ("open", "")
    desk.agents.reset(apart(library))
    desk.ask(AGE)
    assert "may be 30 days old" in home(desk)
    settle("void-2", pressed)  # by a home that still shows 45 days
    assert decided(desk) == ("open", "")
    assert len(suggestions(desk)) == before
    settle("void-3", {**pressed, **waiting_pair(desk)})
    assert decided(desk) == ("one", "U0INES")


def test_an_entry_that_turned_round_is_not_settled_by_what_was_shown_before(
    desk: Desk, library: Library
) -> None:
    met = apart(library)
    desk.agents.reset(met)
    desk.ask(AGE)
    seen = waiting_pair(desk)
    (one,) = met.contradictions
    turned = replace(one, one=one.other, other=one.one)
    desk.agents.reset(replace(met, contradictions=(turned,)))
    desk.ask(AGE)
    desk.settle()
    settle = partial(settle_pair, desk)
    settle("turned-1", {**seen, "choice": "one", "user": "U0INES", "team": ""})
    assert decided(desk) == ("open", "")


def test_what_an_admin_decided_stands_below_later_answers(desk: Desk, library: Library) -> None:
    desk.agents.reset(apart(library))
    desk.ask(AGE)
    home(desk)
    settle_as(desk, "one")
    _, reply = desk.ask(AGE)
    assert "An admin decided that Signing Guide › Keys holds: Signing Guide › Keys and" in notes(
        reply
    )
    library.publish(ROTATION, LAPTOPS, GUIDE.replace("45 days", "30 days"))
    desk.agents.reset(apart(library))
    _, changed = desk.ask(AGE)
    assert "Two sources say different things" in notes(changed)
    assert "decided" not in notes(changed)


def test_no_contradiction_is_told_no_more(desk: Desk, library: Library) -> None:
    desk.agents.reset(apart(library))
    desk.ask(AGE)
    home(desk)
    settle_as(desk, "none")
    _, reply = desk.ask(AGE)
    assert "different things" not in words(reply)


def test_a_pair_with_a_document_that_not_everybody_may_read_is_not_kept(
    desk: Desk, library: Library
) -> None:
    met = apart(library)
    hidden = replace(met.contradictions[0].other, document="not-for-all")
    (one,) = met.contradictions
    desk.agents.reset(replace(met, contradictions=(replace(one, other=hidden),)))
    desk.ask(AGE)
    desk.settle()
    with desk.bot.engine.connect() as connection:
        assert connection.execute(select(ContradictionRow)).all() == []


def test_entries_whose_places_changed_hide_none_that_wait(desk: Desk, library: Library) -> None:
    desk.agents.reset(apart(library))
    desk.ask(AGE)
    desk.settle()
    with desk.bot.engine.begin() as connection:
        row = connection.execute(select(ContradictionRow)).mappings().one()
        old = json.dumps({**json.loads(row["one"]), "exact": "old", "loose": "old"})
        for n in range(120):
            gone = {**row, "id": f"gone-{n}", "one": old, "found_at": now() + timedelta(minutes=n)}
            connection.execute(insert(ContradictionRow).values(gone))
            for question in ("one", "two"):
                often = {"contradiction": f"gone-{n}", "question_id": question, "met_at": now()}
                connection.execute(
                    insert(ContradictionSightingRow).values(**often, domain="security")
                )
    assert "may be 45 days old" in home(desk)


def test_erasing_a_person_takes_their_words_and_their_name(desk: Desk) -> None:
    _, reply = desk.ask(AGE)
    flagged(desk, reply, "heliotrope")
    with desk.bot.engine.begin() as connection:
        erase_in_features(connection, ["U0YOU"], FEATURE_TABLES.tables)
        row = connection.execute(select(FlagRow)).one()
    assert (row.words, row.flagged_by) == ("", ERASED)
