"""Whether two writings say the same words: a fact in an answer, a quote in a document."""

from __future__ import annotations

import html
import re
from collections.abc import Sequence

from enrichment.chunk import Chunk

# Not by the Markdown parser: facts and quotes are pieces, cut anywhere, and both must end alike.
_MARKUP = (
    (re.compile(r"<br\s*/?>|</?[a-zA-Z][^<>]*>"), " "),
    (re.compile(r"!?\[([^\[\]]*+)\]\([^()]*+\)"), r"\1"),
    (re.compile(r"\s?\[\^?\d{1,3}\]"), " "),
    # Brackets that are left: a quote that ends inside a link.
    (re.compile(r"[\[\]]"), ""),
    (re.compile(r"[*_`|\\#~]|^[ \t]*+>", re.MULTILINE), " "),
)
_SAME = str.maketrans(
    {"’": "'", "‘": "'", "“": '"', "”": '"', "–": "-", "—": "-", "‑": "-", "\u00a0": " "}
)


def plain(text: str) -> str:
    """Lower case, one space, no markup: what two writings of one fact have in common."""
    for pattern, replacement in _MARKUP:
        text = pattern.sub(replacement, text)
    return " ".join(html.unescape(text).translate(_SAME).lower().split())


def words_of(chunk: Chunk) -> str:
    """A chunk's plain words, below all its headings."""
    return plain(f"{' '.join(chunk.heading_path)} {chunk.text}")


def words_of_all(chunks: Sequence[Chunk]) -> str:
    """A document's plain words: a quote may go on over the border of two chunks. A heading stands
    before the first chunk below it alone, as in the document."""
    return plain(
        " ".join(
            chunk.text if place and chunk.heading_path == chunks[place - 1].heading_path
            else f"{chunk.heading} {chunk.text}"
            for place, chunk in enumerate(chunks)
        )
    )  # fmt: skip


def says(text: str, fact: str) -> bool:
    """Whether the fact stands in the text as words of its own: `no` is not in `note`."""
    wanted = plain(fact)
    return bool(wanted) and re.search(rf"(?<!\w){re.escape(wanted)}(?!\w)", plain(text)) is not None
