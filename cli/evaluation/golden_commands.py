"""Golden questions: checked, imported, proposed."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from typing import Annotated

import typer

from cli.options import AsJson, print_json, wired

app = typer.Typer()
golden_app = typer.Typer(no_args_is_help=True, help="Golden questions.")
app.add_typer(golden_app, name="golden")


@golden_app.command("check")
def golden_check(
    files: Annotated[list[Path], typer.Argument(metavar="FILE…", help="Golden files.")],
    domain: Annotated[
        str, typer.Option(help="Also look for every quote in what this domain publishes.")
    ] = "",
    as_json: AsJson = False,
) -> None:
    """Say what is wrong with golden files, line by line.

    Exits with 1 when anything is."""
    from jobs.golden.golden_check import check_golden

    copilot = wired() if domain else None
    found = check_golden(files, copilot.snapshot(domain) if copilot else None)
    if as_json:
        print_json(
            {
                "files": {str(path): dict(kinds) for path, kinds in found.kinds.items()},
                "stale": found.stale,
                "problems": [vars(problem) for problem in found.problems],
            }
        )
    else:
        for problem in found.problems:
            typer.echo(problem, err=True)
        for path, kinds in found.kinds.items():
            typer.echo(_held(path, kinds))
        if found.stale:
            rests = "answer rests" if found.stale == 1 else "answers rest"
            typer.echo(f"{found.stale} golden {rests} on text that changed", err=True)
    if found.problems:
        raise typer.Exit(1)


def _held(path: Path, kinds: Counter[str]) -> str:
    """`security.yaml: 61 questions: 20 table, 18 lookup, 3 proposed (not counted …)`."""
    named = ", ".join(f"{count} {kind}" for kind, count in kinds.most_common())
    later = " (not counted until somebody confirms them)" if kinds["proposed"] else ""
    asked = "question" if kinds.total() == 1 else "questions"
    return f"{path}: {kinds.total()} {asked}{': ' if named else ''}{named}{later}"


@golden_app.command("propose")
def golden_propose(
    domain: Annotated[str | None, typer.Option(help="One domain only.")] = None,
) -> None:
    """Print what people corrected or answered as golden questions.

    An expert completes them: evidence and rubric are left empty."""
    from bot.memory.proposals import propose, to_yaml

    copilot = wired()
    chosen = copilot.domain(domain).domain if domain else None
    sys.stdout.write(to_yaml(propose(copilot.index.engine, chosen)))
