"""A domain on call, every part of it real between three stand-ins: alerts, a rota, documents that
somebody owns, a model that a test directs."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from bot.app import Bot
from bot.blocks.render import FEEDBACK
from bot.bus.events import Suggestion, SuggestionMade
from bot.feature import Feature
from bot.features.digest.service import DIGEST
from bot.features.digest.store import Period
from durable.database import now
from oncall import Copilot
from playground.google_stand_in import DEMO_FOLDER, GoogleStandIn
from playground.openai_stand_in import OpenAIStandIn
from playground.slack_stand_in import SlackStandIn
from tests.bot.conftest import answered
from tests.bot.features.handoff.rewound import rewind
from tests.bot.office import Director
from tests.stand_ins import connected_settings

CHANNEL = "C0PLATFORM"
ASKER, ADMIN, OWNER, MANAGER = "U0YOU", "U0INES", "U0DANA", "U0MAREK"
"""Dana has the shift, and the documents are in her account."""
GUIDE = "on-call-duty-guide"
COUNT = "alert_course"
"""The timer that shows how often an alert fired."""
DOCUMENTS = ("beacon-alert-catalogue", "sluice-lag-and-dlq-runbook", GUIDE)
PAGER = """\
---
id: pager-handbook
title: Pager Handbook
domain: platform
owner: Platform Reliability (PRE)
status: current
modified: 2024-05-14
---
# Pager Handbook

Next review: 2025-03-01.

## Nobody answers

A page that nobody acknowledges goes to the duty manager after 30 minutes.
"""
DOMAIN = """\
domain: platform
title: Platform help
channels: [C0PLATFORM]
admins: [U0INES]
sources: {google_drive: {folders: [demo-platform]}}
answer: {alert_bots: [B0BEACON]}
escalation:
  rota: ../rota.yaml
  time_zone: Europe/Berlin
  message: The PRE primary will take it from here.
  remind_minutes: 15
  levels: [{user: U0MAREK, after_minutes: 10, name: Duty manager}]
digest: shift_change
gaps: {report: "0 9 * * 1", time_zone: Europe/Berlin}
limits: {questions_per_user_per_hour: 100000, questions_per_channel_per_hour: 100000}
"""


@dataclass(frozen=True, kw_only=True)
class OncallOffice:
    slack: SlackStandIn
    google: GoogleStandIn
    director: Director
    copilot: Copilot
    bot: Bot
    shift_began: datetime

    def ask(self, text: str, user: str = ASKER) -> tuple[str, dict[str, Any]]:
        """The question's ts and the answer."""
        ts = self.slack.post_as_user(CHANNEL, f"<@{self.slack.bot_user_id}> {text}", user=user)
        return ts, self.slack.wait_for_reply(CHANNEL, ts, until=answered)

    def unhelpful(self, ts: str, reply: dict[str, Any], user: str) -> None:
        chosen = {"value": f"unhelpful {CHANNEL}:{ts}"}
        self.slack.click(CHANNEL, reply["ts"], FEEDBACK, user, chosen=chosen)
        self.slack.wait_for(lambda: self.slack.view(user))  # which asks why
        self.slack.close_view(user)

    def fires(self, text: str, **more: Any) -> str:
        """Beacon says so in an attachment, as its kind does; the message's ts."""
        attachment = {"text": text, "color": "danger", "fallback": text} | more
        return self.slack.post_as_app(CHANNEL, attachments=[attachment])

    def thread(self, ts: str, channel: str = CHANNEL) -> str:
        """Address of a thread."""
        return f"{self.slack.url}archives/{channel}?thread_ts={ts}"

    def conversation(self, user: str) -> str:
        """Address of somebody's direct messages with the bot."""
        return f"{self.slack.url}archives/{self.slack.workspace.direct(user).id}"

    def feature(self, timer: str) -> Feature:
        return next(one for one in self.bot.features if timer in one.timers)

    def look(self) -> None:
        """What the clock's next minute finds, done to its end."""
        for feature in self.bot.features:
            if feature.plan:
                feature.plan()
        self.bot.clock.tick()
        self.settle()

    def pass_time(self, minutes: float) -> None:
        """Of hand-offs, and of all that waits for its time."""
        rewind(self.bot.engine, minutes)
        self.bot.clock.tick()
        self.settle()

    def pass_time_until(self, minutes: float, ts: str) -> None:
        """Since a human was requested for this question, however long the test has taken."""
        handoff = self.bot.handoffs.get(f"{CHANNEL}:{ts}")
        assert handoff
        assert handoff.requested_at
        self.pass_time(minutes - (now() - handoff.requested_at).total_seconds() / 60)

    def settle(self) -> None:
        """Until all that happened is worked off, and what came of it."""
        quiet = 0
        while quiet < 2:
            self.slack.wait_until_delivered()
            quiet = 0 if self.bot.inbox.backlog() else quiet + 1
            time.sleep(0.02)

    def show_alert(self, ts: str) -> None:
        """What the timer of its count does."""
        self.settle()
        self.feature(COUNT).timers[COUNT](f"{CHANNEL}:{ts}@0")

    def edit(self, document: str, before: str, after: str) -> None:
        """Somebody edits a document, and it is ingested."""
        text = str(self.google.drive[document].content)
        assert before in text
        self.google.drive.edit(document, text.replace(before, after), modified=datetime.now(UTC))
        assert self.copilot.ingest("platform").failed == ()

    def send_digest(self) -> None:
        period = Period("platform", self.shift_began)
        self.feature(DIGEST).timers[DIGEST](period.subject)
        self.settle()

    def suggest(self, **more: Any) -> None:
        """To the owner of a document."""
        values: dict[str, Any] = {
            "kind": "answer", "domain": "platform", "document": GUIDE, "heading": "Escalation",
            "by": MANAGER, "channel": CHANNEL,
        }  # fmt: skip
        suggestion = Suggestion(**(values | more))
        self.bot.put(suggestion.event_id, SuggestionMade(suggestion=suggestion))
        self.settle()


@contextmanager
def open_oncall_office(folder: Path) -> Iterator[OncallOffice]:
    """Documents ingested, the bot connected; its clock is turned by the tests alone."""
    director = Director()
    shelf = folder / "documents" / "platform"
    shelf.mkdir(parents=True)
    for name in DOCUMENTS:
        shutil.copy(DEMO_FOLDER / "platform" / f"{name}.md", shelf)
    (shelf / "pager-handbook.md").write_text(PAGER, "utf-8")
    began = datetime.now(UTC).replace(microsecond=0) - timedelta(minutes=5)
    domains = folder / "config" / "domains"
    domains.mkdir(parents=True)
    (domains / "platform.yaml").write_text(DOMAIN)
    (folder / "config" / "rota.yaml").write_text(_rota(began))
    with (
        GoogleStandIn(folder / "documents") as google,
        SlackStandIn(enforce_rate_limits=False) as slack,
        OpenAIStandIn(director) as model,
    ):
        settings = connected_settings(folder, google, slack).model_copy(
            update={"openai_base_url": model.base_url, "google_comments": True}
        )
        # Documents are read without the chat model: its part is told by others.
        reader = Copilot(settings)
        assert reader.ingest("platform").failed == ()
        reader.index.close()
        copilot = Copilot(settings.model_copy(update={"chat_model": "scripted"}))
        bot = copilot.bot()
        bot.inbox.poll_seconds = 0.05
        bot.start()
        bot.clock.stop()
        try:
            yield OncallOffice(
                slack=slack, google=google, director=director, copilot=copilot, bot=bot,
                shift_began=began,
            )  # fmt: skip
        finally:
            bot.stop(5)
            copilot.index.close()


def _rota(began: datetime) -> str:
    turns = ((-8, 0, MANAGER), (0, 8, OWNER))
    return "\n".join(
        f"- {{from: {began + timedelta(hours=start):%Y-%m-%dT%H:%M:%SZ}, "
        f"to: {began + timedelta(hours=end):%Y-%m-%dT%H:%M:%SZ}, user: {who}}}"
        for start, end, who in turns
    )
