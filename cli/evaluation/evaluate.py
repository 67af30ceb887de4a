"""`oncall evaluate`: golden questions asked and scored, and what came of it over time."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from typer.core import TyperGroup

app = typer.Typer()


class _RunUnlessNamed(TyperGroup):
    """`oncall evaluate GOLDEN…` is `oncall evaluate run GOLDEN…`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if args and args[0] != "--help" and args[0] not in self.commands:
            args = ["run", *args]
        return super().parse_args(ctx, args)


evaluate_app = typer.Typer(
    cls=_RunUnlessNamed,
    no_args_is_help=True,
    subcommand_metavar="GOLDEN… | COMMAND [ARGS]…",
    help="Ask the golden questions and score the answers: `oncall evaluate GOLDEN… --domain D`. "
    "The options are those of `oncall evaluate run --help`.",
)
app.add_typer(
    evaluate_app, name="evaluate", short_help="Ask the golden questions and score the answers."
)


@evaluate_app.command("run")
def evaluate_run(
    golden: Annotated[
        list[Path] | None,
        typer.Argument(metavar="[GOLDEN]…", help="Golden files; the domain's own by default."),
    ] = None,
    domain: Annotated[
        str, typer.Option(help="The domain that answers; all that name golden files by default.")
    ] = "",
    out: Annotated[
        Path | None, typer.Option(help="Folder for report.json and report.html.")
    ] = None,
    judge: Annotated[
        bool, typer.Option("--judge", help="Let a model score each answer from 0 to 5.")
    ] = False,
    baseline: Annotated[
        Literal["plain"] | None,
        typer.Option(help="Ask plain RAG the same, over the same documents and model."),
    ] = None,
    compare: Annotated[
        str, typer.Option(metavar="REPORT", help="A report.json, a run's id, or `last`.")
    ] = "",
    fail_under: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=X", help="Exit 1 below it: acceptable=0.9, table:cited=0.8."),
    ] = None,
    fail_over: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=X", help="Exit 1 above it: incorrect=0.02."),
    ] = None,
    matrix: Annotated[
        list[str] | None,
        typer.Option(
            metavar="KEY=A,B…",
            help="Ask with each combination of these settings: answer.effort=fast,standard.",
        ),
    ] = None,
    repeat: Annotated[int, typer.Option(min=1, max=50, help="Ask each question so often.")] = 1,
    parallel: Annotated[
        int | None,
        typer.Option(min=1, max=64, help="Questions at a time; 8 with a model, else one a core."),
    ] = None,
    anew: Annotated[
        bool, typer.Option("--anew", help="Ask again what an earlier run was told already.")
    ] = False,
    prices: Annotated[
        str,
        typer.Option(
            metavar="IN/OUT",
            help="US dollars for a million tokens: 0.25/2.00; ONCALL_PRICES otherwise.",
        ),
    ] = "",
    mlflow: Annotated[
        bool, typer.Option("--mlflow", help="Also log the run at MLFLOW_TRACKING_URI.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the report as JSON.")] = False,
) -> None:
    """Ask the golden questions and score the answers."""
    from cli.evaluation.run import EvaluationRun, run
    from jobs.evaluation.evaluate import parse_limits
    from jobs.evaluation.matrix import is_axis

    named = golden or []
    axes = [str(one) for one in named if matrix and is_axis(str(one))]
    run(
        EvaluationRun(
            golden=tuple(one for one in named if str(one) not in axes),
            domain=domain,
            out=out,
            judge=judge,
            baseline=baseline is not None,
            compare=compare,
            limits=(
                *parse_limits(fail_under or []),
                *parse_limits(fail_over or [], at_most=True),
            ),
            matrix=(*(matrix or []), *axes),
            repeats=repeat,
            parallel=parallel,
            anew=anew,
            prices=prices,
            mlflow=mlflow,
            as_json=as_json,
        )
    )
