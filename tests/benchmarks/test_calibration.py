from __future__ import annotations

import json
from pathlib import Path

import pytest

from agents.confidence import WRITTEN
from benchmarks.calibration import fit, left_out, read_judged


@pytest.fixture
def judged(tmp_path: Path) -> Path:
    """Grounded answers were accepted, of the others one in five."""
    lines = [
        {
            "domain": f"d{number % 3}",
            "path": "company_specific_rag_success",
            "calls": 3,
            "confidence_parts": {"groundedness": grounded, "sufficiency": 0.5},
            "score": 5 if grounded > 0.5 or number % 5 == 0 else 2,
        }
        for number in range(90)
        for grounded in (0.2, 0.9)
    ]
    lines += [
        {**lines[0], "path": "small_talk"},
        {**lines[0], "calls": 0},
        {**lines[0], "confidence_parts": {"share said": 0.4}},
    ]
    path = tmp_path / "judged.jsonl"
    path.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    return path


def test_only_what_a_model_said_of_documents_is_fitted(judged: Path) -> None:
    assert len(read_judged(judged)) == 180


def test_the_fit_finds_what_was_accepted_also_where_it_did_not_look(judged: Path) -> None:
    answers = read_judged(judged)
    fitted = fit(WRITTEN, answers, pull=2.0)
    assert fitted.probability({"groundedness": 0.9}) > 0.85
    assert fitted.probability({"groundedness": 0.2}) < 0.35
    sure = left_out(WRITTEN, answers, pull=2.0)
    assert sure[[one.right for one in answers]].mean() > 0.75


def test_too_few_answers_change_nothing(judged: Path) -> None:
    assert fit(WRITTEN, read_judged(judged)[:10], pull=2.0) is WRITTEN
