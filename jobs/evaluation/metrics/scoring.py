"""One answer against its golden question, and many of them summed up."""

from __future__ import annotations

from collections import defaultdict

from agents.answer import Answer
from jobs.golden.golden_questions import GoldenQuestion
from jobs.golden.same_words import plain, says

REPLIES = ("answer", "passages", "refusal", "question")
"""Kinds of reply that are counted; see `reply_of`."""


def score(question: GoldenQuestion, answer: Answer) -> dict[str, float]:
    """Metric → 0 to 1 for this question; only the metrics that apply to its kind, and to the kind
    of reply."""
    replies = {f"replied_{kind}": float(kind == reply_of(answer)) for kind in REPLIES}
    return {**replies, **_due(question, answer), **_of_its_reply(question, answer)}


def reply_of(answer: Answer) -> str:
    """answer | passages | refusal | question; empty for small talk and general knowledge."""
    if answer.from_documents:
        return "answer"
    kinds = {
        "passages_found": "passages",
        "no_answer_found": "refusal",
        "ambiguous_query": "question",
    }
    return kinds.get(answer.path, "")


def _of_its_reply(question: GoldenQuestion, answer: Answer) -> dict[str, float]:
    """The same again among answers alone, and among passages alone: what holds for one kind of
    reply says nothing of the other."""
    kind = reply_of(answer)
    if kind not in ("answer", "passages"):
        return {}
    scores: dict[str, float] = {}
    accepted = acceptable(question, answer)
    if kind == "answer" and accepted is not None:
        scores["answer_wrong"] = float(not accepted)
    if question.answerable:
        found = _found(question, answer)
        scores |= {f"{kind}_{name}": value for name, value in found.items()}
    return scores


def _due(question: GoldenQuestion, answer: Answer) -> dict[str, float]:
    if question.kind == "proposed":
        return {}
    refused = float(answer.path == "no_answer_found")
    if question.kind == "unanswerable":
        return {"refused_right": refused}
    found = evidence_found(question, answer)
    scores = {
        "evidence_all": float(all(found)),
        "evidence_each": sum(found) / len(found) if found else 0.0,
    }
    if not found:
        scores = {}
    if question.kind == "ambiguous":
        return {**scores, "clarified": float(answer.path == "ambiguous_query")}
    first = [citation.document in question.documents for citation in answer.citations[:1]]
    return {
        **scores,
        **_found(question, answer),
        "cited_first": float(first == [True]),
        "refused_wrong": refused,
        "clarified_wrong": float(answer.path == "ambiguous_query"),
        "answer_characters": float(len(answer.text)),
    }


def _found(question: GoldenQuestion, answer: Answer) -> dict[str, float]:
    scores = {"cited": float(_cites_a_right_document(question, answer))}
    if question.must_include:
        facts = _facts_said(question, answer)
        scores |= {"fact_any": float(any(facts)), "facts_all": float(all(facts))}
    return scores


def _cites_a_right_document(question: GoldenQuestion, answer: Answer) -> bool:
    return any(citation.document in question.documents for citation in answer.citations)


def _facts_said(question: GoldenQuestion, answer: Answer) -> list[bool]:
    # Telling words are bold wherever they stand, also within `sign-off`.
    said = answer.text.replace("**", "") if answer.passages else answer.text
    return [says(said, fact) for fact in question.must_include]


def acceptable(question: GoldenQuestion, answer: Answer) -> bool | None:
    """Whether an expert would accept the answer, or that there is none: it says all literal facts
    and cites a right document. Passages that do are no answer, but their reader finds it. None
    where the golden question can't tell: an ambiguous one, one without such facts, and a question
    back."""
    if question.kind in ("ambiguous", "proposed") or answer.path == "ambiguous_query":
        return None
    if question.kind == "unanswerable" or answer.path == "no_answer_found":
        return question.kind == "unanswerable" and answer.path == "no_answer_found"
    if not question.must_include:
        return None
    return _cites_a_right_document(question, answer) and all(_facts_said(question, answer))


def evidence_found(question: GoldenQuestion, answer: Answer) -> list[bool]:
    """For each evidence passage, whether the answerer saw it, in the named document."""
    seen: dict[str, str] = defaultdict(str)
    for chunk in answer.context:
        seen[chunk.document_id] += f" {' '.join(chunk.heading_path)} {chunk.text}\n"
    shown = {document: plain(text) for document, text in seen.items()}
    return [plain(one.quote) in shown.get(one.document, "") for one in question.evidence]
