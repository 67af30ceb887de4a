"""Removes instructions planted for a model from documents, and reports their places.

A sentence is planted when it overrides instructions, poses as a part of a prompt, names the
assistant that it addresses, or dictates the answer. Runbooks are full of imperatives: a sentence
that may address a person is only suspect."""

from __future__ import annotations

import base64
import binascii
import re
import unicodedata
from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache
from typing import Literal

from enrichment.language.words import sentences
from enrichment.safety.injection_patterns import MESSAGE, PLANTED, SUSPECT
from loaders.document import Block, Cell, Document, Image, Tab, Table

Addressing = Literal["", "suspect", "planted"]
"""`planted`: addressed to a model only. `suspect`: possibly to one, or quotes such text."""

_MAX_SENTENCE_CHARS = 4_000
"""Characters of one sentence; a longer one is checked in overlapping parts."""
_OVERLAP = 200

_QUOTED = re.compile(
    r"[“\"«„]([^“”\"«»„]{2,400})(?:[”\"»“]|$)|`([^`\s]{1,200}\s[^`]{1,400})`|‘([^‘’]{2,400})’"
)
_DICTATED = 16
"""A longer quotation is a dictated text; a shorter one only mentions a word."""
_FEW_WORDS = 3
"""With fewer words around it, the quotation is the sentence itself."""
_BASE64 = re.compile(r"[A-Za-z0-9+/]{24,4000}={0,2}")
_EMPHASIS = re.compile(r"[*~]+|(?<!\w)_+(?=\w)|(?<=\w)_+(?!\w)|<br\s*/?>")
_LINK = re.compile(r"\[([^\[\]]{1,300})\]\([^()\s]{1,500}\)")
_TAGS = range(0xE0020, 0xE007F)
"""Invisible Unicode tag characters, which a model reads as ASCII."""
_LOOKALIKES = str.maketrans("аеорсухіѕԁһјАВЕКМНОРСТХУІЅЈ", "aeopcyxisdhjABEKMHOPCTXYISJ")
_MIXED = re.compile(r"\b(?=\w*[a-zA-Z])(?=\w*[\u0400-\u052f])\w{2,40}\b")
"""A word in two alphabets at once."""


@lru_cache(maxsize=50_000)
def addressing(sentence: str) -> Addressing:
    """Checks one sentence, list item, title or cell, plain or markdown. Linear in its length."""
    if len(sentence) > _MAX_SENTENCE_CHARS:
        step = _MAX_SENTENCE_CHARS - _OVERLAP
        parts = {
            addressing(sentence[at : at + _MAX_SENTENCE_CHARS])
            for at in range(0, len(sentence), step)
        }
        return "planted" if "planted" in parts else "suspect" if "suspect" in parts else ""
    plain = as_read(sentence)
    if MESSAGE.search(plain) or any(PLANTED.search(hidden) for hidden in _decode(plain)):
        return "planted"
    if not PLANTED.search(plain):
        return "suspect" if SUSPECT.search(plain) else ""
    return "suspect" if _only_quotes(plain) else "planted"


def as_read(text: str) -> str:
    """The text as a model reads it: without invisible characters, disguises and markup."""
    if not text.isascii():
        text = _without_disguise(text)
    return " ".join(_EMPHASIS.sub("", _LINK.sub(r"\1", text)).split(" "))


def _without_disguise(text: str) -> str:
    """Replaces compatibility forms and lookalike letters, decodes or removes invisible ones."""
    visible = "".join(chr(ord(c) - 0xE0000) if ord(c) in _TAGS else c for c in text)
    visible = unicodedata.normalize("NFKC", visible)
    visible = "".join(
        c for c in visible if unicodedata.category(c) not in ("Cf", "Mn") or c == "\n"
    )
    return _MIXED.sub(lambda word: word[0].translate(_LOOKALIKES), visible)


def _only_quotes(plain: str) -> bool:
    """Whether the planted text is only quoted within another sentence."""
    around = _QUOTED.sub(lambda quoted: " …… " if len(quoted[0]) > _DICTATED else " … ", plain)
    return not PLANTED.search(around) and len(re.findall(r"\w+", around)) >= _FEW_WORDS


def _decode(text: str) -> list[str]:
    """Decoded base64 strings of the text."""
    texts = []
    for match in _BASE64.finditer(text):
        letters = match[0].rstrip("=")
        try:
            raw = base64.b64decode(letters + "=" * (-len(letters) % 4))
            texts.append(raw.decode("utf-8"))
        except (binascii.Error, ValueError):
            continue
    return texts


WITHHELD = "(withheld: addressed to an AI, not to people)"
"""Replaces the text in the document, so that readers see that something is missing."""
_END = re.compile(r"(?<=[.!?])\s+")
_MAX_EXCERPT_CHARS = 120
"""Characters of a withheld text in a report."""


def without_planted(document: Document) -> tuple[Document, tuple[str, ...]]:
    """The document with every planted text replaced by `WITHHELD`, and `place: beginning` of each.

    The text after a planted sentence in the same line is removed too: it is its message."""
    report: dict[str, None] = {}

    def note(place: str, before: str, after: str) -> None:
        if after != before:
            report.setdefault(f"{place}: {_beginning(before, after)!r}")

    title = clean_text(document.title)
    note("title", document.title, title)
    blocks: list[Block] = []
    for block in document.blocks:
        cleaned = _clean_block(block)
        place = f"under {cleaned.heading_path[-1]!r}" if cleaned.heading_path else "at the top"
        for before, after in zip(_texts(block), _texts(cleaned), strict=True):
            note(place, before, after)
        blocks.append(cleaned)
    tabs = tuple(map(_clean_tab, document.tabs))
    return replace(document, title=title, blocks=tuple(blocks), tabs=tabs), tuple(report)


def clean_text(text: str) -> str:
    """The text with planted parts replaced by `WITHHELD`; unchanged without any."""
    return "\n".join(_clean_line(line) for line in text.split("\n"))


def _clean_line(line: str) -> str:
    at = 0
    for sentence in _parts(line):
        at = line.index(sentence, at)
        if addressing(sentence) == "planted":
            return line[:at] + WITHHELD
        at += len(sentence)
    return line


def _parts(line: str) -> Iterator[str]:
    """Sentences, also split at end marks before signs that open no sentence, such as braces."""
    for sentence in sentences(line):
        yield from _END.split(sentence)


def _clean_block(block: Block) -> Block:
    text, markdown = _clean_twice(block.text, block.markdown)
    return replace(
        block,
        text=text,
        markdown=markdown,
        heading_path=tuple(map(clean_text, block.heading_path)),
        tab=block.tab and _clean_tab(block.tab),
        table=block.table and _clean_table(block.table),
        image=block.image and _clean_image(block.image),
    )


def _clean_tab(tab: Tab) -> Tab:
    return replace(tab, title=clean_text(tab.title), path=tuple(map(clean_text, tab.path)))


def _clean_twice(text: str, markdown: str) -> tuple[str, str]:
    """Clean text and markdown. When only one of them changes, both become the cleaned plain text,
    or `WITHHELD` when the plain text did not change."""
    plain = clean_text(text)
    marked = plain if markdown == text else clean_text(markdown)
    if (plain == text) == (marked == markdown):
        return plain, marked
    remainder = plain if plain != text else WITHHELD
    return remainder, remainder


def _clean_table(table: Table) -> Table:
    return replace(table, rows=tuple(tuple(map(_clean_cell, row)) for row in table.rows))


def _clean_cell(cell: Cell) -> Cell:
    text, markdown = _clean_twice(cell.text, cell.markdown.replace("<br>", "\n"))
    return replace(
        cell,
        text=text,
        markdown=markdown.replace("\n", "<br>"),
        tables=tuple(map(_clean_table, cell.tables)),
        images=tuple(map(_clean_image, cell.images)),
    )


def _clean_image(image: Image) -> Image:
    return replace(
        image,
        alt=clean_text(image.alt),
        title=clean_text(image.title),
        description=clean_text(image.description),
    )


def _texts(block: Block) -> Iterator[str]:
    yield block.text
    if block.image:
        yield block.image.alt
        yield block.image.title
        yield block.image.description
    for row in block.table.rows if block.table else ():
        for cell in row:
            yield cell.text


def _beginning(before: str, after: str) -> str:
    """The beginning of the withheld text, for a report."""
    same = next((i for i, (a, b) in enumerate(zip(before, after, strict=False)) if a != b), 0)
    withheld = " ".join(before[same:].split())
    return withheld if len(withheld) <= _MAX_EXCERPT_CHARS else withheld[:_MAX_EXCERPT_CHARS] + "…"
