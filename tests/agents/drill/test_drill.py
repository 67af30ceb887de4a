"""What a drill finds in documents, and what it leaves alone."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from agents.drill.checks import Drill, all_renames
from agents.drill.rows import renames_in
from index.search import Snapshot
from tests.agents.corpus import domain, snapshot
from tests.bot.hostile_text import payloads

NOW = datetime(2026, 11, 28, tzinfo=UTC)


def document(name: str, text: str, **front: str) -> str:
    lines = "".join(f"{key}: {value}\n" for key, value in front.items())
    return f"---\nid: {name}\ntitle: {name.title()} alerts\n{lines}---\n# {name.title()}\n\n{text}"


def table(*rows: str, header: str = "Alert | Region | First step") -> str:
    columns = "|".join(["---"] * len(header.split("|")))
    return f"| {header} |\n|{columns}|\n" + "".join(f"| {row} |\n" for row in rows)


def drill(visible: Snapshot, *shapes: str) -> dict[str, list[str]]:
    """The alert and document of each entry → the sentences of its findings."""
    made = Drill(
        snapshot=visible, domain=domain(), now=NOW, renames=all_renames(visible), shapes=shapes
    )
    rows = [row for name in sorted(visible.documents) for row in made.rows(name)]
    return {
        f"{row.names[0]} in {row.entry.chunk.document_id}": [
            one.sentence for one in made.findings(row)
        ]
        for row in rows
    }


TEA = document(
    "tea",
    table(
        "`TeaCold` | EU | Warm the pot, as [here](https://wiki.example.com/cold)",
        "`TeaGone` | EU | Buy some leaves",
    ),
)
ANOTHER = "another entry answers the same alert with another first step"


def test_an_entry_that_its_alert_finds_alone_is_fine() -> None:
    assert drill(snapshot(TEA)) == {"TeaCold in tea": [], "TeaGone in tea": []}


def test_two_documents_that_answer_one_alert_differently_are_found() -> None:
    more = document("pot", table("`TeaCold` | EU | Pour it away"))
    found = drill(snapshot(TEA, more))
    assert found["TeaCold in tea"] == found["TeaCold in pot"] == [ANOTHER]


@pytest.mark.parametrize(
    "more",
    [
        table("`TeaCold` | EU | Warm the pot, as here."),
        table("`TeaCold` | EU | See [the tea alerts](doc:tea)"),
        table("`TeaCold` | EU | Pour it away, see [all steps](https://wiki.example.com/cold)"),
        table("`TeaCold` | US | Pour it away"),
        table("`TeaCold` | EU | Il faut la verser, et puis chauffer de nouveau la grande théière"),
    ],
    ids=["same step", "link", "same link", "other region", "translated"],
)
def test_entries_that_agree_or_are_told_apart_are_left_alone(more: str) -> None:
    assert drill(snapshot(TEA, document("pot", more)))["TeaCold in pot"] == []


def test_rows_of_one_table_with_a_condition_in_words_are_left_alone() -> None:
    rows = table(
        "`TeaCold` | when the shop is open | Warm it", "`TeaCold` | at night | Pour it away"
    )
    assert drill(snapshot(document("tea", rows))) == {"TeaCold in tea": []}


def test_amounts_choose_among_rows() -> None:
    rows = table(
        "`TeaCold` | above 10 % | Warm it", "`TeaCold` | above 50 % | Pour it away",
        header="Alert | Share | First step",
    )  # fmt: skip
    assert drill(snapshot(document("tea", rows))) == {"TeaCold in tea": []}


def test_an_entry_of_a_document_out_of_force_that_nobody_took_over_is_found() -> None:
    old = document("old", table("`TeaCold` | EU | Boil", "`Milk` | EU | Skim"), status="superseded")
    found = drill(snapshot(TEA, old))
    assert found["TeaCold in old"] == []
    assert found["Milk in old"] == [
        "its document is out of force, and no other has an entry for Milk"
    ]


def test_an_entry_that_says_it_is_over_is_not_drilled() -> None:
    rows = table("`TeaCold` (retired 2025-11) | EU | Warm it", "`TeaGone` | EU | Buy some")
    assert list(drill(snapshot(document("tea", rows)))) == ["TeaGone in tea"]


def test_a_past_review_date_is_found() -> None:
    found = drill(snapshot(document("tea", table("`A1` | EU | Warm it"), review_by="2025-03-01")))
    assert found["A1 in tea"] == ["its document was to be reviewed by 1 Mar 2025"]


def test_a_link_to_a_document_out_of_force_is_found() -> None:
    old = document("old", "How tea was made in the old days.\n", status="superseded")
    rows = table("`TeaCold` | EU | Follow [the standard](doc:old)")
    found = drill(snapshot(document("tea", rows), old))
    assert found["TeaCold in tea"] == ["a link leads to a document that is out of force"]


def test_a_section_is_drilled_like_a_row() -> None:
    text = "## KettleOffline\n\n1. Fence the kettle.\n2. Promote the other one.\n\n## Post-checks\n"
    assert drill(snapshot(document("kettle", text))) == {"KettleOffline in kettle": []}


RENAMED = [
    "`teactl` was renamed to `brewctl` in May.",
    "Use `brewctl` (formerly `teactl`) for that.",
    "The tool `teactl` has been replaced by `brewctl`.",
    "We renamed `teactl` to `brewctl`.",
    "`teactl` is now called `brewctl`.",
]


@pytest.mark.parametrize("sentence", RENAMED)
def test_a_command_with_an_old_name_is_found(sentence: str) -> None:
    rows = document("tea", table("`TeaCold` | EU | Run `teactl heat --all`"))
    found = drill(snapshot(rows, document("tools", f"{sentence}\n")))
    assert found["TeaCold in tea"] == ["teactl in a command is called brewctl now"]


@pytest.mark.parametrize(
    "sentence",
    [
        "`NAMESPACE` was replaced by `brewctl`.",
        "The pot was replaced by another.",
        "`<pod>` was renamed to `brewctl`.",
        "`teactl` is like `brewctl`.",
        "`teactl` is now `KEDA-autoscaled`.",
        "`teapot` was renamed to `brewpot`.",
    ],
)
def test_other_words_are_no_new_name(sentence: str) -> None:
    rows = document("tea", table("`TeaCold` | EU | Run `teactl heat NAMESPACE <pod>`"))
    assert drill(snapshot(rows, document("tools", f"{sentence}\n")))["TeaCold in tea"] == []


def test_a_row_with_both_names_knows_of_the_new_one() -> None:
    rows = document(
        "tea", table("`TeaCold` | EU | Run `brewctl heat`, or `teactl heat` before 3.0")
    )
    assert drill(snapshot(rows, document("tools", RENAMED[0])))["TeaCold in tea"] == []


def test_a_name_that_this_channel_writes_otherwise_is_found() -> None:
    found = drill(snapshot(TEA), "[FIRING:1] prod{name}eu")
    assert found["TeaCold in tea"] == [
        "an alert TeaCold, written as this channel gets them, doesn't find it"
    ]
    assert drill(snapshot(TEA), "[FIRING:1] {name} (eu)")["TeaCold in tea"] == []


def test_hostile_text_ends_no_drill() -> None:
    for payload in payloads():
        text = payload.encode("utf-8", "replace").decode()  # as a file's
        cell = " ".join(text.split()).replace("|", "/")
        rows = table(f"{cell} | {cell} | {cell}", f"`TeaCold` | EU | {cell}")
        drill(snapshot(document("tea", f"{rows}\n\n{text}\n")))


def test_nothing_is_found_where_nothing_is_named() -> None:
    assert drill(snapshot(document("tea", "It steeps for two minutes.\n"))) == {}
    assert list(renames_in(())) == []
