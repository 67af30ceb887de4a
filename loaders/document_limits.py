"""How big and how deep a document may be. Beyond that it is refused, never cut."""

from __future__ import annotations

from config.errors import LoadError

MAX_BYTES = 64 * 1024 * 1024
"""A 1,500-page Google Doc is about 20 MB of JSON."""
MAX_CHARACTERS = 10_000_000
"""Of text, counting a merged cell once for each position it covers; Google stops at 1,020,000."""
MAX_CELLS = 200_000
"""Grid positions of one table."""
MAX_NESTING = 40
"""Levels of tables in tables, or of tabs in tabs."""
MAX_MARKUP_NESTING = 120
"""Levels of HTML elements or Markdown containers."""
MAX_TABS = 1_000
MAX_NAME = 300
"""Characters of a title or heading where it names what stands below it."""


def check_size(document: str, size: int) -> None:
    """Raises LoadError for more than MAX_BYTES."""
    if size > MAX_BYTES:
        raise LoadError(
            document,
            f"it has {size:,} bytes, more than the {MAX_BYTES:,} that are read",
            remedy="split it into smaller documents",
        )


def too_many(document: str, place: str, count: int, limit: int, what: str) -> LoadError:
    return LoadError(
        document, f"{count:,} {what}, more than the {limit:,} that are read", place=place
    )


def too_deep(document: str, place: str, limit: int, what: str) -> LoadError:
    return LoadError(document, f"{what} are nested deeper than {limit} levels", place=place)
