"""What a terminal shows of an answer."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from cli.inspection import answer_shown, print_answer
from tests.bot.fakes import NO_MODEL, answer, passages_found


def test_passages_stand_under_their_titles_with_their_addresses() -> None:
    console = Console(width=100, record=True, file=io.StringIO())
    console.print(answer_shown(passages_found("**Keys** live 90 days.", "- a year in staging")))
    lines = [line.strip() for line in console.export_text().splitlines() if line.strip()]
    assert lines[0] == NO_MODEL
    assert lines[1].startswith("Key Rotation Standard › Part 1 · 20")
    assert lines[2].endswith("#heading=h.age1")
    assert lines[3] == "Keys live 90 days."
    assert lines[6] == "• a year in staging"


def test_passages_are_shown_once_and_without_a_confidence(
    capsys: pytest.CaptureFixture[str],
) -> None:
    print_answer(passages_found())
    shown = capsys.readouterr().out
    assert shown.count("#heading=h.age1") == 1
    assert "confidence" not in shown


def test_an_answer_shows_its_sources_and_confidence(capsys: pytest.CaptureFixture[str]) -> None:
    print_answer(answer())
    shown = capsys.readouterr().out
    assert "Key Rotation Standard › Maximum age" in shown
    assert "confidence 0.86" in shown
