"""The documentation says what the code does."""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from cli.main import app

ROOT = Path(__file__).parents[1]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
OF_TODAY = [page for page in PAGES if page.name != "CHANGELOG.md" and "decisions" not in page.parts]


def test_generated_parts_are_up_to_date() -> None:
    spec = importlib.util.spec_from_file_location("generate", ROOT / "docs" / "generate.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    stale = [
        path.name
        for path, text in module.generated().items()
        if path.read_text(encoding="utf-8") != text
    ]
    assert stale == [], "run `make docs`"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_between_pages_lead_somewhere(page: Path) -> None:
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    targets = re.findall(r"\]\(([^)#\s]+)[^)]*\)", text)
    broken = [
        target
        for target in targets
        if not re.match(r"[a-z]+:", target) and not (page.parent / target).exists()
    ]
    assert broken == []


@pytest.mark.parametrize("page", OF_TODAY, ids=lambda page: page.name)
def test_commands_and_options_of_ours_in_the_pages_exist(page: Path) -> None:
    commands = get_command(app)
    for call in calls_of(page):
        command: Any = commands
        words = call.split()
        while group := getattr(command, "commands", None):
            if words and "GOLDEN…" in str(command.subcommand_metavar) and words[0] not in group:
                words = ["run", *words]
            if not words or words[0].startswith("-"):
                break
            assert words[0] in group, f"`oncall {call}`"
            command, words = group[words[0]], words[1:]
        options = {name for one in command.params for name in (*one.opts, *one.secondary_opts)}
        named = {word.split("=")[0] for word in words if re.match(r"--\w", word)}
        assert named <= options | {"--help"}, f"`oncall {call}`"


def calls_of(page: Path) -> Iterator[str]:
    """Calls of the command line that a page gives: in blocks, and alone in a line's code."""
    text = page.read_text(encoding="utf-8")
    outside = re.sub(r"^ *```.*?^ *```", "", text, flags=re.DOTALL | re.MULTILINE)
    lines = re.findall(r"`(oncall [^`]+)`", outside)
    for block in re.findall(r"^ *```(?:sh|console)?\n(.*?)^ *```", text, re.DOTALL | re.MULTILINE):
        lines += block.replace("\\\n", " ").splitlines()
    for line in lines:  # Helm's release has our name
        yield from re.findall(r"(?:^|[\s/])(?<!helm install )oncall ([a-z][^|<>;&#)`]*)", line)
