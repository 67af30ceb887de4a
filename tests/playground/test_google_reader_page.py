"""Citations open the right heading, in a real browser."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, expect

from playground.google.docs_writer.docs_json import render_document
from playground.google.reader_html import headings
from playground.google_stand_in import GoogleStandIn, StoredFile
from tests.chromium import launched, needs_chromium

pytestmark = needs_chromium

FILLER = "Words that fill a line.\n\n" * 60
TEXT = (
    f"# Guide\n\n## First\n\n{FILLER}<!-- tab: Later -->\n\n## Start\n\n{FILLER}## Target\n\nEnd."
)
GUIDE = StoredFile(id="guide", name="Guide", content=TEXT)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with launched() as opened:
        yield opened


def test_a_link_opens_the_tab_and_shows_the_heading(browser: Browser) -> None:
    tabs = render_document("guide", "Guide", TEXT, base_url="")["tabs"]
    later = tabs[1]["tabProperties"]["tabId"]
    _, target, _ = headings(tabs[1])[1]
    with GoogleStandIn([GUIDE]) as google, browser.new_context() as context:
        page = context.new_page()
        problems: list[str] = []
        page.on("pageerror", lambda error: problems.append(str(error)))
        for query in (f"?tab={later}", ""):
            page.goto(f"{google.url}/document/d/guide/edit{query}#heading={target}")
            heading = page.get_by_role("heading", name="Target")
            expect(heading).to_be_in_viewport()
            expect(heading).to_have_class("cited")
            expect(page.get_by_role("heading", name="First")).to_be_hidden()
            page.goto("about:blank")
        page.goto(f"{google.url}/document/d/guide/edit")
        expect(page.get_by_role("heading", name="First")).to_be_in_viewport()
        page.get_by_role("link", name="Later", exact=True).click()
        expect(page.get_by_role("heading", name="Start")).to_be_in_viewport()
        assert problems == []
