"""Rows of alert tables that can't be read, or that nothing tells apart."""

from __future__ import annotations

from agents.runbooks.lookup import RunbookDocument
from cli.setup.alert_tables import has_alert_table, lint_rows
from tests.agents.corpus import snapshot

CATALOGUE = """---
id: catalogue
title: Alerts
---
# Alerts

## Disks

| Alert | Region | Load | First step | Notes |
|---|---|---|---|---|
| DiskFull | EU, US | > 90% | Extend it | Only some have a second volume, ask first. |
| | all others | | Delete old logs | |
| DiskSlow | only where the old arrays are still in use | | Look at it | |
| DiskHot | all | hotter than on 3 days before | Cool it | |
| DiskGone | DE | | | |
| Backup | all | | Start it again | |
| TapeFull | EU | | Change it | |
| TapeFull | EU | | Order another | |
| TapeFull | US | | Change it twice | |
| ~~TapeTorn~~ | whoever has it | | | |

## Systems

| System | Region |
|---|---|
| Ledger | wherever somebody has a licence for it |
"""
MORE = """---
id: more
title: More alerts
---
# More alerts

| Monitor | What to do | Where |
|---|---|---|
| tape-full | Ask the vendor | |
| TapeFull | Order yet another | |
"""


def findings(*texts: str) -> list[str]:
    known = snapshot(*texts)
    documents = [RunbookDocument(known.chunks(card.id), card) for card in known.documents.values()]
    return [str(one) for one in lint_rows(documents)]


def test_rows_that_cannot_be_read_come_with_how_to_write_them() -> None:
    unread = "can't be read, so it neither confirms nor excludes the row; write"
    assert findings(CATALOGUE) == [
        f"DiskSlow, Region: “only where the old arrays are still in use” {unread} values (`EU, "
        "US`), `all except DE` or `all others`, and explain it in another column",
        "DiskGone, First step: is empty; write the first thing to do, or a link to it",
        "Backup: one plain word is found only where it is all that the alert is called; write the "
        "name as the monitoring system sends it",
        "TapeFull: another row of this name is for the same alerts; say in a column, such as "
        "Region, for which alerts each row is",
    ]


def test_rows_of_one_name_are_compared_in_any_spelling_below_their_heading() -> None:
    (finding,) = findings(MORE)
    assert finding.startswith("TapeFull: another row of this name is for the same alerts")
    assert len(findings(CATALOGUE, MORE)) == 5


def test_tables_of_alerts_are_seen_by_their_header() -> None:
    assert has_alert_table(CATALOGUE)
    assert not has_alert_table(CATALOGUE[CATALOGUE.index("## Systems") :])
