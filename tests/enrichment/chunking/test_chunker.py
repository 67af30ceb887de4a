"""What a chunk holds, and what never happens to a document on its way into chunks."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from config.domain import ChunkOptions
from config.models import Vectors
from enrichment.chunk import Chunk
from enrichment.chunking.chunker import split
from loaders.document import Cell, Image, Tab, Table
from tests.enrichment.writing import Writer, count_words, table


def texts(chunks: list[Chunk]) -> list[str]:
    return [chunk.text for chunk in chunks]


def test_chunks_never_cross_headings() -> None:
    writer = Writer().heading("Rotation Standard", 1).paragraphs("Intro.")
    writer.heading("Keys").paragraphs("Rotate keys.").heading("Exceptions").paragraphs("None.")
    assert [(chunk.heading_path, chunk.text) for chunk in writer.chunks()] == [
        (("Rotation Standard",), "Intro."),
        (("Rotation Standard", "Keys"), "Rotate keys."),
        (("Rotation Standard", "Exceptions"), "None."),
    ]


def test_indexed_text_starts_with_title_tab_and_headings() -> None:
    writer = Writer().heading("Rotation Standard", 1).heading("Keys").paragraphs("Rotate keys.")
    tab = Tab(id="t.1", title="Europe", path=("Regions", "Europe"))
    document = writer.document()
    document = replace(document, blocks=tuple(replace(b, tab=tab) for b in document.blocks))
    (chunk,) = split(document, count_tokens=count_words)
    assert chunk.index_text == (
        "Rotation Standard › Regions › Europe › Rotation Standard › Keys\nRotate keys."
    )
    assert chunk.tab == "Europe"
    assert chunk.text == "Rotate keys."
    assert chunk.url.endswith("#Rotation Standard/Keys")


def test_small_table_stays_whole_with_its_lead_in_and_reading_note() -> None:
    writer = Writer().heading("Regions").paragraphs("Maximum age per region:")
    writer.table(("Region", "Max"), ("EU", "30 days"), ("SG", ""))
    (chunk,) = writer.paragraphs("An empty cell means no limit.").chunks()
    assert chunk.kind == "table"
    assert chunk.text == (
        "Maximum age per region:\n\n"
        "| Region | Max |\n|---|---|\n| EU | 30 days |\n| SG |  |\n\n"
        "An empty cell means no limit."
    )
    assert chunk.table is not None
    assert chunk.table.caption == "Maximum age per region"
    assert (chunk.table.header, chunk.table.rows) == (
        ("Region", "Max"),
        (("EU", "30 days"), ("SG", "")),
    )


def test_long_table_becomes_row_groups_that_repeat_caption_and_header() -> None:
    rows = [(f"region {n}", f"{n} days after the first warning") for n in range(60)]
    chunks = Writer().heading("Regions").table(("Region", "Max"), *rows).chunks(table_size=80)
    assert len(chunks) > 5
    tables = [chunk.table for chunk in chunks if chunk.table]
    assert {each.id for each in tables} == {tables[0].id}
    assert all(
        chunk.text.startswith("**Regions**\n\n| Region | Max |\n|---|---|") for chunk in chunks
    )
    assert [row for each in tables for row in each.rows] == rows
    starts = [each.first_row for each in tables]
    assert starts == [sum(len(e.rows) for e in tables[:n]) for n in range(len(tables))]
    assert {each.total_rows for each in tables} == {60}
    assert all(chunk.tokens <= 90 for chunk in chunks)


def test_a_row_longer_than_a_chunk_is_not_cut() -> None:
    long = "a very long rule " * 200
    chunks = Writer().table(("Rule", "Text"), ("A", long), ("B", "short")).chunks(table_size=50)
    assert any(long.strip() in chunk.text and "| A |" in chunk.text for chunk in chunks)


def test_a_row_unit_says_each_value_with_its_header_and_merged_ones_once() -> None:
    writer = Writer().heading("Grants")
    writer.table(("Role", "Approver", "Longest"), ("admin", "Nobody", "Nobody"))
    (unit,) = writer.chunks()[0].units
    assert unit.text == "admin | Nobody | Nobody"
    assert unit.index_text == "Grants: Role: admin; Approver, Longest: Nobody"
    assert unit.row == 0


def test_label_columns_are_as_many_as_tell_rows_apart() -> None:
    rows = [("Ledger", "read", "1"), ("Ledger", "write", "1"), ("Quay", "read", "1")]
    (chunk,) = Writer().table(("System", "Role", "Days"), *rows).chunks()
    assert chunk.table is not None
    assert chunk.table.label_columns == 2


def test_headers_of_several_levels_are_joined() -> None:
    grid = table(("Role", "EU", "EU"), ("Role", "Days", "Approver"), ("a", "1", "b"), header_rows=2)
    (chunk,) = Writer().add("table", table=grid).chunks()
    assert chunk.table is not None
    assert chunk.table.header == ("Role", "EU › Days", "EU › Approver")


def test_table_without_header_keeps_every_row() -> None:
    (chunk,) = Writer().table(("a", "b"), ("c", "d"), header_rows=0).chunks()
    assert chunk.table is not None
    assert chunk.table.rows == (("a", "b"), ("c", "d"))
    assert chunk.table.header == ("", "")


def test_a_box_is_text() -> None:
    (chunk,) = Writer().table(("Mind the gap.",), header_rows=0).chunks()
    assert (chunk.kind, chunk.text, chunk.table) == ("text", "Mind the gap.", None)


def test_nested_table_is_readable_and_pipes_do_not_break_the_row() -> None:
    cell = Cell(
        text="Field: Shown\nCard: a | b", markdown="Field: Shown<br>Card: a | b", row=1, column=1
    )
    header = table(("Area", "Rule")).rows[0]
    grid = Table(rows=(header, (Cell(text="Seeing", row=1, column=0), cell)), header_rows=1)
    (chunk,) = Writer().add("table", table=grid).chunks()
    assert chunk.text.endswith("| Seeing | Field: Shown<br>Card: a \\| b |")


def test_a_list_keeps_its_lead_in_in_every_chunk() -> None:
    writer = Writer().heading("Steps").paragraphs("To restore the ledger:")
    chunks = writer.items(*[f"Run step {n} and wait for it to end." for n in range(40)]).chunks(
        size=60
    )
    assert len(chunks) > 3
    assert all(chunk.text.startswith("To restore the ledger:\n\n") for chunk in chunks)
    items = [unit for chunk in chunks for unit in chunk.units if unit.kind == "item"]
    assert len(items) == 40


def test_sub_items_that_are_torn_off_repeat_their_item() -> None:
    writer = Writer().items("Lock the device.")
    writer.items(*[f"Say what was open on screen {n}." for n in range(30)], level=1)
    chunks = writer.chunks(size=60)
    assert len(chunks) > 2
    assert all("1. Lock the device." in chunk.text for chunk in chunks)


def test_code_stays_with_its_lead_in() -> None:
    writer = Writer().paragraphs("Then run:").add("code", "muster lock --asset TP-1", language="sh")
    (chunk,) = writer.chunks()
    assert chunk.text == "Then run:\n\n```sh\nmuster lock --asset TP-1\n```"


def test_a_footnote_goes_with_the_row_that_refers_to_it() -> None:
    rows = [(f"role {n}", f"{n} days, then ask again for more") for n in range(30)]
    rows[20] = ("role 20", "45 days[^1]")
    writer = Writer().table(("Role", "Days"), *rows)
    writer.add("footnote", "Leave doesn't count.", marker="1")
    chunks = writer.chunks(table_size=80)
    (holder,) = [chunk for chunk in chunks if "Leave doesn't count." in chunk.text]
    assert "45 days[^1]" in holder.text
    assert "[^1]: Leave doesn't count." in holder.text


def test_a_footnote_nobody_refers_to_is_kept() -> None:
    writer = Writer().paragraphs("Text.").add("footnote", "Lonely.", marker="2")
    assert texts(writer.chunks()) == ["Text.\n\n[^2]: Lonely."]


def test_pictures_are_indexed_by_what_is_known_of_them() -> None:
    writer = Writer().add("image", image=Image(title="Layout", alt="two replicas"))
    (chunk,) = writer.add("image", image=Image()).chunks()
    assert chunk.text == "[Image: Layout: two replicas]"


def test_unchanged_chunks_keep_their_ids_when_another_changes() -> None:
    def ids(second: str) -> list[str]:
        writer = Writer().heading("A").paragraphs("First.").heading("B").paragraphs(second)
        return [c.id for c in writer.heading("C").paragraphs("Third.").chunks()]

    before, after = ids("Second."), ids("Second, edited.")
    assert [a == b for a, b in zip(before, after, strict=True)] == [True, False, True]


def test_a_row_added_below_leaves_the_groups_above_as_they_are() -> None:
    rows = [(f"region {n}", "thirty days after the first warning") for n in range(50)]
    header = ("Region", "Max")
    before = Writer().table(header, *rows).chunks(table_size=80)
    after = Writer().table(header, *rows, ("new", "row")).chunks(table_size=80)
    assert [c.id for c in before[:-1]] == [c.id for c in after[: len(before) - 1]]


def test_twins_get_different_ids() -> None:
    chunks = Writer().paragraphs(*["Same words. " * 20] * 3).chunks(size=70)
    assert len({chunk.id for chunk in chunks}) == len(chunks) == 3


def test_a_new_title_is_a_new_chunk_because_it_is_embedded() -> None:
    (old,) = Writer("Old title").paragraphs("Text.").chunks()
    (new,) = Writer("New title").paragraphs("Text.").chunks()
    assert old.id != new.id


def test_overlap_repeats_the_last_paragraph() -> None:
    paragraphs = [f"Paragraph {n} says something of its own here." for n in range(8)]
    chunks = Writer().paragraphs(*paragraphs).chunks(size=20, overlap=10)
    assert all(
        after.text.split("\n\n")[0] == before.text.split("\n\n")[-1]
        for before, after in pairwise(chunks)
    )


def test_long_prose_can_be_cut_where_the_subject_changes() -> None:
    about_keys = "Keys rotate every month, and their owner is told a week before. " * 4
    about_food = "Lunch is served at noon, and there is soup on every Friday too. " * 4
    writer = Writer().paragraphs(about_keys.strip(), about_food.strip())

    def embed(given: list[str]) -> Vectors:
        return np.array([[1, 0] if "Keys" in text else [0, 1] for text in given], dtype=np.float32)

    options = ChunkOptions(size=500, semantic_threshold=0.5)
    together = split(writer.document(), count_tokens=count_words, options=options)
    apart = split(writer.document(), count_tokens=count_words, options=options, embed=embed)
    assert (len(together), len(apart)) == (1, 2)


def test_a_document_without_text_has_no_chunks() -> None:
    assert Writer().document().blocks == ()
    assert Writer().chunks() == []
    assert Writer().heading("Only a heading").chunks() == []


def test_a_paragraph_of_100_000_characters_is_cut_into_bounded_chunks() -> None:
    for text in ("word " * 20_000, "x" * 100_000, "No. 5 is e.g. fine. " * 5_000):
        chunks = Writer().paragraphs(text).chunks(size=160)
        assert max(chunk.tokens for chunk in chunks) <= 200
        assert sum(len(chunk.text.replace(" ", "")) for chunk in chunks) >= len(
            text.replace(" ", "")
        )


def test_a_table_of_5_000_rows_is_cut_into_bounded_chunks() -> None:
    rows = [(f"host-{n}", f"owner {n}", "eu") for n in range(5_000)]
    chunks = Writer().table(("Host", "Owner", "Region"), *rows).chunks(table_size=320)
    assert [row for c in chunks if c.table for row in c.table.rows] == rows
    assert max(chunk.tokens for chunk in chunks) <= 330


_words = st.text("abc .!?:|`*[]()\n", min_size=1, max_size=60).filter(lambda text: text.strip())


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(["paragraph", "list_item", "quote", "heading"]), _words)))
def test_no_letter_is_lost(blocks: list[tuple[str, str]]) -> None:
    writer = Writer("T")
    for kind, text in blocks:
        if kind == "heading":
            writer.heading(text)
        else:
            writer.add(kind, text)  # type: ignore[arg-type]  # sampled from the block kinds
    shown = "".join(texts(writer.chunks(size=12)))
    said = "".join(text for kind, text in blocks if kind != "heading")
    assert all(shown.count(letter) >= said.count(letter) for letter in "abc")
