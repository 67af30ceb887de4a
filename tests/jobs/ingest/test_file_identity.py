"""A file is the same document wherever its folder lies; an older release's ids change at once."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from config.settings import Settings
from enrichment.chunk import DocumentCard
from index.generations.staging import Staging
from jobs.ingest.ids import IdOwners
from jobs.ingest.progress import IngestReport, PublishSchedule
from loaders.document import Document, Permission
from loaders.source import SourceChanges
from oncall import Copilot

PAGES = {
    "ops/README.md": "The gate opens at six.",
    "db/README.md": "The pump starts at nine.",
    "policy.md": "---\nid: KEYS-1\n---\nKeys rotate each quarter.",
    "policy.txt": "Locks are oiled each month.",
}


@dataclass
class Shelf:
    folder: Path
    opened: list[Copilot] = field(default_factory=list)

    def write(self, name: str, text: str) -> None:
        path = self.folder / "docs" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{text}\n")

    def copilot(self) -> Copilot:
        (self.folder / "config" / "domains").mkdir(parents=True, exist_ok=True)
        (self.folder / "config" / "domains" / "tea.yaml").write_text(
            "domain: tea\ntitle: Tea\nsources: {files: [../../docs]}\n"
        )
        folders = {"config_dir": self.folder / "config", "data_dir": self.folder / "var"}
        self.opened.append(Copilot(Settings(_env_file=None).model_copy(update=folders)))
        return self.opened[-1]

    def ingest(self) -> IngestReport:
        return self.copilot().ingest("tea")

    def published(self) -> dict[str, str]:
        snapshot = self.opened[-1].index.snapshot("tea")
        return {one: snapshot.chunks(one)[0].text for one in snapshot.documents}

    def close(self) -> None:
        for copilot in self.opened:
            copilot.index.close()
        self.opened.clear()


@pytest.fixture
def shelf(tmp_path: Path) -> Iterator[Shelf]:
    made = Shelf(tmp_path / "here")
    for name, text in PAGES.items():
        made.write(name, text)
    yield made
    made.close()


def test_a_folder_that_moves_keeps_its_documents_and_a_renamed_file_is_another(
    shelf: Shelf,
) -> None:
    ids = ("KEYS-1", "db/README.md", "ops/README.md", "policy.txt")
    assert shelf.ingest().added == ids
    shelf.close()
    there = shelf.folder.parent / "on" / "another" / "machine"
    shutil.copytree(shelf.folder, there)
    shelf.folder = there
    report = shelf.ingest()
    assert (report.unchanged, report.added, report.changed, report.removed) == (4, (), (), ())
    docs = there / "docs"
    (docs / "ops" / "README.md").rename(docs / "gate.md")
    (docs / "policy.md").rename(docs / "keys.md")  # states its id
    report = shelf.ingest()
    assert (report.added, report.removed) == (("gate.md",), ("ops/README.md",))
    assert report.changed == ("KEYS-1",)


OLDER = {"README": "db/README.md", "KEYS-1": "policy.md", "policy": "policy.txt"}
"""Id by an older release → file. It refused the second README."""


def make_older(shelf: Shelf) -> None:
    """The index as an older release left it: ids by stems, addresses of this machine."""
    index = shelf.opened[-1].index
    before = {card.path: card for card in index.snapshot("tea").documents.values()}
    content = {path: index.snapshot("tea").chunks(card.id) for path, card in before.items()}
    with index.stage("tea") as staging:
        for card in before.values():
            staging.remove(card.id)
        for one, path in OLDER.items():
            url = (shelf.folder / "docs" / path).as_uri()
            card = replace(before[path], id=one, path="", url=url)
            staging.put(card, [replace(chunk, document_id=one) for chunk in content[path]])
        staging.commit(staging.cursors)


def test_documents_of_an_older_release_get_their_new_ids_at_once(
    shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    shelf.ingest()
    make_older(shelf)
    steps: list[set[str]] = []
    commit = Staging.commit

    def watched(staging: Staging, *arguments: object, **options: object) -> object:
        steps.append(set(staging.documents))
        return commit(staging, *arguments, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(Staging, "commit", watched)
    monkeypatch.setattr(PublishSchedule, "due", lambda schedule, something: something)
    (shelf.folder / "docs" / "policy.txt").write_bytes(b"\x7fELF" + bytes(500))
    report = shelf.ingest()
    assert [len(one & {"README", "db/README.md"}) for one in steps] == [1] * len(steps)
    assert len(steps) > 1
    assert len(report.failed) == 1
    assert report.removed == ("README",)
    assert shelf.published().keys() == {"db/README.md", "ops/README.md", "KEYS-1", "policy"}
    shelf.write("policy.txt", PAGES["policy.txt"])
    report = shelf.ingest()
    assert (report.added, report.removed) == (("policy.txt",), ("policy",))
    assert report.embedded == 0, "the same words were embedded before"


def card(name: str, source: str, *readers: Permission) -> DocumentCard:
    return DocumentCard(id=name, title=name, url="", summary="", source=source, permissions=readers)


def loads(*names: str) -> dict[str, object]:
    def load() -> Document:
        raise NotImplementedError

    return dict.fromkeys(names, load)


def test_a_path_that_is_another_sources_id_is_qualified() -> None:
    boss = Permission(kind="user", value="boss@x.example")
    ids = IdOwners({"secret.md": card("secret.md", "wiki", boss)})
    ids.add("files", SourceChanges(changed=loads("page.md", "secret.md"), claims_ids=True))  # type: ignore[arg-type]
    ids.add("wiki", SourceChanges(changed=loads("page.md", "x")))  # type: ignore[arg-type]
    ids.add("shop", SourceChanges(changed=loads("page.md")))  # type: ignore[arg-type]
    assert ids.grant("wiki", "page.md", "page.md") == "page.md"
    assert ids.grant("shop", "page.md", "page.md") == "shop:page.md"
    assert ids.grant("files", "page.md", "page.md") == "files:page.md"
    assert ids.grant("files", "secret.md", "x") == "files:secret.md"
    assert ids.owner("page.md") == "page.md"


def test_a_file_never_states_an_id_that_stands_for_a_qualified_one() -> None:
    ids = IdOwners({})
    ids.add("files", SourceChanges(changed=loads("a.md", "b.md"), claims_ids=True))  # type: ignore[arg-type]
    for stated in ("files:b.md", "b.md"):
        assert ids.grant("files", "a.md", stated) == "a.md"
