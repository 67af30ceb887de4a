"""Ticks while the bot is killed: nothing is lost, nothing is there twice, the newest is shown."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import create_engine

from bot.features.checklists.store import ChecklistStore
from playground.slack_stand_in import NoAnswerError, SlackStandIn
from tests.bot.conftest import answered, words
from tests.bot.fakes import CHANNEL
from tests.bot.features.answering.test_bot_crash import kill, said, up, worker
from tests.databases import postgresql_database

pytestmark = pytest.mark.kill

THOROUGH = bool(os.environ.get("ONCALL_THOROUGH"))
KILLS, STEPS = (10, 60) if THOROUGH else (3, 24)
"""Every third numbered step has two below it: 100 and 40 ticks."""
PEOPLE = ("U0INES", "U0DANA")
MODULE = "tests.bot.features.checklists.worker_process"


def parts(slack: SlackStandIn, ts: str) -> list[dict[str, Any]]:
    return [
        m
        for m in said(slack, ts)
        if (m.get("metadata") or {}).get("event_type") == "oncall_checklist"
    ]


def patiently(slack: SlackStandIn, message: dict[str, Any], step: int, user: str) -> None:
    """As people do it: where nothing came of a press, they press again."""
    while True:
        try:
            slack.click(CHANNEL, message["ts"], f"checklist_done_{step}", user)
            return
        except NoAnswerError:
            time.sleep(0.05)
        except Exception as error:
            if "action_not_found" not in str(error):  # it is ticked: the press before had counted
                raise
            return


def holder(messages: list[dict[str, Any]], step: int) -> dict[str, Any]:
    return next(m for m in messages if f'"checklist_done_{step}"' in words(m))


def test_ticks_of_two_people_outlive_every_kill(slack: SlackStandIn, tmp_path: Path) -> None:
    slack.api.enforce_rate_limits = False
    slack.sockets.ack_timeout = 1.0
    total = STEPS + 2 * (STEPS // 3)
    with worker(slack, tmp_path, module=MODULE, STEPS=str(STEPS)) as process:
        up(process)
        ts = slack.post_as_user(CHANNEL, f"<@{slack.bot_user_id}> what now?")
        slack.wait_for(lambda: any(answered(m) for m in said(slack, ts)))
        slack.click(CHANNEL, said(slack, ts)[0]["ts"], "checklist_start", "U0INES")
        slack.wait_for(
            lambda: any(f'"checklist_done_{total - 1}"' in words(m) for m in parts(slack, ts))
        )
        messages = parts(slack, ts)
        kill(process)

    ticked = [0, 0]

    def ticks(person: int) -> None:
        for step in range(person, total, 2):
            patiently(slack, holder(messages, step), step, PEOPLE[person])
            ticked[person] += 1

    threads = [threading.Thread(target=ticks, args=(person,), daemon=True) for person in (0, 1)]
    for at in range(KILLS + 1):
        with worker(slack, tmp_path, module=MODULE, STEPS=str(STEPS)) as process:
            up(process)
            if not at:
                for one in threads:
                    one.start()
            if at < KILLS:
                enough = (at + 1) * total // (KILLS + 1)
                slack.wait_for(lambda enough=enough: sum(ticked) >= enough, timeout=120)
                kill(process)
                continue
            for one in threads:
                one.join(60)
            slack.wait_for(
                lambda: f"*{total} of {total} steps*" in words(parts(slack, ts)[0]), timeout=120
            )
            slack.wait_for(
                lambda: not any('"checklist_done_' in words(m) for m in parts(slack, ts)),
                timeout=120,
            )
    assert len(parts(slack, ts)) == len(messages)
    engine = create_engine(f"sqlite:///{tmp_path / 'oncall.db'}")
    kept = ChecklistStore(engine)
    checklist = kept.get(messages[0]["metadata"]["event_payload"]["checklist"])
    assert checklist
    progress = kept.progress(checklist)
    assert {step: mark.by for step, mark in progress.marks.items()} == {
        step: PEOPLE[step % 2] for step in range(total)
    }
    engine.dispose()


def test_two_workers_on_one_postgresql_show_the_newest_of_both(
    slack: SlackStandIn, tmp_path: Path
) -> None:
    slack.api.enforce_rate_limits = False
    total = 20
    with postgresql_database() as url:
        shared = {"DATABASE_URL": url, "STEPS": "12"}
        with (
            worker(slack, tmp_path / "a", module=MODULE, **shared) as first,
            worker(slack, tmp_path / "b", module=MODULE, **shared) as second,
        ):
            up(first)
            up(second)
            ts = slack.post_as_user(CHANNEL, f"<@{slack.bot_user_id}> what now?")
            slack.wait_for(lambda: any(answered(m) for m in said(slack, ts)))
            for user in PEOPLE:  # both at once: one checklist
                slack.click(CHANNEL, said(slack, ts)[0]["ts"], "checklist_start", user)
            slack.wait_for(lambda: f'"checklist_done_{total - 1}"' in words_of(slack, ts))
            messages = parts(slack, ts)
            threads = [
                threading.Thread(
                    target=lambda user=user: [
                        patiently(slack, holder(messages, step), step, user)
                        for step in range(total)
                    ]
                )
                for user in PEOPLE
            ]
            for one in threads:
                one.start()
            for one in threads:
                one.join(60)
            slack.wait_for(lambda: f"*{total} of {total} steps*" in words_of(slack, ts))
            slack.wait_for(lambda: '"checklist_done_' not in words_of(slack, ts))
            assert len(parts(slack, ts)) == len(messages)


def words_of(slack: SlackStandIn, ts: str) -> str:
    return "".join(map(words, parts(slack, ts)))
