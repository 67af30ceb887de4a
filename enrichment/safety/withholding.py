"""Replaces planted text in documents, reports its places, and marks what is doubtful because of
what stands around it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, pairwise

from enrichment.language.foreign_words import language_of
from enrichment.language.words import STOP_WORDS, prose_words
from enrichment.safety.acts import acts_of, as_read
from enrichment.safety.injection import (
    addressing,
    marked,
    opens_an_order,
    rewrite,
    statements,
    unquoted,
)
from loaders.document import Block, Cell, Document, Image, Tab, Table

WITHHELD = "(withheld: addressed to an AI, not to people)"
"""Replaces the text in the document, so that readers see that something is missing."""
_MAX_EXCERPT_CHARS = 120
"""Characters of a withheld text in a report."""
_MAX_PARTS = 4
"""Neighboring pieces that are read together: an order may be cut in as many."""
_MAX_JOINED_CHARS = 400
_FEW_WORDS = 4
_DEMANDS = frozenset("XxRSBVMQC")
"""Acts without which a sentence in another language is only a translation."""
_OWN_LANGUAGE = 8
"""Statements that make a language one of the document's own; fewer if they are half as many as of
its main language."""


def without_planted(document: Document) -> tuple[Document, tuple[str, ...]]:
    """The document with every planted statement replaced by `WITHHELD`, and `place: beginning` of
    each. Doubtful statements are marked; doubtful titles, headings and captions are replaced."""
    report: dict[str, None] = {}

    def note(place: str, before: str, after: str) -> None:
        if WITHHELD in after and after != before:
            report.setdefault(f"{place}: {_beginning(before, after)!r}")

    clean = _Cleaner(doubtful_in(document))
    title = clean.label(document.title)
    note("title", document.title, title)
    blocks: list[Block] = []
    for block in document.blocks:
        cleaned = clean.block(block)
        place = f"under {cleaned.heading_path[-1]!r}" if cleaned.heading_path else "at the top"
        for before, after in zip(_texts(block), _texts(cleaned), strict=True):
            note(place, before, after)
        blocks.append(cleaned)
    cleaned_document = replace(
        document,
        title=title,
        owner=clean.label(document.owner),
        status=clean.label(document.status),
        blocks=tuple(blocks),
        tabs=tuple(map(clean.tab, document.tabs)),
    )
    return cleaned_document, tuple(report)


def clean_text(text: str) -> str:
    """The text with planted statements replaced by `WITHHELD`; unchanged without any."""
    return _Cleaner(frozenset()).text(text)


@dataclass(frozen=True)
class _Cleaner:
    doubtful: frozenset[str]
    """Statements as read."""

    def text(self, text: str) -> str:
        return rewrite(text, self._statement)

    def _statement(self, statement: str) -> str:
        if addressing(statement) == "planted":
            return WITHHELD
        return marked(statement) if as_read(statement) in self.doubtful else statement

    def label(self, text: str) -> str:
        """A title, heading or caption. It is shown beside every answer and states nothing, so what
        is only suspect goes too, unless it quotes."""
        return WITHHELD if any(map(self._orders, statements(text))) else text

    def _orders(self, part: str) -> bool:
        if addressing(part) == "planted" or addressing(unquoted(part)):
            return True
        return as_read(part) in self.doubtful and bool(_DEMANDS & {*acts_of(as_read(part))})

    def block(self, block: Block) -> Block:
        change = self.label if block.kind in ("heading", "image") else self.text
        text, markdown = change(block.text), change(block.markdown)
        if (text == block.text) != (markdown == block.markdown):
            markdown = text = text if text != block.text else WITHHELD
        return replace(
            block,
            text=text,
            markdown=markdown,
            heading_path=tuple(map(self.label, block.heading_path)),
            tab=block.tab and self.tab(block.tab),
            table=block.table and self._table(block.table),
            image=block.image and self._image(block.image),
        )

    def tab(self, tab: Tab) -> Tab:
        return replace(tab, title=self.label(tab.title), path=tuple(map(self.label, tab.path)))

    def _table(self, table: Table) -> Table:
        return replace(table, rows=tuple(tuple(map(self._cell, row)) for row in table.rows))

    def _cell(self, cell: Cell) -> Cell:
        text, markdown = self.text(cell.text), self.text(cell.markdown)
        if (text == cell.text) != (markdown == cell.markdown):
            text = text if text != cell.text else WITHHELD
            markdown = text.replace("\n", "<br>")
        return replace(
            cell,
            text=text,
            markdown=markdown,
            tables=tuple(map(self._table, cell.tables)),
            images=tuple(map(self._image, cell.images)),
        )

    def _image(self, image: Image) -> Image:
        return replace(
            image,
            alt=self.label(image.alt),
            title=self.label(image.title),
            description=self.text(image.description),
        )


def doubtful_in(document: Document) -> frozenset[str]:
    """Statements, as read, that are doubtful by what stands around them: parts of an order that is
    cut in pieces, what follows an order in its line, and a language that the document doesn't
    otherwise use."""
    runs = [*_runs(document)]
    return frozenset(
        chain(
            chain.from_iterable(map(_cut_orders, runs)),
            _after_orders(document),
            _in_other_languages(runs[0]),
        )
    )


def _runs(document: Document) -> Iterator[list[str]]:
    """Statements as read, in reading order; then of the columns of each table."""
    columns: list[list[str]] = []
    first = [document.title]
    for block in document.blocks:
        rows = [[cell.text for cell in row] for row in block.table.rows] if block.table else []
        texts = (*dict.fromkeys(chain.from_iterable(rows)),) if rows else (block.text,)
        first += chain.from_iterable(map(statements, texts))
        columns += [[*chain.from_iterable(map(statements, one))] for one in zip(*rows, strict=True)]
    for run in (first, *columns):
        yield [*filter(None, map(as_read, run))]


def _cut_orders(run: Sequence[str]) -> Iterator[str]:
    """Neighbors that make an order only together, and the rest of a sentence that is one."""
    suspect = [bool(addressing(one)) for one in run]
    for at in range(len(run) - 1):
        if _ends(run[at]):
            continue
        if suspect[at] != suspect[at + 1]:
            if not run[at + 1][:2].istitle():
                yield from run[at : at + 2]
            continue
        for end in range(at + 2, min(at + _MAX_PARTS, len(run)) + 1):
            parts = run[at:end]
            whole = " ".join(parts)
            if _ends(parts[-2]) or any(suspect[at:end]) or len(whole) > _MAX_JOINED_CHARS:
                break
            if addressing(whole) and (parts[1][:1].islower() or opens_an_order(whole)):
                yield from parts
                break


def _after_orders(document: Document) -> Iterator[str]:
    for block in document.blocks:
        cells = chain.from_iterable(block.table.rows) if block.table else ()
        for text in (block.text, *(cell.text for cell in cells)):
            for line in text.split("\n"):
                opened = False
                for one, following in pairwise(statements(line)):
                    opened = opened or opens_an_order(as_read(one))
                    if opened:
                        yield as_read(following)


def _in_other_languages(run: Sequence[str]) -> Iterator[str]:
    """Demands in a language that the document doesn't otherwise use, also when cut in pieces."""
    languages = [language_of(one) for one in run]
    counts = Counter(filter(None, languages))
    if not counts:
        return
    (main, most), *_ = counts.most_common(1)
    enough = min(_OWN_LANGUAGE, most / 2)
    used = Counter(word.lower() for one in run for word in {*prose_words(one)})
    for at in range(len(run)):
        for end in range(at + 1, min(at + _MAX_PARTS, len(run)) + 1):
            if counts[languages[end - 1]] >= enough or (end > at + 1 and _ends(run[end - 2])):
                break
            whole = " ".join(run[at:end])
            if not _DEMANDS & {*acts_of(whole)}:
                continue
            language = language_of(whole)
            if (
                counts[language] < enough
                if language
                else main == "English" and _is_like_none(whole, used)
            ):
                yield from run[at:end]


def _ends(statement: str) -> bool:
    return statement.endswith((*".!?…。！？",))


def _is_like_none(statement: str, used: Counter[str]) -> bool:
    """Whether it has several words, no English function word, a letter that English lacks, and few
    words that stand elsewhere."""
    words = [word.lower() for word in prose_words(statement) if word[1:].islower()]
    elsewhere = sum(used[word] > 1 for word in words)
    return (
        len(words) >= _FEW_WORDS
        and not STOP_WORDS.intersection(words)
        and not "".join(words).isascii()
        and 4 * elsewhere <= len(words)
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
