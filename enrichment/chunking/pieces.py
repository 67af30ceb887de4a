"""Pieces, which are never cut further, and their grouping into chunks.

Also finds the chunks that are parts of one list or code block."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice, pairwise, takewhile
from typing import Literal, TypeVar

from enrichment.chunk import ChunkRun, ChunkTable, Unit

Item = TypeVar("Item")
CountTokens = Callable[[str], int]
Joiner = Literal["\n\n", "\n", " "]

MAX_HEADING_CHARS = 100
"""Characters of the heading in the index text of each sentence and row."""


@dataclass(frozen=True, kw_only=True)
class Stretch:
    """The range of list items or code lines in a piece."""

    run: str
    """Id of the list or code block."""
    what: Literal["items", "lines"]
    first: int
    end: int
    """One past the last."""
    total: int


@dataclass(frozen=True, kw_only=True)
class Piece:
    """A paragraph, list item, sentence of a long paragraph, code block or group of table rows."""

    text: str
    """Markdown."""
    plain: str
    tokens: int
    kind: Literal["text", "table", "code", "picture"] = "text"
    units: tuple[Unit, ...] = ()
    table: ChunkTable | None = None
    stretches: tuple[Stretch, ...] = ()
    """Outermost first."""
    leads: tuple[Piece, ...] = ()
    """Pieces that must precede it in its chunk to make it understandable, outermost first."""
    joiner: Joiner = "\n\n"
    """Separator between it and the piece before."""
    page: int | None = None
    starts_topic: bool = False
    """Whether a new chunk should begin here."""


def joined(pieces: Sequence[Piece], leads: tuple[Piece, ...]) -> Piece:
    following = (part for piece in pieces[1:] for part in (piece.joiner, piece.text))
    return replace(
        pieces[0],
        text="".join([pieces[0].text, *following]),
        plain="\n".join(piece.plain for piece in pieces),
        tokens=sum(piece.tokens for piece in pieces),
        units=tuple(unit for piece in pieces for unit in piece.units),
        leads=leads,
    )


_MAX_LIST_CHUNKS = 1.5
"""Maximum size of an uncut list, in chunk sizes. A list that is a little longer than a chunk is
easier to read whole: of 2,900 chunks of six corpora 275 are parts of lists, with 1.0 there
would be 620; evidence in 24,000 characters of public documents 0.82 against 0.79."""


def pack(
    pieces: Sequence[Piece], *, size: int, table_size: int, overlap: int = 0
) -> list[list[Piece]]:
    """Group consecutive pieces, as many as fit; missing leads are inserted before a piece.

    A group has at most one table, and a picture's description is a group of its own. Text joins a
    table while both fit `table_size`: text around a table is mostly about it."""
    groups: list[list[Piece]] = []
    group: list[Piece] = []
    kept_whole = ""
    for index, piece in enumerate(pieces):
        added = [*_missing_leads(group, piece), piece]
        list_tokens = _list_tokens(pieces, index)
        if 0 < list_tokens <= _MAX_LIST_CHUNKS * size:
            kept_whole = _outermost(piece)
        begins_whole = list_tokens > 0 and _outermost(piece) == kept_whole
        has_table = any(each.table for each in (*group, piece))
        usual = table_size if has_table else size
        inside = kept_whole and _outermost(piece) == kept_whole and not has_table
        full = _tokens(group) + _tokens(added) > (_MAX_LIST_CHUNKS * size if inside else usual)
        apart = begins_whole and _tokens(group) + list_tokens > usual
        if group and (full or apart or _clash(group, piece)):
            groups.append(group)
            repeated = _tail(group, overlap) if piece.kind == "text" else []
            group = [*repeated, *_missing_leads(repeated, piece), piece]
        else:
            group = [*group, *added]
    return [*groups, group] if group else groups


def text_of(group: Sequence[Piece]) -> str:
    text = [group[0].text]
    for before, piece in pairwise(group):
        first_item = piece.joiner == "\n" and before.joiner == "\n\n"
        text += ["\n\n" if first_item else piece.joiner, piece.text]
    return "".join(text)


def _clash(group: Sequence[Piece], piece: Piece) -> bool:
    two_tables = piece.table is not None and any(each.table for each in group)
    pictured = {each.kind == "picture" for each in (*group, piece)} == {True, False}
    other_picture = piece.kind == "picture" and piece.leads[:1] != tuple(group[:1])
    off_topic = piece.starts_topic and _tokens(group) >= 40
    return two_tables or pictured or other_picture or off_topic


def _list_tokens(pieces: Sequence[Piece], start: int) -> int:
    """Tokens of the list that begins at `start`, with its leads; 0 if none begins there."""
    run = _outermost(pieces[start])
    if not run or (start and _outermost(pieces[start - 1]) == run):
        return 0
    following = islice(pieces, start, None)
    whole = takewhile(lambda piece: _outermost(piece) == run, following)
    return sum(piece.tokens for piece in whole) + _tokens(pieces[start].leads)


def _outermost(piece: Piece) -> str:
    """Id of the outermost list or code block of the piece, or ''."""
    return piece.stretches[0].run if piece.stretches else ""


def _missing_leads(group: Sequence[Piece], piece: Piece) -> list[Piece]:
    """Leads that the group lacks. A piece of the group may begin with a lead's text."""
    return [
        lead for lead in piece.leads if not any(each.text.startswith(lead.text) for each in group)
    ]


def _tail(group: Sequence[Piece], overlap: int) -> list[Piece]:
    pieces_left: list[Piece] = []
    for piece in reversed(group):
        if piece.kind != "text" or _tokens(pieces_left) + piece.tokens > overlap:
            break
        pieces_left.insert(0, piece)
    return pieces_left


def _tokens(group: Sequence[Piece]) -> int:
    return sum(piece.tokens for piece in group)


def grouped(items: Iterable[Item], cost: Callable[[Item], int], most: int) -> Iterator[list[Item]]:
    """Consecutive items whose costs add up to at most `most`; an item that costs more is alone."""
    group: list[Item] = []
    spent = 0
    for item in items:
        added = cost(item)
        if group and spent + added > most:
            yield group
            group, spent = [], 0
        group.append(item)
        spent += added
    if group:
        yield group


def runs_of(groups: Sequence[Sequence[Piece]]) -> list[tuple[ChunkRun, ...]]:
    """For each group of a section, the lists and code blocks that continue in other groups."""
    places: dict[str, dict[int, list[Stretch]]] = {}
    for at, group in enumerate(groups):
        for piece in group:
            for stretch in piece.stretches:
                places.setdefault(stretch.run, {}).setdefault(at, []).append(stretch)
    runs_of_group: list[list[ChunkRun]] = [[] for _ in groups]
    for run, parts in places.items():
        for part, (at, stretches) in enumerate(parts.items() if len(parts) > 1 else ()):
            first = min(stretch.first for stretch in stretches)
            runs_of_group[at].append(
                ChunkRun(
                    id=run,
                    what=stretches[0].what,
                    part=part,
                    parts=len(parts),
                    first=first,
                    count=max(stretch.end for stretch in stretches) - first,
                    total=stretches[0].total,
                )
            )
    return [tuple(runs) for runs in runs_of_group]
