"""Steps read out of a section: every word of it once, and nothing marked that isn't said."""

from __future__ import annotations

import dataclasses
import re
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agents.context.linked_section import find
from agents.runbooks.cited_steps import cited_steps, joined_text, sections_of
from agents.runbooks.step import RunbookStep, condition_end, steps_in
from config.domain import ChunkOptions
from enrichment.chunk import Chunk
from enrichment.chunking.chunker import split
from loaders.document import Block, Document
from loaders.files.local import load_file
from tests.bot.features.checklists.runbooks import ALERTS, FAILOVER, RunbookShelf, citing, demo_text
from tests.enrichment.writing import Writer, count_words
from tests.loaders.thoroughly import examples

DEMO = sorted((Path(__file__).parents[3] / "playground/demo").glob("[ps]*/*.md"))
_WORD = re.compile(r"[^\s`]+")


def words(text: str) -> Counter[str]:
    return Counter(_WORD.findall(text))


def said_in(steps: tuple[RunbookStep, ...]) -> Counter[str]:
    return words(" ".join(step.text for step in steps))


def steps_of(chunks: list[Chunk]) -> dict[tuple[str, ...], tuple[RunbookStep, ...]]:
    found = {s[0].heading_path: steps_in(joined_text(s)) for s in sections_of(chunks)}
    return {path: steps for path, steps in found.items() if steps}


def listed(document: Document, path: tuple[str, ...]) -> Counter[str]:
    """Words of the section's items, and of the code in its lists, as they were loaded."""
    inside = [b for b in document.blocks if b.heading_path == path]
    kinds = ("list_item", "code")
    return words(" ".join(b.markdown or b.text for b in inside if b.kind in kinds))


@pytest.mark.parametrize("size", [20, 60, 160, 2_000])
def test_every_word_of_the_demos_lists_stands_in_one_step_however_they_are_cut(size: int) -> None:
    several = 0
    for path in DEMO:
        document = load_file(path)
        chunks = split(document, count_tokens=count_words, options=ChunkOptions(size=size))
        for place, steps in steps_of(chunks).items():
            blocks = [b for b in document.blocks if b.heading_path == place]
            if all(is_numbered(b) for b in blocks if b.kind == "list_item" and not b.level):
                assert said_in(steps) - footnotes(blocks, steps) == listed(document, place), (
                    path,
                    place,
                )
                several += 1
    assert several > 40


def is_numbered(block: Block) -> bool:
    return bool(re.match(r"\d", block.marker))


def footnotes(blocks: list[Block], steps: tuple[RunbookStep, ...]) -> Counter[str]:
    """Of those that stand with a step."""
    text = "\n".join(step.text for step in steps)
    notes = (f"[^{b.marker}]: {b.markdown}" for b in blocks if b.kind == "footnote")
    return words(" ".join(note for note in notes if note.split(": ")[0] + ": " in text))


@st.composite
def lists(draw: st.DrawFn) -> tuple[Writer, list[tuple[int, str]]]:
    """A numbered list with code, items below items, and what they say: each word is there once.

    Outermost items may be longer than a chunk. Where one below such a one is so as well, a chunk
    doesn't tell what of its first line leads in, and the end of the upper one is there twice."""
    writer = Writer().heading("The way").paragraphs("Do this in order:")
    told: list[tuple[int, str]] = []
    numbers = [0, 0, 0]
    level = 0
    for at in range(draw(st.integers(2, 14))):
        level = draw(st.integers(0, min(2, level + 1))) if at else 0
        if at == 1:
            level = 0
        numbers[level] += 1
        numbers[level + 1 :] = [0] * (2 - level)
        text = " ".join(f"w{at}x{n}" for n in range(draw(st.integers(1, 30 if not level else 12))))
        writer.add("list_item", text, marker=f"{numbers[level]}.", level=level)
        told.append((level, text))
        if draw(st.booleans()):
            code = f"run c{at}a\nrun c{at}b"
            writer.add("code", code, language="sh")
            told[-1] = (level, f"{text} {code}")
    return writer, told


@settings(max_examples=examples(quick=60, thorough=600), deadline=None)
@given(made=lists(), size=st.integers(20, 200))
def test_every_word_of_a_made_list_stands_in_its_own_step(
    made: tuple[Writer, list[tuple[int, str]]], size: int
) -> None:
    writer, told = made
    (steps,) = steps_of(writer.chunks(size=size)).values()
    assert [(step.level, words(step.text)) for step in steps] == [
        (level, words(text)) for level, text in told
    ]


def test_numbers_are_those_that_a_reader_sees() -> None:
    writer = Writer().heading("Way").items("One.", "Two.")
    writer.add("list_item", "Below.", marker="a.", level=1)
    writer.add("list_item", "Beside.", marker="b.", level=1)
    writer.add("list_item", "Three.", marker="3.")
    (steps,) = steps_of(writer.chunks()).values()
    assert [step.number for step in steps] == ["1", "2", "2.a", "2.b", "3"]


def test_bullets_and_single_numbers_are_no_procedure() -> None:
    assert steps_in("- One.\n- Two.") == ()
    assert steps_in("1. Only one.") == ()


def test_what_stands_between_two_steps_is_of_the_first_and_what_follows_the_list_is_not() -> None:
    text = "1. First.\n\nIt takes a minute.\n\n2. Second.\n   - a note\n\nAfterwards rest."
    first, second = steps_in(text)
    assert "It takes a minute." in first.text
    assert "a note" in second.text
    assert "rest" not in second.text


def commands(text: str) -> list[str]:
    step, _ = steps_in(f"1. {text}\n2. End.")
    return [part.text for part in step.parts if part.kind == "command"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Fence it: `ctl fence --node a`.", ["ctl fence --node a"]),
        ("Run `reboot` now.", ["reboot"]),
        ("Do not run `rm -rf /var`.", []),
        ("Never do this: `rm -rf /var`.", []),
        ("`offsets reset` is blocked for everyone.", []),
        ("Wait for `fenced=true`.", []),
        ("State: `lag_bytes=0 now`.", []),
    ],
)
def test_a_command_is_what_the_author_says_is_one(text: str, expected: list[str]) -> None:
    assert commands(text) == expected


@pytest.mark.parametrize(
    ("text", "condition"),
    [
        ("If it is still growing, page the team.", "If it is still growing,"),
        ("If somebody clicked:", "If somebody clicked:"),
        ("If `a, b` is set, unset it.", "If `a, b` is set,"),
        ("If https://status.example.org is red, wait.", "If https://status.example.org is red,"),
        ("Unless the IC agrees, stop.", "Unless the IC agrees,"),
        ("If you clicked, typed something, or approved it, say so.", ""),
        ("Wait. If it has not come, cut the power.", ""),
        ("If you log elsewhere, but keep a copy, read the copy.", ""),
        ("For a minute, watch the graph.", ""),
    ],
)
def test_a_condition_is_marked_only_where_it_is_plain(text: str, condition: str) -> None:
    assert text[: condition_end(text)].strip() == condition


def test_a_step_with_both_branches_is_not_marked_as_one_of_them() -> None:
    step, _ = steps_in("1. If it is up, go on. Otherwise restart it.\n2. End.")
    assert step.condition == ""


def test_branches_say_where_they_lead() -> None:
    _, one, two, three, *_ = steps_in(
        demo_section("platform/sluice-lag-and-dlq-runbook", "Lag, step by step")
    )
    assert (one.leads_to, two.leads_to, three.leads_to) == (("2",), ("3",), ())


@pytest.mark.parametrize(
    ("text", "leads_to"),
    [
        ("Go back to step 1.", ("1",)),
        ("Repeat steps 1 to 2.", ("1", "2")),
        ("Do step 12.", ()),
        ("Do step 1 of the failover runbook.", ()),
        ("Do step 1 of this list.", ("1",)),
        ("See [Failover](https://x.example/) step 1.", ()),
    ],
)
def test_a_step_of_another_document_is_no_reference(text: str, leads_to: tuple[str, ...]) -> None:
    *_, last = steps_in(f"1. First.\n2. Second.\n3. {text}")
    assert last.leads_to == leads_to


def test_code_that_is_cut_is_one_command() -> None:
    writer = Writer().heading("Way").items("First.", "Run this:")
    writer.add("code", "\n".join(f"run {n} {'x ' * 8}" for n in range(40)), language="sh")
    chunks = writer.chunks(size=20)
    (steps,) = steps_of(chunks).values()
    assert len(chunks) > 2
    assert steps[-1].parts[-1].text == writer.blocks[-1].text


def demo_section(name: str, heading: str) -> str:
    chunks = split(load_file(DEMO[0].parents[1] / f"{name}.md"), count_tokens=count_words)
    return joined_text([chunk for chunk in chunks if chunk.heading == heading])


@pytest.mark.parametrize(
    ("text", "parallel"),
    [
        ("Meanwhile, tell the merchants.", True),
        ("Do it in parallel with step 1.", True),
        ("Never restart two nodes at the same time.", False),
        ("Do not do this in parallel with step 1.", False),
        ("Restart both at the same time.", False),
    ],
)
def test_what_goes_on_meanwhile_is_marked(text: str, parallel: bool) -> None:
    _, step = steps_in(f"1. First.\n2. {text}")
    assert step.parallel is parallel


def test_a_cited_row_that_names_a_runbook_leads_to_its_steps() -> None:
    shelf = RunbookShelf(demo_text(ALERTS), demo_text(FAILOVER))

    def opened(url: str) -> tuple[str, str] | None:
        linked = find(shelf, url)  # type: ignore[arg-type]  # all of it that is asked for here
        return (linked.card.id, linked.heading) if linked else None

    chunk = next(
        c
        for c in shelf.under("beacon-alert-catalogue", "Catalogue")
        if "LedgerPrimaryDown" in c.text
    )
    cited = citing(shelf, "beacon-alert-catalogue", "Catalogue")
    for quote, heading in (
        ("LedgerPrimaryDown: No heartbeat for 60 seconds", "Unplanned failover"),
        ("LedgerDisk95: Data volume above 95%", ""),
        ("SluiceLagTier0: Lag above 180 seconds", ""),  # its runbook is not of this domain
    ):
        one = dataclasses.replace(cited.citations[0], quote=quote, chunk_id=chunk.id)
        found = cited_steps(dataclasses.replace(cited, citations=(one,)), shelf, opened)  # type: ignore[arg-type]
        assert (found.first.heading if found else "") == heading
