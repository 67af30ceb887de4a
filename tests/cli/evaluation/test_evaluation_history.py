"""`oncall evaluate history`, `show` and `--compare last`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from cli.main import app
from config.errors import UsageError
from config.settings import read_settings
from oncall import Copilot

GOLDEN = """
- {id: tea-001, kind: lookup, question: "how long does tea steep?", must_include: [two minutes],
   evidence: [{document: tea, heading: Tea, quote: two minutes}]}
"""


@pytest.fixture
def golden(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    domains = tmp_path / "config" / "domains"
    domains.mkdir(parents=True)
    (domains / "tea.yaml").write_text(
        "domain: tea\ntitle: Tea\nchannels: [C0TEA]\nsources: {files: [tea.md]}\n"
    )
    (domains / "tea.md").write_text("# Tea\n\nTea steeps for two minutes.\n")
    (tmp_path / "golden.yaml").write_text(GOLDEN)
    Copilot(read_settings()).ingest("tea")
    return tmp_path / "golden.yaml"


def said(*words: str) -> str:
    done = CliRunner().invoke(app, ["evaluate", *words], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.stdout


def test_runs_are_kept_listed_shown_and_compared_with(golden: Path, tmp_path: Path) -> None:
    assert "no runs yet" in said("history")
    with pytest.raises(UsageError, match="no such run is kept"):
        said("run", str(golden), "--domain", "tea", "--compare", "last")
    first: dict[str, Any] = json.loads(said("run", str(golden), "--domain", "tea", "--json"))
    again = json.loads(said("run", str(golden), "--domain", "tea", "--json", "--compare", "last"))
    assert again["compared"]["before"] == first["run"]["id"]
    listed = json.loads(said("history", "--domain", "tea", "--json"))
    assert {one["id"] for one in listed} == {first["run"]["id"], again["run"]["id"]}
    assert "questions" in said("history")
    said("show", first["run"]["id"], "--out", str(tmp_path / "out"))
    assert json.loads((tmp_path / "out" / "report.json").read_text()) == first
    assert "Runs of this domain" in (tmp_path / "out" / "report.html").read_text()
