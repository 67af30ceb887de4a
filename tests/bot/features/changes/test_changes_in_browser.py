"""What changed as people see it at night: desktop and phone, light and dark, in a browser.

SCREENSHOTS=folder keeps the pictures."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Locator, expect

from tests.bot.features.changes.office import (
    AWAY,
    DEPLOYS,
    FLAGS,
    HELP,
    NOTICES,
    SECURITY,
    ChangesOffice,
    alert,
    changes_office,
)
from tests.bot.looked_at import LookedAt, opened_page, see
from tests.chromium import launched, needs_chromium

pytestmark = needs_chromium

MINUTE = 60.0


@pytest.fixture(scope="module")
def night(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[ChangesOffice, LookedAt]]:
    with (
        changes_office(tmp_path_factory.mktemp("night")) as office,
        launched() as browser,
        opened_page(browser, height=1300) as page,
    ):
        yield office, LookedAt(page)


def thread(office: ChangesOffice, seen: LookedAt, ts: str, channel: str = HELP) -> Locator:
    seen.page.goto(f"{office.slack.url}archives/{channel}?thread_ts={ts}")
    return seen.thread


def test_what_changed_is_asked_by_a_button(night: tuple[ChangesOffice, LookedAt]) -> None:
    office, seen = night
    tools = ("Argo CD", "GitHub Actions", "Terraform")
    posted = [office.deploys(**NOTICES[tool][0]) for tool in tools]
    posted += [office.deploys(f"search-api v1.{number} is live") for number in range(14)]
    for at, ts in enumerate(posted):
        office.moves(DEPLOYS, ts, (200 - 60 * at) * MINUTE if at < 3 else 40 * MINUTE)
    flag = "Checkout API: turned on `new-basket` for half of the shops"
    office.moves(FLAGS, office.slack.post_as_user(FLAGS, flag, user="U0INES"), 31 * MINUTE)
    ts = office.fires()
    pane = thread(office, seen, ts)
    seen.act_as("U0DANA")
    pane.get_by_role("button", name="What changed?").click()
    card = pane.locator(".message", has_text="by the names")
    see(card.get_by_text("turned on new-basket for half of the shops"))
    expect(card.get_by_role("link", name="Application checkout-api is now")).to_be_visible()
    expect(card).to_contain_text("Other messages of that time: 14 in #deploys")
    seen.pictures("slack-what-changed", card)
    expect(pane.get_by_role("button", name="What changed?")).to_be_visible()
    seen.pictures("slack-what-changed-thread", pane)


def test_nothing_that_names_the_systems(night: tuple[ChangesOffice, LookedAt]) -> None:
    office, seen = night
    ts = office.fires(alert("TillQueue", "service = till-2"), channel=SECURITY)
    office.asks(ts, "what changed in the last 24 hours?", channel=SECURITY)
    card = thread(office, seen, ts, SECURITY).locator(".message", has_text="names till-2")
    see(card.get_by_text("I'm not in"))
    assert office.slack.workspace.channels[AWAY].name in card.inner_text()
    seen.pictures("slack-nothing-changed", card)
