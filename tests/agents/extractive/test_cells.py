"""The cell that a question asks for, of tables of many shapes."""

from __future__ import annotations

import pytest

from agents.extractive.cells import TableRead
from agents.extractive.direct_answer import SURE, BestCell, best_cell, cell_text
from agents.extractive.language import Glossary, same_words
from agents.extractive.relevance import Aspect
from agents.extractive.table import notes_of
from enrichment.chunk import Chunk, ChunkTable
from enrichment.language.words import naming_words

GLOSSARY = {"NZ": ["New Zealand"], "HQ": ["head office"]}


def table_of(text: str, *, labels: int = 1, caption: str = "Rules") -> ChunkTable:
    """A pipe table, as the chunker makes it."""
    lines = [[cell.strip() for cell in line.strip("| ").split("|")] for line in text.split("\n")]
    width = len(lines[0])
    header, *rows = [(*line, *[""] * (width - len(line))) for line in lines]
    return ChunkTable(
        id=caption,
        caption=caption,
        header=header,
        rows=tuple(tuple(row) for row in rows),
        total_rows=len(rows),
        label_columns=labels,
    )


def read(table: ChunkTable, around: str = "Staff handbook", behind: float = 0.0) -> TableRead:
    strengths = dict.fromkeys(range(len(table.rows)), 0.0)
    return TableRead(table=table, around=around, strengths=strengths, behind=behind)


def best_of(question: str, *reads: TableRead, glossary: Glossary = GLOSSARY) -> BestCell | None:
    weights = dict.fromkeys(naming_words(question), 1.0)
    aspect = Aspect(text=question, weights=weights, same=same_words(glossary, question))
    return best_cell(reads, aspect)


def said(question: str, *tables: ChunkTable) -> str:
    best = best_of(question, *map(read, tables))
    return cell_text(best) if best else ""


LEAVE = table_of(
    "Kind of leave | Longest › Australia | Longest › NZ | Approver | Notice\n"
    "Parental | 26 weeks | 30 weeks | People team | 2 months\n"
    "Study | 10 days | 10 days | Line manager | 3 weeks\n"
    "Bereavement | 5 days | same as Australia | Nobody, just tell us | None"
)
HARDWARE = table_of(
    "Device | Condition | Replaced after (years) | Price (EUR) | Owner | Insured?\n"
    "Laptop | new | 4 | 1800 | IT desk | Yes\n"
    "Laptop | refurbished | 2 | 700 | IT desk | No\n"
    "Monitor | new | 6 | 300 | Facilities team | No",
    labels=2,
)
MATRIX = table_of(
    "Action | Guest | Member | Administrator\n"
    "Read files | yes | yes | yes\n"
    "Delete files | no | no | yes\n"
    "Invite people | no | yes | yes"
)
LEVELS = table_of(
    "Severity | Response › Weekday | Response › Weekend | Pages\n"
    "1 | 15 minutes | 15 minutes | CFO and head of support\n"
    "2 | 1 hour | 4 hours | Support lead\n"
    "3 | next morning | next Monday | Nobody"
)
STAFF = table_of(
    "Group | Number › 2019 | Number › 2020 | Share › 2020\n"
    "Total | 900 | 950 | 100%\n"
    "By sex | | |\n"
    "Women | 410 | 440 | 46%\n"
    "Men | 490 | 510 | 54%\n"
    "By office | | |\n"
    "Not in Oslo | 700 | 720 | 76%\n"
    "Oslo | 200 | 230 | 24%\n"
    "Total by office | 900 | 950 | 100%"
)


@pytest.mark.parametrize(
    ("table", "question", "answer"),
    [
        # a header's level by the glossary
        (LEAVE, "how long is parental leave in New Zealand?", "30 weeks (Parental, Longest › NZ)"),
        (LEAVE, "notice for study leave?", "3 weeks (Study, Notice)"),
        (LEAVE, "how much notice for bereavement leave", "None (Bereavement, Notice)"),
        # a merged cell
        (LEAVE, "longest study leave?", "10 days (Study, Longest › Australia, NZ)"),
        # several label columns, units of the header
        (HARDWARE, "price of a new monitor", "300 EUR (Monitor · new, Price (EUR))"),
        (HARDWARE, "are refurbished laptops insured", "No (Laptop · refurbished, Insured?)"),
        (MATRIX, "may a guest delete files?", "no (Delete files, Guest)"),
        # a label that is a number
        (LEVELS, "response time on a weekend for severity 2", "4 hours (2, Response › Weekend)"),
        # a share rather than a number; the heads of a group
        (STAFF, "what percentage were women in 2020?", "46% (By sex › Women, Share › 2020)"),
        (STAFF, "how many women were there in 2019", "410 (By sex › Women, Number › 2019)"),
        # a negated label is another row
        (STAFF, "number in Oslo in 2020", "230 (By office › Oslo, Number › 2020)"),
        (STAFF, "number not in Oslo, 2020", "720 (By office › Not in Oslo, Number › 2020)"),
        # no row is named: the total
        (STAFF, "how many in 2019?", "900 (Total, Number › 2019)"),
        # another form of a word
        (MATRIX, "may an administration delete files", "yes (Delete files, Administrator)"),
    ],
)
def test_the_best_cell_of_a_table(table: ChunkTable, question: str, answer: str) -> None:
    assert said(question, table) == answer


def test_the_best_cell_of_several_tables() -> None:
    question = "how much notice for study leave?"
    assert said(question, HARDWARE, LEAVE, STAFF) == "3 weeks (Study, Notice)"


def test_two_tables_that_answer_alike_make_neither_certain() -> None:
    question = "how long is parental leave in New Zealand?"
    alone = best_of(question, read(LEAVE))
    twins = best_of(question, read(LEAVE), read(LEAVE, around="Another handbook"))
    assert alone
    assert twins
    assert twins.probability < min(alone.probability, SURE)


def test_a_word_that_nothing_holds_makes_the_cell_less_certain() -> None:
    exact = best_of("how long is parental leave in New Zealand?", read(LEAVE))
    more = best_of("how long is parental leave in New Zealand for adopted twins?", read(LEAVE))
    assert exact
    assert more
    assert more.probability < min(exact.probability, SURE)


def test_a_statement_that_is_stronger_than_the_table_makes_the_cell_less_certain() -> None:
    question = "notice for study leave?"
    first, behind = best_of(question, read(LEAVE)), best_of(question, read(LEAVE, behind=5.0))
    assert first
    assert behind
    assert behind.probability < first.probability


def test_an_empty_cell_is_no_answer() -> None:
    table = table_of("Requirement | Company laptop | Own phone\nBackup | Every night | ")
    best = best_of("backup of own phone", read(table))
    assert best is None or best.probability < SURE


def test_no_table_no_cell() -> None:
    assert best_of("notice for study leave?") is None


def test_rows_that_only_head_a_group_are_never_the_answer() -> None:
    table = table_of("Group | 2019 | 2020\nRegions | |\nNorth | 1 | 2\nSouth | 3 | 4")
    best = best_of("regions in 2020", read(table))
    assert best
    assert best.row != 0


def test_footnotes_of_the_cell_and_its_label() -> None:
    table = table_of(
        "Flight | Class | Refund\nUnder 6 hours | Economy | 80%\nOvernight | Business | None"
    )
    chunk = Chunk(
        id="c", document_id="d", document_title="Travel", kind="table", position=0,
        heading_path=(), index_text="", tokens=1, table=table,
        text="| Flight | Class | Refund |\n|---|---|---|\n| Under 6 hours | Economy | 80% |\n"
        "| Overnight | Business* | None[^1] |\n\n[^1]: Or a voucher.\n\n\\* Only outbound.",
    )  # fmt: skip
    best = best_of("which class for overnight flights", read(table))
    assert best
    assert notes_of(chunk, [best.row], [best.column]) == ("Only outbound.",)
