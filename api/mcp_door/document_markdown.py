"""A document, or one heading of it, as markdown, from what the index holds of it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from agents.context.sections import section_text
from enrichment.chunk import Chunk


def chunks_under(chunks: Sequence[Chunk], heading: str) -> list[Chunk]:
    """Those of the heading and of all below it; of every heading that has the words, where none
    is called so. Without a heading all of them."""
    sought = _plain(heading)
    if not sought:
        return list(chunks)
    names = [[_plain(name) for name in (*chunk.heading_path, chunk.tab)] for chunk in chunks]
    exact = [chunk for chunk, named in zip(chunks, names, strict=True) if sought in named]
    return exact or [
        chunk
        for chunk, named in zip(chunks, names, strict=True)
        if any(sought in name for name in named)
    ]


def as_markdown(chunks: Sequence[Chunk]) -> str:
    """Sections under their headings; a table that was split is one again."""
    written: list[str] = []
    above: tuple[str, ...] = ()
    for place, group in groupby(chunks, key=lambda chunk: (chunk.tab, chunk.heading_path)):
        tab, path = place
        names = (*((tab,) if tab else ()), *path)
        shared = next(
            (n for n, pair in enumerate(zip(names, above, strict=False)) if pair[0] != pair[1]),
            min(len(names), len(above)),
        )
        written += [
            f"{'#' * min(6, level)} {name}"
            for level, name in enumerate(names[shared:], start=shared + 1)
        ]
        above = names
        section = list(group)
        written.append(section_text(section, section))
    return "\n\n".join(written)


def headings_of(chunks: Sequence[Chunk]) -> list[str]:
    """Each with those above it, once, in reading order."""
    paths = (" › ".join((*filter(None, (chunk.tab,)), *chunk.heading_path)) for chunk in chunks)
    return list(dict.fromkeys(filter(None, paths)))


def _plain(name: str) -> str:
    return " ".join(name.casefold().split())
