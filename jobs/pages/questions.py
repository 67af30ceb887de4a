"""Renders one question of the report: the answer as safe HTML, the expected answer, the verdict,
and the answerer's passages with expected quotes marked."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from html import escape
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from jobs.evaluation.report import ReportPassage, ReportQuestion
from jobs.pages.metric_names import figure, in_order, named
from jobs.pages.verdicts import accepted, sort_of

if TYPE_CHECKING:
    from markdown_it import MarkdownIt


_REL = "noopener noreferrer nofollow"


def answer_html(markdown: str) -> str:
    """Render Markdown as safe HTML: raw HTML is escaped, only http(s) links work, images are not
    loaded, headings become `h5`."""
    parser = _parser()
    tokens = parser.parse(markdown)
    for token in tokens:
        if token.type in ("heading_open", "heading_close"):
            token.tag = "h5"
        for part in token.children or ():
            if part.type == "link_open":
                part.attrSet("rel", _REL)
    return str(parser.renderer.render(tokens, parser.options, {}))


def link(url: str, words: str) -> str:
    """A link, or only the escaped text when the URL is not http(s)."""
    if not is_web(url):
        return escape(words)
    return f'<a rel="{_REL}" href="{escape(url)}">{escape(words)}</a>'


def is_web(url: str) -> bool:
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and bool(parts.netloc)


@cache
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
    parser.disable("image")
    parser.validateLink = is_web  # type: ignore[method-assign]  # called for each link
    return parser


_WORD = re.compile(r"\w+")
_LONGEST_QUOTE = 400
"""Maximum words of a quote to mark; the rest stays unmarked."""


def marked_places(text: str, quotes: Iterable[str]) -> list[tuple[int, int]]:
    """Find quotes in a text, ignoring case, markup and white space.

    Returns (start, end) in characters, in order and without overlaps."""
    spans: list[tuple[int, int]] = []
    for quote in quotes:
        words = _WORD.findall(quote)[:_LONGEST_QUOTE]
        if not words:
            continue
        pattern = r"(?<!\w)" + r"[\W_]+".join(map(re.escape, words)) + r"(?!\w)"
        spans += [match.span() for match in re.finditer(pattern, text, re.IGNORECASE)]
    return _apart(sorted(spans))


def _apart(places: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    merged: list[tuple[int, int]] = []
    for start, end in places:
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


_MARKS = {True: ("good", "✓", "accepted"), False: ("bad", "✗", "not accepted"), None: ("", "·", "")}


class PassageStore:
    """Stores each passage once, because passages make up most of a report.

    The page's script inserts them when a reader opens a question's passages."""

    def __init__(self) -> None:
        self._places: dict[tuple[str, str, str], int] = {}
        self._passages: list[ReportPassage] = []

    def place_of(self, passage: ReportPassage) -> int:
        key = (passage.document, passage.heading, passage.text)
        if key not in self._places:
            self._places[key] = len(self._passages)
            self._passages.append(passage)
        return self._places[key]

    def as_json(self) -> str:
        """`[[title, heading, text], …]`, safe within a script element."""
        held = [[one.title or one.document, one.heading, one.text] for one in self._passages]
        return json.dumps(held, ensure_ascii=False).replace("<", "\\u003c").replace("&", "\\u0026")


def question_card(
    question: ReportQuestion,
    store: PassageStore,
    *,
    place: int,
    judged: bool,
    changes: Mapping[str, str],
    anchor: str,
) -> str:
    """`place`: index in the run. `changes`: question id → better or worse. `anchor`: HTML id."""
    verdict = accepted(question, judged=judged)
    colour, mark, word = _MARKS[verdict]
    score = question.judge.score if question.judge else None
    badge = f"{score} of 5" if score is not None else word
    tags = "".join(f" #{escape(tag)}" for tag in question.tags)
    data = {
        "place": place,
        "kind": question.kind,
        "tags": json.dumps(question.tags),
        "reply": sort_of(question),
        "score": "" if score is None else score,
        "accepted": {True: "yes", False: "no", None: ""}[verdict],
        "change": changes.get(question.id, ""),
        "confidence": f"{question.confidence:.4f}",
    }
    attributes = " ".join(f'data-{name}="{escape(str(value))}"' for name, value in data.items())
    body = "".join(_body(question, store))
    return (
        f'<details class="card" id="{escape(anchor)}" {attributes}><summary>'
        f'<span class="mark {colour}" title="{word}">{mark}</span>'
        f'<span class="asked">{escape(question.question)}</span>'
        f'<span class="about">{escape(question.id)} · {escape(question.kind)}{tags} · '
        f"{sort_of(question)}{f' · {badge}' if badge else ''}"
        f"{f' · {changes[question.id]}' if question.id in changes else ''}</span></summary>"
        f'<div class="body">{body}</div></details>'
    )


def _body(question: ReportQuestion, store: PassageStore) -> Iterator[str]:
    if question.history:
        turns = "".join(
            f"<p><b>{turn.role}</b> {escape(turn.content)}</p>" for turn in question.history
        )
        yield _part("Thread before it", turns)
    yield '<div class="pair"><div>'
    yield _part("Expected", _expected(question))
    yield "</div><div>"
    yield _part(
        "Answer", f'<div class="answer">{answer_html(question.answer)}</div>{_options(question)}'
    )
    yield "</div></div>"
    if question.judge:
        judge = question.judge
        wrong = ' · <b class="bad">misinforms</b>' if judge.incorrect else ""
        html = f"<p><b>{judge.score} of 5</b>{wrong}</p><p>{escape(judge.reasoning)}</p>"
        html += f"<p><b>To make it a 5:</b> {escape(judge.feedback)}</p>" if judge.feedback else ""
        html += _listed("Left out", judge.missing) + _listed("Not held up", judge.unsupported)
        yield _part("Judge", html)
    if question.citations:
        cited = "".join(
            f'<li value="{one.number}">'
            f"{link(one.url, f'{one.title or one.document} › {one.heading}')}"
            f"{f'<q>{escape(one.quote)}</q>' if one.quote else ''}</li>"
            for one in question.citations
        )
        yield _part("Cited", f"<ol>{cited}</ol>")
    if question.evidence:
        yield _part("Evidence", f"<ul>{''.join(_evidence(question))}</ul>")
    if question.context:
        held = escape(json.dumps(_passages(question, store), separators=(",", ":")))
        yield (
            f'<details class="passages" data-passages="{held}"><summary>'
            f"{len(question.context)} passages that the answerer read</summary></details>"
        )
    yield from _repeats(question)
    yield _measured(question)


def _expected(question: ReportQuestion) -> str:
    if question.kind == "unanswerable":
        why = f" ({question.category.replace('_', ' ')})" if question.category else ""
        first = f"<p>No answer{escape(why)}: a refusal.</p>"
    else:
        first = ""
    expected = f"<p>{escape(question.reference)}</p>" if question.reference else first
    return (
        expected
        + _listed("Has to say", question.must_include)
        + _listed("Has to mean", question.rubric)
        + (
            f"<p><b>For the judge:</b> {escape(question.instructions)}</p>"
            * bool(question.instructions)
        )
    ) or "<p>Nothing was written down.</p>"


def _options(question: ReportQuestion) -> str:
    return _listed("Offered", question.options)


def _evidence(question: ReportQuestion) -> Iterator[str]:
    for one in question.evidence:
        colour, mark, word = ("good", "✓", "read") if one.found else ("bad", "✗", "not read")
        yield (
            f'<li><span class="mark {colour}" title="{word}">{mark}</span> '
            f"{escape(one.document)}{f' › {escape(one.heading)}' if one.heading else ''} "
            f"<q>{escape(one.quote)}</q></li>"
        )


def _passages(
    question: ReportQuestion, store: PassageStore
) -> list[tuple[int, list[tuple[int, int]]]]:
    """(index in the store, marked evidence as (start, end)) for each passage, in context order."""
    return [
        (
            store.place_of(passage),
            marked_places(
                passage.text,
                [one.quote for one in question.evidence if one.document == passage.document],
            ),
        )
        for passage in question.context
    ]


def _repeats(question: ReportQuestion) -> Iterator[str]:
    for one in question.repeats:
        score = f" · {one.judge.score} of 5" if one.judge else ""
        yield _part(
            f"Asked again, {one.repeat + 1}{score}",
            f'<div class="answer">{answer_html(one.answer)}</div>',
        )


def _measured(question: ReportQuestion) -> str:
    cells = "".join(
        f"<tr><td>{escape(named(name).label)}</td>"
        f"<td>{figure(name, question.metrics[name])}</td></tr>"
        for name in in_order(set(question.metrics))
    )
    confidence = f"confidence {question.confidence:.2f}"
    parts = ", ".join(
        f"{escape(name)} {value:.2f}" for name, value in question.confidence_parts.items()
    )
    steps = ", ".join(
        f"{escape(name)} {spent:,.0f} ms" for name, spent in question.timings_ms.items()
    )
    fell = f"; fell back: {escape(', '.join(question.degraded))}" if question.degraded else ""
    return (
        f'<details class="numbers"><summary>Figures · {confidence}</summary>'
        f"<p>{escape(question.path)}{fell}{f'; {parts}' if parts else ''}</p>"
        f"{f'<p>{steps}</p>' if steps else ''}<table>{cells}</table></details>"
    )


def _listed(title: str, items: Sequence[str]) -> str:
    if not items:
        return ""
    return f"<p><b>{title}:</b></p><ul>{''.join(f'<li>{escape(one)}</li>' for one in items)}</ul>"


def _part(title: str, content: str) -> str:
    return f"<h4>{escape(title)}</h4>{content}"
