"""Imports golden questions from a spreadsheet export: UTF-8, UTF-16 or Windows-1252, delimited by
tab, semicolon or comma."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, get_args

import yaml
from pydantic import ValidationError

from jobs.golden.questions import Evidence, GoldenQuestion, Kind, Unanswerable

_DELIMITERS = "\t;,"


def decoded(data: bytes) -> str:
    """Decode UTF-8 with or without BOM, UTF-16 with BOM, else Windows-1252."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return data.decode("utf-16", errors="replace")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return data.decode("cp1252", errors="replace")


def table_rows(text: str) -> Iterator[tuple[int, list[str]]]:
    """Yield each row as (line number of its first line, from 1; cells)."""
    first = next((line for line in text.splitlines() if line.strip()), "")
    delimiter = max(_DELIMITERS, key=first.count)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    line = 1
    for row in reader:
        yield line, row
        line = reader.line_num + 1


_COLUMNS: Mapping[str, tuple[str, ...]] = {
    "id": ("id", "number", "no", "nr"),
    "kind": ("kind", "type", "question type"),
    "question": ("question", "query", "prompt", "user question"),
    "reference": (
        "reference", "answer", "expected answer", "golden answer", "ground truth", "ideal answer",
        "sme answer", "response",
    ),
    "must_include": ("must include", "facts", "key facts", "must have"),
    "rubric": ("rubric", "criteria", "points"),
    "document": ("document", "document id", "doc", "source", "link", "url", "source document"),
    "heading": ("heading", "section"),
    "quote": ("quote", "evidence", "passage", "context", "excerpt"),
    "instructions": ("instructions", "notes", "note", "comment", "comments", "judge notes"),
    "tags": ("tags", "tag", "labels", "topic"),
    "category": ("category", "why unanswerable"),
}  # fmt: skip
"""Field → accepted column names, case-insensitive."""
_LISTS = ("must_include", "rubric", "tags")
_GOOGLE_DOCUMENT = re.compile(r"https://(?:docs|drive)\.google\.com/\S*?/d/([A-Za-z0-9_-]+)")
_FORMULA_ERROR = re.compile(r"#(?:REF|N/A|VALUE|NAME|ERROR|DIV/0)[!?]?")


@dataclass(kw_only=True)
class ImportedTable:
    questions: list[GoldenQuestion] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    """`row 7, column kind: …`; these rows are skipped."""
    ignored: list[str] = field(default_factory=list)
    """Columns that match no field."""


def read_table(text: str, *, domain: str = "") -> ImportedTable:
    """Read a header row, then one question per row; empty rows are skipped.

    `domain`: prefix of the ids of questions without an id."""
    table = ImportedTable()
    rows = table_rows(text)
    header = next(((place, row) for place, row in rows if any(map(str.strip, row))), None)
    if header is None:
        table.problems.append("row 1: nothing in it; the first row names the columns")
        return table
    columns = _columns(header[1], table)
    if "question" not in columns:
        named = ", ".join(cell.strip() for cell in header[1] if cell.strip())
        table.problems.append(f"row {header[0]}: no column is called `question`; there are {named}")
        return table
    row_of_id: dict[str, int] = {}
    for place, row in rows:
        cells = {
            name: row[column].strip() if column < len(row) else ""
            for name, column in columns.items()
        }
        if not any(cells.values()):
            continue
        problems = [*_broken(cells, row, header[1])]
        entry = _entry(cells, domain, place)
        try:
            question = GoldenQuestion.model_validate(entry)
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            column = str(first["loc"][0]) if first["loc"] else "question"
            problems.append(f"column {column}: {first['msg']}")
        else:
            if question.id in row_of_id:
                problems.append(
                    f"column id: {question.id!r} is taken by row {row_of_id[question.id]}"
                )
            elif not problems:
                row_of_id[question.id] = place
                table.questions.append(question)
        table.problems += [f"row {place}, {problem}" for problem in problems]
    return table


def to_golden_yaml(questions: Sequence[GoldenQuestion]) -> str:
    """Render a golden file. Fields with default values are omitted."""
    entries = []
    for one in questions:
        fields = one.model_dump(mode="json", exclude_defaults=True)
        entries.append({"id": one.id, "kind": one.kind, "question": one.question, **fields})
    return str(yaml.safe_dump(entries, sort_keys=False, allow_unicode=True, width=100))


def _columns(header: Sequence[str], table: ImportedTable) -> dict[str, int]:
    """Field → column index. The first of two columns for the same field counts."""
    columns: dict[str, int] = {}
    for place, cell in enumerate(header):
        called = " ".join(re.findall(r"\w+", cell.casefold().replace("_", " ")))
        name = next((name for name, ways in _COLUMNS.items() if called in ways), None)
        if name is None or name in columns:
            if called:
                table.ignored.append(cell.strip())
            continue
        columns[name] = place
    return columns


def _broken(cells: Mapping[str, str], row: Sequence[str], header: Sequence[str]) -> Iterator[str]:
    if not cells["question"]:
        yield "column question: blank"
    for name, cell in cells.items():
        if _FORMULA_ERROR.fullmatch(cell):
            yield f"column {name}: {cell}, a formula that failed"
    if any(map(str.strip, row[len(header) :])):
        yield f"{len(row)} cells under {len(header)} columns; is a quotation mark missing?"


def _entry(cells: Mapping[str, str], domain: str, place: int) -> dict[str, Any]:
    """The row as an entry of a golden file.

    A row without a kind becomes `proposed`: an expert decides whether it is answerable."""
    entry: dict[str, Any] = {
        "id": cells.get("id") or f"{domain or 'imported'}-{place:03d}",
        "kind": _chosen(cells.get("kind", ""), get_args(Kind)) or "proposed",
        "question": cells["question"],
    }
    for name in ("reference", "instructions"):
        if cells.get(name):
            entry[name] = cells[name]
    for name in _LISTS:
        if items := _items(cells.get(name, "")):
            entry[name] = items
    if category := _chosen(cells.get("category", ""), get_args(Unanswerable)):
        entry["category"] = category
    if evidence := list(_evidence(cells)):
        entry["evidence"] = [one.model_dump() for one in evidence]
    return entry


def _chosen(cell: str, choices: Sequence[str]) -> str:
    """Normalize a choice: `Multi-hop` becomes `multi_hop`. Other values pass through unchanged, and
    validation rejects them."""
    same = "_".join(re.findall(r"\w+", cell.casefold()))
    return same if same in choices else cell


def _items(cell: str) -> list[str]:
    parts = re.split(r"[\n;]", cell)
    return [part.strip(" \t•*-") for part in parts if part.strip(" \t•*-")]


def _evidence(cells: Mapping[str, str]) -> Iterator[Evidence]:
    """Yield one quote per line of its cell, from the document on the same line or the last one."""
    documents = [_document(one) for one in _items(cells.get("document", ""))]
    headings = _items(cells.get("heading", ""))
    for place, quote in enumerate(filter(None, map(str.strip, cells.get("quote", "").split("\n")))):
        if documents:
            yield Evidence(
                document=documents[min(place, len(documents) - 1)],
                heading=headings[min(place, len(headings) - 1)] if headings else "",
                quote=quote,
            )


def _document(cell: str) -> str:
    """Replace a link to a Google document with the document's id."""
    link = _GOOGLE_DOCUMENT.match(cell)
    return link[1] if link else cell
