"""The house itself: names, rooms, layers, what ships."""

from __future__ import annotations

import ast
import importlib.metadata
import tomllib
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
LAYERS = {
    pattern.removesuffix("*")
    for pattern in PYPROJECT["tool"]["setuptools"]["packages"]["find"]["include"]
}
OURS = {*LAYERS, *PYPROJECT["tool"]["setuptools"]["py-modules"]}
ROOM = 15
"""Modules that a newcomer can take in at a look."""


def modules() -> Iterator[Path]:
    """Every module of the product, relative to its root."""
    for layer in LAYERS:
        for path in (ROOT / layer).rglob("*.py"):
            if path.name != "__init__.py":
                yield path.relative_to(ROOT)


def imported_by(tree: ast.Module) -> set[str]:
    """Top-level names that a module imports, wherever in it."""
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {name.name.partition(".")[0] for name in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found.add(node.module.partition(".")[0])
    return found


def repeated(places: dict[str, list[str]]) -> dict[str, list[str]]:
    return {name: where for name, where in places.items() if len(where) > 1}


def test_no_other_distribution_owns_our_top_level_names() -> None:
    owners = importlib.metadata.packages_distributions()
    others = {
        name: set(owners[name]) - {"oncall-copilot"}
        for name in OURS & set(owners)
        if set(owners[name]) - {"oncall-copilot"}
    }
    assert others == {}


def test_everything_of_ours_is_listed_for_the_build() -> None:
    packages = {path.parent.name for path in ROOT.glob("*/__init__.py")} - {"tests", "benchmarks"}
    assert packages | {path.stem for path in ROOT.glob("*.py")} == OURS


def test_every_folder_of_modules_is_a_package() -> None:
    folders = {path.parent for path in modules()}
    assert [str(one) for one in folders if not (ROOT / one / "__init__.py").exists()] == []


def test_everything_of_ours_is_in_the_image() -> None:
    copied = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    allowed = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    # The demo's documents and stand-ins stay with the source.
    names = {*LAYERS, "oncall.py"} - {"playground"}
    assert "playground" not in copied
    assert {name for name in names if f"\nCOPY {name} " not in copied} == set()
    assert {name for name in names if f"!{name}" not in allowed} == set()


def test_everything_of_ours_is_typed_and_layered() -> None:
    checked = {*PYPROJECT["tool"]["mypy"]["packages"], *PYPROJECT["tool"]["mypy"]["modules"]}
    contracts = PYPROJECT["tool"]["importlinter"]
    acyclic = next(one for one in contracts["contracts"] if one["type"] == "acyclic_siblings")
    assert checked == OURS
    assert set(contracts["root_packages"]) == LAYERS
    assert set(acyclic["ancestors"]) == LAYERS


def test_only_the_command_line_knows_the_composition_root() -> None:
    """Import contracts hold between packages, and `oncall.py` is a module of its own."""
    knowing = {
        path.parts[0]
        for path in modules()
        if "oncall" in imported_by(ast.parse((ROOT / path).read_text(encoding="utf-8")))
    }
    assert knowing == {"cli"}


def test_a_room_holds_no_more_than_can_be_taken_in() -> None:
    rooms: dict[str, list[str]] = defaultdict(list)
    for path in modules():
        rooms[str(path.parent)].append(path.name)
    assert {room: len(held) for room, held in rooms.items() if len(held) > ROOM} == {}


def test_no_two_modules_share_a_name() -> None:
    places: dict[str, list[str]] = defaultdict(list)
    for path in modules():
        places[path.stem].append(str(path))
    assert repeated(places) == {}


def test_no_two_classes_share_a_name() -> None:
    places: dict[str, list[str]] = defaultdict(list)
    for path in modules():
        for node in ast.walk(ast.parse((ROOT / path).read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                places[node.name].append(str(path))
    assert repeated(places) == {}


def test_folders_of_tests_are_no_packages() -> None:
    """With one, pytest would name `tests/agents` `agents`, as the layer is: named together with
    another folder, its tests import from the wrong one of the two."""
    assert list((ROOT / "tests").rglob("__init__.py")) == []


def test_no_two_test_modules_share_a_name() -> None:
    places: dict[str, list[str]] = defaultdict(list)
    for path in (ROOT / "tests").rglob("test_*.py"):
        places[path.stem].append(str(path.relative_to(ROOT)))
    assert repeated(places) == {}
