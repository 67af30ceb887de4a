"""The ledger of alerts: who is told of kinds that nobody acts on, and with which step people
begin."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from datetime import UTC, date, datetime, time, timedelta
from pathlib import Path

import pytest
from sqlalchemy import create_engine, select

from bot.features.alerts.episodes import Occurrence
from bot.features.alerts.history import RecordedAlerts
from bot.features.alerts.store import EpisodeStore
from bot.features.owner_drafts.store import OwnerDraftRow
from bot.features.snooze.ledger import MAX_IGNORED, MIN_DAYS, REVIEW, AlertLedger
from durable.database import now
from tests.bot.conftest import words
from tests.bot.fakes import showing_to_all
from tests.bot.features.alerts.office import (
    PLATFORM,
    TILL,
    AlertHouse,
    alert_house,
    catalogue,
    longer_ago,
)
from tests.bot.features.alerts.test_alert_desk import firing
from tests.bot.features.snooze.test_snooze import INES, snooze
from tests.databases import postgresql_database

KEYS = "runbooks: {snooze: true}\n"
MONDAY = date(2026, 11, 23)


@pytest.fixture(scope="module")
def open_house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AlertHouse]:
    hatch = TILL.replace("TillOffline", "HatchOpen").replace("till-runbook", "hatch-runbook")
    texts = {"platform": (catalogue(), TILL, hatch)}
    with alert_house(tmp_path_factory.mktemp("ledger"), texts, keys=KEYS) as found:
        yield found


@pytest.fixture
def house(open_house: AlertHouse) -> AlertHouse:
    open_house.settle()
    longer_ago(open_house.bot.engine, timedelta(days=60))
    return open_house


def episodes(house: AlertHouse, name: str, count: int = 5, *, apart: float = 24) -> list[str]:
    """Their messages. `apart`: hours."""
    sent = []
    for _ in range(count):
        house.settle()
        longer_ago(house.bot.engine, timedelta(hours=apart))
        sent.append(house.fires(firing(name, "pod = a")))
    house.settle()
    return sent


def ignored(house: AlertHouse) -> list[str]:
    """Lines of the digest."""
    digest = house.feature(REVIEW).digest
    assert digest
    parts = digest(house.copilot.domain("platform"), datetime.now(UTC), showing_to_all())
    return [line for part in parts if "nobody" in part.title for line in part.lines]


def test_a_kind_that_nobody_acts_on_is_in_the_digest_and_told_to_its_owner(
    house: AlertHouse,
) -> None:
    episodes(house, "CartErrors")
    assert ignored(house) == ["`CartErrors` fired 5 times in 30 days"]
    review = house.feature(REVIEW).timers[REVIEW]
    for day in (MONDAY, MONDAY + timedelta(days=7)):
        review(f"platform {day:%Y-%m-%d}")
        house.settle()
    with house.bot.engine.connect() as connection:
        (draft,) = connection.execute(select(OwnerDraftRow)).all()
    assert (draft.kind, draft.document) == ("review", "alert-catalogue")
    assert draft.question == (
        "CartErrors fired 5 times in 30 days, and no work on it is on record here. "
        "Raise its threshold, or say in its runbook entry when to ignore it."
    )


def test_a_kind_without_a_runbook_is_told_to_the_admins(house: AlertHouse) -> None:
    episodes(house, "NobodyKnowsThis")
    house.feature(REVIEW).timers[REVIEW](f"platform {MONDAY:%Y-%m-%d}")
    house.settle()
    with house.bot.engine.connect() as connection:
        drafts = connection.execute(select(OwnerDraftRow)).all()
    (draft,) = [one for one in drafts if "NobodyKnowsThis" in one.question]
    assert (draft.document, draft.role) == ("", "admin")
    assert draft.question.endswith("turn it off, or write a runbook entry for it.")


def test_few_episodes_or_one_bad_night_are_no_habit(house: AlertHouse) -> None:
    episodes(house, "CartLatency", 4)
    episodes(house, "BasketFull", 5, apart=0)
    assert ignored(house) == []


@pytest.mark.parametrize(
    ("name", "act"),
    [
        ("BasketStuck", "feedback"), ("TillSlow", "human"), ("ScaleDrift", "words"),
        ("ShelfEmpty", "snooze"), ("TillOffline", "checklist"),
    ],
)  # fmt: skip
def test_whatever_a_person_does_there_counts(house: AlertHouse, name: str, act: str) -> None:
    sent = episodes(house, name)
    assert ignored(house) == [f"`{name}` fired 5 times in 30 days"]
    ts = sent[2]
    (answer, *_) = house.replies(ts)
    if act == "feedback":
        chosen = {"value": f"helpful {PLATFORM}:{ts}"}
        house.slack.click(PLATFORM, answer["ts"], "answer_feedback", INES, chosen=chosen)
    elif act == "human":
        house.slack.click(PLATFORM, answer["ts"], "ask_human", INES)
    elif act == "words":
        house.slack.post_as_user(PLATFORM, "that is the old relay", thread_ts=ts, user=INES)
    elif act == "snooze":
        snooze(house, ts)
    else:
        start(house, ts)
        tick(house, ts, 0)
    house.settle()
    assert ignored(house) == []


def start(house: AlertHouse, ts: str) -> None:
    (answer, *_) = house.replies(ts)
    house.slack.click(PLATFORM, answer["ts"], "checklist_start", INES)
    house.settle()


def tick(house: AlertHouse, ts: str, step: int) -> None:
    card = next(one for one in house.replies(ts) if f"checklist_done_{step}" in words(one))
    house.slack.click(PLATFORM, card["ts"], f"checklist_done_{step}", INES)
    house.settle()


def test_an_answer_says_with_which_step_people_begin(house: AlertHouse) -> None:
    for number in range(4):
        (ts,) = episodes(house, "HatchOpen", 1)
        begun = "times people began with step 2: Promote the standby"
        assert (f"The last 3 {begun}" in house.reply(ts)) == (number == 3)
        start(house, ts)
        tick(house, ts, 1)
    (ts,) = episodes(house, "HatchOpen", 1)
    assert f"The last 4 {begun}" in house.reply(ts)
    start(house, ts)
    tick(house, ts, 0)
    (ts,) = episodes(house, "HatchOpen", 1)
    assert "people began with" not in house.reply(ts)


def test_owners_are_told_on_mondays(house: AlertHouse) -> None:
    ledger = getattr(house.feature(REVIEW).plan, "__self__", None)
    assert isinstance(ledger, AlertLedger)
    try:
        for day, due in ((MONDAY - timedelta(days=1), 0), (MONDAY, 1), (MONDAY, 1)):
            ledger.clock = lambda day=day: datetime.combine(day, time(5))
            ledger.plan()
            timers = house.bot.timers.due(datetime(2026, 11, 23, 9, tzinfo=UTC), limit=10_000)
            subjects = [one.subject for one in timers if one.kind == REVIEW]
            assert subjects == ["platform 2026-11-23"] * due
    finally:
        ledger.clock = now
        house.bot.timers.cancel(REVIEW, "platform 2026-11-23")


@pytest.mark.parametrize("database", ["sqlite", "postgresql"])
def test_the_history_is_the_same_in_each_database(database: str, tmp_path: Path) -> None:
    with ExitStack() as stack:
        url = f"sqlite:///{tmp_path / 'alerts.db'}"
        if database == "postgresql":
            url = stack.enter_context(postgresql_database())
        engine = create_engine(url)
        stack.callback(engine.dispose)
        store, history = EpisodeStore(engine), RecordedAlerts(engine)
        at = datetime(2026, 11, 22, 23, 50)
        for number in range(4):
            store.count(
                Occurrence(
                    message=f"C1:{number}", kind="k", named="n", name="DiskFull", domain="platform",
                    channel="C1", outcome="found", status="firing", places=(f"pod {number % 2}",),
                    severities=("warning",), at=at + timedelta(minutes=5 * number),
                )
            )  # fmt: skip
        (episode,) = history.of_kind("k")
        assert (episode.fired, episode.question_id, episode.resolved_at) == (4, "C1:0", None)
        assert history.signs(episode.id, at) == (("warning",), ("pod 0",))
        assert history.days("platform", at) == {"k": 2}
        assert [one.fired for one in history.since("platform", at + timedelta(minutes=5))] == [3]
        assert history.fired("k", at, at + timedelta(minutes=10)) == 2


def test_a_digest_lists_few_and_the_loudest_first(house: AlertHouse) -> None:
    kinds = range(MAX_IGNORED + 1)
    for _ in range(MIN_DAYS):
        house.settle()
        longer_ago(house.bot.engine, timedelta(days=1))
        for number in kinds:
            for _ in range(number + 1):
                house.fires(firing(f"Unheard{number}Alert"))
    house.settle()
    lines = ignored(house)
    assert len(lines) == MAX_IGNORED
    assert (
        lines[0]
        == f"`Unheard{MAX_IGNORED}Alert` fired {MIN_DAYS * (MAX_IGNORED + 1)} times in 30 days"
    )
