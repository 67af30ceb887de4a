"""The house itself: names, layers, what ships."""

from __future__ import annotations

import importlib.metadata
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
OURS = {
    *PYPROJECT["tool"]["setuptools"]["packages"],
    *PYPROJECT["tool"]["setuptools"]["py-modules"],
}


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


def test_everything_of_ours_is_typed_and_layered() -> None:
    checked = {*PYPROJECT["tool"]["mypy"]["packages"], *PYPROJECT["tool"]["mypy"]["modules"]}
    layered = PYPROJECT["tool"]["importlinter"]["root_packages"]
    assert checked == OURS
    assert set(layered) == set(PYPROJECT["tool"]["setuptools"]["packages"])
