"""Renders the tables: by kind and tag, all figures, comparisons, time and cost, earlier runs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from urllib.parse import quote

import numpy as np

from jobs.evaluation.comparison import AMOUNTS
from jobs.evaluation.history import KeptRun
from jobs.evaluation.report import (
    Comparison,
    EvaluationReport,
    MetricChange,
    Metrics,
    ReportQuestion,
)
from jobs.pages.charts import columns, difference_bar, sparkline
from jobs.pages.headlines import headlines
from jobs.pages.metric_names import LOWER_IS_BETTER, NO_DIRECTION, figure, in_order, named

_IN_SHORT = (
    *("questions", "acceptable", "incorrect", "judge_score", "replied_answer", "answer_wrong"),
    *("cited", "facts_all", "evidence_all", "grounded", "refusal_recall", "words"),
)
"""Columns of the table by kind and tag; the table of all figures has the rest."""
_DOUBT = 0.05
_TINY = 0.001
_STEPS = 12


def by_kind(report: EvaluationReport) -> str:
    """A table with a row for each group, sortable by its column heads."""
    held = {name for metrics in report.metrics.values() for name in metrics}
    names = [name for name in _IN_SHORT if name in held]
    heads = "".join(
        f'<th aria-sort="none"><button type="button">{_abbr(name)}</button></th>' for name in names
    )
    rows = "".join(
        f'<tr{" class=total" if group == "all" else ""}><th scope="row">{escape(group)}</th>'
        + "".join(_cell(name, metrics.get(name)) for name in names)
        + "</tr>"
        for group, metrics in report.metrics.items()
    )
    return (
        "<section><h2>By kind and tag</h2>"
        f'<div class="wide"><table class="sortable"><thead><tr><th aria-sort="none">'
        f'<button type="button">group</button></th>{heads}</tr></thead><tbody>{rows}</tbody>'
        f"</table></div>{_all_figures(report, sorted(held))}</section>"
    )


def _all_figures(report: EvaluationReport, held: Sequence[str]) -> str:
    groups = list(report.metrics)
    intervals = report.intervals.get("all", {})
    spread = bool(report.spread)
    heads = "".join(f"<th>{escape(group)}</th>" for group in groups)
    rows = []
    for name in in_order(set(held)):
        low_high = intervals.get(name)
        between = f"{figure(name, low_high[0])}–{figure(name, low_high[1])}" if low_high else ""
        cells = "".join(_cell(name, report.metrics[group].get(name)) for group in groups)
        varied = f"<td>{figure(name, report.spread.get(name))}</td>" if spread else ""
        rows.append(f'<tr><th scope="row">{_abbr(name)}</th><td>{between}</td>{varied}{cells}</tr>')
    varies = "<th>± between repeats</th>" if spread else ""
    return (
        '<details class="numbers"><summary>All figures</summary><div class="wide"><table>'
        f"<thead><tr><th>figure</th><th>95% of all</th>{varies}{heads}</tr></thead>"
        f"<tbody>{''.join(rows)}</tbody></table></div></details>"
    )


def comparison(change: Comparison, *, title: str, then: str = "before", now: str = "now") -> str:
    """Changed metrics by p; those that may be chance are collapsed."""
    moved = [
        (name, one)
        for name, one in change.metrics.items()
        if one.before != one.after and one.interval is not None
    ]
    sure = [(name, one) for name, one in moved if one.p is not None and one.p < _DOUBT]
    rest = [pair for pair in moved if pair not in sure]
    html = _changes(sure, then, now) if sure else "<p>No figure moved beyond chance.</p>"
    more = "more" if sure else "figures moved"
    if rest:
        html += (
            f'<details class="numbers"><summary>{len(rest)} {more} that may be chance</summary>'
            f"{_changes(rest, then, now)}</details>"
        )
    return (
        f"<section><h2>{escape(title)}</h2>"
        f"<p><b>{len(change.better)}</b> questions better, <b>{len(change.worse)}</b> worse. "
        "Paired, question by question; p by a permutation test. Of many figures one in twenty "
        "moves this far by chance alone.</p>"
        f"{html}{_moved('Better', change.better)}{_moved('Worse', change.worse)}</section>"
    )


def _changes(moved: Sequence[tuple[str, MetricChange]], then: str, now: str) -> str:
    rows = []
    for name, one in sorted(moved, key=lambda pair: 1.0 if pair[1].p is None else pair[1].p):
        low, high = one.interval or (0.0, 0.0)
        by = one.after - one.before
        drawn = "" if name in AMOUNTS else difference_bar(by, (low, high))
        p = "" if one.p is None else "<0.001" if one.p < _TINY else f"{one.p:.3f}"
        rows.append(
            f'<tr><th scope="row">{_abbr(name)}</th><td>{figure(name, one.before)}</td>'
            f"<td>{figure(name, one.after)}</td><td>{_signed(name, by)}</td>"
            f"<td>{_signed(name, low)} to {_signed(name, high)}</td><td>{drawn}</td>"
            f"<td>{escape(p)}</td><td>{_direction(name, by)}</td><td>{one.questions}</td></tr>"
        )
    heads = ("figure", then, now, "change", "95%", "", "p", "", "questions")
    head = "".join(f"<th>{escape(one)}</th>" for one in heads)
    return (
        f'<div class="wide"><table><thead><tr>{head}</tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table></div>"
    )


def _moved(word: str, ids: Sequence[str]) -> str:
    if not ids:
        return ""
    listed = ", ".join(f'<a href="#{quote(one)}">{escape(one)}</a>' for one in ids)
    return f'<p class="moved"><b>{word}:</b> {listed}</p>'


def time_and_cost(questions: Sequence[ReportQuestion]) -> str:
    """Response times, model calls, tokens and cost."""
    first = [one.first_token_ms for one in questions if one.first_token_ms is not None]
    total = [one.total_ms for one in questions if one.total_ms]
    rows = [_waited("first token", first), _waited("whole reply", total)]
    spent = [_spent("model calls", [one.calls for one in questions])]
    spent.append(_spent("tokens", [one.tokens for one in questions]))
    costs = [one.cost for one in questions if one.cost is not None]
    spent.append(_spent("cost, US$", costs, places=4))
    amounts = "".join(spent)
    spending = (
        "<table><thead><tr><th>spent</th><th>a question</th><th>in all</th></tr></thead>"
        f"<tbody>{amounts}</tbody></table>"
        if amounts
        else ""
    )
    drawn = columns(_histogram(total), title="Time to the whole reply", axis="seconds")
    return (
        '<section><h2>Time and cost</h2><div class="pair"><div><table><thead><tr><th>seconds</th>'
        "<th>p50</th><th>p90</th><th>p99</th></tr></thead>"
        f"<tbody>{''.join(rows)}</tbody></table>"
        f"{spending}</div>"
        f"<figure>{drawn}<figcaption>Time to the whole reply</figcaption></figure></div></section>"
        if total
        else ""
    )


def _waited(label: str, times: Sequence[float]) -> str:
    if not times:
        return ""
    cells = "".join(f"<td>{one / 1000:.2f}</td>" for one in np.quantile(times, [0.5, 0.9, 0.99]))
    return f'<tr><th scope="row">{label}</th>{cells}</tr>'


def _spent(label: str, amounts: Sequence[float], places: int = 0) -> str:
    if not any(amounts):
        return ""
    mean, total = sum(amounts) / len(amounts), sum(amounts)
    each = f"{mean:,.{places or (2 if mean < 10 else 0)}f}"
    return f'<tr><th scope="row">{label}</th><td>{each}</td><td>{total:,.{places and 2}f}</td></tr>'


def _histogram(times: Sequence[float]) -> list[tuple[str, int]]:
    """(upper edge in seconds, replies) up to the 99th percentile; the last bar has the rest."""
    if not times:
        return []
    seconds = np.asarray(times) / 1000
    top = float(np.quantile(seconds, 0.99)) or 1.0
    edges = np.linspace(0, top, _STEPS)
    counted, _ = np.histogram(seconds, [*edges, np.inf])
    places = 0 if top > 24 else 1 if top > 2 else 2
    labels = [f"{edge:.{places}f}" for edge in edges[1:]] + ["more"]
    return [(label, int(amount)) for label, amount in zip(labels, counted, strict=True)]


def over_time(report: EvaluationReport, runs: Sequence[KeptRun]) -> str:
    """The latest runs of this domain, newest first."""
    names = headlines(report)
    if len(runs) < 2 or not names:
        return ""
    heads = "".join(f"<th>{_abbr(name)}</th>" for name in names)
    lines = "".join(
        f"<td>{sparkline(_values(reversed(runs), name), title=named(name).label)}</td>"
        for name in names
    )
    rows = "".join(
        f'<tr><th scope="row">{escape(f"{one.started_at:%Y-%m-%d %H:%M}")}</th>'
        f"<td>{escape(one.model or 'no model')}</td><td>{one.questions}</td>"
        + "".join(_cell(name, one.metrics.get("all", {}).get(name)) for name in names)
        + "</tr>"
        for one in runs
    )
    return (
        '<section><h2>Runs of this domain</h2><div class="wide"><table><thead><tr>'
        f"<th>started, UTC</th><th>model</th><th>questions</th>{heads}</tr></thead><tbody>"
        f'<tr><th scope="row">over time</th><td></td><td></td>{lines}</tr>{rows}'
        "</tbody></table></div></section>"
    )


def _values(runs: Iterable[KeptRun], name: str) -> list[float]:
    held: list[Metrics] = [one.metrics.get("all", {}) for one in runs]
    return [metrics[name] for metrics in held if name in metrics]


def _cell(name: str, value: float | None) -> str:
    return f'<td data-value="{"" if value is None else value}">{figure(name, value)}</td>'


def _abbr(name: str) -> str:
    metric = named(name)
    if not metric.meaning:
        return escape(metric.alone)
    return f'<abbr title="{escape(metric.meaning)}">{escape(metric.alone)}</abbr>'


def _signed(name: str, value: float) -> str:
    text = figure(name, abs(value))
    return f"{'−' if value < 0 else '+'}{text}"


def _direction(name: str, by: float) -> str:
    if name in NO_DIRECTION:
        return "changed"
    good = (by < 0) == (name in LOWER_IS_BETTER)
    return f'<span class="{"good" if good else "bad"}">{"better" if good else "worse"}</span>'
