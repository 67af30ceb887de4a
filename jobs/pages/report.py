"""Renders an evaluation report as one self-contained HTML page, by the templates beside this."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from html import escape
from importlib.resources import files

from jinja2 import Environment, PackageLoader, StrictUndefined
from jinja2.ext import Extension
from jinja2.lexer import Token, TokenStream
from markupsafe import Markup

from index.page_links import is_web
from jobs.evaluation.comparison import AMOUNTS
from jobs.evaluation.history import KeptRun
from jobs.evaluation.report import EvaluationReport
from jobs.pages import figures
from jobs.pages.metric_names import figure, in_order, named
from jobs.pages.questions import REL, PassageStore, answer_html

PAGE_RUNS = 10
"""Maximum runs that a page lists, including its own."""


def as_page(report: EvaluationReport, runs: Sequence[KeptRun] = ()) -> str:
    """`runs`: the latest runs of this domain, newest first, including this one."""
    judged = bool(report.run.judge_model)
    changes = _changes(report)
    scores = Counter(one.judge.score for one in report.questions if one.judge)
    page = _templates().get_template("report.html")
    return page.render(
        report=report,
        run=report.run,
        runs=runs,
        judged=judged,
        changes=changes,
        notes=list(figures.warnings(report)),
        headlines=figures.headlines(report),
        shares=figures.reply_shares(report),
        scores=[(str(score), scores[score]) for score in range(6)],
        bins=figures.by_confidence(report.questions, judged=judged),
        worst=figures.worst(report),
        filters=_filters(report, changes),
        passages=PassageStore(),
        style=_asset("report.css"),
        script=_asset("report.js"),
    )


class _OneLine(Extension):
    """Joins a template's lines: a break beside a tag is nothing, one in a sentence a space."""

    def filter_stream(self, stream: TokenStream) -> Iterator[Token]:
        for token in stream:
            if token.type == "data":
                text = re.sub(r"(?<![^>])\n\s*|\n\s*(?![^<])", "", token.value)
                token = Token(token.lineno, "data", re.sub(r"\n\s*", " ", text))
            yield token


@cache
def _templates() -> Environment:
    environment = Environment(
        loader=PackageLoader("jobs.pages"),
        autoescape=True,
        undefined=StrictUndefined,
        extensions=[_OneLine],
        finalize=_escaped,
    )
    environment.filters.update(
        digest=_digest, json=json.dumps, percent="{:.0%}".format, px="{:.1f}".format
    )
    environment.globals.update(
        AMOUNTS=AMOUNTS, REL=REL, SHORT_LIST=figures.SHORT_LIST, accepted=figures.accepted,
        answer_html=answer_html, direction=figures.direction, earlier_values=figures.earlier_values,
        figure=figure, histogram=figures.histogram, in_order=in_order, is_web=is_web, max=max,
        measured_in=figures.measured_in, min=min, moved_metrics=figures.moved_metrics, named=named,
        sort_of=figures.sort_of, spending=figures.spending, waiting=figures.waiting,
    )  # fmt: skip
    return environment


def _escaped(value: object) -> object:
    """Quotes as the standard library writes them; markupsafe writes them otherwise."""
    return value if hasattr(value, "__html__") else Markup(escape(str(value)))  # noqa: S704


@cache
def _asset(name: str) -> str:
    return (files("jobs.pages") / "assets" / name).read_text(encoding="utf-8")


def _digest(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _changes(report: EvaluationReport) -> Mapping[str, str]:
    """Question id → better or worse."""
    change = report.compared or report.against_baseline
    if change is None:
        return {}
    return {**dict.fromkeys(change.better, "better"), **dict.fromkeys(change.worse, "worse")}


def _filters(
    report: EvaluationReport, changes: Mapping[str, str]
) -> list[tuple[str, str, list[tuple[str, str]]]]:
    """(name, title, its (value, words)) of each choice."""
    questions = report.questions
    scores = [(str(n), f"{n} of 5") for n in range(6)] if report.run.judge_model else []
    return [
        ("kind", "Kind", _once(one.kind for one in questions)),
        ("tag", "Tag", _once(tag for one in questions for tag in one.tags)),
        ("reply", "Reply", _once(figures.sort_of(one) for one in questions)),
        ("accepted", "Verdict", [("yes", "accepted"), ("no", "not accepted"), ("-", "can't tell")]),
        ("score", "Score", scores),
        ("change", "Change", _once(changes.values())),
    ]


def _once(values: Iterable[str]) -> list[tuple[str, str]]:
    return [(one, one) for one in sorted(set(values))]
