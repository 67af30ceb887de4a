"""`oncall drill`: tries every runbook entry of a domain with a made-up alert."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

import typer

from cli.options import AsJson, DomainName, print_json, wired

if TYPE_CHECKING:
    from agents.drill.checks import Finding
    from agents.drill.rows import DrillRow
    from config.domain import Domain
    from oncall import Copilot

app = typer.Typer()
PATIENCE = 30.0
"""Seconds that a look-up may wait for Slack."""


@dataclass(frozen=True, kw_only=True)
class DrilledEntry:
    document: str
    place: str
    alert: str
    findings: tuple[Finding, ...]


@app.command("drill")
def drill(domain: DomainName, as_json: AsJson = False) -> None:
    """Try every runbook entry with a made-up alert.

    Lists what to mend: entries that aren't found, or not alone; links that lead nowhere (to hosts
    of runbooks.drill.link_hosts); people, groups and channels that Slack doesn't know (with
    SLACK_BOT_TOKEN); old names of tools; documents out of force or past their review date. Exits
    1 if there is anything."""
    copilot = wired()
    settings = copilot.domain(domain)
    unchecked = list[str]()
    entries = list(_drilled(copilot, settings, unchecked.append))
    wrong = [one for one in entries if one.findings]
    if as_json:
        print_json(
            {
                "domain": settings.domain,
                "entries": len(entries),
                "not_checked": unchecked,
                "to_mend": [asdict(one) for one in wrong],
            }
        )
    else:
        _print(entries, wrong, unchecked)
    if wrong:
        raise typer.Exit(1)


def _drilled(
    copilot: Copilot, domain: Domain, leave_out: Callable[[str], None]
) -> Iterator[DrilledEntry]:
    """`leave_out`: called with what is not checked, and why."""
    from datetime import UTC, datetime

    from agents.drill.checks import Drill, all_renames
    from bot.features.drills.outside import LinkChecker

    snapshot = copilot.index.snapshot(domain.domain)
    drill = Drill(
        snapshot=snapshot, domain=domain, now=datetime.now(UTC), renames=all_renames(snapshot)
    )
    links, names = LinkChecker(copilot.settings.allowed_hosts()), _names(copilot, leave_out)
    hosts = domain.runbooks.drill.link_hosts if domain.runbooks.drill else ()
    if not hosts:
        leave_out("links: runbooks.drill.link_hosts of the domain file names no host")
    for document in sorted(snapshot.documents):
        for row in drill.rows(document):
            more = () if row.entry.retired else (*links.findings(row, hosts), *names(row))
            yield DrilledEntry(
                document=document, place=row.entry.place, alert=row.names[0],
                findings=(*drill.findings(row), *more),
            )  # fmt: skip


def _names(
    copilot: Copilot, leave_out: Callable[[str], None]
) -> Callable[[DrillRow], Iterable[Finding]]:
    """Checks people, groups and channels; nothing once Slack is away."""
    from bot.connection import open_slack
    from bot.features.drills.outside import NameChecker
    from bot.slack.client import SlackBusy, SlackRefused, SlackUnsure

    web, problem = open_slack(copilot.settings), "SLACK_BOT_TOKEN is not set"
    try:
        if web:
            web.call("auth.test", patience=PATIENCE)
            problem = ""
    except (SlackRefused, SlackBusy, SlackUnsure) as error:
        problem = str(error)
    if web is None or problem:
        leave_out(f"people, groups and channels: {problem}")
        return lambda row: ()
    checker = NameChecker(web, PATIENCE)

    def findings(row: DrillRow) -> Iterable[Finding]:
        try:
            return list(checker.findings(row))
        except (SlackBusy, SlackUnsure) as error:
            leave_out(f"people, groups and channels of {row.names[0]}: {error}")
            return ()

    return findings


def _print(
    entries: Sequence[DrilledEntry], wrong: Sequence[DrilledEntry], unchecked: Sequence[str]
) -> None:
    from cli.output.terminal import visible

    document = ""
    for one in wrong:
        if one.document != document:
            document = one.document
            typer.echo(typer.style(visible(document), fg="cyan", bold=True))
        typer.echo(f"   {visible(one.alert)} · {visible(one.place)}")
        for finding in one.findings:
            text = "; ".join(filter(None, (finding.sentence, finding.detail)))
            typer.echo(f"      {visible(text)}: {visible(finding.remedy)}")
    typer.echo(f"entries drilled: {len(entries)}, to mend: {len(wrong)}")
    for each in unchecked:
        typer.echo(typer.style(f"not checked: {each}", dim=True))
