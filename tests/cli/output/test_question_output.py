"""What a terminal and a pipe show of an answer."""

from __future__ import annotations

import os
import pty
import re
import shlex
import struct
import subprocess
import sys
import termios
from dataclasses import replace
from fcntl import ioctl
from pathlib import Path
from typing import get_args

import pytest

from agents.answer import AlternativeDomain, AnswerPath
from cli.output.terminal import print_answer
from tests.bot.fakes import NO_MODEL, answer, passages_found

ROOT = Path(__file__).parents[3]
COMMAND = "lockbox rotate --key <id> --overlap 7d --region eu-west-1 --note slow"
LINK = "https://docs.example.com/document/d/" + "a1B2" * 20 + "/edit#heading=h.1"


def on_a_terminal(script: str, columns: int) -> str:
    """What a script prints on a terminal of this width, without its colours."""
    reader, terminal = pty.openpty()
    ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    environment = {k: v for k, v in os.environ.items() if k != "COLUMNS"}
    plain = {"PYTHONPATH": str(ROOT), "TERM": "xterm"}
    with subprocess.Popen(
        [sys.executable, "-c", script],
        stdout=terminal,
        env={**environment, **plain},
    ):
        os.close(terminal)
        said = b""
        while True:
            try:
                more = os.read(reader, 65_536)
            except OSError:  # as Linux ends it
                break
            if not more:
                break
            said += more
    os.close(reader)
    return re.sub(r"\x1b\[[0-9;]*m", "", said.decode().replace("\r\n", "\n"))


def test_a_passage_that_describes_a_picture_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    found = passages_found("- queue → worker: batch of 25", "Batches of 50.")
    drawn, told = found.passages
    drawn = replace(drawn, citation=replace(drawn.citation, from_picture=True))
    print_answer(replace(found, passages=(drawn, told)))
    out = capsys.readouterr().out
    assert out.count("· a picture there, as a model described it") == 1
    assert out.index("as a model described it") < out.index("batch of 25")


def test_passages_stand_under_their_titles_with_their_addresses(
    capsys: pytest.CaptureFixture[str],
) -> None:
    print_answer(passages_found("**Keys** live 90 days.", "- a year in staging"))
    lines = [line.strip() for line in capsys.readouterr().out.splitlines() if line.strip()]
    assert lines[0] == NO_MODEL
    assert lines[1].startswith("Key Rotation Standard › Part 1 · 20")
    assert lines[2].endswith("#heading=h.age1")
    assert lines[3] == "**Keys** live 90 days."
    assert lines[6] == "- a year in staging"


def test_passages_are_shown_once_and_without_a_confidence(
    capsys: pytest.CaptureFixture[str],
) -> None:
    print_answer(passages_found())
    shown = capsys.readouterr().out
    assert shown.count("#heading=h.age1") == 1
    assert "onfidence" not in shown


def test_passages_of_two_domains_stand_under_their_names(
    capsys: pytest.CaptureFixture[str],
) -> None:
    second = AlternativeDomain(
        domain="privacy", title="Privacy help", passages=passages_found("Two years.").passages
    )
    print_answer(passages_found("90 days.", from_title="Security help", beside=(second,)))
    said = capsys.readouterr().out
    assert said.index("From Security help") < said.index("90 days")
    assert said.index("90 days") < said.index("From Privacy help") < said.index("Two years")
    assert said.count("From ") == 2


def test_an_answer_shows_its_sources_and_confidence(capsys: pytest.CaptureFixture[str]) -> None:
    print_answer(answer())
    shown = capsys.readouterr().out
    assert "[1] Key Rotation Standard › Maximum age" in shown
    assert "Confidence: medium." in shown


@pytest.mark.parametrize("path", get_args(AnswerPath))
def test_no_kind_of_answer_is_told_by_the_name_of_its_path(
    path: AnswerPath, capsys: pytest.CaptureFixture[str]
) -> None:
    print_answer(answer(path=path, degraded=("answer",)))
    shown = capsys.readouterr().out
    assert "_" not in shown
    assert "0.86" not in shown


def test_what_to_ask_next_can_be_copied_into_a_shell(capsys: pytest.CaptureFixture[str]) -> None:
    asked = "who's on call?"
    beside = (AlternativeDomain(domain="privacy", title="Privacy help"),)
    print_answer(
        answer(path="ambiguous_query", citations=(), options=("the key's age?",), beside=beside),
        question=asked,
        domain="security",
    )
    commands = [line[2:] for line in capsys.readouterr().out.splitlines() if line[:1] == "→"]
    assert [shlex.split(one) for one in commands] == [
        ["oncall", "ask", "security", "the key's age?"],
        ["oncall", "ask", "privacy", asked],
    ]


def test_no_text_of_a_document_steers_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    print_answer(passages_found("first\x1b]0;owned\x07 and\x1b[2J second\r\n\nthird\x9b1m"))
    shown = capsys.readouterr().out
    assert "first" in shown
    assert not {"\x1b", "\x07", "\r", "\x9b"} & set(shown)


def test_on_a_narrow_terminal_links_and_commands_stay_whole_and_prose_fits() -> None:
    text = (
        f"Words before it, then `{COMMAND}` and words that follow, up to {LINK} and on from there "
        f"until the end.\n\n- an item whose words go on for longer than one line of this terminal "
        f"has\n\n```sh\n{COMMAND}\n```\n"
    )
    script = f"from cli.output.terminal import print_markdown\nprint_markdown({text!r}, margin=3)"
    lines = on_a_terminal(script, 60).splitlines()
    assert sum(COMMAND in line for line in lines) == 2
    assert sum(LINK in line for line in lines) == 1
    rest = [line for line in lines if COMMAND not in line and LINK not in line]
    assert [line for line in rest if len(line) > 60] == []
    assert " ".join(" ".join(lines).split()).startswith("Words before it, then lockbox rotate")
    at = next(place for place, line in enumerate(lines) if "• an item" in line)
    assert re.match(rf" {{{lines[at].index('an item')}}}\S", lines[at + 1]), "under its first word"
