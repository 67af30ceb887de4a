"""Copied commands, counts of steps and their suggestion as people see them, in a real browser.

SCREENSHOTS=folder keeps the pictures."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import expect

from tests.bot.features.alerts.office import PLATFORM
from tests.bot.features.checklists.runbooks import FAILOVER, demo_text
from tests.bot.features.step_counts.runs import ADMIN, PEOPLE, Runs, runs_house
from tests.bot.looked_at import LookedAt, opened_page, see
from tests.chromium import launched, needs_chromium

pytestmark = needs_chromium

ABOUT = "an unplanned failover of ledger-db"


@pytest.fixture(scope="module")
def office(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Runs, LookedAt]]:
    with (
        runs_house(tmp_path_factory.mktemp("steps"), demo_text(FAILOVER)) as runs,
        launched() as browser,
        opened_page(browser, height=1400) as page,
    ):
        yield runs, LookedAt(page)


def test_a_command_is_copied_and_a_skipped_step_is_suggested(
    office: tuple[Runs, LookedAt],
) -> None:
    runs, seen = office
    for who in PEOPLE[:4]:
        runs.run(ABOUT, who, done=(0, 2), skipped=(1,))
    runs.run(ABOUT, PEOPLE[4], done=(0, 1, 2))
    runs.week()
    message = runs.start(ABOUT, PEOPLE[1])
    slack, page = runs.house.slack, seen.page

    page.goto(f"{slack.url}archives/{PLATFORM}?thread_ts={message['thread_ts']}")
    seen.act_as(PEOPLE[1])
    step = seen.thread.locator(
        ".actions", has=page.get_by_role("button", name="Done: step 4", exact=True)
    )
    step.get_by_role("button", name="More choices").click()
    step.get_by_role("menuitem", name="Copy the command").click()
    dialog = page.get_by_role("dialog", name="Copy the command")
    see(dialog)
    field = dialog.get_by_label("Command").first
    expect(field).to_have_value(re.compile("^ledgerctl fence "))
    seen.pictures("slack-step-command", dialog)
    dialog.get_by_role("button", name="Done").click()
    expect(dialog).to_have_count(0)

    page.goto(f"{slack.url}archives/{PLATFORM}")
    seen.act_as(ADMIN)
    page.get_by_role("navigation").get_by_role("button", name="Copilot").click()
    page.get_by_role("tab", name="Messages").click()
    draft = page.locator("#channel .message", has_text="suggest a change to one step")
    see(draft.get_by_text("was marked not needed in 4 of the 5 runs"))
    seen.pictures("slack-step-suggestion", draft)

    page.get_by_role("tab", name="Home").click()
    see(page.get_by_text("how runbooks are used"))
    seen.pictures("slack-step-counts", page.locator(".home"))
