"""Documents, chunks and generations for an administrator who checks an answer."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal

import typer

from cli.output.terminal import print_markdown
from config.errors import IndexUnavailable, UsageError
from enrichment.chunk import DocumentCard, is_out_of_force, standing
from enrichment.references import find_document, paths_of, suggest_document
from index.search import Snapshot
from index.store.documents import GenerationInfo
from loaders.google.drive.access import AccessReport
from loaders.registry import kind_of


def print_retrieved(response: Mapping[str, Any]) -> None:
    """Print the response as readable text."""
    for notice in response.get("notices", ()):
        typer.secho(notice, fg="yellow")
    for number, document in enumerate(response["documents"], start=1):
        headings = filter(None, [document["title"], document["tab"], *document["headings"]])
        place = " › ".join(headings)
        typer.echo(f"{typer.style(f'{number}.', bold=True)} {typer.style(place, fg='cyan')}")
        ranks = ", ".join(f"{name} {rank}" for name, rank in document["ranks"].items())
        about = f"similarity {document['similarity']:.2f} · {ranks}"
        typer.echo(f"   {typer.style(about, dim=True)}")
        print_markdown(document["caption"]["highlights"], margin=3)
        if document["url"]:
            typer.echo(f"   {typer.style(document['url'], fg='blue')}")
    for facet, values in response["facets"].items():
        listed = ", ".join(f"{one['value']} ({one['count']})" for one in values)
        typer.echo(f"{typer.style(facet, bold=True)}: {listed}")
    if not response["documents"]:
        typer.echo("Nothing found.")


def print_documents(snapshot: Snapshot) -> None:
    """Print the document list that the source identifier reads."""
    for card in sorted(snapshot.documents.values(), key=lambda card: card.id):
        successor = card.superseded_by and f"superseded by {card.superseded_by}"
        over = successor or (standing(card) if is_out_of_force(card) else "")
        changed = f"{card.modified_at:%Y-%m-%d}" if card.modified_at else ""
        chunks = f"{len(snapshot.chunks(card.id))} chunks"
        about = " · ".join(filter(None, (card.document_type, changed, chunks)))
        note = f"  {typer.style(over, fg='yellow')}" if over else ""
        typer.echo(f"{typer.style(card.id, fg='cyan', bold=True)}  {about}{note}")
        typer.echo(f"   {card.summary}")
    count = f"{len(snapshot.documents)} documents, generation {snapshot.generation}"
    typer.echo(typer.style(count, dim=True))


def print_document(snapshots: Mapping[str, Snapshot], document_id: str) -> None:
    """Print a document as the bot sees it: its card, then every chunk, with tables drawn.

    Raises a UsageError that names the nearest id, or ConfigError for a name of several documents.
    """

    paths = {
        one: path
        for snapshot in snapshots.values()
        for one, path in paths_of(snapshot.documents.values()).items()
    }
    named, document_id = document_id, find_document(document_id, paths)
    holder = next((s for s in snapshots.values() if document_id in s.documents), None)
    if holder is None:
        raise UsageError(f"no document {named!r}{suggest_document(named, paths)}")
    _print_card(holder.documents[document_id])
    for chunk in holder.chunks(document_id):
        place = " › ".join(part for part in (chunk.tab, *chunk.heading_path) if part)
        about: str = chunk.kind
        if chunk.table and chunk.table.total_rows > len(chunk.table.rows):
            last = chunk.table.first_row + len(chunk.table.rows)
            about += f", rows {chunk.table.first_row + 1}–{last} of {chunk.table.total_rows}"
        about += f", {chunk.tokens} tokens, {len(chunk.units)} units, {chunk.id[:12]}"
        heading = typer.style(f"{chunk.position}  {place}", fg="cyan", bold=True)
        typer.echo(f"\n{heading}\n   {typer.style(about, dim=True)}")
        print_markdown(chunk.text, margin=3)


def _print_card(card: DocumentCard) -> None:
    typer.echo(f"{typer.style(card.title, bold=True)} {typer.style(card.url, fg='blue')}")
    facts = {
        "type": f"{card.document_type}, technical density {card.technical_density:.2f}",
        "owner": card.owner,
        "modified": f"{card.modified_at:%Y-%m-%d}" if card.modified_at else "",
        "review by": f"{card.review_by}" if card.review_by else "",
        "status": card.status,
        "superseded by": card.superseded_by,
        "summary": card.summary,
        "keywords": ", ".join(card.keywords),
        "enriched by": card.enriched_by,
        "readers": _readers(card),
    }
    for name, value in facts.items():
        if value:
            typer.echo(f"{typer.style(f'{name:>14}', fg='cyan')}  {value}")
    for faq in card.faqs:
        name = typer.style(f"{'question':>14}", fg="cyan")
        typer.echo(f"{name}  {faq.question} {typer.style(faq.answer, dim=True)}")


def _readers(card: DocumentCard) -> str:
    """Permissions at load time; with `audience: asker` they are checked again for each question."""
    if card.permissions:
        return ", ".join(f"{p.kind} {p.value}".strip() for p in card.permissions)
    kind = kind_of(card.source)
    return "nobody" if kind is None or kind.asks_readers else f"as {kind.told_readers} says"


def print_generations(domain: str, generations: Iterable[GenerationInfo]) -> None:
    """Print generations, newest first; the current one is marked.

    Raises IndexUnavailable if there are none."""
    rows = list(generations)
    if not rows:
        raise IndexUnavailable(
            f"nothing has been published for {domain!r}", remedy=f"run `oncall ingest {domain}`"
        )
    for row in rows:
        mark = typer.style("→", fg="green") if row.is_current else " "
        typer.echo(
            f"{mark} {row.number:>4}  {row.created_at:%Y-%m-%d %H:%M} UTC  "
            f"{row.documents:>5} documents  {row.chunks:>6} chunks"
        )


def print_access(
    domain: str, audience: Literal["channel", "asker"], reports: Iterable[AccessReport]
) -> bool:
    """Print what the service account can read, per folder. Returns False if access is blocked.

    `audience`: that of the domain."""
    fine = True
    for report in reports:
        bad = report.in_the_way(audience)
        mark = typer.style("no", fg="red") if bad else typer.style("ok", fg="green")
        counts = ", ".join(f"{count} {kind}" for kind, count in report.documents.items())
        name = f"{report.name or '(not visible)'} {typer.style(report.id, dim=True)}"
        typer.echo(f"{mark} {domain}: {report.kind} {name} {counts}".rstrip())
        if report.unsupported:
            others = ", ".join(f"{count} {kind}" for kind, count in report.unsupported.items())
            typer.echo(f"   {typer.style('not read', fg='yellow')} {others}")
        if bad:
            fine = False
            typer.echo(f"   {report.problem}; {report.remedy}")
    return fine
