"""A document's headings, as many as help to choose it from a list."""

from __future__ import annotations

from loaders.document import Document

_MOST_HEADINGS = 20
_MOST_CHARACTERS = 600
_LONGEST_HEADING = 80


def table_of_contents(document: Document) -> tuple[str, ...]:
    """Tabs and headings in reading order, each once, without the title.

    A level that doesn't fit any more is left out from where it no longer fits, and so are all
    deeper ones: what is said of the whole document matters more than where it goes into detail."""
    places: dict[str, tuple[int, int]] = {}
    for tab in document.tabs:
        places.setdefault(tab.title, (0, len(places)))
    for block in document.blocks:
        if block.kind == "heading":
            name = " ".join(block.text.split())
            places.setdefault(name, (block.level, len(places)))
    room = _MOST_CHARACTERS
    kept: list[str] = []
    for name in sorted(places, key=lambda name: places[name]):
        if not name or name == document.title or len(name) > _LONGEST_HEADING:
            continue
        if len(name) > room or len(kept) == _MOST_HEADINGS:
            break
        room -= len(name)
        kept.append(name)
    return tuple(sorted(kept, key=lambda name: places[name][1]))
