"""The product's own code, wherever its modules are."""

from __future__ import annotations

import importlib
import sys
from functools import cache
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).parents[2]
LAYERS = (
    "agents", "api", "bot", "cli", "config", "durable", "enrichment", "index", "jobs", "loaders",
    "telemetry",
)  # fmt: skip


def files(kind: str = "*.py") -> list[Path]:
    """Of all layers and the composition root, sorted."""
    found = [path for layer in LAYERS for path in (ROOT / layer).rglob(kind)]
    found += [*ROOT.glob(f"oncall{kind[1:]}"), *(ROOT / "oncall").rglob(kind)]
    return sorted(path for path in found if "__pycache__" not in path.parts)


@cache
def source() -> str:
    """All modules in one text."""
    return "\n".join(path.read_text(encoding="utf-8") for path in files())


@cache
def every_module() -> list[ModuleType]:
    """All of them imported, so that what they define is known."""
    names = []
    for path in files():
        parts = path.relative_to(ROOT).with_suffix("").parts
        names.append(".".join(parts[:-1] if parts[-1] == "__init__" else parts))
    for name in names:
        importlib.import_module(name)
    return [sys.modules[name] for name in names]
