"""What the answerer reads: whole lists and tables, by sections, no more than helps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from agents.context.duplicates import is_near_duplicate
from agents.context.post_processor import (
    WITH_A_MODEL,
    Context,
    FoundPassages,
    build_context,
    chunk_scores,
    first_look,
)
from agents.context.sources import MAX_SOURCE_CHARS, build_sources, outline_of
from agents.extractive.relevance import score_units
from agents.plan import Plan
from agents.retrieval import retrieve
from enrichment.chunk import Chunk, ChunkRun
from index.search import Hit, Snapshot
from tests.agents.corpus import LAPTOPS, OLD_ROTATION, ROTATION, snapshot
from tests.agents.memory import MemorySnapshot

WORDS = (
    "first open the console then note the ticket before the second person confirms it in writing"
)


def page(title: str, body: str, about: str = "") -> str:
    name = title.lower().replace(" ", "-").replace(":", "")
    return f"---\nid: {name}\ntitle: '{title}'\n{about}---\n# {title}\n\n{body}\n"


STEPS = page(
    "Kiln Restart",
    "## Procedure\n\nRestart the kiln as follows:\n\n"
    + "\n".join(f"{n}. Step {n}: {WORDS} and the kiln answers {n * 111}." for n in range(1, 21)),
)
REGISTER = page(
    "Kiln Register",
    "## Kilns\n\n| Kiln | Owner | Limit |\n|---|---|---|\n"
    + "\n".join(f"| kiln-{n} | Team {n * 7} of {WORDS} | {n * 10} degrees |" for n in range(1, 41))
    + "\n\nAn empty cell means no limit.\n\n## Cleaning\n\nKilns are swept on Fridays by hand.",
)


def asked(
    found: Snapshot,
    question: str,
    *,
    characters: int = 24_000,
    parts: Sequence[str] = (),
    wanted: tuple[str, ...] = (),
    may_look: bool = False,
    at_first: int | None = None,
) -> Context:
    plan = Plan(question=question, kind="in_domain", sub_questions=list(parts))
    hits = retrieve(plan, found)
    scored = score_units(plan, found, hits, {})
    given = FoundPassages(
        plan=plan,
        snapshot=found,
        hits=hits,
        scored=scored,
        requested=wanted,
        can_look_up=may_look,
    )
    return build_context(given, characters=characters, at_first=at_first)


def read(context: Context) -> str:
    return "\n\n".join(source.text for source in context.sources)


def chunks_of(text: str) -> Sequence[Chunk]:
    found = snapshot(text)
    return found.chunks(next(iter(found.documents)))


def part(chunk: Chunk, place: int, parts: int, first: int, count: int, total: int) -> Chunk:
    run = ChunkRun(
        id="steps",
        what="items",
        part=place,
        parts=parts,
        first=first,
        count=count,
        total=total,
    )
    return replace(chunk, runs=(run,))


def a_list(parts: int = 4, each: int = 2) -> list[Chunk]:
    """Parts of one list of `parts` · `each` items, each below the same lead-in."""
    first = chunks_of(LAPTOPS)[0]
    return [
        part(
            replace(
                first,
                id=f"part {place}",
                position=place,
                text="Approvals are needed from:\n\n"
                + "\n".join(f"{place * each + n}. Approver {place * each + n}" for n in (1, 2)),
            ),
            place,
            parts,
            place * each,
            each,
            parts * each,
        )
        for place in range(parts)
    ]


def test_parts_of_a_list_are_one_list_below_one_lead_in() -> None:
    (source,) = build_sources(a_list())
    lines = source.text.split("\n")
    assert lines[:2] == ["Approvals are needed from:", ""]
    assert lines[2:] == [f"{n}. Approver {n}" for n in range(1, 9)]


def test_items_that_are_left_out_are_told_at_their_place() -> None:
    one, _, three, _ = a_list()
    assert build_sources([one, three])[0].text.split("\n") == [
        "Approvals are needed from:",
        "",
        "1. Approver 1",
        "2. Approver 2",
        "(items 3–4 not shown)",
        "5. Approver 5",
        "6. Approver 6",
        "(items 7–8 not shown)",
    ]
    (alone,) = build_sources([three])
    assert "from:\n(items 1–4 not shown)\n5. Approver 5" in alone.text.replace("\n\n", "\n")


def test_row_groups_are_one_table_and_its_note_stands_once_below() -> None:
    rows = [chunk for chunk in chunks_of(REGISTER) if chunk.table]
    assert len(rows) > 3
    (whole, *rest) = build_sources(rows[:2])
    assert rest == []
    assert whole.text.count("| Kiln | Owner | Limit |") == 1
    assert whole.text.count("An empty cell means no limit.") == 1
    assert whole.text.count("**Kilns**") == 1
    first_left_out = len(rows[0].table.rows) + len(rows[1].table.rows) + 1  # type: ignore[union-attr]
    assert f"(rows {first_left_out}–40 of 40 not shown)" in whole.text
    (named, *_) = build_sources(rows[:2], snapshot(REGISTER))
    hidden = named.text.partition(f"(rows {first_left_out}–40 of 40 not shown: ")[2]
    assert hidden.startswith(f"kiln-{first_left_out}; kiln-{first_left_out + 1}; ")
    assert "kiln-40)" in hidden


def test_rows_between_are_told_as_left_out() -> None:
    first, second, third = [chunk for chunk in chunks_of(REGISTER) if chunk.table][:3]
    assert first.table
    assert second.table
    assert third.table
    text = build_sources([first, third])[0].text
    start, end = len(first.table.rows) + 1, third.table.first_row
    assert f"\n(rows {start}–{end} of 40 not shown)\n| kiln-{end + 1} |" in text


def test_hidden_items_are_named_by_their_beginnings() -> None:
    one, two, three, four = a_list()
    text = build_sources([one, four], MemorySnapshot([one, two, three, four], []))[0].text
    hidden = "; ".join(f"{n}. Approver {n}" for n in (3, 4, 5, 6))
    assert f"\n(items 3–6 not shown: {hidden})\n7. Approver 7" in text


def test_what_stands_apart_in_a_section_is_separated() -> None:
    body = "\n\n".join(f"Paragraph {n} says that {WORDS} {WORDS} {WORDS} {n}." for n in range(12))
    found = snapshot(page("Long Read", f"## Only\n\n{body}"))
    one, two, three, four, *_ = found.chunks("long-read")
    assert len({chunk.heading_path for chunk in (one, four)}) == 1
    apart = build_sources([one, three], found)[0].text
    assert f"\n… ({len(two.text)} characters not shown, from “Paragraph" in apart
    assert apart.endswith("then note the …”)")
    together = build_sources([one, two], found)[0].text
    assert together.count("not shown") == 1
    whole = build_sources(found.chunks("long-read"), found)
    assert not any("not shown" in source.text for source in whole)


def test_a_source_is_one_section_of_one_link() -> None:
    found = snapshot(ROTATION, LAPTOPS)
    chunks = [*found.chunks("key-rotation"), *found.chunks("laptops")]
    sources = build_sources(chunks, found)
    for source in sources:
        assert len({(c.document_id, c.tab, c.heading_path, c.url) for c in source.chunks}) == 1
    assert [chunk for source in sources for chunk in source.chunks] == chunks


def test_a_source_is_short_and_the_next_one_goes_on_where_it_ends() -> None:
    found = snapshot(REGISTER)
    rows = [chunk for chunk in found.chunks("kiln-register") if chunk.table]
    sources = build_sources(rows, found)
    assert len(sources) > 1
    assert all(len(source.text) <= MAX_SOURCE_CHARS + 200 for source in sources)
    assert not any("not shown" in source.text for source in sources)
    assert all("| Kiln | Owner | Limit |" in source.text for source in sources)


def test_headings_that_no_source_shows_are_listed_up_to_a_bound() -> None:
    found = snapshot(ROTATION, LAPTOPS)
    sources = build_sources(found.chunks("laptops")[:1], found)
    assert sources[0].place == "Laptop Guide › Lost or stolen"
    assert outline_of(sources, found, characters=50) == ["Laptop Guide: Screen lock"]
    assert outline_of(sources, found, characters=0) == ["Laptop Guide: … 1 more"]
    assert outline_of(sources, snapshot(ROTATION), characters=50) == []


def test_an_outline_is_short_and_counts_what_it_leaves_out() -> None:
    body = "\n\n".join(f"## Kiln {n}\n\n### Care\n\nSwept on day {n}." for n in range(40))
    found = snapshot(page("Kilns", f"{body}\n\n## The last one\n\nIt is cold."))
    sources = build_sources(found.chunks("kilns")[:1], found)
    (whole,) = outline_of(sources, found, characters=2_000)
    assert whole.startswith("Kilns: Kilns › Kiln 1 › Care; ")
    assert whole.endswith("; The last one")
    (cut,) = outline_of(sources, found, characters=110)
    assert cut.endswith("; … 35 more")


def test_what_is_hidden_of_a_section_is_shown_where_that_is_shorter_than_a_lookup() -> None:
    body = "\n\n".join(f"Day {n}: {WORDS} and it cools to {n * 13} degrees." for n in range(16))
    found = snapshot(page("Kiln Log", f"## Days\n\n{body}"))
    chunks = found.chunks("kiln-log")

    def text(part: Sequence[Chunk], *, may_look: bool = True) -> str:
        hits = [Hit(chunk=chunk, score=1.0) for chunk in part]
        plan = Plan(question="how warm is it on day 2?", kind="in_domain")
        given = FoundPassages(plan=plan, snapshot=found, hits=hits, scored=[], can_look_up=may_look)
        size = sum(len(chunk.text) for chunk in part)
        return read(build_context(given, characters=24_000, at_first=size + 200))

    assert "not shown" not in text(chunks[:-1])
    assert "Day 15" in text(chunks[:-1])
    assert "not shown" in text(chunks[:-1], may_look=False)
    assert "not shown" in text(chunks[:-2])


def test_a_list_of_which_a_part_answers_comes_whole() -> None:
    found = snapshot(STEPS, LAPTOPS)
    context = asked(found, "what does the kiln answer at step 7 of the restart?")
    for number in range(1, 21):
        assert f"Step {number}:" in read(context)
    assert read(context).count("as follows:") == 1


def test_of_a_long_register_the_rows_asked_for_come_and_the_rest_is_told() -> None:
    found = snapshot(REGISTER)
    context = asked(found, "who owns kiln-33?", characters=1_500)
    assert "| kiln-33 |" in read(context)
    assert "of 40 not shown: kiln-1; kiln-2; " in read(context)
    assert sum(len(chunk.text) for chunk in context.chunks) <= 1_500


def test_each_part_of_a_question_has_its_passages_though_one_fills_the_context() -> None:
    found = snapshot(STEPS, REGISTER, LAPTOPS)
    parts = ["how is the kiln restarted?", "after how long does the laptop screen lock?"]
    context = asked(found, "restart the kiln step by step", parts=parts, characters=3_000)
    assert "locks after 5 minutes" in read(context)


def test_completing_lists_leaves_most_of_a_context_to_others() -> None:
    machines = ("Kiln", "Oven", "Press", "Wheel", "Mill")
    guides = []
    for place, name in enumerate(machines):
        words = " ".join(f"{word}{place}" for word in WORDS.split())
        steps = (f"{n}. {name} step {n} {'abcde'[place] * 3}{n} {words}" for n in range(1, 17))
        lead = f"## Restart of the {name}\n\nRestart the {name} as follows:\n\n"
        guides.append(page(f"{name} Guide", lead + "\n".join(steps)))
    found, question = snapshot(*guides, LAPTOPS), "how do I restart it, step 1 of the guide?"
    context = asked(found, question, characters=5_000)
    documents = {chunk.document_id for chunk in context.chunks} - {"laptops"}
    assert len(documents) == len(machines)


def test_a_question_that_little_matches_gets_little() -> None:
    many = [
        page(
            f"Topic {n}",
            f"## Part {n}\n\nThe glaze {n} takes {n} minutes: {WORDS} {WORDS}.\n\n" * 3,
        )
        for n in range(60)
    ]
    context = asked(snapshot(*many, LAPTOPS), "after how many minutes does the screen lock?")
    assert "locks after 5 minutes" in read(context)
    assert sum(len(chunk.text) for chunk in context.chunks) < 8_000
    assert "would not help" in context.dropped.values()
    small = asked(
        snapshot(*many, LAPTOPS), "after how many minutes does the screen lock?", characters=12_000
    )
    assert "would not help" not in small.dropped.values()


def test_what_the_answerer_asked_for_comes_first_whatever_its_score() -> None:
    found = snapshot(STEPS, REGISTER, LAPTOPS)
    sweeping = next(c for c in found.chunks("kiln-register") if "swept" in c.text)
    context = asked(
        found,
        "after how long does the screen lock?",
        wanted=("gone", sweeping.id),
        characters=1_000,
    )
    assert sweeping in context.chunks


RULE = "Report a {thing} within {hours} hours to the desk in writing, and keep the parcel sealed."


def edition(title: str, hours: int, about: str = "") -> str:
    rule = RULE.format(thing="damaged parcel", hours=hours)
    return page(title, f"## Reporting\n\n{rule} {WORDS}.", about)


def test_an_edition_for_somebody_else_gives_way_to_the_one_for_all() -> None:
    found = snapshot(
        *(edition(f"Parcel Rules: {n}", 3) for n in ("Chile", "Peru")), edition("Parcel Rules", 24)
    )
    context = asked(found, "how soon is a damaged parcel reported?")
    assert "within 24 hours" in read(context)
    assert "within 3 hours" not in read(context)


def test_the_edition_that_the_question_names_is_read() -> None:
    found = snapshot(
        *(edition(f"Parcel Rules: {n}", h) for n, h in (("Chile", 3), ("Peru", 5))),
        edition("Parcel Rules", 24),
    )
    context = asked(found, "how soon is a damaged parcel reported in Peru?")
    assert "within 5 hours" in read(context)
    assert "within 3 hours" not in read(context)


def test_a_word_that_many_titles_share_names_no_edition() -> None:
    teams = [edition(f"Parcel Rules, {name} Team", 3) for name in ("Harbour", "Archive", "Kiosk")]
    found = snapshot(*teams, edition("Parcel Rules", 24))
    context = asked(found, "how soon does my team report a damaged parcel?")
    assert "within 24 hours" in read(context)
    assert "within 3 hours" not in read(context)


def test_editions_that_the_question_does_not_tell_apart_are_all_read() -> None:
    found = snapshot(*(edition(f"Parcel Rules: {n}", h) for n, h in (("Chile", 3), ("Peru", 5))))
    context = asked(found, "how soon is a damaged parcel reported?")
    assert "within 3 hours" in read(context)
    assert "within 5 hours" in read(context)


@pytest.mark.parametrize("asks_about_the_past", [False, True])
def test_of_an_outdated_edition_only_what_was_asked_for_is_read(asks_about_the_past: bool) -> None:
    found = snapshot(
        edition("Parcel Rules", 24),
        edition("Parcel Rules 2019", 3, "status: superseded\n"),
    )
    when = " in 2019" if asks_about_the_past else ""
    context = asked(found, f"how soon was a damaged parcel reported{when}?")
    assert ("within 3 hours" in read(context)) is asks_about_the_past


def test_editions_for_others_do_not_take_the_places_of_other_passages() -> None:
    crowd = [edition(f"Parcel Rules for Region{n}", n) for n in range(100, 190)]
    other = page("Parcel Insurance", "## Cover\n\nA damaged parcel is paid for within a month.")
    found = snapshot(*crowd, edition("Parcel Rules", 24), other)
    context = asked(found, "how soon is a damaged parcel reported?")
    assert {chunk.document_id for chunk in context.chunks} == {"parcel-rules", "parcel-insurance"}


def test_a_document_that_shares_the_only_telling_word_of_a_title_is_no_edition_of_it() -> None:
    """`Work Schedules` is one stem, which `Parcel Retention Schedule` has as well."""
    work = [edition(title, 3) for title in ("Work Schedules", "Work Schedules: Chile")]
    other = page("Parcel Retention Schedule", "## Ages\n\nA damaged parcel is kept for 9 weeks.")
    notes = [page(f"Quay {n}", f"## Berth {n}\n\nA parcel of quay {n} is wet.") for n in range(70)]
    context = asked(snapshot(*work, *notes, other), "how long is a damaged parcel kept?")
    assert "9 weeks" in read(context)


def test_the_old_and_the_new_table_are_both_there_when_their_titles_name_a_year() -> None:
    found = snapshot(ROTATION, OLD_ROTATION)
    context = asked(found, "how old could an API signing key get in 2024?")
    assert "| API signing key | 90 days | 365 days |" in read(context)


def test_an_equal_item_below_another_lead_in_is_said_again() -> None:
    item = "- **Mac:** a 16 inch one, with " + ", ".join(f"part {n}" for n in range(60)) + "."
    roles = ("Writers", "Engineers", "Designers")
    found = snapshot(page("Laptops", "\n\n".join(f"**{role}**\n\n{item}" for role in roles)))
    (source,) = build_sources(found.chunks("laptops"), found)
    assert source.text.count(item) == len(roles)


def test_texts_that_differ_in_a_figure_or_a_not_are_no_duplicates() -> None:
    chunk = chunks_of(edition("Parcel Rules", 24))[-1]
    same = replace(
        chunk, id="same", document_id="o", text=chunk.text.replace("in writing", "in  writing")
    )
    assert is_near_duplicate(same, chunk)
    beside = replace(same, document_id=chunk.document_id)
    assert not is_near_duplicate(beside, chunk), "another case of the same section"
    for before, after in (("24", "48"), ("and keep", "and never keep"), ("to the", "not to the")):
        text = chunk.text.replace(before, after)
        other = replace(chunk, id="other", document_id="o", text=text)
        assert not is_near_duplicate(other, chunk)


def test_a_passage_of_nothing_but_addresses_is_left_out() -> None:
    bare = page("Links", "## Parcels\n\nhttps://parcels.example/damaged/parcel/report")
    context = asked(snapshot(bare, LAPTOPS), "damaged parcel report")
    assert not any("https://parcels" in chunk.text for chunk in context.chunks)


def test_nothing_found_is_an_empty_context() -> None:
    context = asked(snapshot(LAPTOPS), "")
    assert context.sources == build_sources(context.chunks)


@pytest.fixture(scope="module")
def huge_pages() -> Snapshot:
    huge = page("Huge", "## Blob\n\n" + "parcel " * 14_000)
    rows = "\n".join(f"| parcel-{n} | {n} |" for n in range(5_000))
    table = page("Parcels", f"## All\n\n| Parcel | Weight |\n|---|---|\n{rows}")
    items = page(
        "Items", "## List\n\nParcels:\n\n" + "\n".join(f"- parcel {n}" for n in range(500))
    )
    return snapshot(huge, table, items)


@pytest.mark.parametrize("characters", [1_000, 24_000])
def test_passages_of_any_size_never_exceed_the_budget(
    characters: int, huge_pages: Snapshot
) -> None:
    context = asked(huge_pages, "weight of parcel-4321", characters=characters)
    assert sum(len(chunk.text) for chunk in context.chunks) <= characters
    assert sum(len(source.text) for source in context.sources) <= characters * 1.2 + 300


def test_a_document_that_vanished_meanwhile_is_shown_as_it_was_found() -> None:
    found = snapshot(REGISTER)
    (first, *_) = [chunk for chunk in found.chunks("kiln-register") if chunk.table]
    assert "rows" in build_sources([first], snapshot(LAPTOPS))[0].text


def test_a_reader_who_may_ask_for_more_gets_less_at_once_unless_there_are_parts() -> None:
    found = snapshot(REGISTER, STEPS, LAPTOPS, ROTATION)
    question = "what is the limit of kiln-17?"
    parts = (question, "how soon is a lost laptop wiped?")

    def size(*, may_look: bool, parts: Sequence[str] = ()) -> int:
        return len(read(asked(found, question, parts=parts, may_look=may_look)))

    assert size(may_look=True) < size(may_look=False)
    assert "170 degrees" in read(asked(found, question, may_look=True))
    assert size(may_look=True, parts=parts) == size(may_look=False, parts=parts)


def test_a_first_look_is_small_and_what_was_looked_up_comes_on_top_of_it() -> None:
    found = snapshot(STEPS, REGISTER, LAPTOPS, ROTATION)
    question = "what does the kiln answer at step 7 of the restart?"
    first = asked(found, question, at_first=2_000)
    size = sum(len(chunk.text) for chunk in first.chunks)
    assert "Step 7:" in read(first)
    assert 1_000 < size <= 2_000
    missing = [c.id for c in found.chunks("kiln-register") if c not in first.chunks][:3]
    second = asked(found, question, at_first=2_000, wanted=tuple(missing))
    assert {chunk.id for chunk in second.chunks} >= {*missing, *(c.id for c in first.chunks)}


def test_a_first_look_has_room_for_each_part_of_a_question() -> None:
    one = Plan(question="a", kind="in_domain")
    two = Plan(question="a", kind="in_domain", sub_questions=["b", "c"])
    many = Plan(question="a", kind="in_domain", readings=[str(n) for n in range(9)])
    assert first_look(one) < first_look(two) < first_look(many) < WITH_A_MODEL


def test_what_answers_a_part_counts_in_a_first_look() -> None:
    found = snapshot(LAPTOPS, ROTATION)
    part = "after how many minutes does the laptop screen lock?"
    plan = Plan(question="rules for keys", kind="in_domain", sub_questions=[part])
    hits = retrieve(plan, found)
    scored = score_units(plan, found, hits, {})
    (lock,) = (hit.chunk.id for hit in hits if hit.chunk.heading == "Screen lock")
    by_whole = chunk_scores(hits, scored)
    by_parts = chunk_scores(hits, scored, by_parts=True)
    assert by_parts[lock] > by_whole[lock]
    assert all(by_parts[chunk] >= score for chunk, score in by_whole.items())
