from __future__ import annotations

from dataclasses import replace

import pytest

from agents.answer import Answer, Citation
from jobs.evaluation.metrics.answers import answer_metrics
from jobs.evaluation.metrics.retrieval import GivenReply, Retrieved, given_reply, retrieval_metrics
from jobs.golden.questions import GoldenQuestion
from tests.jobs.evaluation.test_evaluate import answer, chunk, cites

QUESTION = GoldenQuestion.model_validate(
    {
        "id": "q",
        "kind": "table",
        "question": "how old may a key get",
        "must_include": ["60 days"],
        "evidence": [
            {"document": "keys", "quote": "60 days in SG only"},
            {"document": "other", "quote": "nothing else"},
        ],
    }
)
UNANSWERABLE = GoldenQuestion(id="u", kind="unanswerable", question="what does a key cost")


def measured(said: Answer, question: GoldenQuestion = QUESTION) -> dict[str, float]:
    return answer_metrics(given_reply(question, said))


def test_a_refusal_is_right_where_there_is_no_answer() -> None:
    refusal = answer("I found no answer.", path="no_answer_found")
    assert measured(refusal)["refusal_precision"] == 0.0
    assert measured(refusal, UNANSWERABLE)["refusal_precision"] == 1.0
    assert measured(refusal, UNANSWERABLE)["refusal_recall"] == 1.0
    assert measured(answer("5 euros."), UNANSWERABLE)["refusal_recall"] == 0.0
    assert "refusal_precision" not in measured(answer("5 euros."), UNANSWERABLE)


def test_citations_count_where_they_open_evidence() -> None:
    held = answer(
        "It is 60 days [1], see also [2].",
        citations=(cites(), replace(cites("other"), number=2)),
        context=(chunk("| API key | 60 days in SG only |"), chunk("beside the point", "other")),
    )
    found = measured(held)
    assert (found["citation_precision"], found["citation_recall"]) == (0.5, 0.5)


def test_an_answer_without_citations_recalls_none_and_has_no_precision() -> None:
    found = measured(answer("It is 60 days."))
    assert found["citation_recall"] == 0.0
    assert "citation_precision" not in found


@pytest.mark.parametrize(
    ("text", "grounded", "hallucinated"),
    [
        ("A key may be 60 days old [1].", 1.0, 0.0),
        ("A key may be 90 days old [1].", 0.0, 1.0),
        ("A key may be 60 days old.", 0.0, 1.0),
    ],
)
def test_claims_are_held_against_what_they_cite(
    text: str, grounded: float, hallucinated: float
) -> None:
    cited = Citation(
        number=1,
        document="keys",
        title="Keys",
        heading="Age",
        url="",
        quote="A key may be 60 days old.",
    )
    found = measured(answer(text, citations=(cited,)))
    assert (found["grounded"], found["hallucinated"]) == (grounded, hallucinated)


@pytest.mark.parametrize(
    ("text", "exact"),
    [("60 days [1]", 1.0), ("sixty days [1]", 1.0), ("1,440 hours [1]", 1.0), ("6 days [1]", 0.0)],
)
def test_quantities_are_exact_in_any_writing(text: str, exact: float) -> None:
    assert measured(answer(text, citations=(cites(),)))["numbers_exact"] == exact


def test_a_refusal_has_no_numbers_and_no_citations_to_be_wrong() -> None:
    found = measured(answer("I found no answer.", path="no_answer_found"))
    assert not {"numbers_exact", "citation_recall", "grounded"} & found.keys()


def ranked(*chunks: tuple[str, tuple[int, ...]]) -> GivenReply:
    retrieved = tuple(
        Retrieved(chunk=str(place), document=document, heading="", evidence=evidence)
        for place, (document, evidence) in enumerate(chunks)
    )
    return replace(given_reply(QUESTION, answer("x")), retrieved=retrieved)


def test_retrieval_is_measured_by_document_and_by_evidence() -> None:
    reply = ranked(("noise", ()), ("keys", ()), ("keys", (0,)), ("keys", (0,)), ("other", (1,)))
    (found,) = retrieval_metrics([reply])
    # Documents in order: noise, keys, other.
    assert found["document_mrr"] == 0.5
    assert found["document_recall@5"] == 1.0
    assert found["document_precision@5"] == pytest.approx(2 / 5)
    assert found["document_f1@5"] == pytest.approx(2 * 0.4 / 1.4)
    # Chunks in order: noise, keys, keys with the first quote, other with the second; the fourth
    # says again what the third said.
    assert found["evidence_mrr"] == pytest.approx(1 / 3)
    assert found["evidence_recall@5"] == 1.0
    assert found["evidence_hit@5"] == 1.0


def test_evidence_that_was_never_retrieved_counts_as_missed() -> None:
    (found,) = retrieval_metrics([ranked(("noise", ()), ("keys", ()))])
    assert found["evidence_recall@10"] == 0.0
    assert found["evidence_ndcg@10"] == 0.0


def test_what_names_no_evidence_or_searched_nothing_has_no_metrics_of_retrieval() -> None:
    unanswerable = replace(ranked(("keys", ())), question=UNANSWERABLE)
    assert retrieval_metrics([unanswerable, ranked(), ranked(("keys", (0,)))])[:2] == [{}, {}]
    assert retrieval_metrics([]) == []
