"""`oncall status`: what is configured, what is published, and what to do next."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Protocol

from cli.output.terminal import lines_console
from cli.setup.checks import model_setting
from config.checks import Finding
from config.domain import Domain
from config.errors import CopilotError, IndexUnavailable
from config.settings import Settings
from enrichment.chunk import is_out_of_force
from index.search import Snapshot

if TYPE_CHECKING:
    from rich.console import Console

    from jobs.schedule.freshness import Freshness


class Snapshots(Protocol):
    def snapshot(self, domain: str) -> Snapshot: ...


def print_status(
    settings: Settings,
    domains: Mapping[str, Domain],
    index: Snapshots,
    closed_groups: Callable[[Domain], Mapping[str, str]],
    freshness: Callable[[str], Freshness],
) -> None:
    """Print one fact per line; a missing part comes with its remedy.

    `closed_groups` returns a domain's shared groups that give no access → the reason."""
    from rich.markup import escape

    console = lines_console()
    for name, value in _facts(settings).items():
        console.print(f"[cyan]{name:>12}[/]  {value}")
    for name in domains:
        fresh = freshness(name)
        try:
            snapshot = index.snapshot(name)
            chunks = sum(len(snapshot.chunks(document)) for document in snapshot.documents)
        except IndexUnavailable as error:
            console.print(f"[cyan]{name:>12}[/]  [yellow]{error}[/]")
            _print_runs(fresh, console)
            continue
        over = sum(map(is_out_of_force, snapshot.documents.values()))
        console.print(
            f"[cyan]{name:>12}[/]  generation {snapshot.generation}, "
            f"{len(snapshot.documents)} documents ({over} out of force), {chunks} chunks"
        )
        _print_runs(fresh, console)
        if domains[name].access.audience == "asker":
            for group, reason in _closed(domains[name], closed_groups).items():
                console.print(
                    f"{'':>12}  [yellow]group {escape(group)} opens nothing[/]: {escape(reason)}"
                )


def _print_runs(fresh: Freshness, console: Console) -> None:
    """Print the last and the next run, also if the first run failed and nothing is published."""
    from rich.markup import escape

    console.print(f"{'':>12}  {escape(fresh.sentence())}")
    for complaint in fresh.complaints():
        console.print(f"{'':>12}  [yellow]{escape(complaint)}[/]")


def _closed(
    domain: Domain, closed_groups: Callable[[Domain], Mapping[str, str]]
) -> Mapping[str, str]:
    try:
        return closed_groups(domain)
    except CopilotError as error:
        return {"any": str(error)}


def _markup(finding: Finding) -> str:
    from rich.markup import escape

    text = escape(str(finding))
    return text if finding.state == "ok" else f"[yellow]{text}[/]"


def _facts(settings: Settings) -> dict[str, str]:
    slack = settings.slack_bot_token and settings.slack_app_token
    return {
        "slack": settings.slack_api_url
        if slack
        else "[yellow]not configured[/]: run `oncall init`",
        "google": str(settings.google_credentials)
        if settings.google_credentials
        else "[yellow]not configured[/]: run `oncall init`, unless no domain reads Google Drive",
        "model": _markup(model_setting(settings)),
        "embeddings": settings.embedding_model,
        "database": "PostgreSQL" if settings.database_url else f"SQLite in {settings.data_dir}",
        "vectors": "Chroma server" if settings.chroma_url else f"embedded in {settings.data_dir}",
    }
