"""What golden questions say of the confidence of their answers."""

from __future__ import annotations

from collections.abc import Sequence

from agents.answer import Answer
from agents.confidence import Judged, Threshold, measured
from jobs.evaluation.metrics.scoring import acceptable
from jobs.golden.golden_questions import GoldenQuestion


def threshold_by(max_wrong: float, answered: Sequence[tuple[GoldenQuestion, Answer]]) -> Threshold:
    """From the questions that were answered from documents and can be judged. Passages are no
    answer: their confidence is of something else."""
    judged: list[Judged] = []
    for question, answer in answered:
        accepted = acceptable(question, answer)
        if answer.from_documents and accepted is not None:
            judged.append(Judged(confidence=answer.confidence, acceptable=accepted))
    return measured(max_wrong, judged)
