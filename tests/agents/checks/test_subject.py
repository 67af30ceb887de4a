"""Whether an answer is about what was asked."""

from __future__ import annotations

import pytest

from agents.checks.subject import subject_fault
from agents.context.sources import Source, build_sources
from tests.agents.corpus import snapshot

KEYS = """---
id: keys
title: Key Standard
---
# Key Standard

## Maximum age

<table>
<tr><th rowspan="2">Key type</th><th rowspan="2">Class</th><th colspan="2">Maximum age</th></tr>
<tr><th>EU</th><th>SG</th></tr>
<tr><td rowspan="2">API signing key (Quay)</td><td>Confidential</td>
<td>180 days</td><td>180 days</td></tr>
<tr><td>Restricted</td><td>90 days</td><td>60 days</td></tr>
<tr><td>Data encryption key</td><td>Restricted</td><td>365 days</td><td>365 days</td></tr>
<tr><td>Service account token</td><td>Confidential</td><td>45 days</td><td>45 days</td></tr>
<tr><td>Break-glass credential</td><td>Any class</td><td>90 days</td><td>90 days</td></tr>
</table>
"""
LEAVE = """---
id: leave
title: Leave Guide
---
# Leave Guide

## Employees

Up to 25 days a year. Unused days carry over until March.

## Contractors

Up to 10 days a year. Unused days are lost.

## Approvals

| Step | Employee | Contractor |
|---|---|---|
| Under a week | Team lead | Vendor manager |
| Longer | Head of department | Nobody may |
"""
GLOSSARY = {"SG": ["Singapore"]}


def sources(text: str) -> dict[str, Source]:
    """Heading → its source."""
    chunks = snapshot(text).chunks(text.split("id: ")[1].split()[0])
    return {one.first.heading: one for one in build_sources(list(chunks))}


def fault(text: str, question: str, document: str, heading: str) -> str:
    every = sources(document)
    return subject_fault(
        text, [every[heading]], question=question, glossary=GLOSSARY, read=[*every.values()]
    )


@pytest.mark.parametrize(
    ("text", "about"),
    [
        ("90 days [1].", "'Maximum age › SG', not 'Maximum age › EU'"),
        ("An API signing key may be 90 days old in Singapore [1].", "› SG', not"),
        ("180 days [1].", "'API signing key (Quay) Restricted', not"),
        ("45 days [1].", "'API signing key (Quay) Restricted', not 'Service account token"),
    ],
)
def test_the_value_of_another_row_or_column_is_about_something_else(text: str, about: str) -> None:
    question = "how old may an API signing key on Restricted data get in Singapore?"
    assert about in fault(text, question, KEYS, "Maximum age")


@pytest.mark.parametrize(
    ("text", "question"),
    [
        ("60 days [1].", "how old may an API signing key on Restricted data get in Singapore?"),
        ("180 days [1].", "how old may an API signing key get in Singapore?"),
        ("60 days in SG and 90 days in the EU [1].", "age of a Restricted signing key, SG and EU?"),
        ("90 days for a break-glass credential [1].", "how old may a credential get?"),
        ("Ask the owner before you rotate it [1].", "how old may a signing key get in Singapore?"),
    ],
)
def test_what_was_asked_is_no_fault(text: str, question: str) -> None:
    assert fault(text, question, KEYS, "Maximum age") == ""


def test_another_section_or_column_answers_for_another_role() -> None:
    question = "how many days of leave do employees get?"
    assert "Employees" in fault("10 days a year [1].", question, LEAVE, "Contractors")
    assert fault("25 days a year [1].", question, LEAVE, "Employees") == ""
    question = "who approves an employee's leave of under a week?"
    assert "'Employee'" in fault("The vendor manager [1].", question, LEAVE, "Approvals")
    assert fault("The team lead [1].", question, LEAVE, "Approvals") == ""


ROTA = """---
id: rota
title: Support
---
# Support

## Meetings

| Meeting | Who comes | When |
|---|---|---|
| Ops review<br>Looks at open incidents with the team leads | Team leads, Operations | Every \
other month, 90 minutes |
| Team leads' lunch<br>No agenda | Team leads | Thursdays, 60 minutes |
| Newcomers' round | Everyone who is new | Mondays, 30 minutes |

## Hubs

| Stage | Hub | Address |
|---|---|---|
| Staging | Production | 10.0.0.4 |
| Preview | Non production | 10.0.0.9 |
| Demo | Non production | 10.0.0.9 |

## Backups

| Kind | Kept for | Recovery point objective | Recovery time objective |
|---|---|---|---|
| Nightly | 120 days | 24 hours | 2 hours |
"""


@pytest.mark.parametrize(
    ("heading", "question", "right", "wrong"),
    [
        ("Meetings", "how long does the ops review take", "An hour and a half [1].", "60 min [1]."),
        ("Meetings", "what day is that lunch for leads?", "Thursday [1].", "Mondays, 30 min [1]."),
        ("Meetings", "which meeting is for new people?", "Newcomers' round [1].", ""),
        ("Hubs", "which hub is staging behind?", "The production hub [1].", "Non production [1]."),
        ("Hubs", "address of the preview hub?", "10.0.0.9 [1].", "10.0.0.4 [1]."),
        ("Backups", "recovery time of the nightly one", "2 hours [1].", "24 hours [1]."),
        ("Backups", "how much can we lose with nightly?", "24 hours [1].", ""),
    ],
)
def test_a_row_is_meant_by_its_label_and_cells_and_a_column_by_its_header(
    heading: str, question: str, right: str, wrong: str
) -> None:
    assert fault(right, question, ROTA, heading) == ""
    assert not wrong or fault(wrong, question, ROTA, heading)
