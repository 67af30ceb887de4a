"""The Grafana dashboard as JSON, out of its panels: `make docs` writes it.

Where a panel stands, its number and its surroundings are worked out here."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from docs.dashboard_panels import ROWS, Kind, Panel, Row

SCHEMA_VERSION = 41
"""Of Grafana 12; older ones leave what they don't know."""
COLUMNS = 24
SOURCE = {"type": "prometheus", "uid": "${datasource}"}


def dashboard() -> str:
    """As a file to import, or to provision."""
    made = {
        "uid": "oncall-copilot",
        "title": "On-call copilot",
        "tags": ["oncall-copilot"],
        "schemaVersion": SCHEMA_VERSION,
        "editable": True,
        "refresh": "30s",
        "time": {"from": "now-6h", "to": "now"},
        "timezone": "browser",
        "graphTooltip": 1,
        "templating": {"list": [_choice_of_source(), _choice_of_domains()]},
        "panels": list(placed(ROWS)),
    }
    return json.dumps(made, indent=1, ensure_ascii=False) + "\n"


def placed(rows: Sequence[Row]) -> Iterator[dict[str, Any]]:
    """Every row and panel with its number and its place, from the top down."""
    number = top = 0
    for row in rows:
        number += 1
        place = {"x": 0, "y": top, "w": COLUMNS, "h": 1}
        yield {
            "id": number,
            "type": "row",
            "title": row.title,
            "collapsed": False,
            "gridPos": place,
            "panels": [],
        }
        top += 1
        left = tallest = 0
        for panel in row.panels:
            if left + panel.width > COLUMNS:
                left, top, tallest = 0, top + tallest, 0
            number += 1
            place = {"x": left, "y": top, "w": panel.width, "h": panel.height}
            yield _drawn(panel, number, place)
            left, tallest = left + panel.width, max(tallest, panel.height)
        top += tallest


def _drawn(panel: Panel, number: int, place: dict[str, int]) -> dict[str, Any]:
    instant = panel.kind != "timeseries"
    targets = [
        {
            "refId": chr(ord("A") + at),
            "datasource": SOURCE,
            "expr": one.expr,
            "legendFormat": one.legend,
            "instant": instant,
            "range": not instant,
            "format": "table" if panel.kind == "table" else "time_series",
        }
        for at, one in enumerate(panel.series)
    ]
    defaults = {
        "unit": panel.unit,
        "min": 0,
        "thresholds": {"mode": "absolute", "steps": _steps(panel)},
    }
    return {
        "id": number,
        "type": panel.kind,
        "title": panel.title,
        "description": panel.says,
        "datasource": SOURCE,
        "gridPos": place,
        "targets": targets,
        "fieldConfig": {"defaults": defaults, "overrides": []},
        "options": _options(panel.kind),
    }


def _steps(panel: Panel) -> list[dict[str, Any]]:
    """Grafana's colours from a value on; the first one has none."""
    if panel.good_from is not None:
        return [{"color": "red", "value": None}, {"color": "green", "value": panel.good_from}]
    steps: list[dict[str, Any]] = [{"color": "green", "value": None}]
    if panel.bad_from is not None:
        steps.append({"color": "red", "value": panel.bad_from})
    return steps


def _options(kind: Kind) -> dict[str, Any]:
    if kind == "stat":
        return {"reduceOptions": {"calcs": ["lastNotNull"]}, "textMode": "value_and_name"}
    if kind == "table":
        return {"showHeader": True}
    return {
        "legend": {"displayMode": "list", "placement": "bottom"},
        "tooltip": {"mode": "multi", "sort": "desc"},
    }


def _choice_of_source() -> dict[str, Any]:
    return {
        "name": "datasource",
        "label": "Prometheus",
        "type": "datasource",
        "query": "prometheus",
    }


def _choice_of_domains() -> dict[str, Any]:
    metric = "oncall_answer_seconds_count"
    return {
        "name": "domain",
        "label": "Domain",
        "type": "query",
        "datasource": SOURCE,
        "query": {"query": f"label_values({metric}, domain)", "refId": "domain"},
        "refresh": 2,
        "includeAll": True,
        "allValue": ".*",
        "multi": True,
        "current": {"text": "All", "value": "$__all"},
    }
