"""What people see of the playground's page, in all forms in which they see it.

SCREENSHOTS=folder keeps the pictures; docs/images has the best of them."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Locator, Page, expect

RAW = re.compile(
    r"\*\*|<[@!#]|&\w+;|\bundefined\b|\bNone\b(?! yet)|\b[UCDSBT]0[A-Z]{3,}|:[a-z]+_[a-z_]+:"
)
"""What only a machine should see: markup, escapes, ids, emoji by name."""
ADDRESS = re.compile(r"https?://\S+")
"""Written out, where its reader has no links."""
PHONE: Any = {"width": 390, "height": 844}
expect.set_options(timeout=30_000)  # however busy the machine is


@dataclass(frozen=True)
class LookedAt:
    page: Page

    @property
    def thread(self) -> Locator:
        return self.page.get_by_role("complementary", name="Thread")

    def act_as(self, user: str) -> None:
        self.page.get_by_label("Act as somebody else").select_option(user)
        # The list of channels is built anew for them, and a click meanwhile may meet no button.
        expect(self.page.locator(f'[data-channel="D{user[1:]}"]')).to_be_attached()

    def pictures(self, name: str, pane: Locator, phone: Any = PHONE) -> None:
        """As it is, and on a phone and in the dark: nothing is pushed out of sight anywhere."""
        wide = self.page.viewport_size
        assert wide
        for scheme, size in (
            ("dark", wide), ("dark", phone), ("light", phone), ("light", wide),
        ):  # fmt: skip
            self.page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]  # one of two
            self.page.set_viewport_size(size)
            across = self.page.evaluate("document.documentElement.scrollWidth - innerWidth")
            assert across <= 0, f"{name} is wider than the window"
            form = "" if (scheme, size) == ("light", wide) else f"-{scheme}-{size['width']}"
            self.picture(f"{name}{form}", pane)

    def picture(self, name: str, pane: Locator) -> None:
        """Nothing raw is shown; and a picture for people, when they want one."""
        said = ADDRESS.sub("", pane.inner_text())
        assert not RAW.findall(said), said
        if folder := os.environ.get("SCREENSHOTS"):
            self.page.mouse.move(0, 0)
            pane.screenshot(path=Path(folder) / f"{name}.png", animations="disabled")


def see(locator: Locator) -> None:
    expect(locator.first).to_be_visible(timeout=120_000)


@contextmanager
def opened_page(browser: Browser, width: int = 1280, height: int = 640) -> Iterator[Page]:
    """A page of its own, on which no script failed at the end."""
    context = browser.new_context(viewport={"width": width, "height": height})
    context.set_default_timeout(30_000)
    page = context.new_page()
    complaints: list[str] = []
    page.on("pageerror", lambda error: complaints.append(str(error)))
    yield page
    context.close()
    assert complaints == [], complaints
