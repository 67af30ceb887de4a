"""Killed while it posts a timeline or saves it: there is one of each in the end."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from playground.google.memory_drive import DOCUMENT, FOLDER
from playground.google_stand_in import GoogleFault, GoogleStandIn, StoredFile
from playground.slack_stand_in import SlackStandIn
from tests.bot.conftest import eventually, words
from tests.bot.fakes import CHANNEL
from tests.bot.features.answering.test_bot_crash import kill, said, up, worker

pytestmark = pytest.mark.kill

REVIEWS = StoredFile(
    id="REVIEWS", name="Reviews", mime_type=FOLDER, drive_id="D", account_role="writer"
)
DOMAIN = json.dumps({"runbooks": {"timeline": True, "timeline_folder": "REVIEWS"}})


def posted(slack: SlackStandIn, ts: str, text: str) -> list[dict[str, Any]]:
    return [one for one in said(slack, ts) if text in words(one)]


def test_killed_on_the_way_it_posts_and_saves_once(slack: SlackStandIn, tmp_path: Path) -> None:
    slack.api.enforce_rate_limits = False
    with GoogleStandIn([REVIEWS]) as google:
        more = {
            "GOOGLE_APPLICATION_CREDENTIALS": str(google.write_credentials(tmp_path / "key.json")),
            "GOOGLE_API_URL": google.url,
            "DOMAIN": DOMAIN,
        }
        ts = slack.post_as_user(CHANNEL, "the ledger is down")
        with worker(slack, tmp_path, **more) as process:
            up(process)
            slack.post_as_user(CHANNEL, f"<@{slack.bot_user_id}> timeline", thread_ts=ts)
            eventually(lambda: posted(slack, ts, "Unknown from this thread"))
            kill(process)  # before it knows that it was posted, or just after
        with worker(slack, tmp_path, **more) as process:
            up(process)
            google.faults.add(GoogleFault(kind="slow", method="files.create", seconds=60))
            (message,) = posted(slack, ts, "Unknown from this thread")
            slack.click(CHANNEL, message["ts"], "timeline_document")
            eventually(lambda: google.requests["files.create"])
            eventually(lambda: len(google.drive.all_visible()) == 2)
            kill(process)
        assert posted(slack, ts, "Saved as a Google Doc") == []
        with worker(slack, tmp_path, **more) as process:
            up(process)
            eventually(lambda: posted(slack, ts, "Saved as a Google Doc: <"), 60)
        documents = [one for one in google.drive.all_visible() if one.mime_type == DOCUMENT]
        assert len(documents) == 1
        assert len(posted(slack, ts, "Saved as a Google Doc: <")) == 1
        assert len(posted(slack, ts, "Unknown from this thread")) == 1
