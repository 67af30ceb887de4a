"""Turns paragraphs, quotes and list items into pieces: whole, or by sentence when long.

Long web addresses are shortened. Footnotes follow their first reference. Descriptions of pictures
are separate pieces under a line that marks them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from enrichment.chunk import Unit
from enrichment.chunking.pieces import (
    MAX_HEADING_CHARS,
    CountTokens,
    Joiner,
    Piece,
    grouped,
    joined,
)
from enrichment.language.words import sentences
from loaders.document import Block, Image, images_of
from loaders.text.markdown import escape
from loaders.text.plain import plain_text

MAX_ADDRESS_CHARS = 80
"""Indexed characters of an address: host and path, rarely a query's values."""
_ADDRESS = re.compile(r"(?:https?|ftp)://[^\s<>|\"`\])]+|(?<=\]\()[^\s()<>]+", re.I)
_AS_LONG_AS = "a link to some page of another site here"
"""Words that replace an address when tokens are counted. Evidence in 12,000 and 24,000 characters
of public documents: 0.70 and 0.79 if an address counts as one word, 0.73 and 0.79 as these nine
words, 0.72 and 0.79 in full."""
_ONLY_LINK = re.compile(r"\s*!?\[[^\[\]]*\]\([^()\s]*\)[\s.,;]*")
_LETTERS = re.compile(r"[^\W_]{2,}")


def is_address(word: str) -> bool:
    return _ADDRESS.search(word) is not None


def without_addresses(count_tokens: Callable[[str], int]) -> Callable[[str], int]:
    """A counter that counts each address as a few words: the embedded text has at most its
    beginning, and the displayed text has all of it."""
    return lambda text: count_tokens(_ADDRESS.sub(_AS_LONG_AS, text))


def shortened_addresses(text: str) -> str:
    return _ADDRESS.sub(lambda match: match[0][:MAX_ADDRESS_CHARS], text)


def says_only_where(markdown: str) -> bool:
    """Whether the text is only a link."""
    bare = is_address(markdown) and not _LETTERS.search(_ADDRESS.sub(" ", markdown))
    return bare or _ONLY_LINK.fullmatch(markdown) is not None


_MAX_WORD_CHARS = 200
_MAX_SOURCE_ADDRESS_CHARS = 2_000
"""Limit of browsers and servers; longer addresses are data."""


@dataclass(frozen=True, kw_only=True)
class TextCutter:
    """Turns text blocks into pieces of at most `size` tokens."""

    count_tokens: CountTokens
    size: int
    heading: str
    """Nearest heading; the units' index text starts with it."""

    def paragraph(self, block: Block, leads: tuple[Piece, ...] = ()) -> list[Piece]:
        prefix = "> " if block.kind == "quote" else ""
        return self._fitting(block, block.markdown or block.text, prefix, "\n\n", leads)

    def item(self, block: Block, leads: tuple[Piece, ...]) -> list[Piece]:
        marker = f"{'   ' * block.level}{block.marker or '-'} "
        return self._fitting(block, block.markdown or block.text, marker, "\n", leads)

    def by_sentence(self, block: Block) -> list[Piece]:
        """One piece per sentence, even for a short paragraph."""
        return self._split(block, block.markdown, "", "\n\n", ())

    def _fitting(
        self, block: Block, markdown: str, prefix: str, joiner: Joiner, leads: tuple[Piece, ...]
    ) -> list[Piece]:
        text = _prefixed(prefix, markdown)
        if self.count_tokens(text) > self.size:
            return self._split(block, markdown, prefix, joiner, leads)
        is_step = any(map(str.isalnum, block.marker or ""))  # `1. [Sign in](…)`
        if says_only_where(markdown) and not is_step:
            units: tuple[Unit, ...] = ()
        elif block.kind == "list_item":
            units = self._units("item", [block.text])
        else:
            units = self._units("sentence", sentences(block.text))
        return [self._piece(block, text, block.text, units, leads, joiner)]

    def _split(
        self, block: Block, markdown: str, prefix: str, joiner: Joiner, leads: tuple[Piece, ...]
    ) -> list[Piece]:
        """One piece per sentence. The prefix begins the first one, or each one of a quote."""
        pieces: list[Piece] = []
        is_quote = prefix == "> "
        for sentence in self._short_sentences(markdown):
            text = _prefixed(prefix, sentence) if is_quote or not pieces else sentence
            plain = plain_text(sentence)
            units = self._units("sentence", [plain])
            pieces.append(self._piece(block, text, plain, units, leads, joiner))
            joiner = "\n" if is_quote else " "
        return pieces

    def _short_sentences(self, markdown: str) -> Iterator[str]:
        for sentence in sentences(markdown):
            if self.count_tokens(sentence) <= self.size:
                yield sentence
            else:
                yield from map(" ".join, grouped(_words(sentence), self.count_tokens, self.size))

    def _units(self, kind: Literal["sentence", "item"], texts: Iterable[str]) -> tuple[Unit, ...]:
        """Units without bare links, which would match every question about their target."""
        heading = self.heading[:MAX_HEADING_CHARS]
        return tuple(
            Unit(kind=kind, text=text, index_text=f"{heading}: {shortened_addresses(text)}")
            for text in texts
            if text.strip() and not says_only_where(text)
        )

    def _piece(
        self,
        block: Block,
        text: str,
        plain: str,
        units: tuple[Unit, ...],
        leads: tuple[Piece, ...],
        joiner: Joiner,
    ) -> Piece:
        return Piece(
            text=text,
            plain=shortened_addresses(plain),
            tokens=max(1, self.count_tokens(text)),  # at least 1: a tokenizer may drop all signs
            units=units,
            leads=leads,
            joiner=joiner,
            page=block.page,
        )


def _prefixed(prefix: str, text: str) -> str:
    if prefix == "> ":
        return "\n".join(f"> {line}" for line in text.split("\n"))
    return prefix + text


def _words(text: str) -> Iterator[str]:
    """Words, the long ones cut; an address that a browser can open is never cut."""
    for word in text.split():
        longest = _MAX_SOURCE_ADDRESS_CHARS if is_address(word) else _MAX_WORD_CHARS
        for start in range(0, len(word), longest):
            yield word[start : start + longest]


Notes = dict[str, list[Piece]]
"""Mark such as `[^1]` → the footnote's pieces, several for a long one."""
_MARK = re.compile(r"\[\^[^\[\]]+\]")
_MAX_REPEATED = 3


def note_pieces(footnotes: Sequence[Block], cutter: TextCutter) -> Notes:
    notes: Notes = {}
    for note in footnotes:
        mark = f"[^{note.marker}]"
        body = replace(note, markdown=f"{mark}: {note.markdown or note.text}")
        notes.setdefault(mark, []).extend(cutter.paragraph(body))
    return notes


def with_footnotes(pieces: Sequence[Piece], notes: Notes) -> list[Piece]:
    """Pieces with each footnote below the first piece that refers to it. A footnote without a
    reference comes last."""
    below: list[list[Piece]] = [[piece] for piece in pieces]
    first: dict[str, int] = {}

    def refers(piece: Piece, at: int) -> None:
        for mark in _MARK.findall(piece.text):
            first[mark] = min(at, first.get(mark, at))

    for at, piece in enumerate(pieces if notes else ()):
        refers(piece, at)
    for mark, own in notes.items():
        at = first.get(mark, len(below))
        if at < len(below):
            below[at] += own
        else:
            below += [[piece] for piece in own]
        for offset, piece in enumerate(own):
            refers(piece, at + offset if mark not in first else at)
    return [joined(group, group[0].leads) if len(group) > 1 else group[0] for group in below]


def with_notes_repeated(group: Sequence[Piece], notes: Notes, most_tokens: int) -> list[Piece]:
    """The group, followed by up to three short footnotes that it cites and another group has."""
    text = "\n".join(piece.text for piece in group)
    missing = [
        replace(own[0], units=())
        for mark, own in notes.items()
        if mark in text and f"{mark}: " not in text
        if len(own) == 1 and own[0].tokens <= most_tokens
    ]
    return [*group, *missing[:_MAX_REPEATED]]


DESCRIBED = "Described by a model:"
_MAX_NAME_CHARS = 200


def picture_pieces(block: Block, text: TextCutter) -> list[Piece]:
    """Pieces for the described pictures of a block; equal descriptions come once."""
    described = {image.description: image for image in images_of(block) if image.description}
    return [piece for image in described.values() for piece in _pieces(image, block, text)]


def _pieces(image: Image, block: Block, text: TextCutter) -> Iterator[Piece]:
    """A line with the author's caption, which leads the lines of the description."""
    caption = " ".join(": ".join(filter(None, (image.title, image.alt))).split())
    name = escape(caption[:_MAX_NAME_CHARS])
    mark = replace(
        _paragraph(block, f"[Image{f': {name}' if name else ''}] {DESCRIBED}", text)[0],
        kind="picture",
        units=(),
    )
    yield mark
    for line in image.description.split("\n"):
        for piece in _paragraph(block, _escaped(line), text):
            units = tuple(map(_item, piece.units)) if line.startswith("- ") else piece.units
            yield replace(piece, kind="picture", leads=(mark,), joiner="\n", units=units)


def _item(unit: Unit) -> Unit:
    """The unit as a list item, so that it is not joined to the text before it."""
    return replace(unit, kind="item", text=unit.text.removeprefix("- "))


def _paragraph(block: Block, markdown: str, text: TextCutter) -> list[Piece]:
    plain = markdown.replace("\\", "")
    return text.paragraph(
        replace(block, kind="paragraph", text=plain, markdown=markdown, table=None, image=None)
    )


def _escaped(line: str) -> str:
    """Escapes markdown in a description's line, except the marker of a list item."""
    return f"- {escape(line[2:])}" if line.startswith("- ") else escape(line)
