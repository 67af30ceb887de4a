"""What a timeline says of the same night, whatever order it is read in, and what it keeps quiet."""

from __future__ import annotations

import random
from datetime import datetime, timedelta

import pytest
from sqlalchemy import StaticPool, create_engine

from agents.runbooks.step import RunbookStep, StepPart
from bot.feature import IncidentThread, TimelineEntry
from bot.features.checklists.progress import Checklist, Press, Runbook, StepReport
from bot.features.checklists.service import timeline
from bot.features.checklists.store import ChecklistStore
from bot.features.timeline.rows import Pause, Row, ThreadMessage, Timeline, timeline_of
from bot.features.timeline.views import Thread, timeline_markdown, timeline_message
from playground.slack.rules.block_rules import problems
from tests.bot.hostile_text import in_blocks, in_markdown, payloads

BEGAN = datetime(2026, 11, 22, 23, 50)
HERE = Thread(
    team_url="https://tidewater.slack.com", channel="C1", ts="1.0", messages=(), name_of=str
)


def at(minutes: float) -> datetime:
    return BEGAN + timedelta(minutes=minutes)


def says(minutes: float, by: str = "U1", quote: str = "hm", **more: str) -> ThreadMessage:
    return ThreadMessage(at=at(minutes), what="", by=by, quote=quote, ts="2.0", **more)


def alert(minutes: float, what: str = "fired", edge: str = "", episode: str = "e") -> TimelineEntry:
    return TimelineEntry(
        at=at(minutes), what=what, alert="CartErrors", episode=episode,
        edge=edge,  # type: ignore[arg-type]  # one of three
    )  # fmt: skip


def of(*entries: TimelineEntry, read_until: datetime | None = None) -> Timeline:
    timeline = timeline_of(entries, read_until=read_until)
    assert timeline
    return timeline


def unknown(timeline: Timeline) -> list[str]:
    return [what for what, _ in timeline.unknown]


def test_nothing_makes_no_timeline() -> None:
    assert timeline_of([]) is None


def test_the_order_of_reading_changes_nothing() -> None:
    entries = [
        alert(0, edge="began"), says(1), says(1.5), alert(2), alert(3, "resolved", "ended"),
        says(40, "U2"),
    ]  # fmt: skip
    first = of(*entries)
    for seed in range(20):
        assert of(*random.Random(seed).sample(entries, len(entries))) == first


def test_a_run_is_of_one_author_within_a_minute() -> None:
    timeline = of(says(0), says(0.9), says(1.8), says(3), says(3, "U2"), says(3, "", program="CI"))
    assert [len(row.more) for row in timeline.rows if isinstance(row, Row)] == [2, 0, 0, 0]


def test_firings_of_a_storm_are_one_row_until_something_else_happens() -> None:
    storm = [alert(0, edge="began"), *(alert(n, f"fired again on {n}") for n in range(1, 400))]
    timeline = of(*storm, says(400), alert(401, "resolved", "ended"), alert(402, "fired again"))
    rows = [row for row in timeline.rows if isinstance(row, Row)]
    assert [len(row.more) for row in rows] == [399, 0, 0, 0]
    assert "399 more times until" in timeline_markdown(timeline, HERE)


def test_alerts_that_take_turns_are_a_row_each() -> None:
    turns = [alert(n, "fired again", episode="ab"[n % 2]) for n in range(1, 40)]
    over = [alert(50, "resolved", "ended", "a"), alert(51, "fired again", episode="a")]
    rows = of(alert(0, edge="began", episode="a"), *turns, *over).rows
    runs = [(row.entry.episode, len(row.more)) for row in rows if isinstance(row, Row)]
    assert runs == [("a", 19), ("b", 19), ("a", 0), ("a", 0)]


def test_only_long_silence_is_a_pause() -> None:
    rows = of(says(0), says(14.9), says(29.9), says(30)).rows
    (pause,) = [row for row in rows if isinstance(row, Pause)]
    assert (pause.start, pause.end) == (at(14.9), at(29.9))


@pytest.mark.parametrize(
    ("entries", "missing"),
    [
        ([says(1), alert(20, "resolved", "ended")], ["Who resolved CartErrors"]),
        ([says(6), alert(20, "resolved", "ended")], []),
        ([alert(20, "resolved", "ended")], ["Who saw CartErrors first", "Who resolved CartErrors"]),
        ([says(1)], ["When CartErrors ended"]),
        ([says(30), alert(20, "resolved", "ended")], ["Who resolved CartErrors"]),
        (
            [says(1, "", program="CI"), alert(2, "resolved", "ended")],
            ["Who saw CartErrors first", "Who resolved CartErrors"],
        ),
    ],
)
def test_what_nobody_said_is_unknown(entries: list[TimelineEntry], missing: list[str]) -> None:
    assert unknown(of(alert(0, edge="began"), *entries)) == [*missing, "Impact", "Cause"]


def test_of_what_was_not_read_it_is_not_said_that_nobody_did_it() -> None:
    night = [alert(0, edge="began"), says(50, ""), alert(90, "resolved", "ended")]
    timeline = of(*night, read_until=at(50))
    assert unknown(timeline) == ["Impact", "Cause"]
    pauses = [row for row in timeline.rows if isinstance(row, Pause)]
    assert [(one.start, one.end) for one in pauses] == [(at(0), at(50))]


def test_an_end_without_a_beginning_is_told_as_such() -> None:
    text = timeline_markdown(of(alert(3, "resolved", "ended")), HERE)
    assert "**CartErrors**: fired before this thread · resolved 23:53\n" in text


def test_days_are_told_where_they_begin() -> None:
    text = timeline_markdown(of(says(0), says(5, "U2"), says(12, "U3"), says(13, "U4")), HERE)
    times = [line.partition(" [")[0] for line in text.split("\n") if "“hm”" in line]
    assert times == ["- 23:50", "- 23:55", "- 2026-11-23 00:02", "- 00:03"]


def test_of_a_checklist_only_presses_that_changed_something_are_told() -> None:
    steps = tuple(
        RunbookStep(number=str(n), level=0, parts=(StepPart(kind="words", text=f"Do {n}"),))
        for n in (1, 2)
    )
    runbook = Runbook(
        title="Plan", heading="Plan", heading_path=(), tab="", url="", modified_at=None, steps=steps
    )
    checklist = Checklist(
        id="c", domain="security", channel="C1", thread_ts="1.0", question_id="", document="d",
        runbook=runbook, generation=1, changed="", started_by="U1", started_at=at(0),
    )  # fmt: skip
    store = ChecklistStore(create_engine("sqlite://", poolclass=StaticPool))
    store.begin(checklist)
    presses = (
        ("take", -1, "U1"), ("done", 0, "U1"), ("done", 0, "U2"), ("skipped", 0, "U2"),
        ("copied", 1, "U2"), ("undone", 1, "U2"), ("undone", 0, "U2"), ("done", 0, "U1"),
        ("take", -1, "U2"), ("skipped", 1, "U2"), ("finish", -1, "U2"), ("done", 1, "U1"),
    )  # fmt: skip
    for n, (act, step, by) in enumerate(presses):
        press = Press(id=f"p{n:02}", step=step, act=act, by=by, at=at(1))  # in the same second
        store.press(checklist, press)
        store.press(checklist, press)
    store.report(checklist, StepReport(id="r", step=1, words="It is gone", by="U1", at=at(2)))
    entries = timeline(store, IncidentThread(channel="C1", ts="1.0", questions=()))
    assert [(one.by, one.what, one.quote) for one in entries] == [
        ("U1", "started the checklist", "Plan"),
        ("U1", "ticked off step 1", "Do 1"),
        ("U2", "opened step 1 again", "Do 1"),
        ("U1", "ticked off step 1", "Do 1"),
        ("U2", "took over the checklist", ""),
        ("U2", "marked step 2 as not needed", "Do 2"),
        ("U2", "finished the checklist", ""),
        ("U1", "reported a problem with step 2", "It is gone"),
    ]


def test_whatever_is_written_links_and_pings_nobody_and_slack_takes_it() -> None:
    for text in payloads():
        hostile = Thread(
            team_url=HERE.team_url, channel="C1", ts="1.0", messages=("2.0",),
            name_of=lambda _, name=text: name,
        )  # fmt: skip
        fired = TimelineEntry(at=at(0), what=text, alert=text, episode="e", edge="began")
        program = ThreadMessage(at=at(1), what="", quote=text, program=text)
        pressed = TimelineEntry(at=at(2), what=text, by="U1", quote=text, ts="2.0")
        timeline = of(fired, program, pressed, says(3, quote=text))
        message = timeline_message(timeline, hostile, has_folder=True)
        assert problems(message.blocks) == []
        allowed = frozenset((hostile.url("2.0"), hostile.profile("U1")))
        written = timeline_markdown(timeline, hostile)
        assert in_markdown(written, allowed | {hostile.url()}) == [], text
        found = in_blocks(message.blocks, allowed)
        assert [one for one in found if not one.startswith("!date^")] == [], text


def test_sixty_alerts_and_long_words_fit_a_message() -> None:
    long = "&<x>\n" * 900
    entries = [
        TimelineEntry(at=at(n), what=long, alert=f"{long}{n}", episode=str(n), edge="began")
        for n in range(60)
    ]
    message = timeline_message(of(*entries, *(says(n, f"U{n}", long) for n in range(60))), HERE,
                               has_folder=True)  # fmt: skip
    assert problems(message.blocks) == []
    assert "and 52 more, in *Markdown*" in str(message.blocks)
