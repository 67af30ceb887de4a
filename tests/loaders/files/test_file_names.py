"""The name of a file is its path below the root of its entry, on every machine."""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Sequence
from pathlib import Path

import pytest

from config.domain import Domain
from enrichment.references import find_document, linked_path
from loaders.document import Document
from loaders.files.local import FileSource
from loaders.files.names import MAX_NAME_CHARS, file_name
from loaders.source import SourceChanges

COMPOSED = "Störung.md"
DECOMPOSED = unicodedata.normalize("NFD", COMPOSED)


def write(folder: Path, *names: str) -> None:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(f"# Of {Path(name).parent.name}\n\nKeys rotate.\n")


def changes(folder: Path, entries: Sequence[object]) -> SourceChanges:
    values = {"domain": "tea", "title": "Tea", "sources": {"files": entries}}
    domain = Domain.model_validate(values).read_from(folder / "tea.yaml")
    return FileSource(domain).changes(cursor="", indexed={}, settled=())


def documents(folder: Path, *entries: object) -> list[Document]:
    return [load() for load in changes(folder, entries).changed.values()]


@pytest.mark.parametrize("place", ["one", "another/place"])
def test_every_file_has_a_name_that_no_other_has(tmp_path: Path, place: str) -> None:
    names = [
        "README.md", "a/README.md", "a/readme.md", "a/b/_index.md", "a/policy.csv", "a/policy.md",
        "what is 100% #1?.md",
    ]  # fmt: skip
    write(tmp_path / place, *(f"docs/{name}" for name in names))
    read = documents(tmp_path / place, "docs")
    assert sorted(one.id for one in read) == sorted(names)
    assert all(one.path == one.id and one.url.startswith("file:") for one in read)
    assert "file:what%20is%20100%25%20%231%3F.md" in [one.url for one in read]


def test_entries_with_files_of_the_same_path_are_told_apart_by_their_folders(
    tmp_path: Path,
) -> None:
    write(tmp_path, "a/docs/x.md", "b/docs/x.md", "c/docs/x.md", "c/docs/y.md", "c/docs/docs/x.md")
    entries = ["a/docs/*.md", "b/docs", "c/docs"]
    read = {one.id: one.title for one in documents(tmp_path, *entries)}
    assert read.keys() == {"x.md", "docs/x.md", "c/docs/x.md", "docs/docs/x.md", "y.md"}
    assert documents(tmp_path, *entries)[0].id == "x.md"


def test_the_order_of_entries_with_one_file_does_not_matter(tmp_path: Path) -> None:
    write(tmp_path, "docs/ops/x.md", "docs/y.md")
    entries = ["docs/ops/x.md", "docs", "docs/ops"]
    for order in (entries, entries[::-1]):
        assert [one.id for one in documents(tmp_path, *order)] == ["ops/x.md", "y.md"]


def test_names_that_differ_in_their_encoding_alone_are_two(tmp_path: Path) -> None:
    write(tmp_path, f"docs/{COMPOSED}", f"docs/{DECOMPOSED}")
    read = documents(tmp_path, "docs")
    assert {one.id for one in read} == {COMPOSED, f"docs/{COMPOSED}"}


@pytest.mark.parametrize(
    ("path", "name"),
    [
        (DECOMPOSED, COMPOSED),
        ("a\nb/\x1b[2Jc.md", "a\\nb/\\x1b[2Jc.md"),
        ("Screenshot 9.41\u202fAM.md", "Screenshot 9.41 AM.md"),
        ("می\u200cشود.md", "می\u200cشود.md"),
        ("a\u202eb.md", "a\\u202eb.md"),
        (os.fsdecode(b"caf\xe9.md"), "caf\\udce9.md"),
    ],
)
def test_a_name_is_one_visible_line(path: str, name: str) -> None:
    assert file_name(Path(path)) == name


def test_a_long_path_is_shortened_to_a_name_of_its_own(tmp_path: Path) -> None:
    deep = "/".join(["runbooks-of-the-team"] * 12)
    write(tmp_path, f"docs/{deep}/a.md", f"docs/{deep}/b.md")
    ids = [one.id for one in documents(tmp_path, "docs")]
    assert [len(one) for one in ids] == [MAX_NAME_CHARS] * 2
    assert ids[0] != ids[1]
    assert ids[0].endswith("/runbooks-of-the-team/a.md")


def test_links_lead_to_the_file_itself(tmp_path: Path) -> None:
    write(tmp_path, "docs/v2/page.md", "out/x.md")
    (tmp_path / "docs" / "current.md").symlink_to("v2/page.md")
    (tmp_path / "docs" / "outside.md").symlink_to("../out/x.md")
    (tmp_path / "linked").symlink_to("docs")
    assert [one.id for one in documents(tmp_path, "linked", "docs/current.md")] == ["v2/page.md"]


def test_the_address_is_the_base_and_the_path_below_its_own_root(tmp_path: Path) -> None:
    write(tmp_path, "docs/ops/a b#1.md", "docs/x.md")
    base = {"path": "docs/ops", "base_url": "https://git.example/blob/main/ops/"}
    urls = [one.blocks[0].url for one in documents(tmp_path, "docs", base)]
    assert urls == ["https://git.example/blob/main/ops/a%20b%231.md#of-ops", "file:x.md#of-docs"]


@pytest.mark.parametrize("stated", ["x" * 250, "a\x1b[2Jb"])
def test_an_id_that_no_table_holds_is_not_taken(tmp_path: Path, stated: str) -> None:
    (tmp_path / "a.md").write_text(f"---\nid: {json_text(stated)}\n---\n# A\n")
    (read,) = documents(tmp_path, "a.md")
    assert read.id == "a.md"
    assert any("the id that it states" in one for one in read.warnings)


def json_text(text: str) -> str:
    return '"' + text.replace("\x1b", "\\e") + '"'


FILES = {
    "ops/README.md": "ops/README.md",
    "db/README.md": "db/README.md",
    "db/restore.md": "db/restore.md",
    "KEYS-1": "db/keys.md",
    "restore": "",
    "policy.md": "policy.md",
    "x/policy.md": "x/policy.md",
}


@pytest.mark.parametrize(
    ("name", "document"),
    [
        ("ops/README.md", "ops/README.md"),
        ("ops/README", "ops/README.md"),
        ("KEYS-1", "KEYS-1"),
        ("keys", "KEYS-1"),
        ("restore", "restore"),
        ("restore.md", "db/restore.md"),
        ("policy", "policy.md"),
        (" policy ", "policy.md"),
        ("readme", ""),
        ("", ""),
    ],
)
def test_a_reference_means_the_closest_name(name: str, document: str) -> None:
    assert find_document(name, FILES) == document


@pytest.mark.parametrize(
    ("target", "path"),
    [
        ("restore.md#now", "db/restore.md"),
        ("../ops/a%20b.md?plain=1", "ops/a b.md"),
        ("/hr/pay.pdf", "hr/pay.pdf"),
        ("../../x.md", ""),
        ("#now", ""),
        ("https://x.example/a.md", ""),
        ("//x.example/a.md", ""),
        ("mailto:a@x.example", ""),
    ],
)
def test_a_relative_link_is_a_path(target: str, path: str) -> None:
    assert linked_path(target, "db/backup.md") == path
