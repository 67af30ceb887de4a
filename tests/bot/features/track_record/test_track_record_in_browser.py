"""An entry's record and its grades as people see them: desktop and phone, light and dark.

SCREENSHOTS=folder keeps the pictures."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.bot.features.alerts.office import PLATFORM
from tests.bot.features.track_record.incidents import Incidents, incidents
from tests.bot.looked_at import LookedAt, opened_page
from tests.chromium import launched, needs_chromium

pytestmark = needs_chromium


@pytest.fixture(scope="module")
def night(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Incidents, LookedAt]]:
    with (
        incidents(tmp_path_factory.mktemp("night")) as desk,
        launched() as browser,
        opened_page(browser, height=820) as page,
    ):
        yield desk, LookedAt(page)


def thread(desk: Incidents, seen: LookedAt, ts: str) -> Any:
    seen.page.goto(f"{desk.house.slack.url}archives/{PLATFORM}?thread_ts={ts}")
    return seen.thread


def test_the_record_stands_below_the_first_step_and_grades_are_a_press_away(
    night: tuple[Incidents, LookedAt],
) -> None:
    desk, seen = night
    first = desk.use(desk.fires("CartErrors"))
    desk.past(first, ["resolved", "resolved", "resolved", "failed", *["resolved"] * 4, "unknown"])
    desk.apart()
    ts = desk.fires("CartErrors")
    pane = thread(desk, seen, ts)
    expect(pane.get_by_text("Track record: used 9 times since")).to_be_visible()
    seen.pictures("slack-track-record", pane)
    desk.verdict(ts, "helpful")
    desk.resolves("CartErrors")
    desk.check()
    expect(pane.get_by_text("How did the runbook for")).to_be_visible()
    seen.pictures("slack-track-record-asked", pane)
    pane.get_by_role("button", name="One step short").click()
    expect(pane.get_by_text("One step short: 1")).to_be_visible()
    desk.grade(ts, "fixed", "U0DANA")
    expect(pane.get_by_text("It fixed it: 1 · One step short: 1")).to_be_visible()
    seen.pictures("slack-track-record-graded", pane)
