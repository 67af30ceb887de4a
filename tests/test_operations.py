"""Dashboard, rules and runbooks speak of metrics, labels and commands that exist."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

import bot.features.registry  # noqa: F401 - features define their own metrics
import jobs.schedule.freshness  # noqa: F401 - likewise
from telemetry.metrics import exposition, registry
from tests.promql import grouping_labels, selectors, tokens

ROOT = Path(__file__).parents[1]
OPERATIONS = ROOT / "docs" / "operations"
DASHBOARD: dict[str, Any] = json.loads((OPERATIONS / "dashboard.json").read_text("utf-8"))
ALERTS = OPERATIONS / "alerts.yaml"
RULES: list[dict[str, Any]] = [
    rule for group in yaml.safe_load(ALERTS.read_text("utf-8"))["groups"] for rule in group["rules"]
]
RUNBOOKS = (OPERATIONS / "runbooks.md").read_text("utf-8")
OF_PROMETHEUS = {"up": set[str](), "ALERTS": {"alertname", "alertstate", "severity", "domain"}}
"""Metrics that Prometheus makes itself → their labels."""
OF_TARGETS = {"job", "instance"}
PARTS = ("For askers.", "First look.", "Causes.", "Over when", "Wake somebody?")
PANELS = [panel for panel in DASHBOARD["panels"] if panel["type"] != "row"]


def known() -> dict[str, set[str]]:
    """Name of every series → its labels."""
    found = {name: set(labels) for name, labels in OF_PROMETHEUS.items()}
    for one in registry._collector_to_names:
        labels = set(getattr(one, "_labelnames", ()))
        for family in one.collect():
            endings = {
                "counter": ("_total",),
                "histogram": ("_bucket", "_count", "_sum"),
            }.get(family.type, ("",))
            for ending in endings:
                buckets = {"le"} if ending == "_bucket" else set[str]()
                found[family.name + ending] = labels | buckets
    return found


def expressions() -> Iterator[tuple[str, str, str]]:
    """(where it stands, expression, a text with labels of its result)."""
    for panel in PANELS:
        for target in panel["targets"]:
            plain = re.sub(r"\$__\w+", "5m", target["expr"]).replace("$domain", ".*")
            yield panel["title"], plain, target["legendFormat"]
    for rule in RULES:
        yield rule["alert"], rule["expr"], json.dumps(rule["annotations"])


ALL = list(expressions())


def test_the_tokenizer_tells_metrics_from_functions_and_labels() -> None:
    expression = (
        'sum by (domain) (rate(a_total{domain=~"x|y", kind!="z"}[5m])) '
        "/ on (domain) group_left (kind) max(b_seconds) without (job) > bool 2.5 and c or vector(0)"
    )
    assert list(selectors(expression)) == [
        ("a_total", {"domain": "x|y", "kind": "z"}),
        ("b_seconds", {}),
        ("c", {}),
    ]
    assert grouping_labels(expression) == {"domain", "kind", "job"}
    with pytest.raises(ValueError, match="no token"):
        tokens("a ? b")


@pytest.mark.parametrize(("where", "expression", "told"), ALL, ids=[one[0] for one in ALL])
def test_metrics_and_labels_exist(where: str, expression: str, told: str) -> None:
    metrics = known()
    named = list(selectors(expression))
    assert {name for name, _ in named} - metrics.keys() == set()
    for name, asked in named:
        assert asked.keys() - metrics[name] - OF_TARGETS == set(), name
    held = set().union(*(metrics[name] for name, _ in named)) | OF_TARGETS
    shown = {one or other for one, other in re.findall(r"\$labels\.(\w+)|^\{\{(\w+)\}\}", told)}
    assert (grouping_labels(expression) | shown) - held == set()


def test_every_metric_that_tells_of_trouble_is_on_the_dashboard() -> None:
    charted = {name for _, expression, _ in ALL for name, _ in selectors(expression)}
    ours = {
        re.sub("_(bucket|count|sum)$", "", name) if name not in charted else name
        for name in known()
        if name.startswith("oncall_") and not name.endswith(("_bucket", "_sum"))
    }
    stems = {re.sub("_(bucket|count|sum)$", "", name) for name in charted}
    assert ours - stems - charted == set(UNCHARTED)


def test_no_series_tells_when_another_one_was_created() -> None:
    assert "_created" not in exposition().decode()


UNCHARTED = {
    "oncall_index_bytes": "the sizing of machines, not their trouble",
    "oncall_changes_asked_total": "how often people use it",
}


def test_no_two_panels_share_a_number_or_a_place() -> None:
    numbers = [panel["id"] for panel in DASHBOARD["panels"]]
    assert len(numbers) == len(set(numbers))
    taken: set[tuple[int, int]] = set()
    for panel in DASHBOARD["panels"]:
        place = panel["gridPos"]
        assert place["x"] + place["w"] <= 24
        cells = {
            (x, y)
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        }
        assert not cells & taken, panel["title"]
        taken |= cells


def test_every_panel_asks_the_chosen_datasource_and_says_what_it_means() -> None:
    for panel in PANELS:
        assert panel["description"]
        assert {one["datasource"]["uid"] for one in panel["targets"]} == {"${datasource}"}


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule["alert"])
def test_every_alert_has_its_section_of_the_runbooks(rule: dict[str, Any]) -> None:
    page, _, anchor = rule["annotations"]["runbook_url"].partition("#")
    assert (ROOT / page).is_file()
    assert anchor == rule["alert"].lower()
    section = re.search(rf"^## {rule['alert']}\n(.*?)(?=^## |\Z)", RUNBOOKS, re.S | re.M)
    assert section, "no section"
    places = [section[1].find(f"**{part}**") for part in PARTS]
    assert -1 not in places
    assert places == sorted(places), "in another order"
    assert rule["labels"]["severity"] in {"critical", "warning", "info"}


def test_no_section_is_left_of_an_alert_that_is_gone() -> None:
    sections = set(re.findall(r"^## (Oncall\w+)$", RUNBOOKS, re.M))
    assert sections == {rule["alert"] for rule in RULES}


needs_promtool = pytest.mark.skipif(not shutil.which("promtool"), reason="promtool isn't here")


@needs_promtool
@pytest.mark.parametrize(
    "command",
    [["check", "rules", ALERTS], ["test", "rules", OPERATIONS / "alerts_test.yaml"]],
    ids=["check", "test"],
)
def test_prometheus_accepts_the_rules_and_they_fire_when_they_should(command: list[Any]) -> None:
    done = subprocess.run(["promtool", *map(str, command)], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


@needs_promtool
def test_every_alert_is_seen_to_fire_and_to_stay_silent() -> None:
    tried: dict[str, set[bool]] = {}
    for test in yaml.safe_load((OPERATIONS / "alerts_test.yaml").read_text("utf-8"))["tests"]:
        for one in test.get("alert_rule_test", []):
            tried.setdefault(one["alertname"], set()).add(bool(one["exp_alerts"]))
    assert tried == {rule["alert"]: {True, False} for rule in RULES}
