"""From a Google Doc to a cited reply in a Slack thread, with every part real but the servers."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import pytest
from sqlalchemy import select

from bot.blocks.render import FEEDBACK
from bot.questions.tables import FeedbackRow
from config.errors import UsageError
from index.permissions.rules import identities
from oncall import Copilot
from playground.google_stand_in import DEMO_FOLDER, GoogleStandIn
from playground.slack_stand_in import SlackStandIn
from tests.chromium import launched, needs_chromium
from tests.stand_ins import connected_settings, security_documents

CHANNEL = "C0SECURITY"
DOCUMENTS = ("key-rotation-standard", "key-rotation-standard-2024", "device-security-standard")
DOMAIN = """\
domain: security
title: Security help
channels: [C0SECURITY]
sources:
  google_drive: {folders: [demo-security]}
"""


@dataclass(frozen=True)
class House:
    copilot: Copilot
    google: GoogleStandIn
    slack: SlackStandIn

    def ask(self, text: str, thread: str | None = None) -> tuple[str, dict[str, Any]]:
        """Ask with a mention; the question's ts and the answer that came in its thread."""
        mention = f"<@{self.slack.bot_user_id}> {text}"
        ts = self.slack.post_as_user(CHANNEL, mention, thread_ts=thread)

        def is_new_answer(message: dict[str, Any]) -> bool:
            payload = message.get("metadata", {}).get("event_payload", {})
            return payload.get("state") == "answered" and message["ts"] > ts

        return ts, self.slack.wait_for_reply(CHANNEL, thread or ts, 60, until=is_new_answer)


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    folder = tmp_path_factory.mktemp("house")
    documents = security_documents(folder, DOCUMENTS)
    (folder / "config" / "domains").mkdir(parents=True)
    (folder / "config" / "domains" / "security.yaml").write_text(DOMAIN)
    with GoogleStandIn(documents) as google, SlackStandIn() as slack:
        copilot = Copilot(connected_settings(folder, google, slack))
        assert copilot.ingest("security").failed == ()
        bot = copilot.bot()
        bot.start()
        try:
            yield House(copilot, google, slack)
        finally:
            bot.stop(5)
            copilot.index.close()


def words(message: dict[str, Any]) -> str:
    return str([block for block in message["blocks"] if block["type"] != "actions"])


def test_a_table_cell_is_answered_with_a_link_to_its_heading(house: House) -> None:
    _, reply = house.ask("how old may an API signing key on Restricted data get in Singapore?")
    assert "60 days" in words(reply)
    assert f"{house.google.url}/document/d/key-rotation-standard/edit" in words(reply)
    assert re.search(r"#heading=h\.\w+", words(reply))


def test_a_follow_up_is_understood_from_its_thread(house: House) -> None:
    thread, _ = house.ask("how old may an API signing key on Restricted data get in Singapore?")
    _, reply = house.ask("and a database credential?", thread)
    assert reply["thread_ts"] == thread
    assert "30 days" in words(reply)


def test_what_no_document_says_is_admitted(house: House) -> None:
    _, reply = house.ask("what does the cafeteria serve on Fridays?")
    assert "found nothing that answers" in words(reply)


def test_a_search_is_planned_as_an_answer_is_and_finds_only_what_one_may_read(
    house: House,
) -> None:
    parts = ["how old may a webhook secret get?", "what do I do when a laptop is lost?"]
    question = " ".join(parts)

    def found(readers: frozenset[str] | None) -> dict[str, Any]:
        copilot = house.copilot
        return copilot.retrieve("security", question, pipeline="advanced", readers=readers)

    by_channel = found(None)
    assert by_channel["queries_used"] == [question, *parts]
    sources = {document["source"] for document in by_channel["documents"]}
    assert {"key-rotation-standard", "device-security-standard"} <= sources
    assert found(identities("eve@elsewhere.example"))["documents"] == []


def test_no_passages_at_all_is_a_mistake_and_not_the_default(house: House) -> None:
    with pytest.raises(UsageError, match="top_k is 0"):
        house.copilot.retrieve("security", "webhook secret", top_k=0)


def test_feedback_is_kept(house: House) -> None:
    _, reply = house.ask("how often are break-glass credentials rotated?")
    house.slack.click(CHANNEL, reply["ts"], FEEDBACK, chosen={"value": "helpful"})

    def stored() -> list[Any]:
        with house.copilot.index.engine.connect() as connection:
            return list(connection.execute(select(FeedbackRow)))

    house.slack.wait_for(stored, 10)
    assert "helpful" in str(stored())


def test_an_unchanged_drive_publishes_and_embeds_nothing(house: House) -> None:
    before = house.google.requests["documents.get"]
    report = house.copilot.ingest("security")
    assert (report.unchanged, report.changed, report.embedded) == (len(DOCUMENTS), (), 0)
    assert house.google.requests["documents.get"] == before


def test_an_edit_in_google_docs_reaches_the_answers_without_a_restart(house: House) -> None:
    source = (DEMO_FOLDER / "security" / "device-security-standard.md").read_text("utf-8")
    added = "\n\n## Lost badges\n\nA lost badge is reported to the front desk within 3 hours.\n"
    now = datetime.now(UTC)
    house.google.drive.edit("device-security-standard", source + added, modified=now)
    report = house.copilot.ingest("security")
    assert report.changed == ("device-security-standard",)
    assert 0 < report.embedded < 10
    house.slack.wait_for(lambda: True, 1)
    _, reply = house.ask("when do I have to report a lost badge?")
    assert "within 3 hours" in words(reply)


def test_a_document_we_may_no_longer_read_leaves_the_answers(house: House) -> None:
    house.google.drive.revoke("key-rotation-standard-2024")
    report = house.copilot.ingest("security")
    assert report.removed == ("key-rotation-standard-2024",)
    assert "key-rotation-standard-2024" not in house.copilot.index.snapshot("security").documents


@needs_chromium
def test_in_a_browser_the_citation_opens_its_heading_and_feedback_is_taken(house: House) -> None:
    from playwright.sync_api import expect

    with launched() as browser:
        page = browser.new_page(viewport={"width": 1280, "height": 800})
        page.goto(f"{house.slack.url}archives/{CHANNEL}")
        box = page.get_by_label("Message #help-security")
        box.click()
        page.keyboard.type("@Cop")
        page.keyboard.press("Enter")
        page.keyboard.type("how often are Sluice client certificates rotated?")
        page.keyboard.press("Enter")
        thread = page.get_by_role("complementary", name="Thread")
        expect(thread.get_by_text("90 days").first).to_be_visible(timeout=120_000)
        link = thread.get_by_role("link", name=re.compile("Key Rotation Standard")).first
        with page.expect_popup() as opened:
            link.click()
        expect(opened.value.get_by_role("heading", name="Maximum age")).to_be_in_viewport()
        helpful = thread.get_by_role("button", name="Mark this answer as helpful")
        helpful.click()
        expect(helpful).to_have_attribute("aria-pressed", "true")
