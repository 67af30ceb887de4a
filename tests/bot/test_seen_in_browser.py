"""What people see, looked at in a real browser: the real bot behind the playground's page.

SCREENSHOTS=folder keeps a picture of every scene; docs/images has the best of them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from playwright.sync_api import Locator, expect

from bot.features.owner_drafts.proposals import propose
from tests.bot.conftest import eventually
from tests.bot.looked_at import LookedAt, opened_page, see
from tests.bot.office import CHANNEL, Office, open_office
from tests.chromium import launched, needs_chromium
from tests.pictures import drawn

pytestmark = needs_chromium

YOURS = "D0YOU"
"""The conversation of `U0YOU` with the bot."""
PLATFORM = "C0PLATFORM"
KEYS = "how old may an API signing key on Restricted data get in Singapore?"
AGES = (
    "An API signing key on **Restricted** data may be **60 days** old in Singapore, and 90 days "
    "in the EU and the US [60 days in SG only].\n\nWhile it is rotated, the old and the new "
    "version are both valid for 7 days [60 days in SG only]."
)
ROLES = """\
| Role | Default | Longest | Source |
|---|---|---|---|
| `hbr-admin` | 2 hours | 8 hours in total | [Harbor system owner] |
| `tally-restricted` | 4 hours | 12 hours in total | [Data owner of the dataset] |
| `ledger-dba` | 1 hour | 4 hours in total | [Ledger system owner] |
"""
WHICH = """\
WHICH
Which kind of credential do you mean?
- API signing key: 60 days in SG for Restricted data [60 days in SG only]
- merchant webhook secret: 365 days in every region [365 days in every]
"""
RESTRICTED = "That depends on the data: each row says how long, by region [Restricted]."
CALLS = "The recording of a support call is kept **90 days** in the EU [R-33]."
ESCALATION = "A page that nobody acknowledges goes to the secondary, then to the duty manager"
ESCALATION += " [moves twice]."
ON_CALL = f"**Ana Diaz** is on call for payments until 18:00 [Ana Diaz].\n\n{ESCALATION}"
PROMOTER = "The promoter waits **47 s**, then makes the standby the primary [47 s]."
ALERT = {
    "kind": "alert",
    "shows": "An alert of Beacon.",
    "text": ["LedgerHeartbeatLost firing", "zone eu-1, for 4 minutes"],
}


@dataclass(frozen=True)
class Scene(LookedAt):
    office: Office

    def ask(self, text: str, channel: str = CHANNEL, **more: Any) -> Locator:
        """Ask, and look at the thread."""
        ts = self.office.ask(text, channel, **more)
        self.page.goto(self.office.thread(ts, channel))
        return self.thread

    def home(self, user: str) -> Locator:
        """The app's home, as that person sees it."""
        self.page.goto(f"{self.office.slack.url}archives/{CHANNEL}")
        self.act_as(user)
        self.page.get_by_role("navigation").get_by_role("button", name="Copilot").click()
        self.page.get_by_role("tab", name="Home").click()
        self.page.set_viewport_size({"width": 1280, "height": 1500})
        return self.page.locator(".home")


@pytest.fixture(scope="module")
def office(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Office]:
    with open_office(tmp_path_factory.mktemp("office")) as opened:
        opened.director.says |= {"signing key": AGES, "elevated": ROLES}
        opened.director.says |= {"how old can it get?": WHICH, "recorded support": CALLS}
        opened.director.says |= {"on call for payments": ON_CALL, "promoter": PROMOTER}
        opened.director.says |= {"do about this": ESCALATION, "keep Restricted": RESTRICTED}
        yield opened


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with launched() as opened:
        yield opened


@pytest.fixture
def scene(office: Office, browser: Any) -> Iterator[Scene]:
    with opened_page(browser) as page:
        yield Scene(page, office)


def test_an_answer_is_watched_while_it_is_written(scene: Scene) -> None:
    director = scene.office.director
    with director.holding("both valid"):
        with director.holding("answer"):
            thread = scene.ask(KEYS)
            see(thread.locator(".task.in_progress", has_text=re.compile(r"Reading \d documents?…")))
            see(thread.locator(".plan").get_by_text("Looking through the documents…"))
            see(thread.locator(".task.complete", has_text=re.compile(r"Searching \d documents?$")))
            see(thread.locator(".task.pending", has_text="Write the answer"))
            scene.pictures("status", thread)
        see(thread.locator(".writing").get_by_text("60 days"))
        see(thread.locator(".task.complete", has_text="Reading"))
        see(thread.locator(".plan").get_by_text("Writing the answer…"))
        expect(thread.get_by_text("Sources")).to_have_count(0)
        scene.pictures("streaming", thread)
    see(thread.get_by_text("Sources"))
    expect(thread.locator(".writing, .plan, .task")).to_have_count(0)
    see(thread.get_by_text("are both valid for 7 days"))
    source = thread.get_by_role("link", name="Key Rotation Standard › Maximum age")
    expect(source).to_have_attribute("href", re.compile(r"/key-rotation-standard/edit.*#heading=h"))
    see(thread.get_by_text(re.compile(r"updated \d+ \w+ ago")))
    see(thread.get_by_text(re.compile(r"^Confidence: (high|medium)$")))
    expect(thread.get_by_text(re.compile("updated"))).to_have_count(1)
    scene.pictures("answer", thread)


def test_not_helpful_asks_why_and_thanks_for_the_correction(scene: Scene) -> None:
    thread = scene.ask(KEYS)
    thread.get_by_role("button", name="Mark this answer as not helpful").click()
    dialog = scene.page.get_by_role("dialog", name="What was wrong?")
    see(dialog)
    scene.picture("feedback", dialog)
    dialog.get_by_role("button", name="Send").click()
    expect(dialog.get_by_role("alert")).to_have_text("Please fill this in.")
    dialog.get_by_label("It is out of date").check()
    dialog.get_by_label("What would have been right?").fill("45 days since the June audit.")
    dialog.get_by_role("button", name="Send").click()
    expect(dialog).to_have_count(0)
    thanks = thread.locator(".whisper", has_text="Your correction goes to the owners")
    see(thanks.get_by_text("Only visible to you"))
    pressed = thread.get_by_role("button", name="Mark this answer as not helpful")
    expect(pressed).to_have_attribute("aria-pressed", "true")
    (proposed,) = eventually(lambda: propose(scene.office.bot.engine))
    assert proposed.reference == "45 days since the June audit."
    scene.picture("thanks", thread)


def test_a_human_is_called_takes_over_and_answers(scene: Scene) -> None:
    thread = scene.ask(KEYS)
    thread.get_by_role("button", name="Ask a human").click()
    card = thread.locator(".message", has_text="What I tried")
    see(card.get_by_text("can you help here?"))
    see(card.locator(".mention", has_text="@seceng-primary"))
    see(card.locator("blockquote", has_text=KEYS))
    see(card.get_by_role("link", name="Key Rotation Standard › Maximum age"))
    scene.picture("handoff", card)
    see(thread.get_by_text(re.compile(r"A human was asked \w+ \d+ at \d\d:\d\d UTC by")))
    expect(thread.get_by_role("button", name="Ask a human")).to_have_count(0)
    scene.pictures("asked", thread)

    scene.act_as("U0INES")
    card.get_by_role("button", name="I'll take it").click()
    see(card.get_by_text("is on it"))
    see(thread.locator(".context", has_text="took it"))
    expect(card.get_by_role("button", name="I'll take it")).to_have_count(0)
    scene.picture("taken", card)

    card.get_by_role("button", name="Resolved").click()
    dialog = scene.page.get_by_role("dialog", name="Resolved")
    dialog.get_by_label("What was the answer?").fill("60 days, and the key is yours to rotate.")
    dialog.get_by_role("button", name="Done").click()
    done = thread.locator(".message", has_text="Resolved by")
    see(done.locator(".mention", has_text="@Ines Okafor"))
    see(done.locator("blockquote", has_text="60 days, and the key is yours to rotate."))
    expect(done.get_by_role("button", name="Resolved")).to_have_count(0)
    see(thread.locator(".reaction", has_text="✅"))
    scene.picture("resolved", done)


def test_the_home_tells_admins_how_it_goes_and_others_what_to_ask(scene: Scene) -> None:
    question = "which canteen is open on Fridays?"
    see(scene.ask(question).get_by_text("found nothing that answers"))
    home = scene.home("U0INES")
    see(home.get_by_role("heading", name="Security help, for admins"))
    see(home.get_by_text("today (generation 1)"))
    see(home.get_by_text(re.compile("no answer found")))
    scene.picture("home-admin", home)
    with scene.page.expect_popup() as opened:
        home.get_by_role("link", name=question).click()
    see(
        opened.value.get_by_role("complementary", name="Thread").get_by_text(
            "found nothing that answers"
        )
    )
    opened.value.close()
    home = scene.home("U0YOU")
    see(home.get_by_role("heading", name="My recent questions"))
    see(home.get_by_role("link", name=question))
    expect(home.get_by_text("for admins")).to_have_count(0)
    scene.picture("home", home)
    home = scene.home("U0MAREK")
    see(home.get_by_text("None yet."))
    expect(home.get_by_text(question)).to_have_count(0)


def test_the_home_asks_at_a_click_and_says_where_the_answer_is(scene: Scene) -> None:
    home = scene.home("U0DANA")
    home.get_by_role("button", name=re.compile("Ask: how old may an API signing key")).click()
    see(home.get_by_text("You asked:"))
    scene.picture("home-asked", home)
    scene.page.get_by_role("tab", name="Messages").click()
    messages = scene.page.locator("#channel")
    see(messages.get_by_text("You asked in"))
    see(messages.get_by_text("60 days"))
    scene.picture("home-answered", messages)


def test_a_link_to_a_document_shows_what_it_opens(scene: Scene) -> None:
    slack, snapshot = (
        scene.office.slack,
        scene.office.bot.extras.previews.context.snapshot("security"),
    )
    opened = next(c for c in snapshot.chunks("key-rotation-standard") if c.heading == "Maximum age")
    for name, takes_work_objects in (("work-object", True), ("link-preview", False)):
        slack.workspace.work_objects = takes_work_objects
        ts = slack.post_as_user(CHANNEL, f"the ages are in {opened.url}", user="U0INES")
        slack.wait_for(lambda ts=ts: slack.workspace.message(CHANNEL, ts).get("attachments"))
        scene.page.goto(scene.office.thread(ts))
        see(scene.thread.get_by_role("link", name=re.compile("^Key Rotation Standard")))
        see(scene.thread.get_by_text("Age counts from the moment"))
        see(scene.thread.get_by_text("Security Engineering"))
        see(scene.thread.get_by_text("Maximum age › EU, US, SG: 180 days in every region"))
        expect(scene.thread.get_by_text("(as left)")).to_have_count(0)
        scene.picture(name, scene.thread)


def test_without_the_model_passages_are_shown_and_it_says_so(scene: Scene) -> None:
    scene.office.director.down = True
    try:
        # Asked in words that no answer was kept for: what was answered before needs no model.
        thread = scene.ask("maximum age of an API signing key on Restricted data in SG?")
        see(thread.get_by_text("The language model isn't available right now"))
    finally:
        scene.office.director.down = False
    expect(thread).to_contain_text("60 days in SG only")
    see(thread.get_by_role("link", name="Key Rotation Standard › Maximum age"))
    expect(thread.get_by_text("Confidence")).to_have_count(0)
    scene.pictures("degraded", thread)


def test_a_refusal_names_the_nearest_documents_and_offers_a_human(scene: Scene) -> None:
    thread = scene.ask("what does the cafeteria serve on Fridays?")
    see(
        thread.get_by_text(
            "I searched the 3 documents of Security help and found nothing that answers"
        )
    )
    see(thread.get_by_text("Nearest documents"))
    expect(thread.get_by_role("link")).to_have_count(3)
    see(thread.get_by_role("button", name="Ask a human"))
    expect(thread.get_by_text("Confidence")).to_have_count(0)
    scene.pictures("refusal", thread)


def test_a_question_back_is_answered_by_a_click(scene: Scene) -> None:
    scene.office.director.says["webhook secret"] = (
        "A merchant webhook secret may be **365 days** old in every region [365 days in every]."
    )
    thread = scene.ask("how old can it get?")
    see(thread.get_by_text("Which kind of credential do you mean?"))
    expect(thread.get_by_role("button", name="helpful")).to_have_count(0)
    scene.pictures("question-back", thread)
    thread.get_by_role("button", name="merchant webhook secret").click()
    see(thread.get_by_text("Chosen: how old can it get: merchant webhook secret?"))
    see(thread.get_by_text("Sources"))
    see(thread.get_by_text("365 days"))
    scene.picture("chosen", thread)


def test_in_the_pane_a_suggested_question_is_answered_privately(scene: Scene) -> None:
    # The best of all that this office has answered, whichever tests came before.
    bot = scene.office.bot
    asked = f"{CHANNEL}:{scene.office.ask(KEYS)}"
    eventually(lambda: (record := bot.records.get(asked)) and record.state == "posted")
    bot.feedback.give(asked, "U0PRIYA", "helpful")
    bot.extras.suggest._chosen.clear()  # type: ignore[attr-defined]  # or minutes would pass
    # Of somebody to whom nothing was told: what comes of a hand-off stands there as well.
    scene.page.goto(scene.office.slack.url)
    scene.act_as("U0PRIYA")
    scene.page.get_by_role("navigation").get_by_role("button", name="Copilot").click()
    scene.page.get_by_role("tab", name="Messages").click()
    pane = scene.page.locator("#channel")
    # The bot may have written here of its own accord, as of a human who came.
    pane.get_by_role("button", name="New chat").click()
    see(pane.get_by_text("What do you need to know?"))
    question = re.compile(f"^{KEYS[:40]}")
    pane.get_by_role("button", name=question).first.click()
    see(pane.get_by_text("Sources"))
    see(pane.get_by_text("60 days"))
    expect(pane.locator(".chat-title")).to_have_text(question)
    expect(pane.locator(".status")).to_have_count(0)
    scene.picture("pane", pane)


def test_a_table_is_a_table(scene: Scene) -> None:
    thread = scene.ask(
        "what is the longest I may be elevated as ledger-dba, hbr-admin, tally-restricted?"
    )
    see(thread.get_by_text("Sources"))
    row = thread.get_by_role("row", name=re.compile("tally-restricted"))
    expect(row.get_by_role("rowheader").locator("code")).to_have_text("tally-restricted")
    expect(row.get_by_role("cell")).to_have_text(
        ["12 hours in total", "4 hours", re.compile(r"\d")]
    )
    heads = thread.get_by_role("columnheader")
    expect(heads).to_have_text(["Role", "Longest", "Default", "Source"])
    scene.pictures("table", thread)

    labels = thread.get_by_role("rowheader")
    thread.get_by_role("button", name="Longest").click()
    expect(labels).to_have_text(["ledger-dba", "hbr-admin", "tally-restricted"])
    expect(heads.nth(1)).to_have_attribute("aria-sort", "ascending")
    thread.get_by_role("button", name="Longest").click()
    expect(labels).to_have_text(["tally-restricted", "hbr-admin", "ledger-dba"])


def test_where_a_workspace_lacks_what_is_new_people_see_what_it_has(scene: Scene) -> None:
    office = scene.office
    office.slack.workspace.unsupported = frozenset(("data_table", "task_display_mode"))
    try:
        with office.director.holding("answer"):
            thread = scene.ask("once more, how long elevated as ledger-dba?")
            see(thread.locator(".task.in_progress", has_text=re.compile("Reading")))
            expect(thread.locator(".plan")).to_have_count(0)
        see(thread.get_by_text("Sources"))
    finally:
        office.slack.workspace.unsupported = frozenset()
        office.bot.web.unsupported.forget()
    expect(thread.get_by_role("columnheader")).to_have_count(4)
    expect(thread.get_by_role("button", name="Longest")).to_have_count(0)
    scene.pictures("older-table", thread)


def test_a_direct_message_says_which_domain_answered(scene: Scene) -> None:
    thread = scene.ask("how long do we keep a recorded support call in the EU?", YOURS)
    see(thread.get_by_text("Sources from Privacy help"))
    expect(thread.get_by_text("Privacy help")).to_have_count(1)
    expect(thread.locator(".titles .topic")).to_have_text("Copilot")
    scene.pictures("from-domain", thread)


def test_who_is_asked_which_domain_they_mean_chooses_with_a_click(scene: Scene) -> None:
    question = "how long may I keep Restricted data?"
    scene.office.director.areas[question] = ("Security help", "Privacy help")
    thread = scene.ask(question, YOURS)
    see(thread.get_by_text("Is this a question for Security help or Privacy help?"))
    offered = thread.locator(".message").last.get_by_role("button", name="help")
    expect(offered).to_have_text(["Security help", "Privacy help"])
    scene.pictures("which-domain", thread)
    thread.get_by_role("button", name="Privacy help").click()
    see(thread.get_by_text("Chosen: Privacy help"))
    see(thread.get_by_text("That depends on the data"))
    scene.picture("domain-chosen", thread)


def test_passages_of_two_domains_stand_under_their_names(scene: Scene) -> None:
    scene.office.director.down = True
    try:
        thread = scene.ask("how soon is a leaked key or card number purged?", YOURS)
        see(thread.get_by_role("button", name="Ask Security help"))
    finally:
        scene.office.director.down = False
    expect(thread.get_by_text(re.compile("^From (Privacy|Security) help$"))).to_have_count(2)
    said = thread.inner_text()
    first, second = said.index("From Privacy help"), said.index("From Security help")
    assert first < said.index("Personal Data in Logs Standard") < second
    assert second < said.index("Key Rotation Standard")
    assert "Sources" not in said
    see(thread.locator("pre", has_text="fogline purge --index app-quay-* --field iban"))
    scene.page.set_viewport_size({"width": 1280, "height": 1100})
    scene.pictures("two-domains", thread)


def test_what_was_read_in_a_screenshot_is_said(scene: Scene) -> None:
    scene.office.director.sees["read_screenshot"] = dict(ALERT)
    scene.office.director.sees["runbook"] = {"entries": [1]}
    picture = scene.office.slack.share("alert.png", drawn(*ALERT["text"]))
    thread = scene.ask("what do I do about this?", PLATFORM, files=[picture])
    see(
        thread.get_by_text(
            "I read your screenshot: “LedgerHeartbeatLost firing / zone eu-1, for 4 minutes / An "
            "alert of Beacon”. Tell me if I misread it."
        )
    )
    see(thread.get_by_text("Sources"))
    scene.pictures("screenshot", thread)


def test_a_tool_is_named_while_it_is_asked_and_as_a_source(scene: Scene) -> None:
    director = scene.office.director
    director.looks["on call for payments"] = 'LOOK\nask: PagerDuty.on_call {"team": "payments"}'
    with director.holding("answer"):
        thread = scene.ask("who is on call for payments, and if nobody acknowledges?", PLATFORM)
        see(thread.locator(".task.in_progress", has_text="Asking PagerDuty: who is on call…"))
        expect(thread.locator(".task").last).to_have_text("Write the answer")
        scene.picture("asking-a-tool", thread)
    see(thread.get_by_text(re.compile(r"Asked PagerDuty: who is on call, \d\d:\d\d")))
    see(thread.get_by_role("link", name="On-call Duty Guide › Escalation"))
    expect(thread.get_by_role("link", name=re.compile("PagerDuty"))).to_have_count(0)
    scene.pictures("tool-source", thread)


def test_what_a_model_saw_in_a_picture_is_marked_once(scene: Scene) -> None:
    thread = scene.ask("what does the promoter do when the heartbeat is lost?", PLATFORM)
    see(
        thread.get_by_text(
            re.compile("From a model's description of a picture.*: 47 stands nowhere else", re.S)
        )
    )
    see(thread.get_by_text(re.compile("updated .* ago · .*a picture there$")))
    expect(thread.get_by_text("description")).to_have_count(1)
    scene.pictures("picture-source", thread)


def test_without_the_model_a_pictures_words_are_marked_above_them(scene: Scene) -> None:
    scene.office.director.down = True
    try:
        thread = scene.ask("where is the standby promoted once a heartbeat is lost?", PLATFORM)
        see(thread.get_by_text(re.compile("a picture there, as a model described it$")))
    finally:
        scene.office.director.down = False
    see(thread.get_by_role("listitem").get_by_text("heartbeat lost for 47 s"))
    scene.pictures("picture-passage", thread)


def test_where_a_channel_has_no_documents_the_answer_is_private(scene: Scene) -> None:
    question = "how long do we keep the recorded support calls in the EU?"
    general = scene.ask(question, "C0GENERAL")
    see(general.get_by_text(re.compile("I've answered.*privately: this channel has no documents")))
    scene.page.goto(f"{scene.office.slack.url}archives/{YOURS}")
    messages = scene.page.locator("#channel")
    see(messages.get_by_text("You asked in"))
    see(messages.get_by_text("Sources from Privacy help"))
    scene.picture("private", messages)
