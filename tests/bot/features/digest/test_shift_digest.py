"""A shift begins with what is open: told once, to who may read it, or not at all."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import delete, insert, update

from bot.bus.timers import Clock, TimerRow
from bot.feature import DigestPart
from bot.features.alerts.store import EpisodeRow, OccurrenceRow
from bot.features.digest.service import DIGEST, DigestService
from bot.features.digest.store import DigestRow, Period
from bot.features.digest.views import digest, part_text
from bot.questions.tables import FeedbackRow, HandoffRow, QuestionRow
from config.domain import Domain
from playground.slack.rules.block_rules import problems
from playground.slack.tidewater import Channel
from playground.slack_stand_in import SlackStandIn
from tests.bot.conftest import Desk, eventually, running, words
from tests.bot.fakes import CHANNEL, Agents, answer, domain

PRIVATE = "C0SHIFTS"
DOMAINS: dict[str, Domain] = {}
change = [-0.1]
"""When the shift changed, in hours from now: in each test another time, so another digest."""
NONE = answer("No.", path="no_answer_found", citations=(), confidence=0.1)


@pytest.fixture(scope="module")
def digest_desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    agents, folder = Agents(), tmp_path_factory.mktemp("desk")
    digests_of()
    with (
        SlackStandIn(enforce_rate_limits=False) as slack,
        running(slack, folder, agents, DOMAINS) as bot,
    ):
        slack.workspace.add_channel(
            Channel(
                id=PRIVATE,
                name="shifts",
                kind="group",
                members={"U0YOU", "U0INES", slack.bot_user_id},
            )
        )
        bot.clock.stop()
        yield Desk(slack, bot, agents)


@pytest.fixture
def desk(digest_desk: Desk, tmp_path: Path) -> Desk:
    digest_desk.slack.faults.clear()
    digest_desk.settle()  # what the test before began
    digest_desk.agents.reset(NONE)
    with digest_desk.bot.engine.begin() as connection:
        for table in (TimerRow, DigestRow, QuestionRow, HandoffRow, FeedbackRow):
            connection.execute(delete(table))
    sender(digest_desk).resolver.rotas._entries.clear()
    change[0] -= 1 / 3_600
    shifts(tmp_path, (-9, change[0], "U0DANA"), (change[0], 8, "U0INES"))
    digests_of(tmp_path)
    return digest_desk


def digests_of(path: Path = Path(), **more: Any) -> None:
    values: dict[str, Any] = {
        "limits": {"questions_per_user_per_hour": 10_000},
        "channels": [CHANNEL, PRIVATE],
        "digest": "shift_change",
        "escalation": {"rota": "rota.yaml", "time_zone": "Europe/Berlin"},
    }
    DOMAINS["security"] = domain(**(values | more)).read_from(path / "security.yaml")


def shifts(path: Path, *turns: tuple[float, float, str]) -> None:
    """Write a rota: hours from now on, and who has the shift."""
    lines = [
        f"- {{from: {hours(start):%Y-%m-%dT%H:%M:%SZ}, to: {hours(end):%Y-%m-%dT%H:%M:%SZ}, "
        f"user: {who}}}"
        for start, end, who in turns
    ]
    (path / "rota.yaml").write_text("\n".join(lines), encoding="utf-8")


_NOW = datetime.now(UTC).replace(microsecond=0)


def hours(from_now: float) -> datetime:
    return _NOW + timedelta(seconds=round(from_now * 3_600))


def sender(desk: Desk) -> DigestService:
    made = next(one.timers[DIGEST] for one in desk.bot.features if DIGEST in one.timers)
    found = made.__self__  # type: ignore[attr-defined]
    assert isinstance(found, DigestService)
    return found


def comes_due(desk: Desk, at: float = 0.0) -> Period:
    """The digest of a shift that began so many hours from now; also once more."""
    desk.settle()  # an answer is seen before it is on record
    period = Period("security", hours(at or change[0]))
    for _ in range(2):
        desk.bot.timers.set(DIGEST, period.subject, period.at)
        desk.bot.clock.tick()
        desk.settle()
        desk.bot.timers.set(DIGEST, period.subject, period.at + timedelta(seconds=1))
    return period


def sent(desk: Desk, channel: str = CHANNEL) -> list[dict[str, Any]]:
    """Of this test."""
    kinds = ((m.get("metadata") or {}).get("event_type") for m in desk.slack.messages(channel))
    found = [
        message
        for message, kind in zip(desk.slack.messages(channel), kinds, strict=True)
        if kind == "oncall_digest"
    ]
    known = sender(desk).__dict__.setdefault("_before", {})
    return found[known.get(channel, 0) :]


@pytest.fixture(autouse=True)
def _only_of_this_test(desk: Desk) -> Iterator[None]:
    yield
    known = sender(desk).__dict__.setdefault("_before", {})
    for channel in (CHANNEL, desk.slack.workspace.direct("U0INES").id):
        known[channel] = known.get(channel, 0) + len(sent(desk, channel))


def test_at_a_shift_change_the_channel_hears_what_is_open_once(desk: Desk) -> None:
    desk.ask("where is the <bunker>?")
    desk.ask("Where is the lighthouse")
    desk.ask("where is the lighthouse?")
    desk.agents.reply = answer()
    for _ in range(2):
        desk.ask("how often do we rotate keys?")
    desk.agents.reply = NONE
    ts, reply = desk.ask("who opens the vault?")
    desk.slack.click(CHANNEL, reply["ts"], "ask_human")
    desk.slack.wait_for_reply(CHANNEL, ts, until=lambda m: "What I tried" in words(m))
    desk.settle()
    comes_due(desk)
    (message,) = sent(desk)
    texts = [block["text"]["text"] for block in message["blocks"]]
    assert texts[0].startswith("*Security help: what is open*\n<@U0INES> is on call until ")
    assert texts[0].endswith("(Europe/Berlin).")
    titles = [text.partition("\n")[0] for text in texts[1:]]
    assert titles == ["*Waiting for a human*", "*Without an answer*", "*Asked more than once*"]
    assert "who opens the vault?> · *nobody has taken it* for 1 minute" in texts[1]
    assert "&lt;bunker&gt;?> · no answer found" in texts[2]
    assert "vault" not in texts[2]
    assert "lighthouse?> · no answer found, asked 2 times" in texts[2]
    assert texts[2].count("lighthouse") == 1
    assert texts[3].endswith("rotate keys?> · asked 2 times")


def test_nothing_open_is_not_told(desk: Desk) -> None:
    comes_due(desk)
    assert sent(desk) == []


def test_what_was_not_helpful_is_told_until_it_is_resolved(desk: Desk) -> None:
    desk.agents.reply = answer()
    ts, _ = desk.ask("how often do we rotate keys?")
    desk.bot.feedback.give(f"{CHANNEL}:{ts}", "U0DANA", "unhelpful")
    period = comes_due(desk)
    assert "*Answered, and not helped*" in words(sent(desk)[0])
    desk.bot.records.mark(f"{CHANNEL}:{ts}", resolved_by="U0INES")
    parts = sender(desk).open_questions.parts(
        DOMAINS["security"], period.at - timedelta(days=1), lambda channel: True
    )
    assert list(parts) == []


def test_whoever_comes_on_call_gets_it_directly_where_they_may_read_more(
    desk: Desk, tmp_path: Path
) -> None:
    digests_of(tmp_path, digest={"at": "shift_change", "to": "on_call"})
    desk.ask("where is the bunker?")
    desk.ask("where is the private bunker?", channel=PRIVATE)
    mine = desk.slack.workspace.direct("U0YOU").id
    desk.ask("where is the secret bunker?", channel=mine)
    with desk.bot.engine.begin() as connection:
        connection.execute(update(QuestionRow).values(domain="security"))
    comes_due(desk)
    assert sent(desk) == []
    (message,) = sent(desk, desk.slack.workspace.direct("U0INES").id)
    assert "\nYour shift: until " in message["blocks"][0]["text"]["text"]
    assert "private bunker" in words(message)
    assert "secret" not in words(message)
    assert "1 more in direct messages" in words(message)


def test_the_channel_hears_nothing_of_private_ones(desk: Desk) -> None:
    desk.ask("where is the bunker?")
    desk.ask("where is the private bunker?", channel=PRIVATE)
    comes_due(desk)
    (message,) = sent(desk)
    assert "private bunker" not in words(message)
    assert "1 more in direct messages, or where not everyone here may read" in words(message)


@pytest.mark.parametrize("who", ["nobody@nowhere.example", "S0SECENG", "U0GONE00"])
def test_where_nobody_can_be_told_directly_the_channel_is(
    desk: Desk, tmp_path: Path, who: str
) -> None:
    shifts(tmp_path, (-9, change[0], "U0DANA"), (change[0], 8, who))
    digests_of(tmp_path, digest={"at": "shift_change", "to": "on_call"})
    desk.ask("where is the bunker?")
    comes_due(desk)
    (message,) = sent(desk)
    knows = "somebody whom Slack doesn't know, until" in words(message)
    assert knows == (who == "nobody@nowhere.example")


def test_refused_by_slack_it_goes_to_the_channel(desk: Desk, tmp_path: Path) -> None:
    digests_of(tmp_path, digest={"at": "shift_change", "to": "on_call"})
    desk.ask("where is the bunker?")
    desk.slack.faults.add("chat.postMessage", error="messages_tab_disabled")
    comes_due(desk)
    assert len(sent(desk)) == 1


def test_of_a_shift_that_was_moved_nothing_is_sent(desk: Desk, tmp_path: Path) -> None:
    desk.ask("where is the bunker?")
    shifts(tmp_path, (-9, 1, "U0DANA"), (1, 8, "U0INES"))
    comes_due(desk)
    assert sent(desk) == []


def test_at_a_gap_nothing_is_sent_and_then_all_since(desk: Desk, tmp_path: Path) -> None:
    shifts(tmp_path, (-30, -20, "U0DANA"), (change[0], 8, "U0INES"))
    with desk.bot.engine.begin() as connection:
        begun = hours(-30)
        known = {"domain": "security", "period": "earlier", "ts": "1.0"}
        connection.execute(insert(DigestRow).values(**known, at=begun.replace(tzinfo=None)))
    desk.ask("where is the bunker?")
    long_ago = (datetime.now(UTC) - timedelta(hours=25)).replace(tzinfo=None)
    with desk.bot.engine.begin() as connection:
        connection.execute(update(QuestionRow).values(asked_at=long_ago))
    comes_due(desk, -20)
    assert sent(desk) == []
    comes_due(desk)
    assert len(sent(desk)) == 1


def test_what_the_last_digest_told_is_not_told_again_unless_it_waits(desk: Desk) -> None:
    ts, reply = desk.ask("who opens the vault?")
    desk.slack.click(CHANNEL, reply["ts"], "ask_human")
    desk.slack.wait_for_reply(CHANNEL, ts, until=lambda m: "What I tried" in words(m))
    desk.ask("where is the bunker?")
    with desk.bot.engine.begin() as connection:
        known = {"domain": "security", "period": "earlier", "ts": "1.0"}
        connection.execute(insert(DigestRow).values(**known, at=hours(-1).replace(tzinfo=None)))
        before = hours(-2).replace(tzinfo=None)
        connection.execute(update(QuestionRow).values(asked_at=before))
    comes_due(desk)
    (message,) = sent(desk)
    assert "vault" in words(message)
    assert "bunker" not in words(message)


def test_a_lost_reply_leads_to_no_second_digest(desk: Desk) -> None:
    desk.ask("where is the bunker?")
    desk.slack.faults.add("chat.postMessage", drop_response=True)
    comes_due(desk)
    assert len(sent(desk)) == 1


def test_posted_and_not_recorded_it_is_found_also_with_a_person(desk: Desk, tmp_path: Path) -> None:
    digests_of(tmp_path, digest={"at": "shift_change", "to": "on_call"})
    desk.ask("where is the bunker?")
    period = comes_due(desk)
    direct = desk.slack.workspace.direct("U0INES").id
    assert len(sent(desk, direct)) == 1
    with desk.bot.engine.begin() as connection:
        connection.execute(update(DigestRow).values(ts=""))  # as a kill before it leaves it
    sender(desk).send(period.subject)
    assert len(sent(desk, direct)) == 1
    assert sent(desk) == []


def test_an_unreadable_rota_still_has_its_digest(desk: Desk, tmp_path: Path) -> None:
    desk.ask("where is the bunker?")
    (tmp_path / "rota.yaml").write_text("[")
    comes_due(desk)
    assert "The rota can't be read, so I can't say who is on call." in words(sent(desk)[0])


def test_what_other_features_say_is_in_it_and_one_that_fails_keeps_nothing_back(
    desk: Desk,
) -> None:
    made = sender(desk)

    def fails(domain: Domain, since: datetime, showing: object) -> list[DigestPart]:
        raise ValueError("no such table")

    def says(domain: Domain, since: datetime, showing: object) -> list[DigestPart]:
        assert since.tzinfo
        return [
            DigestPart(title="Half done", lines=["rotate keys · 2 of 5"]),
            DigestPart(title="Empty", lines=[]),
        ]

    object.__setattr__(made, "parts", [fails, says])
    try:
        comes_due(desk)
    finally:
        object.__setattr__(made, "parts", [])
    (message,) = sent(desk)
    assert "*Half done*\\n• rotate keys · 2 of 5" in words(message)
    assert "Empty" not in words(message)


def test_the_next_digest_is_planned_and_planned_once(desk: Desk, tmp_path: Path) -> None:
    shifts(tmp_path, (-1, 2, "U0DANA"), (2, 8, "U0INES"))
    for _ in range(2):
        sender(desk)._plan_each()
    period = Period("security", hours(2))
    (timer,) = desk.bot.timers.due(hours(300))
    assert (timer.kind, timer.subject, timer.due_at) == (DIGEST, period.subject, period.at)


def test_a_domain_that_is_off_or_gone_sends_nothing(desk: Desk, tmp_path: Path) -> None:
    desk.ask("where is the bunker?")
    digests_of(tmp_path, digest=None)
    comes_due(desk)
    desk.bot.inbox.put(
        "digest-of-nobody", {"timer": {"kind": DIGEST, "subject": "gone@20261102T090000"}}
    )
    desk.settle()
    assert sent(desk) == []


def test_a_rota_without_a_server_holds_up_nothing_else(desk: Desk, tmp_path: Path) -> None:
    digests_of(tmp_path, escalation={"rota": "http://127.0.0.1:9/rota.ics"})
    plan = sender(desk).plan
    plan()
    plan()
    eventually(lambda: not sender(desk)._planning.locked())
    assert desk.bot.timers.due(hours(900)) == []


def test_a_long_part_says_how_many_more_and_a_long_digest_fits_slack() -> None:
    lines = [f"line {number}" for number in range(17)]
    told = part_text(DigestPart(title="Open", lines=lines), 2_900)
    assert told.splitlines() == ["*Open*", *(f"• {line}" for line in lines[:10]), "and 7 more"]
    wide = [f"<https://wiki.example.com/{'w' * 200}|{number} {'x' * 150}>" for number in range(12)]
    parts = [DigestPart(title=f"Part {number}", lines=wide) for number in range(60)]
    made = digest(domain(), parts, None, to=CHANNEL)
    assert problems(made.blocks) == []
    shown = [block["text"]["text"] for block in made.blocks]
    assert sum(map(len, shown)) < 12_000
    assert all(text.count("<") == text.count(">") for text in shown)
    few = digest(domain(), parts[:3], None, to=CHANNEL)
    assert all(len(block["text"]["text"]) <= 3_000 for block in few.blocks)
    assert "\nand 5 more" in few.blocks[1]["text"]["text"]


def test_lines_of_other_features_from_private_channels_are_counted_and_not_told(
    desk: Desk,
) -> None:
    made = sender(desk)

    def says(domain: Domain, since: datetime, showing: object) -> list[DigestPart]:
        lines = ["an open one", "a private one", "another private one"]
        return [
            DigestPart(title="Half done", lines=lines, places=[CHANNEL, PRIVATE, "D0SECRET"]),
            DigestPart(title="Alerts", lines=["quiet"], places=[PRIVATE]),
        ]

    object.__setattr__(made, "parts", [says])
    try:
        comes_due(desk)
    finally:
        object.__setattr__(made, "parts", [])
    (message,) = sent(desk)
    assert "an open one" in words(message)
    assert "private one" not in words(message)
    assert "quiet" not in words(message)
    assert words(message).count("in direct messages, or where not everyone here may read") == 2


def test_what_is_hidden_whole_is_no_digest(desk: Desk) -> None:
    made = sender(desk)

    def says(domain: Domain, since: datetime, showing: object) -> list[DigestPart]:
        return [DigestPart(title="Alerts", lines=[], places=[])]

    object.__setattr__(made, "parts", [says])
    try:
        comes_due(desk)
    finally:
        object.__setattr__(made, "parts", [])
    assert sent(desk) == []


def test_checklists_and_alerts_of_a_private_channel_are_not_told_in_another(desk: Desk) -> None:
    begun = datetime.now(UTC).replace(tzinfo=None)
    with desk.bot.engine.begin() as connection:
        for number, channel in enumerate((CHANNEL, PRIVATE)):
            name = ("OpenAlert", "PrivateAlert")[number]
            episode = {
                "id": f"kind{number}-1", "kind": f"kind{number}", "number": 1, "named": name,
                "name": name, "domain": "security", "channel": channel, "outcome": "none",
                "elsewhere": "", "question_id": f"{channel}:1", "began_at": begun, "last_at": begun,
            }  # fmt: skip
            connection.execute(insert(EpisodeRow).values(**episode))
            occurrence = {
                "id": f"seen{number}", "episode": episode["id"], "status": "firing", "at": begun,
                "places": "[]", "domain": "security", "question_id": f"{channel}:1",
            }  # fmt: skip
            connection.execute(insert(OccurrenceRow).values(**occurrence))
    made = sender(desk)
    every = [one.digest for one in desk.bot.features if one.digest]
    object.__setattr__(made, "parts", every)
    try:
        comes_due(desk)
    finally:
        object.__setattr__(made, "parts", [])
        with desk.bot.engine.begin() as connection:
            connection.execute(delete(OccurrenceRow))
            connection.execute(delete(EpisodeRow))
    (message,) = sent(desk)
    assert "OpenAlert" in words(message)
    assert "PrivateAlert" not in words(message)


def test_where_guests_may_ask_the_channel_hears_of_no_other(desk: Desk, tmp_path: Path) -> None:
    digests_of(tmp_path, channels=[CHANNEL, "C0PLATFORM"], access={"external": True})
    desk.ask("where is the bunker?")
    desk.ask("where is the inner bunker?", channel="C0PLATFORM")
    comes_due(desk)
    (message,) = sent(desk)
    assert "inner" not in words(message)
    assert "1 more in direct messages, or where not everyone here may read" in words(message)


def test_a_channel_shared_with_another_organisation_hears_of_no_other(
    desk: Desk, tmp_path: Path
) -> None:
    digests_of(tmp_path, channels=[CHANNEL, "C0PLATFORM"])
    desk.ask("where is the outpost?")
    desk.ask("where is the inner outpost?", channel="C0PLATFORM")
    shared = desk.slack.workspace.channel(CHANNEL)
    shared.shared = True
    desk.bot.gate.channels._flags._entries.clear()
    try:
        comes_due(desk)
    finally:
        shared.shared = False
        desk.bot.gate.channels._flags._entries.clear()
    (message,) = sent(desk)
    assert "where is the outpost" in words(message)
    assert "inner" not in words(message)
    assert "1 more in direct messages, or where not everyone here may read" in words(message)


def test_asked_again_counts_what_the_reader_may_see(desk: Desk) -> None:
    desk.ask("where is the lighthouse?")
    desk.ask("where is the lighthouse?")
    desk.ask("Where is the lighthouse", channel=PRIVATE)
    desk.ask("where is the harbour?")
    desk.ask("where is the harbour?", channel=PRIVATE)
    comes_due(desk)
    (message,) = sent(desk)
    assert "asked 2 times" in words(message)
    assert "asked 3 times" not in words(message)
    assert words(message).count("asked 2 times") == 1


def test_a_question_that_was_taken_back_is_told_to_nobody(desk: Desk) -> None:
    desk.agents.reply = answer()
    ts, _ = desk.ask("how often do we rotate keys?")
    desk.bot.feedback.give(f"{CHANNEL}:{ts}", "U0DANA", "unhelpful")
    asked, reply = desk.ask("who opens the vault?")
    desk.slack.click(CHANNEL, reply["ts"], "ask_human")
    desk.slack.wait_for_reply(CHANNEL, asked, until=lambda m: "What I tried" in words(m))
    desk.settle()
    for one in (ts, asked):
        desk.slack.delete_message(CHANNEL, one)
    desk.settle()
    comes_due(desk)
    assert sent(desk) == []


def test_a_change_while_the_bot_was_down_is_told_when_it_is_back(
    desk: Desk, tmp_path: Path
) -> None:
    """Planned before, an hour late, and with what was asked meanwhile."""
    shifts(tmp_path, (-9, -1, "U0DANA"), (-1, 8, "U0INES"))
    desk.ask("where is the bunker?")
    comes_due(desk, -1)
    (message,) = sent(desk)
    assert "<@U0INES> is on call until" in words(message)
    assert "bunker" in words(message)


def test_two_domains_of_one_rota_each_tell_of_their_own(desk: Desk, tmp_path: Path) -> None:
    shared = domain(
        "platform", "C0PLATFORM", title="Platform help", digest={"at": "shift_change",
        "to": "on_call"}, escalation={"rota": "rota.yaml"},
    )  # fmt: skip
    digests_of(tmp_path, digest={"at": "shift_change", "to": "on_call"})
    DOMAINS["platform"] = shared.read_from(tmp_path / "platform.yaml")
    try:
        desk.ask("where is the bunker?")
        desk.ask("where is the crane?", channel="C0PLATFORM")
        comes_due(desk)
        period = Period("platform", hours(change[0]))
        desk.bot.timers.set(DIGEST, period.subject, period.at)
        desk.bot.clock.tick()
        desk.settle()
    finally:
        del DOMAINS["platform"]
    first, second = sent(desk, desk.slack.workspace.direct("U0INES").id)
    assert "Security help: what is open" in words(first)
    assert "bunker" in words(first)
    assert "crane" not in words(first)
    assert "Platform help: what is open" in words(second)
    assert "crane" in words(second)
    assert "bunker" not in words(second)


def test_two_workers_at_once_send_one_digest(desk: Desk) -> None:
    desk.ask("where is the bunker?")
    period = Period("security", hours(change[0]))
    desk.bot.timers.set(DIGEST, period.subject, period.at)
    workers = [Clock(desk.bot.timers, put=desk.bot.put) for _ in range(4)]
    with ThreadPoolExecutor(len(workers)) as pool:
        list(pool.map(Clock.tick, workers))
    desk.settle()
    assert len(sent(desk)) == 1
