"""What `oncall config check` finds beyond the file itself: files, rotas, documents."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from cli.setup.checks import misses
from config.domain_files import read_domain

HEAD = """\
domain: tea
title: Tea
sources:
  files: [teas/*.md]
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "teas").mkdir()
    (tmp_path / "teas" / "green.md").write_text("# Green tea\n\nTwo minutes.\n")
    (tmp_path / "teas" / "oolong.md").write_text("---\nid: blue-tea\n---\n# Oolong\n")
    (tmp_path / "teas" / "torn.md").write_bytes(b"---\nid: [\n---\n# Torn\n")
    return tmp_path


def missed(folder: Path, text: str, published: Mapping[str, str] | None = None) -> list[str]:
    path = folder / "tea.yaml"
    path.write_text(text, encoding="utf-8")
    domain, problems = read_domain(path)
    assert problems == []
    assert domain is not None
    found = list(misses(domain, published))
    assert {problem.path for problem in found} <= {path}
    return [f"{p.line}:{p.column}: {p.message}" for p in found]


def examples(*documents: str) -> str:
    return f"examples:\n  - question: how long?\n    documents: [{', '.join(documents)}]\n"


def test_files_that_exist_are_fine(folder: Path) -> None:
    assert missed(folder, HEAD + examples("green", "blue-tea", "torn")) == []


def test_an_entry_that_matches_no_file_is_placed(folder: Path) -> None:
    text = HEAD.replace("[teas/*.md]", "[teas/*.md, coffees/*.md, teas/green.markdown]")
    first, second = missed(folder, text)
    assert first.startswith("4:22: no files match 'coffees/*.md'; looked in ")
    assert second.startswith("4:36: no files match 'teas/green.markdown'; looked in ")


def test_without_all_files_no_example_is_refused(folder: Path) -> None:
    text = HEAD.replace("[teas/*.md]", "[coffees/*.md]")
    (found,) = missed(folder, text + examples("mocha"))
    assert "no files match" in found


def test_an_example_that_names_an_unknown_document_is_placed(folder: Path) -> None:
    assert missed(folder, HEAD + examples("green", "blue-te")) == [
        "7:24: no document 'blue-te'; did you mean 'blue-tea'?"
    ]


def test_an_example_may_name_a_file_and_not_several(folder: Path) -> None:
    for place in ("eu", "us"):
        (folder / "teas" / place).mkdir()
        (folder / "teas" / place / "README.md").write_text("# Tea\n")
    text = HEAD.replace("teas/*.md", "teas")
    assert missed(folder, text + examples("eu/README", "us/README.md", "green")) == []
    assert missed(folder, text + examples("README")) == [
        "7:17: 'README' may be any of eu/README.md, us/README.md; write the id of one of them"
    ]


def test_what_is_published_is_known(folder: Path) -> None:
    drive = HEAD.replace("files: [teas/*.md]", "google_drive: {folders: [F1]}")
    text = drive + examples("standard", "standrad")
    assert missed(folder, text, {"standard": ""}) == [
        "7:27: no document 'standrad'; did you mean 'standard'? "
        "If it is new, run `oncall ingest tea` first"
    ]


def test_without_knowing_the_documents_of_a_drive_no_example_is_refused(folder: Path) -> None:
    drive = HEAD + "  google_drive: {folders: [F1]}\n"
    assert missed(folder, drive + examples("anything")) == []


def test_a_rota_that_cannot_be_read_is_placed(folder: Path) -> None:
    text = HEAD + "escalation:\n  rota: on-call.yaml\n"
    (found,) = missed(folder, text)
    assert found.startswith("6:9: the rota 'on-call.yaml' can't be read: ")
    (folder / "on-call.yaml").write_text("- {from: [")
    (found,) = missed(folder, text)
    assert found.startswith("6:9: ")
    assert "\n" not in found
    (folder / "on-call.yaml").write_text("- {from: 2026-11-02, to: 2026-11-09, user: U0INES}\n")
    assert missed(folder, text) == []


def test_a_rota_behind_a_url_is_not_asked_for(folder: Path) -> None:
    assert missed(folder, HEAD + "escalation: {rota: 'https://127.0.0.1:9/rota.ics'}\n") == []


@pytest.mark.parametrize(
    ("entry", "problem"),
    [
        ("~nobodyhere/x.md", "no files match '~nobodyhere/x.md'"),
        ("x" * 5_000, "no files match 'xxx"),
        ("/etc/passwd", "no loader reads '/etc/passwd'; supported: .csv"),
    ],
)
def test_an_entry_that_nothing_can_read_is_placed(folder: Path, entry: str, problem: str) -> None:
    (found,) = missed(folder, HEAD.replace("teas/*.md", entry))
    assert found.startswith(f"4:11: {problem}")
    assert len(found) < 500


def test_an_unknown_example_ends_its_sentence(folder: Path) -> None:
    drive = HEAD.replace("files: [teas/*.md]", "google_drive: {folders: [F1]}")
    (found,) = missed(folder, drive + examples("xyz"), {"standard": ""})
    assert "known: standard. If it is new" in found


@pytest.mark.parametrize(
    ("rota", "problem"),
    [
        ("https://example.com/private x.ics", "space"),
        ("http://example.com:abc/private", "wrong host or port"),
        ("webcal://example.com/private.ics", "write https://"),
    ],
)
def test_a_rotas_address_that_can_be_none_is_placed_and_kept_secret(
    folder: Path, rota: str, problem: str
) -> None:
    (said,) = missed(folder, f"{HEAD}escalation: {{rota: {rota!r}}}\n")
    assert said.startswith("5:20: ")
    assert problem in said
    assert "private" not in said


def test_a_rotas_address_is_not_asked(folder: Path) -> None:
    assert missed(folder, f"{HEAD}escalation: {{rota: 'HTTPS://127.0.0.1:9/rota.ics'}}\n") == []


@pytest.mark.parametrize(
    ("access", "told"),
    [
        ("{audience: asker}", True),
        ("{audience: asker, files: everyone}", False),
        ("{audience: asker, files: nobody}", False),
        ("{audience: channel}", False),
    ],
)
def test_files_that_would_answer_nobody_are_named(folder: Path, access: str, told: bool) -> None:
    found = missed(folder, f"{HEAD}access: {access}\n")
    said = [line for line in found if line.startswith("4:10: files answer nobody with `access: ")]
    assert bool(said) == told
    assert len(found) == len(said)
    assert not told or "write `access.files: everyone`" in said[0]
