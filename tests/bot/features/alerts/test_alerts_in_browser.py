"""Answers to alerts as people see them at night: desktop and phone, light and dark, in a browser.

SCREENSHOTS=folder keeps the pictures."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.bot.features.alerts.office import PLATFORM, AlertHouse, alert_house
from tests.bot.features.alerts.test_alert_desk import bar, firing
from tests.bot.features.checklists.runbooks import DEMO
from tests.bot.looked_at import LookedAt, opened_page
from tests.chromium import launched, needs_chromium

pytestmark = needs_chromium

TEXTS = {
    name: tuple(path.read_text("utf-8") for path in sorted((DEMO / name).glob(wanted)))
    for name, wanted in (("platform", "*.md"), ("security", "*index.md"))
}


@pytest.fixture(scope="module")
def night(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[AlertHouse, LookedAt]]:
    with (
        alert_house(tmp_path_factory.mktemp("night"), TEXTS) as house,
        launched() as browser,
        opened_page(browser, height=1400) as page,
    ):
        yield house, LookedAt(page)


def thread(house: AlertHouse, page: Page, ts: str) -> Any:
    page.goto(f"{house.slack.url}archives/{PLATFORM}?thread_ts={ts}")
    return page.get_by_role("complementary", name="Thread")


def test_what_to_do_first_stands_first(night: tuple[AlertHouse, LookedAt]) -> None:
    house, seen = night
    ts = house.fires(
        attachments=[bar(firing("LedgerPrimaryDown", "region = eu", "pod = ldg-eu-a"), "#E01E5A")]
    )
    house.settle()
    pane = thread(house, seen.page, ts)
    expect(pane.get_by_role("button", name="Start checklist")).to_be_visible()
    expect(pane.get_by_role("button", name="Ask a human")).to_be_visible()
    seen.pictures("alert-answered", pane)
    for pod in ("ldg-eu-b", "ldg-eu-c"):
        house.fires(firing("LedgerPrimaryDown", "region = eu", f"pod = {pod}"))
    house.pass_time()
    expect(pane.get_by_text("Fired 3 times")).to_be_visible()
    seen.pictures("alert-repeated", pane)
    house.fires(firing("LedgerPrimaryDown", "region = eu", status="RESOLVED"))
    house.pass_time()
    expect(pane.get_by_text("Resolved", exact=True)).to_be_visible()
    seen.pictures("alert-resolved", pane)


def test_several_rows_and_none(night: tuple[AlertHouse, LookedAt]) -> None:
    house, seen = night
    ts = house.fires(firing("LedgerDisk95", "severity = critical"))
    house.settle()
    pane = thread(house, seen.page, ts)
    expect(pane.get_by_text("Extend the volume by 25% now")).to_be_visible()
    seen.pictures("alert-row", pane)
    ts = house.fires(firing("QuayOldTls", "severity = warning"))
    house.settle()
    pane = thread(house, seen.page, ts)
    expect(pane.get_by_text("There is a runbook for")).to_be_visible()
    seen.pictures("alert-elsewhere", pane)
    group = "[FIRING:2]\nFiring\n" + "\n".join(
        f"Labels:\n - alertname = {name}\n - severity = warning\n"
        for name in ("SluiceDisk80", "TallyQueueFull")
    )
    ts = house.fires(group)
    house.settle()
    pane = thread(house, seen.page, ts)
    seen.pictures("alert-group", pane)
