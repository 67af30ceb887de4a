"""`oncall canary`: golden questions, looked for again in what is answered from now."""

from __future__ import annotations

from typing import Annotated

import typer

from cli.options import AsJson, DomainNames, print_json, wired
from jobs.canary.outcome import CanaryOutcome

app = typer.Typer()


@app.command("canary")
def canary_command(
    names: DomainNames = None,
    accept_drop: Annotated[
        bool, typer.Option("--accept-drop", help="Measure by what is found now from here on.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Look for golden questions again, as after an upgrade.

    Compares with what was found before; exits 1 beyond the limit, evaluation.canary.max_drop."""
    from dataclasses import asdict

    from rich.console import Console

    from cli.output.ingest import print_canaries

    copilot = wired()
    chosen = [copilot.domain(name).domain for name in names or copilot.domains]
    found: list[CanaryOutcome] = []
    for name in chosen:
        canary = copilot.canary(name, accept_drop=accept_drop)
        if canary.problem:
            typer.echo(f"{name}: {canary.problem}", err=True)
        if not canary.watches:
            typer.echo(
                f"{name}: no golden questions with evidence; see evaluation.golden", err=True
            )
            continue
        outcomes = canary.looks_back(copilot.index.snapshot(name), again=True)
        found += outcomes
        if not as_json:
            print_canaries(outcomes, Console(), all_of_them=True)
    if as_json:
        print_json([asdict(one) for one in found])
    if any(one.alarms for one in found):
        raise typer.Exit(1)
