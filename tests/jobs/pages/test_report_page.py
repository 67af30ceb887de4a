"""The report as a page, in a browser."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jsonschema
import pytest

from jobs.evaluation.report import EvaluationReport
from jobs.pages.figures import by_confidence, worst
from jobs.pages.metric_names import figure, in_order, named
from jobs.pages.questions import answer_html, is_web, marked_places
from jobs.pages.report import as_page
from tests.chromium import launched, needs_chromium
from tests.jobs.evaluation.made_up_report import made_up_report

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

SCHEMA = Path(__file__).parents[3] / "docs" / "report.schema.json"
HOSTILE = (
    "</script><script>window.hurt = 1</script><img src=x onerror='window.hurt = 1'>"
    "<style>body { display: none }</style> [go](javascript:window.hurt=1) "
    "![seen](https://evil.example/pixel.png) \"' --> ]]> <a href=x id=report-passages>"
)
CONTRAST = """() => {
  const channel = (c) => (c /= 255) <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
  const light = ([r, g, b]) => 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b);
  const numbers = (colour) => colour.match(/[\\d.]+/g).map(Number);
  const ground = (one) => {
    for (; one; one = one.parentElement) {
      const found = numbers(getComputedStyle(one).backgroundColor);
      if (found.length === 3 || found[3] > 0) return found;
    }
    return [255, 255, 255];
  };
  const low = [];
  for (const one of document.querySelectorAll("main *")) {
    const own = [...one.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim());
    if (!own || !one.checkVisibility()) continue;
    const style = getComputedStyle(one);
    const ink = one.closest("svg") ? style.fill : style.color;
    const [a, b] = [light(numbers(ink)), light(ground(one))].sort((x, y) => y - x);
    const ratio = (a + 0.05) / (b + 0.05);
    if (ratio < 4.5) low.push(`${one.tagName} ${one.className} ${ratio.toFixed(2)}`);
  }
  return low;
}"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with launched() as opened:
        yield opened


def opened(browser: Browser, page: str, folder: Path, **context: Any) -> Page:
    """The page, with all that it says or asks for kept in `page.heard`."""
    file = folder / "report.html"
    file.write_text(page, encoding="utf-8")
    tab = browser.new_context(**context).new_page()
    heard: list[str] = []
    tab.on("console", lambda message: heard.append(message.text))
    tab.on("pageerror", lambda error: heard.append(str(error)))
    tab.on("request", lambda request: heard.append(request.url))
    tab.goto(file.as_uri())
    assert heard == [file.as_uri()]
    return tab


def shown(tab: Page) -> int:
    return tab.locator(".all .card:visible").count()


@needs_chromium
def test_questions_are_filtered_searched_and_ordered(browser: Browser, tmp_path: Path) -> None:
    report = made_up_report()
    tab = opened(browser, as_page(report), tmp_path)
    assert shown(tab) == 72
    tab.locator("select[data-filter=kind]").select_option("table")
    assert shown(tab) == 12
    assert tab.locator(".counted").text_content() == "12 of 72 questions"
    tab.locator("select[data-filter=kind]").select_option("")
    tab.locator("input[type=search]").fill("lima BADGE")
    both = [one for one in report.questions if re.search("badge .*Lima", one.question)]
    assert shown(tab) == len(both)
    tab.locator("input[type=search]").fill("")
    tab.locator("select[data-filter=tag]").select_option("rotation")
    assert shown(tab) == 24
    tab.locator("select[data-filter=tag]").select_option("")
    tab.locator("select[data-order]").select_option("score")
    scores = [one.judge.score for one in report.questions if one.judge]
    first = tab.locator(".all .card").first.get_attribute("data-score")
    assert first == str(min(scores))


@needs_chromium
def test_a_link_to_a_question_opens_it(browser: Browser, tmp_path: Path) -> None:
    tab = opened(browser, as_page(made_up_report()), tmp_path)
    tab.evaluate("location.hash = 'laptop-017'")
    tab.wait_for_selector("#laptop-017[open]")


@needs_chromium
def test_passages_are_shown_with_the_evidence_marked(browser: Browser, tmp_path: Path) -> None:
    report = made_up_report()
    tab = opened(browser, as_page(report), tmp_path)
    card = tab.locator(".all .card").first
    card.locator("summary").first.click()
    card.locator(".passages > summary").click()
    tab.wait_for_selector(".all .card mark")
    assert card.locator(".passage").count() == len(report.questions[0].context)
    assert card.locator("mark").text_content() == "is replaced after **30 days in Singapore"


@needs_chromium
def test_a_table_sorts_by_its_heads(browser: Browser, tmp_path: Path) -> None:
    tab = opened(browser, as_page(made_up_report()), tmp_path)
    tab.locator(".sortable th", has_text="acceptable").click()
    column = tab.locator(".sortable tbody td:nth-child(3)").all_text_contents()
    assert column == sorted(column, reverse=True)


@needs_chromium
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("judged", [True, False])
def test_all_text_stands_out(browser: Browser, tmp_path: Path, scheme: str, judged: bool) -> None:
    tab = opened(browser, as_page(made_up_report(judged=judged)), tmp_path, color_scheme=scheme)
    tab.locator(".worst .card > summary").first.click()
    assert tab.evaluate(CONTRAST) == []


@needs_chromium
def test_the_reader_may_choose_light_or_dark(browser: Browser, tmp_path: Path) -> None:
    tab = opened(browser, as_page(made_up_report()), tmp_path, color_scheme="light")
    ground = "getComputedStyle(document.body).backgroundColor"
    before = tab.evaluate(ground)
    tab.locator(".theme").click()
    assert tab.evaluate(ground) != before


@needs_chromium
def test_print_shows_every_answer(browser: Browser, tmp_path: Path) -> None:
    tab = opened(browser, as_page(made_up_report()), tmp_path)
    tab.emulate_media(media="print")
    answers = tab.locator(".all .card .answer")
    hidden = answers.evaluate_all(
        "all => all.filter(one => !one.checkVisibility({contentVisibilityAuto: true}) "
        "|| one.getBoundingClientRect().height < 10).length"
    )
    assert (answers.count(), hidden) == (72, 0)


@needs_chromium
def test_a_phone_scrolls_no_page_sideways(browser: Browser, tmp_path: Path) -> None:
    size = {"width": 390, "height": 844}
    tab = opened(browser, as_page(made_up_report()), tmp_path, viewport=size)
    tab.locator(".worst .card > summary").first.click()
    assert tab.evaluate("document.documentElement.scrollWidth") <= 390


@needs_chromium
def test_what_others_wrote_can_do_nothing(browser: Browser, tmp_path: Path) -> None:
    report = made_up_report(1)
    first = report.questions[0]
    hostile = first.model_copy(
        update={
            "id": HOSTILE,
            "tags": [HOSTILE],
            "question": HOSTILE,
            "answer": HOSTILE,
            "reference": HOSTILE,
            "context": [one.model_copy(update={"text": HOSTILE}) for one in first.context],
            "citations": [
                one.model_copy(update={"url": "javascript:window.hurt=1", "title": HOSTILE})
                for one in first.citations
            ],
            "judge": first.judge and first.judge.model_copy(update={"reasoning": HOSTILE}),
        }
    )
    run = report.run.model_copy(update={"domain": HOSTILE, "model": HOSTILE})
    update = {"questions": [hostile], "run": run, "notes": [HOSTILE]}
    tab = opened(browser, as_page(report.model_copy(update=update)), tmp_path)
    tab.locator(".all .card > summary").click()
    tab.locator(".all .card .passages > summary").click()
    tab.wait_for_selector(".all .passage")
    assert tab.evaluate("window.hurt") is None
    assert tab.locator("main img, main script, main style").count() == 0
    links = tab.locator("main a").evaluate_all("all => all.map(one => one.getAttribute('href'))")
    assert [one for one in links if not one.startswith(("#", "https://", "http://"))] == []


def test_a_page_asks_for_nothing_and_is_the_same_each_time() -> None:
    report = made_up_report(12)
    page = as_page(report)
    assert page == as_page(report)
    assert "default-src 'none'" in page
    assert " style=" not in page
    assert not re.search(r"<(?:link|img|iframe)|src=|@import|url\(", page)


def test_a_page_says_what_a_report_may_hold() -> None:
    report = made_up_report(12)
    first = report.questions[0]
    reply = {"repeat": 1, "answer": "Yes *and* no.", "path": "answered", "metrics": {}}
    more = {
        "category": "false_presupposition", "instructions": "Be kind.", "rubric": ["a", "b"],
        "options": ["o"], "confidence_parts": {"x": 0.5, "y": 0.25}, "degraded": ["plan", "verify"],
        "reference": "", "repeats": [reply, {**reply, "judge": first.judge}],
        "kind": "unanswerable", "cost": 0.002, "must_include": [],
    }  # fmt: skip
    rate = {"value": 0.5, "low": 0.25, "high": 0.75, "count": 9}
    page = as_page(
        EvaluationReport.model_validate(
            {
                **report.model_dump(),
                "run": {**report.run.model_dump(), "system": "plain", "repeats": 3},
                "questions": [{**first.model_dump(), **more}],
                "spread": {"acceptable": 0.125},
                "judge": {"checked": True, "scores": 9, "corrected": {"acceptable": rate}},
                "below": ["acceptable is 0.50, below 0.90"],
                "notes": ["Run `oncall doctor` & read.", "An `odd one."],
            }
        )
    )
    for part in (
        "<div><dt>system</dt><dd>plain</dd></div><div><dt>answered by</dt>",
        "<dd>12 (8 replies asked for, 4 kept from before), each 3 times</dd>",
        '<ul class="warnings"><li>The judge was checked against 9 scores by people.</li>'
        "<li>Run <code>oncall doctor</code> &amp; read.</li><li>An `odd one.</li></ul>",
        "<b>Limits not kept</b><ul><li>acceptable is 0.50, below 0.90</li></ul>",
        "<p>corrected by the judge&#x27;s own errors: 0.50 (0.25 to 0.75)</p>",
        "<th>± between repeats</th><th>all</th>",
        "<p>No answer (false presupposition): a refusal.</p><p><b>Has to mean:</b></p>"
        "<ul><li>a</li><li>b</li></ul><p><b>For the judge:</b> Be kind.</p>",
        "<p><b>Offered:</b></p><ul><li>o</li></ul></div></div><h4>Judge</h4>",
        "<h4>Asked again, 2</h4>", "<h4>Asked again, 2 · 5 of 5</h4>", "Yes <em>and</em> no.",
        "; fell back: plan, verify; x 0.50, y 0.25</p><p>plan 310 ms, retrieve 45 ms</p>",
        '<tr><th scope="row">cost, US$</th><td>0.0020</td><td>0.00</td></tr>',
    ):  # fmt: skip
        assert part in page


def test_text_of_a_report_is_never_markup() -> None:
    def hostile(value: Any) -> Any:
        if isinstance(value, dict):
            literal = ("kind", "role", "metrics", "intervals", "by_kind")
            return {k: v if k in literal else hostile(v) for k, v in value.items()}
        if isinstance(value, list):
            return [hostile(one) for one in value]
        return HOSTILE if isinstance(value, str) else value

    page = as_page(EvaluationReport.model_validate(hostile(made_up_report(12).model_dump())))
    assert page.count("onerror=&#x27;window.hurt") > 100
    assert page.count("<script") == 2
    assert not re.search(r"<img|<a href=x|javascript:window.hurt=1\"", page)


def test_a_page_says_who_judged_and_that_nobody_checked() -> None:
    assert "Nobody has scored answers beside this judge yet" in as_page(made_up_report(12))
    assert "facts were matched" in as_page(made_up_report(12, judged=False))


def test_passages_that_many_questions_share_are_kept_once() -> None:
    report = made_up_report(60)
    shared = report.questions[0].context[0].model_copy(update={"text": "said once"})
    questions = [one.model_copy(update={"context": [shared]}) for one in report.questions]
    page = as_page(report.model_copy(update={"questions": questions}))
    assert page.count("said once") == 1


def test_an_empty_report_is_a_page() -> None:
    report = made_up_report(1, beside=False)
    empty = report.model_copy(update={"questions": [], "metrics": {}, "intervals": {}})
    assert "All questions" in as_page(empty)


def test_a_metric_nobody_named_is_shown_under_its_own_name() -> None:
    report = made_up_report(1)
    metrics = {"all": {**report.metrics["all"], "brand_new": 0.5}}
    assert "brand_new" in as_page(report.model_copy(update={"metrics": metrics}))
    assert named("brand_new").alone == "brand_new"
    assert in_order({"brand_new", "cited", "acceptable"}) == ["acceptable", "cited", "brand_new"]


@pytest.mark.parametrize(
    ("name", "value", "written"),
    [("cited", 0.123, "0.12"), ("words", 12.6, "13"), ("cost", 0.00123, "0.0012"), ("x", None, "")],
)
def test_figures_are_written_as_people_read_them(
    name: str, value: float | None, written: str
) -> None:
    assert figure(name, value) == written


def test_the_worst_are_those_that_misinform_then_the_lowest_scores() -> None:
    judges = [one.judge for one in worst(made_up_report())]
    order = [(not one.incorrect, one.score) for one in judges if one]
    assert order == sorted(order)
    assert all(not one.acceptable or one.incorrect for one in judges if one)


def test_confidence_is_held_against_what_was_accepted_in_bins_of_equal_size() -> None:
    bins = by_confidence(made_up_report(200).questions, judged=True)
    sizes = [one.count for one in bins]
    assert len(bins) == 10
    assert max(sizes) - min(sizes) <= 1
    assert all(one.interval[0] <= one.accepted <= one.interval[1] for one in bins)
    assert by_confidence(made_up_report(12).questions, judged=True) == []


def test_a_reply_that_the_judge_missed_is_not_decided_by_matched_words() -> None:
    questions = [
        one.model_copy(update={"judge": None})
        for one in made_up_report(200, judged=False).questions
    ]
    assert by_confidence(questions, judged=True) == []
    assert by_confidence(questions, judged=False) != []


def test_evidence_is_found_through_markup_and_white_space() -> None:
    text = "A key is replaced\nafter **60 days**, 60 days."
    assert [text[a:b] for a, b in marked_places(text, ["replaced after 60 days", "60"])] == [
        "replaced\nafter **60 days",
        "60",
    ]
    assert marked_places(text, ["", "…"]) == []


@pytest.mark.parametrize(
    "url", ["javascript:x", "data:text/html,x", "//evil.example", "https:", "http://[", "x"]
)
def test_only_addresses_of_the_web_become_links(url: str) -> None:
    assert not is_web(url)
    (asked,) = made_up_report(1).questions
    for address, links in ((asked.citations[0].url, 1), (url, 0)):
        citations = [one.model_copy(update={"url": address}) for one in asked.citations]
        questions = [asked.model_copy(update={"citations": citations})]
        report = made_up_report(1, beside=False).model_copy(update={"questions": questions})
        assert as_page(report).partition('<section class="all">')[2].count("<a ") == links
    assert f'href="{url}"' not in answer_html(f"[go]({url})")


@pytest.mark.parametrize("judged", [True, False])
def test_a_report_is_as_its_schema_says(judged: bool) -> None:
    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    written = json.loads(made_up_report(12, judged=judged).model_dump_json())
    jsonschema.validate(written, schema)


@needs_chromium
def test_a_sheet_of_paper_holds_every_table(browser: Browser, tmp_path: Path) -> None:
    size = {"width": 720, "height": 1000}
    tab = opened(browser, as_page(made_up_report()), tmp_path, viewport=size)
    tab.emulate_media(media="print")
    assert tab.evaluate("document.documentElement.scrollWidth") <= 720
