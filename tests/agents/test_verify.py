from __future__ import annotations

import pytest

from agents.context.source import sources_of
from agents.verify import claims_citing, support
from enrichment.chunk import Chunk
from tests.agents.corpus import snapshot

BUDGETS = """---
id: budgets
title: Budget Guide
---
# Budget Guide

## Laptops

A laptop costs at most 1,200 euros, e.g. a plain one for an analyst. Orders close at 10:30 daily.
"""


@pytest.fixture
def laptops() -> Chunk:
    return snapshot(BUDGETS).chunks("budgets")[0]


@pytest.mark.parametrize(
    ("text", "score"),
    [
        ("A laptop costs at most 1,200 euros [1].", 1.0),
        ("A laptop costs at most 1200 euros [1].", 1.0),
        ("A laptop costs at most 1.200 euros [1].", 0.0),
        ("A laptop costs at most 200 euros [1].", 0.0),
        ("Orders close at 10:30 daily [1].", 1.0),
        ("Orders close at 10:00 daily [1].", 0.0),
    ],
)
def test_a_figure_has_to_stand_in_the_source_however_its_thousands_are_parted(
    laptops: Chunk, text: str, score: float
) -> None:
    assert support(text, sources_of([laptops])).score == score


def test_an_abbreviation_does_not_part_a_sentence_from_its_citation(laptops: Chunk) -> None:
    assert (
        support("A laptop, e.g. Plain, costs at most 1,200 euros [1].", sources_of([laptops])).score
        == 1.0
    )


@pytest.mark.parametrize(
    "text",
    [
        "Laptops cost 1,200 euros [1]. Orders close daily [2].",
        "Laptops cost 1,200 euros. [1] Orders close daily. [2]",
        "Laptops cost 1,200 euros.[1] Orders close daily.[2]",
        "Laptops cost 1,200 euros [1].\n- Orders close daily [2]",
    ],
)
def test_a_citation_belongs_to_the_sentence_it_follows(text: str) -> None:
    assert "Orders" not in claims_citing(text, 1)
    assert "Laptops" in claims_citing(text, 1)
    assert "Orders" in claims_citing(text, 2)
