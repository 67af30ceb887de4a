"""An evaluation report on a terminal."""

from __future__ import annotations

from agents.confidence.kept_thresholds import Threshold
from jobs.evaluation.evaluate import SHOWN, Report
from jobs.report_page.evaluation_page import figure


def print_report(report: Report) -> None:
    """The metrics as a table: one column for all questions, one for each kind."""
    from rich import box
    from rich.console import Console
    from rich.table import Table

    run, console = report["run"], Console()
    title = f"{run['domain']} · {run['model'] or 'without a model'} · {run['seconds']} s"
    table = Table(title=title, box=box.SIMPLE_HEAVY, title_justify="left")
    table.add_column("", no_wrap=True)
    for group in report["metrics"]:
        table.add_column(group, justify="right", style="bold" if group == "all" else "")
    for name, label in SHOWN.items():
        cells = [figure(name, metrics.get(name)) for metrics in report["metrics"].values()]
        if any(cells):
            table.add_row(label, *cells)
    console.print(table)
    if "threshold" in report:
        found = Threshold(**report["threshold"])
        console.print(f"answer.max_wrong {found.max_wrong:g}: {found}", highlight=False)
    if "compared" in report:
        change = report["compared"]
        for name, pair in change["metrics"].items():
            if pair["before"] != pair["after"]:
                label = SHOWN.get(name, name)
                console.print(f"{label}: {pair['before']:.2f} → {pair['after']:.2f}")
        console.print(f"better: {', '.join(change['better']) or 'none'}")
        console.print(f"worse: {', '.join(change['worse']) or 'none'}")
