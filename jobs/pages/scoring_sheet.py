"""A self-contained page on which an expert scores answers blind."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

from jobs.evaluation.human_scores import COLUMNS, ScoredAnswer, answers_of
from jobs.evaluation.report import EvaluationReport
from jobs.pages.questions import answer_html

_TEMPLATE = Path(__file__).with_name("sheet.html")
_LONGEST_QUOTE = 300


def scoring_sheet(
    report: EvaluationReport, *, questions: int | None = None, seed: int = 0
) -> tuple[str, int]:
    """Returns the page and the number of answers on it.

    `questions`: size of a random sample; None: all. The sample is uniform, so that agreement with
    the judge holds for the whole run. Answers of the system and the baseline are shuffled. The
    page contains neither verdicts nor the names of systems."""
    chance = random.Random(seed)  # noqa: S311  # an order, no secret
    answers = list(answers_of(report).values())
    if questions is not None:
        named = sorted({one.entry.id for one in answers})
        drawn = set(chance.sample(named, min(questions, len(named))))
        answers = [one for one in answers if one.entry.id in drawn]
    chance.shuffle(answers)
    data = {
        "id": report.run.id,
        "title": f"Score the answers: {report.run.domain}",
        "columns": COLUMNS,
        "answers": [_as_row(one) for one in answers],
    }
    # `</script>` ends a script element, even inside a string.
    text = json.dumps(data, ensure_ascii=False).replace("<", "\\u003c")
    return _TEMPLATE.read_text(encoding="utf-8").replace("{{data}}", text), len(answers)


def _as_row(one: ScoredAnswer) -> dict[str, Any]:
    entry = one.entry
    options = "".join(f"\n- {option}" for option in entry.options)
    return {
        "key": one.key,
        "id": entry.id,
        "kind": entry.kind.replace("_", " "),
        "question": entry.question,
        "history": [turn.model_dump() for turn in entry.history],
        "reference": entry.reference,
        "facts": [*entry.must_include, *entry.rubric],
        "instructions": entry.instructions,
        "evidence": [
            {
                "quote": proof.quote,
                "place": " › ".join(filter(None, (proof.document, proof.heading))),
            }
            for proof in entry.evidence
        ],
        "answer": answer_html(entry.answer + ("\n" + options if options else "") or "(no answer)"),
        "citations": [
            f"[{cited.number}] {' › '.join(filter(None, (cited.title, cited.heading)))}: "
            f"{' '.join(cited.quote.split())[:_LONGEST_QUOTE]}"
            for cited in entry.citations
        ],
    }
