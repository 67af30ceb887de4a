"""Metrics of an answer's text and citations against its golden question, without a judge."""

from __future__ import annotations

from collections import defaultdict
from statistics import fmean

from agents.answer import CITATION, Answer, Citation
from agents.checks.groundedness import groundedness
from agents.context.sources import Source
from enrichment.chunk import Chunk, Unit
from enrichment.language.quantities import quantities
from enrichment.language.words import sentences
from jobs.evaluation.metrics.retrieval import GivenReply
from jobs.golden.check import plain, says
from jobs.golden.questions import Evidence, GoldenQuestion


def answer_metrics(reply: GivenReply) -> dict[str, float]:
    """Metric → value, for the metrics that apply to this question and this kind of reply."""
    answer, question = reply.answer, reply.question
    refused = answer.found_nothing
    metrics: dict[str, float] = {}
    if question.kind not in ("ambiguous", "proposed"):
        unanswerable = question.kind == "unanswerable"
        if refused:
            metrics["refusal_precision"] = float(unanswerable)
        if unanswerable:
            metrics["refusal_recall"] = float(refused)
    if answer.from_documents:
        checked = groundedness(answer.text, _sources(answer), question=question.question)
        metrics |= {
            "grounded": checked.score,
            "hallucinated": float(bool(checked.untraceable)),
        }
    if answer.from_documents or answer.passages:
        metrics |= _cited(reply)
        metrics |= _numbers(reply)
    return metrics | _spent(reply)


def _sources(answer: Answer) -> list[Source]:
    """Item n - 1: the section that citation `[n]` opens, as passages that the answerer saw."""
    by_number = {one.number: one for one in answer.citations}
    return [_source(by_number.get(n), answer) for n in range(1, max(by_number, default=0) + 1)]


def _source(citation: Citation | None, answer: Answer) -> Source:
    if citation is None:
        return _quoted("", "", "", "")  # a number without a citation supports nothing
    section = [chunk for chunk in answer.context if _opens(citation, chunk, answer.context)]
    if not section:
        return _quoted(citation.document, citation.title, citation.heading, citation.quote)
    return Source(chunks=tuple(section), text="\n\n".join(chunk.text for chunk in section))


def _quoted(document: str, title: str, heading: str, quote: str) -> Source:
    """A source made from a citation's quote, for passages missing from the answerer's context."""
    chunk = Chunk(
        id="",
        document_id=document,
        document_title=title,
        kind="text",
        position=0,
        heading_path=(heading,) if heading else (),
        text=quote,
        index_text=quote,
        tokens=0,
        units=tuple(Unit(kind="sentence", text=one, index_text=one) for one in sentences(quote)),
    )
    return Source(chunks=(chunk,), text=quote)


def _opens(citation: Citation, chunk: Chunk, context: tuple[Chunk, ...]) -> bool:
    if citation.chunk_id:
        cited = next((one for one in context if one.id == citation.chunk_id), None)
        return cited is not None and (
            chunk.id == cited.id
            or (
                bool(chunk.heading_path)
                and (chunk.document_id, chunk.heading_path)
                == (cited.document_id, cited.heading_path)
            )
        )
    return (chunk.document_id, chunk.heading) == (citation.document, citation.heading)


def _cited(reply: GivenReply) -> dict[str, float]:
    """Precision: share of citations that open evidence. Recall: share of evidence opened."""
    evidence, citations = reply.question.evidence, reply.answer.citations
    if not evidence:
        return {}
    opened = [[_shows(citation, one, reply.answer) for one in evidence] for citation in citations]
    if not opened:
        return {"citation_recall": 0.0}
    return {
        "citation_recall": fmean(map(any, zip(*opened, strict=True))),
        "citation_precision": fmean(map(any, opened)),
    }


def _shows(citation: Citation, evidence: Evidence, answer: Answer) -> bool:
    if citation.document != evidence.document:
        return False
    quote = plain(evidence.quote)
    section = _source(citation, answer)
    held = plain(f"{citation.heading} {section.text} {citation.quote}")
    return bool(quote) and quote in held


def _numbers(reply: GivenReply) -> dict[str, float]:
    """Whether the answer contains every quantity of the required facts, including units."""
    facts = [fact for fact in reply.question.must_include if quantities(fact)]
    if not facts:
        return {}
    text = _text(reply.answer)
    amounts = quantities(plain(text))
    exact = [
        says(text, fact)
        or all(any(one.agrees(other) for other in amounts) for one in quantities(plain(fact)))
        for fact in facts
    ]
    return {"numbers_exact": float(all(exact))}


def _spent(reply: GivenReply) -> dict[str, float]:
    answer = reply.answer
    spent = {
        "words": float(len(CITATION.sub("", answer.text).split())),
        "total_ms": round(reply.total_ms, 1),
        "calls": float(answer.usage.calls),
        "input_tokens": float(answer.usage.input_tokens),
        "output_tokens": float(answer.usage.output_tokens),
    }
    if reply.first_token_ms is not None:
        spent["first_token_ms"] = round(reply.first_token_ms, 1)
    return spent


REPLIES = ("answer", "passages", "refusal", "question")
"""Kinds of reply; see `reply_of`."""


def score(question: GoldenQuestion, answer: Answer) -> dict[str, float]:
    """Metric → value, for the metrics that apply to this kind of question and of reply.

    Values are 0 to 1, except `answer_characters`."""
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
    """Metrics with the kind of reply as prefix: answers and passages are not comparable."""
    kind = reply_of(answer)
    if kind not in ("answer", "passages"):
        return {}
    scores: dict[str, float] = {}
    accepted = acceptable(question, answer)
    if kind == "answer" and accepted is not None:
        scores["answer_wrong"] = float(not accepted)
    if question.answerable:
        measures = _facts_and_citations(question, answer)
        scores |= {f"{kind}_{name}": value for name, value in measures.items()}
    return scores


def _due(question: GoldenQuestion, answer: Answer) -> dict[str, float]:
    if question.kind == "proposed":
        return {}
    refused = float(answer.path == "no_answer_found")
    if question.kind == "unanswerable":
        return {"refused_right": refused}
    hits = evidence_found(question, answer)
    scores = {"evidence_all": float(all(hits)), "evidence_each": fmean(hits)} if hits else {}
    if question.kind == "ambiguous":
        return {**scores, "clarified": float(answer.path == "ambiguous_query")}
    first = [citation.document in question.documents for citation in answer.citations[:1]]
    return {
        **scores,
        **_facts_and_citations(question, answer),
        "cited_first": float(first == [True]),
        "refused_wrong": refused,
        "clarified_wrong": float(answer.path == "ambiguous_query"),
        "answer_characters": float(len(answer.text)),
    }


def _facts_and_citations(question: GoldenQuestion, answer: Answer) -> dict[str, float]:
    scores = {"cited": float(_cites_a_right_document(question, answer))}
    if question.must_include:
        facts = _facts_said(question, answer)
        scores |= {"fact_any": float(any(facts)), "facts_all": float(all(facts))}
    return scores


def _cites_a_right_document(question: GoldenQuestion, answer: Answer) -> bool:
    return any(citation.document in question.documents for citation in answer.citations)


def _facts_said(question: GoldenQuestion, answer: Answer) -> list[bool]:
    return [says(_text(answer), fact) for fact in question.must_include]


def _text(answer: Answer) -> str:
    # Passages show matching words in bold, even inside `sign-off`.
    return answer.text.replace("**", "") if answer.passages else answer.text


def acceptable(question: GoldenQuestion, answer: Answer) -> bool | None:
    """Whether an expert would accept the reply: it contains all literal facts and cites a right
    document, or rightly refuses. Passages count like an answer.

    None when this can't be decided: an ambiguous or proposed question, one without literal facts,
    or a clarifying question as reply."""
    if question.kind in ("ambiguous", "proposed") or answer.path == "ambiguous_query":
        return None
    if question.kind == "unanswerable" or answer.path == "no_answer_found":
        return question.kind == "unanswerable" and answer.path == "no_answer_found"
    if not question.must_include:
        return None
    return _cites_a_right_document(question, answer) and all(_facts_said(question, answer))


def evidence_found(question: GoldenQuestion, answer: Answer) -> list[bool]:
    """For each evidence quote, whether the answerer's context has it in the named document."""
    passages: dict[str, str] = defaultdict(str)
    for chunk in answer.context:
        passages[chunk.document_id] += f" {' '.join(chunk.heading_path)} {chunk.text}\n"
    texts = {document: plain(text) for document, text in passages.items()}
    return [plain(one.quote) in texts.get(one.document, "") for one in question.evidence]
