"""`oncall status`: what is configured, what is published, and what to do next."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from rich.console import Console
from rich.markup import escape

from cli.output.terminal import lines_console
from cli.setup.checks import model_setting, not_here, runner_state
from config.checks import Finding
from config.domain import Domain
from config.errors import CopilotError, IndexUnavailable
from config.settings import Settings
from enrichment.chunk import is_out_of_force
from index.permissions.rules import shared_groups

if TYPE_CHECKING:
    from enrichment.chunk import DocumentCard
    from jobs.schedule.freshness import Freshness
    from oncall import Copilot


def print_status(copilot: Copilot) -> None:
    """Print one fact per line; a missing part comes with its remedy."""
    console = lines_console()
    for name, value in _facts(copilot.settings).items():
        console.print(f"[cyan]{name:>12}[/]  {value}")
    console.print(f"[cyan]{'job runner':>12}[/]  {_markup(runner_state(copilot))}")
    for name, domain in copilot.domains.items():
        fresh = copilot.freshness(name)
        try:
            info = copilot.index.figures(name)
        except IndexUnavailable as error:
            console.print(f"[cyan]{name:>12}[/]  [yellow]{error}[/]")
            _print_runs(fresh, console)
            continue
        cards = copilot.index.cards(info)
        over = sum(map(is_out_of_force, cards))
        console.print(
            f"[cyan]{name:>12}[/]  generation {info.number}, "
            f"{info.documents} documents ({over} out of force), {info.chunks} chunks"
        )
        if absent := not_here(copilot, info):
            console.print(f"{'':>12}  [yellow]{absent}[/]")
        _print_runs(fresh, console)
        if domain.access.audience == "asker":
            for group, reason in _closed(copilot, domain, cards).items():
                console.print(
                    f"{'':>12}  [yellow]group {escape(group)} opens nothing[/]: {escape(reason)}"
                )


def _print_runs(fresh: Freshness, console: Console) -> None:
    """Print the last and the next run, also if the first run failed and nothing is published."""
    console.print(f"{'':>12}  {escape(fresh.sentence())}")
    for complaint in fresh.complaints():
        console.print(f"{'':>12}  [yellow]{escape(complaint)}[/]")


def _closed(copilot: Copilot, domain: Domain, cards: Iterable[DocumentCard]) -> Mapping[str, str]:
    """The domain's shared groups that give no access → the reason."""
    try:
        return copilot.groups.closed(domain, shared_groups(cards))
    except CopilotError as error:
        return {"any": str(error)}


def _markup(finding: Finding) -> str:
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
        "vectors": ("Chroma server" if settings.chroma_url else f"embedded in {settings.data_dir}")
        + (", searched by Chroma" if settings.vector_engine == "chroma" else ""),
    }
