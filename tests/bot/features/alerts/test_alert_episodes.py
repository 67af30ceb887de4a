"""Which messages are of one episode: by row, by name, by edits."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

import pytest
from sqlalchemy import create_engine

from bot.features.alerts.episodes import Episode, Occurrence, key_of
from bot.features.alerts.store import EpisodeStore

BEGIN = datetime(2026, 11, 25, 3, 0)
"""UTC without a zone, as stored."""


@pytest.fixture
def store() -> EpisodeStore:
    return EpisodeStore(create_engine("sqlite://"))


def fired(ts: str, row: str = "", *, name: str = "HighErrorRate", minute: int = 0) -> Occurrence:
    """`row`: the one that its labels lead to; several where there is none."""
    named = key_of("C0", name)
    return Occurrence(
        message=f"C0:{ts}", kind=key_of(named, row), named=named, name=name, domain="shop",
        channel="C0", outcome="found" if row else "several", status="firing", places=(),
        at=BEGIN + timedelta(minutes=minute),
    )  # fmt: skip


def over(occurrence: Occurrence) -> Occurrence:
    return replace(occurrence, status="resolved")


def state(store: EpisodeStore, question: str) -> list[bool]:
    """Whether each episode of a message is over."""
    return [one.resolved_at is not None for one in store.of_question(f"C0:{question}")]


def began(store: EpisodeStore, occurrence: Occurrence) -> Episode:
    episode = store.count(occurrence).episode
    assert episode
    return episode


def test_rows_of_one_name_are_episodes_of_their_own(store: EpisodeStore) -> None:
    assert began(store, fired("1", "cart")).id != began(store, fired("2", "till")).id
    store.count(over(fired("3", "till", minute=5)))
    assert (state(store, "1"), state(store, "2")) == ([False], [True])


def test_an_end_of_another_row_ends_nothing(store: EpisodeStore) -> None:
    began(store, fired("1", "cart"))
    assert store.count(over(fired("2", "till", minute=5))).episode is None
    assert state(store, "1") == [False]


@pytest.mark.parametrize(("first", "last"), [("cart", ""), ("", "cart")])
def test_an_end_may_name_fewer_labels_or_more(store: EpisodeStore, first: str, last: str) -> None:
    began(store, fired("1", first))
    store.count(over(fired("2", last, minute=5)))
    assert state(store, "1") == [True]


def test_an_end_without_labels_is_of_the_one_that_still_fires(store: EpisodeStore) -> None:
    began(store, fired("1"))
    store.count(over(fired("2", minute=1)))
    began(store, fired("3", "cart", minute=2))
    store.count(over(fired("4", minute=3)))
    assert (state(store, "1"), state(store, "3")) == ([True], [True])


def test_of_two_it_ends_the_one_that_fires_there_and_else_none(store: EpisodeStore) -> None:
    began(store, replace(fired("1", "cart"), places=("pod a",)))
    began(store, replace(fired("2", "till"), places=("pod b",)))
    store.count(over(fired("3", minute=5)))
    assert (state(store, "1"), state(store, "2")) == ([False], [False])
    store.count(over(replace(fired("4", minute=6), places=("pod b",))))
    assert (state(store, "1"), state(store, "2")) == ([False], [True])


def test_an_end_that_is_read_first_waits_for_its_own_row(store: EpisodeStore) -> None:
    store.count(over(fired("9", "cart", minute=5)))
    began(store, fired("1", "till"))
    began(store, fired("2", "cart"))
    assert (state(store, "1"), state(store, "2")) == ([False], [True])


def test_edits_turn_it_over_and_back_again_as_often_as_they_say(store: EpisodeStore) -> None:
    def edited(minute: int) -> Occurrence:
        return replace(fired("1", "cart", minute=minute), edited=True)

    began(store, fired("1", "cart"))
    for minute, one in enumerate((edited(1), over(edited(2)), over(edited(3))), start=1):
        assert store.count(one).is_new is (minute == 2)
    assert state(store, "1") == [True]
    back = edited(60)
    assert store.count(back).is_new
    assert store.count(back).is_new is False
    assert store.count(over(edited(2))).is_new is False
    assert state(store, "1") == [False]
    (episode,) = store.of_question("C0:1")
    tally = store.settle(episode.id)
    assert tally
    assert tally.fired == 2
    store.end(episode, "C0:1", BEGIN + timedelta(minutes=70))
    store.end(episode, "C0:1", BEGIN + timedelta(minutes=80))
    (episode,) = store.of_question("C0:1")
    assert episode.resolved_at == BEGIN + timedelta(minutes=70)
