"""The cells that a question asks for, of tables of many shapes."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from agents.extractive.cells import RequestedCells, cells_text, requested_cells
from agents.extractive.language import Glossary, same_words
from agents.extractive.relevance import Aspect
from enrichment.chunk import Chunk, ChunkTable
from enrichment.language.words import naming_words

GLOSSARY = {"NZ": ["New Zealand"], "HQ": ["head office"]}


def table_chunk(text: str, *, labels: int = 1, below: str = "", caption: str = "Rules") -> Chunk:
    """A chunk of a pipe table, as the chunker makes it; `^` is the cell above."""
    lines = [[cell.strip() for cell in line.strip("| ").split("|")] for line in text.split("\n")]
    width = len(lines[0])
    header, *rows = [(*line, *[""] * (width - len(line))) for line in lines]
    marked = "\n".join("| " + " | ".join(line) + " |" for line in [header, ["---"] * width, *rows])
    table = ChunkTable(
        id="t",
        caption=caption,
        header=header,
        rows=tuple(tuple(cell.split("[^")[0].rstrip("*") for cell in row) for row in rows),
        total_rows=len(rows),
        label_columns=labels,
    )
    return Chunk(
        id="c",
        document_id="d",
        document_title="Staff handbook",
        kind="table",
        position=0,
        heading_path=(caption,),
        text=f"{marked}\n\n{below}",
        index_text="",
        tokens=1,
        table=table,
    )


def asked_of(
    chunk: Chunk, question: str, rows: Sequence[int] | None = None, glossary: Glossary = GLOSSARY
) -> RequestedCells | None:
    aspect = Aspect(
        text=question,
        weights=dict.fromkeys(naming_words(question), 1.0),
        same=same_words(glossary, question),
    )
    assert chunk.table
    every = range(len(chunk.table.rows)) if rows is None else rows
    return requested_cells(chunk, every, aspect)


def said(chunk: Chunk, question: str, rows: Sequence[int] | None = None) -> str:
    asked = asked_of(chunk, question, rows)
    return cells_text(asked) if asked else ""


LEAVE = table_chunk(
    "Kind of leave | Longest › Australia | Longest › NZ | Approver | Notice\n"
    "Parental | 26 weeks | 30 weeks | People team | 2 months\n"
    "Study | 10 days | 10 days | Line manager | 3 weeks\n"
    "Bereavement | 5 days | same as Australia | Nobody, just tell us | None"
)
HARDWARE = table_chunk(
    "Device | Condition | Replaced after (years) | Price (EUR) | Owner | Insured?\n"
    "Laptop | new | 4 | 1800 | IT desk | Yes\n"
    "Laptop | refurbished | 2 | 700 | IT desk | No\n"
    "Monitor | new | 6 | 300 | Facilities team | No",
    labels=2,
)
MATRIX = table_chunk(
    "Action | Guest | Member | Administrator\n"
    "Read files | yes | yes | yes\n"
    "Delete files | no | no | yes\n"
    "Invite people | no | yes | yes"
)
DEVICES = table_chunk(
    "Requirement | Company laptop | Company phone | Own phone\n"
    "Screen lock | after 5 minutes | after 1 minute | after 2 minutes\n"
    "Backup | Every night | n/a | \n"
    "Who repairs it | Service desk | Phone shop | The employee"
)
FARES = table_chunk(
    "Flight | Class | Who approves | Refund\n"
    "Under 6 hours | Economy | Line manager | 80%\n"
    "6 hours or more | Premium | Department head[^1] | 50%\n"
    "Overnight | Business* | Chief financial officer | None",
    below="[^1]: Or a deputy named in writing.\n\n\\* Only on the outbound leg.",
)
LEVELS = table_chunk(
    "Severity | Response › Weekday | Response › Weekend | Pages\n"
    "1 | 15 minutes | 15 minutes | CFO and head of support\n"
    "2 | 1 hour | 4 hours | Support lead\n"
    "3 | next morning | next Monday | Nobody"
)
LIMITS = table_chunk(
    "Plan | Requests per second | Storage | Region | Support address\n"
    "Free | 5 | 1 GB | Europe only | none\n"
    "Team | 50 | 100 GB | Europe or America | help@example.org"
)


@pytest.mark.parametrize(
    ("chunk", "question", "answer"),
    [
        # header level by glossary
        (LEAVE, "how long is parental leave in New Zealand?", "30 weeks (Parental, Longest › NZ)"),
        (LEAVE, "who approves parental leave", "People team (Parental, Approver)"),
        (LEAVE, "notice for study leave?", "3 weeks (Study, Notice)"),
        (LEAVE, "how much notice for bereavement leave", "None (Bereavement, Notice)"),
        # merged cell
        (LEAVE, "longest study leave?", "10 days (Study, Longest › Australia, NZ)"),
        # side labels, units of the header
        (
            HARDWARE,
            "when is a new laptop replaced",
            "4 years (Laptop · new, Replaced after (years))",
        ),
        (HARDWARE, "how much is a new monitor", "300 EUR (Monitor · new, Price (EUR))"),
        (HARDWARE, "are refurbished laptops insured", "No (Laptop · refurbished, Insured?)"),
        # by kind alone
        (HARDWARE, "who do I call about a new monitor", "Facilities team (Monitor · new, Owner)"),
        (FARES, "how many percent back for a flight under 6 hours", "80% (Under 6 hours, Refund)"),
        # matrices
        (MATRIX, "may a guest delete files?", "no (Delete files, Guest)"),
        (MATRIX, "can administrators invite people", "yes (Invite people, Administrator)"),
        # transposed
        (
            DEVICES,
            "when does the screen of my own phone lock",
            "after 2 minutes (Screen lock, Own phone)",
        ),
        (
            DEVICES,
            "how often is a company laptop backed up (backup)?",
            "Every night (Backup, Company laptop)",
        ),
        (DEVICES, "backup of company phone", "n/a (Backup, Company phone)"),
        # first column a number
        (LEVELS, "response time on a weekend for severity 2", "4 hours (2, Response › Weekend)"),
        # a cell that is given selects the row
        (LEVELS, "which severity pages the CFO", "1 (Severity)"),
        (LIMITS, "how many requests per second on the team plan", "50 (Team, Requests per second)"),
        (LIMITS, "which region is the free plan in?", "Europe only (Free, Region)"),
    ],
)
def test_says_the_cell_asked_for(chunk: Chunk, question: str, answer: str) -> None:
    assert said(chunk, question) == answer


def test_a_row_is_not_named_by_a_word_that_names_the_column() -> None:
    chunk = table_chunk("Group | Members | Budget\nTeam | 12 | 5\nTeam members | 3 | 7")
    assert said(chunk, "members of Team") == "12 (Team, Members)"
    assert said(chunk, "budget of team members") == "7 (Team members, Budget)"


def test_cells_of_several_columns_of_one_group_are_a_small_table() -> None:
    assert said(LEAVE, "longest parental leave?") == (
        "| Kind of leave | Longest › Australia | Longest › NZ |\n"
        "| --- | --- | --- |\n"
        "| Parental | 26 weeks | 30 weeks |"
    )


def test_rows_that_the_question_does_not_tell_apart_are_all_said() -> None:
    assert said(HARDWARE, "what is the price of a laptop") == (
        "| Device | Condition | Price (EUR) |\n"
        "| --- | --- | --- |\n"
        "| Laptop | new | 1800 EUR |\n"
        "| Laptop | refurbished | 700 EUR |"
    )


def test_two_rows_that_are_named_are_both_said() -> None:
    asked = asked_of(LEAVE, "how much notice for study and for parental leave?")
    assert asked
    assert (asked.rows, asked.columns[0].header) == ((0, 1), "Notice")


def test_two_kinds_that_are_asked_for_are_two_columns() -> None:
    asked = asked_of(HARDWARE, "refurbished laptop: how much is it and who owns it?")
    assert asked
    assert [each.header for each in asked.columns] == ["Price (EUR)", "Owner"]


def test_a_cell_that_refers_to_another_column_comes_with_it() -> None:
    asked = asked_of(LEAVE, "how long is bereavement leave in New Zealand?")
    assert asked
    assert cells_text(asked) == (
        "| Kind of leave | Longest › Australia | Longest › NZ |\n"
        "| --- | --- | --- |\n"
        "| Bereavement | 5 days | same as Australia |"
    )


def test_footnotes_stay_with_their_cell_and_label() -> None:
    assert said(FARES, "who approves a flight of 6 hours or more") == (
        "Department head (6 hours or more, Who approves)\n\n_Or a deputy named in writing._"
    )
    assert said(FARES, "which class for overnight flights") == (
        "Business (Overnight, Class)\n\n_Only on the outbound leg._"
    )
    assert "\n" not in said(FARES, "which class under 6 hours")


@pytest.mark.parametrize(
    ("chunk", "question"),
    [
        (DEVICES, "how often is my own phone backed up (backup)?"),  # the cell is empty
        (LEAVE, "tell me about parental leave"),  # every column is possible
        (LIMITS, "what is the colour of the team plan"),
        (MATRIX, "why was this decided for guests"),
        (FARES, "refund of a flight of 5 hours"),  # whether `under 6 hours` covers it, who knows
    ],
)
def test_no_cell_is_better_than_a_guess(chunk: Chunk, question: str) -> None:
    asked = asked_of(chunk, question)
    assert asked is None or asked.has_kind is False


def test_what_nothing_accounts_for_is_left_over() -> None:
    asked = asked_of(LEAVE, "how long is parental leave in New Zealand for adopted twins?")
    assert asked
    assert asked.left_over == {"adopt", "twin"}


def test_a_kind_that_the_cell_is_not_of_is_told() -> None:
    asked = asked_of(LIMITS, "how long is the storage of the team plan kept?")
    assert asked
    assert (asked.kind, asked.has_kind) == ("duration", False)


def test_a_column_that_a_header_names_is_far_ahead_and_one_by_kind_alone_is_told() -> None:
    named = asked_of(LEAVE, "approver of study leave?")
    by_kind = asked_of(LEAVE, "who decides on study leave?")
    assert named
    assert by_kind
    assert (named.has_kind, by_kind.has_kind) == (None, True)


def test_a_row_is_found_by_the_cell_that_is_given() -> None:
    asked = asked_of(LIMITS, "which plan has 100 GB of storage?")
    assert asked
    assert cells_text(asked) == "Team (Plan)"


def test_only_rows_that_are_candidates_are_said() -> None:
    asked = asked_of(HARDWARE, "what is the price of a laptop", rows=[1])
    assert asked
    assert asked.rows == (1,)
