"""Names that others count on: Slack's ids, metrics, spans, nodes of the graph, and classes that
are data."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from prometheus_client import Counter, Gauge, Histogram
from slack_bolt import App
from sqlalchemy import create_engine

from agents.graph import build_graph
from config.domain import ChunkOptions, Domain
from config.errors import CopilotError
from telemetry.metrics import registry
from tests.bot.fakes import domain
from tests.contracts.every_table import built_bot
from tests.contracts.pins import check_json, read_json
from tests.contracts.product_code import every_module, source

LISTENERS = ("action", "event", "function", "message_shortcut", "options", "shortcut", "view")
EFFORTS = ("fast", "standard", "thorough")


@pytest.fixture(scope="module", autouse=True)
def _all_is_imported() -> None:
    every_module()


def as_text(wanted: Any) -> str:
    return f"/{wanted.pattern}/" if isinstance(wanted, re.Pattern) else str(wanted)


@pytest.fixture
def registered(monkeypatch: pytest.MonkeyPatch) -> dict[str, list[str]]:
    """What Bolt is told to listen to, by kind."""
    seen: dict[str, list[str]] = {kind: [] for kind in LISTENERS}

    def recording(kind: str) -> Any:
        register = getattr(App, kind)

        def record(app: App, wanted: Any, *more: Any, **named: Any) -> Any:
            seen[kind].append(as_text(wanted))
            return register(app, wanted, *more, **named)

        return record

    for kind in LISTENERS:
        monkeypatch.setattr(App, kind, recording(kind))
    return seen


def test_the_bot_listens_to_the_same_ids(registered: dict[str, list[str]], tmp_path: Path) -> None:
    engine = create_engine(f"sqlite:///{tmp_path / 'state.sqlite'}")
    with built_bot(tmp_path, engine):
        check_json("slack-listeners.json", {kind: sorted(ids) for kind, ids in registered.items()})
    engine.dispose()


def test_slack_ids_and_stored_words_still_stand_in_the_code() -> None:
    """By which posts, buttons, forms, stored items and timers of the last release are known."""
    words, code = read_json("words-in-code.json"), source()
    lost = {
        kind: [word for word in ids if f'"{word}"'.replace('{}"', "{") not in code]
        for kind, ids in words.items()
    }
    assert lost == {kind: [] for kind in words}


def test_metrics_keep_their_names_types_labels_and_buckets() -> None:
    seen: dict[str, Any] = {}
    for one in list(registry._collector_to_names):
        if isinstance(one, Counter | Gauge | Histogram):
            family = next(iter(one.describe()))
            seen[family.name] = {"type": family.type, "labels": list(one._labelnames)}
            if isinstance(one, Histogram):
                seen[family.name]["buckets"] = [float(bound) for bound in one._upper_bounds[:-1]]
    check_json("metrics.json", seen)


def test_spans_keep_their_names() -> None:
    names = re.findall(r"(?<!\w)span\(\s*f?\"([^\"]+)\"", source())
    check_json("spans.json", sorted(re.sub(r"{[^}]*}", "{}", name) for name in names))


@pytest.mark.parametrize("effort", EFFORTS)
@pytest.mark.parametrize("has_model", [False, True])
def test_the_graph_keeps_its_nodes_and_edges(effort: str, has_model: bool) -> None:
    never_asked: Any = object() if has_model else None
    drawn = build_graph(domain(answer={"effort": effort}), never_asked).get_graph()
    edges = sorted(f"{one.source} → {one.target}" for one in drawn.edges)
    model = "model" if has_model else "no-model"
    check_json(f"graph-{effort}-{model}.json", {"nodes": sorted(drawn.nodes), "edges": edges})


def subclasses(of: type) -> Iterator[type]:
    for one in of.__subclasses__():
        yield one
        yield from subclasses(one)


def test_errors_that_are_logged_by_name_keep_it() -> None:
    names = {one.__name__ for one in subclasses(Exception)}
    ours = sorted({one.__name__ for one in subclasses(CopilotError)} | {"SlackBusy", "SlackUnsure"})
    check_json("errors.json", ours)
    assert set(ours) <= names


def test_what_identifies_a_pipeline_is_written_the_same() -> None:
    """Written otherwise, every document would be prepared and paid for again."""
    assert isinstance(domain(), Domain)
    check_json("chunk-options.json", repr(ChunkOptions()))
