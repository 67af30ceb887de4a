"""`oncall evaluate --judge`, from the command line to the report."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from agents.judging.corrections import CorrectionStore
from agents.judging.judge import Correction
from cli.evaluation.evaluate import app
from cli.evaluation.systems import judge_of
from config.errors import ConfigError
from config.settings import read_settings
from oncall import Copilot
from playground.openai_stand_in import OpenAIStandIn, Request

GOLDEN = """
- id: tea-001
  kind: lookup
  question: how long does tea steep?
  reference: Two minutes.
  evidence: [{document: tea, heading: Tea, quote: two minutes}]
- id: tea-002
  kind: lookup
  question: how hot is the water?
  reference: Ninety degrees.
"""
VERDICT = {
    "reasoning": "As the page says.",
    "missing": [],
    "unsupported": [],
    "incorrect": False,
    "feedback": "",
    "score": 5,
}


def scripted(request: Request) -> str | dict[str, Any]:
    if request.name == "score_answer":
        return VERDICT
    if request.name == "plan":
        return {"question": "", "kind": "in_domain"}
    return {"documents": []} if request.name == "sources" else "ANSWER\nTwo minutes [1]."


def judge_models(server: OpenAIStandIn) -> list[str]:
    return [one.body["model"] for one in server.requests if one.name == "score_answer"]


@pytest.fixture
def golden(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    domains = tmp_path / "config" / "domains"
    domains.mkdir(parents=True)
    (domains / "tea.yaml").write_text(
        "domain: tea\ntitle: Tea\nchannels: [C0TEA]\nsources: {files: [tea.md]}\n"
        "answer: {cache: {enabled: false}}\n"
    )
    (domains / "tea.md").write_text("# Tea\n\nTea steeps for two minutes.\n")
    (tmp_path / "golden.yaml").write_text(GOLDEN)
    monkeypatch.setenv("ONCALL_EMBEDDING_MODEL", "hashed")
    return tmp_path / "golden.yaml"


def evaluated(golden: Path, *options: str) -> dict[str, Any]:
    words = ["evaluate", str(golden), "--domain", "tea", "--json", *options]
    done = CliRunner().invoke(app, words, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    report: dict[str, Any] = json.loads(done.stdout)
    return report


def test_every_answer_is_judged_once_by_the_model_that_is_named_for_it(
    golden: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with OpenAIStandIn(scripted) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        monkeypatch.setenv("ONCALL_CHAT_MODEL", "writer")
        monkeypatch.setenv("ONCALL_JUDGE_MODEL", "strict")
        Copilot(read_settings()).ingest("tea")
        report = evaluated(golden, "--judge")
        again = evaluated(golden, "--judge")
        assert judge_models(server) == ["strict", "strict"]
        own = _own(golden, monkeypatch)
    assert report["run"]["judge_model"] == "strict"
    assert report["metrics"]["all"]["acceptable"] == 1.0
    assert report["metrics"]["all"]["incorrect"] == 0.0
    assert [one["judge"]["score"] for one in report["questions"]] == [5, 5]
    assert again["metrics"]["all"]["acceptable"] == 1.0
    assert any(note.startswith("writer judged its own answers") for note in own["notes"])
    assert not any("judged its own" in note for note in report["notes"])


def _own(golden: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    monkeypatch.delenv("ONCALL_JUDGE_MODEL")
    return evaluated(golden, "--judge")


def test_a_judge_learns_from_the_corrections_of_its_domain(
    golden: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with OpenAIStandIn(scripted) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        monkeypatch.setenv("ONCALL_CHAT_MODEL", "writer")
        copilot = Copilot(read_settings())
        copilot.ingest("tea")
        CorrectionStore(copilot.index.engine).keep(
            "tea",
            [
                Correction(
                    question_id="tea-001", question="how long does tea steep?", answer="Long.",
                    judge_score=5, human_score=1, note="That is no time.",
                )
            ],
        )  # fmt: skip
        evaluated(golden, "--judge")
        asked = [one.text for one in server.requests if one.name == "score_answer"]
    taught = {("That is no time." in text, "steep?\n</data" in text) for text in asked}
    # The question that was corrected gets no help from its own correction.
    assert taught == {(True, False), (False, True)}


def test_without_a_model_nobody_can_judge(golden: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ONCALL_CHAT_MODEL", raising=False)
    copilot = Copilot(read_settings())
    with pytest.raises(ConfigError, match="--judge needs a language model"):
        judge_of(copilot, copilot.domain("tea"))
