"""Documents are read by several threads: what a parser fills when first used is filled by then."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from markdown_it import MarkdownIt
from mdurl import _encode

from bot.blocks.sanitize import tree as answer_tree
from loaders.files import markdown as markdown_file
from loaders.text import plain
from loaders.text import plain as markdown_parser


@pytest.mark.parametrize(
    "shared",
    [
        markdown_file._parser,
        markdown_parser._block_parser,
        plain._parser,
        answer_tree._parser,
    ],
)
def test_a_parser_that_threads_share_knows_all_its_rules(shared: Callable[[], MarkdownIt]) -> None:
    shared.cache_clear()  # type: ignore[attr-defined]
    parser = shared()
    for ruler in (parser.core.ruler, parser.block.ruler, parser.inline.ruler, parser.inline.ruler2):
        assert ruler.__cache__ is not None


def test_the_table_of_characters_in_addresses_is_filled_before_any_thread_reads_it() -> None:
    assert len(_encode.encode_cache[_encode.ENCODE_DEFAULT_CHARS]) == 128
