"""What somebody on call is told of an alert, by whom it may be read, and when agents answer."""

from __future__ import annotations

import pytest

from agents.answer import Answer, Question
from agents.runbooks.answer import with_runbook_lookup
from agents.steps import Progress
from index.permissions.rules import identities
from index.search import Snapshot
from loaders.document import Permission
from tests.agents.alerts.documents import CATALOGUE, KNOWN, OLD, RUNBOOKS
from tests.agents.corpus import domain, snapshot

BY_AGENTS = Answer(text="the agents", path="no_answer_found", confidence=0.5)
INES, BOB = identities("ines@example.com"), identities("bob@example.com")
LINKED = """---
id: linked
title: Ledger Alerts
owner: Ledger Core
---
# Ledger Alerts

| Alert | Fires when | First step |
|---|---|---|
| `PrimaryDown` | No heartbeat | [Failover runbook](doc:failover), step 1 |
| `DiskNear`<br>`DiskFar` | Over 80% | Extend it |
"""
FAILOVER = """---
id: failover
title: Failover Runbook
---
# Failover Runbook

This runbook is for the alert `PrimaryDown`.

1. Read the lag of the standby.
2. Promote it.
"""
MERGED = """---
id: merged
title: Merged Alerts
---
# Merged Alerts

<table>
<thead><tr><th>Alert</th><th>Region</th><th>First step</th></tr></thead>
<tbody>
<tr><td rowspan="2"><code>BrokerDown</code></td><td>EU</td><td>Wait ten minutes</td></tr>
<tr><td>SG</td><td>Replace the node</td></tr>
<tr><td><code>BrokerSlow</code></td><td colspan="2">Look at its disk</td></tr>
</tbody>
</table>
"""


def answered(
    text: str, known: Snapshot = KNOWN, *, readers: frozenset[str] | None = None
) -> Answer:
    def agents(question: Question, progress: Progress | None = None) -> Answer:
        return BY_AGENTS

    ask = with_runbook_lookup(domain(), lambda: known)(agents)
    return ask(Question(text=text, readers=readers), None)


def test_the_row_with_severity_first_step_whom_to_call_owner_and_link() -> None:
    answer = answered("[FIRING:1] KeyOverdue (RC sg)")
    assert answer.path == "company_specific_rag_success"
    for said in ("SEV1", "Freeze the key in Singapore", "5 minutes: CISO", "Keys SG"):
        assert said in answer.text
    (cited,) = answer.citations
    assert cited.quote.startswith("KeyOverdue | RC | sg")
    assert cited.url
    assert "Rotate" not in answer.text


def test_a_resolved_one_says_so() -> None:
    assert "resolved" in answered("[RESOLVED] KeyOverdue (RC sg)").text.splitlines()[0]


def test_no_runbook_is_said_with_the_name_and_cites_nothing() -> None:
    answer = answered("[FIRING:1] NobodyKnows (RC sg)")
    assert answer.text == "No runbook for `NobodyKnows` in Security help."
    assert answer.found_nothing
    assert not answer.citations


def test_a_row_for_others_is_named_as_such_and_not_given() -> None:
    answer = answered("KeyOverdue class=RC region=jp")
    assert answer.found_nothing
    assert (
        "No runbook for `KeyOverdue` in Security help with `class=RC`, `region=jp`" in answer.text
    )
    assert "Region: sg" in answer.text
    assert "Freeze" not in answer.text


def test_what_only_an_old_document_says_is_no_runbook() -> None:
    answer = answered("TapeStuck env=prod")
    assert answer.found_nothing
    assert "Alert Catalogue 2024" in answer.text
    assert "Pull the tape" not in answer.text


def test_of_several_rows_all_are_shown_with_what_would_tell() -> None:
    answer = answered("KeyOverdue class=RC")
    assert "2 entries" in answer.text
    assert "**Region**" in answer.text
    assert "Freeze the key" in answer.text
    assert "Rotate within the hour" in answer.text
    assert len(answer.citations) == 2


def test_rows_that_no_column_of_theirs_decides_are_told_apart_by_what_differs() -> None:
    rows = "| PumpDry | Low flow | Prime it |\n| PumpDry | No flow | Swap it |"
    page = f"# Pumps\n\n| Alert | Meaning | First step |\n|---|---|---|\n{rows}\n"
    answer = answered("FIRING PumpDry", snapshot(f"---\nid: pumps\ntitle: Pumps\n---\n{page}"))
    assert "- **Low flow**: Prime it." in answer.text
    assert "- **No flow**: Swap it." in answer.text


def test_several_alerts_of_one_message_are_told_each_once() -> None:
    text = "[FIRING:1] KeyOverdue (RC sg)\n[FIRING:1] KeyOverdue (RC sg)\n[FIRING:1] Unheard (x)"
    answer = answered(text)
    assert answer.text.count("Freeze the key in Singapore") == 1
    assert "No runbook for `Unheard`" in answer.text


@pytest.mark.parametrize(
    "text",
    ["what does KeyOverdue mean for RC?", "who owns KeyOverdue?", "hello", "Warning: rain tonight"],
)
def test_a_question_goes_to_the_agents(text: str) -> None:
    assert answered(text) is BY_AGENTS


def test_steps_behind_a_link_are_told() -> None:
    answer = answered("[FIRING:1] PrimaryDown (eu)", snapshot(LINKED, FAILOVER))
    assert "Failover Runbook" in answer.text
    assert "Read the lag of the standby." in answer.text
    assert "Ledger Core" in answer.text
    assert {one.document for one in answer.citations} == {"linked", "failover"}


def test_a_cell_that_names_two_alerts_is_for_both() -> None:
    for name in ("DiskNear", "DiskFar"):
        assert "Extend it" in answered(f"FIRING {name}", snapshot(LINKED)).text


@pytest.mark.parametrize(
    ("text", "step"),
    [
        ("BrokerDown region=eu", "Wait ten minutes"),
        ("BrokerDown region=sg", "Replace the node"),
        ("BrokerSlow region=sg", "Look at its disk"),
    ],
)
def test_merged_cells_count_for_each_of_their_rows(text: str, step: str) -> None:
    assert step in answered(text, snapshot(MERGED)).text


def test_rows_of_two_documents_that_say_different_things_are_both_shown() -> None:
    other = CATALOGUE.replace("id: catalogue", "id: other").replace("Tell the owner", "Wake them")
    answer = answered("KeyAge class=RC", snapshot(CATALOGUE, other))
    assert "Tell the owner" in answer.text
    assert "Wake them" in answer.text


def test_who_may_not_read_the_document_hears_of_no_runbook() -> None:
    only_ines = {"catalogue": (Permission(kind="user", value="ines@example.com"),)}
    known = snapshot(CATALOGUE, RUNBOOKS, OLD, permissions=only_ines)
    told = answered("KeyOverdue class=RC region=sg", known, readers=INES)
    untold = answered("KeyOverdue class=RC region=sg", known, readers=BOB)
    assert "Freeze the key" in told.text
    assert untold.text == "No runbook for `KeyOverdue` in Security help."
    assert not untold.drawn_from
    assert not untold.citations


def test_names_and_labels_of_others_bring_no_markup_of_their_own() -> None:
    answer = answered("[FIRING:1] Bad`*Name*`Thing (x)")
    assert "*" not in answer.text.replace("`", "")


NUMBERED = """---
id: numbered
title: Kiln Runbooks
---
# Kiln Runbooks

## KL-7 Kiln pressure low

Severity: S2. Owner: Firing team.

1. Read the gauge, see the [map](doc:map).
2. Open valve `v3`.
3. Call the shift lead.
4. Write it down.

## KL-8 Kiln door open (west hall)

1. Close it.
2. Ring the bell.
"""


@pytest.mark.parametrize(
    "text",
    [
        "Triggered: Kiln pressure low on kiln:4",
        "Triggered on {kiln:4}: KL-7 Kiln pressure low",
        "[FIRING:1] KilnPressureLow (4 warning)",
    ],
)
def test_a_section_numbered_by_a_code_is_found_and_tells_its_first_steps(text: str) -> None:
    answer = answered(text, snapshot(NUMBERED))
    assert answer.path == "company_specific_rag_success"
    assert "**First steps of 4:** [1]\n\n1. Read the gauge, see the map." in answer.text
    assert "3. Call the shift lead.\n" in answer.text
    assert "Write it down" not in answer.text
    assert "**Owner:** Firing team" in answer.text.splitlines()[-1]


def test_all_steps_are_told_where_they_are_few() -> None:
    answer = answered("Triggered: Kiln door open on hall:west hall", snapshot(NUMBERED))
    assert "**First steps:** [1]\n\n1. Close it.\n2. Ring the bell.\n" in answer.text


COMMANDS = """---
id: commands
title: DjangoDown
---
# DjangoDown

## Resolution

1. Restart the **service**:
   ```bash
   kubectl rollout restart deploy/django --selector='app in (**)'
   ```
2. Watch it come back.
"""


def test_a_step_comes_with_the_command_that_it_introduces() -> None:
    text = answered("[FIRING:1] DjangoDown", snapshot(COMMANDS)).text
    command = "kubectl rollout restart deploy/django --selector='app in (**)'"
    assert f"1. Restart the service:\n```\n{command}\n```\n2. Watch it come back." in text


@pytest.mark.parametrize(
    ("page", "step"),
    [
        ("# Fixing PumpDry\n\n## Overview\n\nIt is dry.\n\n## Steps\n\n1. Prime it.", "Prime it"),
        ("# PumpDry\n\nIt is dry.\n\n```sh\n# Prime it\npump prime\n```", "Prime it `pump prime`"),
        ("# PumpDry\n\n- Meaning:\n  - It is dry.\n- Solution:\n  - Prime it.", "Prime it"),
    ],
)
def test_a_page_s_first_step_is_the_first_that_somebody_does(page: str, step: str) -> None:
    known = snapshot(f"---\nid: pumps\ntitle: PumpDry\n---\n{page}\n")
    assert f"**First step:** {step}." in answered("FIRING PumpDry", known).text


def test_the_steps_of_the_runbook_whose_introduction_names_the_alert_are_told() -> None:
    unlinked = LINKED.replace("[Failover runbook](doc:failover)", "Failover runbook")
    answer = answered("[FIRING:1] PrimaryDown (eu)", snapshot(unlinked, FAILOVER))
    assert "**Steps:** Failover Runbook" in answer.text
    assert "Read the lag of the standby." in answer.text
    other = FAILOVER.replace("id: failover", "id: other")
    assert "**Steps:**" not in answered("PrimaryDown", snapshot(unlinked, FAILOVER, other)).text
