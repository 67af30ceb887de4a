"""Finds rows of alert tables that a lookup can't read, or can't tell apart."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

import typer

from agents.runbooks.entries import RunbookCell, RunbookEntry, role_of
from agents.runbooks.lookup import RunbookDocument
from agents.runbooks.scopes import has_amounts
from cli.output.terminal import visible
from config.domain import Domain
from config.errors import LoadError
from config.settings import Settings
from enrichment.chunking.chunker import split
from enrichment.extractive.cards import extractive_card
from enrichment.names import NamePlace, is_telling, name_key
from loaders.document import MAX_BYTES
from loaders.files.local import find_files, load_file
from loaders.files.names import name_files, places_of
from loaders.untrusted import ReadRefused, read_file


@dataclass(frozen=True, kw_only=True)
class RowFinding:
    document: str
    """Id."""
    place: str
    """`Title › Heading` of the table."""
    row: str
    """The row's name, as written."""
    column: str
    """'' where the whole row is meant."""
    cell: str
    problem: str
    remedy: str

    def __str__(self) -> str:
        where = ", ".join(filter(None, (self.row, self.column)))
        cell = f"“{self.cell}” " if self.cell else ""
        return f"{where}: {cell}{self.problem}; {self.remedy}"


def has_alert_table(markdown: str) -> bool:
    """Whether a line has columns of alerts and of first steps; quick, for many files."""
    lines = (line.split("|") for line in markdown.splitlines() if line.count("|") > 1)
    return any({"name", "step"} <= set(map(role_of, cells)) for cells in lines)


def lint_rows(documents: Iterable[RunbookDocument]) -> list[RowFinding]:
    """In order of the documents. Rows below different headings are not compared: an alert's label
    that is in one of the headings chooses between them."""
    findings: list[RowFinding] = []
    for document in documents:
        alike = defaultdict[object, list[RunbookEntry]](list)
        rows = defaultdict[object, list[tuple[NamePlace, RunbookEntry]]](list)
        for place, entry in document.alert_rows():
            if not entry.retired:
                rows[entry.chunk.id, entry.quote].append((place, entry))
        for places in rows.values():
            row = max(places, key=lambda one: len(one[0].text))[1]  # named by its whole cell
            findings += _of_row(row, [place.text for place, _ in places])
            keys = [(row.place, name_key(one.text), *_deciding(entry)) for one, entry in places]
            rivals = [one for key in keys for one in alike[key] if _step(one) != _step(row)]
            if rivals and _step(row):
                problem = "another row of this name is for the same alerts"
                remedy = "say in a column, such as Region, for which alerts each row is"
                findings.append(_finding(row, problem, remedy))
            for key in keys if _step(row) else ():
                alike[key].append(row)
    return findings


def _of_row(row: RunbookEntry, names: Sequence[str]) -> Iterator[RowFinding]:
    for cell in row.cells:
        if cell.role == "scope" and cell.label and cell.scope is None:
            amounts = "an amount (`> 90%`, `5–15 min`) or numbered names (`fe01–fe08`)"
            values = "values (`EU, US`), `all except DE` or `all others`"
            remedy = amounts if re.search(r"\d", cell.text) else values
            problem = "can't be read, so it neither confirms nor excludes the row"
            yield _finding(row, problem, f"write {remedy}, and explain it in another column", cell)
    steps = [cell for cell in row.cells if cell.role == "step"]
    if steps and not (_step(row) or row.links):
        yield _finding(row, "is empty", "write the first thing to do, or a link to it", steps[0])
    if not any(map(is_telling, names)):
        problem = "one plain word is found only where it is all that the alert is called"
        yield _finding(row, problem, "write the name as the monitoring system sends it")


def _deciding(row: RunbookEntry) -> Iterator[tuple[object, ...]]:
    """What tells rows of one name apart, by label: no cell for every alert, and no prose."""
    for cell in row.cells:
        scope = [one for one in cell.scope or () if one.holds_for != "all" or one.but]
        if cell.role == "meaning" and not has_amounts(cell.scope):
            scope = []
        unread = cell.text if cell.role == "scope" and cell.scope is None else ""
        if unread or (scope and cell.role in {"scope", "severity", "owner", "meaning", ""}):
            yield cell.label, unread, *scope


def _step(row: RunbookEntry) -> str:
    return row.first("step").casefold().rstrip(".")


def _finding(
    row: RunbookEntry, problem: str, remedy: str, cell: RunbookCell | None = None
) -> RowFinding:
    return RowFinding(
        document=row.chunk.document_id, place=row.place, row=row.name, problem=problem,
        remedy=remedy, column=cell.label if cell else "", cell=cell.text if cell else "",
    )  # fmt: skip


def unclear_rows(domain: Domain, settings: Settings) -> Iterator[str]:
    """The findings in a domain's Markdown files, which need no index for that."""
    folder, allowed = domain.path.absolute().parent, settings.document_folders()
    entries = [find_files([one.path], folder, allowed) for one in domain.sources.files]
    documents: list[RunbookDocument] = []
    for name, place in name_files(one for entry in entries for one in places_of(entry)).items():
        if place.path.suffix.lower() not in {".md", ".markdown", ".mdx"}:
            continue
        with suppress(LoadError, ReadRefused):  # the ingestion reports it
            data, _ = read_file(place.path, max_bytes=MAX_BYTES)
            if has_alert_table(data.decode(errors="replace")):
                document = replace(load_file(place.path), id=name)
                chunks = split(document, count_tokens=lambda text: len(text.split()))
                documents.append(RunbookDocument(chunks, extractive_card(document)))
    for one in lint_rows(documents):
        yield f"{one.document}: {one}"


def print_row_findings(findings: Mapping[str, Sequence[RowFinding]]) -> None:
    """Print each document's findings below its id. `findings`: by domain."""
    for domain, rows in findings.items():
        for number, one in enumerate(rows):
            if number == 0 or one.document != rows[number - 1].document:
                title = one.place.partition(" › ")[0]
                identifier = typer.style(visible(one.document), fg="cyan", bold=True)
                typer.echo(f"{identifier}  {visible(title)} · {domain}")
            typer.echo(f"   {visible(str(one))}")
    if not any(findings.values()):
        typer.echo("Every row of the alert tables can be read.")
