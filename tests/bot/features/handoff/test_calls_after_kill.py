"""The process dies between a call or a digest and its record: nobody is called twice."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, create_engine, select

from bot.bus.timers import TimerRow, TimerStore
from bot.features.digest.service import DIGEST
from bot.features.digest.store import DigestRow, Period
from bot.features.handoff.escalation import CALL
from bot.features.handoff.store import CallRow
from playground.slack_stand_in import SlackStandIn
from tests.bot.conftest import eventually
from tests.bot.fakes import CHANNEL
from tests.bot.features.answering.test_bot_crash import done, kill, said, up, worker
from tests.bot.features.handoff.rewound import rewind

pytestmark = pytest.mark.kill

ESCALATION = {"usergroup": "S0SECENG", "levels": [{"user": "U0DANA", "after_minutes": 600}]}


@contextmanager
def database(folder: Path) -> Iterator[Engine]:
    engine = create_engine(f"sqlite:///{folder / 'oncall.db'}", connect_args={"timeout": 30})
    try:
        yield engine
    finally:
        engine.dispose()


def kind(message: dict[str, Any]) -> str:
    return str((message.get("metadata") or {}).get("event_type") or "")


def of_kind(slack: SlackStandIn, ts: str, wanted: str) -> list[dict[str, Any]]:
    return [m for m in said(slack, ts) if kind(m) == wanted]


def test_killed_between_a_call_and_its_record_it_calls_once(
    slack: SlackStandIn, tmp_path: Path
) -> None:
    domain = json.dumps({"escalation": ESCALATION})
    with database(tmp_path) as engine:
        with worker(slack, tmp_path, DOMAIN=domain) as process:
            up(process)
            ts = slack.post_as_user(CHANNEL, f"<@{slack.bot_user_id}> who opens the vault?")
            slack.wait_for(lambda: done(slack, ts))
            slack.click(CHANNEL, said(slack, ts)[0]["ts"], "ask_human")
            slack.wait_for(lambda: of_kind(slack, ts, "oncall_handoff"))
            eventually(lambda: step(engine, "first").ts)
            eventually(lambda: is_set(engine, CALL))  # else it is set for later than the rewound
            # Its reply is lost: the worker is about to look for it when it dies.
            slack.faults.add("chat.postMessage", drop_response=True)
            rewind(engine, 16)
            slack.wait_for(lambda: of_kind(slack, ts, "oncall_call"))
            kill(process)
        assert step(engine, "again").ts == ""
        with worker(slack, tmp_path, DOMAIN=domain) as process:
            up(process)
            eventually(lambda: step(engine, "again").ts)
    assert len(of_kind(slack, ts, "oncall_call")) == 1


def step(engine: Engine, name: str) -> Any:
    with engine.connect() as connection:
        row = connection.execute(select(CallRow).where(CallRow.step == name)).first()
    return row or CallRow.__table__.c  # whose `ts` is no text


def is_set(engine: Engine, kind: str) -> bool:
    with engine.connect() as connection:
        return connection.scalar(select(TimerRow.key).where(TimerRow.kind == kind)) is not None


def test_killed_between_a_digest_and_its_record_it_is_sent_once(
    slack: SlackStandIn, tmp_path: Path
) -> None:
    began = (datetime.now(UTC) - timedelta(minutes=6)).replace(microsecond=0)
    turns = [
        {"from": began - timedelta(hours=8), "to": began, "user": "U0DANA"},
        {"from": began, "to": began + timedelta(hours=8), "user": "U0INES"},
    ]
    rota = "\n".join(f"- {{from: {t['from']}, to: {t['to']}, user: {t['user']}}}" for t in turns)
    (tmp_path / "rota.yaml").write_text(rota, encoding="utf-8")
    domain = json.dumps({"escalation": {"rota": "rota.yaml"}, "digest": "shift_change"})
    period = Period("security", began)

    def shown() -> list[dict[str, Any]]:
        return [m for m in slack.messages(CHANNEL) if kind(m) == "oncall_digest"]

    def kept(engine: Engine) -> str:
        with engine.connect() as connection:
            return connection.scalar(select(DigestRow.ts)) or ""

    with database(tmp_path) as engine:
        with worker(slack, tmp_path, DOMAIN=domain) as process:
            up(process)
            ts = slack.post_as_user(CHANNEL, f"<@{slack.bot_user_id}> who opens the vault?")
            slack.wait_for(lambda: done(slack, ts))
            slack.click(CHANNEL, said(slack, ts)[0]["ts"], "ask_human")
            slack.wait_for(lambda: of_kind(slack, ts, "oncall_handoff"))
            slack.wait_until_delivered()
            slack.faults.add("chat.postMessage", drop_response=True)
            TimerStore(engine).set(DIGEST, period.subject, period.at)
            slack.wait_for(shown)
            kill(process)
        assert kept(engine) == ""
        with worker(slack, tmp_path, DOMAIN=domain) as process:
            up(process)
            eventually(lambda: kept(engine))
    assert len(shown()) == 1
