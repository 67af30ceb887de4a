"""What docs/alerts.md says of scopes, and of the messages that it shows, is so."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from agents.alerts.reader import alerts_in
from agents.runbooks.amounts import amounts_in
from agents.runbooks.answer import runbook_answer
from agents.runbooks.labels import AlertFacts
from agents.runbooks.matching import match_alerts, worth_answering
from agents.runbooks.scopes import Verdict, read_scope, together, verdict
from tests.agents.corpus import domain, snapshot

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
    scope = read_scope(text, column)
    assert (scope is None) == (not holds_for)
    rivals = together(
        one.values for other in in_code(others) for one in read_scope(other, column) or ()
    )

    def says(labels: str) -> Verdict:
        pairs = [(key, value) for key, value in re.findall(r"(\w+)=(\S+)", labels)]
        return verdict(scope, AlertFacts(labels=pairs, amounts=amounts_in(labels)), rivals, rivals)

    assert {says(labels) for labels in in_code(holds_for)} <= {"yes"}
    assert {says(labels) for labels in in_code(not_for)} <= {"no"}
    assert says("") in {"unknown", "yes"}


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
