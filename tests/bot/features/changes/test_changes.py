"""What changed before an alert: asked in its thread, read from channels and documents."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from sqlalchemy import text

from bot.features.changes.service import ASKED, BEFORE, ChangesDue, span_of
from bot.features.changes.views import MAX_LINES
from playground.slack.rules.block_rules import problems
from playground.slack.tidewater import Channel, SlackUser
from tests.bot.conftest import answered
from tests.bot.features.changes.office import (
    ATTIC,
    AWAY,
    DEPLOYS,
    FLAGS,
    HELP,
    NOTICES,
    PRIVACY,
    SECRET,
    SECURITY,
    ChangesOffice,
    alert,
    changes_office,
    shown,
)

HOUR = 3_600.0


@pytest.fixture(scope="module")
def running_office(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ChangesOffice]:
    with changes_office(tmp_path_factory.mktemp("changes")) as office:
        yield office


@pytest.fixture
def office(running_office: ChangesOffice) -> ChangesOffice:
    running_office.slack.faults.clear()
    running_office.clear()
    return running_office


def test_the_button_lists_what_names_the_alerts_systems(office: ChangesOffice) -> None:
    deploy = office.deploys("checkout-api v3.2.1 is live in production")
    office.deploys("search-api v1.0 is live in production")
    office.slack.post_as_user(FLAGS, "Turned on `new-basket` for Checkout API", user="U0INES")
    ts = office.fires()
    after = office.deploys("checkout-api rolled back to v3.2.0")
    office.presses(ts)
    (reply,) = office.replies(ts)
    assert problems(reply["blocks"]) == []
    said = shown(reply)
    lines = re.findall(r"^[•—].*", said, re.MULTILINE)
    assert ["rolled back" in lines[0], "*the alert*" in lines[1]] == [True, True]
    assert re.fullmatch(
        rf"• <!date\^\d+\^{{time}}\|\d\d:\d\d UTC> · <\S+/team/U0INES\|Ines Okafor>: "
        rf"<\S+/archives/{FLAGS}/p\d+\|Turned on new-basket for Checkout API>",
        lines[2],
    )
    link = (
        f"/archives/{DEPLOYS}/p{deploy.replace('.', '')}|checkout-api v3.2.1 is live in production"
    )
    assert link in lines[3]
    assert f"/archives/{DEPLOYS}/p{after.replace('.', '')}" in lines[0]
    assert "document edited: Checkout Runbook" in lines[4]  # Most others are of one copy.
    assert len(lines) == 5
    assert not re.search("search-api|Payroll|caused", said)
    assert f"Other messages of that time: 1 in <#{DEPLOYS}>." in said
    assert "by the names `checkout-api`, `" in said
    for word in ("production", "critical", "eu-west-1", "x2x4z"):
        assert f"`{word}" not in said


def test_without_change_channels_nothing_is_offered(office: ChangesOffice) -> None:
    ts = office.fires(channel=PRIVACY)
    (answer,) = office.desk.said(PRIVACY, ts)
    assert "what_changed" not in str(answer)
    office.asks(ts, channel=PRIVACY)
    assert office.replies(ts, PRIVACY) == []
    assert len([one for one in office.desk.said(PRIVACY, ts) if answered(one)]) == 2


def test_a_question_in_another_thread_goes_to_the_documents(office: ChangesOffice) -> None:
    ts = office.slack.post_as_user(HELP, "Good morning", user="U0DANA")
    office.asks(ts)
    assert office.replies(ts) == []
    assert any(map(answered, office.desk.said(HELP, ts)))


def test_six_hours_before_the_alert_are_read_or_as_long_as_somebody_asks(
    office: ChangesOffice,
) -> None:
    office.moves(DEPLOYS, office.deploys("checkout-api v1 is live"), 30 * HOUR)
    office.moves(DEPLOYS, office.deploys("checkout-api v2 is live"), 7 * HOUR)
    office.moves(DEPLOYS, office.deploys("checkout-api v3 is live"), 5 * HOUR)
    ts = office.fires()
    # When yesterday began depends on the hour, but it is more than seven hours ago.
    for asked, versions in {
        "what changed?": "v3",
        "What has changed in the last 8 hours?": "v3 v2",
        "what changed in the past hour": "",
        "any changes in the last 2 days?": "v3 v2 v1",
        "changes since yesterday": "v3 v2",
    }.items():
        seen = " ".join(re.findall(r"checkout-api (v\d)", office.asks(ts, asked)))
        assert seen.startswith(versions), asked
        assert (seen == versions) or "yesterday" in asked
    assert len(office.replies(ts)) == 5


def test_the_time_before_an_old_alert_is_read_not_the_time_since() -> None:
    fired = datetime(2026, 3, 1, tzinfo=UTC)
    asked = f"{datetime(2026, 3, 20, tzinfo=UTC).timestamp():.6f}"
    due = ChangesDue(channel=HELP, thread_ts="1.0", at=asked)
    span = span_of(due, fired)
    assert (span.since, span.until.day) == (fired - BEFORE, 7)
    long = replace(due, since=0.0)
    assert span_of(long, fired).since.day == 13
    assert span_of(replace(due, at="soon"), fired).since == fired - BEFORE


@pytest.mark.parametrize("words", ["what changed in the recipe?", "change it", "what changes?"])
def test_other_questions_are_left_to_the_documents(office: ChangesOffice, words: str) -> None:
    ts = office.fires(alert("CheckoutDown"))
    office.asks(ts, words)
    assert office.replies(ts) == []


def test_nothing_found_is_said_and_the_others_are_counted(office: ChangesOffice) -> None:
    for number in range(14):
        office.deploys(f"search-api v{number} is live")
    ts = office.fires(alert("TillQueue", "service = till-2"))
    said = office.asks(ts)
    assert f"nothing in <#{DEPLOYS}> and <#{FLAGS}> names `till-2`" in said
    assert f"Other messages of that time: 14 in <#{DEPLOYS}>." in said
    assert "•" not in said


def test_an_alert_without_a_system_says_so(office: ChangesOffice) -> None:
    office.deploys("search-api v1 is live")
    ts = office.fires("[FIRING] Latency\nseverity = critical\nenv = production")
    said = office.asks(ts)
    assert "this alert names no system that I can look for" in said
    assert f"1 in <#{DEPLOYS}>" in said


def test_what_most_messages_name_is_not_gone_by(office: ChangesOffice) -> None:
    for number in range(12):
        office.deploys(f"search-api v{number} is live on tidewater")
    office.deploys("checkout-api v3 is live on tidewater")
    said = office.asks(office.fires())
    assert "checkout-api v3 is live" in said
    assert "search-api" not in said
    assert "Most messages name `tidewater`: I did not go by that." in said


def test_a_channel_of_one_service_is_listed_newest_first(office: ChangesOffice) -> None:
    for number in range(MAX_LINES + 4):
        office.deploys(f"checkout-api build {number} is live")
    said = office.asks(office.fires())
    lines = re.findall(r"build (\d+) is live", said)
    assert list(map(int, lines)) == list(range(MAX_LINES + 3, 3, -1))
    assert "and 5 older" in said  # with the runbook's edit


def test_notices_of_deploy_tools_are_read_in_their_forms(office: ChangesOffice) -> None:
    for fields, _ in NOTICES.values():
        office.deploys(**fields)
    said = office.asks(office.fires())
    # Slack's emoji and sanitized signs aside.
    lines = re.findall(r"Pilot>: <\S+?\|(.*?)>$", said.replace("\u2060", ""), re.MULTILINE)
    assert [one.strip() for one in lines][::-1] == [line for _, line in NOTICES.values()]


def test_two_alerts_in_one_thread_are_both_looked_for(office: ChangesOffice) -> None:
    office.deploys("checkout-api v3 is live")
    office.deploys("till-2 was moved")
    ts = office.fires()
    office.fires(alert("TillQueue", "service = till-2"), thread_ts=ts)
    said = office.asks(ts)
    assert "checkout-api v3 is live" in said
    assert "till-2 was moved" in said


def test_presses_of_one_minute_get_one_reply(office: ChangesOffice) -> None:
    ts = office.fires(alert("CheckoutSlow"))
    minute = int(time.time()) // 60 * 60
    for user, at in (
        ("U0DANA", f"{minute}.5"),
        ("U0INES", f"{minute}.9"),
        ("U0DANA", f"{minute}.5"),
    ):
        press = {"question_id": f"{HELP}:{ts}", "user": user, "at": at}
        office.bot.inbox.put(f"what_changed-{user}-{at}", {"what_changed": press})
    office.desk.settle()
    assert len(office.replies(ts)) == 1


def test_only_who_may_ask_here_gets_a_reply(office: ChangesOffice) -> None:
    """A press comes as the bot stores it, whatever showed the button."""
    guest = SlackUser(id="U0GUEST", handle="guest", name="A Guest", title="", guest="multi_channel")
    office.slack.workspace.welcome(guest, HELP)
    ts = office.fires(alert("BasketFull"))
    press = {"question_id": f"{HELP}:{ts}", "user": guest.id, "at": ts}
    office.bot.inbox.put("what_changed-guest", {"what_changed": press})
    office.desk.settle()
    assert office.asks(ts, user=guest.id) == ""
    assert any("guests" in str(one) for one in office.slack.ephemerals(guest.id))


def test_it_is_posted_once_however_often_it_is_tried(office: ChangesOffice) -> None:
    office.deploys("checkout-api v3 is live")
    ts = office.fires()
    office.slack.faults.add("chat.postMessage", drop_response=True)
    office.asks(ts)
    assert len(office.replies(ts)) == 1
    (feature,) = (one for one in office.bot.features if ChangesDue in one.handlers)
    due = ChangesDue(channel=HELP, thread_ts=ts, at=ts)
    before = ASKED.labels("platform")._value.get()
    for _ in range(3):
        feature.handlers[ChangesDue]("changes_due-again", due)
    assert len(office.replies(ts)) == 2
    assert ASKED.labels("platform")._value.get() == before + 1


def test_a_busy_slack_is_asked_again(office: ChangesOffice) -> None:
    office.deploys("checkout-api v3 is live")
    ts = office.fires()
    office.slack.faults.add("conversations.history", status=429, retry_after=1, count=2)
    office.slack.faults.add("conversations.history", status=500)
    assert "checkout-api v3 is live" in office.asks(ts)
    assert len(office.replies(ts)) == 1


def test_of_too_many_messages_the_newest_are_read(office: ChangesOffice) -> None:
    workspace = office.slack.workspace
    for number in range(1_100):
        text = "checkout-api" if number in (5, 1_050) else "search-api"
        office.deploys(f"{text} build {number}")
    assert len(workspace.all(DEPLOYS)) == 1_100
    said = office.asks(office.fires())
    assert "checkout-api build 1050>" in said
    assert "checkout-api build 5>" not in said
    assert f"<#{DEPLOYS}> has too many messages: I read back to <!date" in said
    assert f"999 in <#{DEPLOYS}>" in said


def test_edits_deletions_joins_and_alerts_are_what_they_are_now(office: ChangesOffice) -> None:
    edited = office.slack.post_as_user(DEPLOYS, "checkout-api v1 is live", user="U0DANA")
    deleted = office.slack.post_as_user(DEPLOYS, "checkout-api v2 is live", user="U0DANA")
    joined = {"user": "U0INES", "subtype": "channel_join", "text": "checkout-api fan has joined"}
    office.slack.workspace.post(DEPLOYS, joined)
    office.slack.post_as_app(DEPLOYS, alert("CheckoutErrors"))
    office.slack.edit_message(DEPLOYS, edited, "search-api v1 is live, typing error")
    office.slack.delete_message(DEPLOYS, deleted)
    said = office.asks(office.fires())
    assert not re.search("is live|has joined|FIRING", said)
    assert f"1 in <#{DEPLOYS}>" in said


def test_hostile_words_ping_and_link_nothing(office: ChangesOffice) -> None:
    office.deploys(
        "checkout-api <!channel> <@U0INES> <https://evil.com|v3> evil.com `x` *b*\u202e"
        + "z" * 5_000
    )
    office.deploys(text="```\ncheckout-api\n```\n" + "a" * 3_500)
    hostile = alert("CheckoutErrors", "service = checkout-api", "x = a`<!here>`b")
    said = office.asks(office.fires(hostile))
    assert not re.search(r"<[!@](?!date)|evil\.com|<https://evil|\u202e", said)
    assert len(re.findall("^•", said, re.MULTILINE)) == 3
    assert max(map(len, said.splitlines())) < 700


def test_channels_that_not_everyone_here_may_read_are_left_out(office: ChangesOffice) -> None:
    office.deploys("checkout-api v3 is live")
    office.deploys("checkout-api secret is live", channel=SECRET)
    office.slack.workspace.post(AWAY, {"user": "U0DANA", "text": "checkout-api away"})
    said = office.asks(office.fires(channel=SECURITY), channel=SECURITY)
    assert "checkout-api v3 is live" in said
    assert not re.search(f"secret|away|{SECRET}|{ATTIC}|C0NOWHERE", said)
    assert f"I'm not in <#{AWAY}>: invite me there." in said
    assert "3 change channels that not everyone here may read, or that I can't." in said


def test_a_document_that_is_not_open_to_all_is_not_named(office: ChangesOffice) -> None:
    """Files have no readers: with `audience: asker` they are nobody's."""
    said = office.asks(office.fires(channel=SECURITY), channel=SECURITY)
    assert not re.search("Runbook|document", said)


def test_shown_documents_are_in_the_audit_log(office: ChangesOffice) -> None:
    office.asks(office.fires())
    query = text("select count(*) from audit_shown where door = 'changes'")
    with office.bot.engine.connect() as connection:
        assert connection.execute(query).scalar()


def test_where_other_organizations_read_no_other_channel_is_shown(office: ChangesOffice) -> None:
    shared = office.slack.workspace.channels[SECURITY]
    assert isinstance(shared, Channel)
    shared.shared = True
    office.bot.gate.channels._flags._entries.clear()
    try:
        office.deploys("checkout-api v9 is live")
        said = office.asks(office.fires(channel=SECURITY), channel=SECURITY)
        assert "v9" not in said
        assert "5 change channels" in said
    finally:
        shared.shared = False
        office.bot.gate.channels._flags._entries.clear()
