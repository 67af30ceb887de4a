from __future__ import annotations

import io

from rich.console import Console

from cli.output.explain import explain
from tests.agents.corpus import OLD_ROTATION, ROTATION, asking, snapshot
from tests.agents.scripted import ScriptedModel


def explained(text: str, model: ScriptedModel | None = None) -> str:
    found = snapshot(ROTATION, OLD_ROTATION)
    answer = asking(found, model)(text)
    console = Console(file=io.StringIO(), width=120, force_terminal=False)
    explain(answer, found.documents, console)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_it_shows_every_step_of_an_answer() -> None:
    shown = explained("maximum age of an API signing key for restricted data?")
    for heading in ("Cited", "Plan", "Confidence", "Documents", "Hits", "Context", "Timings"):
        assert heading in shown
    assert "Key Rotation Standard › Maximum age" in shown
    assert "★" in shown
    assert "superseded" in shown
    assert "0 model calls" in shown


def test_it_names_the_agents_that_fell_back_and_why() -> None:
    shown = explained("how old may a signing key get?", ScriptedModel({}))
    assert "went on without the model: answer" in shown
    assert "nothing scripted" in shown


def test_brackets_in_a_question_are_text() -> None:
    assert "[bold]keys[/bold]" in explained("how old may [bold]keys[/bold] get?")


def test_small_talk_has_little_to_explain() -> None:
    shown = explained("thanks!")
    assert "welcome" in shown
    assert "Hits" not in shown
