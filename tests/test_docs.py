"""The documentation says what the code does."""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from bot.rotas.rota import read_rota
from cli.main import app
from cli.setup.checks import misses
from config.domain_files import read_domain

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


@pytest.mark.parametrize("page", OF_TODAY, ids=lambda page: page.name)
def test_whole_domain_files_in_the_pages_are_accepted(page: Path, tmp_path: Path) -> None:
    """Of their sources only what is in Drive: what else a team has is nobody's to check here."""
    for number, text in enumerate(domain_files_of(page)):
        path = tmp_path / f"{number}.yaml"
        path.write_text(text, encoding="utf-8")
        domain, problems = read_domain(path)
        assert problems == []
        assert domain is not None
        if not domain.sources.files:
            assert list(misses(domain, None)) == []


def test_rotas_in_the_pages_are_read(tmp_path: Path) -> None:
    (rota,) = [text for text in yaml_of(ROOT / "docs" / "on-call.md") if text.startswith("- {from")]
    (tmp_path / "rota.yaml").write_text(rota, encoding="utf-8")
    shifts = read_rota("rota.yaml", tmp_path).shifts(
        datetime(2026, 11, 1, tzinfo=UTC), datetime(2026, 12, 1, tzinfo=UTC)
    )
    assert [one.who for one in shifts] == ["U0123456789", "dana@example.com"]


def yaml_of(page: Path) -> list[str]:
    text = page.read_text(encoding="utf-8")
    return re.findall(r"^```yaml\n(.*?)^```", text, re.DOTALL | re.MULTILINE)


def domain_files_of(page: Path) -> list[str]:
    return [text for text in yaml_of(page) if re.search(r"^domain:", text, re.MULTILINE)]
