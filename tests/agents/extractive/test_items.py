"""The item of a list that a question asks for."""

from __future__ import annotations

from collections.abc import Sequence

from agents.extractive.cells import RequestedItem, item_text, requested_item
from agents.extractive.relevance import Aspect
from enrichment.chunk import Chunk, Unit
from enrichment.language.words import naming_words


def list_chunk(lead_in: str, items: Sequence[str]) -> Chunk:
    units = [Unit(kind="sentence", text=lead_in, index_text=lead_in)] if lead_in else []
    units += [Unit(kind="item", text=item, index_text=item) for item in items]
    return Chunk(
        id="c",
        document_id="d",
        document_title="Office guide",
        kind="text",
        position=0,
        heading_path=("Visitors",),
        text="",
        index_text="",
        tokens=1,
        units=tuple(units),
    )


def asked_of(chunk: Chunk, question: str, index: int = 1) -> RequestedItem | None:
    weights = dict.fromkeys(naming_words(question), 1.0)
    return requested_item(chunk, index, Aspect(text=question, weights=weights))


VISITORS = list_chunk(
    "You must not take these past reception:",
    [
        "Cameras, except for press days.",
        "Food, for longer than 2 hours.",
        "Pets other than guide dogs.",
    ],
)


def test_the_item_is_said_with_what_leads_into_it() -> None:
    asked = asked_of(VISITORS, "may visitors bring cameras past reception?")
    assert asked
    assert item_text(asked) == (
        "**You must not take these past reception:** Cameras, except for press days."
    )


def test_the_best_item_is_found_from_any_item_of_its_list() -> None:
    found = [asked_of(VISITORS, "how long may food stay past reception", at) for at in (1, 2, 3)]
    assert [each and each.index for each in found] == [2, 2, 2]
    assert all(each and each.has_kind for each in found)


def test_what_neither_item_nor_lead_in_says_is_left_over() -> None:
    asked = asked_of(VISITORS, "may visitors take pets to the canteen?")
    assert asked
    assert asked.left_over == {"canteen"}


def test_no_item_is_asked_for_where_the_question_tells_none_from_the_others() -> None:
    assert asked_of(VISITORS, "what must not go past reception?") is None
    assert asked_of(VISITORS, "pets and cameras") is None


def test_a_sentence_and_a_single_item_are_no_list() -> None:
    assert asked_of(VISITORS, "cameras", 0) is None
    assert asked_of(list_chunk("", ["Cameras."]), "cameras", 0) is None


def test_a_list_without_a_lead_in_says_its_item_alone() -> None:
    asked = asked_of(list_chunk("", ["Cameras are fine.", "Pets are not."]), "cameras", 0)
    assert asked
    assert item_text(asked) == "Cameras are fine."
