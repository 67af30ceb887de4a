from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path

import pytest

from agents.checks.groundedness import EntailmentModel, groundedness
from agents.context.sources import build_sources
from tests.agents.corpus import ROTATION, snapshot
from tests.cross_encoder import tiny_cross_encoder

SOURCES = build_sources(snapshot(ROTATION).chunks("key-rotation"))
LEAK = next(n for n, one in enumerate(SOURCES, start=1) if "24 hours" in one.text)
PARAPHRASE = f"Whoever owns the machine picks the colleague for the exchange [{LEAK}]."


def always(probability: float) -> object:
    def entails(pairs: Sequence[tuple[str, str]]) -> list[float]:
        return [probability] * len(pairs)

    return entails


def test_a_model_decides_where_words_do_not() -> None:
    assert groundedness(PARAPHRASE, SOURCES).score == 0
    assert groundedness(PARAPHRASE, SOURCES, entails=always(0.9)).score == 1  # type: ignore[arg-type]
    held = f"A leaked key is replaced within 24 hours of its discovery [{LEAK}]."
    doubted = groundedness(held, SOURCES, entails=always(0.1))  # type: ignore[arg-type]
    assert doubted.reasons == (f"“{held.partition(' [')[0]}.”: its source doesn't say so",)


@pytest.mark.parametrize(
    "said", [f"It is replaced within 48 hours [{LEAK}].", "It is replaced within 24 hours."]
)
def test_no_model_talks_a_wrong_figure_or_a_missing_source_right(said: str) -> None:
    assert groundedness(said, SOURCES, entails=always(1.0)).score == 0  # type: ignore[arg-type]


def test_a_real_one_is_loaded_from_its_folder_and_read_by_its_label(tmp_path: Path) -> None:
    folder = tiny_cross_encoder(tmp_path, ("contradiction", "Entailment", "neutral"))
    found = EntailmentModel(str(folder))([("keys are rotated", "apples"), ("keys", "keys")])
    assert found is not None
    assert all(0 < one < 1 for one in found)


@pytest.mark.parametrize("labels", [("good", "bad"), None])
def test_one_that_can_not_be_used_leaves_the_words_and_says_so(
    labels: Sequence[str] | None, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    name = str(tiny_cross_encoder(tmp_path, labels) if labels else tmp_path / "nowhere")
    with caplog.at_level(logging.WARNING):
        held = groundedness(PARAPHRASE, SOURCES, entails=EntailmentModel(name))
    assert held == groundedness(PARAPHRASE, SOURCES)
    assert "ONCALL_ENTAILMENT_MODEL" in caplog.text
