"""Reports as people name them on the command line."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jobs.evaluation.report import EvaluationReport
    from oncall import Copilot


def report_named(copilot: Copilot, named: str, domain: str | None = None) -> EvaluationReport:
    """A report.json or its folder, else a run that was kept: its id, a beginning that only one
    has, or `last`. Raises ConfigError or UsageError."""
    from jobs.evaluation.evaluate import read_report
    from jobs.evaluation.history import run_report

    if Path(named).exists() or named.endswith(".json"):
        return read_report(Path(named))
    return run_report(copilot.index.engine, named, domain)
