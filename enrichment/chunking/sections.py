"""Groups blocks into sections by heading, and turns each section's blocks into pieces."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import takewhile

from enrichment.chunking.code_blocks import CodeCutter, drawn_tables_as_code
from enrichment.chunking.pieces import Piece, Stretch, joined
from enrichment.chunking.tables import TableCutter, is_box, tells_how_to_read
from enrichment.chunking.text import TextCutter, picture_pieces
from loaders.document import Block, Document


@dataclass(frozen=True, kw_only=True)
class Section:
    """The blocks between two headings of one tab."""

    title: str
    """Nearest heading, else the tab's title, else the document's."""
    heading_path: tuple[str, ...]
    tab_path: tuple[str, ...]
    url: str
    blocks: tuple[Block, ...]
    """Never a heading, rule or footnote."""
    footnotes: tuple[Block, ...] = ()

    @property
    def tab(self) -> str:
        return self.tab_path[-1] if self.tab_path else ""


def sections(document: Document) -> list[Section]:
    """Sections in reading order; a heading without content of its own gives none."""
    result: list[Section] = []
    gathered: list[Block] = []
    for block in document.blocks:
        if gathered and (block.kind == "heading" or _place(block) != _place(gathered[0])):
            result.append(_section(document, gathered))
            gathered = []
        if block.kind not in ("heading", "rule"):
            gathered.append(block)
    if gathered:
        result.append(_section(document, gathered))
    return result


def breadcrumb(document: Document, section: Section) -> str:
    """`title › tab › headings`, each name once: the title is often the first heading too."""
    return " › ".join(_distinct((document.title, *section.tab_path, *section.heading_path)))


def _place(block: Block) -> tuple[str, tuple[str, ...], str]:
    return (block.tab.id if block.tab else "", block.heading_path, block.url)


def _section(document: Document, blocks: list[Block]) -> Section:
    first = blocks[0]
    tab_path = first.tab.path if first.tab else ()
    names = (document.title, *tab_path, *first.heading_path)
    return Section(
        title=names[-1],
        heading_path=first.heading_path,
        tab_path=tab_path,
        url=first.url or document.url,
        blocks=tuple(block for block in blocks if block.kind != "footnote"),
        footnotes=tuple(block for block in blocks if block.kind == "footnote"),
    )


def _distinct(names: Iterable[str]) -> list[str]:
    distinct: list[str] = []
    for name in names:
        if name and (not distinct or name.strip() != distinct[-1].strip()):
            distinct.append(name.strip())
    return distinct


_PARAGRAPH_END = ":", "：", ",", "—"
_MAX_LEAD_IN_CHARS = 240
_MAX_BETWEEN_ITEMS = 6
"""Blocks between two items of one list, such as a command and its output."""
_NUMBER = re.compile(r"(\d+)\W*$")


@dataclass
class SectionCutter:
    """Cuts the blocks of one section. `section`: prefix of the ids of its lists and code blocks."""

    text: TextCutter
    tables: TableCutter
    codes: CodeCutter
    section: str
    _runs: int = field(default=0, init=False)

    def pieces(self, blocks: Sequence[Block]) -> list[Piece]:
        pieces_so_far: list[Piece] = []
        queue = deque(drawn_tables_as_code(blocks))
        leads: tuple[Piece, ...] = ()
        while queue:
            if queue[0].kind == "list_item":
                whole = [queue.popleft() for _ in range(list_length(queue))]
                pieces_so_far += self._list(whole, leads)
                leads = leads if queue and queue[0].kind == "list_item" else ()
                continue
            block = queue.popleft()
            before, lead = self._lead_in(block, queue[0] if queue else None)
            pieces_so_far += before
            if not lead:
                note = queue[0] if block.table and queue and tells_how_to_read(queue[0]) else None
                pieces_so_far += self._block(block, leads, note)
                if note:
                    queue.popleft()
            leads = lead
        return [piece for piece in pieces_so_far if piece.text]

    def _lead_in(
        self, block: Block, following: Block | None
    ) -> tuple[list[Piece], tuple[Piece, ...]]:
        """A paragraph's pieces before its lead-in, and the lead-in of the block that follows."""
        if not is_lead_in(block, following):
            return [], ()
        is_short = len(block.text) <= _MAX_LEAD_IN_CHARS
        pieces = self.text.paragraph(block) if is_short else self.text.by_sentence(block)
        return pieces[:-1], tuple(pieces[-1:])

    def _block(
        self, block: Block, leads: tuple[Piece, ...], note: Block | None = None
    ) -> list[Piece]:
        described = picture_pieces(block, self.text)
        if block.table and not is_box(block.table):
            return [*self.tables.pieces(block, leads, note), *described]
        if block.kind == "code":
            return self.codes.code(block, leads, self._run())
        return [*self.text.paragraph(_readable(block), leads), *described]

    def _list(self, blocks: Sequence[Block], leads: tuple[Piece, ...]) -> list[Piece]:
        """The pieces of a list, each with the outermost item that it belongs to."""
        run = self._run()
        branches = list(_branches(blocks))
        return [
            replace(
                piece,
                stretches=(
                    Stretch(run=run, what="items", first=at, end=at + 1, total=len(branches)),
                    *piece.stretches,
                ),
            )
            for at, branch in enumerate(branches)
            for piece in self._branch(branch, leads)
        ]

    def _branch(self, blocks: Sequence[Block], leads: tuple[Piece, ...]) -> list[Piece]:
        """An item and its sub-items stay together if they fit; otherwise the item leads each."""
        item, below = blocks[0], blocks[1:]
        own = self.text.item(item, leads)
        result = own[:-1]
        last = own[-1]
        inside = list(takewhile(lambda block: block.kind != "list_item", below))
        for block in inside:
            pieces = self._block(block, (*leads, last))
            with_code = block.kind == "code" and block is inside[0]
            if with_code and len(pieces) == 1:
                result.append(joined([last, pieces[0]], leads))
            elif with_code:
                result += pieces
            else:
                result += [last, *pieces] if block is inside[0] else pieces
        if not inside:
            result.append(last)
        for branch in _branches(below[len(inside) :]):
            result += self._branch(branch, (*leads, last))
        fits = sum(piece.tokens for piece in result) <= self.text.size
        apart = any(piece.table or piece.kind == "picture" for piece in result)
        if len(result) > 1 and fits and not apart:
            return [joined(result, leads)]
        return result

    def _run(self) -> str:
        self._runs += 1
        return f"{self.section}.{self._runs}"


def is_lead_in(block: Block, following: Block | None) -> bool:
    """Whether a paragraph, or its last sentence, announces the list, table or code below it.

    Any short paragraph above code counts: code is hard to read without it."""
    if block.kind != "paragraph" or following is None:
        return False
    announces = block.text.rstrip().endswith(_PARAGRAPH_END)
    if following.kind == "code":
        return announces or len(block.text) <= _MAX_LEAD_IN_CHARS
    short = len(block.text) <= _MAX_LEAD_IN_CHARS
    return short and (following.kind == "table" or (following.kind == "list_item" and announces))


def list_length(blocks: Sequence[Block]) -> int:
    """Number of blocks of the list that starts here: its items and the blocks between them.

    Code, tables and text between two items belong to the list if its numbering continues after
    them. Code right below the last item belongs to that item."""
    length = 1
    top = blocks[0]
    while length < len(blocks):
        at = length
        while at < len(blocks) and blocks[at].kind != "list_item":
            at += 1
        between = [blocks[index] for index in range(length, at)]
        if at == len(blocks) or len(between) > _MAX_BETWEEN_ITEMS:
            return length + (blocks[length].kind == "code")
        item = blocks[at]
        if not _goes_on(top, item, between):
            return length + (bool(between) and between[0].kind == "code")
        top = item if item.level <= top.level else top
        length = at + 1
    return length


def _goes_on(top: Block, item: Block, between: Sequence[Block]) -> bool:
    """Whether an item belongs to the list whose last outermost item is `top`."""
    if item.level > top.level:
        return all(block.kind in ("code", "table", "image") for block in between)
    before, number = _NUMBER.search(top.marker), _NUMBER.search(item.marker)
    if before and number:
        return int(number[1]) == int(before[1]) + 1 or (not between and int(number[1]) != 1)
    if before or number:
        return False
    return not between or all(block.kind in ("code", "image") for block in between)


def _branches(blocks: Sequence[Block]) -> Iterator[Sequence[Block]]:
    """Each outermost item with the blocks below it, up to the next such item."""
    start = 0
    for index in range(1, len(blocks) + 1):
        if index == len(blocks) or (
            blocks[index].kind == "list_item" and blocks[index].level <= blocks[start].level
        ):
            yield blocks[start:index]
            start = index


def _readable(block: Block) -> Block:
    """Converts boxes and images to text."""
    if block.table:
        cell = block.table.rows[0][0]
        return replace(block, text=cell.text, markdown=cell.markdown.replace("<br>", "\n\n"))
    if block.image:
        caption = ": ".join(filter(None, (block.image.title, block.image.alt)))
        return replace(block, text=caption, markdown=f"[Image: {caption}]" if caption else "")
    return block
