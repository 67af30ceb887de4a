"""What somebody on call sees, in a real browser: alerts, calls, the digest, and documents that get
better; desktop and phone, light and dark.

SCREENSHOTS=folder keeps a picture of every scene; docs/images has the best of them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from playwright.sync_api import Locator, expect

from tests.bot.conftest import answered
from tests.bot.features.handoff.office import (
    ADMIN,
    ASKER,
    CHANNEL,
    GUIDE,
    MANAGER,
    OWNER,
    OncallOffice,
    open_oncall_office,
)
from tests.bot.looked_at import LookedAt, opened_page, see
from tests.chromium import launched, needs_chromium

pytestmark = needs_chromium

HIGH: Any = {"width": 390, "height": 3000}
"""As wide as a phone; so high that a picture holds the whole."""
LAG = "[FIRING:1] SluiceLagTier0 (system=sluice region=eu group=settlement instance=lag-{})"
ORDERS = "Order it in Slipway with the label `phone-battery`; it is on your desk the next day."


@dataclass(frozen=True)
class Shift(LookedAt):
    office: OncallOffice

    def look(self, name: str, pane: Locator, height: int = 1500) -> None:
        self.page.set_viewport_size({"width": 1280, "height": height})
        self.pictures(name, pane, HIGH)

    def open(self, address: str, user: str = ASKER) -> None:
        self.page.goto(address)
        self.act_as(user)

    def opened_thread(self, ts: str, user: str = ASKER) -> Locator:
        self.open(self.office.thread(ts), user)
        return self.thread

    def conversation(self, user: str) -> Locator:
        """Somebody's direct messages with the bot."""
        self.open(self.office.conversation(user), user)
        return self.page.locator("#channel")

    def home(self, user: str) -> Locator:
        self.open(f"{self.office.slack.url}archives/{CHANNEL}", user)
        self.page.get_by_role("navigation").get_by_role("button", name="Copilot").click()
        self.page.get_by_role("tab", name="Home").click()
        return self.page.locator(".home")


@pytest.fixture(scope="module")
def office(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OncallOffice]:
    with open_oncall_office(tmp_path_factory.mktemp("oncall")) as opened:
        yield opened


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with launched() as opened:
        yield opened


@pytest.fixture
def shift(office: OncallOffice, browser: Any) -> Iterator[Shift]:
    with opened_page(browser, height=1500) as page:
        yield Shift(page, office)


def test_an_alert_is_answered_by_its_row_counted_and_over(shift: Shift) -> None:
    office = shift.office
    ts = office.fires(LAG.format(0))
    thread = shift.opened_thread(ts)
    answer = thread.locator(".message", has_text="First step:")
    see(answer.get_by_text("SEV2"))
    see(answer.get_by_text("Lag runbook, step 1."))
    see(answer.locator("code", has_text="sluicectl lag --group"))
    see(answer.get_by_text("Platform Reliability (PRE)"))
    see(answer.get_by_role("link", name="Beacon Alert Catalogue › Catalogue"))
    see(answer.get_by_role("button", name="Start checklist"))
    told = answer.inner_text()
    assert told.index("Steps:") < told.index("Owner:")  # what to do, then whom to call
    shift.look("alert", thread, 710)
    for repeat in range(12):
        office.fires(LAG.format(repeat % 3))
    office.show_alert(ts)
    see(answer.get_by_text(re.compile(r"Fired 13 times, last .*, on instance lag-0, lag-1, lag-2")))
    shift.look("alert-repeated", thread, 770)
    for instance in range(3):
        office.fires(LAG.format(instance).replace("FIRING", "RESOLVED"), color="good")
    office.show_alert(ts)
    see(answer.get_by_text(re.compile(r"Resolved .* UTC, after .*; fired 13 times")))
    expect(answer).not_to_contain_text("firing")
    expect(thread.locator(".message")).to_have_count(2)
    shift.look("alert-resolved", thread, 770)


def test_an_alert_without_a_runbook_says_so(shift: Shift) -> None:
    thread = shift.opened_thread(shift.office.fires("[FIRING:1] KettleHot (system=canteen)"))
    see(thread.get_by_text("No runbook for"))
    see(thread.get_by_role("button", name="Ask a human"))
    expect(thread.get_by_role("link")).to_have_count(0)
    shift.look("alert-without-runbook", thread, 400)


def test_a_call_goes_on_until_somebody_comes_and_the_asker_hears_of_it(shift: Shift) -> None:
    office, question = shift.office, "who may lift the rate limit of a partner at night?"
    ts, _ = office.ask(question)
    thread = shift.opened_thread(ts)
    thread.get_by_role("button", name="Ask a human").click()
    card = thread.locator(".message", has_text="What I tried")
    see(card.locator(".mention", has_text="@Dana Whitlock"))
    office.settle()
    office.pass_time_until(16, ts)
    see(thread.get_by_text("once more: nobody has taken this for 16 minutes. Can you help?"))
    office.pass_time_until(27, ts)
    see(thread.get_by_text("(Duty manager): nobody has taken this for 27 minutes."))
    see(card.get_by_text(re.compile(r"\w{3} \d\d:\d\d \(Europe/Berlin\): called")))
    expect(card.get_by_text("Europe/Berlin")).to_have_count(1)
    shift.look("handoff-called-again", thread, 1260)

    shift.act_as(MANAGER)
    card.get_by_role("button", name="I'll take it").click()
    see(card.get_by_text("is on it"))
    see(thread.get_by_text("(Duty manager) was called after 27 minutes."))
    expect(thread.get_by_text("Can you help?")).to_have_count(0)
    expect(thread.get_by_role("button", name="I'll take it")).to_have_count(0)
    shift.look("handoff-taken", thread, 1200)

    card.get_by_role("button", name="Resolved").click()
    dialog = shift.page.get_by_role("dialog", name="Resolved")
    dialog.get_by_label("What was the answer?").fill(
        "The duty manager may, for one night, and tells the account manager in the morning."
    )
    dialog.get_by_role("button", name="Done").click()
    see(thread.get_by_text("Resolved by"))
    office.settle()
    shift.look("handoff-resolved", thread, 900)
    messages = shift.conversation(ASKER)
    see(messages.get_by_text("took your question ("))
    told = messages.locator(".message", has_text="resolved your question (")
    see(told.get_by_role("link", name=question))
    see(told.get_by_text("for one night"))
    shift.look("handoff-told", messages, 400)


def test_what_is_open_is_told_when_a_shift_begins(shift: Shift) -> None:
    office = shift.office
    for part in ("hall", "yard"):
        office.fires(f"[FIRING:1] KettleCold (system=canteen pod={part})")
    for part in ("a", "b", "c"):
        office.fires(f"[FIRING:1] SluiceThrottled (system=sluice client=ledger-posting pod={part})")
    _, reply = office.ask("which pager do we get for a shift?")
    office.slack.click(CHANNEL, reply["ts"], "ask_human", ASKER)
    for user in (ASKER, OWNER):
        office.ask("how is a pager charged?", user)
    alert = office.fires("[FIRING:1] SluiceLagTier1 (system=sluice region=us)")
    shown = office.slack.wait_for_reply(CHANNEL, alert, until=answered)
    office.fires("[FIRING:1] SluiceLagTier1 (system=sluice region=us)")
    office.slack.click(CHANNEL, shown["ts"], "checklist_start", ASKER)
    office.settle()
    office.send_digest()
    shift.open(f"{office.slack.url}archives/{CHANNEL}")
    digest = shift.page.locator(".message", has_text="what is open")
    see(digest.get_by_text(re.compile(r"is on call until \w{3} \d\d:\d\d \(Europe/Berlin\)")))
    for told in (
        "which pager do we get for a shift? · nobody has taken it for",
        "how is a pager charged? · no answer found, asked 2 times",
        "KettleCold",
        "SluiceThrottled",
        "Sluice Lag and Dead Letter Runbook › Lag, step by step · 0 of",
    ):
        expect(digest).to_contain_text(told)
    said = digest.inner_text()
    for once in ("how is a pager charged?", "Checklists half done"):
        assert said.count(once) == 1
    assert "• •" not in said
    shift.look("digest", digest)


def test_what_a_human_said_becomes_a_draft_then_a_comment(shift: Shift) -> None:
    office = shift.office
    asked = {
        ASKER: "how do I order a spare battery for the on-call phone?",
        OWNER: "where does one get a spare battery for the on-call phone?",
        "U0PRIYA": "I need a spare battery for my on-call phone, how do I order it",
    }
    replies = {user: office.ask(text, user) for user, text in asked.items()}
    ts, reply = replies[ASKER]
    office.slack.click(CHANNEL, reply["ts"], "ask_human", ASKER)
    office.settle()
    resolved = {"question_id": f"{CHANNEL}:{ts}", "user": MANAGER, "resolution": ORDERS}
    office.bot.inbox.put("battery", {"resolve": resolved})
    office.settle()
    for _ in range(2):  # first the gap, then what follows from it
        office.look()
    messages = shift.conversation(OWNER)
    draft = messages.locator(".message", has_text=re.compile("spare battery")).last
    see(draft.get_by_text(re.compile("A human answered what")))
    see(draft.get_by_text("You get this because you own the document in Drive."))
    see(draft.get_by_role("button", name="Accept"))
    place = draft.get_by_role("link", name="On-call Duty Guide").get_attribute("href")
    assert place
    shift.look("draft", draft)
    draft.get_by_role("button", name="Edit…").click()
    dialog = shift.page.get_by_role("dialog", name="Suggestion")
    expect(dialog.get_by_label("Words")).to_have_value(ORDERS)
    shift.look("draft-form", dialog)
    dialog.get_by_role("button", name="Accept").click()
    accepted = messages.locator(".message", has_text="phone-battery").last
    see(accepted.get_by_text("Accepted by"))
    see(accepted.get_by_text("The words stand as a comment on the document."))
    expect(accepted.get_by_role("button", name="Accept")).to_have_count(0)
    shift.look("draft-accepted", accepted)
    shift.page.goto(place)
    comment = shift.page.get_by_label("Comment").filter(has_text="phone-battery")
    see(comment)
    shift.pictures("comment", comment)
    shift.page.set_viewport_size({"width": 1000, "height": 700})
    comment.scroll_into_view_if_needed()
    shift.picture("comment-on-the-page", shift.page.locator("body"))


def test_admins_find_gaps_drafts_and_sources_apart_in_home(shift: Shift) -> None:
    office = shift.office
    office.director.says["unacknowledged"] = (
        "CONFLICT [moves twice] [after 30 minutes]: when the duty manager is paged\n"
        "10 minutes after the secondary [moves twice]."
    )
    ts, _ = office.ask("when does the duty manager get an unacknowledged page?")
    thread = shift.opened_thread(ts)
    see(thread.get_by_text("Two sources say different things about when the duty manager is paged"))
    shift.look("contradiction", thread, 580)
    for user in (ASKER, OWNER):
        ts, reply = office.ask("who cleans the coffee machine in the on-call room?", user)
        office.unhelpful(ts, reply, user)
    office.suggest(
        id="desk", question="how long may I be away from the desk?", words="Ten minutes."
    )
    for _ in range(2):
        office.look()
    office.feature("gaps_report").timers["gaps_report"]("platform@2099-01-05T08:00")
    office.settle()
    home = shift.home(ADMIN)
    for title in (
        "Suggestions for documents",
        "Platform help: gaps in the documents",
        "Platform help: sources that say different things",
        "Platform help: documents to look over",
    ):
        see(home.get_by_role("heading", name=title))
    see(home.get_by_text(re.compile("asked 2 times by 2 people since")))
    see(home.get_by_text("was to be reviewed by 1 Mar 2025"))
    see(home.get_by_role("button", name="Review…"))
    see(home.get_by_role("link", name="Pager Handbook › Nobody answers"))
    shift.look("home-oncall", home, 2600)
    home.get_by_role("button", name="Keep A").click()
    expect(home.get_by_text("say different things")).to_have_count(0)
    report = shift.conversation(ADMIN).locator(".message", has_text="gaps in the documents").last
    see(report.get_by_text("New since"))
    expect(report).to_contain_text("who cleans the coffee machine in the on-call room?")
    shift.look("gaps-report", report)


def test_a_source_that_changed_since_it_helped_says_so_and_can_be_flagged(shift: Shift) -> None:
    office = shift.office
    question = "what is the standby pay of a weekday shift in Rotterdam?"
    office.director.says["weekday shift in Rotterdam"] = "**EUR 40** a shift [EUR 40 a shift]."
    ts, _ = office.ask(question)
    helpful = shift.opened_thread(ts).get_by_role("button", name="Mark this answer as helpful")
    helpful.click()
    expect(helpful).to_have_attribute("aria-pressed", "true")
    office.settle()
    office.look()
    office.edit(GUIDE, "EUR 40 a shift", "EUR 45 a shift")
    office.director.says["weekday shift in Rotterdam"] = "**EUR 45** a shift [EUR 45 a shift]."
    ts, _ = office.ask(question)
    thread = shift.opened_thread(ts)
    see(
        thread.get_by_text(re.compile(r"marked helpful, on .* \(EUR 40 a shift → EUR 45 a shift\)"))
    )
    shift.look("changed", thread, 580)
    thread.get_by_role("button", name="Flag outdated").click()
    dialog = shift.page.get_by_role("dialog", name="Flag outdated")
    expect(dialog.get_by_label("On-call Duty Guide › Standby pay")).to_be_checked()
    shift.look("flag", dialog)
    dialog.get_by_label("What is out of date?").fill("It is EUR 50 since October.")
    dialog.get_by_role("button", name="Flag").click()
    see(thread.get_by_text("The owner of the document hears of it."))
    shift.look("flagged", thread, 660)
