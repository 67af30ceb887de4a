"""A draft that was tried, as its owner sees it: desktop and phone, light and dark, in a browser.

SCREENSHOTS=folder keeps the pictures."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import expect

from tests.bot.features.alerts.office import PLATFORM
from tests.bot.features.replay.office import ADMIN, CUP, LOST, ReplayOffice, replay_office
from tests.bot.looked_at import LookedAt, opened_page, see
from tests.chromium import launched, needs_chromium

pytestmark = needs_chromium
DIRECT = f"D{ADMIN[1:]}"


@pytest.fixture(scope="module")
def tried(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[ReplayOffice, LookedAt]]:
    with (
        replay_office(tmp_path_factory.mktemp("tried")) as office,
        launched() as browser,
        opened_page(browser, height=900) as page,
    ):
        office.ask(CUP)
        office.slack.click(PLATFORM, office.ask(LOST)["ts"], "ask_human", "U0DANA")
        office.desk.settle()
        yield office, LookedAt(page)


def test_the_numbers_stand_below_the_draft(tried: tuple[ReplayOffice, LookedAt]) -> None:
    office, seen = tried
    key = office.suggest("KettleLost is a SEV4: somebody looks for it on the roof.")
    office.draft(key)
    seen.page.goto(office.slack.url)
    seen.act_as(ADMIN)
    seen.page.locator(f'[data-channel="{DIRECT}"]').click()
    see(seen.page.get_by_role("button", name="What would this change?"))
    seen.page.get_by_role("button", name="What would this change?").first.click()
    office.desk.settle()
    chat = seen.page.get_by_role("main")
    expect(chat.get_by_text("in the last 30 days")).to_be_visible()
    seen.pictures("slack-draft-tried", chat)
