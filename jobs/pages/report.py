"""Renders an evaluation report as one self-contained HTML page."""

from __future__ import annotations

import base64
import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from html import escape
from importlib.resources import files

from jobs.evaluation.history import KeptRun
from jobs.evaluation.report import EvaluationReport, ReportQuestion
from jobs.pages.charts import columns, reliability
from jobs.pages.headlines import headed, headline_cards
from jobs.pages.questions import PassageStore, question_card
from jobs.pages.tables import by_kind, comparison, over_time, time_and_cost
from jobs.pages.verdicts import by_confidence, sort_of, worst

PAGE_RUNS = 10
"""Maximum runs that a page lists, including its own."""


def as_page(report: EvaluationReport, runs: Sequence[KeptRun] = ()) -> str:
    """`runs`: the latest runs of this domain, newest first, including this one."""
    style, script = _asset("report.css"), _asset("report.js")
    policy = (
        f"default-src 'none'; style-src '{_hash(style)}'; script-src '{_hash(script)}'; "
        "base-uri 'none'; form-action 'none'"
    )
    store = PassageStore()
    main = "".join(
        (
            headed(report),
            headline_cards(report),
            by_kind(report),
            _judged(report),
            time_and_cost(report.questions),
            _against(report),
            over_time(report, runs),
            _worst(report, store),
            _questions(report, store),
        )
    )
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="referrer" content="no-referrer">'
        f"<title>Evaluation of {escape(report.run.domain)}</title><style>{style}</style></head>"
        f"<body><main>{main}</main>"
        f'<script type="application/json" id="report-passages">{store.as_json()}</script>'
        f"<script>{script}</script></body></html>"
    )


@cache
def _asset(name: str) -> str:
    return (files("jobs.pages") / "assets" / name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _against(report: EvaluationReport) -> str:
    parts = ""
    if report.compared:
        parts += comparison(report.compared, title=f"Against {report.compared.before}")
    if report.against_baseline:
        name = report.against_baseline.before
        parts += comparison(
            report.against_baseline, title=f"Beside {name}", then=name, now=report.run.system
        )
    return parts


def _judged(report: EvaluationReport) -> str:
    """The score distribution and the reliability diagram."""
    judged = bool(report.run.judge_model)
    figures = []
    if judged:
        held = Counter(one.judge.score for one in report.questions if one.judge)
        bars = [(str(score), held[score]) for score in range(6)]
        drawn = columns(bars, title="Score distribution", axis="score by the judge")
        figures.append(("Scores", drawn, "How many replies got which score."))
    bins = by_confidence(report.questions, judged=judged)
    if bins:
        how = "the judge accepted" if judged else "matched the expected facts and documents"
        figures.append(
            (
                "Can its confidence be believed?",
                reliability(bins),
                f"Answers in {len(bins)} bins of equal size: confidence shown, and the share that "
                f"{how}, with 95% intervals. On the dashed line the two agree; below it the "
                "copilot is too sure of itself.",
            )
        )
    drawn_all = "".join(
        f"<figure><h2>{title}</h2>{chart}<figcaption>{says}</figcaption></figure>"
        for title, chart, says in figures
    )
    return f'<section class="pair">{drawn_all}</section>' if figures else ""


def _worst(report: EvaluationReport, store: PassageStore) -> str:
    chosen = worst(report)
    if not chosen:
        return ""
    many = f"The worst {len(chosen)}" if len(chosen) > 1 else "The worst"
    return (
        f'<section class="worst"><h2>{many}</h2><p class="quiet">Misinforming first, then the '
        "lowest scores; among equals, those that were surest of themselves.</p>"
        f"{_cards(report, chosen, store, before='worst-')}</section>"
    )


def _questions(report: EvaluationReport, store: PassageStore) -> str:
    return (
        f'<section class="all"><h2>All questions</h2>{_filters(report)}'
        '<p class="counted" role="status"></p>'
        f'<div class="list">{_cards(report, report.questions, store)}</div></section>'
    )


def _cards(
    report: EvaluationReport,
    questions: Sequence[ReportQuestion],
    store: PassageStore,
    before: str = "",
) -> str:
    judged, changes = bool(report.run.judge_model), _changes(report)
    return "".join(
        question_card(
            one, store, place=place, judged=judged, changes=changes, anchor=before + one.id
        )
        for place, one in enumerate(questions)
    )


def _changes(report: EvaluationReport) -> Mapping[str, str]:
    change = report.compared or report.against_baseline
    if change is None:
        return {}
    return {**dict.fromkeys(change.better, "better"), **dict.fromkeys(change.worse, "worse")}


def _filters(report: EvaluationReport) -> str:
    questions = report.questions
    judged = bool(report.run.judge_model)
    choices: list[tuple[str, str, list[tuple[str, str]]]] = [
        ("kind", "Kind", _once(one.kind for one in questions)),
        ("tag", "Tag", _once(tag for one in questions for tag in one.tags)),
        ("reply", "Reply", _once(sort_of(one) for one in questions)),
        ("accepted", "Verdict", [("yes", "accepted"), ("no", "not accepted"), ("-", "can't tell")]),
        ("score", "Score", [(str(n), f"{n} of 5") for n in range(6)] if judged else []),
        ("change", "Change", _once(_changes(report).values())),
    ]
    selects = "".join(
        f'<label>{title}<select data-filter="{name}"><option value="">any</option>'
        + "".join(f'<option value="{escape(v)}">{escape(words)}</option>' for v, words in options)
        + "</select></label>"
        for name, title, options in choices
        if options
    )
    orders = [("place", "as asked"), ("score", "worst first"), ("confidence", "surest first")]
    order = "".join(f'<option value="{value}">{words}</option>' for value, words in orders)
    return (
        '<div class="filters" role="search" hidden><label class="search">Search'
        '<input type="search" placeholder="question, answer, document…"></label>'
        f"{selects}<label>Order<select data-order>{order}</select></label>"
        '<button type="button" class="open">Open all shown</button></div>'
    )


def _once(values: Iterable[str]) -> list[tuple[str, str]]:
    return [(one, one) for one in sorted(set(values))]
