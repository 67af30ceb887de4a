"""What becomes of a runbook's steps over its checklists, and who hears of it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from sqlalchemy import create_engine, select

from agents.runbooks.step import RunbookStep, steps_in
from bot.bus.events import Suggestion
from bot.features.checklists.progress import Checklist, Press, Runbook, StepReport, progress_of
from bot.features.checklists.step_views import commands, step_blocks
from bot.features.checklists.store import ABANDONED_AFTER, ChecklistStore, PressRow
from bot.features.step_counts.feature import StepCountService, next_monday
from bot.features.step_counts.views import (
    RunbookCount,
    StepCount,
    by_place,
    count,
    home_blocks,
    suggestion_text,
)
from bot.slack.messages import ERASED
from durable.database import now
from playground.slack.rules.block_rules import problems
from tests.bot.conftest import eventually
from tests.bot.fakes import domain, showing_to_all
from tests.bot.features.alerts.office import PLATFORM
from tests.bot.features.checklists.runbooks import RunbookShelf
from tests.bot.features.step_counts.runs import PEOPLE, STEPS, Runs, runbook, runs_house
from tests.bot.hostile_text import in_blocks, payloads

SKIPPED, ONCE, REPORTED, COPIED, REMOVED, EDITED = (
    "LedgerFailover", "TillRestart", "GateDrill", "MintStop", "VaultDrain", "SluiceLag",
)  # fmt: skip
INES, DANA, YOU, PRIYA, MAREK = PEOPLE
AT = datetime(2026, 11, 2, 3, 0)
URL = "https://docs.google.com/document/d/LEDGER/edit"


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Runs]:
    names = (SKIPPED, ONCE, REPORTED, COPIED, REMOVED, EDITED)
    texts = [runbook(name, *STEPS) for name in names]
    with runs_house(tmp_path_factory.mktemp("steps"), *texts) as found:
        yield found


def test_a_step_that_most_people_skip_is_suggested_to_the_owner_once(runs: Runs) -> None:
    for who in (INES, DANA, YOU):
        runs.run(SKIPPED, who, done=(0, 1), skipped=(3,))
    runs.run(SKIPPED, PRIYA, done=(0, 1, 3))
    runs.week()
    (text,) = runs.suggestions(SKIPPED)
    assert (
        "Step 4, “Fail over the read replica first”, was marked not needed in 3 of the 4 runs that "
        "ticked it off. Mark it “Only if …”, move it, or take it out."
    ) in text
    assert "4.1" not in text
    assert not any(who in text for who in PEOPLE)
    runs.week()
    assert len(runs.suggestions(SKIPPED)) == 1
    home = runs.home()
    assert f"|{SKIPPED} Runbook" in home or f"{SKIPPED} Runbook" in home
    assert "4 runs by 4 people" in home
    assert "“Fail over the read replica first.”: not needed in 3 of 4 runs" in home
    assert "how runbooks are used" not in runs.home(DANA)


def test_what_one_person_does_ten_times_is_nothing(runs: Runs) -> None:
    for _ in range(10):
        runs.run(ONCE, INES, done=(0,), skipped=(3,))
    runs.run(ONCE, DANA, done=(0,), skipped=(3,))
    runs.week()
    assert runs.suggestions(ONCE) == []
    assert ONCE not in runs.home(MAREK)
    assert f"{ONCE} Runbook" not in reports_of(runs.home())


def test_a_step_that_several_report_is_suggested_without_their_names(runs: Runs) -> None:
    for who in (YOU, PRIYA):
        runs.run(REPORTED, who, done=(0,))
    for who in (INES, DANA):
        message = runs.start(REPORTED, who)
        runs.choose(message, 1, "report", who)
        eventually(lambda who=who: runs.house.slack.view(who))
        wrong = {"value": {"type": "plain_text_input", "value": "The node moved."}}
        runs.house.slack.submit_view({"words": wrong}, who)
        runs.house.settle()
        runs.house.slack.click(PLATFORM, message["ts"], "checklist_done_0", who)
        runs.house.slack.click(PLATFORM, message["ts"], "checklist_finish", who)
        runs.house.settle()
    runs.week()
    (text,) = [one for one in runs.suggestions(REPORTED) if "suggest a change to one step" in one]
    assert "Different people reported step 2 as wrong or outdated: “Fence the node" in text
    assert not any(who in text for who in PEOPLE)


def test_a_command_is_copied_from_a_form_and_nothing_else_changes(runs: Runs) -> None:
    message = runs.start(COPIED, DANA)
    before = runs.house.replies(message["thread_ts"])
    runs.choose(message, 1, "copied", DANA)
    view = eventually(lambda: runs.house.slack.view(DANA))
    (block,) = view["blocks"]
    assert block["element"]["initial_value"] == "ledgerctl fence --node ldg-eu-a"
    runs.house.slack.submit_view({}, DANA)
    runs.house.settle()
    assert runs.house.replies(message["thread_ts"]) == before
    with runs.house.bot.engine.connect() as connection:
        query = select(PressRow).where(PressRow.act == "copied")
        (press,) = connection.execute(query).all()
    assert (press.step, press.by) == (1, DANA)
    menus = json.dumps(message["blocks"])
    assert f"copied 1 {press.checklist}" in menus
    assert f"copied 0 {press.checklist}" not in menus


def test_who_may_not_tick_gets_no_command(runs: Runs) -> None:
    message = runs.start(COPIED, PRIYA)
    space = runs.house.slack.workspace
    known = space.people[MAREK]
    space.welcome(replace(known, guest="single_channel"))
    runs.house.bot.gate.people._by_id._entries.clear()
    try:
        runs.choose(message, 1, "copied", MAREK)
        runs.house.settle()
        assert runs.house.slack.view(MAREK) is None
    finally:
        space.welcome(known)
        runs.house.bot.gate.people._by_id._entries.clear()


def test_a_document_that_is_gone_is_in_no_report(runs: Runs) -> None:
    for who in (INES, DANA, YOU):
        runs.run(REMOVED, who, done=(0,), skipped=(3,))
    assert f"{REMOVED} Runbook" in reports_of(runs.home())
    file = runs.house.folder / "config/domains/platform/4.md"
    file.unlink()
    runs.house.copilot.ingest("platform")
    runs.week()
    assert runs.suggestions(REMOVED) == []
    assert f"{REMOVED} Runbook" not in reports_of(runs.home())


def test_an_edited_step_starts_again(runs: Runs) -> None:
    for who in (INES, DANA, YOU):
        runs.run(EDITED, who, done=(0,), skipped=(3,))
    file = runs.house.folder / "config/domains/platform/5.md"
    text = file.read_text("utf-8")
    file.write_text(text.replace("Fail over the", "Always fail over the"), "utf-8")
    runs.house.copilot.ingest("platform")
    runs.week()
    assert runs.suggestions(EDITED) == []


def reports_of(home: str) -> str:
    """Below the title of the counts."""
    return home.partition("how runbooks are used")[2]


def steps(*lines: str) -> tuple[RunbookStep, ...]:
    return steps_in("\n".join(lines or STEPS))


NOW = steps()


class Shelf:
    """A real store, and checklists with any presses."""

    def __init__(self, folder: Path) -> None:
        self.engine = create_engine(f"sqlite:///{folder / 'counts.sqlite'}")
        self.store = ChecklistStore(self.engine)
        self.number = 0

    def begin(self, driver: str, *lines: str, at: datetime = AT, **more: Any) -> Checklist:
        self.number += 1
        values: dict[str, Any] = {
            "title": "Ledger Runbook", "heading": "Failover", "heading_path": ("Failover",),
            "tab": "", "url": URL, "modified_at": None, "steps": steps(*lines),
        }  # fmt: skip
        checklist = Checklist(
            id=f"c{self.number}", domain="platform", channel="C1", thread_ts=f"{self.number}.0",
            question_id="q", document="ledger", runbook=Runbook(**(values | more)), generation=1,
            changed="", started_by=driver, started_at=at,
        )  # fmt: skip
        assert self.store.begin(checklist)
        return checklist

    def press(
        self, checklist: Checklist, act: str, step: int = -1, *, after: float = 1.0, by: str = ""
    ) -> None:
        """`after`: minutes since its start."""
        self.number += 1
        at = checklist.started_at + timedelta(minutes=after)
        by = by or checklist.started_by
        press = Press(id=f"p{self.number:04}", step=step, act=act, by=by, at=at)
        self.store.press(checklist, press)

    def run(
        self, driver: str, *presses: tuple[str, int], lines: Sequence[str] = (), **more: Any
    ) -> Checklist:
        """A finished checklist, a minute between two presses."""
        checklist = self.begin(driver, *lines, **more)
        for minute, (act, step) in enumerate(presses, start=1):
            self.press(checklist, act, step, after=minute)
        self.press(checklist, "finish", after=len(presses) + 1)
        return checklist

    def report(self, checklist: Checklist, step: int, by: str) -> None:
        self.number += 1
        report = StepReport(id=f"r{self.number}", step=step, words="wrong", by=by, at=AT)
        self.store.report(checklist, report)

    def count(self, *lines: str) -> RunbookCount | None:
        places = by_place(self.store.runs("platform"))
        return next((count(of, steps(*lines)) for of in places.values()), None)

    def step(self, number: str, *lines: str) -> StepCount:
        counted = self.count(*lines)
        assert counted
        return next(one for one in counted.steps if one.number == number)

    def troubles(self, *lines: str) -> dict[str, list[str]]:
        counted = self.count(*lines)
        every = counted.steps if counted else ()
        return {one.number: list(one.troubles) for one in every if list(one.troubles)}


@pytest.fixture
def shelf(tmp_path: Path) -> Iterator[Shelf]:
    made = Shelf(tmp_path)
    yield made
    made.engine.dispose()


def test_six_of_seven(shelf: Shelf) -> None:
    for n in range(6):
        shelf.run(f"U{n}", ("done", 0), ("skipped", 3))
    shelf.run("U6", ("done", 0), ("done", 3))
    assert shelf.troubles() == {"4": ["skipped"]}
    text = suggestion_text(shelf.step("4"), "skipped")
    assert "not needed in 6 of the 7 runs" in text


def test_two_thirds_are_needed_of_the_runs_and_of_the_people(shelf: Shelf) -> None:
    for who in ("U1", "U2", "U3"):
        shelf.run(who, ("skipped", 3))
    for who in ("U4", "U5"):
        shelf.run(who, ("done", 3))
    assert shelf.troubles() == {}
    for _ in range(10):  # the habit of one
        shelf.run("U1", ("skipped", 3))
    assert shelf.step("4").skipped.runs == 13
    assert shelf.troubles() == {}


def test_a_step_that_says_when_it_is_needed_is_meant_to_be_skipped(shelf: Shelf) -> None:
    for n in range(7):
        shelf.run(f"U{n}", ("skipped", 2))
    assert shelf.troubles() == {}


def test_what_was_undone_did_not_happen(shelf: Shelf) -> None:
    for n in range(4):
        shelf.run(f"U{n}", ("skipped", 3), ("undone", 3), ("done", 3))
        shelf.run(f"U{n}", ("skipped", 4), ("undone", 4))
    assert shelf.troubles() == {}
    assert shelf.step("4").ticked.runs == 4
    assert shelf.step("4.1").ticked.runs == 0


def test_steps_below_a_skipped_one_are_counted_with_it(shelf: Shelf) -> None:
    for n in range(4):
        shelf.run(f"U{n}", ("skipped", 3))
    assert shelf.troubles() == {"4": ["skipped"]}
    assert shelf.step("4.1").ticked.runs == 0


def test_a_checklist_counts_for_who_took_it_over(shelf: Shelf) -> None:
    for _ in range(3):
        checklist = shelf.begin("U1")
        shelf.press(checklist, "skipped", 3)
        shelf.press(checklist, "take", by="U2", after=2)
        shelf.press(checklist, "finish", after=3, by="U3")
    assert shelf.count() is None


def test_the_erased_are_one_together(shelf: Shelf) -> None:
    for _ in range(5):
        shelf.run(ERASED, ("skipped", 3))
    shelf.run("U1", ("skipped", 3))
    assert shelf.count() is None
    shelf.run("U2", ("skipped", 3))
    assert shelf.troubles() == {"4": ["skipped"]}


def test_a_step_is_the_same_under_another_number(shelf: Shelf) -> None:
    renumbered = ("1. Take a breath.", *(f"{n + 2}. {one[3:]}" for n, one in enumerate(STEPS[:4])))
    for who in ("U1", "U2"):
        shelf.run(who, ("skipped", 3))
    shelf.run("U3", ("skipped", 4), lines=renumbered)
    assert shelf.troubles(*renumbered) == {"5": ["skipped"]}
    assert shelf.step("5", *renumbered).skipped.runs == 3


def test_an_edited_step_is_a_new_one_for_the_counts(shelf: Shelf) -> None:
    for n in range(4):
        shelf.run(f"U{n}", ("skipped", 3))
    edited = [one.replace("read replica first", "read replica last") for one in STEPS]
    assert shelf.troubles(*edited) == {}
    counted = shelf.count(*edited)
    assert counted
    assert "4" not in {one.number for one in counted.steps}


def test_two_steps_in_the_same_words_are_two(shelf: Shelf) -> None:
    twice = ("1. Wait five minutes.", "2. Restart the till.", "3. Wait five minutes.")
    for n in range(3):
        shelf.run(f"U{n}", ("done", 0), ("skipped", 2), lines=twice)
    assert shelf.troubles(*twice) == {"3": ["skipped"]}


def test_what_was_never_ticked_is_no_run_and_neither_is_what_goes_on(shelf: Shelf) -> None:
    for n in range(3):
        shelf.run(f"U{n}")
        going_on = shelf.begin(f"U{n}", at=now())
        shelf.press(going_on, "skipped", 3)
    assert shelf.count() is None
    for n in range(3):
        abandoned = shelf.begin(f"U{n}", at=now() - ABANDONED_AFTER - timedelta(minutes=1))
        shelf.press(abandoned, "skipped", 3)
    assert shelf.troubles() == {"4": ["skipped"]}


def test_minutes_run_from_tick_to_tick_without_pauses(shelf: Shelf) -> None:
    for who, second in (("U1", 9.0), ("U2", 11.0), ("U3", 400.0), ("U4", 21.0)):
        checklist = shelf.begin(who)
        shelf.press(checklist, "done", 0, after=-2.0)  # by another clock
        shelf.press(checklist, "done", 1, after=second)
        shelf.press(checklist, "skipped", 3, after=second + 1)
        shelf.press(checklist, "finish", after=second + 2)
    assert shelf.step("1").minutes is None
    assert shelf.step("2").minutes == 13.0  # of 11, 13 and 23
    assert shelf.step("4").minutes is None
    counted = shelf.count()
    assert counted
    assert counted.minutes == 13.0
    (_, section) = home_blocks(domain("platform"), [counted])
    text = section["text"]["text"]
    assert "4 runs by 4 people, median 13 min" in text
    assert "Step 2, “Fence the node: ledgerctl fence --node ldg-eu-a.”: takes the longest" in text


def test_time_of_fewer_than_three_people_is_not_said(shelf: Shelf) -> None:
    shelf.run("U1", ("done", 0), ("done", 1))
    shelf.run("U2", ("done", 0), ("done", 1))
    shelf.run("U3", ("skipped", 3))
    assert shelf.step("2").minutes is None
    counted = shelf.count()
    assert counted
    assert counted.minutes is None


def test_copies_are_counted_once_a_checklist_from_three_people_on(shelf: Shelf) -> None:
    for n in range(3):
        shelf.run(f"U{n}", ("copied", 1), ("copied", 1), ("done", 1))
        counted = shelf.count()
        said = str(list(home_blocks(domain("platform"), [counted]))) if counted else ""
        assert ("its command copied in 3 runs" in said) == (n == 2)


@pytest.mark.parametrize("act", ["copied", "teleported", ""])
def test_an_act_that_marks_nothing_changes_nothing(act: str) -> None:
    checklist = replace_steps(NOW)
    press = Press(id="p", step=1, act=act, by="U1", at=AT + timedelta(minutes=1))
    progress = progress_of(checklist, [press])
    assert progress.marks == {}
    assert progress.driver == "U0"


def replace_steps(own: tuple[RunbookStep, ...]) -> Checklist:
    book = Runbook(
        title="Ledger", heading="Failover", heading_path=("Failover",), tab="", url=URL,
        modified_at=None, steps=own,
    )  # fmt: skip
    return Checklist(
        id="c", domain="platform", channel="C1", thread_ts="1.0", question_id="q",
        document="ledger", runbook=book, generation=1, changed="", started_by="U0", started_at=AT,
    )  # fmt: skip


@pytest.mark.parametrize("reporters", [1, 2, 3])
def test_reports_of_one_person_are_nothing(shelf: Shelf, reporters: int) -> None:
    for n in range(3):
        checklist = shelf.run(f"U{n}", ("done", 0))
        shelf.report(checklist, 6, f"U{n % reporters}")
        shelf.report(checklist, 6, f"U{n % reporters}")
    assert shelf.troubles() == ({"5": ["reported"]} if reporters > 1 else {})
    if reporters > 1:
        text = suggestion_text(shelf.step("5"), "reported")
        assert text.startswith("3 people" if reporters == 3 else "Different people")


def service_of(
    shelf: Shelf, made: dict[str, Suggestion], *, on: bool = True, at: datetime = AT
) -> StepCountService:
    """Over three checklists that skip two steps of a published runbook."""
    published = cast("Any", RunbookShelf(runbook("ledger", *STEPS)))
    if not shelf.number:
        path = published.chunks("ledger")[0].heading_path
        for n in range(3):
            shelf.run(f"U{n}", ("skipped", 3), ("skipped", 6), heading_path=path)
    named = domain("platform", runbooks={"step_counts": on})
    context = SimpleNamespace(
        domains=lambda: {"platform": named},
        snapshot=lambda name: published,
        suggest=lambda one: made.setdefault(one.id, one),
    )
    return StepCountService(cast("Any", context), shelf.store.runs, lambda: at)


def test_steps_of_a_document_take_turns_one_a_week(shelf: Shelf) -> None:
    made: dict[str, Suggestion] = {}
    weeks: list[int] = []
    for week in range(4):
        for _ in range(2):  # a worker died, another one repeats it
            service_of(shelf, made, at=AT + timedelta(weeks=week)).suggest("platform")
        weeks.append(len(made))
    assert weeks == [1, 2, 2, 2]
    assert {one.question.split(",")[0] for one in made.values()} == {"Step 4", "Step 5"}
    assert {one.drawn_from for one in made.values()} == {("ledger",)}


def test_without_the_switch_nothing_is_suggested_or_shown(shelf: Shelf) -> None:
    made: dict[str, Suggestion] = {}
    service = service_of(shelf, made, on=False)
    service.suggest("platform")
    service.suggest("a domain that is gone")
    domains = list(service.context.domains().values())
    assert list(service.home(showing_to_all(), domains)) == []
    assert made == {}


def test_home_names_no_document_that_its_viewer_may_not_know(shelf: Shelf) -> None:
    service = service_of(shelf, {})
    domains = list(service.context.domains().values())
    assert "Step 4" in str(list(service.home(showing_to_all(), domains)))
    stranger = SimpleNamespace(user="U0DANA", reads=lambda domain, documents: False)
    showing = replace(showing_to_all(), reader=stranger)
    assert list(service.home(showing, domains)) == []


@pytest.mark.parametrize(
    ("at", "due"),
    [("2026-11-02T07:59", "2026-11-02"), ("2026-11-02T08:00", "2026-11-09"),
     ("2026-11-08T23:59", "2026-11-09"), ("2026-12-31T12:00", "2027-01-04")],
)  # fmt: skip
def test_it_is_monday_at_eight(at: str, due: str) -> None:
    expected = datetime.fromisoformat(f"{due}T08:00").replace(tzinfo=UTC)
    assert next_monday(datetime.fromisoformat(at).replace(tzinfo=UTC)) == expected


@pytest.mark.parametrize("text", [*payloads()[::40], "word " * 4_000, "&" * 5_000, "\u202e<!here>"])
def test_hostile_words_neither_ping_nor_break_slack_s_limits(shelf: Shelf, text: str) -> None:
    line = " ".join(text.split())
    lines = (f"1. {line}", f"2. Then {line}", "3. The end.")
    for n in range(3):
        shelf.run(f"U{n}", ("skipped", 0), ("skipped", 1), lines=lines, title=text, url=URL)
    counted = shelf.count(*lines)
    assert counted
    shown = list(home_blocks(domain("platform"), [counted]))
    assert problems(shown) == []
    assert in_blocks(shown, frozenset((URL,))) == []
    for step in counted.steps:
        assert len(suggestion_text(step, "skipped")) < 500


def test_a_command_that_no_form_holds_whole_is_not_offered() -> None:
    short, long = "ledgerctl fence --node a", "ledgerctl " + "x" * 3_000
    for code, is_offered in ((short, True), (long, False), (short + "\u202e", True)):
        own = steps("1. Fence it:", "```", code, "```", "2. Tell them.")
        checklist = replace_steps(own)
        blocks = step_blocks(checklist, progress_of(checklist, []), 0)
        assert ("Copy the command" in str(blocks)) == is_offered
        assert commands(own[0]) == ((short,) if is_offered else ())
    assert commands(steps("1. Look.", "2. Look again.")[0]) == ()
