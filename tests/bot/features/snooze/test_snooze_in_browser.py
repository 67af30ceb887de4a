"""A snooze as people see it at night: its form, its line and its early end, in a browser.

SCREENSHOTS=folder keeps the pictures."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
from playwright.sync_api import expect

from tests.bot.features.alerts.office import AlertHouse, alert_house, longer_ago
from tests.bot.features.alerts.test_alert_desk import bar, firing
from tests.bot.features.alerts.test_alerts_in_browser import TEXTS, thread
from tests.bot.features.snooze.test_snooze import DANA, KEYS
from tests.bot.looked_at import LookedAt, opened_page
from tests.chromium import launched, needs_chromium

pytestmark = needs_chromium


@pytest.fixture(scope="module")
def night(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[AlertHouse, LookedAt]]:
    folder = tmp_path_factory.mktemp("snoozing")
    (folder / "config").mkdir()
    began = datetime.now(UTC) - timedelta(hours=1)
    turn = f"from: {began:%Y-%m-%dT%H:%M:%SZ}, to: {began + timedelta(hours=9):%Y-%m-%dT%H:%M:%SZ}"
    (folder / "config/rota.yaml").write_text(f"- {{{turn}, user: {DANA}}}\n")
    with (
        alert_house(folder, TEXTS, keys=KEYS) as house,
        launched() as browser,
        opened_page(browser, height=1000) as page,
    ):
        yield house, LookedAt(page)


def fires(house: AlertHouse, pod: str, severity: str) -> str:
    text = firing("LedgerDisk95", f"pod = {pod}", f"severity = {severity}")
    return house.fires(attachments=[bar(text, "#E01E5A")])


def test_an_alert_is_snoozed_and_wakes_on_another_pod(night: tuple[AlertHouse, LookedAt]) -> None:
    house, seen = night
    ts = fires(house, "ldg-eu-a", "warning")
    house.settle()
    longer_ago(house.bot.engine, timedelta(minutes=20))
    pane = thread(house, seen.page, ts)
    seen.act_as("U0INES")
    pane.get_by_role("button", name="Snooze…").click()
    form = seen.page.get_by_role("dialog")
    expect(form.get_by_text("LedgerDisk95")).to_be_visible()
    expect(form.get_by_text("Until the shift ends")).to_be_visible()
    form.get_by_text("4 hours").click()
    form.get_by_label("Why?").fill("Volume is being extended, ticket OPS-4711")
    seen.pictures("snooze-form", form)
    form.get_by_role("button", name="Snooze", exact=True).click()
    expect(pane.get_by_text("Volume is being extended")).to_be_visible()
    expect(pane.get_by_role("button", name="End snooze")).to_be_visible()
    fires(house, "ldg-eu-a", "warning")
    house.pass_time()
    expect(pane.get_by_text("Fired 2 times")).to_be_visible()
    seen.pictures("snooze-line", pane)
    fires(house, "ldg-eu-b", "warning")
    house.pass_time()
    expect(pane.get_by_text("where it didn't fire before")).to_be_visible()
    expect(pane.get_by_role("button", name="End snooze")).to_have_count(0)
    seen.pictures("snooze-woken", pane)


def test_a_snooze_that_is_over_says_how_often_it_fired(night: tuple[AlertHouse, LookedAt]) -> None:
    house, seen = night
    ts = house.fires(firing("SluiceDisk80", "severity = warning"))
    house.settle()
    pane = thread(house, seen.page, ts)
    seen.act_as("U0INES")
    pane.get_by_role("button", name="Snooze…").click()
    form = seen.page.get_by_role("dialog")
    form.get_by_text("1 hour").click()
    form.get_by_label("Why?").fill("Load test until noon")
    form.get_by_role("button", name="Snooze", exact=True).click()
    expect(pane.get_by_role("button", name="End snooze")).to_be_visible()
    house.fires(firing("SluiceDisk80", "severity = warning"))
    house.pass_time(3_601)
    expect(pane.get_by_text("it fired once meanwhile")).to_be_visible()
    seen.pictures("snooze-over", pane)
