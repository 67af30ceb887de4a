"""An ingestion run in the terminal: a progress bar, then a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Self

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn
from rich.table import Table

from cli.output.terminal import lines_console, table_console
from jobs.canary.outcome import CanaryOutcome
from jobs.ingest.progress import IngestProgress, IngestReport

if TYPE_CHECKING:
    from enrichment.llm.pictures import PictureReport


class ProgressBar(IngestProgress):
    """Shows one progress line on a terminal; prints nothing elsewhere."""

    def __init__(self, domain: str, *, visible: bool = True) -> None:
        console = Console(stderr=True)
        self._bar = Progress(
            SpinnerColumn(),
            TextColumn("{task.fields[domain]:<10}"),
            BarColumn(bar_width=24),
            MofNCompleteColumn(),
            TextColumn("[dim]{task.description}"),
            console=console,
            transient=True,
            disable=not (visible and console.is_terminal),
        )
        self._task = self._bar.add_task("looking for changes", total=None, domain=domain)

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(self, *_raised: object) -> None:
        self._bar.stop()

    def loading(self, total: int) -> None:
        task = self._bar.tasks[0]
        self._bar.update(self._task, total=(task.total or 0) + total, description="reading")

    def done(self, document: str) -> None:
        self._bar.update(self._task, advance=1, description=document)

    def publishing(self) -> None:
        self._bar.update(self._task, description="embedding and publishing")


def print_reports(reports: Sequence[IngestReport]) -> None:
    """Print a row per domain, then everything that needs attention."""
    console = lines_console()
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("domain")
    counts = ("added", "changed", "unchanged", "removed", "failed", "chunks", "embedded")
    for name in (*counts, "seconds"):
        table.add_column(name, justify="right")
    for report in reports:
        numbers = to_json(report)["counts"]
        table.add_row(
            report.domain,
            *(str(numbers[name]) for name in counts),
            f"{report.seconds:.1f}",
        )
    table_console().print(table)
    for report in reports:
        for line in report.lost:
            console.print(f"[red]lost[/] {report.domain}: {escape(line)}")
        for error in report.failed:
            console.print(f"[red]failed[/] {report.domain}: {escape(str(error))}")
        for warning in report.warnings:
            console.print(f"[yellow]warning[/] {report.domain}: {escape(warning)}")
        if len(report.sources) > 1:
            parts = (f"{count} of {source}" for source, count in sorted(report.sources.items()))
            console.print(f"{report.domain}: {', '.join(parts)}", highlight=False)
        print_canaries(report.canaries, console)
        if report.usage.calls:
            console.print(
                f"{report.domain}: {report.usage.calls} model calls, {report.usage.input_tokens} "
                f"tokens in, {report.usage.output_tokens} out"
            )
        if report.tables.asked:
            console.print(
                f"{report.domain}: {report.tables.asked} unclear tables asked of the model, "
                f"{report.tables.accepted} accepted, {report.tables.rejected.total()} rejected "
                f"by the check against the grid, {report.tables.failed} failed"
            )
        if report.pictures.pictures:
            console.print(f"{report.domain}: {_of_pictures(report.pictures)}", highlight=False)
        if report.unenriched:
            count = "1 document" if report.unenriched == 1 else f"{report.unenriched} documents"
            console.print(
                f"[yellow]warning[/] {report.domain}: the model failed on {count}, described "
                "without it until the next run tries again"
            )


def _of_pictures(pictures: PictureReport) -> str:
    """Summarizes the results for pictures in one line."""
    parts = [
        f"{pictures.described} described",
        f"{pictures.asked} asked of the model",
        f"{pictures.decorations} decorations",
        f"{pictures.failed} failed",
        *(f"{count} passed over: {why}" for why, count in pictures.passed_over.most_common()),
    ]
    total = "1 picture" if pictures.pictures == 1 else f"{pictures.pictures} pictures"
    return f"{total}: " + ", ".join(part for part in parts if not part.startswith("0 "))


def print_canaries(
    canaries: Sequence[CanaryOutcome], console: Console, *, all_of_them: bool = False
) -> None:
    """Print lost golden questions and missing evidence. `all_of_them`: also domains without any."""
    for one in canaries:
        has_news = bool(one.lost or one.stale)
        if has_news or all_of_them:
            color = "red" if one.alarms else "yellow" if has_news else "green"
            for line in one.lines():
                console.print(f"[{color}]canary[/] {escape(line)}", highlight=False, soft_wrap=True)


def to_json(report: IngestReport) -> dict[str, Any]:
    """The report as `oncall ingest --json` prints it."""
    return {
        "domain": report.domain,
        "generation": report.generation,
        "counts": {
            "added": len(report.added),
            "changed": len(report.changed),
            "unchanged": report.unchanged,
            "removed": len(report.removed),
            "failed": len(report.failed),
            "chunks": report.chunks,
            "embedded": report.embedded,
            "calls": report.usage.calls,
        },
        "added": list(report.added),
        "changed": list(report.changed),
        "removed": list(report.removed),
        "failed": [
            {"document": error.document, "reason": error.reason, "remedy": error.remedy}
            for error in report.failed
        ],
        "lost": list(report.lost),
        "warnings": list(report.warnings),
        "sources": dict(report.sources),
        "tables": {**asdict(report.tables), "rejected": dict(report.tables.rejected)},
        "pictures": {**asdict(report.pictures), "passed_over": dict(report.pictures.passed_over)},
        "unenriched": report.unenriched,
        "tokens": {"input": report.usage.input_tokens, "output": report.usage.output_tokens},
        "canaries": [asdict(one) for one in report.canaries],
        "seconds": round(report.seconds, 2),
    }
