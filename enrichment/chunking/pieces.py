"""What a section is made of before it is packed into chunks: pieces that are never cut further."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from enrichment.chunk import ChunkTable, Unit
from enrichment.language.sentences import sentences
from loaders.document import Block
from loaders.plain import plain_text

CountTokens = Callable[[str], int]
Joiner = Literal["\n\n", "\n", " "]

_LONGEST_WORD = 200
LONGEST_HEADING = 100
"""Characters of the heading that each sentence and row is indexed under."""
_NOTE_MARK = re.compile(r"\[\^[^\[\]]+\]")
_PARAGRAPH_END = ":", "：", ",", "—"


@dataclass(frozen=True, kw_only=True)
class Piece:
    """A paragraph, list item, sentence of a long paragraph, code block or group of table rows."""

    text: str
    """Markdown."""
    plain: str
    tokens: int
    kind: Literal["text", "table", "code"] = "text"
    units: tuple[Unit, ...] = ()
    table: ChunkTable | None = None
    leads: tuple[Piece, ...] = ()
    """What must stand above it in its chunk to be understood, outermost first."""
    joiner: Joiner = "\n\n"
    """Set between it and the piece before."""
    page: int | None = None
    starts_topic: bool = False
    """A better place than others to begin a new chunk."""


@dataclass(frozen=True, kw_only=True)
class Cutter:
    """Turns text blocks into pieces of at most `size` tokens."""

    count_tokens: CountTokens
    size: int
    heading: str
    """Nearest heading: units are indexed under it."""

    def paragraph(self, block: Block, leads: tuple[Piece, ...] = ()) -> list[Piece]:
        prefix = "> " if block.kind == "quote" else ""
        return self._fitting(block, block.markdown or block.text, prefix, "\n\n", leads)

    def item(self, block: Block, leads: tuple[Piece, ...]) -> list[Piece]:
        marker = f"{'   ' * block.level}{block.marker or '-'} "
        return self._fitting(block, block.markdown or block.text, marker, "\n", leads)

    def list_items(self, items: Sequence[Block], leads: tuple[Piece, ...]) -> list[Piece]:
        """An item and its sub-items stay together where they fit; else sub-items repeat it."""
        found: list[Piece] = []
        for item, below in _branches(items):
            own = self.item(item, leads)
            nested = self.list_items(below, (*leads, *own[:1])) if below else []
            branch = [*own, *nested]
            if len(branch) > 1 and sum(piece.tokens for piece in branch) <= self.size:
                branch = [_joined(branch, leads)]
            found += branch
        return found

    def code(self, block: Block, leads: tuple[Piece, ...]) -> list[Piece]:
        """Whole, or cut between lines; every part is fenced again."""
        found: list[Piece] = []
        for part in self._line_groups(block.text):
            text = f"```{block.language}\n{part}\n```"
            units = tuple(self._unit("sentence", line) for line in _code_lines(part))
            found.append(self._piece(block, text, part, units, leads=leads, kind="code"))
        return found

    def _fitting(
        self, block: Block, markdown: str, prefix: str, joiner: Joiner, leads: tuple[Piece, ...]
    ) -> list[Piece]:
        text = _prefixed(prefix, markdown)
        kind: Literal["sentence", "item"] = "item" if block.kind == "list_item" else "sentence"
        if self.count_tokens(text) <= self.size:
            said = [block.text] if kind == "item" else sentences(block.text)
            units = tuple(self._unit(kind, each) for each in said if each.strip())
            return [self._piece(block, text, block.text, units, leads=leads, joiner=joiner)]
        found: list[Piece] = []
        for sentence in self._short_sentences(markdown):
            first = not found
            plain = plain_text(sentence)
            found.append(
                self._piece(
                    block,
                    _prefixed(prefix, sentence) if first or prefix == "> " else sentence,
                    plain,
                    (self._unit("sentence", plain),),
                    leads=leads,
                    joiner=joiner if first else "\n" if prefix == "> " else " ",
                )
            )
        return found

    def _short_sentences(self, markdown: str) -> Iterator[str]:
        for sentence in sentences(markdown):
            if self.count_tokens(sentence) <= self.size:
                yield sentence
            else:
                yield from self._packed(_words(sentence), " ")

    def _line_groups(self, code: str) -> list[str]:
        if self.count_tokens(code) <= self.size:
            return [code]
        lines = (part for line in code.splitlines() for part in _windows(line, 4 * self.size))
        return list(self._packed(lines, "\n"))

    def _packed(self, parts: Iterator[str], joiner: str) -> Iterator[str]:
        gathered: list[str] = []
        tokens = 0
        for part in parts:
            cost = self.count_tokens(part)
            if gathered and tokens + cost > self.size:
                yield joiner.join(gathered)
                gathered, tokens = [], 0
            gathered.append(part)
            tokens += cost
        if gathered:
            yield joiner.join(gathered)

    def _unit(self, kind: Literal["sentence", "item"], text: str) -> Unit:
        heading = self.heading[:LONGEST_HEADING]
        return Unit(kind=kind, text=text, index_text=f"{heading}: {text}")

    def _piece(
        self,
        block: Block,
        text: str,
        plain: str,
        units: tuple[Unit, ...],
        *,
        leads: tuple[Piece, ...] = (),
        joiner: Joiner = "\n\n",
        kind: Literal["text", "code"] = "text",
    ) -> Piece:
        return Piece(
            text=text,
            plain=plain,
            tokens=max(1, self.count_tokens(text)),  # signs that a tokenizer drops fill it too
            kind=kind,
            units=units,
            leads=leads,
            joiner=joiner,
            page=block.page,
        )


def with_footnotes(
    pieces: Sequence[Piece], footnotes: Sequence[Block], cutter: Cutter
) -> list[Piece]:
    """Each footnote below the first piece that refers to it; alone when none does."""
    below: list[list[Piece]] = [[piece] for piece in pieces]
    first: dict[str, int] = {}

    def refers(piece: Piece, at: int) -> None:
        for mark in _NOTE_MARK.findall(piece.text):
            first[mark] = min(at, first.get(mark, at))

    for at, piece in enumerate(pieces if footnotes else ()):
        refers(piece, at)
    for note in footnotes:
        mark = f"[^{note.marker}]"
        own = cutter.paragraph(replace(note, markdown=f"{mark}: {note.markdown or note.text}"))
        at = first.get(mark, len(below))
        if at < len(below):
            below[at] += own
        else:
            below += [[piece] for piece in own]
        for offset, piece in enumerate(own):
            refers(piece, at + offset if mark not in first else at)
    return [_joined(group, group[0].leads) if len(group) > 1 else group[0] for group in below]


def is_lead_in(block: Block, following: Block | None) -> bool:
    """Whether a paragraph only announces the list, table or code below it."""
    return (
        block.kind == "paragraph"
        and following is not None
        and following.kind in ("list_item", "table", "code")
        and (block.text.rstrip().endswith(_PARAGRAPH_END) or following.kind == "table")
        and len(block.text) <= 240
    )


def _branches(items: Sequence[Block]) -> Iterator[tuple[Block, Sequence[Block]]]:
    """Each shallowest item with what is nested below it."""
    start = 0
    for index in range(1, len(items) + 1):
        if index == len(items) or items[index].level <= items[start].level:
            yield items[start], items[start + 1 : index]
            start = index


def _joined(pieces: Sequence[Piece], leads: tuple[Piece, ...]) -> Piece:
    joined = (part for piece in pieces[1:] for part in (piece.joiner, piece.text))
    return replace(
        pieces[0],
        text="".join([pieces[0].text, *joined]),
        plain="\n".join(piece.plain for piece in pieces),
        tokens=sum(piece.tokens for piece in pieces),
        units=tuple(unit for piece in pieces for unit in piece.units),
        leads=leads,
    )


def _prefixed(prefix: str, text: str) -> str:
    if prefix == "> ":
        return "\n".join(f"> {line}" for line in text.split("\n"))
    return prefix + text


def _code_lines(code: str) -> list[str]:
    return [line.strip() for line in code.splitlines() if re.search(r"\w{2}", line)]


def _words(text: str) -> Iterator[str]:
    for word in text.split():
        yield from _windows(word, _LONGEST_WORD)


def _windows(text: str, width: int) -> Iterator[str]:
    for start in range(0, max(1, len(text)), width):
        yield text[start : start + width]
