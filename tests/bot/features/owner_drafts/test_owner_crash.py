"""Killed between the comment and its record: one comment, and the owner hears of it."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from bot.bus.events import Suggestion
from bot.bus.timers import TimerStore
from bot.features.owner_drafts.delivery import SEND
from bot.features.owner_drafts.store import DraftStore
from bot.features.owner_drafts.views import ACCEPT
from config.settings import Settings
from index.store.database import open_database
from playground.google_stand_in import GoogleFault, GoogleStandIn, StoredFile
from playground.slack_stand_in import SlackStandIn
from tests.bot.conftest import eventually, words
from tests.bot.fakes import CHANNEL
from tests.bot.features.answering.test_bot_crash import kill, up, worker

pytestmark = pytest.mark.kill

OWNER, DIRECT = "U0INES", "D0INES"
GUIDE = StoredFile(
    id="guide", name="Guide", content="# Guide\n", owner="Ines",
    owner_email="ines.okafor@tidewater.example",
)  # fmt: skip


def test_killed_between_the_comment_and_its_record_it_comments_once(
    slack: SlackStandIn, tmp_path: Path
) -> None:
    with GoogleStandIn([GUIDE]) as google:
        more = {
            "GOOGLE_APPLICATION_CREDENTIALS": str(google.write_credentials(tmp_path / "key.json")),
            "GOOGLE_API_URL": google.url,
            "GOOGLE_COMMENTS": "on",
        }
        engine = open_database(Settings(data_dir=tmp_path))
        key = DraftStore(engine).add(
            Suggestion(
                id="s1", kind="answer", domain="security", document="guide", by="U0DANA",
                channel=CHANNEL, words="Sixty days.", question="how old?",
            )
        )  # fmt: skip
        TimerStore(engine).set(SEND, key, datetime.now(UTC))
        with worker(slack, tmp_path, **more) as process:
            up(process)
            (draft,) = eventually(lambda: slack.messages(DIRECT))
            google.faults.add(GoogleFault(kind="slow", method="comments.create", seconds=60))
            slack.click(DIRECT, draft["ts"], ACCEPT, OWNER)
            eventually(lambda: google.comments.of("guide"))
            kill(process)
        assert DraftStore(engine).get(key).comment == ""  # type: ignore[union-attr] # it is there
        with worker(slack, tmp_path, **more) as process:
            up(process)
            eventually(lambda: "stand as a comment" in words(slack.messages(DIRECT)[0]), 40)
        engine.dispose()
        assert len(slack.messages(DIRECT)) == 1
        assert len(google.comments.of("guide")) == 1
