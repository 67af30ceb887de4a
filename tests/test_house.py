"""The house itself: names, rooms, layers, what ships."""

from __future__ import annotations

import ast
import importlib.metadata
import re
import tomllib
from collections import defaultdict
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[1]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
LAYERS = {
    pattern.removesuffix("*")
    for pattern in PYPROJECT["tool"]["setuptools"]["packages"]["find"]["include"]
}
ROOM = 15
"""Modules that a newcomer can take in at a look."""
SMALL_MODULES, LARGE_MODULES, MEDIAN_LINES = 0.075, 0.025, 180
"""Limits that only tighten: the share of modules under 80 lines, of those over 350, the median."""
MAX_PARAMETERS = 6
"""Of a service or a builder; more are a missing object."""
MANY_PARAMETERS = {"Episode", "FeatureContext", "Gap"}
"""Values that have methods, and the object that carries the infrastructure of all features."""
LONG_MODULES: set[str] = set()
"""Over 420 lines, for a reason of its own; no other may be."""
RETIRED = {
    "told": 1, "said": 2, "kept": 3, "shown": 1, "asked": 4, "heard": 0,
    "gone": 0, "anew": 0, "beside": 1, "found": 1, "known": 1, "seen": 2,
    "given": 0, "taken": 0, "looked": 0, "wanted": 0, "written": 0,
}  # fmt: skip
"""Names that stored data alone may have: how many columns, keys and fields are called so."""


def modules() -> Iterator[Path]:
    """Every module of the product, relative to its root."""
    for layer in LAYERS:
        for path in (ROOT / layer).rglob("*.py"):
            if path.name != "__init__.py":
                yield path.relative_to(ROOT)


@cache
def tree_of(path: Path) -> ast.Module:
    """Python 3.11 gives up with a SystemError when another thread parses at the same moment, as one
    that imports a test's module does."""
    source = (ROOT / path).read_text(encoding="utf-8")
    for _ in range(5):
        with suppress(SystemError):
            return ast.parse(source)
    return ast.parse(source)


def imported_by(tree: ast.Module) -> set[str]:
    """Top-level names that a module imports, wherever in it."""
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {name.name.partition(".")[0] for name in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found.add(node.module.partition(".")[0])
    return found


def bound_names(tree: ast.Module) -> Iterator[str]:
    """Variables and parameters; fields of classes may be names of stored data, and are left out."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.arg):
            yield node.arg


def initializer_size(node: ast.ClassDef) -> int:
    """Parameters of its `__init__`, or its fields; 0 for a value: a class without methods."""
    methods = [one for one in node.body if isinstance(one, ast.FunctionDef)]
    if init := next((one for one in methods if one.name == "__init__"), None):
        return parameter_count(init) - 1
    if all(one.decorator_list or one.name == "__post_init__" for one in methods):
        return 0
    fields = [one for one in node.body if isinstance(one, ast.AnnAssign)]
    return sum(not re.search(r"ClassVar|init=False", ast.unparse(one)) for one in fields)


def parameter_count(function: ast.FunctionDef) -> int:
    arguments = function.args
    return len([*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs])


def length(path: Path) -> int:
    return len((ROOT / path).read_text(encoding="utf-8").splitlines())


def repeated(places: dict[str, list[str]]) -> dict[str, list[str]]:
    return {name: where for name, where in places.items() if len(where) > 1}


def test_no_other_distribution_owns_our_top_level_names() -> None:
    owners = importlib.metadata.packages_distributions()
    others = {
        name: set(owners[name]) - {"oncall-copilot"}
        for name in LAYERS & set(owners)
        if set(owners[name]) - {"oncall-copilot"}
    }
    assert others == {}


def test_everything_of_ours_is_listed_for_the_build() -> None:
    packages = {path.parent.name for path in ROOT.glob("*/__init__.py")} - {"tests", "benchmarks"}
    assert packages | {path.stem for path in ROOT.glob("*.py")} == LAYERS


def test_every_folder_of_modules_is_a_package() -> None:
    folders = {path.parent for path in modules()}
    assert [str(one) for one in folders if not (ROOT / one / "__init__.py").exists()] == []


def test_everything_of_ours_is_in_the_image() -> None:
    copied = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    allowed = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    # The demo's documents and stand-ins stay with the source.
    names = LAYERS - {"playground"}
    assert "playground" not in copied
    assert {name for name in names if f"\nCOPY {name} " not in copied} == set()
    assert {name for name in names if f"!{name}" not in allowed} == set()


def test_everything_of_ours_is_typed_and_layered() -> None:
    contracts = PYPROJECT["tool"]["importlinter"]
    acyclic = next(one for one in contracts["contracts"] if one["type"] == "acyclic_siblings")
    assert set(PYPROJECT["tool"]["mypy"]["packages"]) == LAYERS
    assert set(contracts["root_packages"]) == LAYERS
    assert set(acyclic["ancestors"]) == LAYERS


def test_only_the_command_line_knows_the_composition_root() -> None:
    knowing = {path.parts[0] for path in modules() if "oncall" in imported_by(tree_of(path))}
    assert knowing == {"cli", "oncall"}


def test_a_room_holds_no_more_than_can_be_taken_in() -> None:
    rooms: dict[str, list[str]] = defaultdict(list)
    for path in modules():
        rooms[str(path.parent)].append(path.name)
    assert {room: len(held) for room, held in rooms.items() if len(held) > ROOM} == {}


def test_modules_are_neither_crumbs_nor_lumps() -> None:
    lines = sorted(length(path) for path in modules())
    assert sum(count < 80 for count in lines) <= SMALL_MODULES * len(lines)
    assert sum(count > 350 for count in lines) <= LARGE_MODULES * len(lines)
    assert lines[len(lines) // 2] >= MEDIAN_LINES


def test_no_module_is_too_long_to_read() -> None:
    long = {str(path) for path in modules() if length(path) > 420}
    assert long <= LONG_MODULES


def test_services_and_builders_of_the_bot_take_few_parameters() -> None:
    large: set[str] = set()
    for path in (one for one in modules() if one.parts[0] == "bot"):
        for node in ast.walk(tree_of(path)):
            if isinstance(node, ast.ClassDef):
                size = initializer_size(node)
            elif isinstance(node, ast.FunctionDef) and node.name.startswith("build_"):
                size = parameter_count(node)
            else:
                continue
            if size > MAX_PARAMETERS:
                large.add(node.name)
    assert large == MANY_PARAMETERS


def test_retired_names_stay_retired() -> None:
    """What a name holds stands in it: a participle alone says nothing."""
    count: dict[str, int] = defaultdict(int)
    for path in modules():
        if path.parts[0] == "playground":  # it has words of its own
            continue
        for name in bound_names(tree_of(path)):
            if name in RETIRED:
                count[name] += 1
    assert {name: times for name, times in count.items() if times > RETIRED[name]} == {}


def test_folders_of_tests_are_no_packages() -> None:
    """With one, pytest would name `tests/agents` `agents`, as the layer is: named together with
    another folder, its tests import from the wrong one of the two."""
    assert list((ROOT / "tests").rglob("__init__.py")) == []


def test_no_two_test_modules_share_a_name() -> None:
    places: dict[str, list[str]] = defaultdict(list)
    for path in (ROOT / "tests").rglob("test_*.py"):
        places[path.stem].append(str(path.relative_to(ROOT)))
    assert repeated(places) == {}
