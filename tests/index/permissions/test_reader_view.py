"""A reader's view gives nothing away: every attribute of the port, one by one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest

from config.settings import Settings
from index.permissions.rules import Guarded, ReaderView, identities, visible_to
from index.publish import Index, open_index
from index.search import SearchQuery, Snapshot
from loaders.document import Permission
from tests.index.conftest import WordEmbedder, make_corpus

BOB = identities("bob@tidewater.example")
ONLY_INES = (Permission(kind="user", value="ines@tidewater.example"),)
ANYONE = (Permission(kind="anyone"),)
CLOSED, OPEN = "laptop-policy", "key-rotation"
QUESTION = "how are keys and laptops and guests of the network treated"
Scoped = Callable[[Snapshot, Snapshot], tuple[Any, Any]]
"""A view of a generation, and a generation without what is closed → what should be the same."""


def cards(view: Snapshot, without: Snapshot) -> tuple[Any, Any]:
    asked = [CLOSED, OPEN, "none"]
    assert view.cards(asked)
    return view.cards(asked), without.cards(asked)


def search(view: Snapshot, without: Snapshot) -> tuple[Any, Any]:
    query = SearchQuery(variants=(QUESTION,), limit=50)
    narrowed = SearchQuery(variants=(QUESTION,), limit=50, documents=frozenset({CLOSED}))

    def found(one: Snapshot) -> list[set[str]]:
        return [{hit.chunk.id for hit in one.search(each)} for each in (query, narrowed)]

    assert found(view)[0]
    return found(view), found(without)


def documents(view: Snapshot, without: Snapshot) -> tuple[Any, Any]:
    def seen(one: Snapshot) -> list[Any]:
        cards = one.documents
        return [
            dict(cards), list(cards), list(cards.values()), list(cards.items()), len(cards),
            CLOSED in cards, cards.get(CLOSED), CLOSED in cards.keys(),  # noqa: SIM118 - a way in of its own
        ]  # fmt: skip

    return seen(view), seen(without)


def named(view: Snapshot, without: Snapshot) -> tuple[Any, Any]:
    keys = ("laptoppolicy", "keyrotation", "section0", "none")
    assert view.named(keys)["keyrotation"] == (OPEN,)
    return [view.named(keys, mentions=also) for also in (False, True)], [
        without.named(keys, mentions=also) for also in (False, True)
    ]


def chunks(view: Snapshot, without: Snapshot) -> tuple[Any, Any]:
    assert view.chunks(OPEN)
    return [[*view.chunks(one)] for one in (OPEN, CLOSED, "none")], [
        [*without.chunks(one)] for one in (OPEN, CLOSED, "none")
    ]


def unit_similarities(view: Snapshot, without: Snapshot) -> tuple[Any, Any]:
    ids = [chunk.id for _, chunks in make_corpus().values() for chunk in chunks]
    view.search(SearchQuery(variants=(QUESTION,), limit=50))
    found = view.unit_similarities(QUESTION, ids)
    assert found
    return found, without.unit_similarities(QUESTION, ids)


def rarity(view: Snapshot, without: Snapshot) -> tuple[Any, Any]:
    words = ("laptop", "hbr-eu1", "keys", "owner", "unheard")
    return [view.rarity(word) for word in words], [without.rarity(word) for word in words]


def is_unheard_of(view: Snapshot, without: Snapshot) -> tuple[Any, Any]:
    words = ("eu1", "SEC-1234", "q7okta", "laptops")
    assert view.is_unheard_of("eu1"), "only a closed document names it"
    return [view.is_unheard_of(each) for each in words], [
        without.is_unheard_of(each) for each in words
    ]


def of_the_generation(name: str) -> Scoped:
    return lambda view, without: (getattr(view, name), getattr(without, name))


SCOPED: dict[str, Scoped] = {
    "domain": of_the_generation("domain"),
    "generation": of_the_generation("generation"),
    "language": of_the_generation("language"),
    "documents": documents,
    "cards": cards,
    "search": search,
    "chunks": chunks,
    "named": named,
    "unit_similarities": unit_similarities,
    "rarity": rarity,
    "is_unheard_of": is_unheard_of,
}


def public(kind: type) -> set[str]:
    return {name for name in dir(kind) if not name.startswith("_")}


def test_every_attribute_of_the_port_is_here_and_the_view_has_it() -> None:
    assert public(Snapshot) == SCOPED.keys()
    assert public(ReaderView) - public(Snapshot) == {"known_cards", "is_open", "readable"}
    assert public(Guarded) - public(ReaderView) == {"read_by"}
    missing = SCOPED.keys() - vars(ReaderView).keys()
    assert not missing, "the view has to say itself what of it a reader may have"


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Snapshot, Snapshot]]:
    """A generation with a closed document, and one that never had it."""
    opened: list[Index] = []

    def published(*without: str) -> Snapshot:
        data_dir = tmp_path_factory.mktemp("published")
        index = open_index(Settings(_env_file=None, data_dir=data_dir), WordEmbedder())
        opened.append(index)
        with index.stage("help") as staging:
            for card, chunks in make_corpus().values():
                permissions = ONLY_INES if card.id == CLOSED else ANYONE
                if card.id not in without:
                    staging.put(replace(card, permissions=permissions), chunks)
            staging.commit({})
        return index.snapshot("help")

    yield published(), published(CLOSED)
    for index in opened:
        index.close()


@pytest.mark.parametrize("name", SCOPED)
def test_a_view_is_as_if_what_is_closed_were_not_there(
    name: str, pair: tuple[Snapshot, Snapshot]
) -> None:
    whole, without = pair
    view = visible_to(whole, BOB)
    assert isinstance(view, ReaderView)
    seen, expected = SCOPED[name](view, without)
    assert seen == expected


@pytest.mark.parametrize("name", sorted(SCOPED.keys() - {"domain", "generation", "language"}))
def test_what_is_closed_would_be_seen_in_the_whole(
    name: str, pair: tuple[Snapshot, Snapshot]
) -> None:
    whole, without = pair
    if name == "is_unheard_of":
        assert not whole.is_unheard_of("eu1")
    else:
        seen, expected = SCOPED[name](whole, without)
        assert seen != expected


def test_similarities_are_told_of_shown_chunks_alone(pair: tuple[Snapshot, Snapshot]) -> None:
    view = visible_to(pair[0], BOB)
    ids = [chunk.id for _, chunks in make_corpus().values() for chunk in chunks]
    assert view.unit_similarities(QUESTION, ids) == {}
    shown = view.chunks(OPEN)
    assert view.unit_similarities(QUESTION, ids).keys() == {chunk.id for chunk in shown}
