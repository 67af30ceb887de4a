"""An alert is answered once for each kind; what follows is counted in its thread."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from bot.features.alerts.history import AlertCounts
from bot.features.alerts.replies import ANSWER, AlertReplies
from bot.slack.events import IncomingMessage, read
from config.errors import IndexUnavailable
from playground.slack.rules.block_rules import problems
from tests.bot.conftest import answered, words
from tests.bot.fakes import showing_to_all
from tests.bot.features.alerts.office import (
    CLOSED,
    PLATFORM,
    PRIVACY,
    SECURITY,
    AlertHouse,
    alert_house,
    longer_ago,
)


@pytest.fixture(scope="module")
def open_house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AlertHouse]:
    with alert_house(tmp_path_factory.mktemp("alerts")) as found:
        yield found


@pytest.fixture
def house(open_house: AlertHouse) -> AlertHouse:
    open_house.slack.faults.clear()
    open_house.settle()  # what the test before began
    longer_ago(open_house.bot.engine, timedelta(days=30))  # what other tests left firing
    return open_house


def firing(name: str, *labels: str, status: str = "FIRING:1") -> str:
    """As Alertmanager writes it."""
    told = "\n".join(f" - {one}" for one in labels)
    return f"[{status}] {name}\nLabels:\n - alertname = {name}\n{told}".strip()


def test_the_first_is_answered_by_its_row_and_repeats_are_counted_there(house: AlertHouse) -> None:
    first = house.fires(firing("CartErrors", "pod = cart-1"))
    house.settle()
    again = [house.fires(firing("CartErrors", f"pod = cart-{n}")) for n in (1, 2, 3)]
    house.pass_time()
    told = house.reply(first)
    for part in ("CartErrors", "SEV2", "Roll back the latest release", "15 minutes: duty manager",
                 "Platform Reliability (PRE)", "Alert Catalogue", "Ask a human"):  # fmt: skip
        assert part in told
    assert house.course(first).startswith(":rotating_light: *Fired 4 times*, last <!date^")
    assert "on pod cart-1, cart-2, cart-3" in house.course(first)
    assert all(house.replies(ts) == [] for ts in again)
    assert house.counted("CartErrors") == [4]
    (message,) = house.replies(first)
    assert problems(message["blocks"]) == []


def test_steps_of_a_runbook_are_offered_as_a_checklist(house: AlertHouse) -> None:
    ts = house.fires(firing("TillOffline", "region = eu"))
    house.settle()
    assert "Fence the node" in house.reply(ts)
    assert "Start checklist" in house.reply(ts)


def test_resolved_says_so_and_after_how_long(house: AlertHouse) -> None:
    first = house.fires(firing("CartLatency", "pod = a"))
    house.settle()
    longer_ago(house.bot.engine, timedelta(minutes=17))
    house.fires(firing("CartLatency", "pod = a", status="RESOLVED"))
    house.pass_time()
    said = house.course(first)
    assert re.match(r":white_check_mark: \*Resolved\* <!date\^\d+\^", said), said
    assert said.endswith("after 17 min; fired once")


def test_it_is_over_when_the_last_pod_is(house: AlertHouse) -> None:
    first = house.fires(firing("ScaleDrift", "pod = a"))
    house.settle()
    house.fires(firing("ScaleDrift", "pod = b"))
    house.fires(firing("ScaleDrift", "pod = a", status="RESOLVED"))
    house.pass_time()
    assert ":rotating_light:" in house.course(first)
    assert "on pod b; resolved on pod a" in house.course(first)
    house.fires(firing("ScaleDrift", "pod = b", status="RESOLVED"))
    house.pass_time()
    assert "Resolved" in house.course(first)


def test_an_end_that_is_heard_of_before_its_beginning_is_not_lost(house: AlertHouse) -> None:
    """While the bot was away both were stored, and are taken in any order."""
    begun = datetime.now(UTC).timestamp()
    ended, first = f"{begun + 300:.6f}", f"{begun:.6f}"
    messages = [
        {"user": "U0BEACON", "bot_id": "B0BEACON", "type": "message", "channel": PLATFORM,
         "channel_type": "channel", "ts": ts, "text": text}
        for ts, text in (
            (first, firing("ShelfEmpty", "pod = a")),
            (ended, firing("ShelfEmpty", "pod = a", status="RESOLVED")),
        )
    ]  # fmt: skip
    take = house.feature("alert_course").on_message
    assert take
    for number in (1, 0):
        message = read(messages[number], bot_user=house.bot.identity.user, team="T0TIDEWATER")
        assert isinstance(message, IncomingMessage)
        assert take(f"Ev-shelf-{number + 1}", message, messages[number])
    (episode,) = _episodes(house, f"{PLATFORM}:{first}")
    assert episode.resolved_at is not None
    assert house.counted("ShelfEmpty") == [1]


def _episodes(house: AlertHouse, question: str) -> list[Any]:
    from bot.features.alerts.store import EpisodeStore

    return EpisodeStore(house.bot.engine).of_question(question)


def bar(text: str, colour: str) -> dict[str, Any]:
    return {"text": text, "color": colour, "fallback": text}


def test_resolved_by_the_colour_of_a_bar_alone(house: AlertHouse) -> None:
    first = house.fires(attachments=[bar("BasketFull service=basket", "#E01E5A")])
    house.settle()
    assert "offer a quota review" in house.reply(first)
    house.fires(attachments=[bar("BasketFull service=basket", "#2EB886")])
    house.pass_time()
    assert "Resolved" in house.course(first)
    assert house.counted("BasketFull") == [1]


def test_an_alert_that_its_bot_rewrites_is_over_when_that_was_written(house: AlertHouse) -> None:
    ts = house.fires(attachments=[bar("[FIRING:1] BasketStuck", "danger")])
    house.settle()
    longer_ago(house.bot.engine, timedelta(hours=2))
    acknowledged = bar("[FIRING:1] BasketStuck\nAcknowledged by Ines", "warning")
    house.rewrites(ts, attachments=[acknowledged])
    house.pass_time()
    assert house.course(ts) == ""
    house.rewrites(ts, attachments=[bar("[RESOLVED] BasketStuck", "good")])
    house.pass_time()
    assert "after 2 h; fired once" in house.course(ts)
    assert house.counted("BasketStuck") == [1]
    assert len(house.replies(ts)) == 1


@pytest.mark.parametrize("change", ["colour", "words"])
def test_rewritten_to_no_more_than_that_it_is_over(house: AlertHouse, change: str) -> None:
    name = {"colour": "DoorOpen", "words": "LampOut"}[change]
    ts = house.fires(attachments=[bar(f"{name} service=hall", "danger")])
    house.settle()
    over = {
        "colour": [bar(f"{name} service=hall", "good")],
        "words": [bar("Resolved by @ines after a restart", "#dddddd")],
    }[change]
    house.rewrites(ts, attachments=over)
    house.pass_time()
    assert "Resolved" in house.course(ts)
    assert len(house.replies(ts)) == 1


def test_rewritten_to_tell_of_one_more_it_is_answered_anew_in_the_same_place(
    house: AlertHouse,
) -> None:
    one, more = firing("SpireLoose", "pod = a"), firing("RoofLeak", "pod = b")
    ts = house.fires(one)
    house.settle()
    assert "No runbook for `SpireLoose`" in house.reply(ts)
    house.rewrites(ts, text=f"{one}\n{more}")
    house.pass_time()
    assert "No runbook for `SpireLoose`" in house.reply(ts)
    assert "Shift the zone" in house.reply(ts)
    house.rewrites(ts, text=f"{one}\n{more}\nAcknowledged")
    house.pass_time()
    assert "Shift the zone" in house.reply(ts)


def test_turned_over_and_back_by_its_bot_it_fires_again_in_the_same_place(
    house: AlertHouse,
) -> None:
    ts = house.fires(attachments=[bar("[FIRING:1] GateDown", "danger")])
    house.settle()
    for text, color in (("[RESOLVED] GateDown", "good"), ("[FIRING:1] GateDown", "danger")):
        house.rewrites(ts, attachments=[bar(text, color)])
        house.settle()
    house.pass_time()
    assert "Fired 2 times" in house.course(ts)
    house.rewrites(ts, attachments=[bar("[RESOLVED] GateDown", "good")])
    house.pass_time()
    assert "Resolved" in house.course(ts)
    assert len(house.replies(ts)) == 1


def test_two_alarms_of_one_product_are_two_kinds(house: AlertHouse) -> None:
    def alarm(name: str) -> str:
        ts = house.fires(attachments=[bar(f"CloudWatch Alarm | {name} | eu-west-1", "danger")])
        house.settle()
        return ts

    assert "No runbook for `rds-cpu-high`" in house.reply(alarm("rds-cpu-high"))
    assert "No runbook for `rds-disk-full`" in house.reply(alarm("rds-disk-full"))
    assert house.replies(alarm("rds-disk-full")) == []
    assert house.counted("rds-disk-full") == [2]


def test_two_alerts_that_name_one_runbook_page_are_two_kinds(house: AlertHouse) -> None:
    for title in ("Drawer is ajar", "Scanner is blind"):
        text = "Runbook: https://wiki.example/runbooks/TillOffline"
        ts = house.fires(attachments=[{"title": title, "text": text, "color": "danger"}])
        house.settle()
        assert "Fence the node" in house.reply(ts)


def test_two_rows_that_an_amount_decides_are_two_kinds(house: AlertHouse) -> None:
    for percent, step in ((60, "Close the doors"), (12, "Open a second till")):
        ts = house.fires(firing("TillQueue", f"value = {percent} %"))
        house.settle()
        assert step in house.reply(ts)


def test_a_runbook_that_is_deleted_before_the_answer_is_not_shown(
    house: AlertHouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    till = house.folder / "config/domains/platform/1.md"
    text = till.read_text("utf-8")
    with monkeypatch.context() as patch:
        patch.setattr(AlertReplies, "put", lambda self, question: None)
        ts = house.fires(firing("TillOffline", "region = eu"))
        house.settle()
    till.unlink()
    house.copilot.ingest("platform")
    try:
        house.feature(ANSWER).timers[ANSWER](f"{PLATFORM}:{ts}")
        house.settle()
        assert "No runbook for `TillOffline`" in house.reply(ts)
        assert "Fence the node" not in house.reply(ts)
    finally:
        till.write_text(text, "utf-8")
        house.copilot.ingest("platform")


def test_an_unfurled_link_changes_nothing(house: AlertHouse) -> None:
    ts = house.fires(firing("RoofLeak"))
    house.settle()
    preview = {"from_url": "https://grafana.example/d", "text": "All good", "color": "good"}
    house.rewrites(ts, attachments=[preview])
    house.pass_time()
    assert house.course(ts) == ""
    assert len(house.replies(ts)) == 1


def test_fired_again_soon_goes_on_in_its_thread_and_much_later_begins_another(
    house: AlertHouse,
) -> None:
    first = house.fires(firing("TillSlow", "pod = a"))
    house.settle()
    house.fires(firing("TillSlow", "pod = a", status="RESOLVED"))
    house.settle()
    longer_ago(house.bot.engine, timedelta(minutes=20))
    soon = house.fires(firing("TillSlow", "pod = a"))
    house.pass_time()
    assert "Fired 2 times" in house.course(first)
    assert house.replies(soon) == []
    house.fires(firing("TillSlow", "pod = a", status="RESOLVED"))
    house.settle()
    longer_ago(house.bot.engine, timedelta(hours=2))
    late = house.fires(firing("TillSlow", "pod = a"))
    house.pass_time()
    assert "Resolved" in house.course(first)
    assert "Pause node rotation" in house.reply(late)
    assert house.counted("TillSlow") == [2, 1]


def test_a_deleted_alert_takes_its_thread_with_it_and_the_next_is_answered(
    house: AlertHouse,
) -> None:
    ts = house.fires(firing("QueueJam", "pod = a"))
    house.settle()
    house.slack.delete_message(PLATFORM, ts)
    house.settle()
    assert house.replies(ts) == []
    again = house.fires(firing("QueueJam", "pod = a"))
    house.settle()
    assert "Drain the oldest runner" in house.reply(again)


def test_in_a_thread_a_known_kind_is_counted_and_a_new_one_answered_there(
    house: AlertHouse,
) -> None:
    root = house.fires(firing("GateDown", "pod = a"))
    house.settle()
    house.fires(firing("GateDown", "pod = b"), thread_ts=root)
    house.fires(firing("CartDisk95", "pod = a"), thread_ts=root)
    house.fires(firing("GateDown", status="RESOLVED"), thread_ts=root)
    house.pass_time()
    told = [words(one) for one in house.replies(root)]
    assert len(told) == 2
    assert "Extend the volume by 25% now" in told[1]
    assert "Resolved" in told[0]
    assert "fired 2 times" in told[0]


BOTS: dict[str, dict[str, Any]] = {
    "a bot that isn't listed": {"user": "U0OTHER", "bot_id": "B0OTHER"},
    "a person": {"user": "U0DANA"},
}


@pytest.mark.parametrize("who", BOTS)
def test_others_are_not_answered(house: AlertHouse, who: str) -> None:
    posted = house.slack.workspace.post(
        PLATFORM, {**BOTS[who], "text": firing("TillClosed", "pod = a")}
    )
    house.pass_time()
    assert house.replies(posted["ts"]) == []
    assert house.counted("TillClosed") == []


@pytest.mark.parametrize(
    "bot",
    [
        {"bot_id": "B0CRON", "username": "cron", "subtype": "bot_message"},
        {"bot_id": "B0NOBODY", "app_id": "A0FLOW", "subtype": "bot_message"},
    ],
    ids=["by a name alone", "a workflow"],
)
def test_a_bot_without_a_user_is_answered(house: AlertHouse, bot: dict[str, Any]) -> None:
    text = firing("TillClosed", "pod = a")
    ts = house.slack.workspace.post(PLATFORM, {**bot, "text": text})["ts"]
    house.settle()
    assert "Declare at once; hold all deploys" in house.reply(ts)


MALFORMED: dict[str, dict[str, Any]] = {
    "nothing": {"text": ""},
    "only a colour": {"attachments": [{"color": "danger"}]},
    "nulls": {
        "attachments": [{"title": None, "text": None, "fields": None, "color": None}],
    },
    "fields without words": {
        "text": "[FIRING:1]", "attachments": [{"fields": [{"title": None, "value": None}, {}]}]
    },
    "a colour that is none": {"attachments": [bar("[FIRING:1]", "ultraviolet")]},
    "bytes": {"text": "[FIRING:1] \x00\x01\x02\x03\x04"},
    "a megabyte": {"text": "[FIRING:1] " + "x" * 1_000_000},
    "half of JSON": {"text": '{"alerts": [{"labels": {"alertname": "Cart'},
    "a name of markup": {"text": firing("<!channel> *_~`<@U0DANA>`")},
    "labels without end": {"text": firing("BackFire", *(f"l{n} = v{n}" for n in range(5_000)))},
}  # fmt: skip


@pytest.mark.parametrize("form", MALFORMED)
def test_a_malformed_alert_stops_nothing_and_pings_nobody(house: AlertHouse, form: str) -> None:
    fields = {"user": "U0BEACON", "bot_id": "B0BEACON", "subtype": "bot_message"}
    ts = house.slack.workspace.post(PLATFORM, {**fields, **MALFORMED[form]})["ts"]
    house.pass_time()
    told = house.replies(ts)
    assert len(told) <= 1
    assert not any("<!channel>" in words(one) or "<@U0DANA>" in words(one) for one in told)
    assert not house.slack.lost
    after = house.fires(firing(f"AfterMalformed{list(MALFORMED).index(form)}x"))
    house.settle()
    assert house.record(after)


def test_an_alert_of_another_domain_names_its_channel_and_nothing_of_its_documents(
    house: AlertHouse,
) -> None:
    ts = house.fires(firing("KeyOverdue", "class = RC"))
    house.settle()
    assert "No runbook for" in house.reply(ts)
    assert house.course(ts) == f"There is a runbook for `KeyOverdue` in <#{SECURITY}>"
    assert "Create the P record" not in house.reply(ts)


@pytest.mark.parametrize("name", ["VaultSealed", "ErasureLate"])
def test_a_private_channel_and_documents_of_few_are_not_even_named(
    house: AlertHouse, name: str
) -> None:
    ts = house.fires(firing(name))
    house.settle()
    assert "No runbook for" in house.reply(ts)
    assert house.course(ts) == ""
    assert CLOSED not in house.reply(ts)
    assert PRIVACY not in house.reply(ts)


def test_a_private_channel_s_own_alerts_are_answered_there(house: AlertHouse) -> None:
    ts = house.fires(firing("VaultSealed"), channel=CLOSED)
    house.settle()
    assert "Create the P record" in house.reply(ts, CLOSED)


def test_where_each_asker_has_their_own_documents_a_bot_has_those_of_everyone(
    house: AlertHouse,
) -> None:
    ts = house.fires(firing("ErasureLate"), channel=PRIVACY)
    house.settle()
    told = house.reply(ts, PRIVACY)
    assert "No runbook for" in told
    assert "Create the P record" not in told


@pytest.mark.parametrize("channel", [PLATFORM, SECURITY, PRIVACY])
def test_alerts_are_answered_however_talkative_a_channel_is_else(
    house: AlertHouse, channel: str
) -> None:
    ts = house.fires(firing(f"Unheard{channel[-3:].title()}"), channel=channel)
    house.settle()
    assert "No runbook for" in house.reply(ts, channel)


def test_without_a_runbook_it_is_said_once_and_is_one_gap_for_each_kind(house: AlertHouse) -> None:
    names = ("MoonEclipseNear", "MoonEclipseFar")  # as near in words as two kinds can be
    first = {name: house.fires(firing(name, "severity = critical")) for name in names}
    house.settle()
    for number in range(3):
        for name in names:
            house.fires(firing(name, "severity = critical", f"pod = p{number}"))
    house.pass_time()
    for name, ts in first.items():
        assert f"No runbook for `{name}` in Platform help." in house.reply(ts)
        assert "Fired 4 times" in house.course(ts)
    mine = _gaps(house, "MoonEclipse")
    assert [(one["times"], one["state"]) for one in mine] == [(1, "open"), (1, "open")]
    gaps = house.feature("gaps_look")
    assert gaps.home
    shown = str(list(gaps.home(showing_to_all("U0INES"), [house.copilot.domain("platform")])))
    assert "more: `oncall gaps platform`" in shown or "MoonEclipseNear" in shown


def _gaps(house: AlertHouse, words: str) -> list[dict[str, Any]]:
    """The gaps of alerts with these words."""
    house.feature("gaps_look").timers["gaps_look"]("platform")
    from tests.bot.features.gaps.test_gaps_end_to_end import gaps_of_the_house

    listed = json.loads(gaps_of_the_house(house, "platform", "--json").stdout)  # type: ignore[arg-type]  # a folder is enough
    return [one for one in listed if words in one["questions"][0]["text"]]


def test_with_no_more_than_a_near_entry_it_is_without_a_runbook(house: AlertHouse) -> None:
    ts = house.fires(attachments=[bar("Long queues of parcels", "danger")])
    house.settle()
    assert "No runbook for `Long queues of parcels` in Platform help. Perhaps: " in house.reply(ts)
    assert "TillQueue" in house.reply(ts)
    (episode,) = _episodes(house, f"{PLATFORM}:{ts}")
    missing = AlertCounts(house.bot.engine).loudest(
        "platform", episode.began_at, without_runbook=True
    )
    assert ("Long queues of parcels", PLATFORM, 1) in missing
    (gap,) = _gaps(house, "queues of parcels")
    assert gap["state"] == "open"


def test_the_shift_digest_names_alerts_without_a_runbook_once(house: AlertHouse) -> None:
    house.fires(firing("NightJar"))
    house.fires(firing("NightJar"))
    house.pass_time()
    parts = house.feature("alert_course").digest
    assert parts
    since = datetime.now(UTC) - timedelta(hours=1)
    platform, showing = house.copilot.domain("platform"), showing_to_all()
    told = {one.title: one.lines for one in parts(platform, since, showing)}
    assert "`NightJar` fired 2 times" in told["Alerts without a runbook"]
    from bot.features.digest.open_questions import OpenQuestions
    from bot.features.digest.store import DigestStore

    engine = house.bot.engine
    questions = OpenQuestions(
        records=house.bot.records,
        store=DigestStore(engine),
        waiting=lambda domain, within: [],
        alerts=AlertCounts(engine).question_ids,
        team_url="",
    )
    others = questions.parts(house.copilot.domain("platform"), since, lambda channel: True)
    assert "NightJar" not in str(list(others))


def test_while_the_documents_are_away_alerts_wait_and_none_is_lost(
    house: AlertHouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(name: str) -> Any:
        raise IndexUnavailable(f"{name} can't be opened", remedy="mount the disk")

    longer_ago(house.bot.engine, timedelta(days=300))
    monkeypatch.setattr(house.copilot.access, "_snapshot", away)
    first = house.fires(firing("CartErrors", "pod = w1"))
    house.settle()
    again = house.fires(firing("CartErrors", "pod = w2"))
    unknown = house.fires(firing("StarFall"))
    house.pass_time()
    assert house.answers_to(first, again, unknown) == 0
    monkeypatch.undo()
    house.pass_time()
    house.pass_time()
    assert house.answers_to(first, again) == 1
    assert "No runbook for" in house.reply(unknown)
    assert house.counted("CartErrors")[-1] == 2
    states = {record.state for ts in (first, again) if (record := house.record(ts))}
    assert states == {"posted", "silent"}


def test_a_person_s_paste_is_answered_from_the_same_row_in_a_channel_and_directly(
    house: AlertHouse,
) -> None:
    ts, reply = house.desk.ask(firing("CartErrors", "pod = a"), channel=PLATFORM, user="U0DANA")
    assert "Roll back the latest release" in words(reply)
    direct = house.slack.workspace.direct("U0DANA").id
    ts = house.slack.post_as_user(direct, firing("KeyOverdue", "class = RC"), user="U0DANA")
    reply = house.slack.wait_for_reply(direct, ts, until=answered)
    assert "Create the P record by class" in words(reply)
    assert "Security help" in words(reply)
    ts = house.slack.post_as_user(direct, firing("StarDust"), user="U0DANA")
    reply = house.slack.wait_for_reply(direct, ts, until=answered)
    assert "No runbook for `StarDust` in " in words(reply)
    # Of what they may not read they hear nothing.
    mine = house.slack.workspace.direct("U0PRIYA").id
    ts = house.slack.post_as_user(mine, firing("VaultSealed"), user="U0PRIYA")
    reply = house.slack.wait_for_reply(mine, ts, until=answered)
    assert "No runbook for `VaultSealed`" in words(reply)
    assert "Vault help" not in words(reply)
    # Where two have a row, whoever asks says which.
    ts = house.slack.post_as_user(direct, firing("GateDown"), user="U0DANA")
    told = words(house.slack.wait_for_reply(direct, ts, until=answered))
    assert "Platform help" in told
    assert "Security help" in told
    assert "Page the primary too" not in told
    # Where each asker has documents of their own, those of others are no row.
    ts = house.slack.post_as_user(direct, firing("ErasureLate"), user="U0DANA")
    told = words(house.slack.wait_for_reply(direct, ts, until=answered))
    assert "No runbook for `ErasureLate`" in told
