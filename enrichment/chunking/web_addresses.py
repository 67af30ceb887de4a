"""Web addresses in text: what fills a line with letters, but says nothing."""

from __future__ import annotations

import re
from collections.abc import Callable

LONGEST_SHOWN = 80
"""Characters of an address that are indexed: host and path, seldom a query's values."""
_ADDRESS = re.compile(r"(?:https?|ftp)://[^\s<>|\"`\])]+|(?<=\]\()[^\s()<>]+", re.I)
_LETTERS = re.compile(r"[^\W_]{2,}")


def is_address(word: str) -> bool:
    return _ADDRESS.search(word) is not None


def without_addresses(count_tokens: Callable[[str], int]) -> Callable[[str], int]:
    """Counts each address as one word: what is embedded doesn't hold it, or only its beginning."""
    return lambda text: count_tokens(_ADDRESS.sub("link", text))


def shortened_addresses(text: str) -> str:
    return _ADDRESS.sub(lambda found: found[0][:LONGEST_SHOWN], text)


def says_only_where(plain: str) -> bool:
    """Whether nothing but addresses stands here."""
    return is_address(plain) and not _LETTERS.search(_ADDRESS.sub(" ", plain))
