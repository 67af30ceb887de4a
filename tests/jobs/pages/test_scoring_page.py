from __future__ import annotations

import time
from pathlib import Path

import pytest

from jobs.evaluation.human_scores import answers_of, read_scores
from jobs.evaluation.report import EvaluationReport
from jobs.pages.questions import answer_html
from jobs.pages.scoring_sheet import scoring_sheet
from tests.chromium import launched, needs_chromium
from tests.jobs.evaluation.test_judge_check import judged_report, question

HOSTILE = (
    "</script><img src=x onerror=alert(1)> [press](javascript:alert(1)) ![p](https://x.example/p)"
)


def with_answers(*said: str) -> EvaluationReport:
    entries = [
        question(f"q{n}", 3, answer=text, reference=f"reference {n}", metrics={"judge_score": 3})
        for n, text in enumerate(said)
    ]
    report = judged_report()
    return EvaluationReport.model_validate(
        {**report.model_dump(), "questions": entries, "baseline": None}
    )


def test_the_page_tells_neither_score_nor_system() -> None:
    report = judged_report(5, 4, 3)
    page, answers = scoring_sheet(report)
    assert answers == 4
    for told in ("judge", "reasoning", "plain", "agents", "wise", "confidence"):
        assert told not in page.casefold().replace("judge each answer by itself", "")


def test_a_sample_holds_both_answers_to_each_of_its_questions() -> None:
    page, answers = scoring_sheet(judged_report(5, 4, 3), questions=1, seed=3)
    assert answers in (1, 2)
    assert page == scoring_sheet(judged_report(5, 4, 3), questions=1, seed=3)[0]


@pytest.mark.parametrize("part", ["<img", "<script", 'href="javascript:'])
def test_answers_are_read_and_never_run(part: str) -> None:
    assert part not in answer_html(HOSTILE)
    assert "press" in answer_html(HOSTILE)


@needs_chromium
def test_an_expert_scores_by_keyboard_comes_back_and_saves(tmp_path: Path) -> None:
    report = with_answers(*(f"It is **{n}** days [1]." for n in range(11)), HOSTILE)
    path = tmp_path / "score.html"
    path.write_text(scoring_sheet(report)[0], encoding="utf-8")
    wanted: list[str] = []
    with launched() as browser:
        page = browser.new_page()
        page.on("request", lambda request: wanted.append(request.url))
        page.on("pageerror", lambda error: wanted.append(str(error)))
        page.on("dialog", lambda dialog: wanted.append(dialog.message))
        page.goto(path.as_uri())
        page.get_by_label("Your name").fill("anna")
        page.locator("article").first.focus()
        page.keyboard.press("4")
        page.keyboard.press("i")
        page.keyboard.press("n")
        page.keyboard.type('says "60", means 30')
        page.keyboard.press("Escape")
        page.keyboard.press("1")
        assert page.locator("#count").inner_text() == "2 of 12 scored"
        assert page.locator("article").count() == 10
        # Another process of Chromium keeps them, and may hear of it late.
        deadline, opened = time.monotonic() + 60, 2
        page.reload()
        while page.locator("#count").inner_text() != "2 of 12 scored":
            assert time.monotonic() < deadline, "the scores were not kept"
            page.reload()
            opened += 1
        page.get_by_role("button", name="Ten more").click()
        assert page.locator("article").count() == 2
        with page.expect_download() as saving:
            page.get_by_role("button", name="Save scores").click()
        saving.value.save_as(tmp_path / "human.csv")
        # In another browser it goes on with the file.
        other = browser.new_context().new_page()
        other.goto(path.as_uri())
        assert other.locator("#count").inner_text() == "0 of 12 scored"
        other.locator("#load").set_input_files(tmp_path / "human.csv")
        other.get_by_text("2 scores loaded.").wait_for()
        assert other.locator("article.done").count() == 2
    assert wanted == [path.as_uri()] * opened
    read = read_scores([tmp_path / "human.csv"], answers_of(report))
    assert read.problems == []
    assert [(one.score, one.incorrect, one.note, one.by) for one in read.scores] == [
        (4, False, "", "anna"),
        (1, True, 'says "60", means 30', "anna"),
    ]
