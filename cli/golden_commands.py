"""Golden questions: asked, scored, proposed."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from cli.options import wired

app = typer.Typer()
golden_app = typer.Typer(no_args_is_help=True, help="Golden questions.")
app.add_typer(golden_app, name="golden")


@app.command()
def evaluate(
    golden: Annotated[list[Path], typer.Argument(metavar="GOLDEN…", help="Golden question files.")],
    domain: Annotated[str, typer.Option(help="The domain that answers.")],
    out: Annotated[
        Path | None, typer.Option(help="Folder for report.json and report.html.")
    ] = None,
    compare: Annotated[
        Path | None, typer.Option(help="An earlier report.json to hold against.")
    ] = None,
) -> None:
    """Ask the golden questions and score the answers."""
    from cli.evaluation_table import print_report
    from jobs.evaluate import run_evaluation

    copilot = wired()
    report = run_evaluation(
        copilot.ask(domain, anew=True),
        golden,
        domain=domain,
        model=copilot.model.name if copilot.model else "",
        max_wrong=copilot.domain(domain).answer.max_wrong,
        keep=partial(copilot.thresholds.keep, domain),
        out=out,
        compare=compare,
    )
    print_report(report)


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
