"""Replaces planted text in documents, reports its places, and marks what is doubtful because of
what stands around it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from functools import cached_property, partial
from itertools import chain, pairwise
from typing import Any, NamedTuple

from enrichment.language.foreign_words import ENGLISH_WORDS, language_of
from enrichment.language.words import prose_words
from enrichment.safety.acts import acts_of, as_read
from enrichment.safety.injection import (
    MARK,
    addressing,
    marked,
    opens_an_order,
    rewrite,
    statements,
    unquoted,
)
from loaders.document import Block, Cell, Document

WITHHELD = "(withheld: addressed to an AI, not to people)"
"""Replaces the text in the document, so that readers see that something is missing."""
_TITLE = -1
_MAX_EXCERPT_CHARS = 120
"""Characters of a withheld text in a report."""
_MAX_PARTS = 4
"""Neighboring pieces that are read together: an order may be cut in as many."""
_MAX_JOINED_CHARS = 400
_FEW_WORDS = 3
_COMMENT = re.compile(r"#|//|/\*|--|;|%|REM\b|<!--")
"""Begins a comment in code."""
_SHORT_CHARS = 40
"""Characters of a piece whose language is a guess."""
_DEMANDS = frozenset("XxRSBVMQC")
"""Acts without which a sentence in another language is only a translation."""
_OWN = 3
"""Blocks and cells in other languages from which they are the document's own, as in a table that a
team fills in its language. An order is planted in one place, perhaps cut in two."""


class Piece(NamedTuple):
    """A statement at its place."""

    block: int
    """From 0; -1 for the document's title."""
    text: str
    """As read."""


def without_planted(document: Document) -> tuple[Document, tuple[str, ...]]:
    """The document with every planted statement replaced by `WITHHELD`, and `place: beginning` of
    each. Doubtful statements are marked; doubtful titles, headings and captions are replaced."""
    cleaner = _Cleaner(doubtful_in(document))
    clean: Document = cleaner.clean(replace(document, blocks=()))
    blocks = []
    for cleaner.block, block in enumerate(document.blocks):
        heading = cleaner.name(block.heading_path[-1]) if block.heading_path else ""
        cleaner.place = f"under {heading!r}" if heading else "at the top"
        blocks.append(cleaner.clean(block))
    return replace(clean, blocks=tuple(blocks)), tuple(cleaner.report)


def clean_text(text: str) -> str:
    """The text with planted statements replaced by `WITHHELD`; unchanged without any."""
    return _Cleaner(frozenset()).text(text)


_LABELS = ("title", "alt", "owner", "status")
"""Fields that are shown beside every answer and state nothing."""


@dataclass
class _Cleaner:
    doubtful: frozenset[Piece]
    block: int = _TITLE
    place: str = "title"
    report: dict[str, None] = field(default_factory=dict)

    def clean(self, value: Any, change: Callable[[str], str] | None = None) -> Any:
        """A part of a document with its texts changed: by `change`, or as their fields' names
        say."""
        if isinstance(value, str):
            return change(value) if change else value
        if isinstance(value, tuple):
            return tuple(self.clean(one, change) for one in value)
        if not is_dataclass(value) or isinstance(value, type):
            return value
        is_label = isinstance(value, Block) and value.kind in ("heading", "image")
        ways = dict.fromkeys(_LABELS, self.label) | dict.fromkeys(
            ("heading_path", "path"), self.name
        )
        ways["description"] = self.text
        if isinstance(value, Block | Cell):
            ways |= dict.fromkeys(("text", "markdown"), self.label if is_label else self.text)
        changes = {
            one.name: self.clean(getattr(value, one.name), ways.get(one.name))
            for one in fields(value)
        }
        if isinstance(value, Block | Cell):
            text, markdown = changes["text"], changes["markdown"]
            if _changes(text) != _changes(markdown):  # an order is broken by markup
                text = text if text != value.text else WITHHELD
                line_break = "\n" if isinstance(value, Block) else "<br>"
                changes |= {"text": text, "markdown": text.replace("\n", line_break)}
        return replace(value, **changes)

    def text(self, text: str) -> str:
        return rewrite(text, self._statement)

    def _statement(self, statement: str) -> str:
        if addressing(statement) == "planted":
            return self._withhold(statement)
        piece = Piece(self.block, as_read(statement))
        return marked(statement) if piece in self.doubtful else statement

    def label(self, text: str) -> str:
        """What is only suspect goes too, unless it quotes."""
        return text if self.name(text) == text else self._withhold(text)

    def name(self, text: str) -> str:
        """A label that is reported elsewhere."""
        return WITHHELD if any(map(self._is_order, statements(text))) else text

    def _is_order(self, part: str) -> bool:
        if addressing(part) == "planted" or addressing(unquoted(part)):
            return True
        return as_read(part) in self._texts and bool(_DEMANDS & {*acts_of(as_read(part))})

    @cached_property
    def _texts(self) -> frozenset[str]:
        """Headings are also shown away from their blocks."""
        return frozenset(one.text for one in self.doubtful)

    def _withhold(self, text: str) -> str:
        excerpt = as_read(text)
        if len(excerpt) > _MAX_EXCERPT_CHARS:
            excerpt = excerpt[:_MAX_EXCERPT_CHARS] + "…"
        self.report.setdefault(f"{self.place}: {excerpt!r}")
        return WITHHELD


def _changes(text: str) -> int:
    return text.count(WITHHELD) + text.count(MARK)


def doubtful_in(document: Document) -> frozenset[Piece]:
    """What is doubtful by what stands around it: parts of an order that is cut in pieces, what
    follows an order in its line, and a language that the document doesn't otherwise use."""
    runs, following = [*_runs(document)], frozenset(_after_orders(document))
    times = Counter(chain.from_iterable(map(_cells, document.blocks)))
    code = {number for number, block in enumerate(document.blocks) if block.kind == "code"}
    # A command is in no language; a comment is.
    prose = ([p for p in run if p.block not in code or _COMMENT.match(p.text)] for run in runs)
    return frozenset(
        chain(
            following,
            chain.from_iterable(_cut_orders(following, times, run) for run in runs),
            *map(partial(_in_other_languages, _Languages.of(document)), prose),
        )
    )


def _runs(document: Document) -> Iterator[list[Piece]]:
    """Statements in reading order; then those of the columns of each table."""
    columns: list[list[Piece]] = []
    first = [*_pieces(_TITLE, [document.title])]
    for number, block in enumerate(document.blocks):
        rows = [[cell.text for cell in row] for row in block.table.rows] if block.table else []
        first += _pieces(number, dict.fromkeys(chain.from_iterable(rows)) if rows else [block.text])
        columns += [[*_pieces(number, column)] for column in zip(*rows, strict=True)]
    yield from (first, *columns)


def _pieces(block: int, texts: Iterable[str]) -> Iterator[Piece]:
    for text in map(as_read, chain.from_iterable(map(statements, texts))):
        if text:
            yield Piece(block, text)


def _cells(block: Block) -> Iterator[str]:
    """The statements of a table, those of a merged cell once."""
    rows = block.table.rows if block.table else ()
    for row, cells in enumerate(rows):
        for column, cell in enumerate(cells):
            if (cell.row, cell.column) == (row, column):
                yield from map(as_read, statements(cell.text))


def _cut_orders(
    following: frozenset[Piece], times: Counter[str], run: Sequence[Piece]
) -> Iterator[Piece]:
    """Neighbors that make an order only together, and the rest of a sentence that is one.

    `times`: how often a statement is in the document's cells. What is one word, such as `yes`, in
    several of them is a value."""
    suspect = [one in following or bool(addressing(one.text)) for one in run]
    for at in range(len(run) - 1):
        first, second = run[at : at + 2]
        if _ends(first.text):
            continue
        if suspect[at] != suspect[at + 1]:
            neighbor = second if suspect[at] else first
            is_value = times[neighbor.text] > 1 and " " not in neighbor.text
            if not (is_value or second.text[:2].istitle() or _differ(first.text, second.text)):
                yield from (first, second)
            continue
        for end in range(at + 2, min(at + _MAX_PARTS, len(run)) + 1):
            parts = [one.text for one in run[at:end]]
            whole = " ".join(parts)
            if _ends(parts[-2]) or any(suspect[at:end]) or len(whole) > _MAX_JOINED_CHARS:
                break
            if addressing(whole) and (parts[1][:1].islower() or opens_an_order(whole)):
                yield from run[at:end]
                break


def _differ(first: str, second: str) -> bool:
    """Whether they are in two scripts, and so not one sentence."""
    languages = language_of(first), language_of(second)
    return all(languages) and languages[0].isupper() != languages[1].isupper()


def _after_orders(document: Document) -> Iterator[Piece]:
    for number, block in enumerate(document.blocks):
        cells = chain.from_iterable(block.table.rows) if block.table else ()
        for text in (block.text, *(cell.text for cell in cells)):
            for line in text.split("\n"):
                opened = False
                for one, following in pairwise(statements(line)):
                    opened = opened or opens_an_order(as_read(one))
                    if opened:
                        yield Piece(number, as_read(following))


@dataclass(frozen=True)
class _Languages:
    """Languages of a document, by blocks and cells, and its words, by those that have them."""

    counts: Counter[str]
    words: Counter[str]
    unknown: tuple[str, ...]
    """Those whose language is not told."""

    @classmethod
    def of(cls, document: Document) -> _Languages:
        texts = [as_read(document.title)]
        for block in document.blocks:
            cells = [*_cells(block)] if block.table else [as_read(block.text)]
            texts += cells if block.kind != "code" else []
        texts = [*dict.fromkeys(texts)]
        words = (word.lower() for one in texts for word in {*prose_words(one)})
        languages = {one: language_of(one) for one in texts}
        unknown = tuple(one for one, language in languages.items() if not language)
        return cls(Counter(filter(None, languages.values())), Counter(words), unknown)

    @cached_property
    def _main(self) -> str:
        return next((one for one, _ in self.counts.most_common(1)), "")

    @cached_property
    def is_mixed(self) -> bool:
        """Whether other languages are the document's own, too."""
        unlike = (_is_like_none(one, self.words, is_cut=False) for one in self.unknown)
        strays = self.counts.total() - self.counts[self._main]
        return strays + (sum(unlike) if self._main == "English" else 0) >= _OWN

    def is_own(self, language: str) -> bool:
        return bool(language) and (language == self._main or self.counts[language] >= _OWN)

    def is_odd(self, statement: str, *, is_cut: bool) -> bool:
        """Whether it is in a language that the document doesn't otherwise use, and demands
        something or is a sentence."""
        is_demand = bool(_DEMANDS & {*acts_of(statement)})
        if is_cut and not is_demand:
            return False
        language = language_of(statement)
        if not language:
            is_among_english = is_demand and self._main == "English"
            return is_among_english and _is_like_none(statement, self.words, is_cut=is_cut)
        if self.is_own(language):
            return False
        # A few Latin letters may be taken for any language; other scripts are certain.
        is_sentence = len(statement) > _SHORT_CHARS or language.isupper()
        return is_demand or is_sentence


def _in_other_languages(languages: _Languages, run: Sequence[Piece]) -> Iterator[Piece]:
    """Such statements, whole or cut in pieces."""
    for at in () if languages.is_mixed else range(len(run)):
        for end in range(at + 1, min(at + _MAX_PARTS, len(run)) + 1):
            parts = [one.text for one in run[at:end]]
            last, is_cut = parts[-1], len(parts) > 1
            is_short = is_cut and len(last) <= _SHORT_CHARS
            if (languages.is_own(language_of(last)) and not is_short) or (
                is_cut and _ends(parts[-2])
            ):
                break
            if languages.is_odd(" ".join(parts), is_cut=is_cut):
                yield from run[at:end]


def _ends(statement: str) -> bool:
    return statement.endswith((*".!?…。！？",))


def _is_like_none(statement: str, used: Counter[str], *, is_cut: bool) -> bool:
    """Whether it has several words, no English function word, and few words that stand elsewhere.
    It has a letter that English lacks, or is one run of words and no list."""
    words = [word for word in prose_words(statement) if word.islower() and len(word) > 1]
    if len(words) < _FEW_WORDS or ENGLISH_WORDS.intersection(words):
        return False
    is_prose = len(words) > _FEW_WORDS + 1 and not is_cut and "," not in acts_of(statement)
    elsewhere = sum(used[word] > 1 for word in words)
    return 4 * elsewhere <= len(words) and (is_prose or not "".join(words).isascii())
