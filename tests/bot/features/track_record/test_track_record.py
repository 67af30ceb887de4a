"""How runbook entries did: recorded from what people do, graded in the thread, shown at the next
alert. The real bot over a real index."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from sqlalchemy import create_engine, select, update

from bot.feature import DigestPart, Verdicts
from bot.features.registry import FEATURE_TABLES
from bot.features.track_record.record import (
    EntryGraded,
    EntryUse,
    GradesDue,
    Outcome,
    Work,
    settle,
    track_record,
)
from bot.features.track_record.store import GradeRow, TrackRecordStore, UseRow
from bot.features.track_record.views import grade_message, record_line, rounded
from bot.privacy.tables import delete_questions, erase_in_features, rows_of
from durable.database import now
from playground.slack.rules.block_rules import problems
from telemetry.metrics import registry
from tests.bot.conftest import words
from tests.bot.fakes import showing_to_all
from tests.bot.features.alerts.office import CLOSED, PLATFORM, ROWS, SECURITY, catalogue
from tests.bot.features.alerts.test_alert_desk import firing
from tests.bot.features.track_record.incidents import GUEST, Incidents, dated, incidents
from tests.databases import postgresql_database

BEGAN = datetime(2026, 11, 3, 3)
USE = EntryUse(
    question_id="C0PLATFORM:1.0", entry="e", domain="platform", document="d", name="CartErrors",
    began_at=BEGAN,
)  # fmt: skip


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Incidents]:
    with incidents(tmp_path_factory.mktemp("record")) as found:
        found.house.slack.workspace.people[GUEST.id] = GUEST
        found.house.slack.workspace.channel(PLATFORM).members.add(GUEST.id)
        yield found


@pytest.fixture
def desk(running: Incidents) -> Incidents:
    running.house.slack.faults.clear()
    running.apart()
    with running.house.bot.engine.begin() as connection:
        for table in (UseRow, GradeRow):
            connection.execute(table.__table__.delete())  # type: ignore[attr-defined]  # a Table
    return running


def test_a_runbook_that_was_worked_through_is_asked_about_and_has_a_record_next_time(
    desk: Incidents,
) -> None:
    ts = desk.fires("TillOffline")
    assert desk.shown(ts) == ""
    desk.work_through(ts)
    desk.check()
    desk.resolves("TillOffline")
    desk.check()
    desk.check()
    (message,) = desk.messages(ts)
    for part in ("How did the runbook for *TillOffline* do?", "It fixed it", "One step short",
                 "Right area", "Wrong"):  # fmt: skip
        assert part in words(message)
    assert problems(message["blocks"]) == []
    assert desk.outcomes(ts) == ["resolved"]
    desk.apart()
    assert desk.shown(desk.fires("TillOffline")) == "Track record: used once, resolved once"


def test_an_alert_that_nobody_touched_is_no_use_and_nothing_is_asked(desk: Incidents) -> None:
    ts = desk.fires("CartErrors")
    desk.resolves("CartErrors")
    desk.check()
    assert desk.messages(ts) == []
    assert desk.outcomes(ts) == [""]
    desk.apart()
    assert desk.shown(desk.fires("CartErrors")) == ""


def test_a_finished_checklist_proves_nothing_while_the_alert_fires(desk: Incidents) -> None:
    ts = desk.fires("TillOffline")
    desk.work_through(ts)
    desk.check()
    assert desk.outcomes(ts) == ["unknown"]
    assert len(desk.messages(ts)) == 1


def test_a_runbook_that_needed_a_human_failed(desk: Incidents) -> None:
    ts = desk.fires("CartDisk95")
    desk.ask_human(ts)
    desk.check()
    assert desk.outcomes(ts) == ["failed"]
    assert desk.messages(ts) == []
    desk.resolves("CartDisk95")
    desk.check()
    assert len(desk.messages(ts)) == 1
    failed_at = desk.use(ts).began_at
    desk.apart()
    told = desk.shown(desk.fires("CartDisk95"))
    assert told == f"Track record: used once, resolved none, last failed on {dated(failed_at)}"


@pytest.mark.parametrize(
    ("verdicts", "outcome"),
    [(["helpful"], "resolved"), (["unhelpful"], "failed"), (["helpful", "unhelpful"], "failed")],
)
def test_feedback_counts_without_a_grade(
    desk: Incidents, verdicts: list[str], outcome: str
) -> None:
    ts = desk.fires("BasketFull")
    for verdict, user in zip(verdicts, ("U0INES", "U0DANA"), strict=False):
        desk.verdict(ts, verdict, user)
    desk.resolves("BasketFull")
    desk.check()
    assert desk.outcomes(ts) == [outcome]


def asked(desk: Incidents, name: str = "CartErrors") -> str:
    """An alert that was handed off and is over."""
    ts = desk.fires(name)
    desk.ask_human(ts)
    desk.resolves(name)
    desk.check()
    return ts


def test_grades_decide_and_the_last_press_of_each_person_counts(desk: Incidents) -> None:
    ts = asked(desk)
    desk.grade(ts, "wrong")
    desk.grade(ts, "fixed")
    assert desk.counts(ts) == "It fixed it: 1"
    assert desk.outcomes(ts) == ["resolved"]
    desk.grade(ts, "short", "U0DANA")
    assert desk.counts(ts) == "It fixed it: 1 · One step short: 1"
    assert desk.outcomes(ts) == ["failed"]  # as many said so
    desk.grade(ts, "fixed", "U0MAREK")
    assert desk.outcomes(ts) == ["resolved"]
    (message,) = desk.messages(ts)
    assert not any(user in words(message) for user in ("U0INES", "U0DANA", "U0MAREK"))
    desk.check()
    assert desk.outcomes(ts) == ["resolved"]


def test_a_press_that_is_handled_late_does_not_replace_a_later_one(desk: Incidents) -> None:
    use = desk.use(asked(desk))
    desk.store.grade(use, "U0INES", "fixed", BEGAN)
    desk.store.grade(use, "U0INES", "wrong", BEGAN - timedelta(seconds=1))
    assert desk.store.grades(use.question_id) == {use.entry: {"fixed": 1}}


@pytest.fixture(params=["sqlite", "postgresql"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[TrackRecordStore]:
    with ExitStack() as opened:
        url = f"sqlite:///{tmp_path / 'state.sqlite'}"
        if request.param == "postgresql":
            url = opened.enter_context(postgresql_database()).replace("ql://", "ql+psycopg://")
        engine = create_engine(url)
        opened.callback(engine.dispose)
        yield TrackRecordStore(engine)


def test_of_presses_at_the_same_time_the_last_of_each_person_counts(
    store: TrackRecordStore,
) -> None:
    store.begin(USE)
    presses = [
        (f"U0{person}", grade, BEGAN + timedelta(seconds=second))
        for second, grade in enumerate(("wrong", "area", "fixed"))
        for person in range(5)
    ]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda press: store.grade(USE, *press), presses))
    assert store.grades(USE.question_id) == {"e": {"fixed": 5}}
    assert store.wrong_since("platform", BEGAN) == []
    store.grade(USE, "U00", "wrong", BEGAN + timedelta(minutes=1))
    assert store.wrong_since("platform", BEGAN) == [(USE, 1)]


def test_guests_grade_nothing_and_learn_why(desk: Incidents) -> None:
    ts = asked(desk)
    desk.grade(ts, "wrong", GUEST.id)
    assert desk.store.grades(f"{PLATFORM}:{ts}") == {}
    (why,) = desk.house.slack.ephemerals(GUEST.id)
    assert "guests" in why["text"]


def test_grades_for_another_entry_or_of_another_kind_count_nothing(desk: Incidents) -> None:
    ts = asked(desk)
    desk.grade(ts, "fixed", entry="f" * 24)
    event = EntryGraded(
        question_id=f"{PLATFORM}:{ts}", entry=desk.use(ts).entry, grade="splendid",
        user="U0INES", at="",
    )  # fmt: skip
    desk.house.bot.inbox.put("splendid", event.item())
    desk.house.settle()
    assert desk.store.grades(f"{PLATFORM}:{ts}") == {}


def test_two_kinds_in_one_message_are_graded_apart_and_by_grades_alone(desk: Incidents) -> None:
    group = "[FIRING:2]\nFiring\n" + "\n".join(
        f"Labels:\n - alertname = {name}\n - severity = warning\n"
        for name in ("TillSlow", "LampOut")
    )
    ts = desk.house.fires(group)
    desk.house.settle()
    desk.ask_human(ts)
    assert [one.name for one in desk.uses(ts)] == ["LampOut", "TillSlow"]
    desk.resolves("TillSlow")
    desk.check()
    assert desk.messages(ts) == []  # one of them still fires
    desk.resolves("LampOut")
    desk.check()
    assert desk.outcomes(ts) == ["", ""]  # nobody knows for which of them help was called
    (message,) = desk.messages(ts)
    assert "*LampOut*" in words(message)
    assert "*TillSlow*" in words(message)
    assert problems(message["blocks"]) == []
    desk.grade(ts, "area", entry=desk.uses(ts)[1].entry)
    assert desk.outcomes(ts) == ["", "failed"]
    desk.apart()
    again = desk.house.fires(group)
    desk.house.settle()
    told = desk.shown(again)
    assert told.startswith("Track record of TillSlow: used once, resolved none")
    assert "LampOut" not in told


def test_two_alerts_in_one_thread_are_asked_about_by_name(desk: Incidents) -> None:
    ts = desk.fires("TillOffline")
    second = desk.house.fires(firing("BasketStuck"), thread_ts=ts)
    desk.house.settle()
    for answer in desk.messages(ts, "oncall_answer"):
        desk.house.slack.click(PLATFORM, answer["ts"], "ask_human", "U0INES")
        desk.house.settle()
    for name in ("TillOffline", "BasketStuck"):
        desk.resolves(name)
    desk.check()
    first, other = desk.messages(ts)
    assert "*TillOffline*" in words(first) + words(other)
    assert "*BasketStuck*" in words(first) + words(other)
    assert desk.outcomes(ts) == desk.outcomes(second) == ["failed"]


def test_an_alert_that_fires_again_is_not_resolved_and_is_asked_about_once(
    desk: Incidents,
) -> None:
    ts = desk.fires("TillOffline")
    desk.work_through(ts)
    desk.resolves("TillOffline")
    desk.check()
    assert desk.outcomes(ts) == ["resolved"]
    desk.fires("TillOffline")
    desk.check()
    assert desk.outcomes(ts) == ["unknown"]
    assert desk.use(ts).resolved_at is None
    desk.resolves("TillOffline")
    desk.check()
    assert desk.outcomes(ts) == ["resolved"]
    assert len(desk.messages(ts)) == 1


def test_an_entry_that_was_edited_has_a_fresh_record(
    desk: Incidents, request: pytest.FixtureRequest
) -> None:
    desk.past(desk.use(desk.fires("RoofLeak")), ["resolved"] * 3)
    desk.apart()
    month = f"{now() - timedelta(days=3):%B}"
    assert f"used 3 times since {month}" in desk.shown(desk.fires("RoofLeak"))
    path = desk.house.folder / "config/domains/platform/0.md"
    before = path.read_text("utf-8")

    def restore() -> None:
        path.write_text(before, "utf-8")
        desk.house.copilot.ingest("platform")

    request.addfinalizer(restore)
    path.write_text(before.replace("Shift the zone", "Shut the zone"), "utf-8")
    desk.house.copilot.ingest("platform")
    desk.apart()
    assert desk.shown(desk.fires("RoofLeak")) == ""


def test_a_row_that_was_deleted_meanwhile_can_still_be_graded(
    desk: Incidents, request: pytest.FixtureRequest
) -> None:
    ts = asked(desk, "GateDown")
    path = desk.house.folder / "config/domains/platform/0.md"
    before = path.read_text("utf-8")

    def restore() -> None:
        path.write_text(before, "utf-8")
        desk.house.copilot.ingest("platform")

    request.addfinalizer(restore)
    path.write_text(catalogue([row for row in ROWS if row[0] != "GateDown"]), "utf-8")
    desk.house.copilot.ingest("platform")
    desk.grade(ts, "wrong")
    desk.check()
    assert desk.outcomes(ts) == ["failed"]


def test_nothing_is_asked_about_a_deleted_alert_and_what_was_asked_goes(desk: Incidents) -> None:
    ts = asked(desk, "DoorOpen")
    (message,) = desk.messages(ts)
    desk.house.slack.delete_message(PLATFORM, ts)
    desk.house.settle()
    assert desk.uses(ts) == []
    desk.check()
    assert message["ts"] not in [one["ts"] for one in desk.house.slack.thread(PLATFORM, ts)]


def test_a_press_on_an_erased_question_counts_nothing(desk: Incidents) -> None:
    ts = asked(desk, "QueueJam")
    (message,) = desk.messages(ts)
    value = {"value": f"{PLATFORM}:{ts} {desk.use(ts).entry}"}
    with desk.house.bot.engine.begin() as connection:
        delete_questions(connection, [f"{PLATFORM}:{ts}"], FEATURE_TABLES.tables)
    desk.house.slack.click(PLATFORM, message["ts"], "runbook_grade_fixed", "U0INES", chosen=value)
    desk.house.settle()
    assert desk.store.grades(f"{PLATFORM}:{ts}") == {}
    assert desk.messages(ts) == [message]


def test_who_is_erased_still_counts_without_a_name(desk: Incidents) -> None:
    ts = asked(desk)
    for user in ("U0INES", "U0DANA"):
        desk.grade(ts, "fixed", user)
    with desk.house.bot.engine.begin() as connection:
        exported = rows_of(connection, ["U0DANA"], FEATURE_TABLES.tables)["bot_runbook_grades"]
        assert [row["grade"] for row in exported] == ["fixed"]
        erase_in_features(connection, ["U0INES", "U0DANA"], FEATURE_TABLES.tables)
        assert connection.scalars(select(GradeRow.user)).all() == ["erased", "erased"]
    desk.grade(ts, "wrong", "U0DANA")
    assert desk.counts(ts) == "It fixed it: 2 · Wrong: 1"


def test_it_is_posted_once_however_often_that_is_repeated(desk: Incidents) -> None:
    ts = asked(desk)
    desk.store.set(f"{PLATFORM}:{ts}", message_ts="")  # as after a crash
    put = desk.house.bot.inbox.put
    put("again", GradesDue(question_id=f"{PLATFORM}:{ts}").item())
    desk.house.settle()
    (message,) = desk.messages(ts)
    assert desk.use(ts).message_ts == message["ts"]


def test_where_slack_refuses_the_question_it_is_not_asked_again(desk: Incidents) -> None:
    ts = desk.fires("CartLatency")
    desk.ask_human(ts)
    desk.house.slack.faults.add("chat.postMessage", error="restricted_action", count=100)
    desk.resolves("CartLatency")
    desk.check()
    desk.house.slack.faults.clear()
    desk.check()
    assert desk.messages(ts) == []
    assert desk.use(ts).message_ts == "-"


def test_uses_in_a_channel_that_not_all_here_may_see_are_not_in_its_record(
    desk: Incidents,
) -> None:
    use = desk.use(desk.fires("ScaleDrift"))
    desk.past(use, ["failed", "failed"], channel=CLOSED)
    desk.past(use, ["resolved"])
    desk.apart()
    assert desk.shown(desk.fires("ScaleDrift")) == "Track record: used once, resolved once"


def test_a_shift_learns_which_runbooks_were_graded_wrong(desk: Incidents) -> None:
    ts = asked(desk)
    since = datetime.now(UTC) - timedelta(minutes=5)

    def parts() -> list[DigestPart]:
        digest = desk.house.feature("track_record").digest
        assert digest
        return list(digest(desk.house.copilot.domain("platform"), since, showing_to_all()))

    desk.grade(ts, "short", "U0DANA")
    assert parts() == []
    desk.grade(ts, "wrong")
    (part,) = parts()
    assert list(part.places) == [PLATFORM]
    (line,) = part.lines
    assert f"archives/{PLATFORM}/p{ts.replace('.', '')}" in line
    assert line.endswith("|CartErrors> by 1 person")


def test_a_use_is_counted_once_three_days_after_its_alert(desk: Incidents) -> None:
    def counted() -> float:
        labels = {"domain": "platform", "outcome": "failed"}
        return registry.get_sample_value("oncall_runbook_uses_total", labels) or 0.0

    before = counted()
    ts = asked(desk)
    assert counted() == before
    with desk.house.bot.engine.begin() as connection:
        connection.execute(update(UseRow).values(began_at=now() - timedelta(days=4)))
    desk.house.pass_time(24 * 3_600)
    assert counted() == before + 1
    desk.house.pass_time(24 * 3_600)
    assert counted() == before + 1
    assert len(desk.messages(ts)) == 1


def test_nothing_is_recorded_until_it_is_switched_on(desk: Incidents) -> None:
    ts = desk.house.fires(firing("KeyOverdue"), channel=SECURITY)
    desk.house.settle()
    (answer,) = desk.house.replies(ts, SECURITY)
    desk.house.slack.click(SECURITY, answer["ts"], "ask_human", "U0INES")
    desk.house.fires(firing("KeyOverdue", status="RESOLVED"), channel=SECURITY)
    desk.check()
    assert desk.store.of_question(f"{SECURITY}:{ts}") == []
    assert "How did the runbook" not in str(desk.house.slack.thread(SECURITY, ts))


def uses(*outcomes: Outcome, minutes: float | None = 14.0) -> list[EntryUse]:
    ended = None if minutes is None else BEGAN + timedelta(minutes=minutes)
    return [replace(USE, outcome=one, resolved_at=ended) for one in outcomes]


def line(*outcomes: Outcome, minutes: float | None = 14.0, today: datetime = BEGAN) -> str:
    record = track_record(uses(*outcomes, minutes=minutes))
    return record_line(record, today) if record else ""


def test_the_record_is_no_more_precise_than_its_numbers() -> None:
    assert line() == ""
    assert line("", "") == ""
    assert line("unknown") == "Track record: used once, 1 with an unknown outcome"
    assert line("resolved", "unknown") == (
        "Track record: used twice, resolved once, 1 with an unknown outcome"
    )
    assert line("resolved", "failed", "resolved", "resolved", "resolved") == (
        "Track record: used 5 times since November, resolved 4, last failed on 3 November"
    )
    assert line(*["resolved"] * 7, "failed", "unknown", "") == (  # type: ignore[arg-type]  # outcomes
        "Track record: used 9 times since November, resolved 7, 1 with an unknown outcome, "
        "last failed on 3 November, median 15 minutes"
    )
    assert "since November 2026" in line(*["failed"] * 3, today=BEGAN.replace(year=2027))  # type: ignore[arg-type]  # outcomes


def test_an_end_before_the_beginning_is_no_time() -> None:
    assert "median" not in line(*["resolved"] * 6, minutes=-3.0)  # type: ignore[arg-type]  # outcomes
    assert "median" not in line(*["resolved"] * 6, minutes=None)  # type: ignore[arg-type]  # outcomes


@pytest.mark.parametrize(
    ("minutes", "told"),
    [
        (0.0, "under a minute"), (0.6, "1 minute"), (9.4, "9 minutes"), (9.6, "10 minutes"),
        (12.4, "10 minutes"), (14.0, "15 minutes"), (57.0, "55 minutes"), (58.0, "1 hour"),
        (89.0, "1 hour"), (95.0, "2 hours"), (3_000.0, "50 hours"),
    ],
)  # fmt: skip
def test_minutes_are_rounded_as_far_as_they_matter(minutes: float, told: str) -> None:
    assert rounded(minutes) == told


def test_work_alone_says_only_what_it_can() -> None:
    def outcome(work: Work, *, entries: int = 1, resolved: bool = True) -> str:
        ended = BEGAN + timedelta(minutes=3) if resolved else None
        return settle(replace(USE, resolved_at=ended), [], work, {}, entries).outcome

    assert outcome(Work()) == ""
    assert outcome(Work(checklists=[False])) == "unknown"
    assert outcome(Work(checklists=[True])) == "resolved"
    assert outcome(Work(checklists=[True]), resolved=False) == "unknown"
    assert outcome(Work(checklists=[True], handed_off=True)) == "failed"
    assert outcome(Work(checklists=[True]), entries=2) == ""
    assert outcome(Work(verdicts=Verdicts(helpful=2, unhelpful=1))) == "resolved"
    assert outcome(Work(checklists=[True], verdicts=Verdicts(unhelpful=1))) == "failed"


def test_slack_takes_a_question_about_many_entries_with_huge_names() -> None:
    many = [replace(USE, name="& <x> `*_" * 300, entry=str(n)) for n in range(40)]
    grades = {str(n): dict.fromkeys(("fixed", "short", "area", "wrong"), 1) for n in range(40)}
    assert problems(grade_message(many, grades).blocks) == []
    record = track_record(uses("failed", "failed", "failed"))
    assert record
    assert len(record_line(record, BEGAN, "n" * 900)) < 300
