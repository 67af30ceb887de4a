"""The dashboard's panels as one SVG, from Prometheus' own answers to their queries.

`python -m benchmarks.pictured_dashboard` draws it from a run under load."""

from __future__ import annotations

import json
import math
import re
import urllib.parse
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from html import escape
from typing import Any

from docs.dashboard import placed
from docs.dashboard_panels import Panel, Row

Labels = Mapping[str, str]
Points = Sequence[tuple[float, float]]
"""(seconds since 1970, value), in order."""

UNIT_WIDTH, UNIT_HEIGHT, GAP = 54, 30, 8
"""Pixels of Grafana's grid, of 24 columns."""
STEP_SECONDS = 5
RATE_SECONDS = 60
PLOT_TOP, PLOT_BOTTOM, PLOT_LEFT, PLOT_RIGHT = 40, 62, 58, 14
COLOURS = ("#2f6fdb", "#e8743b", "#19a979", "#945ecf", "#d3304f", "#13a4b4", "#b58900", "#6b7785")
SIZES: Mapping[str, Sequence[tuple[float, str]]] = {
    "s": ((86_400, " d"), (3_600, " h"), (60, " min"), (1, " s"), (0.001, " ms")),
    "bytes": ((2**30, " GB"), (2**20, " MB")),
    "percentunit": ((0.01, "%"),),
    "short": ((1e6, "M"), (1e3, "k")),
}
"""Units, largest first."""
STYLE = """
text{font:12px system-ui,-apple-system,'Segoe UI',Roboto,'DejaVu Sans',sans-serif;fill:#3b4454}
.page{fill:#eef0f4}.card{fill:#fff;stroke:#dde1e8}.title{font-weight:600;fill:#1d2433}
.row{font-size:15px;font-weight:600;fill:#1d2433}.name{font-size:22px;font-weight:700;fill:#1d2433}
.quiet{fill:#7b8494}.tick{font-size:11px;fill:#7b8494}.end{text-anchor:end}
.middle{text-anchor:middle}.grid{stroke:#e8ebf0}.line{fill:none;stroke-width:1.6;
stroke-linejoin:round}.good{fill:#15803d}.bad{fill:#c81e3a}.figure{font-size:26px;font-weight:700}
"""


@dataclass(frozen=True)
class Prometheus:
    """Asked over HTTP, of a stretch of time."""

    url: str
    since: float
    until: float

    def now(self, query: str) -> list[tuple[Labels, float]]:
        """(labels, value) at the end of the stretch."""
        found = self._ask("query", query=query, time=f"{self.until:.0f}")
        return [(one["metric"], float(one["value"][1])) for one in found]

    def over_time(self, query: str) -> list[tuple[Labels, Points]]:
        found = self._ask(
            "query_range",
            query=query,
            start=f"{self.since:.0f}",
            end=f"{self.until:.0f}",
            step=str(STEP_SECONDS),
        )
        return [(one["metric"], [(at, float(v)) for at, v in one["values"]]) for one in found]

    def _ask(self, path: str, **fields: str) -> list[dict[str, Any]]:
        fields["query"] = plain(fields["query"])
        asked = f"{self.url}/api/v1/{path}?{urllib.parse.urlencode(fields)}"
        with urllib.request.urlopen(asked, timeout=30) as answer:  # noqa: S310 - an address of ours
            found: list[dict[str, Any]] = json.load(answer)["data"]["result"]
        return found


def plain(query: str) -> str:
    """With what Grafana would put in for its variables."""
    return query.replace("$__rate_interval", f"{RATE_SECONDS}s").replace("$domain", ".*")


def picture(rows: Sequence[Row], prometheus: Prometheus) -> str:
    panels = {panel.title: panel for row in rows for panel in row.panels}
    parts, bottom = [], 0
    for one in placed(rows):
        place = one["gridPos"]
        left, top = GAP + place["x"] * UNIT_WIDTH, 64 + place["y"] * UNIT_HEIGHT
        width, height = place["w"] * UNIT_WIDTH - GAP, place["h"] * UNIT_HEIGHT - GAP
        bottom = max(bottom, top + height)
        if one["type"] == "row":
            inner = text(2, 20, one["title"], "row")
        else:
            inner = "".join(drawn(panels[one["title"]], prometheus, width, height))
        parts.append(f'<g transform="translate({left},{top})">{inner}</g>')
    minutes = (prometheus.until - prometheus.since) / 60
    said = f"{minutes:.0f} minutes, times in UTC, a figure every {STEP_SECONDS} s"
    wide, tall = 24 * UNIT_WIDTH + GAP, bottom + GAP
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide} {tall}" role="img">'
        f"<title>On-call copilot, as the dashboard shows it</title><style>{STYLE}</style>"
        f'<rect class="page" width="{wide}" height="{tall}"/>'
        + text(GAP + 2, 38, "On-call copilot", "name")
        + text(wide - GAP, 38, said, "quiet end")
        + "".join(parts)
        + "</svg>\n"
    )


def drawn(panel: Panel, prometheus: Prometheus, width: int, height: int) -> Iterator[str]:
    yield f'<rect class="card" width="{width}" height="{height}" rx="6"/>'
    yield text(12, 22, panel.title, "title")
    if panel.kind == "table":
        found = prometheus.now(panel.series[0].expr)
        yield from _rows([labels for labels, _ in found], width, height)
    elif panel.kind == "stat":
        one = panel.series[0]
        found = [(_named(one.legend, labels), v) for labels, v in prometheus.now(one.expr)]
        yield from _figures(panel, found, width)
    else:
        lines = [
            (_named(one.legend, labels), points)
            for one in panel.series
            for labels, points in prometheus.over_time(one.expr)
        ]
        lines = [(name, points) for name, points in lines if any(_real(v) for _, v in points)]
        yield from _plot(panel, sorted(lines), prometheus, width, height)


def _plot(
    panel: Panel,
    lines: Sequence[tuple[str, Points]],
    prometheus: Prometheus,
    width: int,
    height: int,
) -> Iterator[str]:
    if not lines:
        yield text(width / 2, height / 2 + 6, "nothing in this time", "quiet middle")
        return
    highest = max(value for _, points in lines for _, value in points if _real(value))
    top = (
        1.0
        if panel.unit == "percentunit" and 0.3 < highest <= 1
        else _round_up(highest, panel.unit)
    )
    base, right = height - PLOT_BOTTOM, width - PLOT_RIGHT
    span = prometheus.until - prometheus.since

    def x(at: float) -> float:
        return PLOT_LEFT + (right - PLOT_LEFT) * (at - prometheus.since) / span

    def y(value: float) -> float:
        return base - (base - PLOT_TOP) * value / top

    for tick in (0.0, 0.5, 1.0):
        level = y(top * tick)
        yield f'<path class="grid" d="M{PLOT_LEFT} {level:.1f}H{right}"/>'
        yield text(PLOT_LEFT - 8, level + 4, shown(top * tick, panel.unit), "tick end")
    minutes = max(1, round(span / 60 / 4))
    for number in range(5):
        at = prometheus.since + number * minutes * 60
        if at <= prometheus.until:
            clock = datetime.fromtimestamp(at, UTC).strftime("%H:%M")
            yield text(x(at), base + 16, clock, "tick middle")
    for place, (_, points) in enumerate(lines):
        colour = COLOURS[place % len(COLOURS)]
        for piece in _unbroken(points):
            way = " ".join(f"{x(at):.1f} {y(value):.1f}" for at, value in piece)
            yield f'<path class="line" stroke="{colour}" d="M{way}"/>'
    yield from _legend(lines, panel.unit, prometheus.until, width, height)


def _legend(
    lines: Sequence[tuple[str, Points]], unit: str, until: float, width: int, height: int
) -> Iterator[str]:
    """In two lines below the plot: names, with the value at the end if they have one there."""
    left, level = 14.0, height - 28
    for place, (name, points) in enumerate(lines):
        at, value = points[-1]
        ended = not _real(value) or at < until - 2 * STEP_SECONDS
        words = name if ended else f"{name}  {shown(value, unit)}"
        wide = 24 + 6.6 * len(words)
        rest = 30 if level > height - 28 and place + 1 < len(lines) else 0
        if left + wide > width - rest and left > 14:
            if level > height - 28:
                yield text(width - 12, level + 4, f"+ {len(lines) - place}", "quiet end")
                return
            left, level = 14.0, height - 11
        colour = COLOURS[place % len(COLOURS)]
        yield f'<circle cx="{left + 4:.0f}" cy="{level}" r="4" fill="{colour}"/>'
        yield text(left + 13, level + 4, words)
        left += wide


def _figures(panel: Panel, found: Sequence[tuple[str, float]], width: int) -> Iterator[str]:
    if not found:
        yield text(width / 2, 72, "no figure", "quiet middle")
    step = width / max(1, len(found))
    for place, (name, value) in enumerate(sorted(found)):
        good = value >= (panel.good_from or 0) and value < (panel.bad_from or math.inf)
        middle = step * (place + 0.5)
        yield text(middle, 66, shown(value, panel.unit), f"figure middle {_mood(good)}")
        yield text(middle, 90, name, "quiet middle")


def _mood(good: bool) -> str:
    return "good" if good else "bad"


def _rows(found: Sequence[Labels], width: int, height: int) -> Iterator[str]:
    if not found:
        yield text(width / 2, height / 2 + 12, "none", "figure middle good")
        return
    names = sorted({name for labels in found for name in labels})
    step = (width - 24) / len(names)
    for place, name in enumerate(names):
        yield text(12 + place * step, 46, name, "tick")
        for line, labels in enumerate(found[:6]):
            yield text(12 + place * step, 66 + 19 * line, labels.get(name, ""))


def _unbroken(points: Points) -> Iterator[Points]:
    """Pieces of a line without a gap."""
    piece: list[tuple[float, float]] = []
    for at, value in points:
        if piece and (not _real(value) or at - piece[-1][0] > 2 * STEP_SECONDS):
            yield piece
            piece = []
        if _real(value):
            piece.append((at, value))
    if piece:
        yield piece


def _named(legend: str, labels: Labels) -> str:
    return re.sub(r"\{\{(\w+)\}\}", lambda name: labels.get(name[1], ""), legend)


def _real(value: float) -> bool:
    return math.isfinite(value)


def _round_up(highest: float, unit: str) -> float:
    """To a figure that its unit shows shortly, and whose half it does, too."""
    if highest <= 0:
        return 1.0
    whole = next((size for size, _ in SIZES.get(unit, ()) if highest >= size), 1)
    size = whole * 10 ** math.floor(math.log10(highest / whole))
    return float(next(step * size for step in (1, 2, 4, 6, 10) if step * size >= highest * 0.999))


def shown(value: float, unit: str) -> str:
    """As Grafana would write it: `320 ms`, `1.2 GB`, `12%`."""
    if unit == "currencyUSD":
        return f"${value:.3g}"
    if unit == "percentunit":
        return f"{value * 100:.3g}%"
    for size, name in SIZES.get(unit, ()):
        if value >= size:
            return f"{value / size:.3g}{name}"
    return f"{value:.3g}{' s' if unit == 's' else ''}"


def text(x: float, y: float, words: str, kind: str = "") -> str:
    named = f' class="{kind}"' if kind else ""
    return f'<text{named} x="{x:.1f}" y="{y:.1f}">{escape(words)}</text>'
