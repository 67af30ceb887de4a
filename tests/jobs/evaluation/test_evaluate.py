from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from agents.answer import Answer, Ask, Citation, Passage, Question
from agents.steps import Progress
from config.errors import ConfigError
from config.models import Prices, Usage
from enrichment.chunk import Chunk
from jobs.evaluation.comparison import compared, summed_up
from jobs.evaluation.evaluate import (
    AskingOptions,
    System,
    check_writable,
    evaluate,
    read_report,
    write_report,
)
from jobs.evaluation.judging import JudgedReplies
from jobs.evaluation.metrics.answers import REPLIES, acceptable, score
from jobs.evaluation.metrics.retrieval import GivenReply, given_reply
from jobs.evaluation.report import EvaluationReport, JudgedReply
from jobs.evaluation.report_questions import report_questions
from jobs.golden.check import says
from jobs.golden.questions import GoldenQuestion, load_golden
from jobs.pages.report import as_page

ROOT = Path(__file__).parents[3]
GOLDEN = """
- id: keys-001
  kind: table
  question: how old may a signing key get
  reference: 60 days.
  must_include: [60 days, no extension]
  evidence:
  - {document: keys, heading: Maximum age, quote: "60 days in SG only"}
- id: keys-002
  kind: unanswerable
  question: what does a key cost
- id: keys-003
  kind: ambiguous
  question: how old can it get
  evidence:
  - {document: keys, heading: Maximum age, quote: "60 days in SG only"}
"""


def chunk(text: str, document: str = "keys") -> Chunk:
    return Chunk(
        id=f"{document}-1",
        document_id=document,
        document_title="Keys",
        kind="table",
        position=0,
        heading_path=("Keys", "Maximum age"),
        text=text,
        index_text=text,
        tokens=10,
    )


def cites(document: str = "keys") -> Citation:
    return Citation(
        number=1, document=document, title="Keys", heading="Maximum age", url="u", quote="q"
    )


def answer(text: str, *, path: str = "company_specific_rag_success", **more: object) -> Answer:
    return Answer(text=text, path=path, confidence=0.9, **more)  # type: ignore[arg-type]


def ask(question: Question, progress: Progress | None) -> Answer:
    if "cost" in question.text:
        return answer("I found no answer.", path="no_answer_found")
    context = (chunk("| API key | **60 days** in SG&nbsp;only |"),)
    return answer("It is 60 days [1].", citations=(cites(),), context=context)


@pytest.fixture
def golden(tmp_path: Path) -> Path:
    path = tmp_path / "keys.yaml"
    path.write_text(GOLDEN, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("text", "fact", "found"),
    [
        ("It lasts **60 days**, in SG.", "60 days", True),
        ("| a | 60\n days |", "60 DAYS", True),
        ("run `lockbox scan`", "lockbox scan", True),
        ("It isn’t allowed", "isn't allowed", True),
        ("60 days [1] in SG", "60 days in SG", True),
        ("Not granted. Note this.", "no", False),
        ("160 days", "60 days", False),
        ("anything", "", False),
    ],
)
def test_facts_match_as_words_whatever_the_markup(text: str, fact: str, found: bool) -> None:
    assert says(text, fact) is found


def test_a_quote_may_end_inside_a_link() -> None:
    held = chunk("Ask to become a [licensed user](https://zoom.example/upgrade).")
    assert says(held.text, "to become a [licensed user]")


def evaluated(ask: Ask, golden: Path, **asking: object) -> EvaluationReport:
    return evaluate(
        System(name="agents", ask=ask),
        load_golden([golden]),
        domain="security",
        asking=AskingOptions(**asking),  # type: ignore[arg-type]
    )


def test_a_report_holds_what_the_contract_names(golden: Path, tmp_path: Path) -> None:
    report = evaluated(ask, golden)
    write_report(report, tmp_path / "out", as_page(report))
    written = json.loads((tmp_path / "out" / "report.json").read_text(encoding="utf-8"))
    assert written == report.model_dump(mode="json")
    assert read_report(tmp_path / "out") == report
    first = written["questions"][0]
    assert {"id", "kind", "question", "answer", "path", "confidence"} <= first.keys()
    assert {"metrics", "timings_ms", "calls", "tokens", "degraded"} <= first.keys()
    cited = {"document": "keys", "heading": "Maximum age", "url": "u"}
    assert first["citations"][0] | cited == first["citations"][0]
    assert first["context"][0]["document"] == "keys"
    assert first["context"][0]["heading"] == "Maximum age"
    assert first["evidence"][0]["found"] is True
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert "how old may a signing key get" in page


def test_each_kind_is_scored_by_what_is_due(golden: Path) -> None:
    metrics = evaluated(ask, golden).metrics
    assert metrics["table"]["cited"] == 1.0
    assert metrics["table"]["fact_any"] == 1.0
    assert metrics["table"]["facts_all"] == 0.0
    assert metrics["table"]["evidence_all"] == 1.0
    assert metrics["table"]["refused_wrong"] == 0.0
    assert metrics["unanswerable"]["refused_right"] == 1.0
    assert "cited" not in metrics["unanswerable"]
    assert metrics["ambiguous"]["clarified"] == 0.0
    assert "cited" not in metrics["ambiguous"]


def replies(*given: Answer) -> dict[str, float]:
    """Metrics of these replies to one table question."""
    asked = GoldenQuestion.model_validate(
        {"id": "q", "kind": "table", "question": "?", "must_include": ["60 days", "no extension"],
         "evidence": [{"document": "keys", "quote": "60 days in SG only"}]}
    )  # fmt: skip
    several = [asked.model_copy(update={"id": str(place)}) for place in range(len(given))]
    given_replies = [given_reply(*one) for one in zip(several, given, strict=True)]
    return summed_up(report_questions(given_replies, judged={}))["all"]


RIGHT = "60 days, no extension [1]"


def found(text: str, **more: object) -> Answer:
    cited = (cites(),)
    passages = (Passage(citation=cites(), text=text),)
    return answer(text, path="passages_found", citations=cited, passages=passages, **more)


def test_answers_passages_refusals_and_questions_back_are_counted_apart() -> None:
    metrics = replies(
        answer(RIGHT, citations=(cites(),)),
        answer(RIGHT, path="company_specific_rag_failure", citations=(cites("other"),)),
        found("60 days"),
        found("**60** days, no exten**sion**"),
        answer("I found no answer.", path="no_answer_found"),
        answer("Which?", path="ambiguous_query"),
        answer("Hello!", path="small_talk"),
        answer("Common knowledge.", path="general_llm_knowledge"),
    )
    shares = {name: metrics[f"replied_{name}"] for name in REPLIES}
    assert shares == {"answer": 0.25, "passages": 0.25, "refusal": 0.125, "question": 0.125}
    assert (metrics["answer_cited"], metrics["answer_facts_all"]) == (0.5, 1.0)
    assert metrics["answer_wrong"] == 0.5
    assert (metrics["passages_cited"], metrics["passages_fact_any"]) == (1.0, 1.0)
    assert metrics["passages_facts_all"] == 0.5


def test_an_answer_is_wrong_where_there_is_none_but_passages_are_none() -> None:
    asked = GoldenQuestion(id="q", kind="unanswerable", question="?")
    assert score(asked, answer("It is 5."))["answer_wrong"] == 1.0
    assert "answer_wrong" not in score(asked, found("60 days"))
    assert acceptable(asked, found("60 days")) is False


@pytest.mark.parametrize(
    ("reply", "accepted"),
    [
        (found(RIGHT), True),
        (found("60 days"), False),
        (replace(found(RIGHT), citations=(cites("other"),)), False),
    ],
)
def test_passages_are_acceptable_where_their_reader_finds_all(
    reply: Answer, accepted: bool, golden: Path
) -> None:
    assert acceptable(load_golden([golden])[0], reply) is accepted


def test_passages_say_nothing_of_the_confidence_of_answers(golden: Path) -> None:
    report = evaluated(lambda question, progress: found(RIGHT), golden, max_wrong=0.1)
    assert report.threshold is not None
    assert report.threshold.answers == 0


def test_a_wrong_answer_that_became_passages_got_better(golden: Path) -> None:
    before = evaluated(ask, golden)

    def passages(question: Question, progress: Progress | None) -> Answer:
        return replace(found("It is 60 days [1]."), context=ask(question, None).context)

    after = evaluated(passages, golden)
    assert "keys-001" in compared(before.questions, after.questions).better


def test_evidence_counts_only_in_its_own_document(golden: Path) -> None:
    question = load_golden([golden])[0]
    elsewhere = answer("60 days", context=(chunk("60 days in SG only", "other"),))
    assert score(question, elsewhere)["evidence_all"] == 0.0


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("- id: [", "golden.yaml:1:8"),
        ("a: 1", "1:1: expected a list"),
        ("- id: q1\n  kind: riddle\n  question: x", "golden.yaml:2:9: q1: kind: "),
        ("- id: q1\n  kind: lookup", "golden.yaml:1:3: q1: missing key 'question'"),
        ("- id: q1\n  kind: lookup\n  question: x\n  quetsion: y", "quetsion"),
        ("- just text", "golden.yaml:1:3"),
        ("", "no golden questions"),
    ],
)
def test_a_malformed_golden_file_is_named_with_the_place(
    text: str, complaint: str, tmp_path: Path
) -> None:
    path = tmp_path / "golden.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError, match=complaint):
        load_golden([path])


def test_a_missing_or_binary_golden_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"gone\.yaml"):
        load_golden([tmp_path / "gone.yaml"])
    binary = tmp_path / "binary.yaml"
    binary.write_bytes(b"\xff\xfe\x00\x01")
    with pytest.raises(ConfigError, match="UTF-8"):
        load_golden([binary])


def test_an_id_may_be_used_once(golden: Path) -> None:
    with pytest.raises(ConfigError, match="keys-001"):
        load_golden([golden, golden])


def test_two_runs_are_compared_by_metric_and_question(golden: Path) -> None:
    def better(question: Question, progress: Progress | None) -> Answer:
        one = ask(question, progress)
        return answer(one.text + " no extension", path=one.path, citations=one.citations)

    before, after = evaluated(ask, golden), evaluated(better, golden)
    change = compared(before.questions, after.questions, name="yesterday")
    facts = change.metrics["facts_all"]
    assert (facts.before, facts.after, facts.questions) == (0.0, 1.0, 1)
    assert change.before == "yesterday"
    assert "keys-003" in change.worse


def test_a_file_that_is_no_report_is_refused(tmp_path: Path) -> None:
    (tmp_path / "report.json").write_text("[]", encoding="utf-8")
    with pytest.raises(ConfigError, match="not a report"):
        read_report(tmp_path)


def test_the_demo_s_golden_files_are_well_formed() -> None:
    paths = sorted((ROOT / "playground/demo/golden").glob("*.yaml"))
    questions: list[GoldenQuestion] = load_golden(paths)
    assert len(questions) > 150


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("[" * 20_000, "nested too deeply"),
        ("- {id: a, kind: lookup, question: &a [*a]}", "recursive"),
    ],
)
def test_a_golden_file_that_no_question_can_be_made_of_is_named(
    tmp_path: Path, text: str, problem: str
) -> None:
    path = tmp_path / "broken.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError, match=r"broken\.yaml") as caught:
        load_golden([path])
    assert problem in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("place", ["report.txt", "report.txt/below", "/proc/none"])
def test_a_place_that_takes_no_report_is_named(tmp_path: Path, place: str) -> None:
    (tmp_path / "report.txt").write_text("mine")
    with pytest.raises(ConfigError, match="no report can be written here") as caught:
        check_writable(tmp_path / place)
    assert "--out" in caught.value.remedy
    assert (tmp_path / "report.txt").read_text() == "mine"


def test_an_evaluation_finds_the_threshold_that_its_answers_bear_out(golden: Path) -> None:
    found = evaluated(ask, golden, max_wrong=0.1).threshold
    # One question was answered, incompletely; a refusal and an ambiguous question bear nothing out.
    assert found is not None
    assert (found.answers, found.wrong, found.borne_out) == (1, 1, False)
    assert found.threshold == 0.9


def test_without_a_share_of_wrong_answers_there_is_no_threshold(golden: Path) -> None:
    assert evaluated(ask, golden).threshold is None


def test_proposed_questions_are_asked_and_not_counted(golden: Path) -> None:
    golden.write_text(GOLDEN + "- {id: keys-004, kind: proposed, question: and then}\n", "utf-8")
    report = evaluated(ask, golden)
    assert (report.metrics["all"]["questions"], report.metrics["proposed"]["questions"]) == (3, 1)
    assert any("1 proposed question was asked" in note for note in report.notes)


def test_without_a_model_the_report_says_that_nobody_judged(golden: Path) -> None:
    assert "nobody judged" in evaluated(ask, golden).notes[0]
    assert evaluated(ask, golden).judge is None


def test_tags_are_groups_of_their_own(golden: Path) -> None:
    golden.write_text(GOLDEN.replace("kind: table", "kind: table\n  tags: [asia, asia]"), "utf-8")
    assert evaluated(ask, golden).metrics["#asia"]["questions"] == 1


def test_shares_have_wilson_intervals_and_amounts_do_not(golden: Path) -> None:
    intervals = evaluated(ask, golden).intervals["all"]
    low, high = intervals["refused_right"]
    assert (round(low, 2), high) == (0.21, 1.0)  # 1 of 1
    assert intervals["calls"] == (0.0, 0.0)


def test_repeats_show_how_much_answers_vary(golden: Path) -> None:
    told: dict[str, int] = {}

    def moody(question: Question, progress: Progress | None) -> Answer:
        told[question.text] = told.get(question.text, 0) + 1
        said = ask(question, progress)
        return said if told[question.text] % 2 else replace(said, text="Something else [1].")

    report = evaluated(moody, golden, repeats=2)
    first = report.questions[0]
    assert [one.repeat for one in first.repeats] == [2]
    assert report.metrics["table"]["fact_any"] == 0.5
    assert report.spread["fact_any"] > 0.7
    assert (report.run.asked, report.run.questions) == (6, 3)


def test_a_baseline_is_asked_the_same_and_held_against(golden: Path) -> None:
    worse = System(name="worse", ask=lambda question, progress: answer("No idea."))
    report = evaluate(
        System(name="agents", ask=ask), load_golden([golden]), domain="d", baseline=worse
    )
    assert report.baseline is not None
    assert report.against_baseline is not None
    assert [one.id for one in report.baseline.questions] == ["keys-001", "keys-002", "keys-003"]
    assert report.against_baseline.metrics["cited"].after == 1.0
    assert report.against_baseline.before == "worse"


def test_a_baseline_that_cannot_answer_is_compared_by_what_it_retrieved(golden: Path) -> None:
    mute = System(name="mute", ask=lambda question, progress: answer("Hm."), answers=False)
    report = evaluate(
        System(name="agents", ask=ask), load_golden([golden]), domain="d", baseline=mute
    )
    assert report.against_baseline is not None
    assert set(report.against_baseline.metrics) == {"evidence_all", "evidence_each"}


def test_what_the_judge_says_becomes_metrics_and_stands_beside_the_answer(golden: Path) -> None:
    verdict = JudgedReply(score=4, acceptable=True, incorrect=False, reasoning="fine")

    def judge(replies: Sequence[GivenReply]) -> JudgedReplies:
        # The last couldn't be judged: it has no score rather than a bad one.
        judged = {(one.question.id, one.repeat): verdict for one in replies[:-1]}
        return JudgedReplies(model="wise", verdicts=judged, notes=("one reply was not judged",))

    report = evaluated(ask, golden, judge=judge)
    assert report.run.judge_model == "wise"
    assert report.metrics["all"]["judge_score"] == 4.0
    assert report.questions[0].judge == verdict
    assert report.questions[2].judge is None
    assert "acceptable" not in report.metrics["ambiguous"]
    assert report.judge is not None
    assert report.judge.checked is False
    assert "one reply was not judged" in report.notes


def test_prices_make_tokens_a_cost(golden: Path) -> None:
    def spending(question: Question, progress: Progress | None) -> Answer:
        spent = Usage(calls=2, input_tokens=2_000_000, output_tokens=500_000)
        return replace(ask(question, progress), usage=spent)

    report = evaluated(spending, golden, prices=Prices(input=0.25, output=2.0))
    assert report.questions[0].cost == 1.5
    assert report.metrics["all"]["cost"] == 1.5
