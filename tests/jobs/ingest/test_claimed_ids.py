"""An id belongs to one document of a generation, whichever source claims it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from jobs.ingest.progress import IngestReport
from oncall import Copilot
from playground.google.memory_drive import FOLDER
from playground.google_stand_in import GoogleFault, GoogleStandIn, StoredFile
from playground.slack_stand_in import SlackStandIn
from tests.stand_ins import connected_settings

DRIVE = "google_drive: {folders: [shelf]}"
DOMAIN = "domain: tea\ntitle: Tea\nchannels: [C0TEA]\nsources: {{{sources}}}\n"
BOSS = {"id": "boss", "type": "user", "role": "reader", "emailAddress": "boss@tidewater.example"}
PLANTED = "The vault opens with a knock."


def drive_file(content: str, **more: Any) -> StoredFile:
    about = {"id": "vault", "name": "Vault", "parents": ("shelf",), "permissions": (BOSS,)}
    return StoredFile(content=f"# Vault\n\n{content}\n", **{**about, **more})


@dataclass
class Teahouse:
    """Documents in Drive and in files; each run reads both."""

    folder: Path
    google: GoogleStandIn
    slack: SlackStandIn
    sources: str = f"{DRIVE}, files: ['docs/*']"
    copilots: list[Copilot] = field(default_factory=list)

    def write(self, name: str, text: str, document: str = "") -> None:
        docs = self.folder / "config" / "domains" / "docs"
        docs.mkdir(parents=True, exist_ok=True)
        front = f"---\nid: {document}\n---\n" if document else ""
        (docs / name).parent.mkdir(parents=True, exist_ok=True)
        (docs / name).write_text(f"{front}# {name}\n\n{text}\n")

    def save_google_document(self, name: str, document: str) -> None:
        text = {"paragraph": {"elements": [{"textRun": {"content": PLANTED}}]}}
        saved = {"documentId": document, "title": "V", "body": {"content": [text]}}
        (self.folder / "config" / "domains" / "docs" / name).write_text(json.dumps(saved))

    def delete(self, name: str) -> None:
        (self.folder / "config" / "domains" / "docs" / name).unlink()

    def ingest(self, sources: str = "") -> IngestReport:
        domain = DOMAIN.format(sources=sources or self.sources)
        (self.folder / "config" / "domains" / "tea.yaml").write_text(domain)
        settings = connected_settings(self.folder, self.google, self.slack)
        self.copilots.append(Copilot(settings))
        return self.copilots[-1].ingest("tea")

    def published(self) -> dict[str, str]:
        """Id → the words of its document."""
        snapshot = self.copilots[-1].index.snapshot("tea")
        return {
            one: " ".join(chunk.text for chunk in snapshot.chunks(one))
            for one in snapshot.documents
        }

    def permissions(self, document: str) -> tuple[Any, ...]:
        return self.copilots[-1].index.snapshot("tea").documents[document].permissions


@pytest.fixture(scope="module")
def slack() -> Iterator[SlackStandIn]:
    with SlackStandIn(enforce_rate_limits=False) as running:
        yield running


@pytest.fixture
def house(tmp_path: Path, slack: SlackStandIn) -> Iterator[Teahouse]:
    shelf = StoredFile(id="shelf", name="Shelf", mime_type=FOLDER)
    with GoogleStandIn([shelf, drive_file("The vault opens with two keys.")]) as google:
        made = Teahouse(tmp_path, google, slack)
        made.write("plain.md", "Tea is brewed at noon.")
        yield made
        for copilot in made.copilots:
            copilot.index.close()


def is_by_path(house: Teahouse, report: IngestReport, document: str, name: str) -> bool:
    """Whether the file is published under its path, and the report says why."""
    reason = f"{name}: its id {document!r} is already that of "
    return (
        not report.failed
        and any(one.startswith(reason) for one in report.warnings)
        and name in house.published()
    )


@pytest.mark.parametrize("name", ["claim.md", "claim.json"])
@pytest.mark.parametrize("first", [True, False])
def test_a_file_never_takes_a_documents_id_from_drive(
    house: Teahouse, name: str, first: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    def claim() -> None:
        house.write(name, PLANTED, document="vault")
        if name.endswith(".json"):
            house.save_google_document(name, document="vault")

    if first:
        claim()
    assert bool(house.ingest().warnings) is first
    claim()
    for _ in range(2):  # Drive lists it as unchanged, and reads it no more
        assert is_by_path(house, house.ingest(), "vault", name)
        assert PLANTED in house.published()[name]
        assert "two keys" in house.published()["vault"]
        assert house.permissions("vault") != ()
    assert "claims the id of another" in capsys.readouterr().err
    house.delete(name)
    assert house.ingest().removed == (name,)


def test_a_saved_google_document_is_a_file_even_with_an_id_that_drive_does_not_list(
    house: Teahouse,
) -> None:
    house.google.drive.trash("vault")
    house.save_google_document("saved.json", document="vault")
    assert house.ingest().failed == ()
    snapshot = house.copilots[-1].index.snapshot("tea")
    assert snapshot.documents["vault"].source == "file"
    urls = {chunk.url.partition("#")[0].partition("?")[0] for chunk in snapshot.chunks("vault")}
    assert urls | {snapshot.documents["vault"].url} == {""}


def test_nor_while_drive_cannot_be_listed_or_read(house: Teahouse) -> None:
    house.ingest()
    house.write("claim.md", PLANTED, document="vault")
    house.google.faults.add(GoogleFault(method="changes", times=20, status=404))
    house.google.faults.add(GoogleFault(method="files.list", times=20, status=403))
    report = house.ingest()
    assert [one.document for one in report.failed] == ["google_drive"]
    assert any("'vault' is already that of a document of google" in one for one in report.warnings)
    assert "two keys" in house.published()["vault"]
    assert PLANTED in house.published()["claim.md"]


def test_nor_in_the_run_in_which_it_leaves_drive(house: Teahouse) -> None:
    house.ingest()
    house.write("claim.md", PLANTED, document="vault")
    house.google.drive.trash("vault")
    report = house.ingest()
    assert is_by_path(house, report, "vault", "claim.md")
    assert report.removed == ("vault",)
    assert house.ingest().removed == ("claim.md",)
    assert PLANTED in house.published()["vault"]
    house.google.drive.restore("vault")  # Drive's id is Drive's again
    assert is_by_path(house, house.ingest(), "vault", "claim.md")
    assert "two keys" in house.published()["vault"]
    assert house.permissions("vault") != ()


def test_a_domain_that_leaves_drive_may_go_on_with_files_of_the_same_ids(house: Teahouse) -> None:
    house.ingest()
    house.write("copy.md", "The vault opens with two keys.", document="vault")
    assert house.ingest("files: ['docs/*']").failed == ()
    assert "two keys" in house.published()["vault"]


def test_among_files_the_one_that_had_an_id_keeps_it(house: Teahouse) -> None:
    house.write("m.md", "Mine says one.", document="mine")
    house.ingest()
    house.write("a.md", PLANTED, document="mine")  # comes first by its path
    for _ in range(2):
        assert is_by_path(house, house.ingest(), "mine", "a.md")
        assert "Mine says one" in house.published()["mine"]
    unreadable = house.folder / "config" / "domains" / "docs" / "m.md"
    unreadable.write_bytes(b"\x7fELF" + bytes(500))  # keeps it as well
    assert len(house.ingest().failed) == 1
    assert "Mine says one" in house.published()["mine"]
    house.delete("m.md")
    assert house.ingest().removed == ("a.md",)
    assert PLANTED in house.published()["mine"]


def test_of_new_files_the_first_path_has_the_id(house: Teahouse) -> None:
    house.write("b.md", "B says it.", document="same")
    house.write("c.md", "C says it.", document="same")
    report = house.ingest()
    assert is_by_path(house, report, "same", "c.md")
    assert report.warnings == ("c.md: its id 'same' is already that of b.md, so its id is 'c.md'",)
    assert "B says it" in house.published()["same"]


def test_files_that_swap_move_or_give_up_their_ids_are_followed(house: Teahouse) -> None:
    for name in "abc":
        house.write(f"{name}.md", f"{name.upper()} says it.", document=name)
    house.ingest()
    for name, document in zip("abc", "bca", strict=True):
        house.write(f"{name}.md", f"{name.upper()} says it.", document=document)
    assert house.ingest().failed == ()
    texts = house.published()
    assert [f"{name} says it" in texts[one] for one, name in zip("bca", "ABC", strict=True)]
    house.delete("a.md")
    house.write("z.md", "Z says it.", document="b")
    assert house.ingest().failed == ()
    assert "Z says it" in house.published()["b"]
    house.write("z.md", "Z says it.", document="y")
    house.write("b.md", "B says it.", document="b")
    assert house.ingest().failed == ()
    assert "B says it" in house.published()["b"]
