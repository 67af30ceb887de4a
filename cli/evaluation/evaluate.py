"""`oncall evaluate` and `oncall canary`: ask and score golden questions, or search them again."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from typer.core import TyperGroup

from cli.options import AsJson, DomainNames, WithJudge, print_json, wired

if TYPE_CHECKING:
    from jobs.canary.outcome import CanaryOutcome

app = typer.Typer()


class _RunUnlessNamed(TyperGroup):
    """Treats `oncall evaluate GOLDEN…` as `oncall evaluate run GOLDEN…`."""

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
    judge: WithJudge = False,
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
    ask_again: Annotated[
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
            ask_again=ask_again,
            prices=prices,
            mlflow=mlflow,
            as_json=as_json,
        )
    )


@evaluate_app.command("sheet")
def evaluate_sheet(
    report: Annotated[
        str, typer.Argument(metavar="REPORT", help="A report.json, a run's id, or `last`.")
    ],
    out: Annotated[Path, typer.Option(help="Where the page is written.")] = Path("score.html"),
    questions: Annotated[
        int | None, typer.Option(min=1, help="So many questions, drawn by chance; all by default.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Of the order and of what is drawn.")] = 0,
) -> None:
    """Write a page on which an expert scores answers blind.

    Ten at a time; it needs no server, keeps what was scored, and saves human.csv."""
    from cli.evaluation.systems import report_named
    from config.errors import ConfigError
    from jobs.pages.scoring_sheet import scoring_sheet

    page, answers = scoring_sheet(report_named(wired(), report), questions=questions, seed=seed)
    try:
        out.write_text(page, encoding="utf-8")
    except OSError as error:
        raise ConfigError(
            f"{out}: can't be written: {error.strerror}", remedy="name a file with --out"
        ) from error
    typer.echo(f"{out}: {answers} answers to score. Open it in a browser, or mail it to an expert.")


@evaluate_app.command("agreement")
def evaluate_agreement(
    scores: Annotated[
        list[Path], typer.Argument(metavar="HUMAN.csv…", help="What the scoring page saved.")
    ],
    report: Annotated[
        str, typer.Option(metavar="REPORT", help="What was scored; the last run by default.")
    ] = "last",
    learn: Annotated[
        bool,
        typer.Option(
            "--learn", help="Show the judge what people corrected, and keep it if that helps."
        ),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Say how far the judge agrees with people.

    And what its figures are worth. The card is kept: later reports of this domain and judge
    show it."""
    from cli.evaluation.agreement import run_agreement

    run_agreement(scores, report, learn=learn, as_json=as_json)


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
    outcomes: list[CanaryOutcome] = []
    for name in chosen:
        canary = copilot.canary(name, accept_drop=accept_drop)
        if canary.problem:
            typer.echo(f"{name}: {canary.problem}", err=True)
        if not canary.watches:
            typer.echo(
                f"{name}: no golden questions with evidence; see evaluation.golden", err=True
            )
            continue
        of_domain = canary.looks_back(copilot.index.snapshot(name), again=True)
        outcomes += of_domain
        if not as_json:
            print_canaries(of_domain, Console(), all_of_them=True)
    if as_json:
        print_json([asdict(one) for one in outcomes])
    if any(one.alarms for one in outcomes):
        raise typer.Exit(1)
