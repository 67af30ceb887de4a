"""Figures that stand in nothing but a model's description of a picture."""

from __future__ import annotations

import pytest

from agents.checks.groundedness import MAX_PICTURE_CONFIDENCE, only_in_pictures, with_picture_notice
from agents.confidence import confidence_level
from agents.context.sources import Source
from agents.state import Draft
from enrichment.chunk import Chunk


def source(text: str, *, from_picture: bool = True) -> Source:
    chunk = Chunk(
        id=text[:8], document_id="intake", document_title="Intake", kind="text", position=1,
        heading_path=(), text=text, index_text=text, tokens=9, from_picture=from_picture,
    )  # fmt: skip
    return Source(chunks=(chunk,), text=text)


CHART = source("- parcels, 09h: 2 400\n- parcels, 15h: 2\u202f900")
FLOW = source("- queue → worker: batch of 25\n- worker → dead letters: after 4 attempts")
TEXT = source("The worker takes messages in batches of 50.", from_picture=False)


def marked(text: str, *sources: Source) -> Draft:
    draft = Draft(
        text=text, path="company_specific_rag_success", sources=sources, confidence=0.95,
        by_model=True,
    )  # fmt: skip
    return with_picture_notice(draft)


@pytest.mark.parametrize("figure", ["2 900", "2900", "2,900", "2\u00a0900"])
def test_a_figure_parted_by_spaces_is_one(figure: str) -> None:
    assert only_in_pictures(f"The chart shows {figure} parcels [1].", [CHART]) == (("2900", 1),)
    written = source("At the peak 2,900 parcels come.", from_picture=False)
    assert only_in_pictures(f"The chart shows {figure} parcels [1].", [CHART, written]) == ()


def test_figures_are_named_once_with_their_picture_where_there_are_several() -> None:
    one = marked("The diagram shows batches of 25 [1].", FLOW).text
    assert one.endswith("Look there before you act: 25 stands nowhere else._")
    text = "Batches of 25 and 4 attempts [1]. At 09h it is 2 400 [2]."
    assert marked(text, FLOW, CHART).text.endswith("25, 4 [1], 09, 2400 [2] stand nowhere else._")


def test_an_answer_with_such_a_figure_is_never_told_as_sure() -> None:
    draft = marked("Batches of 50 [1]. The diagram shows 25 [2].", TEXT, FLOW)
    assert draft.confidence == MAX_PICTURE_CONFIDENCE
    assert confidence_level(MAX_PICTURE_CONFIDENCE) == "medium"
    assert marked("The worker leads to the dead letters [1].", FLOW).confidence == 0.95
    assert marked("Batches of 50 [1].", TEXT, FLOW).confidence == 0.95


def test_what_is_unsure_already_does_not_become_surer() -> None:
    draft = Draft(text="Batches of 25 [1].", path="company_specific_rag_success", sources=(FLOW,),
                  confidence=0.2)  # fmt: skip
    assert with_picture_notice(draft).confidence == 0.2
