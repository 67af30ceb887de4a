from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from config.errors import ConfigError
from config.settings import Settings
from index.store.database import open_database
from jobs.evaluation.agreement import (
    Agreement,
    Confusion,
    Figure,
    JudgeCardStore,
    ScoredTwice,
    agreement,
    corrected,
    judge_card,
    weighted_kappa,
)
from jobs.evaluation.human_scores import (
    answers_of,
    between_people,
    read_scores,
    scored_twice,
)
from jobs.evaluation.report import EvaluationReport


def twice(*pairs: tuple[int, int]) -> list[ScoredTwice]:
    """Pairs: the person's score, the judge's."""
    return [
        ScoredTwice(person=person, judge=judge, person_incorrect=not person, judge_incorrect=False)
        for person, judge in pairs
    ]


def test_kappa_is_cohen_s() -> None:
    # By hand: of 4 pairs two differ by 1; 2·1/4 against 0.5·(…) expected by the margins.
    assert weighted_kappa([0, 5], [0, 5]) == 1.0
    assert weighted_kappa([0, 5], [5, 0]) == pytest.approx(-1.0)
    assert weighted_kappa([0, 0, 5, 5], [0, 5, 0, 5]) == pytest.approx(0.0)


def test_a_perfect_judge_agrees_in_every_way() -> None:
    found = agreement(twice(*((score, score) for score in range(6))))
    assert found.kappa is not None
    assert found.pearson is not None
    assert (found.kappa.value, found.exact.value, found.bias.value) == (1.0, 1.0, 0.0)
    assert found.pearson.value == pytest.approx(1.0)
    assert found.acceptable == Confusion(
        true_positive=2, false_negative=0, true_negative=4, false_positive=0
    )


def test_a_judge_that_says_4_of_everything_has_no_correlation_and_never_rules_out() -> None:
    found = agreement(twice(*((score, 4) for score in range(6))))
    assert found.kappa is None
    assert found.pearson is None
    assert found.spearman is None
    assert found.bias.value == pytest.approx(1.5)
    assert found.acceptable.true_negative_rate is not None
    assert found.acceptable.true_negative_rate.value == 0.0
    assert found.within_one.value == 0.5


def test_a_judge_that_turns_things_round_is_worse_than_chance() -> None:
    found = agreement(twice(*((score, 5 - score) for score in range(6))))
    assert found.kappa is not None
    assert found.spearman is not None
    assert found.kappa.value < 0
    assert found.spearman.value == pytest.approx(-1.0)


def test_one_answer_is_a_card_without_correlations() -> None:
    found = agreement(twice((3, 4)))
    assert (found.count, found.exact.value, found.within_one.value) == (1, 0.0, 1.0)
    assert found.pearson is None


def test_what_a_judge_counts_is_corrected_by_its_errors() -> None:
    """A judge that lets 30% of the bad ones pass and misses 10% of the good ones."""
    covered = 0
    for seed in range(40):
        chance = random.Random(seed)

        def counted(size: int, chance: random.Random = chance) -> list[tuple[bool, bool]]:
            truth = [chance.random() < 0.7 for _ in range(size)]
            return [(one, chance.random() < (0.9 if one else 0.3)) for one in truth]

        run, people = counted(400), counted(200)
        judged = Confusion(
            true_positive=sum(a and b for a, b in people),
            false_negative=sum(a and not b for a, b in people),
            true_negative=sum(not a and not b for a, b in people),
            false_positive=sum(not a and b for a, b in people),
        )
        found = corrected(sum(b for _, b in run), len(run), judged)
        assert isinstance(found, Figure)
        assert found.low <= found.value <= found.high
        covered += found.low <= 0.7 <= found.high
    assert covered >= 35  # 95% of 40 is 38


@pytest.mark.parametrize(
    ("judged", "why"),
    [
        (Confusion(true_positive=30, false_negative=2, true_negative=3, false_positive=1), "no to"),
        (Confusion(true_positive=2, false_negative=0, true_negative=30, false_positive=1), "yes"),
        (
            Confusion(true_positive=10, false_negative=10, true_negative=10, false_positive=10),
            "hardly tells",
        ),
    ],
)
def test_where_nothing_can_be_corrected_it_is_said_why(judged: Confusion, why: str) -> None:
    found = corrected(50, 100, judged)
    assert isinstance(found, str)
    assert why in found


def question(name: str, score: int | None, **more: Any) -> dict[str, Any]:
    judge = score is not None and {
        "score": score, "acceptable": score >= 4, "incorrect": score == 0, "reasoning": "so"
    }  # fmt: skip
    return {
        "id": name, "kind": "lookup", "question": f"{name}?", "answer": f"answer to {name}",
        "path": "p", "confidence": 1.0, "metrics": {}, "judge": judge or None, **more,
    }  # fmt: skip


def judged_report(*scores: int | None) -> EvaluationReport:
    entries = [question(f"q{n}", score) for n, score in enumerate(scores)]
    return EvaluationReport.model_validate(
        {
            "run": {"id": "d-1", "domain": "d", "questions": len(scores), "started_at": "2026",
                    "judge_model": "wise"},
            "metrics": {"all": {"acceptable": 0.5}},
            "questions": entries,
            "baseline": {"name": "plain", "metrics": {}, "questions": entries[:1]},
        }
    )  # fmt: skip


@pytest.fixture
def report() -> EvaluationReport:
    return judged_report(5, 4, 0, None)


def keys(report: EvaluationReport) -> list[str]:
    return list(answers_of(report))


def saved(folder: Path, *rows: str, head: str = "key,question_id,score,incorrect,note") -> Path:
    path = folder / "human.csv"
    path.write_text("\n".join((head, *rows)) + "\n", encoding="utf-8")
    return path


def test_keys_tell_answers_apart_and_nothing_else(report: EvaluationReport) -> None:
    assert len(set(keys(report))) == 5  # also the same words by system and baseline
    assert keys(report) == keys(judged_report(0, 0, 0, 0))  # whatever the judge thinks


def test_scores_join_what_the_judge_gave(report: EvaluationReport, tmp_path: Path) -> None:
    first, _, third, unjudged, _ = keys(report)
    path = saved(
        tmp_path, f"{first},q0,3,no,a part is missing", f"{third},q2,1,yes,", f"{unjudged},q3,5,no,"
    )
    read = read_scores([path], answers_of(report))
    assert read.problems == []
    assert list(scored_twice(read.scores, answers_of(report)).values()) == [
        ScoredTwice(
            person=3, judge=5, person_incorrect=False, judge_incorrect=False, kind="lookup"
        ),
        ScoredTwice(person=1, judge=0, person_incorrect=True, judge_incorrect=True, kind="lookup"),
    ]


def test_rows_that_cannot_count_are_named_and_the_others_do(
    report: EvaluationReport, tmp_path: Path
) -> None:
    first, second, third, *_ = keys(report)
    path = saved(
        tmp_path,
        f"{first},q0,6,no,",
        f"{second},q1,4,perhaps,",
        ",,,,",
        "0000,q9,4,no,",
        f"{third},q2,2,no,\"two",
        'lines"',
        f"{third},q2,3,no,",
        f"{first},q0,,no,",
    )  # fmt: skip
    read = read_scores([path], answers_of(report))
    assert [(one.key, one.score, one.note) for one in read.scores] == [(third, 2, "two\nlines")]
    assert read.problems == [
        "human.csv:2: score '6'; it goes from 0 to 5",
        "human.csv:3: incorrect 'perhaps'; write yes or no",
        "human.csv:5: no answer of this report has the key '0000'; is it of another run?",
        "human.csv:8: scored on human.csv:6 already",
        "human.csv:9: no score",
    ]


def test_a_spreadsheet_s_semicolons_and_mark_are_read(
    report: EvaluationReport, tmp_path: Path
) -> None:
    path = tmp_path / "human.csv"
    path.write_bytes(f"\ufeffKey;Score\r\n{keys(report)[0]};4\r\n".encode())
    assert [one.score for one in read_scores([path], answers_of(report)).scores] == [4]


@pytest.mark.parametrize(("text", "said"), [("a,b\n1,2\n", "no column `key`, `score`"), ("", "no")])
def test_a_file_without_keys_is_refused(
    report: EvaluationReport, tmp_path: Path, text: str, said: str
) -> None:
    (tmp_path / "x.csv").write_text(text)
    with pytest.raises(ConfigError, match=said):
        read_scores([tmp_path / "x.csv"], answers_of(report))
    with pytest.raises(ConfigError, match=r"gone\.csv"):
        read_scores([tmp_path / "gone.csv"], answers_of(report))


def test_two_people_are_held_against_each_other_and_the_lower_middle_counts(
    report: EvaluationReport, tmp_path: Path
) -> None:
    head = "key,score,incorrect,scored_by"
    first = keys(report)[0]
    path = saved(tmp_path, f"{first},5,no,anna", f"{first},3,yes,ben", head=head)
    read = read_scores([path], answers_of(report))
    assert read.problems == []
    (between,) = between_people(read.scores)
    assert (between.person, between.judge) == (5, 3)
    (joined,) = scored_twice(read.scores, answers_of(report)).values()
    assert (joined.person, joined.person_incorrect) == (3, True)


def test_a_card_is_kept_by_domain_and_judge(tmp_path: Path) -> None:
    engine = open_database(Settings.model_validate({"data_dir": tmp_path}))
    cards = JudgeCardStore(engine)
    assert cards.of("d", "wise") is None
    found: Agreement = agreement(twice((5, 5), (3, 4), (0, 0)))
    cards.keep("d", "wise", found)
    cards.keep("d", "wise", found)
    assert cards.of("d", "wise") == found
    assert cards.of("d", "other") is None
    engine.dispose()


def test_a_report_shows_the_card_and_what_its_figures_probably_are() -> None:
    pairs = [(5, 5)] * 20 + [(2, 4)] * 3 + [(1, 1)] * 7
    report = judged_report(*([5] * 8 + [1] * 2))
    card = judge_card(agreement(twice(*pairs)), report.questions)
    assert (card.checked, card.scores) == (True, 30)
    assert card.true_positive_rate["acceptable"].value == 1.0
    assert card.true_negative_rate["acceptable"].value == pytest.approx(0.7)
    assert card.corrected["acceptable"].value == pytest.approx((0.8 + 0.7 - 1) / 0.7)
    assert "it takes 5" in card.not_corrected["incorrect"]
    assert judge_card(None, report.questions).checked is False


def test_ranks_and_correlations_are_those_of_scipy() -> None:
    stats = pytest.importorskip("scipy.stats")
    chance = random.Random(7)
    pairs = [(chance.randint(0, 5), chance.randint(0, 5)) for _ in range(60)]
    found = agreement(twice(*pairs))
    assert found.spearman is not None
    assert found.pearson is not None
    people, judge = zip(*pairs, strict=True)
    assert found.spearman.value == pytest.approx(stats.spearmanr(people, judge).statistic)
    assert found.pearson.value == pytest.approx(stats.pearsonr(people, judge).statistic)
