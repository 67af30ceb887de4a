"""Which release runs here."""

from __future__ import annotations

from functools import cache
from importlib.metadata import PackageNotFoundError, version


@cache
def product_version() -> str:
    """As it was installed; `unknown` where it only lies there."""
    try:
        return version("oncall-copilot")
    except PackageNotFoundError:
        return "unknown"
