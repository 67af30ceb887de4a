"""`oncall evaluate` from the command line, over a small index, without a model."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from cli.main import app
from config.errors import CopilotError
from tests.cli.test_commands import oncall

TEA = """\
# Tea

Green tea steeps for two minutes. Black tea steeps for four minutes.

## Kettle

The kettle is descaled every Friday. Ask the office manager for vinegar.
"""
GOLDEN = """\
- id: tea-1
  kind: lookup
  question: how long does green tea steep
  reference: Two minutes.
  must_include: [two minutes]
  evidence: [{document: tea, quote: "Green tea steeps for two minutes."}]
- id: tea-2
  kind: lookup
  question: when is the kettle descaled
  reference: Every Friday.
  must_include: [every Friday]
  evidence: [{document: tea, heading: Kettle, quote: "The kettle is descaled every Friday."}]
- id: tea-3
  kind: unanswerable
  question: what does a cup cost
"""
DOMAIN = """\
domain: tea
title: Tea help
sources: {files: [tea.md]}
evaluation: {golden: [../golden.yaml]}
"""


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("house")
    domains = folder / "config" / "domains"
    domains.mkdir(parents=True)
    (domains / "tea.yaml").write_text(DOMAIN)
    (domains / "tea.md").write_text(TEA)
    (folder / "golden.yaml").write_text(GOLDEN)
    (folder / "config" / "golden.yaml").write_text(GOLDEN)
    done = oncall(folder, "ingest", ONCALL_CONFIG_DIR=str(folder / "config"))
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(autouse=True)
def _in_the_house(house: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(house)
    monkeypatch.setenv("ONCALL_CONFIG_DIR", str(house / "config"))
    monkeypatch.setenv("ONCALL_DATA_DIR", str(house / "var"))
    monkeypatch.setenv("COLUMNS", "120")


def run(*words: str) -> tuple[int, str, str]:
    """Exit code, output and errors, as `main` would have them."""
    result = CliRunner().invoke(app, ["evaluate", *words])
    if isinstance(result.exception, CopilotError):
        return result.exception.exit_code, result.stdout, f"{result.stderr}{result.exception}\n"
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, result.stdout, result.stderr


def test_the_golden_files_of_every_domain_are_asked_and_reported(house: Path) -> None:
    code, said, _ = run("run", "--out", str(house / "out"))
    assert code == 0
    assert "nobody judged" in " ".join(said.split())
    report = json.loads((house / "out" / "tea" / "report.json").read_text())
    assert report["run"]["golden"] == ["golden.yaml"]
    assert report["metrics"]["all"]["cited"] == 1.0
    assert (house / "out" / "tea" / "report.html").exists()


def test_a_second_run_asks_nothing_again_unless_told_to(house: Path) -> None:
    golden = str(house / "golden.yaml")
    asked = (golden, "--domain", "tea", "--json")
    run(*asked)
    kept = json.loads(run(*asked)[1])
    anew = json.loads(run(*asked, "--anew")[1])
    assert (kept["run"]["asked"], kept["run"]["kept"]) == (0, 3)
    assert (anew["run"]["asked"], anew["run"]["kept"]) == (3, 0)
    assert kept["metrics"]["all"]["cited"] == anew["metrics"]["all"]["cited"]


def test_limits_decide_the_exit_code_and_a_matrix_stands_in_one_table(house: Path) -> None:
    code, said, _ = run("run", "--fail-under", "cited=0.5", "--fail-over", "cited=0.9")
    assert code == 1
    assert "cited at most 0.9: it is 1" in said
    code, said, _ = run("run", "--matrix", "answer.effort=fast,standard", "retrieval.hyde=true")
    assert code == 0
    assert "answer.effort=fast" in said
    assert "answer.effort=standard" in said


def test_a_matrix_of_strategies_proposes_one_for_each_kind_of_question(house: Path) -> None:
    code, said, _ = run("run", "--matrix", "retrieval.strategy=hybrid,keyword,semantic")
    assert code == 0
    assert "strategy by kind of question" in said
    assert "nothing to change" in said
    code, said, _ = run("run", "--json", "--matrix", "retrieval.strategy=hybrid,keyword")
    printed = json.loads(said)
    assert set(printed) == {"retrieval.strategy=hybrid", "retrieval.strategy=keyword", "strategies"}
    assert {row["strategy"] for row in printed["strategies"]} == {"keyword"}
    (asked, *_) = printed["retrieval.strategy=keyword"]["questions"]
    assert (asked["strategy"], asked["searches"], asked["query_kind"] != "") == ("keyword", 1, True)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["golden.yaml", "--domain", "tee"], "did you mean 'tea'?"),
        (["gone.yaml", "--domain", "tea"], "gone.yaml: No such file"),
        (["golden.yaml"], "add --domain: tea"),
        (["run", "--fail-under", "sited=1"], "did you mean 'cited'?"),
        (["run", "--fail-under", "acceptable=1"], "add --judge"),
        (["run", "--matrix", "answer.effort=quick"], "'fast', 'standard' or 'thorough'"),
        (["run", "--matrix", "retrieval.rerank=both"], "ONCALL_CROSS_ENCODER"),
        (["run", "--prices", "cheap"], "as 0.25/2.00"),
        (["run", "--compare", "nothing.json"], "not a report"),
        (["run", "--out", "config/domains/tea.md"], "no report can be written here"),
        (["sheet", "nothing.json"], "not a report"),
        (["agreement", "gone.csv", "--report", "nothing.json"], "not a report"),
    ],
)
def test_what_cannot_be_is_said_in_one_line(house: Path, words: list[str], said: str) -> None:
    code, _, errors = run(*words)
    assert code in (1, 2)
    assert said in errors
    assert len(errors.strip().splitlines()) == 1


def test_a_judge_that_is_not_there_is_said_and_the_rest_runs(house: Path) -> None:
    code, _, errors = run("run", "--judge")
    assert code == 0
    assert "nobody judges; the rest runs" in errors
    code, _, errors = run("run", "--judge", "--fail-under", "acceptable=0.9")
    assert code == 2


def test_a_run_of_other_questions_is_nothing_to_compare_with(house: Path) -> None:
    run("run", "--out", str(house / "before"))
    report = house / "before" / "tea" / "report.json"
    report.write_text(report.read_text().replace('"tea-', '"coffee-'))
    code, _, errors = run("run", "--domain", "tea", "--compare", str(report))
    assert code == 2
    assert "asked none of these questions" in errors


def test_a_run_that_nobody_judged_has_no_agreement(house: Path) -> None:
    run("run", "--out", str(house / "unjudged"))
    report = str(house / "unjudged" / "tea")
    code, said, _ = run("sheet", report, "--out", str(house / "score.html"))
    assert code == 0
    assert "3 answers to score" in said
    (house / "human.csv").write_text("key,score\n")
    code, _, errors = run("agreement", str(house / "human.csv"), "--report", report)
    assert code == 2
    assert "run it again with --judge" in errors
