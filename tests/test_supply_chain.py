"""What is installed is what was reviewed: pinned, hashed, and nothing that isn't needed."""

from __future__ import annotations

import importlib.metadata
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
EXTRAS: dict[str, list[str]] = PROJECT["project"]["optional-dependencies"]
LOCKS = {path.stem: path.read_text(encoding="utf-8") for path in (ROOT / "locks").glob("*.txt")}
IMAGE = {
    "implementation_name": "cpython", "os_name": "posix", "platform_machine": "x86_64",
    "platform_python_implementation": "CPython", "platform_system": "Linux",
    "python_full_version": "3.11.16", "python_version": "3.11", "sys_platform": "linux",
}  # fmt: skip
ENTRY = re.compile(r"(?P<name>[a-z0-9-]+)==(?P<version>\S+)(?P<hashes>(?: \\\n    --hash=\S+)+)\n")


def pinned() -> dict[str, str]:
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pairs = (line.split("==") for line in lines if not line.startswith("#"))
    return {canonicalize_name(name): version for name, version in pairs}


def locked(name: str) -> dict[str, str]:
    """Each package of a lock → its version."""
    return {entry["name"]: entry["version"] for entry in ENTRY.finditer(LOCKS[name])}


def requirements_of(name: str) -> list[str]:
    try:
        return importlib.metadata.requires(name) or []
    except importlib.metadata.PackageNotFoundError:
        return []  # of another platform: greenlet on a Mac


def needed(wanted: list[str]) -> set[str]:
    """What these requirements bring with them, by the metadata of what is installed."""
    found: set[str] = set()
    asked: set[tuple[str, str]] = set()

    def visit(text: str, extra: str) -> None:
        requirement = Requirement(text)
        if requirement.marker and not requirement.marker.evaluate(IMAGE | {"extra": extra}):
            return
        name = canonicalize_name(requirement.name)
        found.add(name)
        for of_it in {"", *requirement.extras}:
            if (name, of_it) not in asked:
                asked.add((name, of_it))
                for one in requirements_of(name):
                    # torch from the package index asks for CUDA, its CPU build doesn't.
                    if name != "torch" or canonicalize_name(Requirement(one).name) in pinned():
                        visit(one, of_it)

    for one in wanted:
        visit(one, "")
    return found


@pytest.mark.parametrize("lock", LOCKS)
def test_a_lock_holds_versions_and_hashes_and_nothing_else(lock: str) -> None:
    _, *lines = LOCKS[lock].splitlines(keepends=True)
    assert ENTRY.sub("", "".join(lines)) == ""
    for entry in ENTRY.finditer(LOCKS[lock]):
        hashes = re.findall(r"--hash=(\S+)", entry["hashes"])
        assert [one for one in hashes if not re.fullmatch(r"sha256:[0-9a-f]{64}", one)] == []


@pytest.mark.parametrize("lock", LOCKS)
def test_a_lock_has_the_versions_that_are_tested(lock: str) -> None:
    """Torch alone has a build of its own, for each of the image's platforms."""
    tested = pinned()
    if "torch" in locked(lock):
        tested["torch"] += "+cpu"
        assert re.search(r"^torch==.*(?:\n    --hash=.*){2}", LOCKS[lock], re.MULTILINE)
    held = locked(lock)
    assert {name: held[name] for name in held if tested.get(name) != held[name]} == {}


SELDOM_INSTALLED = {"azure": "adlfs", "gcs": "gcsfs", "rerank": "sentence_transformers"}
"""Extras that development goes without; `make test-rerank` installs the last one."""


@pytest.mark.parametrize("lock", LOCKS)
def test_a_lock_holds_what_is_needed_and_no_more(lock: str) -> None:
    if lock in SELDOM_INSTALLED:  # what it needs is known by what is installed
        pytest.importorskip(SELDOM_INSTALLED[lock])
    everything = needed(PROJECT["project"]["dependencies"] + PROJECT["build-system"]["requires"])
    if lock != "base":
        everything = needed(EXTRAS[lock]) - everything
    assert set(locked(lock)) == everything, "run `make lock`"


def test_every_dependency_has_a_tested_version() -> None:
    wanted = PROJECT["project"]["dependencies"] + [
        one for extra in EXTRAS.values() for one in extra
    ]
    names = {canonicalize_name(Requirement(one).name) for one in wanted}
    assert names - set(pinned()) == set()


def test_no_licence_asks_for_more_than_security_md_says() -> None:
    said = (ROOT / "SECURITY.md").read_text(encoding="utf-8").partition("## Licences")[2]
    copyleft = set()
    for name in {name for lock in LOCKS for name in locked(lock)}:
        try:
            metadata = importlib.metadata.metadata(name)
        except importlib.metadata.PackageNotFoundError:
            continue
        in_words, *_ = (metadata.get("License") or "").splitlines() or [""]
        expression = metadata.get("License-Expression") or ""
        stated = [expression, in_words, *metadata.get_all("Classifier", [])]
        if re.search(r"GPL|GNU|MPL|EPL|SSPL|BUSL", " ".join(stated)):
            copyleft.add(name)
    assert copyleft == set(re.findall(r"`([a-z-]+)`", said))


def test_the_image_installs_by_hash_onto_a_base_that_is_known_by_its_digest() -> None:
    text = (ROOT / "Dockerfile").read_text(encoding="utf-8").replace("\\\n", " ")
    bases = re.findall(r"^FROM (\S+)", text, re.MULTILINE)
    installs = re.findall(r"pip install [^&\n]*", text)
    assert bases
    assert [one for one in bases if not re.search(r"@sha256:[0-9a-f]{64}$", one)] == []
    assert installs
    for install in installs:
        assert "--require-hashes" in install or "--no-index --no-deps" in install
    default = re.search(r"^ARG EXTRAS=(\S*)", text, re.MULTILINE)
    assert default
    assert {"base", *filter(None, default[1].split(","))} <= set(LOCKS)


def actions() -> Iterator[str]:
    for path in (ROOT / ".github").rglob("*.y*ml"):
        yield from re.findall(r"uses:[ \t]*(.+)", path.read_text(encoding="utf-8"))


def test_every_action_is_named_by_its_commit_with_the_version_beside_it() -> None:
    assert list(actions())
    by_commit = re.compile(r"[\w./-]+@[0-9a-f]{40}  # v\d+\.\d+\.\d+")
    assert [one for one in actions() if not by_commit.fullmatch(one)] == []


def test_a_workflow_may_read_the_repository_and_no_more() -> None:
    for path in (ROOT / ".github" / "workflows").iterdir():
        text = path.read_text(encoding="utf-8")
        assert re.findall(r"^\s*permissions:.*$", text, re.MULTILINE) == [
            "permissions: {contents: read}"
        ]
        checkouts = text.count("actions/checkout@")
        assert text.count("persist-credentials: false") == checkouts
