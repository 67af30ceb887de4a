"""`oncall evaluate`: golden questions asked and scored, and what came of it over time."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from cli.options import wired

app = typer.Typer()


class _RunUnlessNamed(TyperGroup):
    """`oncall evaluate GOLDEN…` is `oncall evaluate run GOLDEN…`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        asks_for_help = args[:1] in (["--help"], [])
        if not asks_for_help and args[0] not in self.commands:
            args = ["run", *args]
        return super().parse_args(ctx, args)


evaluate_app = typer.Typer(
    cls=_RunUnlessNamed,
    no_args_is_help=True,
    help="Ask the golden questions, score the answers, look back.",
)
app.add_typer(evaluate_app, name="evaluate")


@evaluate_app.command("run")
def evaluate_run(
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
    from functools import partial

    from cli.evaluation.evaluation_table import print_report
    from jobs.evaluation.evaluate import run_evaluation

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
