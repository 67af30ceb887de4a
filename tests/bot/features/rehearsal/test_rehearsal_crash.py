"""A rehearsal while the bot is killed after each of its posts: it goes on, nothing is doubled."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bot.features.rehearsal.service import POST_EVENT
from playground.slack_stand_in import NoAnswerError, SlackStandIn
from tests.bot.conftest import words
from tests.bot.features.answering.test_bot_crash import kill, up, worker

pytestmark = pytest.mark.kill

MODULE = "tests.bot.features.rehearsal.worker_process"


def test_each_post_is_there_once_after_kills(slack: SlackStandIn, tmp_path: Path) -> None:
    slack.api.enforce_rate_limits = False
    channel = slack.workspace.direct("U0YOU").id
    thread = slack.post_as_user(channel, "rehearse")

    def posts() -> list[dict[str, Any]]:
        every = slack.thread(channel, thread)
        return [m for m in every if (m.get("metadata") or {}).get("event_type") == POST_EVENT]

    def press(action: str) -> None:
        """As people do it: where nothing came of a press, they press again."""
        while True:
            try:
                slack.click(channel, posts()[-1]["ts"], action)
                return
            except NoAnswerError:
                continue

    acts = ["", "rehearsal_show", "rehearsal_next", "rehearsal_show", "rehearsal_stop"]
    for number, act in enumerate(acts, start=1):
        with worker(slack, tmp_path, module=MODULE) as process:
            up(process)
            if act:
                slack.wait_for(lambda act=act: act in words(posts()[-1]))
                press(act)
            slack.wait_for(lambda number=number: len(posts()) >= number)
            kill(process)
    with worker(slack, tmp_path, module=MODULE) as process:
        up(process)
        again = slack.post_as_user(channel, "rehearse")  # worked off after all that was begun
        slack.wait_for(lambda: len(slack.thread(channel, again)) > 1)
    parts = [one["metadata"]["event_payload"]["part"] for one in posts()]
    assert parts == ["alert-0", "entry-0-0", "alert-1", "entry-1-0", "summary"]
