"""How many examples property tests try: few by default, all with ONCALL_THOROUGH=1."""

from __future__ import annotations

import os
from pathlib import Path

THOROUGH = os.environ.get("ONCALL_THOROUGH") == "1"
SHARED = Path(os.environ.get("ONCALL_SHARED_DIR", Path(__file__).parents[2] / ".." / "shared"))


def examples(*, quick: int, thorough: int) -> int:
    return thorough if THOROUGH else quick
