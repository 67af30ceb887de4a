"""Published generations, their documents, and access to Google Drive."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from cli.options import AsJson, DomainName, DomainNames, print_json, wired

if TYPE_CHECKING:
    from agents.freshness.stale_documents import StaleDocument

app = typer.Typer()
index_app = typer.Typer(no_args_is_help=True, help="Published generations.")
docs_app = typer.Typer(no_args_is_help=True, help="Documents as the bot sees them.")
google_app = typer.Typer(no_args_is_help=True, help="Access to Google Drive.")
app.add_typer(index_app, name="index")
app.add_typer(docs_app, name="docs")
app.add_typer(google_app, name="google")


@index_app.command("list")
def index_list(domain: DomainName) -> None:
    """List a domain's generations, newest first."""
    from cli.output.inspection import print_generations

    copilot = wired()
    print_generations(domain, copilot.index.generations(copilot.domain(domain).domain))


@index_app.command("rollback")
def index_rollback(domain: DomainName) -> None:
    """Answer from the generation before the current one."""
    copilot = wired()
    info = copilot.index.rollback(copilot.domain(domain).domain)
    typer.echo(f"{domain} answers from generation {info.number} now")


@docs_app.command("list")
def docs_list(domain: DomainName) -> None:
    """List a domain's documents with their summaries."""
    from cli.output.inspection import print_documents

    copilot = wired()
    print_documents(copilot.index.snapshot(copilot.domain(domain).domain))


@docs_app.command("show")
def docs_show(document: Annotated[str, typer.Argument(metavar="ID")]) -> None:
    """Show a document's card and chunks as the bot sees them."""
    from cli.output.inspection import print_document

    print_document(wired().published(), document)


@docs_app.command("stale")
def docs_stale(domain: DomainName, as_json: AsJson = False) -> None:
    """List documents to look over, most pressing first.

    They are past the review date that they state, or old and often cited."""
    from agents.freshness.stale_documents import stale_documents
    from bot.features.freshness.citation_store import CitationCountStore, today_utc
    from bot.features.freshness.store import create_tables

    copilot = wired()
    settings = copilot.domain(domain)
    snapshot, engine = copilot.index.snapshot(settings.domain), copilot.index.engine
    create_tables(engine)
    counts = CitationCountStore(engine=engine)
    stale = stale_documents(
        snapshot.documents.values(),
        counts.totals(settings.domain, today_utc()),
        review_months=settings.aging.review_months,
    )
    if as_json:
        print_json([{**asdict(one), "why": one.reason()} for one in stale])
    else:
        print_stale(stale, settings.aging.review_months)


@docs_app.command("lint")
def docs_lint(names: DomainNames = None, as_json: AsJson = False) -> None:
    """List rows of alert tables that alerts may miss or confuse.

    Scopes that can't be read, rows that nothing tells apart, rows without a first step, and names
    that are one plain word. Exits 1 if there are any."""
    from agents.runbooks.lookup import RunbookDocument
    from cli.setup.alert_tables import lint_rows, print_row_findings

    copilot = wired()
    findings = {}
    for name in names or copilot.domains:
        snapshot = copilot.index.snapshot(copilot.domain(name).domain)
        findings[name] = lint_rows(
            RunbookDocument(snapshot.chunks(card.id), card) for card in snapshot.documents.values()
        )
    if as_json:
        print_json([{"domain": name, **asdict(one)} for name in findings for one in findings[name]])
    else:
        print_row_findings(findings)
    if any(findings.values()):
        raise typer.Exit(1)


@google_app.command("check")
def google_check(names: DomainNames = None) -> None:
    """Say what the credentials can read, folder by folder.

    What they can't read comes with its remedy."""
    from cli.output.inspection import print_access
    from loaders.google.drive.source import open_drive

    copilot = wired()
    fine = True
    with open_drive(copilot.settings) as drive:
        for name in names or copilot.domains:
            domain = copilot.domain(name)
            reports = drive.check(domain.sources.google_drive)
            fine &= print_access(name, domain.access.audience, reports)
    if not fine:
        raise typer.Exit(1)


def print_stale(documents: Sequence[StaleDocument], review_months: int) -> None:
    """Each document with the reason it is listed and the parts of its score."""
    from agents.freshness.stale_documents import MIN_CITATIONS

    for one in documents:
        parts = f"{one.cited} cited × {_age(one, review_months)} × importance {one.importance:g}"
        owner = f" · owner: {one.owner}" if one.owner else ""
        typer.echo(f"{typer.style(one.id, fg='cyan', bold=True)}  {one.title}{owner}")
        typer.echo(f"   {one.reason()}")
        typer.echo(typer.style(f"   score {one.score:.1f} = {parts}", dim=True))
    if not documents:
        typer.echo(
            "Nothing to look over: no document is past the review date that it states, and none "
            f"that was cited {MIN_CITATIONS} times in 90 days is {review_months} months old."
        )


def _age(one: StaleDocument, review_months: int) -> str:
    age = (one.months or 0.0) / review_months
    if one.review_by and age < 2.0:
        return "2 (its review date is past)"
    return f"{age:.2f} ({one.months or 0:.0f} of {review_months} months)"
