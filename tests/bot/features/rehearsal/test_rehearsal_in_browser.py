"""A rehearsal as people see it, in a real browser: desktop and phone, light and dark.

SCREENSHOTS=folder keeps the pictures."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.bot.features.alerts.office import AlertHouse, alert_house
from tests.bot.features.alerts.test_alert_desk import bar, firing
from tests.bot.features.checklists.runbooks import DEMO
from tests.bot.looked_at import LookedAt, opened_page
from tests.chromium import launched, needs_chromium

pytestmark = needs_chromium

TEXTS = {
    "platform": tuple(path.read_text("utf-8") for path in sorted((DEMO / "platform").glob("*.md")))
}
HIGH: Any = {"width": 390, "height": 2200}


@pytest.fixture(scope="module")
def night(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[AlertHouse, LookedAt]]:
    folder = tmp_path_factory.mktemp("rehearsal")
    with (
        alert_house(folder, TEXTS, keys="runbooks: {rehearsal: true}\n") as house,
        launched() as browser,
        opened_page(browser, height=1400) as page,
    ):
        yield house, LookedAt(page)


def test_an_alert_is_rehearsed_and_summed_up(night: tuple[AlertHouse, LookedAt]) -> None:
    house, seen = night
    house.fires(
        attachments=[bar(firing("LedgerPrimaryDown", "region = eu", "pod = ldg-eu-a"), "#E01E5A")]
    )
    house.settle()
    channel = house.slack.workspace.direct("U0YOU").id
    thread = house.slack.post_as_user(channel, "rehearse")
    house.settle()
    seen.page.goto(f"{house.slack.url}archives/{channel}?thread_ts={thread}")
    expect(seen.thread.get_by_role("button", name="Show me")).to_be_visible()
    seen.pictures("rehearsal-alert", seen.thread)
    answer = "I'd open the ledger-db Failover Runbook and declare SEV1 first"
    house.slack.post_as_user(channel, answer, thread_ts=thread)
    house.settle()
    expect(seen.thread.get_by_text("You named 1 of 8 steps")).to_be_visible()
    expect(seen.thread.get_by_role("button", name="Finish")).to_be_visible()
    seen.pictures("rehearsal-entry", seen.thread, HIGH)
    seen.thread.get_by_role("button", name="Finish").click()
    expect(seen.thread.get_by_text("The rehearsal is over.")).to_be_visible()
    seen.pictures("rehearsal-summary", seen.thread, HIGH)
