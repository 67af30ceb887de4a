"""Drills, the whole way: the real bot over the real index, Slack and a wiki beside it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

import pytest
from prometheus_client import generate_latest
from sqlalchemy import select

from bot.features.drills.service import DRILL, DrillStep
from bot.features.drills.store import DrillStore
from bot.features.owner_drafts.store import OwnerDraftRow
from telemetry import metrics
from tests.bot.fakes import showing_to_all
from tests.bot.features.alerts.office import AlertHouse
from tests.bot.features.drills.ward import again, alerts, night, pages, sentences, ward

TWIN = """---
id: twin
title: Twin Alerts
owner: Platform Reliability (PRE)
---
# Twin Alerts

| Alert | Opens as | First step |
|---|---|---|
| `BedTwice` | SEV2 | Call the head nurse |
"""
TOOLS = """---
id: tools
title: Tools
owner: Platform Reliability (PRE)
---
# Tools

## Names

`bedctl` was renamed to `wardctl` in May.
"""
RUNBOOK = """---
id: offline
title: Bed Runbook
owner: Platform Reliability (PRE)
---
# Bed Runbook

## BedOffline

Severity: SEV1

1. Fence the bed.
2. Tell the head nurse.
"""


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AlertHouse]:
    with pages() as wiki:
        rows = (
            ("BedFull", "SEV3", "Move a patient", "1 hour: PRE"),
            ("BedTwice", "SEV2", "Count the beds", "1 hour: PRE"),
            ("BedTool", "SEV2", "Run `bedctl list --all`", "1 hour: PRE"),
            ("BedLink", "SEV2", f"See [the page]({wiki}/gone)", "1 hour: PRE"),
            ("BedOpen", "SEV2", f"See [the page]({wiki}/here)", "1 hour: PRE"),
            ("BedLocked", "SEV2", f"See [the page]({wiki}/locked)", "1 hour: PRE"),
            ("BedLogin", "SEV2", f"See [the page]({wiki}/login)", "1 hour: PRE"),
            ("BedBusy", "SEV2", f"See [the page]({wiki}/busy)", "1 hour: PRE"),
            ("BedNurse", "SEV2", "Call `<@U0NOBODY>`", "1 hour: `<!subteam^S0NOBODY>`"),
            ("BedWard", "SEV2", "Call `<@U0DANA>`", "1 hour: `<!subteam^S0PRE>`"),
        )
        folder = tmp_path_factory.mktemp("ward")
        with ward(folder, [alerts(*rows), TWIN, TOOLS, RUNBOOK]) as house:
            night(house)
            yield house


def test_every_entry_is_drilled(house: AlertHouse) -> None:
    counts = DrillStore(house.bot.engine).counts("ward")
    assert sum(counts.values()) == 12


@pytest.mark.parametrize("name", ["BedFull", "BedOffline"])
def test_an_entry_that_is_fine_says_so_below_its_answer(house: AlertHouse, name: str) -> None:
    ts = house.fires(f"[FIRING:1] {name}")
    house.settle()
    assert "Drilled within the hour: fine." in house.reply(ts)


def test_what_is_wrong_stands_below_the_answer(house: AlertHouse) -> None:
    ts = house.fires("[FIRING:1] BedLink")
    house.settle()
    assert "leads to a page that is not there." in house.reply(ts)


def test_two_entries_with_two_first_steps_are_found(house: AlertHouse) -> None:
    says = ["another entry answers the same alert with another first step"]
    assert sentences(house, "BedTwice") == says


def test_a_command_with_an_old_name_is_found(house: AlertHouse) -> None:
    assert sentences(house, "BedTool") == ["bedctl in a command is called wardctl now"]


def test_people_and_groups_that_slack_does_not_know_are_found(house: AlertHouse) -> None:
    assert sentences(house, "BedNurse") == [
        "it names somebody whom Slack doesn't know",
        "it names the group S0NOBODY, which Slack doesn't know",
    ]
    assert sentences(house, "BedWard") == []


@pytest.mark.parametrize("name", ["BedOpen", "BedLocked", "BedLogin", "BedBusy"])
def test_a_link_that_nobody_can_judge_is_not_wrong(house: AlertHouse, name: str) -> None:
    assert sentences(house, name) == []


def test_the_digest_counts_what_to_mend_and_names_only_documents_that_its_reader_may_know(
    house: AlertHouse,
) -> None:
    domain = house.copilot.domain("ward")
    digest = house.feature(DRILL).digest
    assert digest
    (part,) = digest(domain, datetime.now(UTC), showing_to_all())
    assert part.lines[0] == "5 of 12 entries need mending"
    assert [line.partition("|")[2] or line for line in part.lines[1:]] == [
        "Twin Alerts: 1", "Ward Alerts: 4"
    ]  # fmt: skip
    readers = house.bot.intake.context.readers
    outsider = readers.person("U0NOBODY")
    showing = readers.showing(outsider, "test")
    (part,) = digest(domain, datetime.now(UTC), showing)
    assert part.lines == ["5 of 12 entries need mending"]


def test_the_gauge_has_every_outcome(house: AlertHouse) -> None:
    plan = house.feature(DRILL).plan
    assert plan
    plan()
    lines = generate_latest(metrics.registry).decode()
    assert 'oncall_drilled_entries{domain="ward",outcome="fine"} 7.0' in lines
    assert 'oncall_drilled_entries{domain="ward",outcome="several"} 2.0' in lines
    assert 'oncall_drilled_timestamp_seconds{domain="ward"}' in lines


def test_the_owner_hears_once_of_what_stays_as_it_is(house: AlertHouse) -> None:
    def drafts() -> dict[str, str]:
        query = select(OwnerDraftRow.document, OwnerDraftRow.question)
        with house.bot.engine.connect() as connection:
            return {row[0]: row[1] for row in connection.execute(query)}

    before = drafts()
    assert set(before) == {"ward-alerts", "twin"}
    assert "BedTool: bedctl in a command" in before["ward-alerts"]
    assert "“Tools › Names” says so" in before["ward-alerts"]
    again(house, "20990101T023000")
    with house.bot.engine.connect() as connection:
        assert len(connection.execute(select(OwnerDraftRow.key)).all()) == 2


def test_a_batch_that_comes_again_after_a_crash_changes_nothing(house: AlertHouse) -> None:
    before = DrillStore(house.bot.engine).counts("ward")
    handle = house.feature(DRILL).handlers[DrillStep]
    again(house, "20990102T023000")
    handle("again", DrillStep(domain="ward", due="20990102T023000", step=0))
    handle("of another drill", DrillStep(domain="ward", due="20200101T023000", step=0))
    handle("of no domain", DrillStep(domain="gone", due="20200101T023000", step=0))
    house.settle()
    assert DrillStore(house.bot.engine).counts("ward") == before
