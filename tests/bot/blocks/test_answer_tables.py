"""Tables in answers: the asked column first, amounts in order, code as code, and older forms."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest

from agents.answer import Answer
from bot.blocks.fallbacks import fallback_versions, older_version
from bot.blocks.render import SlackMessage, render
from bot.blocks.tables import (
    Grid,
    TableContext,
    aligned,
    data_table_block,
    label_column,
    with_requested_first,
)
from playground.slack.rules.block_rules import problems, too_long
from tests.bot.fakes import answer, passages_found

KEYS = Grid(
    ("Credential", "Owner", "EU", "US", "SG"),
    (
        ("API signing key", "Quay", "90 days", "90 days", "60 days"),
        ("Webhook secret", "Harbor", "365 days", "365 days", "365 days"),
    ),
)
ROLES = """\
| Role | Default | Longest | Where |
|---|---|---|---|
| `ledger-dba` | 1 hour | 4 hours | see `docs/roles.md` |
| `hbr-admin` | 2 hours | 12 hours | ops@tidewater.com |
"""


def shown(text: str, **more: Any) -> SlackMessage:
    return render(answer(text, **more), question_id="q")[0]


def table(message: SlackMessage, kind: str = "data_table") -> dict[str, Any]:
    return next(block for block in message.blocks if block["type"] == kind)


def header(grid: Grid) -> list[str]:
    return list(grid.header)


@pytest.mark.parametrize(
    ("about", "first"),
    [
        (TableContext(question="how old may an API signing key get in SG?"), "SG"),
        (TableContext(question="who is the owner of the webhook secret?"), "Owner"),
        (TableContext(prose="In Singapore it may be **60 days** old."), "SG"),
        (TableContext(quotes=("Quay",)), "Owner"),
        (TableContext(question="how old may keys get?"), "Owner"),
        (TableContext(question="in the EU and in the US?"), "Owner"),
        (TableContext(prose="The building of 1960 days is no age."), "Owner"),
    ],
)
def test_the_asked_column_stands_beside_the_label(about: TableContext, first: str) -> None:
    assert header(with_requested_first(KEYS, about))[:2] == ["Credential", first]


def test_bold_cells_tell_the_column_more_than_words_do() -> None:
    grid = Grid(KEYS.header, KEYS.rows, bold_cells=(1, 0, 0, 1, 0))
    assert header(with_requested_first(grid, TableContext(question="of SG")))[:2] == [
        "Credential",
        "US",
    ]


def test_a_running_number_names_no_row() -> None:
    grid = Grid(("#", "Role", "Longest"), (("1", "dba", "4 h"), ("2", "admin", "8 h")))
    assert label_column(grid) == 1
    assert header(with_requested_first(grid, TableContext(question="longest?"))) == [
        "Role",
        "Longest",
        "#",
    ]
    assert label_column(Grid(("Version", "Valid"), (("7", "a day"), ("8", "a week")))) == 0


def test_every_cell_is_still_there() -> None:
    turned = with_requested_first(KEYS, TableContext(question="SG?"))
    assert sorted(turned.rows[0]) == sorted(KEYS.rows[0])


def test_the_question_as_it_was_understood_tells_the_column() -> None:
    message = shown(ROLES, standalone_question="what is the longest elevation?")
    names = [cell["text"] for cell in table(message)["rows"][0]]
    assert names == ["Role", "Longest", "Default", "Where"]


@pytest.mark.parametrize(
    ("cells", "numbers"),
    [
        (["60 days", "365 days"], [60, 365]),
        (["1 hour", "12 hours"], [1, 12]),
        (["$1,200.50", "$9"], [1200.5, 9]),
        (["-3", "+4"], [-3, 4]),
        (["[2]", "[1]"], [2, 1]),
        (["60 days", "12 hours"], None),
        (["60 days", ""], None),
        (["5-10 days", "3 days"], None),
        (["v1.2.3", "v1.2.4"], None),
        (["2026-01-02", "2026-01-03"], None),
    ],
)
def test_amounts_in_one_unit_are_sorted_as_amounts(
    cells: list[str], numbers: list[float] | None
) -> None:
    block = data_table_block(Grid(("x",), tuple((cell,) for cell in cells)), "Ages")
    assert problems([block]) == []
    found = [row[0].get("value") for row in block["rows"][1:]]
    assert found == (numbers or [None] * len(cells))
    if numbers:
        assert [row[0]["text"] for row in block["rows"][1:]] == cells


def test_code_stays_code_in_every_form() -> None:
    full, older, plain = fallback_versions(shown(f"Use `lockbox`.\n\n{ROLES}"))
    for kind, form in (("data_table", full), ("table", older)):
        cell = table(form, kind)["rows"][1][0]
        assert cell["elements"][0]["elements"] == [
            {"type": "text", "text": "ledger-dba", "style": {"code": True}}
        ]
    said = "\n".join(b["text"]["text"] for b in plain.blocks if b["type"] == "section")
    assert "Use `lockbox`." in said
    assert "```\nRole       | Default" in said
    assert "`" not in said.partition("```")[2].partition("```")[0]


def test_code_stays_code_where_a_table_is_too_wide_for_lines() -> None:
    grid = Grid(("Role", "Note"), (("`ledger-dba`", "x" * 90),))
    assert aligned(grid).startswith("- **`ledger-dba`**: Note: xxx")


def test_an_older_workspace_gets_one_table_and_the_next_as_text() -> None:
    older = older_version(shown(f"{ROLES}\n\nand\n\n{ROLES}"))
    kinds = [block["type"] for block in older.blocks]
    assert kinds.count("table") == 1
    assert "data_table" not in kinds
    assert problems(older.blocks) == []


def fits(message: SlackMessage) -> None:
    for form in fallback_versions(message):
        assert problems(form.blocks) == []
        assert not too_long(form.blocks)


@pytest.mark.parametrize(
    "text",
    [
        "| a | b |\n|---|---|\n| c | d |\n\nword\n\n" * 300,
        f"| a | b |\n|---|---|\n| {'x' * 80} | d |\n" + "| c | d |\n" * 900,
        f"| {'head | ' * 19}\n{'|---' * 19}|\n" + f"| {'x | ' * 19}\n" * 400,
        f"| a | {'name of a column ' * 6} |\n|---|---|\n" + "| c | d |\n" * 900,
    ],
)
def test_of_many_and_of_ill_shaped_tables_no_cell_is_lost_in_any_form(text: str) -> None:
    first, far = answer().citations[0], "https://docs.example/" + "x" * 150
    cited = tuple(
        replace(first, number=n, document=str(n), title="T" * 200, url=f"{far}{n}")
        for n in range(20)
    )
    sent = render(answer(text, citations=cited), question_id="q")
    cells = text.count(" d |") + text.count(" x |")
    for number in range(3):
        shown = [
            fallback_versions(message)[min(number, len(fallback_versions(message)) - 1)]
            for message in sent
        ]
        said = " ".join(str(form.blocks) for form in shown).replace("\\n", " ")
        assert len(re.findall(r"\b[dx]\b", said)) >= cells
    for message in sent:
        fits(message)


@pytest.mark.parametrize(
    ("before", "cell", "caption"),
    [
        ("As the standard says [1].", "[2]", "Roles"),
        ("First [2], and then [1]:", "x", "Maximum age"),
        ("No source says so.", "x", "1 row"),
        ("", "[9]", "1 row"),
    ],
)
def test_a_table_is_named_by_the_place_that_it_cites(before: str, cell: str, caption: str) -> None:
    first = answer().citations[0]
    cited = (first, replace(first, number=2, title="Runbook", heading="Roles"))
    message = shown(f"{before}\n\n| a | b |\n|---|---|\n| x | {cell} |", citations=cited)
    assert table(message)["caption"] == caption


def test_of_a_passage_the_column_with_the_telling_words_comes_first() -> None:
    rows = "".join(f"| Key {n} | Team {n} of Quay | {n} days |\n" for n in range(4))
    text = f"| Key | Owner | Age |\n|---|---|---|\n{rows}| Key 9 | Harbor | **60 days** |\n"
    found: Answer = passages_found(text)
    block = table(render(found, question_id="q")[0])
    assert [cell["text"] for cell in block["rows"][0]] == ["Key", "Age", "Owner"]
