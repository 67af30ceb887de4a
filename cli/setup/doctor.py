"""`oncall doctor`: checks everything that a question needs, in order."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

import typer

from cli.output.terminal import visible
from cli.setup.checks import (
    check_domain_files,
    check_google,
    check_published,
    check_storage,
    runner_state,
    running_bots,
)
from cli.setup.model_questions import check_models
from config.checks import Finding, attempted, fine, of_error, skipped
from config.errors import ConfigError

if TYPE_CHECKING:
    from config.domain import Domain
    from config.settings import Settings

MARKS = {"ok": ("✓", "green"), "wrong": ("✗", "red"), "skipped": ("–", "yellow")}
WIDTH = 24
"""Characters of the column with the name of the check."""


def examined(*, offline: bool = False) -> Iterator[Finding]:
    """Run the checks and yield each finding at once; a failed check does not stop the others.

    `offline`: ask no language model."""
    from config.settings import read_settings
    from oncall import Copilot
    from telemetry.logs import log_to_stderr

    try:
        settings = read_settings()
    except ConfigError as error:
        yield of_error("settings", error)
        return
    log_to_stderr("error", settings.log_format, secrets=settings.secrets())
    yield fine("settings", "read from the environment and .env")
    yield from check_storage(settings)
    domains, findings = check_domain_files(settings)
    yield from findings
    yield from _slack(settings, domains)
    yield from check_google(settings, domains)
    yield from check_models(settings, offline=offline)
    if any(one.state == "wrong" for one in findings):
        yield skipped("published indexes", "not asked, until the domain files are correct")
        return
    quiet = settings.model_copy(update={"log_level": "error"})
    copilot = Copilot(quiet)
    yield from check_published(copilot, domains)
    yield from attempted("job runner", lambda: iter([runner_state(copilot)]))


def _slack(settings: Settings, domains: Mapping[str, Domain]) -> Iterator[Finding]:
    from bot.setup_checks import check_channel, check_slack

    values = (settings.slack_bot_token, settings.slack_app_token, settings.slack_signing_secret)
    channels = any(domain.channels for domain in domains.values())
    if domains and not channels and not any(values):
        yield fine("Slack", "not needed: no domain has a channel")
        return
    findings, app = check_slack(settings, domains.values(), running_bots(settings))
    yield from findings
    for domain in domains.values():
        for channel in dict.fromkeys((*domain.channels, *domain.sources.change_channels)):
            yield (
                check_channel(app, channel)
                if app
                else skipped(f"channel {channel}", "not asked, for want of a bot token that works")
            )


def show(findings: Iterable[Finding]) -> bool:
    """Print each finding at once, without wrapping. Returns whether nothing is wrong."""
    bad = 0
    for one in findings:
        print_finding(one)
        bad += one.state == "wrong"
    count = "1 thing is" if bad == 1 else f"{bad} things are"
    typer.echo(f"\n{count} wrong." if bad else "\nAll is well.")
    return not bad


def print_finding(finding: Finding, *, indent: str = "", named: bool = True) -> None:
    """`named`: print the name of the check too."""
    mark, color = MARKS[finding.state]
    name = f"{finding.check:<{WIDTH}} " if named else ""
    typer.echo(f"{indent}{typer.style(mark, fg=color)} {name}{visible(finding.said)}")
    if finding.remedy:
        margin = indent + " " * (2 + len(name))
        typer.echo(f"{margin}{typer.style('→', fg=color)} {visible(finding.remedy)}")
