"""The results as a Markdown table and as a bar chart."""

from __future__ import annotations

import html
import re
from pathlib import Path

Results = dict[str, dict[str, dict[str, float]]]
"""Corpus → way → measure → share (or count, for `questions`)."""

MEASURES = ("all", "tables", "top 5")
_MARKS = ("<!-- results -->", "<!-- /results -->")
_BAR, _LEFT, _SCALE = 24, 300, 340


def table(results: Results) -> str:
    """Shares; in brackets how many times the first way's."""
    names = {corpus: f"{corpus}, {_questions(ways)} questions" for corpus, ways in results.items()}
    head = [f"{names[corpus]}: {measure}" for corpus in results for measure in MEASURES]
    lines = [_row(["", *head]), _row(["---"] * (len(head) + 1))]
    for way in next(iter(results.values()), {}):
        cells = [
            _cell(ways[way][measure], next(iter(ways.values()))[measure])
            for ways in results.values()
            for measure in MEASURES
        ]
        lines.append(_row([way, *cells]))
    return "\n".join(lines)


def save(results: Results, folder: Path) -> None:
    page = folder / "enrichment.md"
    start, end = _MARKS
    written = f"{start}\n{table(results)}\n{end}"
    text = page.read_text("utf-8")
    page.write_text(
        re.sub(f"{start}.*{end}", lambda _: written, text, flags=re.DOTALL), encoding="utf-8"
    )
    (folder / "enrichment.svg").write_text(chart(results), encoding="utf-8")


def chart(results: Results) -> str:
    """Bars: all questions dark, table questions light."""
    parts: list[str] = []
    y = 30
    for corpus, ways in results.items():
        parts.append(_text(10, y, f"{corpus}: evidence inside 4,000 characters", bold=True))
        y += 14
        for way, measures in ways.items():
            parts.append(_text(10, y + 16, way))
            for offset, measure, colour in ((0, "all", "#1f5f8b"), (12, "tables", "#8fc1e3")):
                width = measures[measure] * _SCALE
                parts.append(
                    f'<rect x="{_LEFT}" y="{y + offset}" width="{width:.0f}" height="10" '
                    f'fill="{colour}"><title>{measure}: {measures[measure]:.2f}</title></rect>'
                )
                parts.append(_text(_LEFT + width + 5, y + offset + 9, f"{measures[measure]:.2f}"))
            y += _BAR + 12
        y += 26
    parts.append(_text(_LEFT, y - 8, "dark: all questions; light: table questions"))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="720" height="{y + 8}" '
        f'font-family="sans-serif" font-size="11"><rect width="100%" height="100%" fill="#fff"/>'
        f"{''.join(parts)}</svg>\n"
    )


def _text(x: float, y: float, text: str, *, bold: bool = False) -> str:
    weight = ' font-weight="bold" font-size="13"' if bold else ""
    return f'<text x="{x:.0f}" y="{y:.0f}"{weight}>{html.escape(text)}</text>'


def _questions(ways: dict[str, dict[str, float]]) -> int:
    return int(next(iter(ways.values()))["questions"])


def _cell(value: float, first: float) -> str:
    return f"{value:.2f} ({value / first:.1f}×)" if first else f"{value:.2f}"


def _row(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"
