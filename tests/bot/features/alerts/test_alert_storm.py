"""Five hundred alerts in a breath: each is counted, each kind answered once, and Slack has room.

People are answered meanwhile."""

from __future__ import annotations

import random
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import create_engine, func, select

from bot.app import WORKERS
from bot.features.alerts.replies import ANSWER, AT_ONCE, MAX_UNKNOWN, SECONDS_EACH
from bot.features.alerts.store import EpisodeRow, OccurrenceRow
from bot.questions.tables import QuestionRow
from oncall import Copilot
from playground.slack_stand_in import SlackStandIn
from tests.bot.conftest import answered, words
from tests.bot.fakes import showing_to_all
from tests.bot.features.alerts.office import (
    PLATFORM,
    ROWS,
    TEXTS,
    AlertHouse,
    add_channels,
    alert_house,
    catalogue,
    furnish,
    settings_in,
)
from tests.bot.features.alerts.test_alert_desk import firing
from tests.bot.features.answering.test_bot_crash import kill, up, worker
from tests.bot.features.checklists.test_checklist_crash import THOROUGH

pytestmark = pytest.mark.trial

STORM = 500
KINDS = STORM if THOROUGH else 150
"""Of which no document knows; all together they are looked for in every one of them."""
SIDES = ("North", "East", "South", "West")
KNOWN = [f"{side}{row[0]}" for side in SIDES for row in ROWS]
"""56 kinds, each with a row."""
STORM_TEXTS = {
    "platform": (catalogue([(name, *row[1:]) for name in KNOWN for row in ROWS[:1]]),),
}
WORDS = ("Amber", "Birch", "Cedar", "Delta", "Ember", "Frost", "Grove", "Haven")


def strange(number: int) -> str:
    """A name that no document knows, unlike any other."""
    digits = [number // 8**place % 8 for place in range(4)]
    return "".join(WORDS[digit] for digit in digits) + "Down"


@pytest.fixture(scope="module")
def stormy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AlertHouse]:
    folder = tmp_path_factory.mktemp("storm")
    with alert_house(folder, STORM_TEXTS, limits=True) as house:
        yield house


@contextmanager
def calls_counted(slack: SlackStandIn) -> Iterator[Counter[str]]:
    """Of each method, and how many of them Slack refused for being too many (`429`)."""
    counted: Counter[str] = Counter()
    wait = slack.api.limits.wait

    def told(method: str, channel: str) -> int:
        seconds = wait(method, channel)
        counted.update([method] if not seconds else ["429"])
        return seconds

    slack.api.limits.wait = told  # type: ignore[method-assign]
    try:
        yield counted
    finally:
        slack.api.limits.wait = wait  # type: ignore[method-assign]


def in_channel(house: AlertHouse) -> list[dict[str, Any]]:
    """What the bot said outside of threads."""
    return [
        one
        for one in house.slack.messages(PLATFORM)
        if one.get("user") == house.slack.bot_user_id
        and one.get("thread_ts", one["ts"]) == one["ts"]
    ]


def pending(house: AlertHouse) -> list[datetime]:
    later = datetime.now(UTC) + timedelta(days=1)
    timers = house.bot.timers.due(later, limit=10_000)
    return [one.due_at for one in timers if one.kind == ANSWER]


def test_of_five_kinds_each_is_answered_once_all_are_counted_and_slack_has_room(
    stormy: AlertHouse,
) -> None:
    names = KNOWN[:5]
    with calls_counted(stormy.slack) as calls:
        sent = {name: [] for name in names}  # type: dict[str, list[str]]
        for number in range(STORM):
            name = names[number % len(names)]
            sent[name].append(stormy.fires(firing(name, f"pod = pod-{number}")))
        stormy.settle()
        stormy.pass_time()
    for name in names:
        assert stormy.counted(name) == [STORM // len(names)]
        told = [ts for ts in sent[name] if stormy.replies(ts)]
        assert len(told) == 1
        assert f"Fired {STORM // len(names)} times" in stormy.course(told[0])
    assert calls["chat.postMessage"] == len(names)
    assert calls["chat.update"] <= STORM // 10  # the more time it takes, the more of them
    assert calls["429"] == 0
    assert in_channel(stormy) == []


def test_of_fifty_six_kinds_each_waits_its_turn_and_people_do_not(stormy: AlertHouse) -> None:
    names = KNOWN[5:]
    before = len(stormy.answers())
    sent = [stormy.fires(firing(name, "pod = a")) for name in names]
    stormy.settle()
    turns = sorted(pending(stormy))
    assert len(turns) + len(stormy.answers()) - before == len(names)
    assert len(turns) >= len(names) - 2 * AT_ONCE
    # Workers that count at the same moment choose the same turn: only the whole is spread for sure.
    assert (turns[-1] - turns[0]).total_seconds() > 5 * SECONDS_EACH
    ts, reply = stormy.desk.ask("who is the owner of the catalogue?", channel=PLATFORM)
    assert answered(reply)
    assert len(pending(stormy)) == len(turns)  # somebody asked, and nobody had to wait
    stormy.slack.api.enforce_rate_limits = False
    while pending(stormy):
        stormy.pass_time()
    stormy.slack.api.enforce_rate_limits = True
    for name, ts in zip(names, sent, strict=True):
        assert name in stormy.reply(ts)
    assert in_channel(stormy) == []


def test_of_kinds_without_a_runbook_a_few_are_told_and_all_are_on_record(
    stormy: AlertHouse,
) -> None:
    before = len(stormy.answers())
    with calls_counted(stormy.slack) as calls:
        sent = [stormy.fires(firing(strange(number), "pod = a")) for number in range(KINDS)]
        stormy.settle()
        stormy.pass_time()
    told = len(stormy.answers()) - before
    # Each counts those before it that are stored by then, which is all but what other workers hold.
    assert MAX_UNKNOWN <= told <= MAX_UNKNOWN + WORKERS
    assert calls["chat.postMessage"] == told
    ids = [f"{PLATFORM}:{ts}" for ts in sent]
    with stormy.bot.engine.connect() as connection:
        query = select(QuestionRow.state, func.count()).where(QuestionRow.id.in_(ids))
        states = dict(connection.execute(query.group_by(QuestionRow.state)).all())  # type: ignore[arg-type]
        named = select(func.count()).where(EpisodeRow.question_id.in_(ids))
        assert connection.scalar(named) == KINDS
    assert states == {"posted": told, "silent": KINDS - told}
    look = stormy.feature("gaps_look").timers["gaps_look"]
    look("platform")
    gaps = stormy.feature("gaps_look")
    assert gaps.home
    shown = str(list(gaps.home(showing_to_all("U0INES"), [stormy.copilot.domain("platform")])))
    assert "Down" in shown
    assert "more: `oncall gaps platform`" in shown


def test_a_storm_outlives_every_kill(slack: SlackStandIn, tmp_path: Path) -> None:
    slack.api.enforce_rate_limits = False
    slack.sockets.ack_timeout = 1.0
    slack.retry_delays = (0.5, 1.0, *[2.0] * 30)  # Slack's own take six minutes
    slack.faults.deliver_times, slack.faults.scatter = 2, 0.5
    furnish(tmp_path, {"platform": TEXTS["platform"]})
    add_channels(slack)
    copilot = Copilot(settings_in(tmp_path, slack))
    assert copilot.ingest("platform").failed == ()
    copilot.index.close()
    names = [row[0] for row in ROWS[:6]]
    kills, each = (10, 60) if THOROUGH else (3, 20)
    sent: list[tuple[str, str]] = []
    choose = random.Random(17)
    more = {"ONCALL_CONFIG_DIR": str(tmp_path / "config")}
    enough = [threading.Event() for _ in range(kills)]

    def storm() -> None:
        order = [name for name in names for _ in range(each)]
        choose.shuffle(order)
        for number, name in enumerate(order):
            if number and number % (len(order) // (kills + 1)) == 0:
                at = number // (len(order) // (kills + 1)) - 1
                if at < kills:
                    enough[at].set()
                    killed[at].wait(30)
            text = firing(name, f"pod = pod-{number}")
            sent.append((name, slack.post_as_app(PLATFORM, text)))

    killed = [threading.Event() for _ in range(kills)]
    thread = threading.Thread(target=storm, daemon=True)
    thread.start()
    for at in range(kills):
        with worker(
            slack, tmp_path / "var", module="tests.bot.features.alerts.worker_process", **more
        ) as process:
            up(process)
            enough[at].wait(30)
            killed[at].set()
            slack.wait_for(lambda: any(answered(one) for one in slack.messages(PLATFORM)))
            kill(process)
    with worker(
        slack, tmp_path / "var", module="tests.bot.features.alerts.worker_process", **more
    ) as process:
        up(process)
        thread.join(60)

        def told(name: str) -> list[dict[str, Any]]:
            roots = {ts for known, ts in sent if known == name}
            return [
                one for one in slack.messages(PLATFORM)
                if one.get("user") == slack.bot_user_id and one.get("thread_ts") in roots
            ]  # fmt: skip

        for name in names:
            slack.wait_for(
                lambda name=name: any(f"Fired {each} times" in words(one) for one in told(name)),
                timeout=240, what=f"{name} is not counted",
            )  # fmt: skip
            assert len(told(name)) == 1
    engine = create_engine(f"sqlite:///{tmp_path / 'var' / 'oncall.db'}")
    with engine.connect() as connection:
        counted = connection.scalar(select(func.count()).select_from(OccurrenceRow))
    engine.dispose()
    assert counted == len(sent) == each * len(names)
