"""LangGraph's Studio opens the graph that langgraph.json names, by question and in JSON."""

from __future__ import annotations

import asyncio
import importlib.util
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver

from config.errors import UsageError
from config.settings import Settings
from oncall import Copilot

ROOT = Path(__file__).parents[1]
TEA = "# Tea guide\n\n| Tea | Minutes |\n|---|---|\n| Green | 2 |\n| Black | 4 |\n"
COFFEE = "# Coffee guide\n\nThe espresso machine is cleaned every Friday by the barista on duty.\n"


def named_factory() -> Callable[[], Awaitable[Any]]:
    """The factory as the LangGraph server imports it: a file, then a name in it."""
    named = json.loads((ROOT / "langgraph.json").read_text())["graphs"]["oncall"]
    path, _, name = named.partition(":")
    spec = importlib.util.spec_from_file_location("studio_graph", ROOT / path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    factory: Callable[[], Awaitable[Any]] = getattr(module, name)
    return factory


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with two domains of one document each, ingested."""
    folder = tmp_path_factory.mktemp("studio")
    (folder / "config" / "domains").mkdir(parents=True)
    for name, text in {"coffee": COFFEE, "tea": TEA}.items():
        (folder / f"{name}.md").write_text(text)
        (folder / "config" / "domains" / f"{name}.yaml").write_text(
            f"domain: {name}\ntitle: {name}\nsources: {{files: ['{folder}/{name}.md']}}\n"
        )
    settings = Settings(
        _env_file=None, config_dir=folder / "config", data_dir=folder / "var", chat_model=None
    )
    copilot = Copilot(settings)
    for name in copilot.domains:
        copilot.ingest(name)
    return folder


@pytest.fixture
def graph(house: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv("ONCALL_CONFIG_DIR", str(house / "config"))
    monkeypatch.setenv("ONCALL_DATA_DIR", str(house / "var"))
    monkeypatch.chdir(house)
    return asyncio.run(opened(named_factory()))


async def opened(factory: Callable[[], Awaitable[Any]]) -> Any:
    return await factory()


def test_a_question_is_answered_by_the_domain_it_names(graph: Any) -> None:
    asked = {"question": "how many minutes does black tea steep?", "domain": "tea"}
    replied = json.loads(json.dumps(graph.invoke(asked)))
    assert list(replied) == ["answer"]
    assert "4" in replied["answer"]["answer"]
    assert replied["answer"]["citations"][0]["document"] == "tea.md"


def test_without_a_domain_the_first_one_answers(graph: Any) -> None:
    replied = graph.invoke({"question": "who cleans the espresso machine?"})
    assert replied["answer"]["citations"][0]["document"] == "coffee.md"


def test_a_follow_up_is_read_with_its_history(graph: Any) -> None:
    history = [
        {"role": "user", "content": "how many minutes does black tea steep?"},
        {"role": "assistant", "content": "4 minutes."},
    ]
    asked = {"question": "and green?", "domain": "tea", "history": history}
    assert "2" in graph.invoke(asked)["answer"]["answer"]


def test_an_unknown_domain_is_refused_with_those_there_are(graph: Any) -> None:
    with pytest.raises(UsageError, match="name one of coffee, tea"):
        graph.invoke({"question": "when?", "domain": "milk"})


def test_a_thread_that_the_server_keeps_starts_each_question_anew(graph: Any) -> None:
    graph.checkpointer = InMemorySaver()
    thread = {"configurable": {"thread_id": "1"}}
    for tea, minutes in (("black", "4"), ("green", "2")):
        asked = {"question": f"how many minutes does {tea} tea steep?", "domain": "tea"}
        assert minutes in graph.invoke(asked, thread)["answer"]["answer"]
    assert graph.get_state(thread).values["question"].startswith("how many minutes does green")


def test_the_drawing_shows_the_agents_of_every_domain(graph: Any) -> None:
    shown = {node.rpartition(":")[2] for node in graph.get_graph(xray=True).nodes}
    assert {"query_optimizer", "retrieval", "verify"} <= shown
