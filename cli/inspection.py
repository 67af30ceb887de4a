"""What an administrator looks at when an answer surprises: documents, chunks, generations."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal

from rich.markup import escape

from agents.answer import Answer
from config.errors import IndexUnavailable, UsageError
from enrichment.chunk import DocumentCard
from enrichment.standing import is_out_of_force, standing
from index.search import Snapshot
from index.store.sql_store import GenerationInfo
from loaders.google.drive.google_drive import AccessReport

if TYPE_CHECKING:
    from rich.console import RenderableType


def print_answer(answer: Answer) -> None:
    """The answer and its sources, as a reply in a thread would give them."""
    from rich.console import Console

    console = Console(highlight=False)
    console.print(answer_shown(answer))
    for other in answer.beside:
        console.print(f"[cyan]→[/] oncall ask {other.domain} …  [dim]{escape(other.title)}[/]")
    if answer.passages:
        return
    for option in answer.options:
        console.print(f"[cyan]→[/] {option}")
    if answer.nearest and not answer.citations:
        console.print("[bold]Nearest documents[/]")
    for citation in answer.citations or answer.nearest:
        number = f"[{citation.number}]" if answer.citations else "•"
        place = " › ".join(dict.fromkeys((citation.title, citation.heading)))
        console.print(f"[bold]{escape(number)}[/] {place} [dim]{citation.url}[/]")
    degraded = f", degraded: {', '.join(answer.degraded)}" if answer.degraded else ""
    console.print(f"[dim]{answer.path}, confidence {answer.confidence:.2f}{degraded}[/]")


def answer_shown(answer: Answer) -> RenderableType:
    """Its text; of passages, each under its title with its address."""
    from rich.console import Group
    from rich.markdown import Markdown
    from rich.padding import Padding
    from rich.text import Text

    if not answer.passages:
        return Markdown(answer.text)
    shown: list[RenderableType] = [Markdown(answer.lead)]
    for passage in answer.passages:
        where = passage.citation
        name = " › ".join(dict.fromkeys(filter(None, (where.title, where.heading))))
        changed = f" · {where.modified_at:%Y-%m-%d}" if where.modified_at else ""
        shown += [
            Text.assemble("\n", (name, "bold cyan"), (changed, "dim")),
            *([Text(where.url, style="blue")] if where.url else []),
            Padding(Markdown(passage.text), (0, 0, 0, 3)),
        ]
    return Group(*shown)


def print_retrieved(found: Mapping[str, Any]) -> None:
    """The response for a person at a terminal."""
    from rich.console import Console
    from rich.markdown import Markdown
    from rich.padding import Padding
    from rich.text import Text

    console = Console()
    for number, document in enumerate(found["documents"], start=1):
        place = " › ".join(
            filter(None, [document["title"], document["tab"], *document["headings"]])
        )
        console.print(Text.assemble((f"{number}. ", "bold"), (place, "bold cyan")))
        ranks = ", ".join(f"{name} {rank}" for name, rank in document["ranks"].items())
        about = f"similarity {document['similarity']:.2f} · {ranks}"
        console.print(Padding(Text(about, style="dim"), (0, 0, 0, 3)))
        console.print(Padding(Markdown(document["caption"]["highlights"]), (0, 0, 0, 3)))
        if document["url"]:
            console.print(Padding(Text(document["url"], style="blue"), (0, 0, 0, 3)))
    for facet, values in found["facets"].items():
        listed = ", ".join(f"{one['value']} ({one['count']})" for one in values)
        console.print(Text.assemble((f"{facet}: ", "bold"), listed))
    if not found["documents"]:
        console.print("Nothing found.")


def print_documents(snapshot: Snapshot) -> None:
    """The document list as the source identifier reads it."""
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold", show_lines=False)
    for name in ("id", "type", "modified", "chunks", "summary"):
        table.add_column(name, overflow="fold", justify="right" if name == "chunks" else "left")
    for card in sorted(snapshot.documents.values(), key=lambda card: card.id):
        successor = card.superseded_by and f"superseded by {card.superseded_by}"
        over = successor or (standing(card) if is_out_of_force(card) else "")
        table.add_row(
            f"{card.id}\n[yellow]{escape(over)}[/]" if over else card.id,
            card.document_type,
            f"{card.modified_at:%Y-%m-%d}" if card.modified_at else "",
            str(len(snapshot.chunks(card.id))),
            card.summary,
        )
    console = Console()
    console.print(table)
    console.print(f"[dim]{len(snapshot.documents)} documents, generation {snapshot.generation}[/]")


def print_document(snapshots: Mapping[str, Snapshot], document_id: str) -> None:
    """One document as the bot sees it: its card, then every chunk, tables drawn as tables.

    Raises UsageError that names the nearest id."""
    from rich.console import Console
    from rich.markdown import Markdown
    from rich.panel import Panel

    from config.domain_files import nearest

    holder = next((s for s in snapshots.values() if document_id in s.documents), None)
    if holder is None:
        known = sorted(id_ for snapshot in snapshots.values() for id_ in snapshot.documents)
        raise UsageError(f"no document {document_id!r}{nearest(document_id, known)}")
    console = Console()
    _print_card(holder.documents[document_id], console)
    for chunk in holder.chunks(document_id):
        place = " › ".join(part for part in (chunk.tab, *chunk.heading_path) if part)
        about: str = chunk.kind
        if chunk.table and chunk.table.total_rows > len(chunk.table.rows):
            last = chunk.table.first_row + len(chunk.table.rows)
            about += f", rows {chunk.table.first_row + 1}–{last} of {chunk.table.total_rows}"
        about += f", {chunk.tokens} tokens, {len(chunk.units)} units, {chunk.id[:12]}"
        console.print(
            Panel(
                Markdown(chunk.text),
                title=f"[bold]{chunk.position}[/] {place}",
                title_align="left",
                subtitle=f"[dim]{about}[/]",
                subtitle_align="right",
            )
        )


def _print_card(card: DocumentCard, console: Any) -> None:
    console.print(f"[bold]{card.title}[/] [dim]{card.url}[/]", highlight=False)
    facts = {
        "type": f"{card.document_type}, technical density {card.technical_density:.2f}",
        "owner": card.owner,
        "modified": f"{card.modified_at:%Y-%m-%d}" if card.modified_at else "",
        "status": card.status,
        "superseded by": card.superseded_by,
        "summary": card.summary,
        "keywords": ", ".join(card.keywords),
        "enriched by": card.enriched_by,
        "readers": _readers(card),
    }
    for name, value in facts.items():
        if value:
            console.print(f"[cyan]{name:>14}[/]  {value}", highlight=False)
    for faq in card.faqs:
        console.print(f"[cyan]{'question':>14}[/]  {faq.question} [dim]{faq.answer}[/]")


def _readers(card: DocumentCard) -> str:
    """As its source said when it was read; with `audience: asker` it is asked again."""
    if card.permissions:
        return ", ".join(f"{p.kind} {p.value}".strip() for p in card.permissions)
    return "as `access.files` says" if card.source == "file" else "nobody"


def print_generations(domain: str, generations: Iterable[GenerationInfo]) -> None:
    """Newest first; the one that answers is marked.

    Raises IndexUnavailable when there are none."""
    from rich.console import Console

    rows = list(generations)
    if not rows:
        raise IndexUnavailable(
            f"nothing has been published for {domain!r}", remedy=f"run `oncall ingest {domain}`"
        )
    for row in rows:
        mark = "[green]→[/]" if row.is_current else " "
        Console().print(
            f"{mark} {row.number:>4}  {row.created_at:%Y-%m-%d %H:%M} UTC  "
            f"{row.documents:>5} documents  {row.chunks:>6} chunks",
            highlight=False,
        )


def print_access(
    domain: str, audience: Literal["channel", "asker"], reports: Iterable[AccessReport]
) -> bool:
    """What the service account can read, folder by folder; False when something is in the way.

    `audience`: the domain's own."""
    from rich.console import Console

    console = Console(highlight=False)
    fine = True
    for report in reports:
        mark = "[red]no[/]" if report.in_the_way(audience) else "[green]ok[/]"
        counts = ", ".join(f"{count} {kind}" for kind, count in report.documents.items())
        name = report.name or "(not visible)"
        console.print(f"{mark} {domain}: {report.kind} {name} [dim]{report.id}[/] {counts}")
        if report.unsupported:
            others = ", ".join(f"{count} {kind}" for kind, count in report.unsupported.items())
            console.print(f"   [yellow]not read[/] {others}")
        if report.in_the_way(audience):
            fine = False
            console.print(f"   {report.problem}; {report.remedy}")
    return fine
