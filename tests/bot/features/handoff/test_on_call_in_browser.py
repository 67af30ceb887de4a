"""Who was on call, and when somebody is, as people see it: desktop and phone, light and dark.

SCREENSHOTS=folder keeps the pictures."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
from playwright.sync_api import expect

from playground.slack_stand_in import SlackStandIn
from tests.bot.conftest import Desk, running
from tests.bot.fakes import CHANNEL, Agents, domain
from tests.bot.looked_at import LookedAt, opened_page
from tests.chromium import launched, needs_chromium

pytestmark = needs_chromium

TURNS = ((-90, -30, "U0DANA"), (-30, -6, "U0INES"), (-6, 18, "U0DANA"), (42, 200, "U0INES"))
"""Hours from now, and who."""


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Desk, LookedAt]]:
    folder, now = tmp_path_factory.mktemp("rota"), datetime.now(UTC)
    shifts = [
        f"- {{from: {now + timedelta(hours=start):%Y-%m-%dT%H:00:00Z}, "
        f"to: {now + timedelta(hours=end):%Y-%m-%dT%H:00:00Z}, user: {who}}}"
        for start, end, who in TURNS
    ]
    (folder / "rota.yaml").write_text("\n".join(shifts), encoding="utf-8")
    escalation = {"rota": "rota.yaml", "time_zone": "Europe/Berlin"}
    known = {"security": domain(escalation=escalation).read_from(folder / "security.yaml")}
    agents = Agents()
    with (
        SlackStandIn(enforce_rate_limits=False) as slack,
        running(slack, folder, agents, known) as bot,
        launched() as browser,
        opened_page(browser, height=480) as page,
    ):
        yield Desk(slack, bot, agents), LookedAt(page)


@pytest.mark.parametrize(
    ("text", "user", "shown", "name"),
    [
        ("who was on call yesterday?", "U0YOU", "as the rota says now", "on-call-past"),
        ("who is on call tomorrow?", "U0YOU", "nobody", "on-call-tomorrow"),
        ("when am I next on call?", "U0INES", "you are next on call", "on-call-mine"),
    ],
)
def test_another_time_and_one_s_own_turns(
    seen: tuple[Desk, LookedAt], text: str, user: str, shown: str, name: str
) -> None:
    desk, page = seen
    ts, _ = desk.ask(text, user=user)
    page.page.goto(f"{desk.slack.url}archives/{CHANNEL}?thread_ts={ts}")
    expect(page.thread.get_by_text(shown).first).to_be_visible()
    page.pictures(name, page.thread)
