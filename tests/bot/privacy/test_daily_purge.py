"""A server without a bot beside it forgets by itself what was kept for long enough."""

from __future__ import annotations

import threading
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

from sqlalchemy import update

from agents.thread.store import ThreadRow, key_of
from bot.background import DailyPurge
from tests.api.front import here
from tests.api.schemas.test_published_schemas import BLACK, QNA, wired

WAIT = 120.0
PLACE = '["api", "this machine", "", "{}"]'


def test_a_look_that_fails_is_made_again() -> None:
    failures, seen = [RuntimeError("away")], threading.Event()

    def purge() -> None:
        if failures:
            raise failures.pop()
        seen.set()

    purging = DailyPurge(purge, pause_seconds=0.01)
    purging.start()
    assert seen.wait(WAIT)
    purging.stop()


def test_a_server_of_the_api_forgets_conversations_after_their_time(tmp_path: Path) -> None:
    copilot = wired(tmp_path)
    unstarted = here(copilot.api(slack=False))
    for name in ("old", "young"):
        unstarted.post(QNA, json={"query": BLACK, "conversation_id": name})
    long_ago = datetime.now(UTC).replace(tzinfo=None) - timedelta(days=181)
    with copilot.index.engine.begin() as connection:
        of_old = ThreadRow.place == key_of(PLACE.format("old"))
        connection.execute(update(ThreadRow).where(of_old).values(begun_at=long_ago))
    with here(copilot.api(slack=False)) as started:
        deadline = time.monotonic() + WAIT
        while time.monotonic() < deadline:
            if started.get("/api/conversations/old").status_code == 404:
                break
            time.sleep(0.05)
        assert started.get("/api/conversations/old").status_code == 404
        assert started.get("/api/conversations/young").status_code == 200
    copilot.index.close()
