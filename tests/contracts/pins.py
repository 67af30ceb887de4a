"""What is stored and published, frozen in files beside the tests.

`PIN_CONTRACTS=1` writes the files anew: only for a change of a contract that is meant."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

PINNED = Path(__file__).parent / "pinned"


def check_text(name: str, text: str) -> None:
    """`text` is what the file of this name holds."""
    file = PINNED / name
    if os.environ.get("PIN_CONTRACTS"):
        file.write_text(text, encoding="utf-8")
    if not file.exists():
        pytest.fail(f"nothing is pinned as {name}")
    assert text.splitlines() == file.read_text(encoding="utf-8").splitlines()


def check_json(name: str, value: Any, *, in_order: bool = False) -> None:
    """`value` is what the JSON file of this name holds; keys in any order, unless `in_order`."""
    text = json.dumps(value, indent=1, sort_keys=not in_order, ensure_ascii=False)
    check_text(name, text + "\n")


def read_json(name: str) -> Any:
    return json.loads((PINNED / name).read_text(encoding="utf-8"))
