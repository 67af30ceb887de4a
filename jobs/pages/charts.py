"""Charts as inline SVG: no script, no style attribute (the page's policy forbids both)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from jobs.evaluation.report import Interval

_TICKS = 4


@dataclass(frozen=True, kw_only=True)
class Bin:
    """Replies of similar confidence."""

    confidence: float
    """Mean confidence."""
    accepted: float
    """Share of accepted replies."""
    interval: Interval
    count: int


def interval_bar(
    value: float, interval: Interval | None, *, top: float = 1.0, baseline: float | None = None
) -> str:
    """A value from 0 to `top` with its interval. `baseline`: another system, a hollow dot."""
    width, height = 220, 18

    def at(one: float) -> str:
        return f"{4 + (width - 8) * min(1.0, max(0.0, one / top)):.1f}"

    parts = [f'<line class="track" x1="4" x2="{width - 4}" y1="9" y2="9"/>']
    if interval:
        low, high = interval
        parts.append(f'<line class="range" x1="{at(low)}" x2="{at(high)}" y1="9" y2="9"/>')
    if baseline is not None:
        parts.append(f'<circle class="hollow" cx="{at(baseline)}" cy="9" r="4.5"/>')
    parts.append(f'<circle class="dot" cx="{at(value)}" cy="9" r="4.5"/>')
    text = f"{value:.2f} of {top:g}"
    if interval:
        text += f", 95% interval {interval[0]:.2f} to {interval[1]:.2f}"
    if baseline is not None:
        text += f"; beside it {baseline:.2f}"
    return _svg(width, height, parts, title="Value and interval", says=text, kind="bar")


def difference_bar(change: float, interval: Interval) -> str:
    """A paired difference of shares, on an axis from -1 to 1."""
    width, middle = 160, 80.0

    def at(one: float) -> str:
        return f"{middle + 76 * min(1.0, max(-1.0, one)):.1f}"

    low, high = interval
    parts = [
        '<line class="track" x1="4" x2="156" y1="8" y2="8"/>',
        '<line class="axis" x1="80" x2="80" y1="1" y2="15"/>',
        f'<line class="range" x1="{at(low)}" x2="{at(high)}" y1="8" y2="8"/>',
        f'<circle class="dot" cx="{at(change)}" cy="8" r="4"/>',
    ]
    says = f"{change:+.2f}, 95% interval {low:+.2f} to {high:+.2f}"
    return _svg(width, 16, parts, title="Difference", says=says, kind="bar")


def columns(bars: Sequence[tuple[str, int]], *, title: str, axis: str) -> str:
    """Vertical bars of (label, count), each with its count above it."""
    width, height, base = 460, 200, 160
    highest = max((amount for _, amount in bars), default=0) or 1
    step = (width - 20) / max(1, len(bars))
    parts = [f'<line class="axis" x1="10" x2="{width - 10}" y1="{base}" y2="{base}"/>']
    for place, (label, amount) in enumerate(bars):
        tall = 130 * amount / highest
        left = 10 + place * step
        middle = left + step / 2
        parts.append(
            f'<rect class="fill" x="{left + step * 0.12:.1f}" y="{base - tall:.1f}" '
            f'width="{step * 0.76:.1f}" height="{tall:.1f}" rx="2"/>'
        )
        if amount:
            parts.append(_text(middle, base - tall - 6, str(amount), "value"))
        parts.append(_text(middle, base + 16, label, "tick"))
    parts.append(_text(width / 2, height - 6, axis, "tick"))
    says = "; ".join(f"{label}: {amount}" for label, amount in bars)
    return _svg(width, height, parts, title=title, says=says) + _as_table(
        (axis, "replies"), [(label, str(amount)) for label, amount in bars]
    )


def reliability(bins: Sequence[Bin]) -> str:
    """Confidence against the accepted share; on the diagonal the two agree."""
    side, left, base = 300, 46, 320

    def x(one: float) -> float:
        return left + side * one

    def y(one: float) -> float:
        return base - side * one

    parts = []
    for tick in range(_TICKS + 1):
        share = tick / _TICKS
        parts.append(
            f'<line class="grid" x1="{left}" x2="{left + side}" y1="{y(share)}" y2="{y(share)}"/>'
        )
        parts.append(_text(x(share), base + 16, f"{share:.2g}", "tick"))
        parts.append(_text(left - 8, y(share) + 4, f"{share:.2g}", "tick end"))
    parts.append(f'<line class="ideal" x1="{x(0)}" y1="{y(0)}" x2="{x(1)}" y2="{y(1)}"/>')
    for one in bins:
        low, high = one.interval
        middle = f"{x(one.confidence):.1f}"
        parts.append(
            f'<line class="whisker" x1="{middle}" x2="{middle}" '
            f'y1="{y(low):.1f}" y2="{y(high):.1f}"/>'
            f'<circle class="dot" cx="{middle}" cy="{y(one.accepted):.1f}" r="5"/>'
        )
    parts.append(_text(left + side / 2, base + 36, "confidence as it was shown", "tick"))
    parts.append(_text(left, 12, "share accepted", "tick start"))
    rows = [
        (
            f"{one.confidence:.2f}",
            f"{one.accepted:.2f} ({one.interval[0]:.2f}–{one.interval[1]:.2f})",
            str(one.count),
        )
        for one in bins
    ]
    says = "; ".join(f"{a} confident: {b} accepted of {n}" for a, b, n in rows)
    drawn = _svg(360, 362, parts, title="Reliability diagram", says=says, kind="square")
    return drawn + _as_table(("mean confidence", "accepted (95%)", "replies"), rows)


def stacked(shares: Sequence[tuple[str, float]]) -> str:
    """Shares that add up to 1 as one bar, with a legend below it."""
    width = 640
    parts, left = [], 0.0
    for place, (_, share) in enumerate(shares):
        if share:
            parts.append(
                f'<rect class="part{place}" x="{left:.1f}" y="0" '
                f'width="{max(1.0, width * share - 2):.1f}" height="16" rx="2"/>'
            )
        left += width * share
    says = ", ".join(f"{label} {share:.0%}" for label, share in shares)
    words = "".join(
        f'<span><i class="key part{place}"></i>{escape(label)} <b>{share:.0%}</b></span>'
        for place, (label, share) in enumerate(shares)
    )
    drawn = _svg(width, 16, parts, title="Sorts of reply", says=says, kind="stack")
    return f'{drawn}<p class="keys">{words}</p>'


def sparkline(values: Sequence[float], *, title: str) -> str:
    """A line of values, oldest first; the last one is marked."""
    if not values:
        return ""
    low, high = min(values), max(values)
    over = (high - low) or 1.0
    step = 100 / max(1, len(values) - 1)
    points = [
        (4 + place * step, 20 - 16 * (one - low) / over if high > low else 12)
        for place, one in enumerate(values)
    ]
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    x, y = points[-1]
    parts = [
        f'<polyline class="spark" points="{line}"/>',
        f'<circle class="dot" cx="{x:.1f}" cy="{y:.1f}" r="3"/>',
    ]
    says = ", ".join(f"{one:.2f}" for one in values)
    return _svg(110, 24, parts, title=title, says=says, kind="bar")


def _svg(
    width: int, height: int, parts: Sequence[str], *, title: str, says: str, kind: str = "chart"
) -> str:
    return (
        f'<svg class="{kind}" viewBox="0 0 {width} {height}" role="img">'
        f"<title>{escape(title)}</title><desc>{escape(says)}</desc>{''.join(parts)}</svg>"
    )


def _text(x: float, y: float, words: str, kind: str) -> str:
    return f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}">{escape(words)}</text>'


def _as_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """The chart's data as a table, for accessibility."""
    heads = "".join(f"<th>{escape(one)}</th>" for one in head)
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows
    )
    return (
        f'<details class="numbers"><summary>as a table</summary><table><tr>{heads}</tr>{body}'
        "</table></details>"
    )
