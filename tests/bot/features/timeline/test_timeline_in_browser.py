"""A timeline as people see it after an incident: desktop and phone, light and dark, in a browser.

SCREENSHOTS=folder keeps the pictures."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.bot.features.alerts.office import PLATFORM
from tests.bot.features.timeline.night import RUNBOOKS, Night, night
from tests.bot.looked_at import LookedAt, opened_page, see
from tests.chromium import launched, needs_chromium

pytestmark = needs_chromium

HIGH: Any = {"width": 390, "height": 2600}


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Night, LookedAt]]:
    folder = RUNBOOKS.replace("true}", "true, timeline_folder: REVIEWS}")
    with (
        night(tmp_path_factory.mktemp("seen"), folder) as hour,
        launched() as browser,
        opened_page(browser, height=1400) as page,
    ):
        yield hour, LookedAt(page)


def test_a_night_is_told_and_can_be_copied(seen: tuple[Night, LookedAt]) -> None:
    hour, look = seen
    ts = hour.incident()
    look.page.goto(f"{hour.house.slack.url}archives/{PLATFORM}?thread_ts={ts}")
    look.act_as("U0DANA")
    pane = look.thread
    pane.get_by_role("button", name="Timeline", exact=True).click()
    card = pane.locator(".message", has_text="Timeline of this thread").last
    see(card.get_by_text("Unknown from this thread"))
    expect(card).to_contain_text("Ines Okafor: “promoted the standby, takings are back”")
    expect(card.get_by_role("link", name="Ines Okafor", exact=True)).to_be_visible()
    look.pictures("timeline", card, HIGH)
    card.get_by_role("button", name="Save as Google Doc").click()
    see(pane.get_by_text("set GOOGLE_APPLICATION_CREDENTIALS"))
    card.get_by_role("button", name="Markdown", exact=True).click()
    text = pane.locator("pre", has_text="# Timeline")
    see(text)
    expect(text).to_contain_text("- Cause: unknown, for people to fill in")
    if folder := os.environ.get("SCREENSHOTS"):
        text.screenshot(path=f"{folder}/timeline-markdown.png")
