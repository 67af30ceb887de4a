"""The chunks of one section put together again, word for word: what later chunks repeat, so that
they can be read alone, is there once. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from enrichment.chunk import Chunk

_PART = re.compile(r"\(part \d+ of \d+\)")
_FENCE = re.compile(r"`{3,}")
_NOTE = re.compile(r"\[\^[^\[\]]+\]: ")
_MARKER = (
    r"(?:\(?(?:\d{1,3}(?:\.\d{1,3})*|[A-Za-z]|[ivxl]{2,6})[.)]|\d{1,3}(?:\.\d{1,3})+|[-*+•◦▪‣○●■])"
)
ITEM = re.compile(rf"(?P<indent> *)(?P<marker>{_MARKER}) (?P<text>.*)")
"""A list item as chunks hold it: three spaces for each level, the marker that a reader sees."""


def sections_of(chunks: Sequence[Chunk]) -> Iterator[list[Chunk]]:
    """The chunks of a document, those of one section together; a model's descriptions of pictures
    are nobody's steps."""
    written = (chunk for chunk in chunks if not chunk.from_picture)
    for _, together in groupby(written, key=lambda one: (one.tab, one.heading_path, one.url)):
        yield list(together)


def joined_text(section: Sequence[Chunk]) -> str:
    """Markdown of a whole section."""
    lines: list[str] = []
    previous: Chunk | None = None
    for chunk in section:
        _append(lines, previous, chunk)
        previous = chunk
    return "\n".join(lines)


def _append(lines: list[str], previous: Chunk | None, chunk: Chunk) -> None:
    fresh = chunk.text.split("\n")
    if previous is None:
        lines += fresh
        return
    fresh = fresh[_overlap(previous.text.split("\n"), fresh) :]
    same_table = previous.table and chunk.table and previous.table.id == chunk.table.id
    in_code = _shares(previous, chunk, "lines")
    fresh = fresh[_repeated(lines, fresh) :]
    if fresh and _is_cut(previous, chunk) and (rest := _after_lead(lines, fresh[0])):
        again = _is_said(rest, lines) and _goes_deeper(fresh[1:], 0)
        if not again and lines[-1] and not _stands_apart(lines[-1]):
            lines[-1] += f" {rest}"
        elif not again:
            lines.append(rest)
        fresh = fresh[1:]
    fresh = [line for line in fresh if not (in_code and _PART.fullmatch(line.strip()))]
    if same_table:
        rows = next((at for at, line in enumerate(fresh) if line.startswith("|")), None)
        lines += fresh if rows is None else [*fresh[:rows], *fresh[rows + 2 :]]
    elif (
        in_code
        and (start := next((n for n, x in enumerate(fresh) if _FENCE.match(x)), None)) is not None
    ):
        if lines and _FENCE.fullmatch(lines[-1].strip()):
            lines.pop()
        lines += fresh[start + 1 :]
    else:
        # A line of a list that is no item goes on with the one that was cut.
        apart = fresh and (not _shares(previous, chunk, "items") or _stands_apart(fresh[0]))
        lines += ["", *fresh] if apart else fresh


def _shares(one: Chunk, other: Chunk, what: str) -> bool:
    """Both hold a part of the same list or code block."""
    return bool({run.id for run in one.runs if run.what == what} & {run.id for run in other.runs})


def _is_cut(one: Chunk, other: Chunk) -> bool:
    """Both hold a part of the same outermost item."""
    parts = {run.id: run for run in other.runs if run.what == "items"}
    return any(run.id in parts and parts[run.id].first < run.first + run.count for run in one.runs)


def _after_lead(lines: Sequence[str], line: str) -> str:
    """What goes on with the last item, in a line that begins with what leads in."""
    leads = [one for one in (*_open_path(lines), *lines) if one and line.startswith(f"{one} ")]
    return line.removeprefix(max(leads, key=len)).strip() if leads else ""


def _overlap(before: Sequence[str], after: Sequence[str]) -> int:
    """How many of the first lines are the last ones of the chunk before."""
    for size in range(min(len(before), len(after)), 0, -1):
        same = after[:size]
        if list(before[-size:]) == list(same) and re.search(r"\w", "".join(same)):
            return size
    return 0


def _repeated(lines: Sequence[str], fresh: Sequence[str]) -> int:
    """How many of the first lines say again what leads in here: a sentence above the list, and the
    items that the next one is below."""
    said = {line for line in lines if line and not ITEM.fullmatch(line)}
    path = _open_path(lines)
    count, level = 0, -1
    for at, line in enumerate(fresh):
        item = ITEM.fullmatch(line)
        if item:
            depth = len(item["indent"])
            is_lead = line in path and depth > level and _goes_deeper(fresh[at + 1 :], depth)
            if not is_lead:
                break
            level = depth
        elif line and (_stands_apart(line) or not _is_said(line, (*said, *path))):
            break
        count = at + 1
    return count


def _is_said(line: str, lines: Iterable[str]) -> bool:
    """A lead may be the last sentence of what stands there."""
    return any(one.endswith(line) for one in lines)


def _open_path(lines: Sequence[str]) -> list[str]:
    """The last item and those that it is below."""
    path: list[tuple[int, str]] = []
    for line in lines:
        if item := ITEM.fullmatch(line):
            depth = len(item["indent"])
            path = [one for one in path if one[0] < depth] + [(depth, line)]
    return [line for _, line in path]


def _goes_deeper(following: Sequence[str], depth: int) -> bool:
    """Whether what comes next stands below an item of this depth, and not beside it."""
    for line in following:
        if item := ITEM.fullmatch(line):
            return len(item["indent"]) > depth
        if line:
            return True
    return False


def _stands_apart(line: str) -> bool:
    return bool(_FENCE.match(line) or line.startswith("|") or is_footnote(line))


def is_footnote(line: str) -> bool:
    return bool(_NOTE.match(line))
