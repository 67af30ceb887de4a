"""What a cited place said then and says now: changes are seen, and what is none isn't."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agents.answer import Citation
from agents.freshness.cited_places import (
    CitedSection,
    changed_cell,
    cited_sections,
    current_section,
    has_changed,
    section_text,
)
from config.domain import ChunkOptions
from enrichment.chunk import Unit
from enrichment.chunking.chunker import split
from enrichment.pipeline import enrich
from index.search import Snapshot
from loaders.files.markdown import parse_markdown
from tests.agents.corpus import LAPTOPS, ROTATION, asking
from tests.agents.memory import MemorySnapshot

LONG = """---
id: long
title: Long Guide
---
# Long Guide

## Handing over

Before you hand over, do these things:

1. Write down what is open, with links and the names of all who wait for an answer.
2. Say who takes it, and when. Nobody goes home before that person has said yes to it twice.
   - In the channel, too.
3. Run this:

```sh
oncall handover --to someone --with-notes
oncall verify
```

| Hour | Who | What they do then, in as many words as it takes to say it |
|---|---|---|
| 8 | Day team | Reads the notes and takes the pager from whoever had it in the night |
| 12 | Day team | Eats, one after the other, so that somebody always sits at the desk |
| 20 | Night team | Takes the pager, reads the notes, and asks about each of the open ones |
| 23 | Night team | Closes what is done |

An empty cell in the table means nobody. See https://wiki.example/handover for the rest of it, which
is long, has many a word that nobody reads, and yet has to be kept because an auditor asked for it
in the year of the flood and would ask again if ever it were gone from where it was put by us.
"""


def read_in(text: str, options: ChunkOptions = ChunkOptions(), made_by: str = "one") -> Snapshot:
    document = parse_markdown(text, url="https://docs.example/d/")
    chunks = split(document, count_tokens=lambda words: len(words.split()), options=options)
    enriched = enrich(document, chunks)
    return MemorySnapshot(enriched.chunks, [replace(enriched.card, made_by=made_by)])


def cited(unit: Unit, snapshot: Snapshot, document: str) -> Citation:
    chunk = next(one for one in snapshot.chunks(document) if unit in one.units)
    return Citation(
        number=1, document=document, title=chunk.document_title, url=chunk.url, quote=unit.text,
        heading=chunk.heading or chunk.document_title, chunk_id=chunk.id,
    )  # fmt: skip


def place(text: str, words: str, **more: ChunkOptions) -> CitedSection:
    """The place of the first unit with these words."""
    snapshot = read_in(text, **more)
    (document,) = snapshot.documents
    units = (unit for chunk in snapshot.chunks(document) for unit in chunk.units)
    unit = next(unit for unit in units if words in unit.text)
    (found,) = cited_sections(cited(unit, snapshot, document), snapshot)
    return found


def now(text: str, kept: CitedSection, **more: ChunkOptions) -> CitedSection:
    found = current_section(kept, read_in(text, **more))
    assert found is not None
    assert found.is_in(kept)
    return found


def test_another_value_in_the_row_is_a_change_that_names_both() -> None:
    kept = place(ROTATION, "API signing key")
    assert (kept.row, kept.name) == (("API signing key",), "Key Rotation Standard › Maximum age")
    after = now(ROTATION.replace("| 60 days", "| 45 days"), kept)
    assert has_changed(kept, after)
    assert changed_cell(kept, after) == ("60 days", "45 days")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("| Webhook secret | 30 days", "| Webhook secret | 29 days"),
        ("| TLS certificate | 90 days | 365 days |\n", ""),
        ("| API signing key |", "| Cookie key | 7 days | 7 days |\n| API signing key |"),
        ("| API signing key | 60 days |", "|  **API signing key** |   60  days. |"),
        ("This standard says", "This text says"),
        ("within 24 hours", "within 12 hours"),
    ],
)
def test_the_row_stays_when_others_change_or_its_format_does(old: str, new: str) -> None:
    kept = place(ROTATION, "API signing key")
    assert old in ROTATION
    assert not has_changed(kept, now(ROTATION.replace(old, new), kept))


def test_a_row_that_needs_one_more_column_to_be_told_apart_is_still_the_same_row() -> None:
    kept = place(ROTATION, "API signing key")
    twice = ROTATION.replace(
        "| Webhook secret |", "| API signing key | 50 days | 90 days |\n| Webhook secret |"
    )
    snapshot = read_in(twice)
    (document,) = snapshot.documents
    units = [u for c in snapshot.chunks(document) for u in c.units if "signing" in u.text]
    found = [one for u in units for one in cited_sections(cited(u, snapshot, document), snapshot)]
    assert all(one.is_in(kept) for one in found)


def test_prose_changes_with_its_words_and_not_with_the_table_beside_it() -> None:
    kept = place(LAPTOPS, "wipes it after 4 hours")
    assert (kept.row, kept.path) == ((), "Lost or stolen")
    assert has_changed(kept, now(LAPTOPS.replace("after 4 hours", "after 8 hours"), kept))
    assert has_changed(kept, now(LAPTOPS.replace("locks the laptop", "must lock it"), kept))
    for same in (
        "wipes it\nafter 4 hours",
        "wipes *it* after **4 hours**",
        "wipes it after 4 hours ",
    ):
        assert not has_changed(kept, now(LAPTOPS.replace("wipes it after 4 hours", same), kept))


def test_a_place_that_is_gone_or_renamed_is_no_place() -> None:
    kept = place(LAPTOPS, "wipes it after 4 hours")
    assert current_section(kept, read_in(LAPTOPS.replace("## Lost or stolen", "## Lost"))) is None
    assert current_section(kept, read_in(ROTATION)) is None
    row = place(ROTATION, "API signing key")
    assert current_section(row, read_in(ROTATION.replace("| API signing key |", "| Key |"))) is None


def test_a_quote_that_no_longer_stands_there_names_no_place() -> None:
    snapshot = read_in(ROTATION)
    (document,) = snapshot.documents
    unit = next(u for c in snapshot.chunks(document) for u in c.units if "API" in u.text)
    there = cited(unit, snapshot, document)
    assert cited_sections(there, snapshot)
    assert (
        cited_sections(replace(there, quote="API signing key | 61 days | 180 days"), snapshot) == ()
    )
    assert cited_sections(replace(there, document=""), snapshot) == ()
    assert cited_sections(replace(there, document="unknown"), snapshot) == ()


def test_what_the_agents_cite_without_a_model_names_a_place() -> None:
    answer = asking()("What is the maximum age of an API signing key for restricted data?")
    snapshot = read_in(ROTATION)
    found = cited_sections(answer.citations[0], snapshot)
    assert found[0].row == ("API signing key",)
    assert "60 days" in section_text(found[0], snapshot)


SIZES = st.builds(
    lambda size, table, overlap: ChunkOptions(
        size=size, table_size=table, overlap=min(overlap, size - 1)
    ),
    st.integers(10, 300), st.integers(10, 300), st.integers(0, 40),
)  # fmt: skip


NUMBERED = """---
id: limits
title: Limits
---
# Limits

## Default limits

| # | Service | Limit | Owner |
|---|---|---|---|
| 1 | Quay | 100 | Ines |
| 2 | Ledger | 20 | Ben |
| 3 | Harbour | 30 | Cho |
"""
PLAIN = re.sub(r"(?m)^\| ?[#\d-]+ ?\|", "|", NUMBERED)


def test_a_row_that_was_only_renumbered_is_not_the_one_that_has_its_number_now() -> None:
    kept = place(NUMBERED, "Ledger")
    renumbered = NUMBERED.replace("| 2 |", "| 3 |").replace("| 1 |", "| 2 |").replace(
        "| 2 | Quay", "| 1 | Beacon | 7 | Dana |\n| 2 | Quay"
    )  # fmt: skip
    assert current_section(kept, read_in(renumbered)) is None
    changed = now(NUMBERED.replace("| 20 |", "| 25 |"), kept)
    assert changed_cell(kept, changed) == ("20", "25")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (r"\| Service \| Limit \| Owner", "| Service | Upper limit | Owner"),
        (r"(?m)^\|([^|]+)\|([^|]+)\|([^|]+)\|$", r"|\1|\3|\2|"),
        (r"(?m)^(\| \w.*)\|$", r"\1| |"),
        (r"(?s)(\| Quay[^\n]*\n)(.*)$", r"\2\1"),
        ("Limits", "Upper limits"),
    ],
)
def test_a_table_that_is_only_arranged_anew_has_not_changed(old: str, new: str) -> None:
    arranged = re.sub(old, new, PLAIN)
    assert arranged != PLAIN
    if new == r"\1| |":
        arranged = arranged.replace("|---|---|---|", "|---|---|---|---|")
    kept = place(PLAIN, "Ledger")
    assert kept.row == ("Ledger",)
    assert not has_changed(kept, now(arranged, kept))


def test_values_that_changed_columns_are_a_change() -> None:
    kept = place(PLAIN, "Ledger")
    assert has_changed(kept, now(PLAIN.replace("| 20 | Ben |", "| Ben | 20 |"), kept))
    unnamed = PLAIN.replace("| Limit | Owner |", "| | |")
    kept = place(unnamed, "Ledger")
    assert has_changed(kept, now(unnamed.replace("| 20 | Ben |", "| Ben | 20 |"), kept))


@pytest.mark.parametrize(
    "mark", ["* ", "+ ", "1. ", "- [ ] ", "- [x] "],
)  # fmt: skip
def test_a_list_that_is_only_marked_otherwise_has_not_changed(mark: str) -> None:
    text = "---\nid: pump\n---\n# Pump\n\n## Do\n\nDo this:\n\n- Stop the pump.\n- Call Ben.\n"
    kept = place(text, "Call Ben")
    assert not has_changed(kept, now(text.replace("\n- ", f"\n{mark}"), kept))
    assert has_changed(kept, now(text.replace("Ben", "Cho"), kept))


@settings(max_examples=60)
@given(first=SIZES, again=SIZES, text=st.sampled_from([ROTATION, LAPTOPS, LONG]))
def test_a_document_read_in_again_in_pieces_of_another_size_says_the_same(
    first: ChunkOptions, again: ChunkOptions, text: str
) -> None:
    before, after = read_in(text, first, "one"), read_in(text, again, "other")
    same = read_in(text, first, "one")
    (document,) = before.documents
    for chunk in before.chunks(document):
        for unit in chunk.units:
            for kept in cited_sections(cited(unit, before, document), before):
                for snapshot in (after, same):
                    found = current_section(kept, snapshot)
                    assert found is not None
                    assert not has_changed(kept, found), (kept, found)


@settings(max_examples=60)
@given(size=SIZES, changed=st.sampled_from(["yes to it", "what is open", "verify", "the flood"]))
def test_a_changed_word_is_seen_whatever_the_size_of_the_pieces(
    size: ChunkOptions, changed: str
) -> None:
    before = read_in(LONG, size, "one")
    kept = place(LONG, "In the channel")
    after = current_section(kept, read_in(LONG.replace(changed, "heliotrope"), size, "other"))
    assert before
    assert after is not None
    assert has_changed(kept, after)
