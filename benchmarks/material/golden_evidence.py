"""What a golden question needs to see, and whether a few passages show it."""

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import yaml

from loaders.document import Document, Table
from loaders.tables.headers import distinct_columns, header_paths


@dataclass(frozen=True)
class Passage:
    """A piece of context as the answerer would read it."""

    document: str
    text: str


@dataclass(frozen=True)
class Need:
    """One quote of a document; for a table cell also its column's header and its row's label."""

    document: str
    quote: str
    beside: tuple[tuple[str, ...], ...] = ()
    """Alternatives (a quote can stand in several cells), each a set of words wanted as well."""

    def met_by(self, passage: str) -> bool:
        # Arabic joins `and` to the next word: there a quote may begin inside one.
        if (self.quote if self.quote.isascii() else self.quote.strip()) not in passage:
            return False
        return not self.beside or any(all(each in passage for each in way) for way in self.beside)


@dataclass(frozen=True)
class GoldenQuestion:
    id: str
    kind: str
    text: str
    """With the previous user turn in front when it is a follow-up."""
    last: str
    """The question alone."""
    needs: tuple[Need, ...]

    def answered_by(self, passages: Sequence[Passage]) -> bool:
        """Whether every need is met inside a single passage of the right document."""
        read = [(passage.document, words(passage.text)) for passage in passages]
        return all(
            any(document == need.document and need.met_by(text) for document, text in read)
            for need in self.needs
        )


def words(text: str) -> str:
    """Words only, between single spaces: markup, punctuation and white space don't matter."""
    text = re.sub(r"</?[a-z][^<>]*>", " ", html.unescape(text), flags=re.I)
    text = re.sub(r"\]\([^()\s]*\)|\[\^\w+\]", " ", text)
    found = re.findall(r"[^\W_]+", text.lower())
    return f" {' '.join(found)} "


def golden_questions(path: Path, documents: dict[str, Document]) -> list[GoldenQuestion]:
    """Those with evidence; the unanswerable have none."""
    entries = yaml.safe_load(path.read_text("utf-8"))
    return [_question(entry, documents) for entry in entries if entry["evidence"]]


def _question(entry: dict, documents: dict[str, Document]) -> GoldenQuestion:  # type: ignore[type-arg]  # YAML
    said = [turn["content"] for turn in entry["history"] if turn["role"] == "user"]
    is_table = entry["kind"] == "table"
    return GoldenQuestion(
        id=entry["id"],
        kind=entry["kind"],
        text="\n".join([*said[-1:], entry["question"]]),
        last=entry["question"],
        needs=tuple(
            Need(
                item["document"],
                words(_without_links(item["quote"])),
                _beside(documents[item["document"]], item) if is_table else (),
            )
            for item in entry["evidence"]
        ),
    )


def _without_links(quote: str) -> str:
    return re.sub(r"\]\([^()\s]*\)", " ", quote)


def _beside(document: Document, item: dict[str, str]) -> tuple[tuple[str, ...], ...]:
    quote = words(_without_links(item["quote"]))
    ways: list[tuple[str, ...]] = []
    for block in document.blocks:
        if block.table and block.heading_path[-1:] == (item["heading"],):
            ways += _cells_with(block.table, quote)
    return tuple(dict.fromkeys(ways))


def _cells_with(table: Table, quote: str) -> list[tuple[str, ...]]:
    names = header_paths(table)
    found: list[tuple[str, ...]] = []
    body = table.rows[table.header_rows :]
    label_columns = max(1, distinct_columns([tuple(cell.text for cell in row) for row in body]))
    for row in body:
        label = [words(cell.text) for cell in row[:label_columns]]
        cells = [column for column, cell in enumerate(row) if quote in words(cell.text)]
        if cells:
            found += [_wanted([names[column]], label) for column in cells]
        elif quote in words(" ".join(_own_texts(row))) or quote in words(
            " ".join(cell.text for cell in row)
        ):
            found.append(_wanted(names, label))
    return found


def _own_texts(row: Sequence) -> list[str]:  # type: ignore[type-arg]  # cells
    seen: list[str] = []
    for cell in row:
        if not seen or cell.text != seen[-1]:
            seen.append(cell.text)
    return seen


def _wanted(names: Sequence[str], label: Sequence[str]) -> tuple[str, ...]:
    levels = [words(level) for name in names for level in name.split(" › ")]
    return tuple(text for text in (*levels, *label) if text.strip())
