"""Paragraphs, quotes and list items as pieces: whole, or sentence by sentence when long."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from enrichment.chunk import Unit
from enrichment.chunking.pieces import LONGEST_HEADING, CountTokens, Joiner, Piece
from enrichment.chunking.web_addresses import is_address, says_only_where, shortened_addresses
from enrichment.language.sentences import sentences
from loaders.document import Block
from loaders.text.plain import plain_text

_LONGEST_WORD = 200
_LONGEST_ADDRESS = 2_000
"""What browsers and servers take; longer ones are data."""


@dataclass(frozen=True, kw_only=True)
class TextCutter:
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

    def by_sentence(self, block: Block) -> list[Piece]:
        """Each sentence for itself, however short the paragraph."""
        return list(
            self._sentence_pieces(block, self._short_sentences(block.markdown), "", "\n\n", ())
        )

    def _fitting(
        self, block: Block, markdown: str, prefix: str, joiner: Joiner, leads: tuple[Piece, ...]
    ) -> list[Piece]:
        text = _prefixed(prefix, markdown)
        if self.count_tokens(text) > self.size:
            cut = self._short_sentences(markdown)
            return list(self._sentence_pieces(block, cut, prefix, joiner, leads))
        if says_only_where(markdown):
            units: tuple[Unit, ...] = ()
        elif block.kind == "list_item":
            units = self._units("item", [block.text])
        else:
            units = self._units("sentence", sentences(block.text))
        return [self._piece(block, text, block.text, units, leads, joiner)]

    def _sentence_pieces(
        self,
        block: Block,
        cut: Iterable[str],
        prefix: str,
        joiner: Joiner,
        leads: tuple[Piece, ...],
    ) -> Iterator[Piece]:
        quoted = prefix == "> "
        for number, sentence in enumerate(cut):
            plain = plain_text(sentence)
            yield self._piece(
                block,
                _prefixed(prefix, sentence) if quoted or not number else sentence,
                plain,
                self._units("sentence", [plain]),
                leads,
                joiner if not number else "\n" if quoted else " ",
            )

    def _short_sentences(self, markdown: str) -> Iterator[str]:
        for sentence in sentences(markdown):
            if self.count_tokens(sentence) <= self.size:
                yield sentence
            else:
                yield from self._packed_words(sentence)

    def _packed_words(self, sentence: str) -> Iterator[str]:
        gathered: list[str] = []
        tokens = 0
        for word in _words(sentence):
            cost = self.count_tokens(word)
            if gathered and tokens + cost > self.size:
                yield " ".join(gathered)
                gathered, tokens = [], 0
            gathered.append(word)
            tokens += cost
        if gathered:
            yield " ".join(gathered)

    def _units(self, kind: Literal["sentence", "item"], said: Iterable[str]) -> tuple[Unit, ...]:
        """A link alone is no statement: it matches every question about what it leads to."""
        heading = self.heading[:LONGEST_HEADING]
        return tuple(
            Unit(kind=kind, text=text, index_text=f"{heading}: {shortened_addresses(text)}")
            for text in said
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
            tokens=max(1, self.count_tokens(text)),  # signs that a tokenizer drops fill it too
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
    """Words that a chunk can hold; an address that a browser would open is never cut."""
    for word in text.split():
        longest = _LONGEST_ADDRESS if is_address(word) else _LONGEST_WORD
        for start in range(0, len(word), longest):
            yield word[start : start + longest]
