"""Entries of `files:` never leave the folder they begin in."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any

import pytest

from config.errors import ConfigError, LoadError
from loaders.files.local import find_files, load_file
from loaders.files.patterns import expand_paths


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    """`docs` beside what is not to be read."""
    (tmp_path / "docs" / "deep").mkdir(parents=True)
    (tmp_path / "private").mkdir()
    for name in ("docs/a.md", "docs/deep/b.md", "private/secret.md"):
        (tmp_path / name).write_text("x")
    return tmp_path / "docs"


def names(base: Path, *patterns: str) -> list[str]:
    return [path.name for path in find_files(patterns, base).paths]


@pytest.mark.parametrize("pattern", ["*.md", "**/*.md", "**", "../docs", "../*/a.md", "*/*.md"])
def test_a_link_out_of_the_root_is_not_followed_and_said(docs: Path, pattern: str) -> None:
    (docs / "deep" / "out.md").symlink_to(docs.parent / "private" / "secret.md")
    (docs / "out.md").symlink_to(docs.parent / "private" / "secret.md")
    (docs / "out").symlink_to(docs.parent / "private")
    files = find_files([pattern], docs)
    paths, left_out = files.paths, files.notes
    assert paths
    assert "secret.md" not in [path.name for path in paths] or pattern == "../*/a.md"
    assert pattern in ("../*/a.md",) or any("out of" in line for line in left_out)


def test_a_link_inside_the_root_is_followed_once(docs: Path) -> None:
    (docs / "latest.md").symlink_to("deep/b.md")
    (docs / "newest").symlink_to("deep")
    assert names(docs, "*.md", "newest/*.md", "**/*.md", "latest.md") == ["a.md", "b.md"]


def test_folders_that_link_to_themselves_end(docs: Path) -> None:
    for name in ("one", "two", "three"):
        (docs / name).symlink_to(docs)
        (docs / "deep" / name).symlink_to("..")
    (docs / "round.md").symlink_to("round.md")
    files = find_files(["**/*.md"], docs)
    paths, left_out = files.paths, files.notes
    assert [path.name for path in paths] == ["a.md", "b.md"]
    assert any("round.md: a link to nothing, or to itself" in line for line in left_out)


@pytest.mark.parametrize("pattern", ["*/../../private/*.md", "**/../secret.md"])
def test_a_pattern_that_goes_up_behind_a_wildcard_is_refused(docs: Path, pattern: str) -> None:
    with pytest.raises(ConfigError, match="goes up behind a wildcard; begin with the folder"):
        find_files([pattern], docs)


def test_a_single_link_that_leads_elsewhere_says_why_it_matches_nothing(docs: Path) -> None:
    (docs / "one.md").symlink_to(docs.parent / "private" / "secret.md")
    with pytest.raises(ConfigError, match=r"no files match 'one\.md'; left out: .*a link out of"):
        find_files(["one.md"], docs)


def test_a_mounted_folder_of_links_to_its_own_versions_is_read(docs: Path) -> None:
    """As Kubernetes mounts a ConfigMap."""
    (docs / "..v2").mkdir()
    (docs / "..v2" / "limits.md").write_text("x")
    (docs / "..data").symlink_to("..v2")
    (docs / "limits.md").symlink_to("..data/limits.md")
    assert names(docs, "limits.md") == ["limits.md"]
    assert "limits.md" in names(docs, "*.md")


def test_pipes_and_devices_are_left_out_and_said(docs: Path) -> None:
    os.mkfifo(docs / "pipe.md")
    files = find_files(["*.md"], docs)
    paths, left_out = files.paths, files.notes
    assert [path.name for path in paths] == ["a.md"]
    assert left_out == [f"{docs}/pipe.md: neither a file nor a folder, so it was not read"]
    with pytest.raises(LoadError, match="a device or a pipe"):
        load_file(docs / "pipe.md")
    with pytest.raises(LoadError, match="a device or a pipe"):
        load_file(Path("/dev/zero"))


def test_many_lines_are_summed_up(docs: Path) -> None:
    for number in range(30):
        (docs / f"{number}.md").symlink_to("/etc/hostname")
    left_out = find_files(["*.md"], docs).notes
    assert len(left_out) == 21
    assert left_out[-1] == "… and 10 more files left out"


def test_entries_lie_in_the_folders_that_the_operator_allows(docs: Path) -> None:
    (docs / "out").symlink_to(docs.parent / "private")
    allowed = [docs, docs.parent / "shared"]
    for pattern in ("*.md", "deep", "**", "../docs/a.md", str(docs / "deep" / "b.md")):
        assert find_files([pattern], docs, allowed).paths
    # Whether something is there is not said either.
    outside = ["../private/*.md", str(docs.parent / "private"), "/etc/**", "../private/secret.md",
               "../none/*.md", "out/*.md", "..", "/", "../*/a.md", "~"]  # fmt: skip
    for pattern in outside:
        with pytest.raises(ConfigError, match=r"lies outside the folders .* ONCALL_FOLDERS"):
            find_files([pattern], docs, allowed)
    with pytest.raises(ConfigError, match="ONCALL_FOLDERS"):  # nothing in the working directory
        find_files(["out/*.md"], docs, [*allowed, Path.cwd()])


def test_a_folder_that_cannot_be_listed_is_reported_apart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("open", "locked"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "one.md").write_text("# One\n\nWords.\n")
    listed = os.scandir

    def scandir(path: str | Path) -> Any:
        if str(path).endswith("locked"):
            raise PermissionError(errno.EACCES, "Permission denied")
        return listed(path)

    monkeypatch.setattr(os, "scandir", scandir)
    expanded = expand_paths(["."], tmp_path, [".md"])
    assert [path.parent.name for path in expanded.paths] == ["open"]
    assert expanded.unread == {str(tmp_path / "locked"): "it can't be listed: Permission denied"}


def test_a_folder_of_the_domain_is_never_that_of_the_working_directory(
    docs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    base = docs.parent / "domains"
    (base / "docs").mkdir(parents=True)
    monkeypatch.chdir(docs.parent)
    for pattern in ("docs", "docs/*.md"):
        with pytest.raises(ConfigError, match="no files match"):
            find_files([pattern], base)
    assert names(base, "private") == ["secret.md"]
