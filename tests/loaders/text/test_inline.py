from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loaders.text.markdown import Span, clean, destination, escape, spans_to_markdown, spans_to_text
from loaders.text.plain import plain_text
from tests.loaders.thoroughly import examples

TRICKY = st.text(alphabet="ab1 *_`~\\[]()!<>&;#|^:/é🤷\n", max_size=24)
COUNT = examples(quick=200, thorough=3_000)


def _seen(text: str) -> str:
    """White space at line ends doesn't show, nor does an empty line."""
    return "\n".join(" ".join(line.split()) for line in text.split("\n") if line.strip())


@settings(max_examples=COUNT, deadline=None)
@given(TRICKY)
def test_escaped_text_reads_as_it_was_written(text: str) -> None:
    assert _seen(plain_text(escape(text))) == _seen(text)


SPANS = st.lists(
    st.builds(
        Span,
        text=TRICKY,
        bold=st.booleans(),
        italic=st.booleans(),
        strike=st.booleans(),
        code=st.booleans(),
        link=st.sampled_from(["", "https://a.example/x(1)", "https://b.example/ y"]),
    ),
    max_size=4,
)


@settings(max_examples=COUNT, deadline=None)
@given(SPANS)
def test_no_style_changes_the_words(spans: list[Span]) -> None:
    assert _words(plain_text(spans_to_markdown(spans))) == _words(spans_to_text(spans))


def _words(text: str) -> str:
    return "".join(text.split())


@pytest.mark.parametrize(
    "text",
    ["snake_case_name", "5 * 3", "a < b", "C:\\temp", "R&D", "#channel", "[draft]", "50%", "a|b"],
)
def test_harmless_characters_are_not_escaped(text: str) -> None:
    assert escape(text) == text


def test_styles_nest_around_a_link() -> None:
    link = "https://example.test/a_b"
    spans = [
        Span(text="See "),
        Span(text="the ", link=link),
        Span(text="policy", link=link, bold=True),
        Span(text=" now", italic=True),
    ]
    expected = "See [the **policy**](https://example.test/a_b) *now*"
    assert spans_to_markdown(spans) == expected


def test_style_that_markdown_cannot_show_gives_way_to_the_words() -> None:
    spans = [Span(text="a", bold=True), Span(text="b", italic=True), Span(text="c")]
    assert plain_text(spans_to_markdown(spans)) == "abc"


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        (
            "https://en.wikipedia.org/wiki/Lint_(software)",
            "https://en.wikipedia.org/wiki/Lint_(software)",
        ),
        ("https://a.example/)", "<https://a.example/)>"),
        ("https://a.example/a b", "https://a.example/a%20b"),
    ],
)
def test_addresses_stay_whole(url: str, expected: str) -> None:
    assert destination(url) == expected


def test_halves_of_characters_are_replaced() -> None:
    assert clean("a\ud83db\x0bc\ufeff") == "a\ufffdb\nc"
