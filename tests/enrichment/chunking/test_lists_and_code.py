"""What stays in one chunk: a list, a fence, a drawn table, each with what introduces it."""

from __future__ import annotations

from pydantic import TypeAdapter

from enrichment.chunk import Chunk
from tests.enrichment.writing import Writer

LONG_URL = "https://portal.example.com/search?" + "&".join(f"field{n}=value{n}" for n in range(60))


def test_a_command_of_a_step_stays_in_its_fence_below_the_step() -> None:
    writer = Writer().heading("Failover").paragraphs("To move the ledger:")
    for step in range(1, 9):
        writer.add("list_item", f"Drain replica {step} and wait for it.", marker=f"{step}.")
        writer.add("code", f"ledger drain --replica {step}\nledger wait", language="sh")
    chunks = writer.chunks(size=60)
    assert len(chunks) > 1
    for step in range(1, 9):
        whole = (
            f"{step}. Drain replica {step} and wait for it.\n\n"
            f"```sh\nledger drain --replica {step}\nledger wait\n```"
        )
        assert [whole in chunk.text for chunk in chunks].count(True) == 1
    assert all(chunk.text.startswith("To move the ledger:") for chunk in chunks)


def test_the_parts_of_a_procedure_say_which_of_its_steps_they_hold() -> None:
    writer = Writer().paragraphs("Approvals come in this order:")
    writer.items(*[f"Approver number {n} signs the form and passes it on." for n in range(40)])
    chunks = writer.chunks(size=60)
    runs = [run for chunk in chunks for run in chunk.runs]
    assert len(runs) == len(chunks) > 3
    assert {run.id for run in runs} == {runs[0].id}
    assert {(run.what, run.total, run.parts) for run in runs} == {("items", 40, len(chunks))}
    assert [run.part for run in runs] == list(range(len(chunks)))
    assert [run.first for run in runs] == [sum(r.count for r in runs[:n]) for n in range(len(runs))]
    for run, chunk in zip(runs, chunks, strict=True):
        assert f"number {run.first} signs" in chunk.text
        assert f"number {run.first + run.count - 1} signs" in chunk.text


def test_numbers_that_go_on_after_a_paragraph_are_the_same_list() -> None:
    writer = Writer()
    for step in range(1, 10):
        writer.add("list_item", f"Do step {step} with the usual care.", marker=f"{step}.")
        writer.paragraphs(f"It takes {step} minutes and somebody must watch it until it ends.")
    chunks = writer.chunks(size=40)
    assert {run.total for chunk in chunks for run in chunk.runs} == {9}
    assert all("Do step" in chunk.text for chunk in chunks if chunk.runs)


def test_two_lists_in_a_row_are_counted_apart() -> None:
    words = "is a rule that takes a number of words to say"
    writer = Writer().items(*[f"First {n} {words}" for n in range(12)])
    chunks = writer.items(*[f"Second {n} {words}" for n in range(5)]).chunks(size=40)
    assert {run.total for chunk in chunks for run in chunk.runs} == {12, 5}


def test_a_list_a_little_longer_than_a_chunk_is_not_cut() -> None:
    writer = Writer().paragraphs("Background. " * 10, "In this order:")
    chunks = writer.items(*[f"Person {n} signs." for n in range(12)]).chunks(size=60)
    (holder,) = [chunk for chunk in chunks if "Person" in chunk.text]
    assert all(f"Person {n} signs." in holder.text for n in range(12))
    assert holder.runs == ()


def test_console_output_of_several_chunks_size_stays_whole_with_its_sentence() -> None:
    output = "\n".join(f"host-{n} ready" for n in range(40))
    before = "This page is about the fleet. " * 12 + "The console shows every host:"
    chunks = Writer().paragraphs(before).add("code", output).chunks(size=60)
    (holder,) = [chunk for chunk in chunks if "```" in chunk.text]
    assert holder.text == f"The console shows every host:\n\n```\n{output}\n```"


def test_a_longer_fence_is_fenced_again_and_says_which_part_it_is() -> None:
    lines = [f"line {n} = {n}" for n in range(400)]
    writer = Writer().paragraphs("The log:").add("code", "\n".join(lines), language="log")
    chunks = writer.chunks(size=60)
    parts = len(chunks)
    assert parts > 3
    for number, chunk in enumerate(chunks, start=1):
        assert chunk.text.startswith(f"The log:\n\n(part {number} of {parts})\n\n```log\n")
        assert chunk.text.endswith("\n```")
        assert [(r.what, r.part, r.parts, r.total) for r in chunk.runs] == [
            ("lines", number - 1, parts, 400)
        ]
    inside = [line for c in chunks for line in c.text.split("```log\n")[1].split("\n")[:-1]]
    assert inside == lines


def test_a_fence_inside_code_does_not_end_it() -> None:
    (chunk,) = Writer().add("code", "````\nnested\n````").chunks()
    assert chunk.text.startswith("`````\n````")


def test_a_table_drawn_line_by_line_is_one_fenced_piece() -> None:
    drawn = [
        "┌─────────┬──────┐",
        "│ cluster │ days │",
        "├─────────┼──────┤",
        "│ web-eu1 │ 14   │",
        "│ web-sg1 │ 30   │",
        "└─────────┴──────┘",
    ]
    writer = Writer().heading("Ages").paragraphs("Copies are kept:", *drawn, "Ask first.")
    (chunk,) = writer.chunks()
    assert "\n```\n" + "\n".join(drawn) + "\n```\n" in chunk.text
    assert "Ages: web-eu1 | 14" in {unit.index_text for unit in chunk.units}
    plain = ["+----+---+", "| a  | b |", "+----+---+"]
    (chunk,) = Writer().paragraphs(*plain).chunks()
    assert chunk.text == "```\n" + "\n".join(plain) + "\n```"


def test_a_paragraph_that_begins_with_a_bar_is_no_drawn_table() -> None:
    (chunk,) = Writer().paragraphs("| a | b |", "a - b").chunks()
    assert "```" not in chunk.text


def test_a_long_address_is_neither_cut_nor_a_statement() -> None:
    (chunk,) = (
        Writer().heading("Search").paragraphs("Ask the portal first.", LONG_URL).chunks(size=60)
    )
    assert LONG_URL in chunk.text
    assert [unit.text for unit in chunk.units] == ["Ask the portal first."]
    assert len(chunk.index_text) < 200


def test_a_list_of_links_is_one_chunk_however_long_its_addresses_are() -> None:
    links = [f"[Guide number {n}]({LONG_URL}{n})" for n in range(5)]
    writer = Writer()
    for link in links:
        writer.add("list_item", link, plain=link[1:].split("]")[0], marker="-")
    (chunk,) = writer.chunks(size=80)
    assert all(link in chunk.text for link in links)
    assert "Guide number 4" in chunk.index_text
    assert chunk.units == ()


def test_a_footnote_stands_in_every_chunk_that_refers_to_it() -> None:
    rows = [(f"role {n}", f"{n} days, then ask again for more[^1]") for n in range(30)]
    writer = Writer().table(("Role", "Days"), *rows)
    chunks = writer.add("footnote", "Leave doesn't count.", marker="1").chunks(table_size=80)
    assert len(chunks) > 3
    assert all("[^1]: Leave doesn't count." in chunk.text for chunk in chunks)
    noted = [u for chunk in chunks for u in chunk.units if "Leave" in u.text]
    assert len(noted) == 1


def test_a_stored_chunk_keeps_its_runs_and_an_older_one_opens_without_them() -> None:
    stored = TypeAdapter(Chunk)
    items = [f"Step {n} is done with the usual care." for n in range(40)]
    chunk = Writer().items(*items).chunks(size=60)[1]
    assert stored.validate_json(stored.dump_json(chunk)) == chunk
    older = stored.dump_python(chunk)
    del older["runs"]
    assert stored.validate_python(older).runs == ()
