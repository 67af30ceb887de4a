"""Web addresses in text: what fills a line with letters, but says nothing."""

from __future__ import annotations

import re
from collections.abc import Callable

LONGEST_SHOWN = 80
"""Characters of an address that are indexed: host and path, seldom a query's values."""
_ADDRESS = re.compile(r"(?:https?|ftp)://[^\s<>|\"`\])]+|(?<=\]\()[^\s()<>]+", re.I)
_AS_LONG_AS = "a link to some page of another site here"
"""Evidence in 12,000 and 24,000 characters of public documents: 0.70 and 0.79 where an address
counts as one word, 0.73 and 0.79 as these nine, 0.72 and 0.79 as it is written."""
_ONLY_LINK = re.compile(r"\s*!?\[[^\[\]]*\]\([^()\s]*\)[\s.,;]*")
_LETTERS = re.compile(r"[^\W_]{2,}")


def is_address(word: str) -> bool:
    return _ADDRESS.search(word) is not None


def without_addresses(count_tokens: Callable[[str], int]) -> Callable[[str], int]:
    """Counts each address as a few words: what is embedded has only its beginning, if anything,
    but whoever reads the chunk reads all of it."""
    return lambda text: count_tokens(_ADDRESS.sub(_AS_LONG_AS, text))


def shortened_addresses(text: str) -> str:
    return _ADDRESS.sub(lambda found: found[0][:LONGEST_SHOWN], text)


def says_only_where(markdown: str) -> bool:
    """Whether a link stands here and nothing else: what it says stands elsewhere."""
    bare = is_address(markdown) and not _LETTERS.search(_ADDRESS.sub(" ", markdown))
    return bare or _ONLY_LINK.fullmatch(markdown) is not None
