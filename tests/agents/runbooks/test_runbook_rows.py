"""Rows as people write them: filled down, for ranges and lists, limited by their heading."""

from __future__ import annotations

import pytest

from agents.alerts.alert import Alert, amounts_in, numbers_in
from agents.runbooks.matching import match
from agents.runbooks.narrowing import RunbookMatch
from tests.agents.corpus import snapshot

CATALOGUE = """---
id: mill
title: Mill Alarms
status: current
---
# Mill Alarms

## Presses

| Alarm | Hall | Shift | Prio | First step |
|---|---|---|---|---|
| RollerHot | Oslo | day | P1 | Cool the roller |
| | | night | P2 | Slow the roller |
| | Turin (rented) | day | P3 | Call the landlord |
| FeltWorn | all | all | P4 | Order a felt |
| SteamLow | n/a | n/a | P4 | Order coal |

## Machines

| Alarm | Machine | First step |
|---|---|---|
| SpindleSlow | sp01 – sp06 | Grease it |
| SpindleSlow | sp07 to sp09 | Stop the line |
| DryerWet | dry-a, dry-b | Open the vent |
| DryerWet | dry-x | Wait |
| PumpNoise | `wet-*` | Prime the pump |
| PumpNoise | boiler | Leave it |
| PumpNoise | all others | Ask the fitter |

## Codes

| Code | Text | First step |
|---|---|---|
| KX-200 – KX-240, except KX-207 | PAPER | Load paper |
| KX-207 | WATER | Close the valve |
| KX-9xx | SENSOR | Clean the sensor |

## Drift

| Alarm | First step |
|---|---|
| `ScaleDrift` 20 – 200 ms | Tare it |
| `ScaleDrift` above 200 ms | Replace it |
| `LineSwitched`, planned | Note it |
| `LineSwitched`, unplanned | Walk to the line |

## Nightly jobs

Alarm name is always `MILL_JOB`; the job decides.

| Job | First step |
|---|---|
| `PAY1` – `PAY5` | Restart it |
| `INV*` except `INV9` | Leave it |
| `INV9` | Call the auditor |

## Runbook: OrderStuck

Only orders in `paper` are watched. Prio: P2.

1. Push the order.

## Runbook: MotorHot (cranes)

For motors named `cr-*`. Prio: P1.

1. Lower the load.

## Runbook: MotorHot (belts)

For `belt` and `belt-spare`. Prio: P3.

1. Switch to the spare.

## When nobody can clock in

This is alert `ClockInDown`. Grade 2, owner Gate.

1. Open the gate by hand.

## Runbook: CageOpen – front doors

1. Ring the guard.

## Runbook: CageOpen – rear doors

1. Ring the porter.

## Panels

| Code | System | First step |
|---|---|---|
| QZ-17 | Steam | Vent it |
| QZ-18 | Water | Close it |

## Vapour

`VapourHigh` means that the hood is full.

1. Open the hood.
"""

OLD = """---
id: old-mill
title: Mill Alarms 2024
status: superseded
---
# Mill Alarms 2024

| Alarm | Hall | First step |
|---|---|---|
| RollerHot | Turin | Stop everything |
| MILL_JOB | all | Restart from the top |
"""

KNOWN = snapshot(CATALOGUE, OLD)


def found(name: str, *labels: str, says: str = "") -> RunbookMatch:
    pairs = [one.rpartition("=") for one in labels]
    alert = Alert(
        names=(name,), labels=tuple((key, value) for key, _, value in pairs),
        amounts=amounts_in(says),
    )  # fmt: skip
    return match(alert, KNOWN, {})


@pytest.mark.parametrize(
    ("name", "labels", "step"),
    [
        ("RollerHot", ("hall=oslo", "shift=night"), "Slow the roller"),
        ("RollerHot", ("oslo", "day"), "Cool the roller"),
        ("KX207", (), "Close the valve"),
        ("CageOpen", ("rear doors",), "Ring the porter"),
        ("RollerHot", ("oslo", "day", "a"), "Cool the roller"),
        ("RollerHot", ("turin", "day"), "Call the landlord"),
        ("RollerHot", ("hall=turin",), "Call the landlord"),
        ("SpindleSlow", ("instance=sp08:9100",), "Stop the line"),
        ("SpindleSlow", ("host=sp02",), "Grease it"),
        ("SpindleSlow", ("sp06",), "Grease it"),
        ("DryerWet", ("dry-b",), "Open the vent"),
        ("DryerWet", ("machine=dry-x",), "Wait"),
        ("PumpNoise", ("machine=wet-7",), "Prime the pump"),
        ("PumpNoise", ("machine=roof",), "Ask the fitter"),
        ("KX-231", (), "Load paper"),
        ("KX-207", (), "Close the valve"),
        ("KX-944", (), "Clean the sensor"),
        ("LineSwitched", ("unplanned",), "Walk to the line"),
        ("MILL_JOB", ("PAY3",), "Restart it"),
        ("MILL_JOB", ("job=INV4",), "Leave it"),
        ("MILL_JOB", ("INV9",), "Call the auditor"),
        ("OrderStuck", ("paper",), "Push the order"),
        ("OrderStuck", ("namespace=paper",), "Push the order"),
        ("MotorHot", ("motor=cr-17",), "Lower the load"),
        ("MotorHot", ("belt-spare",), "Switch to the spare"),
        ("ClockInDown", (), "Open the gate by hand"),
        ("VapourHigh", (), "Open the hood"),
    ],
)
def test_the_row_that_is_for_it(name: str, labels: tuple[str, ...], step: str) -> None:
    answer = found(name, *labels)
    told = [one.first("step").rstrip(".") for one in answer.entries]
    assert (answer.outcome, told) == ("found", [step])


@pytest.mark.parametrize(
    ("name", "labels"),
    [
        ("SpindleSlow", ("host=sp14",)),
        ("SpindleSlow", ("sp14",)),
        ("DryerWet", ("dry-c",)),
        ("KX-241", ()),
        ("QZ-17", ("water",)),
        ("KX-200B", ()),
        ("MILL_JOB", ("PAY7",)),
        ("OrderStuck", ("namespace=glass",)),
        ("OrderStuck", ("glass",)),
        ("MotorHot", ("motor=lift-2",)),
        ("MotorHot", ("pod=lift-2",)),
    ],
)
def test_what_is_beyond_all_that_is_listed_has_no_runbook(
    name: str, labels: tuple[str, ...]
) -> None:
    assert found(name, *labels).outcome in {"none", "other_scope"}


@pytest.mark.parametrize(
    ("name", "labels", "count"),
    [
        ("RollerHot", ("oslo",), 2),
        ("RollerHot", (), 3),
        ("SpindleSlow", (), 2),
        ("LineSwitched", (), 2),
        ("MotorHot", ("prod-eu",), 2),
        ("MotorHot", ("Service=Mill",), 2),
    ],
)
def test_what_nobody_can_tell_is_asked(name: str, labels: tuple[str, ...], count: int) -> None:
    answer = found(name, *labels)
    assert (answer.outcome, len(answer.entries)) == ("several", count)


@pytest.mark.parametrize(("says", "step"), [("drift=90ms", "Tare it"), ("0.4 s off", "Replace it")])
def test_a_range_beside_the_name_is_held_against_the_amount(says: str, step: str) -> None:
    assert [one.first("step") for one in found("ScaleDrift", says=says).entries] == [step]


@pytest.mark.parametrize(
    ("said", "numbers"),
    [
        ("ab01 – ab08", ("ab", 1, 8)),
        ("AB-1 to 20", ("ab", 1, 20)),
        ("K-12xx", ("k", 1200, 1299)),
        ("ab08 – ab01", None),
        ("ab1 – cd2", None),
        ("ab-cd", None),
        ("10 – 20", None),
    ],
)
def test_ranges_of_numbered_names(said: str, numbers: tuple[str, int, int] | None) -> None:
    assert numbers_in(said) == numbers
