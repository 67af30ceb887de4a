"""One answer against its golden question, and many of them summed up."""

from __future__ import annotations

import html
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from agents.answer import Answer
from jobs.golden import GoldenQuestion

# Not by the Markdown parser: facts and quotes are pieces, cut anywhere, and both must end alike.
_MARKUP = (
    (re.compile(r"<br\s*/?>|</?[a-zA-Z][^<>]*>"), " "),
    (re.compile(r"!?\[([^\[\]]*+)\]\([^()]*+\)"), r"\1"),
    (re.compile(r"\s?\[\^?\d{1,3}\]"), " "),
    # Brackets that are left: a quote that ends inside a link.
    (re.compile(r"[\[\]]"), ""),
    (re.compile(r"[*_`|\\#~]|^[ \t]*+>", re.MULTILINE), " "),
)
_SAME = str.maketrans(
    {"’": "'", "‘": "'", "“": '"', "”": '"', "–": "-", "—": "-", "‑": "-", "\u00a0": " "}
)


def plain(text: str) -> str:
    """Lower case, one space, no markup: what two writings of one fact have in common."""
    for pattern, replacement in _MARKUP:
        text = pattern.sub(replacement, text)
    return " ".join(html.unescape(text).translate(_SAME).lower().split())


def says(text: str, fact: str) -> bool:
    """Whether the fact stands in the text as words of its own: `no` is not in `note`."""
    wanted = plain(fact)
    return bool(wanted) and re.search(rf"(?<!\w){re.escape(wanted)}(?!\w)", plain(text)) is not None


def score(question: GoldenQuestion, answer: Answer) -> dict[str, float]:
    """Metric → 0 to 1 for this question; only the metrics that apply to its kind."""
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
    cited = [citation.document in question.documents for citation in answer.citations]
    scores |= {
        "cited": float(any(cited)),
        "cited_first": float(cited[:1] == [True]),
        "refused_wrong": refused,
        "clarified_wrong": float(answer.path == "ambiguous_query"),
        "answer_characters": float(len(answer.text)),
    }
    if question.must_include:
        facts = [says(answer.text, fact) for fact in question.must_include]
        scores |= {"fact_any": float(any(facts)), "facts_all": float(all(facts))}
    return scores


def acceptable(question: GoldenQuestion, answer: Answer) -> bool | None:
    """Whether an expert would accept the answer, or that there is none: it says all literal facts
    and cites a right document. None where the golden question can't tell: an ambiguous one, one
    without such facts, and a question back."""
    if question.kind == "ambiguous" or answer.path == "ambiguous_query":
        return None
    if question.kind == "unanswerable" or answer.path == "no_answer_found":
        return question.kind == "unanswerable" and answer.path == "no_answer_found"
    if not question.must_include:
        return None
    cited = any(citation.document in question.documents for citation in answer.citations)
    return cited and all(says(answer.text, fact) for fact in question.must_include)


def evidence_found(question: GoldenQuestion, answer: Answer) -> list[bool]:
    """For each evidence passage, whether the answerer saw it, in the named document."""
    seen: dict[str, str] = defaultdict(str)
    for chunk in answer.context:
        seen[chunk.document_id] += f" {' '.join(chunk.heading_path)} {chunk.text}\n"
    shown = {document: plain(text) for document, text in seen.items()}
    return [plain(one.quote) in shown.get(one.document, "") for one in question.evidence]


def summed_up(
    scored: Iterable[tuple[GoldenQuestion, Mapping[str, float]]],
) -> dict[str, dict[str, float]]:
    """Group (`all`, then each kind) → mean of every metric over the questions it applies to."""
    values: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for question, metrics in scored:
        for group in ("all", question.kind):
            values[group]["questions"].append(1.0)
            for name, value in metrics.items():
                values[group][name].append(value)
    return {
        group: {name: sum(of) if name == "questions" else mean(of) for name, of in metrics.items()}
        for group, metrics in values.items()
    }


def mean(values: Sequence[float]) -> float:
    return round(sum(values) / len(values), 4) if values else 0.0
