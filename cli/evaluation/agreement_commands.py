"""`oncall evaluate sheet` and `agreement`: people score blind, the judge is held against them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cli.options import AsJson, wired

ReportName = Annotated[
    str, typer.Argument(metavar="REPORT", help="A report.json, a run's id, or `last`.")
]


def evaluate_sheet(
    report: ReportName,
    out: Annotated[Path, typer.Option(help="Where the page is written.")] = Path("score.html"),
    questions: Annotated[
        int | None, typer.Option(min=1, help="So many questions, drawn by chance; all by default.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Of the order and of what is drawn.")] = 0,
) -> None:
    """Write a page on which an expert scores answers blind.

    Ten at a time; it needs no server, keeps what was scored, and saves human.csv."""
    from cli.evaluation.named_reports import report_named
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
    from cli.evaluation.agreement_run import run_agreement

    run_agreement(scores, report, learn=learn, as_json=as_json)
