from __future__ import annotations

import pytest

from enrichment.chunk import DocumentCard, is_out_of_force, standing
from enrichment.pipeline import enrich
from loaders.files.markdown import parse_markdown

OUT_OF_FORCE = ["superseded", "obsolete", "deprecated", "withdrawn", "retired"]


def card(status: str = "", superseded_by: str = "") -> DocumentCard:
    return DocumentCard(
        id="a", title="A", url="", summary="", status=status, superseded_by=superseded_by
    )


@pytest.mark.parametrize("status", OUT_OF_FORCE)
def test_a_status_that_ends_a_document_says_so_in_its_own_word(status: str) -> None:
    assert is_out_of_force(card(status))
    assert is_out_of_force(card(status.title()))
    assert standing(card(status)) == status


@pytest.mark.parametrize(
    ("status", "words"), [("", ""), ("current", ""), ("Current", ""), ("draft", "draft")]
)
def test_any_other_status_leaves_a_document_in_force(status: str, words: str) -> None:
    assert not is_out_of_force(card(status))
    assert standing(card(status)) == words


@pytest.mark.parametrize("status", ["", "current", "draft"])
def test_a_successor_outweighs_the_status(status: str) -> None:
    assert is_out_of_force(card(status, superseded_by="b"))
    assert standing(card(status, superseded_by="b")) == "superseded"


def test_a_successor_among_the_documents_is_named() -> None:
    successor = DocumentCard(id="b", title="New Rules", url="", summary="")
    old = card("deprecated", superseded_by="b")
    assert standing(old, {"b": successor}) == "superseded by New Rules"
    assert standing(old, {}) == "deprecated"


def test_a_document_without_a_card_is_in_force() -> None:
    assert not is_out_of_force(None)


@pytest.mark.parametrize("status", OUT_OF_FORCE)
def test_a_source_s_own_status_reaches_the_card(status: str) -> None:
    document = parse_markdown(f"---\nid: a\nstatus: {status}\n---\n# A\n\nKeys rotate.\n", url="")
    assert is_out_of_force(enrich(document, []).card)
