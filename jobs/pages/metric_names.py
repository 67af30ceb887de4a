"""Names of metrics for readers, with one sentence about each."""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from typing import NamedTuple


class MetricName(NamedTuple):
    label: str
    meaning: str
    """One sentence for readers new to the metric."""

    @property
    def alone(self) -> str:
        """The label when it appears without the row that names its denominator."""
        if not self.label.startswith("– "):
            return self.label
        label = self.label.removeprefix("– ").removeprefix("of these ")
        return f"{'shown passages' if 'shown' in self.label else 'answers'}: {label}"


_NAMES = {
    "questions": MetricName("questions", "How many golden questions this row or column is about."),
    "acceptable": MetricName(
        "acceptable", "Share of answers that the judge scored 4 or 5 of 5: an expert would send it."
    ),
    "incorrect": MetricName(
        "incorrect", "Share of answers that misinform a reader who acts on them. Lower is better."
    ),
    "judge_score": MetricName("score", "The judge's mean score, from 0 to 5."),
    "judge_supported": MetricName(
        "supported", "Share of an answer's sentences that the judge found held up by the passages."
    ),
    "cited": MetricName(
        "right document cited", "Share of replies that cite a document that holds the evidence."
    ),
    "cited_first": MetricName(
        "right document first", "Share of replies whose first citation is a right document."
    ),
    "fact_any": MetricName("a fact said", "Share of replies that say one of the facts literally."),
    "facts_all": MetricName(
        "all facts said", "Share of replies that say every literal fact that the expert listed."
    ),
    "evidence_all": MetricName(
        "evidence in context",
        "Share of questions for which every passage with evidence was before the answerer.",
    ),
    "evidence_each": MetricName(
        "evidence found, each", "Share of the passages with evidence that the answerer saw."
    ),
    "refused_right": MetricName(
        "refused, rightly", "Share of the unanswerable questions that were refused."
    ),
    "refused_wrong": MetricName(
        "refused, wrongly",
        "Share of the answerable questions that were refused. Lower is better.",
    ),
    "refusal_precision": MetricName(
        "refusal precision", "Of the refusals, the share that was right to refuse."
    ),
    "refusal_recall": MetricName(
        "refusal recall", "Of the questions that have no answer, the share that was refused."
    ),
    "clarified": MetricName(
        "asked back, rightly", "Share of the ambiguous questions that were answered by a question."
    ),
    "clarified_wrong": MetricName(
        "asked back, wrongly",
        "Share of the clear questions that were answered by a question. Lower is better.",
    ),
    "replied_answer": MetricName("answered", "Share of replies that are an answer."),
    "answer_wrong": MetricName(
        "– of these wrong, or in part",
        "Share of answers that lack a literal fact, cite no right document, or should not be "
        "there. Lower is better.",
    ),
    "answer_cited": MetricName(
        "– right document cited", "Among answers: the share that cites a right document."
    ),
    "answer_fact_any": MetricName("– a fact said", "Among answers: the share that says a fact."),
    "answer_facts_all": MetricName(
        "– all facts said", "Among answers: the share that says all facts."
    ),
    "replied_passages": MetricName(
        "passages found", "Share of replies that show passages and leave the answer to the reader."
    ),
    "passages_cited": MetricName(
        "– right document shown", "Among shown passages: the share with a right document."
    ),
    "passages_fact_any": MetricName(
        "– a fact shown", "Among shown passages: the share that holds a fact."
    ),
    "passages_facts_all": MetricName(
        "– all facts shown", "Among shown passages: the share that holds all facts."
    ),
    "replied_refusal": MetricName("refused", "Share of replies that say nothing was found."),
    "replied_question": MetricName("asked back", "Share of replies that ask back."),
    "grounded": MetricName(
        "grounded", "Share of an answer's statements that its cited passages hold up."
    ),
    "hallucinated": MetricName(
        "hallucinated",
        "Share of answers with a number, name or quote that no passage holds. Lower is better.",
    ),
    "citation_precision": MetricName(
        "citation precision", "Share of citations that open a passage with evidence."
    ),
    "citation_recall": MetricName(
        "citation recall", "Share of the evidence that some citation opens."
    ),
    "numbers_exact": MetricName(
        "numbers exact", "Share of replies that say every wanted number, unit and all."
    ),
}
_SEARCHED = {
    "recall@5": ("recall@5", "Share of the right {items} among the first 5."),
    "recall@10": ("recall@10", "Share of the right {items} among the first 10."),
    "precision@5": ("precision@5", "Share of the first 5 {items} that is right."),
    "f1@5": ("F1@5", "Harmonic mean of precision and recall of the first 5 {items}."),
    "ndcg@10": ("nDCG@10", "How near the top the right {items} are, 1 being the best order."),
    "mrr": ("MRR", "One divided by the rank of the first right one among the {items}, averaged."),
    "hit@5": ("hit rate@5", "Share of questions with a right one among the first 5 {items}."),
}
_SPENT = {
    "words": MetricName("words", "Mean length of a reply in words."),
    "answer_characters": MetricName("characters", "Mean length of a reply in characters."),
    "first_token_ms": MetricName(
        "first token, ms", "Mean time to the first words of a reply, in milliseconds."
    ),
    "total_ms": MetricName("whole reply, ms", "Mean time to the whole reply, in milliseconds."),
    "calls": MetricName("model calls", "Mean calls of the language model for one question."),
    "input_tokens": MetricName("tokens in", "Mean tokens sent to the model for one question."),
    "output_tokens": MetricName("tokens out", "Mean tokens that the model wrote for one question."),
    "cost": MetricName("cost, US$", "Mean cost of one question in US dollars."),
}

METRICS: dict[str, MetricName] = {
    **_NAMES,
    **{
        f"{unit}_{name}": MetricName(f"{unit} {label}", meaning.format(items=items))
        for unit, items in (("document", "documents"), ("evidence", "passages"))
        for name, (label, meaning) in _SEARCHED.items()
    },
    **_SPENT,
}
"""Metric → name and meaning, in display order."""

SHOWN = {name: metric.label for name, metric in METRICS.items()}
"""Metric → label, in display order."""

LOWER_IS_BETTER = frozenset(
    (
        *("incorrect", "answer_wrong", "refused_wrong", "clarified_wrong", "hallucinated"),
        *("total_ms", "first_token_ms", "cost", "calls", "input_tokens", "output_tokens"),
    )
)
NO_DIRECTION = frozenset(
    name for name in METRICS if name.startswith("replied_") or name in ("words", "questions")
) | {"answer_characters"}
"""Metrics for which neither more nor less is better."""
_WHOLE = frozenset(
    (
        *("questions", "answer_characters", "words", "total_ms", "first_token_ms"),
        *("input_tokens", "output_tokens"),
    )
)


def named(name: str) -> MetricName:
    """The name of a metric; an unknown one is its own label."""
    return METRICS.get(name) or MetricName(name, "")


def in_order(names: AbstractSet[str]) -> list[str]:
    """Known metrics in display order, then the others by name."""
    return [name for name in METRICS if name in names] + sorted(names - METRICS.keys())


def figure(name: str, value: float | None) -> str:
    """Format a metric; empty for None.

    Counts have no decimals, costs below 0.01 two significant digits, others two decimals."""
    if value is None:
        return ""
    if name == "cost":
        return f"{value:.2g}" if abs(value) < 0.01 else f"{value:.2f}"
    return f"{value:,.0f}" if name in _WHOLE else f"{value:.2f}"
