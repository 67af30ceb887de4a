"""Markdown cut to Slack's sizes: whatever an answer holds, nothing of it is lost."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.blocks.markdown import Prose, excerpt, pieces, segments
from bot.blocks.tables import Grid, aligned
from loaders.text.markdown import escape
from loaders.text.plain import plain_text, read_blocks

LIMIT = 400

word = st.from_regex(r"[a-gäß][a-gäß0-9.,]{0,7}", fullmatch=True)
sentence = st.lists(word, min_size=1, max_size=30).map(" ".join)
row = st.lists(word, min_size=3, max_size=3)
rows = st.lists(row, min_size=1, max_size=6)
line = st.sampled_from(["", "    deep", "a = 1", "| x | y |", "# no heading"])
code = st.lists(line, min_size=60, max_size=120)


def table(cells: list[list[str]]) -> str:
    lines = [f"| {' | '.join(one)} |" for one in cells]
    return "\n".join([lines[0], "|---|---|---|", *lines[1:]])


def fenced(lines: list[str]) -> str:
    return "\n".join(["```sh", *lines, "```"])


@settings(max_examples=100, deadline=None)
@given(st.lists(st.one_of(sentence, rows), min_size=1, max_size=6))
def test_prose_and_tables_come_apart_in_order_and_whole(parts: list[str | list[list[str]]]) -> None:
    markdown = "\n\n".join(part if isinstance(part, str) else table(part) for part in parts)
    found: list[str | list[list[str]]] = []
    for segment in segments(markdown):
        if isinstance(segment, Prose):
            found += segment.text.split("\n\n")
        else:
            found.append([list(segment.header), *map(list, segment.rows)])
    assert found == parts


@settings(max_examples=100, deadline=None)
@given(st.lists(sentence, min_size=1, max_size=12).map("\n\n".join))
def test_cutting_prose_loses_no_word(text: str) -> None:
    cut = list(pieces(text, LIMIT))
    assert all(len(piece) <= LIMIT for piece in cut)
    assert " ".join(cut).split() == text.split()


@settings(max_examples=100, deadline=None)
@given(before=sentence, lines=code, after=sentence)
def test_cutting_code_loses_no_line_and_no_indent(
    before: str, lines: list[str], after: str
) -> None:
    cut = list(pieces(f"{before}\n\n{fenced(lines)}\n\n{after}", LIMIT))
    assert all(len(piece) <= LIMIT for piece in cut)
    blocks = [token for piece in cut for token in read_blocks(piece) if token.type == "fence"]
    assert {token.info for token in blocks} == {"sh"}
    assert [line for token in blocks for line in token.content.splitlines()] == lines
    shown = " ".join(
        token.content for piece in cut for token in read_blocks(piece) if token.type == "inline"
    )
    assert shown.split() == f"{before} {after}".split()


@pytest.mark.parametrize("fence", ["~~~", "````", "``````"])
def test_code_is_closed_by_the_fence_that_opened_it(fence: str) -> None:
    lines = [f"step {n} ```" for n in range(90)]
    cut = list(pieces("\n".join([fence, *lines, fence]), LIMIT))
    assert len(cut) > 1
    for piece in cut:
        assert [token.type for token in read_blocks(piece)] == ["fence"]


@settings(max_examples=100, deadline=None)
@given(st.lists(sentence, min_size=1, max_size=5).map("\n".join))
def test_plain_words_are_their_own_plain_text(text: str) -> None:
    assert plain_text(text) == text
    assert excerpt(text, 10_000) == text


@settings(max_examples=200, deadline=None)
@given(st.text(st.sampled_from("ab 1*_`~[](){}<>#+-.!|\\&;:/"), max_size=40).map(str.strip))
def test_what_is_escaped_reads_as_it_was(text: str) -> None:
    assert plain_text(escape(text)) == text


def test_a_sentence_right_below_a_table_is_not_its_row() -> None:
    found = list(segments(f"{table([['a', 'b', 'c'], ['1', '2', '3']])}\nDone [1]."))
    assert found == [Grid(("a", "b", "c"), (("1", "2", "3"),)), Prose("Done [1].")]


def test_a_placeholder_above_a_table_does_not_hide_it() -> None:
    found = list(segments(f"<cluster-name>\n\n<region>\n{table([['a', 'b', 'c']])}"))
    assert found[-1] == Grid(("a", "b", "c"), ())


def test_cells_show_words_not_markup() -> None:
    cells = [["`a_b`", "**x** & *y*", "5 * 3"], ["[doc](https://x.example)", "~~no~~", "<region>"]]
    (grid,) = segments(table(cells))
    assert grid == Grid(("`a_b`", "x & y", "5 * 3"), (("doc", "no", "<region>"),))


@pytest.mark.parametrize(
    "hidden", ["&lt;!channel&gt;", "\\<!channel>", "&#64;here", "&#x40;channel"]
)
def test_a_cell_read_as_words_cannot_ping(hidden: str) -> None:
    (grid,) = segments(table([["a", "b", "c"], [hidden, hidden, hidden]]))
    assert isinstance(grid, Grid)
    for shown in (*grid.rows[0], aligned(grid), aligned(grid, widest=1)):
        assert "<!channel" not in shown
        assert "@here" not in shown
        assert "@channel" not in shown


def test_an_excerpt_numbers_what_the_text_numbers() -> None:
    markdown = "3. Stop it\n4. Start it\n   - slowly\n\n> Then *wait*."
    assert excerpt(markdown, 200) == "3. Stop it\n4. Start it\n  • slowly\nThen wait."
