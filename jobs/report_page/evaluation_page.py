"""An evaluation report as one HTML page that needs nothing but itself."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import Any

from jobs.evaluation.report import EvaluationReport
from jobs.report_page.metric_names import SHOWN, figure

_STYLE = """
:root { color-scheme: light dark; --line: #8884; --bad: #c0362c; --good: #2a7d46; }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 1100px; margin: 2rem auto; padding: 0 1rem }
h1 { font-size: 1.5rem; margin-bottom: 0 } .quiet { opacity: .7 }
.wide { overflow-x: auto } table { border-collapse: collapse; margin: 1rem 0 }
th, td { padding: .35rem .7rem; border-bottom: 1px solid var(--line); text-align: right }
th:first-child, td:first-child { text-align: left } tr.all { font-weight: 600 }
details { border-bottom: 1px solid var(--line); padding: .45rem 0 } summary { cursor: pointer }
pre { white-space: pre-wrap; overflow-wrap: anywhere; background: #8881; padding: .7rem;
  border-radius: .4rem; font: 13px/1.5 ui-monospace, monospace }
.bad { color: var(--bad) } .good { color: var(--good) } .kind { opacity: .6; font-size: .85em }
"""


def as_page(evaluated: EvaluationReport) -> str:
    """Metrics as a table, then every question with its answer, citations and scores."""
    report, labels = evaluated.model_dump(), SHOWN
    run = report["run"]
    model = run["model"] or "without a model"
    questions = "\n".join(_question(one) for one in report["questions"])
    return (
        '<!doctype html><html lang="en"><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width">'
        f"<title>Evaluation of {escape(run['domain'])}</title><style>{_STYLE}</style>"
        f"<h1>Evaluation of {escape(run['domain'])}</h1>"
        f'<p class="quiet">{escape(model)} · generation {run["generation"]} · '
        f"{run['questions']} questions in {run['seconds']} s · {escape(run['started_at'])}</p>"
        f"{_table(report['metrics'], labels)}<h2>Questions</h2>{questions}</html>"
    )


def _table(groups: Mapping[str, Mapping[str, float]], labels: Mapping[str, str]) -> str:
    shown = {name: label for name, label in labels.items() if name in groups["all"]}
    head = "".join(f"<th>{escape(label)}</th>" for label in shown.values())
    rows = "".join(
        f'<tr class="{escape(group)}"><td>{escape(group)}</td>'
        + "".join(f"<td>{figure(name, metrics.get(name))}</td>" for name in shown)
        + "</tr>"
        for group, metrics in groups.items()
    )
    return f'<div class="wide"><table><tr><th>kind</th>{head}</tr>{rows}</table></div>'


def _question(one: Mapping[str, Any]) -> str:
    metrics = one["metrics"]
    wrong = any(metrics.get(name) for name in ("refused_wrong", "clarified_wrong", "answer_wrong"))
    right = all(
        metrics.get(name, 1.0) for name in ("cited", "facts_all", "refused_right", "clarified")
    )
    mark = '<span class="good">✓</span>' if right and not wrong else '<span class="bad">✗</span>'
    if one["path"] == "passages_found":
        mark += ' <span class="kind">passages</span>'
    cited = ", ".join(f"[{c['number']}] {c['document']} › {c['heading']}" for c in one["citations"])
    scores = ", ".join(f"{name} {value:g}" for name, value in metrics.items())
    return (
        f"<details><summary>{mark} {escape(one['question'])} "
        f'<span class="kind">{escape(one["id"])} · {escape(one["kind"])}</span></summary>'
        f"<pre>{escape(one['answer'])}</pre>"
        f'<p class="quiet">{escape(one["path"])} · confidence {one["confidence"]:.2f}'
        f"<br>cited: {escape(cited) or 'nothing'}<br>expected: {escape(one['reference'])}"
        f"<br>{escape(scores)}</p></details>"
    )
