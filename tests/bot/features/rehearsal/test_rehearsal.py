"""A rehearsal with past alerts, in a direct message: the real bot over published runbooks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, cast

import pytest
from sqlalchemy import func, select

from bot.feature import PublishedIndex
from bot.features.registry import FEATURE_TABLES
from bot.features.rehearsal.drills import SINCE, Drills, score
from bot.features.rehearsal.service import RehearsalPressed, RehearsalService
from bot.features.rehearsal.store import RehearsalRow, RehearsedAlert
from bot.features.rehearsal.views import alert_message, result_messages
from bot.privacy.tables import erase_in_features
from durable.database import now
from index.audit import ShownRow
from loaders.document import Permission
from playground.slack.rules.block_rules import problems
from tests.agents.corpus import snapshot
from tests.bot.conftest import words
from tests.bot.features.alerts.office import PLATFORM, AlertHouse, alert_house, catalogue
from tests.bot.features.alerts.test_alert_desk import firing
from tests.bot.hostile_text import BY_HAND

ON = "runbooks: {rehearsal: true}\n"
ME = "U0YOU"


@pytest.fixture(scope="module")
def open_house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AlertHouse]:
    with alert_house(tmp_path_factory.mktemp("rehearsal"), keys=ON) as house:
        house.fires(firing("TillOffline", "owner = @U0INES", "mail = ines@tidewater.example"))
        house.settle()
        house.fires(firing("CartErrors", "pod = cart-1"))
        house.fires(firing("NoSuchAlert"))
        house.settle()
        yield house


@pytest.fixture
def house(open_house: AlertHouse) -> AlertHouse:
    open_house.slack.faults.clear()
    open_house.settle()
    with open_house.bot.engine.begin() as connection:
        connection.execute(RehearsalRow.__table__.delete())
    return open_house


def write(house: AlertHouse, text: str, thread: str = "", user: str = ME) -> str:
    channel = house.slack.workspace.direct(user).id
    ts = house.slack.post_as_user(channel, text, user=user, thread_ts=thread or None)
    house.settle()
    return ts


def said(house: AlertHouse, thread: str, user: str = ME) -> list[dict[str, Any]]:
    return house.replies(thread, house.slack.workspace.direct(user).id)


def press(house: AlertHouse, thread: str, action: str, at: int = -1) -> None:
    house.slack.click(channel(house), said(house, thread)[at]["ts"], action, ME)
    house.settle()


def channel(house: AlertHouse) -> str:
    return house.slack.workspace.direct(ME).id


def going_on(house: AlertHouse) -> int:
    with house.bot.engine.connect() as connection:
        return int(connection.scalar(select(func.count()).select_from(RehearsalRow)) or 0)


def drills(house: AlertHouse) -> Drills:
    return service(house).drills


def service(house: AlertHouse) -> RehearsalService:
    feature = next(one for one in house.bot.features if RehearsalPressed in one.handlers)
    found = feature.handlers[RehearsalPressed].__self__  # type: ignore[attr-defined]
    assert isinstance(found, RehearsalService)
    return found


def test_an_alert_is_answered_in_words_and_summed_up(house: AlertHouse) -> None:
    thread = write(house, "Rehearse platform!")
    (alert,) = said(house, thread)
    first = words(alert)
    assert "Alert 1 of 2" in first
    assert "Platform help" in first
    assert "[FIRING:1]" in first
    assert problems(alert["blocks"]) == []
    while "TillOffline" not in words(said(house, thread)[-1]):
        press(house, thread, "rehearsal_show")
        press(house, thread, "rehearsal_next")
    shown = words(said(house, thread)[-1])
    assert "ines" not in shown.casefold()
    assert "owner = somebody" in shown
    write(house, "Open the till runbook, then fence the node and promote the standby", thread)
    entry = said(house, thread)[-1]
    told = words(entry)
    assert "You named *Till Runbook*." in told
    assert "You named 2 of 3 steps:" in told
    assert "not mentioned: Tell the duty manager when takings are back." in told
    assert "wrong" not in told
    assert "First steps" in told
    assert "ask_human" not in told
    assert problems(entry["blocks"]) == []
    while "rehearsal is over" not in words(said(house, thread)[-1]):
        is_shown = "rehearsal_next" in words(said(house, thread)[-1])
        press(house, thread, "rehearsal_next" if is_shown else "rehearsal_show")
    assert "2 alerts: named the entry for 1; steps 2 of 4" in words(said(house, thread)[-1])
    assert going_on(house) == 0


def test_show_me_shows_the_entry_and_counts_as_not_named(house: AlertHouse) -> None:
    thread = write(house, "rehearse")
    press(house, thread, "rehearsal_show")
    told = words(said(house, thread)[-1])
    assert "First step" in told
    assert "You named" not in told
    write(house, "stop", thread)
    assert "1 alert: named the entry for 0" in words(said(house, thread)[-1])


def test_what_is_shown_is_audited_once(house: AlertHouse) -> None:
    thread = write(house, "rehearse")
    write(house, "no idea", thread)
    query = select(ShownRow).where(ShownRow.door == "rehearsal", ShownRow.showing.contains(thread))
    with house.bot.engine.connect() as connection:
        (row,) = connection.execute(query).all()
    assert (row.asker, row.domain, row.place) == (ME, "platform", channel(house))
    assert "cited" in row.documents


def test_presses_twice_or_in_old_rehearsals_do_nothing(house: AlertHouse) -> None:
    thread = write(house, "rehearse")
    press(house, thread, "rehearsal_show")
    press(house, thread, "rehearsal_show", at=0)
    assert len(said(house, thread)) == 2
    press(house, thread, "rehearsal_next", at=1)
    press(house, thread, "rehearsal_next", at=1)
    assert len(said(house, thread)) == 3
    press(house, thread, "rehearsal_stop", at=0)  # of the first alert
    assert len(said(house, thread)) == 3
    press(house, thread, "rehearsal_stop")
    assert len(said(house, thread)) == 4
    for at, action in ((0, "rehearsal_show"), (1, "rehearsal_next"), (2, "rehearsal_stop")):
        press(house, thread, action, at=at)
    assert len(said(house, thread)) == 4


def test_everything_delivered_again_after_a_crash_is_there_once(house: AlertHouse) -> None:
    """As the inbox does with what a killed process had begun."""
    thread = write(house, "rehearse")
    going = service(house)
    began = going.store.get(f"{channel(house)}:{thread}")
    assert began
    going._show(began)
    assert len(said(house, thread)) == 1
    write(house, "roll back the latest release", thread)
    answered = going.store.get(began.id)
    assert answered
    going._show_entry(answered, going.drills.drill(answered.item, ME), "roll back")
    assert len(said(house, thread)) == 2
    assert not going.store.move(began, replace(began, stage="answered"))
    going.on_press(
        "again",
        RehearsalPressed(rehearsal=began.id, position=0, act="rehearsal_next", user="U0INES"),
    )
    assert len(said(house, thread)) == 2  # somebody else's


def test_a_lost_reply_of_slack_doubles_nothing(house: AlertHouse) -> None:
    house.slack.faults.add("chat.postMessage", drop_response=True)
    thread = write(house, "rehearse")
    house.slack.faults.add("chat.postMessage", drop_response=True)
    write(house, "roll back the latest release", thread)
    assert len(said(house, thread)) == 2


def test_nobody_else_sees_it_and_nothing_of_it_stays(house: AlertHouse) -> None:
    before = len(house.slack.messages(PLATFORM))
    thread = write(house, "rehearse")
    write(house, "a very telling sentence of mine", thread)
    with house.bot.engine.connect() as connection:
        (row,) = connection.execute(select(RehearsalRow)).all()
    assert "telling" not in str(row)
    assert "FIRING" not in str(row)
    assert len(house.slack.messages(PLATFORM)) == before
    with house.bot.engine.begin() as connection:
        erase_in_features(connection, [ME], FEATURE_TABLES.tables)
    assert going_on(house) == 0


def test_a_rehearsal_that_nobody_goes_on_with_is_deleted_after_a_day(house: AlertHouse) -> None:
    thread = write(house, "rehearse")
    going = service(house)
    going.forget_old()
    rehearsal = going.store.get(f"{channel(house)}:{thread}")
    assert rehearsal
    old = replace(rehearsal, started_at=rehearsal.started_at.replace(year=2020))
    assert going.store.move(rehearsal, old)
    going.forget_old()
    assert going_on(house) == 0


def test_a_deleted_request_takes_the_rehearsal_along(house: AlertHouse) -> None:
    thread = write(house, "rehearse")
    house.slack.delete_message(channel(house), thread)
    house.settle()
    assert going_on(house) == 0


@pytest.mark.parametrize(
    "text", ["rehearse the security team", "rehearsal dinner", "how do I rehearse?", "rehearse tea"]
)
def test_what_asks_anything_else_is_a_question(house: AlertHouse, text: str) -> None:
    write(house, text)
    assert going_on(house) == 0


def test_in_a_channel_it_is_no_command(house: AlertHouse) -> None:
    house.slack.post_as_user(PLATFORM, f"{house.desk.at} rehearse", user=ME)
    house.settle()
    assert going_on(house) == 0


def test_a_question_about_a_shown_entry_is_a_question(house: AlertHouse) -> None:
    thread = write(house, "rehearse")
    write(house, "show me", thread)
    write(house, "what does CartErrors mean?", thread)
    assert "rehearsal" not in words(said(house, thread)[-1])


def test_without_past_alerts_entries_of_the_documents_are_made_up(house: AlertHouse) -> None:
    own = replace(drills(house), past=lambda domain, since: [])
    items = own.items(ME, own.open_to(ME))
    assert 3 < len(items) <= 10
    assert all(not one.question for one in items)
    drill = own.drill(items[0], ME)
    assert drill
    assert drill.text == f"[FIRING:1] {items[0].name}"
    assert drill.steps


def test_an_alert_of_a_channel_or_domain_that_one_may_not_see_is_not_used(
    house: AlertHouse,
) -> None:
    own = drills(house)
    past = own.past("platform", now() - SINCE)
    assert {name for name, _, _ in past} >= {"TillOffline", "CartErrors"}
    assert "NoSuchAlert" not in {name for name, _, _ in past}
    question = next(question for name, _, question in past if name == "CartErrors")
    item = RehearsedAlert(domain="platform", name="CartErrors", question=question)
    assert own.drill(item, ME)
    assert own.drill(replace(item, domain="security"), ME) is None  # not switched on there
    assert own.drill(replace(item, domain="gone"), ME) is None
    assert own.drill(replace(item, question="C0PLATFORM:1"), ME) is None
    assert own.drill(replace(item, name="Other"), ME) is None
    assert own.drill(item, "U0BEACON") is None
    assert own.drill(item, "U0NOBODY") is None
    hidden = replace(own, past=lambda domain, since: [("CartErrors", "G0VAULT", question)])
    assert list(hidden._past(own.open_to(ME)[0], ME)) == []


def test_an_entry_is_shown_to_whom_its_document_is_open(house: AlertHouse) -> None:
    own = drills(house)
    (known,) = own.open_to(ME)
    access = known.access.model_copy(update={"audience": "asker"})
    domains = {"platform": known.model_copy(update={"access": access})}
    readers = {"alert-catalogue": (Permission(kind="user", value="ines.okafor@tidewater.example"),)}
    shelf = snapshot(catalogue(), permissions=readers)
    published = PublishedIndex(snapshot=lambda name: shelf, embed=cast("Any", None))
    context = replace(own.context, domains=lambda: domains, published=published)
    restricted = replace(own, context=context)
    item = RehearsedAlert(domain="platform", name="CartErrors")
    assert restricted.drill(item, "U0INES")
    assert restricted.drill(item, ME) is None
    assert restricted.items(ME, list(domains.values())) == ()


@pytest.mark.parametrize(
    ("answer", "found", "named"),
    [
        ("", False, 0),
        ("no idea, sorry", False, 0),
        ("the till offline section", True, 0),
        ("my guess is the Till-Runbook", True, 0),
        ("https://files.tidewater.example/x", False, 0),
        ("fence it", False, 0),
        ("run tillctl fence --node till-eu-a", False, 1),
        ("fence the node; promote the standby; tell the duty manager when it's over", False, 3),
        ("node standby manager", False, 0),
    ],
)  # fmt: skip
def test_only_what_is_said_counts(house: AlertHouse, answer: str, found: bool, named: int) -> None:
    drill = drills(house).drill(RehearsedAlert(domain="platform", name="TillOffline"), ME)
    assert drill
    result = score(answer, drill)
    assert (bool(result.place), sum(result.named)) == (found, named)


def test_hostile_alerts_and_steps_are_shown_as_text(house: AlertHouse) -> None:
    own = drills(house)
    item = RehearsedAlert(domain="platform", name="TillOffline")
    drill = own.drill(item, ME)
    going = service(house)
    thread = write(house, "rehearse")
    rehearsal = going.store.get(f"{channel(house)}:{thread}")
    assert drill
    assert rehearsal
    for text in (*BY_HAND, "<!channel> " * 900, "```" * 900, "&" * 9_000, "\u202e\u200b" * 5_000):
        hostile = replace(drill, text=text, steps=(text,) * 20)
        result = score(text[:300], hostile)
        messages = [alert_message(rehearsal, hostile),
                    *result_messages(rehearsal, hostile, result, answered=True)]  # fmt: skip
        for message in messages:
            assert problems(message.blocks) == [], text[:60]
            shown = str(message.blocks)
            assert "<!" not in shown
            assert "<@" not in shown
            assert shown.count("```") == 2 or "Alert 1 of" not in shown
