"""What a drill adds to answers and tells owners, as people see it: desktop and phone, light and
dark, in a browser.

SCREENSHOTS=folder keeps the pictures."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import expect

from tests.bot.features.alerts.office import PLATFORM, AlertHouse
from tests.bot.features.alerts.test_alert_desk import firing
from tests.bot.features.drills.ward import alerts, night, ward
from tests.bot.looked_at import LookedAt, opened_page
from tests.chromium import launched, needs_chromium

pytestmark = needs_chromium

ROWS = (
    ("LedgerDisk95", "SEV2", "Extend the volume by 25% now; no failover", "10 minutes: PRE"),
    ("LedgerPoolFull", "SEV3", "Drain it: `poolctl drain --node ledger-eu-a`", "1 hour: PRE"),
    ("LedgerImbalance", "SEV1", "Stop all postings", "5 minutes: PRE"),
)
NAMES = """---
id: ledger-tools
title: Ledger Tools
owner: Platform Reliability (PRE)
---
# Ledger Tools

`poolctl` was renamed to `ledger-pool` in May.

## Alerts

| Alert | Opens as | First step |
|---|---|---|
| `LedgerImbalance` | SEV1 | Call the head of Platform |
"""


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[AlertHouse, LookedAt]]:
    with (
        ward(tmp_path_factory.mktemp("seen"), [alerts(*ROWS), NAMES]) as house,
        launched() as browser,
        opened_page(browser, height=900) as page,
    ):
        night(house)
        yield house, LookedAt(page)


@pytest.mark.parametrize(
    ("alert", "says", "picture"),
    [
        ("LedgerDisk95", "Drilled within the hour: fine.", "drill-fine"),
        (
            "LedgerPoolFull",
            "Drilled within the hour: poolctl in a command is called ledger-pool now.",
            "drill-to-mend",
        ),
        ("LedgerImbalance", "another entry answers the same alert", "drill-two-entries"),
    ],
)
def test_an_answer_says_how_its_entry_was_drilled(
    seen: tuple[AlertHouse, LookedAt], alert: str, says: str, picture: str
) -> None:
    house, look = seen
    ts = house.fires(firing(alert, "region = eu"))
    house.settle()
    look.page.goto(f"{house.slack.url}archives/{PLATFORM}?thread_ts={ts}")
    pane = look.page.get_by_role("complementary", name="Thread")
    expect(pane.get_by_text(says)).to_be_visible()
    look.pictures(picture, pane)


def test_an_owner_reads_what_to_mend(seen: tuple[AlertHouse, LookedAt]) -> None:
    house, look = seen
    house.pass_time()
    look.page.goto(house.slack.url)
    look.act_as("U0INES")
    look.page.locator('[data-channel="D0INES"]').click()
    look.page.get_by_role("tab", name="Messages").click()
    pane = look.page.get_by_role("main")
    expect(pane.get_by_text("A drill of the runbooks found what to mend in").first).to_be_visible()
    look.pictures("drill-draft", pane)
