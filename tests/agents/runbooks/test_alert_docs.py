"""What docs/alerts.md says of scopes, and of the messages that it shows, is so."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from agents.alerts.reader import alerts_in
from agents.runbooks.answer import runbook_answer
from agents.runbooks.matching import match_alerts, worth_answering
from agents.runbooks.scopes import read_scope
from tests.agents.corpus import domain, snapshot
from tests.agents.runbooks.lookups import alert, matched, steps

PAGE = (Path(__file__).parents[3] / "docs" / "alerts.md").read_text(encoding="utf-8")


def rows_below(header: str) -> list[list[str]]:
    """The cells of the table with this header."""
    table = PAGE[PAGE.index(header) :].partition("\n\n")[0]
    rows = [re.split(r"(?<!\\)\|", line)[1:-1] for line in table.splitlines()[2:]]
    return [[cell.strip().replace("\\|", "|") for cell in row] for row in rows]


def in_code(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


SCOPES = [(text, *row[1:]) for row in rows_below("| write | under |") for text in in_code(row[0])]
SHOWN = rows_below("| source | message | shown |")
CATALOGUE = re.findall(r"^```markdown\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)[0]


@pytest.mark.parametrize(("text", "column", "others", "holds_for", "not_for"), SCOPES)
def test_a_cell_is_for_the_alerts_that_the_page_names(
    text: str, column: str, others: str, holds_for: str, not_for: str
) -> None:
    assert (read_scope(text, column) is None) == (not holds_for)
    rows = [(text, "this"), *((other, "that") for other in in_code(others))]
    lines = (f"| Up | {cell.replace('|', '')} | {step} |" for cell, step in rows)
    table = "\n".join((f"| Alert | {column} | First step |", "|---|---|---|", *lines))
    known = snapshot(f"---\nid: a\n---\n{table}")

    def found(labels: str) -> list[str]:
        pairs = [one for one in labels.split() if "=" in one]
        match = matched(known, alert("Up", *pairs, says="" if pairs else labels))
        return steps(match) if match.outcome in {"found", "several"} else []

    assert all(found(labels) == ["this"] for labels in in_code(holds_for))
    assert not any("this" in found(labels) for labels in in_code(not_for))
    assert "this" in found("")


@pytest.mark.parametrize(("source", "message", "expected"), SHOWN)
def test_a_message_is_shown_what_the_page_says(source: str, message: str, expected: str) -> None:
    known = snapshot(f"---\nid: alerts\ntitle: Alerts\n---\n# Alerts\n\n{CATALOGUE}")
    alerts = alerts_in("\n".join(in_code(message)), by_bot=source != "a person")
    if expected == "a question":
        assert alerts == ()
    else:
        matches = match_alerts(alerts, known, domain())
        assert worth_answering(matches)
        text = runbook_answer(matches, known, ["Shop"]).text
        assert expected in re.sub(r" \[\d\]|[*`]", "", text)
