"""A reply is read the same whole and in pieces, wherever a server cuts it."""

from __future__ import annotations

import random
from itertools import pairwise

import pytest

from agents.answerer.citations import CitationReader
from agents.answerer.opening import Conflict, Opening
from tests.loaders.thoroughly import examples

SENTENCE = "The widget API allows 600 requests a minute for each key"
SOURCES = (
    f"source 1 | Widget service › Limits\n{SENTENCE}.",
    "source 2 | Gadgets\nEach gadget key is valid for 30 days. Tier 1 [draft 2] comes first.",
    "source 3 | Retries\nThe maximum of attempts is 3. Weights lie in [1, 2].",
)
PARTS = [
    "ANSWER", "ANSWER\n", "NOTHING", "WHICH", "LOOK\n", "Verdict: ", "Answer:", "answer", "**",
    "# ", "- ", "1. ", "\n", "\n\n", "---\n", "```", "```\n", "```md\n", "```bash\n", "<answer>",
    "</answer>", '{"verdict": "ANSWER", "text": "', '"}', "CONFLICT 1 2: x\n", "find: key\n",
    " ", ": ", ".", "。密钥", "!", "\\", "[", "](", "(see below", "[1]", "[1, 2]", "【1†L3】",
    "[77]", "(1)", "¹", "<sup>1</sup>", "`x[1]`", "`", " source 1", "sources 1 and 2", SENTENCE,
    "key", "| a | Source |\n", "| a | 1 |\n", "[^1]: Widget service\n", "Sources:\n",
    "[link](https://a.b/c)", "![1](https://a.b/c.png)", "long word " * 12,
]  # fmt: skip


def read(pieces: list[str]) -> tuple[str | None, str, list[Conflict]]:
    opening, citations = Opening(), CitationReader(SOURCES)
    text = "".join(citations.feed(opening.feed(piece)) for piece in pieces)
    text += citations.feed(opening.close()) + citations.close()
    return opening.verdict, text, opening.conflicts


@pytest.mark.parametrize("seed", range(8))
def test_a_reply_is_read_the_same_wherever_it_is_cut(seed: int) -> None:
    chance = random.Random(seed)
    for _ in range(examples(quick=100, thorough=5_000)):
        reply = "".join(chance.choices(PARTS, k=chance.randint(1, 16)))
        cuts = sorted(chance.sample(range(len(reply) + 1), chance.randint(1, len(reply))))
        pieces = [reply[begin:end] for begin, end in pairwise([0, *cuts, len(reply)])]
        assert read(pieces) == read([reply]), repr(reply)


def test_a_long_line_is_shown_before_it_ends() -> None:
    opening, citations = Opening(), CitationReader(SOURCES)
    shown = citations.feed(opening.feed("ANSWER\n" + "a word (and `code " + "a word " * 80))
    assert len(shown) > 200
