"""Permissions that change between two questions, with the real client and a local Google."""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import pytest

from config.domain import Access, Domain, Sources
from config.errors import ConfigError, PermissionsUnknown
from index.permissions.live import (
    FRESH_SECONDS,
    REST_SECONDS,
    SERVED_SECONDS,
    CheckReaders,
    DomainAccess,
)
from index.permissions.rules import EVERYONE, all_may_read, identities, visible_to
from index.search import SearchQuery, Snapshot
from loaders.document import Permission
from loaders.google.permissions import current_readers
from loaders.sources.google_drive import GoogleDriveSource
from playground.google_stand_in import GoogleFault, GoogleStandIn
from telemetry.metrics import registry
from tests.agents.corpus import LAPTOPS, OLD_ROTATION, ROTATION, asking, snapshot
from tests.agents.memory import MemorySnapshot
from tests.agents.scripted import ScriptedModel, Watching
from tests.loaders.google.source import Clock, document, folder, opened

INES, BOB = identities("ines@tidewater.example"), identities("bob@tidewater.example")
INES_ALONE = {"id": "1", "type": "user", "role": "reader", "emailAddress": "ines@tidewater.example"}
BOB_ALONE = {"id": "2", "type": "user", "role": "reader", "emailAddress": "bob@tidewater.example"}
ANYONE = {"id": "a", "type": "anyone", "role": "reader"}
ABOUT_BOTH = SearchQuery(variants=("how long until a screen locks or a key expires",), limit=50)
DOWN = GoogleFault(method="batch", status=503, times=None)


def published(
    *texts: str, by: tuple[Permission, ...], source: Literal["google_drive", "file", ""]
) -> MemorySnapshot:
    """A generation in which all documents have these permissions."""
    found = snapshot(*texts)
    found.documents = {
        name: replace(card, source=source, permissions=by) for name, card in found.documents.items()
    }
    return found


@dataclass
class House:
    google: GoogleStandIn
    check: CheckReaders
    clock: Clock = field(default_factory=Clock)
    drive_source: GoogleDriveSource = field(
        default_factory=lambda: GoogleDriveSource(folders=["top"])
    )
    access: Access = field(default_factory=lambda: Access(audience="asker"))
    whole: Snapshot = field(
        default_factory=lambda: published(
            ROTATION,
            LAPTOPS,
            by=(Permission(kind="user", value="ines@tidewater.example"),),
            source="google_drive",
        )
    )

    def __post_init__(self) -> None:
        self.doors = DomainAccess(
            domains=lambda: {"security": self.domain()},
            snapshot=lambda name: self.whole,
            checker=lambda _: self.check,
            clock=self.clock,
        )

    def domain(self) -> Domain:
        sources = Sources(google_drive=self.drive_source)
        return Domain(domain="security", title="Security", sources=sources, access=self.access)

    def view(self, readers: frozenset[str] | None = INES) -> Snapshot:
        return visible_to(self.doors.snapshot("security"), readers)

    def found(self, readers: frozenset[str] | None = INES) -> set[str]:
        return {hit.chunk.document_id for hit in self.view(readers).search(ABOUT_BOTH)}

    def calls(self) -> int:
        return self.google.requests["batch"]


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    files = [document(name, permissions=(INES_ALONE,)) for name in ("key-rotation", "laptops")]
    with GoogleStandIn([folder("top"), *files]) as google, opened(google, tmp_path) as drive:
        yield House(google, lambda ids: current_readers(ids, drive.calls))


def test_one_call_serves_every_question_until_it_is_old(house: House) -> None:
    for _ in range(5):
        assert house.found() == {"key-rotation", "laptops"}
        assert house.found(BOB) == set()
    assert house.calls() == 1
    house.clock.now += FRESH_SECONDS
    assert house.found() == {"key-rotation", "laptops"}
    assert house.calls() == 2


@pytest.mark.parametrize("how", ["unshared", "trashed", "revoked", "deleted", "locked"])
def test_what_is_taken_away_is_gone_without_an_ingestion(house: House, how: str) -> None:
    assert house.found() == {"key-rotation", "laptops"}
    take_away(house.google, "laptops", how)
    house.clock.now += FRESH_SECONDS
    assert house.found() == {"key-rotation"}
    seen = house.view()
    assert seen.chunks("laptops") == ()
    assert set(seen.documents) == {"key-rotation"}


@pytest.mark.parametrize("how", ["unshared", "trashed", "revoked", "deleted", "locked"])
def test_a_new_process_doesn_t_trust_what_was_published(house: House, how: str) -> None:
    take_away(house.google, "laptops", how)
    assert house.view().chunks("laptops") == ()
    assert house.found() == {"key-rotation"}


def take_away(google: GoogleStandIn, name: str, how: str) -> None:
    if how == "unshared":
        google.drive.inherit(name, BOB_ALONE)
    elif how == "trashed":
        google.drive.trash(name)
    elif how == "revoked":
        google.drive.revoke(name)
    elif how == "deleted":
        google.drive.delete(name)
    else:
        google.drive.put(replace(google.drive[name], locked=True))


def test_whoever_is_let_in_gets_in_without_an_ingestion(house: House) -> None:
    assert house.found(BOB) == set()
    house.google.drive.inherit("laptops", BOB_ALONE)
    house.clock.now += FRESH_SECONDS
    assert house.found(BOB) == {"laptops"}
    assert [card.title for card in house.view(BOB).documents.values()] == ["Laptop Guide"]


def test_documents_of_a_large_domain_are_asked_as_they_are_found(house: House) -> None:
    known = house.whole.documents["laptops"]
    others = {f"d{n}": replace(known, id=f"d{n}", title=f"Secret plan {n}.") for n in range(120)}
    assert isinstance(house.whole, MemorySnapshot)
    house.whole.documents = {**others, **house.whole.documents}
    for name in others:
        house.google.drive.put(document(name, permissions=(BOB_ALONE,)))
    assert len(house.view().documents) == 122, "as published: nobody looks through all of it"
    assert house.calls() == 0
    assert house.found() == {"key-rotation", "laptops"}
    assert house.calls() == 1
    assert len(house.view().documents) == 122 - 48, "asked along with what was found"
    model = ScriptedModel({})
    asking(house.doors.snapshot("security"), model)("how old may a signing key get?", readers=INES)
    said = "".join(prompt.system + prompt.user for prompt in model.prompts)
    assert "Key Rotation Standard" in said
    assert not any(card.title in said for card in others.values()), "no model is told of them"
    assert house.calls() < 10, "asked about together"
    seen = house.view()
    assert seen.cards(others) == []
    assert all(seen.documents.get(name) is None for name in others)


def test_while_google_is_away_only_what_was_heard_lately_counts(house: House) -> None:
    house.google.faults.add(DOWN)
    with pytest.raises(PermissionsUnknown, match="I can't check who may read"):
        house.found()
    house.google.faults.clear()
    house.clock.now += REST_SECONDS
    assert house.found() == {"key-rotation", "laptops"}
    house.google.faults.add(DOWN)
    house.clock.now += SERVED_SECONDS - 60.0
    assert house.found() == {"key-rotation", "laptops"}
    house.clock.now += 60.0
    for look in (
        house.found,
        lambda: house.view().chunks("laptops"),
        lambda: house.view().documents,
    ):
        with pytest.raises(PermissionsUnknown, match="I can't check who may read"):
            look()
    assert not all_may_read(house.doors.snapshot("security"), {"laptops"})
    house.google.faults.clear()
    house.clock.now += REST_SECONDS
    assert house.found() == {"key-rotation", "laptops"}


def test_each_check_of_permissions_is_counted_by_what_came_of_it(house: House) -> None:
    def checks() -> list[float]:
        named = ({"outcome": outcome} for outcome in ("heard", "kept", "unknown"))
        name = "oncall_permission_checks_total"
        return [registry.get_sample_value(name, labels) or 0.0 for labels in named]

    before = checks()
    house.found()
    house.google.faults.add(DOWN)
    house.clock.now += FRESH_SECONDS
    house.found()
    house.clock.now += SERVED_SECONDS
    with pytest.raises(PermissionsUnknown):
        house.found()
    assert [now - then for now, then in zip(checks(), before, strict=True)] == [1, 1, 1]


def test_an_outage_is_not_waited_for_by_every_question(house: House) -> None:
    house.google.faults.add(DOWN)
    for _ in range(4):
        with pytest.raises(PermissionsUnknown):
            house.found()
    assert house.calls() == 7, "the attempts of one call"


def test_a_part_that_google_does_not_tell_is_not_taken_for_closed(house: House) -> None:
    assert house.found() == {"key-rotation", "laptops"}
    house.google.faults.add(
        GoogleFault(method="permissions.list", file="laptops", status=500, times=None)
    )
    house.clock.now += FRESH_SECONDS
    assert house.found() == {"key-rotation", "laptops"}, "heard of five minutes ago"
    house.clock.now += SERVED_SECONDS
    with pytest.raises(PermissionsUnknown):
        house.found()


def test_questions_at_the_same_time_ask_once(house: House) -> None:
    asked: list[Collection[str]] = []
    entered, go = threading.Event(), threading.Event()
    inner = house.check

    def slowly(ids: Collection[str]) -> Mapping[str, tuple[Permission, ...]]:
        asked.append(ids)
        entered.set()
        assert go.wait(30)
        return inner(ids)

    house.check = slowly
    answers: list[set[str]] = []
    threads = [threading.Thread(target=lambda: answers.append(house.found())) for _ in range(6)]
    for thread in threads:
        thread.start()
    assert entered.wait(30)
    go.set()
    for thread in threads:
        thread.join(30)
    assert answers == [{"key-rotation", "laptops"}] * 6
    assert len(asked) == 1


def test_the_next_generation_goes_on_with_what_was_heard(house: House) -> None:
    house.google.drive.inherit("laptops", BOB_ALONE)
    assert house.found() == {"key-rotation"}
    assert isinstance(house.whole, MemorySnapshot)
    house.whole = published(
        ROTATION,
        LAPTOPS,
        OLD_ROTATION,
        by=(Permission(kind="user", value="ines@tidewater.example"),),
        source="google_drive",
    )
    house.whole.generation = 2
    assert set(house.view().documents) == {"key-rotation"}
    assert house.calls() == 2, "for the document that is new"


def test_files_are_closed_until_the_domain_file_opens_them_and_then_at_once(house: House) -> None:
    house.drive_source = GoogleDriveSource()
    house.whole = published(ROTATION, by=(), source="file")
    assert house.found() == set()
    house.access = Access(audience="asker", files="everyone")
    assert house.found() == house.found(EVERYONE) == {"key-rotation"}
    assert all_may_read(house.doors.snapshot("security"), {"key-rotation"})
    house.access = Access(audience="asker")
    assert house.found() == set()
    assert house.calls() == 0


@pytest.mark.parametrize("drive", [True, False])
def test_what_an_older_version_published_is_closed(house: House, drive: bool) -> None:
    """It kept no source, and no permissions of files."""
    house.access = Access(audience="asker", files="everyone")
    if not drive:
        house.drive_source = GoogleDriveSource()
    house.whole = published(OLD_ROTATION, by=(), source="")
    assert house.found() == set()
    assert house.view().chunks("key-rotation-2024") == ()
    assert not house.view().documents


def test_drive_s_documents_in_a_domain_without_drive_are_closed(house: House) -> None:
    house.drive_source = GoogleDriveSource()
    assert house.found() == set()


def test_without_credentials_nothing_is_answered_and_the_start_says_so(house: House) -> None:
    def missing(source: str) -> Any:
        raise ConfigError("missing setting: GOOGLE_APPLICATION_CREDENTIALS", remedy="set it")

    doors = DomainAccess(
        domains=lambda: {"security": house.domain()},
        snapshot=lambda name: house.whole,
        checker=missing,
    )
    with pytest.raises(ConfigError, match=r"security answers each asker .*missing .*; set it"):
        doors.require()
    with pytest.raises(ConfigError):
        doors.snapshot("security")
    house.access = Access(audience="channel")
    doors.require()
    assert doors.snapshot("security") is house.whole


def test_what_a_door_forgets_to_open_is_open_to_everyone_alone(house: House) -> None:
    house.google.drive.share("laptops", ANYONE)
    guarded = house.doors.snapshot("security")
    assert {hit.chunk.document_id for hit in guarded.search(ABOUT_BOTH)} == {"laptops"}
    assert visible_to(guarded, None) is house.whole
    for readers in (BOB, None):
        narrowed = visible_to(house.view(BOB), readers)
        assert narrowed.chunks("key-rotation") == (), "what was closed is not opened again"


def test_a_model_hears_of_no_title_that_was_taken_away(house: House) -> None:
    house.google.drive.trash("laptops")
    model = ScriptedModel({"answer": "NOTHING"})
    guarded = house.doors.snapshot("security")
    answer = asking(guarded, model)("how old may a signing key get?", readers=INES)
    said = "".join(prompt.system + prompt.user for prompt in model.prompts)
    assert {"plan", "answer"} <= set(model.called)
    assert "Key Rotation Standard" in said
    assert "Laptop Guide" not in said + repr((answer, answer.trace))
    assert house.calls() == 1


def test_a_question_that_can_t_be_checked_is_not_answered_by_the_agents(house: House) -> None:
    house.google.faults.add(DOWN)
    for model in (None, ScriptedModel({})):
        watching = Watching()
        ask = asking(house.doors.snapshot("security"), model)
        with pytest.raises(PermissionsUnknown):
            ask("how old may a signing key get?", readers=INES, progress=watching)
        assert model is None or not model.prompts
        house.clock.now += REST_SECONDS
