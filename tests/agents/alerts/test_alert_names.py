"""An alert is called as the documents call it, whichever product or script wrote its line."""

from __future__ import annotations

import time

import pytest

from agents.alerts.alert import Alert, name_key
from agents.alerts.parser import alerts_in
from agents.alerts.titles import documented_names
from agents.runbooks.matching import match_alerts, worth_answering
from agents.runbooks.narrowing import RunbookMatch
from tests.agents.alerts.documents import KNOWN
from tests.agents.corpus import domain, snapshot

PLANT = snapshot("""---
id: plant
title: Alarms of the Mill
status: current
---
# Alarms of the Mill

| Alarm | Line | Says | Grade | First step |
|---|---|---|---|---|
| MX-2040 | Paper | WEB BREAK | 1 | Stop the winder |
| MX-2040 | Pulp | TANK LOW | 3 | Open valve 7 |
| Steam pressure low | Paper | – | 2 | Call the boiler house |
| Steam pressure low for long | Paper | – | 1 | Shut the line down |
| `PUMP_DRY` | any | – | 2 | Close the inlet |
| Dryer felt worn | any | – | 4 | Order a felt |

| Line | Owner | Phone |
|---|---|---|
| Winder hall | Paper crew | 2201 |
""")


def told(text: str, *, by_bot: bool = True, known: object = PLANT) -> list[RunbookMatch]:
    found = match_alerts(alerts_in(text, by_bot=by_bot), known, domain())  # type: ignore[arg-type]
    return found if found and worth_answering(found) else []


def steps(text: str, *, by_bot: bool = True) -> list[str]:
    return [one.first("step") for found in told(text, by_bot=by_bot) for one in found.entries]


@pytest.mark.parametrize(
    ("text", "step"),
    [
        ("mill-eye: PUMP_DRY pump=p3 at 14:02", "Close the inlet"),
        ("mill-eye: pump dry at 14:02", "Close the inlet"),
        ("MILL :rotating_light: PAPER MX-2040 WEB BREAK (hall 2, 06:14)", "Stop the winder"),
        ("mill-eye :large_blue_circle: PULP MX-2040 (hall 2)", "Open valve 7"),
        ("#5102 Steam pressure low 2.1 bar\n*Service:* Boilers\n*Urgency:* High", "Call the boil"),
        ("#8: Steam pressure low – Paper / hall 2 2.1 bar\n*Priority:* P2", "Call the boiler"),
        ("Steam pressure low for long, hall 2", "Shut the line down"),
        ("Tue 06:14 | SteamPressureLow | Paper", "Call the boiler house"),
        ("code=MX-2040 line=pulp", "Open valve 7"),
        ("Mill monitor\nDryer felt worn on winder 2", "Order a felt"),
        ("Alarm: Dryer felt worn\nLine: Paper", "Order a felt"),
        ("*Mill Monitor*\n*Event:* PUMP_DRY\n*Line:* paper", "Close the inlet"),
        ("MX-2040/PAPER: WEB BREAK", "Stop the winder"),
        ("Alert for PUMP_DRY@p3", "Close the inlet"),
        ("Incident 345 – Steam pressure low – Paper", "Call the boiler house"),
        ("2026-11-25T03:12:44Z ERROR mill.pump PUMP_DRY pump=p3", "Close the inlet"),
    ],
)
def test_a_documented_name_is_found_in_a_bots_line_of_any_form(text: str, step: str) -> None:
    (found,) = steps(text)
    assert found.startswith(step)


@pytest.mark.parametrize(
    "text",
    [
        ":package: Deployed boiler-control 4.2: finer limits for Steam pressure low",
        "Steam boiler 3 is back, the cause of PUMP_DRY was a fuse",
        "We have muted PUMP_DRY until Monday",
        "Winder hall is cleaned today",
        "All quiet in the paper hall",
        "good morning",
        "https://mill.example/PUMP_DRY",
        "release 7 of Dryer felt worn detection",
    ],
)
def test_what_a_bot_says_besides_is_left_alone(text: str) -> None:
    assert told(text) == []


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("mill-eye: TankOverflowSoon tank=4 – feed stopped", "TankOverflowSoon"),
        ("mill-eye :key: LidOpen tank=4 site=north", "LidOpen"),
        ("LidOpen on tank-4", "LidOpen"),
        (":x: Chipper knife blunt on chipper 2", "Chipper knife blunt on chipper 2"),
        ("PUMP_DRYER site=north", "PUMP_DRYER"),
    ],
)
def test_what_nobody_documented_is_said_to_have_no_runbook(text: str, name: str) -> None:
    (found,) = told(text)
    assert (found.outcome, found.alert.name) == ("none", name)


def test_all_that_is_left_of_the_title_are_labels() -> None:
    (found,) = told("MILL :warning: PULP MX-2040 TANK LOW (hall 2, 06:14) valve=7 Crew: night")
    labels = set(found.alert.labels)
    assert {("", "PULP"), ("", "TANK LOW"), ("", "hall"), ("valve", "7")} <= labels
    assert not {one for one in labels if name_key(one[1]) == name_key("MX-2040")}


@pytest.mark.parametrize(
    "title",
    [
        "[P2] Steam pressure low: 2 bar", "steam-pressure-low hall 2", "SteamPressureLow (paper)",
        "STEAM_PRESSURE_LOW 2.1",
    ],
)  # fmt: skip
def test_a_name_in_any_spelling(title: str) -> None:
    names = documented_names(title, PLANT)
    assert name_key(names[0]) == name_key("Steam pressure low")


def test_a_name_behind_another_ones_is_what_it_is_about() -> None:
    (found,) = told("mill-eye: LidOpenTooLong PUMP_DRY")
    assert (found.outcome, found.alert.name) == ("none", "LidOpenTooLong")


@pytest.mark.parametrize(
    ("text", "step"),
    [
        ("HostDown just fired on db-1 in prod, where is the runbook?", "Fail over"),
        ("HostDown popped up for the host db-1 in prod, what do I do first?", "Fail over"),
        ("morning! HD on prod is red since 23:50, is that one for me?", "Fail over"),
        ("Basket latency p95 is firing on shop:de, all is slow", "Turn off"),
        ("db-watch: HOST_DOWN env=prod host=db-1", "Fail over"),
    ],
)
def test_words_with_which_a_person_hands_an_alert_on(text: str, step: str) -> None:
    (found,) = told(text, by_bot=False, known=KNOWN)
    (entry,) = found.entries
    assert entry.first("step").startswith(step)


@pytest.mark.parametrize(
    "text",
    [
        "HostDown fired four times, is that a lot?",
        "HostDown popped up in the audit list of 2024, is it still used?",
        "Connections high fired on reports, where is the runbook?",
        "why did HostDown fire on prod?",
        "who is firing on all cylinders?",
        "The mood is firing on reports",
        "HostDown on prod",
        "is region=sg the one with HostDown env=prod?",
    ],
)
def test_other_words_of_a_person_are_a_question(text: str) -> None:
    assert told(text, by_bot=False, known=KNOWN) == []


PIECES = ["MX-2040 ", "Steam ", "a=b ", "(", "a, ", "- ", "= ", "x:", "PUMP_DRY", "is ", "A.b "]


@pytest.mark.parametrize("piece", PIECES)
def test_a_long_title_costs_no_more_than_a_short_one(piece: str) -> None:
    usual = min(seconds("mill-eye: Steam pressure low in the hall of line 2") for _ in range(3))
    assert any(seconds(piece * (12_000 // len(piece))) < 20 * usual for _ in range(3))


def seconds(text: str) -> float:
    """Of this thread's processor time."""
    begun = time.thread_time()
    alert = Alert(names=("x",), title=text)
    match_alerts([alert], PLANT, domain())
    return time.thread_time() - begun
