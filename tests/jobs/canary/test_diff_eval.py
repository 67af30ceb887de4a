"""What an edit of a domain file does is known before it is merged."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

from cli.main import app
from config.domain import Domain
from config.errors import ConfigError, UsageError
from jobs.canary.diff import WITHOUT_EFFECT, config_changes, edited_domains
from playground.openai_stand_in import OpenAIStandIn
from tests.jobs.ingest.watched_domain import WatchedDomain, watched_domain


@pytest.fixture(scope="module")
def ingested(tmp_path_factory: pytest.TempPathFactory) -> WatchedDomain:
    domain = watched_domain(tmp_path_factory.mktemp("edited"))
    copilot = domain.copilot()
    assert copilot.ingest("security").failed == ()
    copilot.index.close()
    return domain


@pytest.fixture
def edit(ingested: WatchedDomain, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> WatchedDomain:
    """The domain file can be edited; how it was is in `old.yaml`, far away from its documents."""
    shutil.copy(ingested.file, tmp_path / "old.yaml")
    monkeypatch.setenv("ONCALL_CONFIG_DIR", str(ingested.settings.config_dir))
    monkeypatch.setenv("ONCALL_DATA_DIR", str(ingested.settings.data_dir))
    return ingested


def diff(edit: WatchedDomain, tmp_path: Path, *options: str, **keys: Any) -> tuple[int, str]:
    values = yaml.safe_load((tmp_path / "old.yaml").read_text(encoding="utf-8"))
    new = edit.folder / "config" / "edits" / "security.yaml"
    new.parent.mkdir(exist_ok=True)
    new.write_text(yaml.safe_dump({**values, **keys}), encoding="utf-8")
    try:
        words = ["config", "diff-eval", str(tmp_path / "old.yaml"), str(new), *options]
        result = CliRunner().invoke(app, words)
        if result.exception and not isinstance(result.exception, SystemExit):
            raise result.exception
        return result.exit_code, result.output
    finally:
        new.unlink()


def test_a_context_that_holds_too_little_is_caught(edit: WatchedDomain, tmp_path: Path) -> None:
    out = tmp_path / "comment.md"
    code, said = diff(edit, tmp_path, "--out", str(out), answer={"context_characters": 1_000})
    assert code == 1
    assert said.startswith("## security: **worse**: evidence in context ")
    assert "| `answer.context_characters` | None | 1000 |" in said
    assert "<details><summary>Worse: " in said
    assert out.read_text(encoding="utf-8") == said


def test_what_a_wrong_glossary_changes_is_shown_even_where_no_metric_moves(
    edit: WatchedDomain, tmp_path: Path
) -> None:
    _, said = diff(edit, tmp_path, glossary={"SG": ["Sweden"], "EU": ["Europe"]})
    assert "| `glossary.SG` | \\['Singapore'\\] | \\['Sweden'\\] |" in said
    assert "answers are others: read them" in said or "**worse**" in said
    assert "<details><summary>" in said


def test_a_limit_on_changed_answers_catches_a_wrong_glossary(
    edit: WatchedDomain, tmp_path: Path
) -> None:
    glossary = {"SG": ["Sweden"], "EU": ["Europe"]}
    code, said = diff(edit, tmp_path, "--max-changed", "0", glossary=glossary)
    assert code == 1
    assert "of the answers are others, at most 0" in said


def test_another_index_is_made_where_a_key_needs_it(edit: WatchedDomain, tmp_path: Path) -> None:
    code, said = diff(edit, tmp_path, chunks={"size": 200})
    assert "| `chunks.size` | 160 | 200 |" in said
    assert "20 golden questions" in said or "golden questions, answered without a model" in said
    assert code in (0, 1)


def test_a_limit_on_the_new_version_is_kept_or_fails(edit: WatchedDomain, tmp_path: Path) -> None:
    code, said = diff(edit, tmp_path, "--fail-under", "fact_any=1", title="Safety help")
    assert code == 1
    assert "fact_any at least 1: it is 0." in said


def test_what_cannot_change_an_answer_asks_nothing(edit: WatchedDomain, tmp_path: Path) -> None:
    code, said = diff(edit, tmp_path, "--fail-under", "cited=1", channels=["C0OTHER"])
    assert code == 0
    assert "nothing was asked" in said
    assert "| `channels` | \\['C0SECURITY'\\] | \\['C0OTHER'\\] |" in said


def test_an_edit_that_nobody_has_merged_starts_nothing_and_asks_no_tool(
    edit: WatchedDomain, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started = tmp_path / "started"
    server: dict[str, Any] = {
        "name": "Rota", "what": "who is on call", "allow": ["on_call"],
        "command": [sys.executable, "-c", f"open({str(started)!r}, 'w')"],
    }  # fmt: skip
    with OpenAIStandIn(lambda request: "NOTHING") as model:
        monkeypatch.setenv("OPENAI_BASE_URL", model.base_url)
        monkeypatch.setenv("ONCALL_CHAT_MODEL", "scripted")
        _, said = diff(edit, tmp_path, tools=[server], title="Safety help")
        assert model.requests
    assert "| `tools` |" in said
    assert not started.exists()


def test_a_command_is_started_only_where_the_installation_lets_files_do_so(
    edit: WatchedDomain, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = {"name": "Rota", "what": "who is on call", "allow": ["on_call"], "command": ["x"]}
    described = edit.copilot().domain("security").model_dump()
    domain = Domain.model_validate({**described, "tools": [server]})
    with OpenAIStandIn(lambda request: "NOTHING") as model:
        values = {"openai_base_url": model.base_url, "chat_model": "scripted"}
        edit.settings = edit.settings.model_copy(update=values)
        with pytest.raises(ConfigError, match="ONCALL_TOOL_COMMANDS"):
            edit.copilot().ask_as(domain)
        edit.settings = edit.settings.model_copy(update={"tool_commands": True})
        edit.copilot().ask_as(domain)


def test_files_that_say_the_same_say_so(edit: WatchedDomain, tmp_path: Path) -> None:
    assert diff(edit, tmp_path) == (0, "Both say the same.\n")


def test_without_golden_questions_the_remedy_is_told(edit: WatchedDomain, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"evaluation\.golden"):
        diff(edit, tmp_path, title="Safety help", evaluation={})


def test_a_broken_file_is_refused_with_its_line(tmp_path: Path) -> None:
    broken = tmp_path / "broken.yaml"
    broken.write_text("domain: tea\n", encoding="utf-8")
    with pytest.raises(ConfigError, match=r"broken\.yaml:1:1"):
        edited_domains(broken, broken)


def test_keys_without_effect_are_keys_of_the_domain_file() -> None:
    said = Domain.model_validate(
        {"domain": "tea", "title": "Tea", "sources": {"files": ["teas"]}}
    ).model_dump()
    for key in WITHOUT_EFFECT:
        held: Any = said
        for part in key.split("."):
            held = held[part]


def test_folders_are_compared_domain_by_domain(tmp_path: Path) -> None:
    for side, title in (("old", "Tea"), ("new", "Teas")):
        folder = tmp_path / side / "domains"
        folder.mkdir(parents=True)
        for name, said in (("tea", title), ("coffee", "Coffee")):
            values = {"domain": name, "title": said, "sources": {"files": [f"{name}s"]}}
            (folder / f"{name}.yaml").write_text(yaml.safe_dump(values), encoding="utf-8")
    ((name, (was, now)),) = edited_domains(tmp_path / "old", tmp_path / "new").items()
    assert name == "tea"
    assert was is not None
    assert now is not None
    assert was.path == now.path
    assert [one.key for one in config_changes(was, now)] == ["title"]
