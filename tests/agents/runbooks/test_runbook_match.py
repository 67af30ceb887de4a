"""Which row is for an alert, by its name and its labels; or none, or which of several."""

from __future__ import annotations

import pytest

from agents.alerts.reader import alerts_in
from tests.agents.alerts.documents import CATALOGUE, RUNBOOKS
from tests.agents.alerts.documents import KNOWN as SHOP
from tests.agents.corpus import snapshot
from tests.agents.runbooks.lookups import alert, matched, steps

MILL = """---
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
| " | Lund | day | P3 | Ring the smith |
| ditto | '' | night | 〃 | Wake the smith |
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

## Runbook: OrderStuck

Namespace: paper. Prio: P2.

1. Push the order.

## Runbook: MotorHot (cranes)

Motor: `cr-*`. Prio: P1.

1. Lower the load.

## Runbook: MotorHot (belts)

Motor: belt, belt-spare. Prio: P3.

1. Switch to the spare.

## When nobody can clock in

Alert: `ClockInDown`. Owner: Gate.

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

Alert: `VapourHigh`

1. Open the hood.
"""

OLD_MILL = """---
id: old-mill
title: Mill Alarms 2024
status: superseded
---
# Mill Alarms 2024

| Alarm | Hall | First step |
|---|---|---|
| RollerHot | Turin | Stop everything |
| TapeStuck | all | Restart from the top |
"""

KNOWN = snapshot(MILL, OLD_MILL)


@pytest.mark.parametrize(
    ("name", "labels", "step"),
    [
        ("RollerHot", "hall=oslo shift=night", "Slow the roller"),
        ("roller-hot", "oslo day", "Cool the roller"),
        ("RollerHot", "turin day", "Call the landlord"),
        ("RollerHot", "lund day", "Ring the smith"),
        ("RollerHot", "lund night", "Wake the smith"),
        ("SpindleSlow", "instance=sp08:9100", "Stop the line"),
        ("SpindleSlow", "sp06", "Grease it"),
        ("DryerWet", "dry-b", "Open the vent"),
        ("DryerWet", "machine=dry-x", "Wait"),
        ("PumpNoise", "machine=wet-7", "Prime the pump"),
        ("PumpNoise", "machine=roof", "Ask the fitter"),
        ("KX-231", "", "Load paper"),
        ("KX207", "", "Close the valve"),
        ("KX-944", "", "Clean the sensor"),
        ("LineSwitched", "unplanned", "Walk to the line"),
        ("CageOpen", "rear doors", "Ring the porter"),
        ("OrderStuck", "namespace=paper", "Push the order"),
        ("MotorHot", "motor=cr-17", "Lower the load"),
        ("MotorHot", "belt-spare", "Switch to the spare"),
        ("ClockInDown", "", "Open the gate by hand"),
    ],
)
def test_the_row_that_is_for_it(name: str, labels: str, step: str) -> None:
    labels = labels.replace("rear doors", "rear\tdoors")
    match = matched(
        KNOWN, alert(name, *(one.replace("\t", " ") for one in labels.split(" ") if one))
    )
    assert (match.outcome, steps(match)) == ("found", [step])


@pytest.mark.parametrize(
    ("name", "labels"),
    [
        ("SpindleSlow", "host=sp14"),
        ("SpindleSlow", "sp14"),
        ("KX-241", ""),
        ("KX-200B", ""),
        ("QZ-17", "water"),
        ("OrderStuck", "namespace=glass"),
        ("MotorHot", "motor=lift-2"),
        ("TapeStuck", ""),
        ("RollerHo", ""),
    ],
)
def test_what_no_row_is_for_has_no_runbook(name: str, labels: str) -> None:
    assert matched(KNOWN, alert(name, *labels.split())).outcome in {"none", "other_scope"}


@pytest.mark.parametrize(
    ("name", "labels", "count"),
    [
        ("RollerHot", "oslo", 2),
        ("RollerHot", "", 5),
        ("SpindleSlow", "", 2),
        ("LineSwitched", "", 2),
        ("MotorHot", "prod-eu", 2),
    ],
)
def test_what_nobody_can_tell_is_left_open(name: str, labels: str, count: int) -> None:
    match = matched(KNOWN, alert(name, *labels.split()))
    assert (match.outcome, len(match.entries)) == ("several", count)


@pytest.mark.parametrize(
    ("name", "labels", "says", "step"),
    [
        ("KeyOverdue", "class=RC region=sg", "", "Freeze the key in Singapore"),
        ("KeyOverdue", "class=RC region=eu", "", "Rotate within the hour"),
        (
            "KeyOverdue",
            "class=Restricted region=ap-southeast-1 cluster=sg",
            "",
            "Open a ticket for",
        ),
        ("KeyOverdue", "Restricted us page", "", "Open a ticket"),
        ("KeyAge", "class=RC region=jp", "", "Tell the owner"),
        ("DiskFull", "env=prod", "Usage: 97 %", "Extend the volume now"),
        ("DiskFull", "prod", "83 % used", "Delete old logs"),
        ("HostDown", "env=production", "", "Fail over"),
        ("HostDown", "env=prod severity=p4", "", "Fail over"),
        ("HostDown", "env=non-prod", "", "Wait until the morning"),
        ("ClockSkew", "region=eu-west-1", "", "Restart chrony in Ireland"),
        ("ClockSkew", "region=eu-west-2", "", "Write it down"),
        ("SlowReads", "region=fr", "", "Look at the cache"),
        ("SlowReads", "region=de", "", "Call Frankfurt"),
        ("QueueDepth", "queue=orders.new", "", "Add workers"),
        ("QueueDepth", "queue=returns.new", "", "Find the consumer"),
        ("ProviderTimeout", "provider=klarion", "", "Hide the button"),
        ("ConnectionsHigh", "cluster=core", "97% used", "Switch to the standby"),
        ("ConnectionsHigh", "cluster=reports", "93% used", "Restart the pooler"),
        ("DB-3", "reports", "", "Restart the pooler"),
        ("DnsServfail", "x", "", "Use the second resolver"),
        ("TokensOld", "env=prod region=eu-central-1", "", "Rotate the signing key"),
        ("LobbyFull", "region=us", "", "Open the overflow pool"),
        ("FleetDegraded", "x", "", "Drain the bad zone"),
        ("HD", "prod", "", "Fail over"),
        ("host_lost", "prod", "", "Fail over"),
    ],
)
def test_labels_choose_the_row(name: str, labels: str, says: str, step: str) -> None:
    match = matched(SHOP, alert(name, *labels.split(), says=says))
    assert match.outcome == "found"
    assert steps(match)[0].startswith(step)


@pytest.mark.parametrize(
    ("name", "labels"),
    [
        ("KeyOverdue", "class=RC region=jp"),
        ("KeyOverdue", "class=Internal region=sg"),
        ("DiskFull", "env=staging"),
        ("TokensOld", "env=prod region=us"),
        ("LobbyFull", "region=asia"),
        ("SlowReads", "region=us"),
    ],
)
def test_where_every_row_is_for_others_it_is_said(name: str, labels: str) -> None:
    match = matched(SHOP, alert(name, *labels.split()))
    assert match.outcome == "other_scope"
    assert match.entries


@pytest.mark.parametrize(
    ("name", "labels", "says", "count", "on"),
    [
        ("KeyOverdue", "class=RC", "", 2, ("Region",)),
        ("KeyOverdue", "", "", 4, ("Class", "Region")),
        ("KeyOverdue", "region=sg severity=SEV1", "", 2, ("Class",)),
        ("HostDown", "host=db-1", "", 2, ("Environment",)),
        ("ProviderTimeout", "", "", 2, ()),
        ("ConnectionsHigh", "prod", "85% used", 2, ("Cluster", "Threshold")),
        ("DiskFull", "prod", "broker 1: 83 % used|broker 2: 97 % used", 2, ()),
    ],
)
def test_the_columns_that_would_tell_are_named(
    name: str, labels: str, says: str, count: int, on: tuple[str, ...]
) -> None:
    match = matched(SHOP, alert(name, *labels.split(), says=says))
    assert (match.outcome, len(match.entries), match.on) == ("several", count, on)


def test_a_value_that_may_be_of_no_row_leaves_amounts_and_owners_undecided() -> None:
    rows = "| {} | {} | step {} | {} |"
    table = [("lis-db", "> 60 s", "IT desk"), ("lis-db", "> 300 s", "IT desk")]
    table.append(("old-db", "> 1800 s", "Cargo desk"))
    known = snapshot(
        "\n".join((
            "---\nid: lag\n---\n| Alert | Store | Lag | First step | Owner |",
            "|---|---|---|---|---|",
            *(f"| LagHigh {rows.format(*one[:2], at, one[2])}" for at, one in enumerate(table)),
        ))
    )  # fmt: skip
    match = matched(known, alert("LagHigh", "site=consent-db", says="744 s behind"))
    assert (match.outcome, steps(match)) == ("several", ["step 1", "step 2"])


def test_amounts_of_a_recovery_choose_nothing() -> None:
    one = alert("DiskFull", "env=prod", says="83 % used", status="resolved")
    assert matched(SHOP, one).outcome == "several"


@pytest.mark.parametrize(
    ("title", "step"),
    [
        ("mill-eye: KX-231 PAPER", "Load paper"),
        ("RollerHot in oslo (night)", "Slow the roller"),
        ("Basket latency p95 on shop:nl", "Note it"),
        ("Connections high on core: 97 % used", "Switch to the standby"),
    ],
)
def test_a_guessed_name_is_looked_for_in_the_whole_title(title: str, step: str) -> None:
    match = matched(snapshot(MILL, CATALOGUE, RUNBOOKS), alert("guess", title=title))
    assert (match.outcome, steps(match)) == ("found", [step])


def test_a_stated_name_is_not_replaced_by_words_around_it() -> None:
    one = alert("NobodyKnows", says="RollerHot in oslo")
    assert matched(KNOWN, one).outcome == "none"
    guessed = alert("Nobody knows", title="Nobody knows it", says="RollerHot in oslo")
    assert matched(KNOWN, guessed).alert.name == "RollerHot"


@pytest.mark.parametrize(
    ("title", "step"),
    [
        ("Low water in hall 2", "Fill it"),
        ("Water low: really low since 5 min", ""),
        ("Low water on the way to the harsh coast of Norway", ""),
        ("Post-Incident review of the coast", ""),
        ("Post-Incident", "Write it down"),
        ("The tap w-17 of hall 2: low water at 3 %", "Fill it"),
        ("W-17 closed", "Open it"),
    ],
)
def test_words_of_a_title_are_a_name_where_they_are_most_of_it(title: str, step: str) -> None:
    rows = "| Low water | Fill it |\n| Post-Incident | Write it down |\n| W-17 | Open it |"
    known = snapshot(f"---\nid: a\n---\n| Alert | First step |\n|---|---|\n{rows}")
    match = matched(known, alert("guess", title=title))
    assert steps(match) == ([step] if step else [])


@pytest.mark.parametrize("title", ["Low water in hall 2", "is W-17 closed", "Low water"])
def test_of_words_that_may_be_no_alert_only_identifiers_or_all_count(title: str) -> None:
    rows = "| Low water | Fill it |\n| W-17 | Open it |"
    known = snapshot(f"---\nid: a\n---\n| Alert | First step |\n|---|---|\n{rows}")
    match = matched(known, alert("guess", title=title, certain=False))
    assert (match.outcome == "found") == ("hall" not in title)


@pytest.mark.parametrize(
    ("name", "step"),
    [
        ("orders-production-api-5xx-errors", "Roll back"),
        ("orders-staging-api-5xx-errors", "Tell the team"),
        ("mail-01/HostDown", "Ring the bell"),
        ("a-b-c-d-api-5xx-errors", ""),
        ("api-5xx-errors (staging)", "Tell the team"),
        ("HostDown [mail-01]", "Ring the bell"),
        ("HostDown-mail.shop", "Ring the bell"),
        ("MyHostDown", ""),
    ],
)
def test_a_name_made_of_parts_is_found_by_most_of_them(name: str, step: str) -> None:
    rows = ("api-5xx-errors | production | Roll back", "api-5xx-errors | staging | Tell the team")
    lines = ("Alarm | Environment | Action", "---|---|---", *rows, "HostDown | all | Ring the bell")
    table = "\n".join(f"| {line} |" for line in lines)
    match = matched(snapshot(f"---\nid: a\n---\n{table}"), alert(name))
    assert steps(match) == ([step] if step else [])


def test_a_coined_name_in_a_bots_line_is_found_with_the_words_around_it() -> None:
    text = "trapd01 trap *RollerHot* from oslo (night): the roller of the big press is too hot now"
    (one,) = alerts_in(text, by_bot=True)
    assert not one.certain
    assert steps(matched(KNOWN, one)) == ["Slow the roller"]


def test_the_runbook_that_the_message_links_to_counts_where_its_name_finds_nothing() -> None:
    one = alert("NobodyKnows", runbooks=("https://wiki.example/mill/vapour-high.html#top",))
    assert steps(matched(KNOWN, one)) == ["Open the hood"]
