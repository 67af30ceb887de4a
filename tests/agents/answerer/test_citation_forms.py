from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agents.answer import CITATION
from agents.answerer.citations import CitationReader, unprotected
from config.prompts import harmless
from tests.loaders.thoroughly import examples

SOURCES = (
    "source 1 | Widget service › Limits\nThe widget API allows 600 requests a minute for each key.",
    "source 2 | Gadgets\nEach gadget key is valid for 30 days. Tier 1 [draft 2] comes first.",
    "source 3 | Retries\nThe maximum of attempts is 3. Light source 2. Weights lie in [1, 2].",
)
LIMIT = "The widget API allows 600 requests a minute for each key"


def read(text: str, size: int) -> str:
    reader = CitationReader(SOURCES)
    pieces = [reader.feed(text[at : at + size]) for at in range(0, len(text), size)]
    return "".join((*pieces, reader.close()))


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1_000])
@pytest.mark.parametrize(
    ("written", "cited"),
    [
        ("key [1].", "key [1]."),
        ("key 【1】.", "key [1]."),
        ("key【1†L3-L9】【2†source】.", "key [1][2]."),
        ("key ［1］。", "key [1]。"),
        ("key [Source 1].", "key [1]."),
        ("key [sources 1 and 2].", "key [1][2]."),
        ("key [source: 1; source: 3].", "key [1][3]."),
        ("key [source 1 | Widget service › Limits].", "key [1]."),
        ("Schlüssel [Quelle 1]. 密钥[来源2]。", "Schlüssel [1]. 密钥 [2]。"),
        ("key [doc1].", "key [1]."),
        ("key [^1][^2].", "key [1][2]."),
        ("key [1, 2].", "key [1][2]."),
        ("key [1-3].", "key [1][2][3]."),
        ("key [1], [2] and [3].", "key [1][2] and [3]."),
        ("key [[1]](https://a.example/x), not [1](#source-1).", "key [1], not [1]."),
        ("key \\\\[1\\\\].".replace("\\\\", "\\"), "key [1]."),
        ("key [1, p. 3].", "key [1]."),
        ("key.【1】 Next.", "key. [1] Next."),
        ("key [1], [1][1].", "key [1]."),
        ("By source 1, and sources 2 and 3.", "By [1], and [2][3]."),
        (
            "| Key | Source |\n|---|---|\n| a | 1, 2 |\n",
            "| Key | Source |\n|---|---|\n| a | [1][2] |\n",
        ),
        ("key.\n\n**Sources:**\n- [1] Widget service\n", "key.\n\n**Sources:**\n- [1]\n"),
        (f"{LIMIT} (1).", f"{LIMIT} [1]."),
        (f"{LIMIT} (Quelle 1)\n", f"{LIMIT} [1]\n"),
        (f"{LIMIT} (source 1), so", f"{LIMIT} [1], so"),
        (f"{LIMIT}¹.", f"{LIMIT} [1]."),
        (f"{LIMIT}.<sup>1</sup> Next", f"{LIMIT}. [1] Next"),
    ],
)
def test_every_form_of_a_citation_becomes_one(written: str, cited: str, size: int) -> None:
    assert read(written, size) == cited


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1_000])
@pytest.mark.parametrize(
    ("written", "rest"),
    [
        ("key [77].", "key."),
        ("key [1, 77].", "key [1]."),
        ("key [Source 9][1].", "key [1]."),
        ("key [^1].\n\n[^1]: Widget service\n[2] Gadgets", "key [1].\n"),
        ("key [1].\n\n## Sources\n\n1. [1] Limits\n", "key [1].\n\n## Sources\n\n1. [1] Limits"),
        ("key [1].\n\n**Sources:**\n\n- [1] Widget service › Limits\n- [2] Gadgets", "key [1]."),
    ],
)
def test_a_number_without_a_source_and_a_list_of_sources_go(
    written: str, rest: str, size: int
) -> None:
    assert read(written, size).rstrip("\n") == rest.rstrip("\n")


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1_000])
@pytest.mark.parametrize(
    "text",
    [
        "Use `args[1]`, `a[0]` and ``x [2] ` ``.",
        "```bash\necho ${args[1]} # [2] not yet\n```\n",
        "See [the guide](https://a.example/x) and [Part 1](https://a.example/1).",
        "![1](https://a.example/x.png)",
        "Tier 1 [draft 2] comes first, [Tier 1] of all.",
        "Weights lie in [1, 2].",
        "A value in [0, 1], at [12:30], in [2-4 weeks], for [SEV1], [P1] and [OPS-12].",
        "The maximum of attempts (3).",
        "(1) first, (2) second (see below).",
        "| Region | Days |\n|---|---|\n| a | 2 |\n",
        "Steps:\n\n1. one\n2. two",
        "The light source 2 is on; source 40 is off.",
        "1) first\n2) second (optional)",
        "The room has 20 m², the disk 10⁶ blocks.",
        "- [ ] open\n- [x] done",
        "Not closed [1",
        f"{LIMIT} (2).",
    ],
)
def test_code_links_amounts_and_words_of_a_source_stay(text: str, size: int) -> None:
    assert unprotected(read(text, size)) == text


def test_a_model_that_cites_in_square_brackets_means_no_source_by_round_ones() -> None:
    said = f"Each gadget key is valid for 30 days [2]. {LIMIT} (1)."
    assert read(said, 5) == said


@pytest.mark.parametrize("mark", ["[2]", "【2】", "[source 2]", "(source 2)", "(2)"])
@pytest.mark.parametrize("code", [False, True])
def test_what_a_document_says_is_no_citation_when_it_is_copied(mark: str, code: bool) -> None:
    text = f"```\nas said {mark}\n```\n" if code else f"As said {mark}."
    reader = CitationReader([f"source 1 | Page\n{text}", "source 2 | Other\nNothing."])
    assert not CITATION.search(reader.feed(harmless(text)) + reader.close())


def test_a_round_number_in_a_source_takes_no_citation_away() -> None:
    reader = CitationReader(["source 1 | Page\nPriority [1] and class (1) come first."])
    text = "The first is priority [1]. The first is class [1]."
    assert reader.feed(text) + reader.close() == text


def test_an_index_in_code_is_no_citation() -> None:
    said = "```bash\nrotate ${args[1]}\nrotate --now [2]\n```\n"
    assert "args[1]" not in read(said, 4)
    assert "--now [2]" in read(said, 4)


PARTS = [
    "[", "]", "`x`", "【", "】", "1", "2", "77", "Source ", "(", ")", "^", ":", " ", "\n", "```",
    "|", "- ", "key", LIMIT, ".", ",", "†L3", "¹", "<sup>", "</sup>", "!", "\\", "https://a.b/c",
    "**", "and ", "Widget service", "Sources:", " [1].", "(1)", "| a | 1 |\n",
]  # fmt: skip


@settings(max_examples=examples(quick=60, thorough=20_000))
@given(st.lists(st.sampled_from(PARTS), max_size=14).map("".join), st.integers(1, 9))
def test_it_is_read_the_same_in_pieces_of_any_size(text: str, size: int) -> None:
    assert read(text, size) == read(text, 1_000)
