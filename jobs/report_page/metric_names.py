"""What metrics are called for readers."""

from __future__ import annotations

SHOWN = {
    "questions": "questions",
    "cited": "right document cited",
    "cited_first": "right document first",
    "fact_any": "a fact said",
    "facts_all": "all facts said",
    "evidence_all": "evidence in context",
    "refused_right": "refused, rightly",
    "refused_wrong": "refused, wrongly",
    "clarified": "asked back, rightly",
    "clarified_wrong": "asked back, wrongly",
    "replied_answer": "answered",
    "answer_wrong": "– of these wrong, or in part",
    "answer_cited": "– right document cited",
    "answer_fact_any": "– a fact said",
    "answer_facts_all": "– all facts said",
    "replied_passages": "passages found",
    "passages_cited": "– right document shown",
    "passages_fact_any": "– a fact shown",
    "passages_facts_all": "– all facts shown",
    "replied_refusal": "refused",
    "replied_question": "asked back",
    "answer_characters": "characters",
}
"""Metric → its name for readers, in order."""


def figure(name: str, value: float | None) -> str:
    """A metric as people read it: whole where it counts things, else to two places."""
    if value is None:
        return ""
    return f"{value:.0f}" if name in _WHOLE else f"{value:.2f}"


_WHOLE = frozenset(
    (
        "questions",
        "answer_characters",
        "words",
        "total_ms",
        "first_token_ms",
        "input_tokens",
        "output_tokens",
    )
)
