"""A checklist as people see it, in a real browser: desktop and phone, light and dark.

SCREENSHOTS=folder keeps the pictures."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from playwright.sync_api import Locator, expect

from playground.slack_stand_in import SlackStandIn
from tests.bot.conftest import running
from tests.bot.fakes import CHANNEL, Agents, domain
from tests.bot.features.checklists.runbooks import (
    FAILOVER,
    LAG,
    Published,
    RunbookShelf,
    citing,
    demo_text,
)
from tests.bot.looked_at import LookedAt, opened_page, see
from tests.chromium import launched, needs_chromium

pytestmark = needs_chromium

HIGH: Any = {"width": 390, "height": 2600}
"""As wide as one; so high that a picture holds the whole."""
SHELF = RunbookShelf(demo_text(FAILOVER), demo_text(LAG))


@dataclass(frozen=True)
class Incident(LookedAt):
    slack: SlackStandIn
    agents: Agents

    def ask(self, text: str, document: str, heading: str) -> Locator:
        self.agents.reset(citing(SHELF, document, heading))
        ts = self.slack.post_as_user(CHANNEL, f"<@{self.slack.bot_user_id}> {text}")
        self.page.goto(f"{self.slack.url}archives/{CHANNEL}?thread_ts={ts}")
        return self.thread

    def look(self, name: str, pane: Locator) -> None:
        self.pictures(name, pane, HIGH)


@pytest.fixture(scope="module")
def incident(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Incident]:
    agents = Agents()
    known = {"security": domain(limits={"questions_per_user_per_hour": 10_000})}
    with (
        SlackStandIn(enforce_rate_limits=False) as slack,
        running(
            slack,
            tmp_path_factory.mktemp("incident"),
            agents,
            known,
            published=Published(SHELF).domains(),
        ),
        launched() as browser,
        opened_page(browser, height=2300) as page,
    ):
        yield Incident(page, slack, agents)


def test_a_failover_is_ticked_off_handed_over_and_summed_up(incident: Incident) -> None:
    thread = incident.ask(
        "LedgerPrimaryDown in EU, what do we do?",
        "ledger-db-failover-runbook",
        "Unplanned failover",
    )
    incident.act_as("U0INES")
    thread.get_by_role("button", name="Start checklist").click()
    card = thread.locator(".message", has_text="Runbook of")
    see(card.get_by_text("0 of 16 steps"))
    see(card.locator("pre", has_text="ledgerctl fence --node ldg-eu-a --reason SEV1"))
    see(card.get_by_text("Runbook of 27 March 2026"))
    incident.look("checklist-new", card)

    for number in ("1", "1.1", "1.2", "2"):
        card.get_by_role("button", name=f"Done: step {number}", exact=True).click()
        expect(card.get_by_role("button", name=f"Done: step {number}", exact=True)).to_have_count(0)
    see(card.get_by_text("4 of 16 steps"))
    incident.act_as("U0DANA")
    card.get_by_role("button", name="Take over").click()
    see(card.get_by_text(re.compile(r"Driving: @Dana .* since \d\d:\d\d UTC")))
    section = card.locator(
        ".actions", has=incident.page.get_by_role("button", name="Done: step 3.2")
    )
    section.get_by_role("button", name="More choices").click()
    incident.picture("checklist-menu", card)
    section.get_by_role("menuitem", name="Not needed").click()
    see(card.get_by_text(re.compile("Not needed: @Dana")))
    section = card.locator(".actions", has=incident.page.get_by_role("button", name="Done: step 5"))
    section.get_by_role("button", name="More choices").click()
    section.get_by_role("menuitem", name="Wrong or outdated").click()
    dialog = incident.page.get_by_role("dialog", name="Wrong or outdated")
    see(dialog)
    dialog.get_by_label("What is wrong?").fill("The standby is ldg-eu-c since the move in May.")
    incident.picture("checklist-report", dialog)
    dialog.get_by_role("button", name="Send").click()
    see(card.get_by_text("The standby is ldg-eu-c since the move in May."))
    incident.look("checklist-half", card)

    card.get_by_role("button", name="Finish").click()
    incident.page.get_by_role("dialog").get_by_role("button", name="Finish").click()
    summary = thread.locator(".message", has_text="For the review:")
    see(summary.locator("pre", has_text="4 done, 1 not needed, 11 left open"))
    see(card.get_by_text("Finished by"))
    expect(card.get_by_role("button", name=re.compile("Done"))).to_have_count(0)
    incident.look("checklist-summary", summary)
    incident.look("checklist-finished", card)


def test_branches_say_where_they_lead(incident: Incident) -> None:
    thread = incident.ask(
        "the settlement consumer lags", "sluice-lag-and-dlq-runbook", "Lag, step by step"
    )
    thread.get_by_role("button", name="Start checklist").click()
    card = thread.locator(".message", has_text="Runbook of")
    expect(card).to_contain_text("All partitions behind by the same age: the consumer is")
    see(card.get_by_text("Step 3: Poison message."))
    see(
        card.get_by_role("link", name="Production Deploy Policy").or_(
            card.get_by_text("Production Deploy Policy")
        )
    )
    incident.look("checklist-branches", card)
