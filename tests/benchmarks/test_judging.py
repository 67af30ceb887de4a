"""Blind judging: what a judge sees, and what is made of what they say."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks.judging import counting, joined, report, sheets, verdicts
from benchmarks.material.asked_sets import given_set, named_set, sampled
from benchmarks.with_a_model import kept
from jobs.evaluation.agreement import weighted_kappa
from jobs.evaluation.baseline import OVERLAP, PIECE, pieces
from jobs.evaluation.metrics.stats import wilson
from jobs.golden.questions import GoldenQuestion


def line(system: str, name: str, **more: Any) -> dict[str, Any]:
    return {
        "system": system,
        "set": "demo",
        "id": name,
        "kind": "lookup",
        "question": "how long?",
        "history": [],
        "reference": "5 days",
        "must_include": ["5 days"],
        "rubric": [],
        "evidence": [{"document": "a", "heading": "Ages", "quote": "5 days"}],
        "text": f"{len(name)} days [1]",
        "options": [],
        "citations": [
            {"number": 1, "document": "a", "title": "A", "heading": "Ages", "quote": "5 days " * 99}
        ],
        "nearest": [],
        "confidence": 0.9,
        "calls": 3,
        "input_tokens": 1_000,
        "words": 2,
        "all_evidence_in_context": True,
        **more,
    }


def answers(folder: Path, system: str, names: str) -> Path:
    path = folder / f"{system}.jsonl"
    path.write_text("".join(json.dumps(line(system, name)) + "\n" for name in names), "utf-8")
    return path


def verdict(name: str, label: str, score: int, **more: Any) -> str:
    said = {"id": name, "label": label, "score": score, "acceptable": score >= 4}
    return json.dumps({**said, "incorrect": False, "padded": False, "note": "", **more}) + "\n"


def test_a_judge_sees_no_system_and_no_order(tmp_path: Path) -> None:
    names = "abcdefghij"
    files = [answers(tmp_path, system, names) for system in ("secretly-ours", "secretly-plain")]
    assert sheets(files, tmp_path / "out", size=4, seed=0) == 10
    shown = [path.read_text("utf-8") for path in (tmp_path / "out/sheets").iterdir()]
    key = json.loads((tmp_path / "out/key.json").read_text("utf-8"))
    assert len(shown) == 6
    assert not any("secretly" in text for text in shown)
    assert {one["A"]["system"] for one in key.values()} == {"secretly-ours", "secretly-plain"}


def test_only_questions_that_all_answered_are_judged(tmp_path: Path) -> None:
    files = [answers(tmp_path, "ours", "abc"), answers(tmp_path, "plain", "bcd")]
    assert sheets(files, tmp_path / "out", size=25, seed=0) == 2


def test_the_size_of_quotes_tells_nothing(tmp_path: Path) -> None:
    sheets([answers(tmp_path, "ours", "a")], tmp_path / "out", size=25, seed=0)
    text = (tmp_path / "out/sheets/part-01.md").read_text("utf-8")
    assert max(map(len, text.split("“")[1:])) < 300


@pytest.mark.parametrize(
    "text", [verdict("demo/a", "A", 6), verdict("demo/a", "A", 2, acceptable=True), "{}", "no JSON"]
)
def test_a_verdict_that_breaks_the_rules_names_its_line(tmp_path: Path, text: str) -> None:
    path = tmp_path / "anna.jsonl"
    path.write_text(verdict("demo/a", "B", 4) + text, "utf-8")
    with pytest.raises(ValueError, match=r"anna\.jsonl:2"):
        list(verdicts("anna", [path]))


def test_the_first_judge_counts_and_both_are_compared(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    sheets([answers(tmp_path, "ours", "abcd")], out, size=25, seed=0)
    for judge, scores in (("anna", (5, 4, 2)), ("ben", (5, 4, 1, 3))):
        texts = [verdict(f"demo/{n}", "A", s) for n, s in zip("abcd", scores, strict=False)]
        (tmp_path / judge).write_text("".join(texts), "utf-8")
    judges = {judge: [tmp_path / judge] for judge in ("anna", "ben")}
    scores = {one.key: one.verdict.score for one in counting(joined(out, judges))}
    assert scores == {"demo/a": 5, "demo/b": 4, "demo/c": 2, "demo/d": 3}
    report(out, judges)
    said = capsys.readouterr().out
    assert "0.50 (0.15–0.85)" in said
    assert "anna and ben, 3 answers" in said
    written = [json.loads(text) for text in (out / "judged.jsonl").read_text("utf-8").splitlines()]
    assert [one["judged"]["acceptable"] for one in written] == [True, True, False, False]
    assert [one["score"] for one in written] == [5, 4, 2, 3]


def test_agreement_counts_how_far_judges_are_apart() -> None:
    assert weighted_kappa([0, 3, 5], [0, 3, 5]) == 1.0
    near, far = (
        weighted_kappa([0, 3, 5, 5], [1, 3, 5, 4]),
        weighted_kappa([0, 3, 5, 5], [5, 3, 0, 5]),
    )
    assert far < 0 < near < 1


def test_an_interval_of_a_share_stays_between_none_and_all() -> None:
    assert wilson(0, 0) == (0.0, 1.0)
    low, high = wilson(20, 20)
    assert 0.83 < low < 0.85
    assert high == pytest.approx(1.0)


def test_an_answer_is_kept_and_an_error_asked_again(tmp_path: Path) -> None:
    path = tmp_path / "ours.jsonl"
    lines = [line("ours", "a"), line("ours", "b", error="timed out")]
    path.write_text("".join(json.dumps(one) + "\n" for one in lines), "utf-8")
    assert [one["id"] for one in kept(path)] == ["a"]


def test_a_sample_keeps_the_share_of_every_kind() -> None:
    one = given_set("x", [], [])
    kinds = ["lookup"] * 50 + ["table"] * 30 + ["ambiguous"] * 20
    asked = [
        (one, GoldenQuestion.model_validate({"id": str(n), "kind": kind, "question": "q"}))
        for n, kind in enumerate(kinds)
    ]
    some = sampled(asked, 10, seed=3)
    found = [golden.kind for _, golden in some]
    assert {kind: found.count(kind) for kind in found} == {"lookup": 5, "table": 3, "ambiguous": 2}
    assert some == sampled(asked, 10, seed=3)
    assert len(sampled(asked, 1_000, seed=3)) == 100


def test_a_named_set_is_asked_as_its_domain_ships() -> None:
    assert named_set("security").keys["glossary"]["SG"] == ["Singapore"]
    assert "channels" not in named_set("security").keys


def test_plain_pieces_lose_nothing() -> None:
    text = "\n\n".join(f"Sentence {n}. " * (n % 7) for n in range(200)).strip()
    found = list(pieces(text))
    assert max(map(len, found)) <= PIECE
    assert OVERLAP < PIECE // 2
    assert {word for one in found for word in one.split()} >= set(text.split())
