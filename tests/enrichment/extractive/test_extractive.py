"""What a document says about itself, read without a model."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from enrichment.chunk import Entity, Faq
from enrichment.extractive.cards import extractive_card, extractive_chunks
from enrichment.extractive.keyphrases import document_keywords, entities, system_names
from enrichment.extractive.lifecycle import (
    predecessors,
    says_it_is_out_of_force,
    successor,
    with_successors,
)
from enrichment.language.phrases import abbreviations, expansions
from enrichment.language.words import sentences
from enrichment.pipeline import VERSION, enrich
from loaders.document import Document
from loaders.files.local import load_file
from loaders.files.markdown import parse_markdown
from tests.enrichment.writing import Writer

DEMO = Path(__file__).parents[3] / "playground/demo"


@pytest.fixture(scope="module")
def demo() -> dict[str, Document]:
    loaded = (load_file(path) for path in sorted(DEMO.glob("[ps]*/*.md")))
    return {document.id: document for document in loaded}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("One. Two.", ["One.", "Two."]),
        (
            "Use e.g. TLS 1.3, i.e. No. 5. Then stop.",
            ["Use e.g. TLS 1.3, i.e. No. 5.", "Then stop."],
        ),
        ("Version v1.2.3 runs. It works!", ["Version v1.2.3 runs.", "It works!"]),
        ("Call `a. B` now. Done.", ["Call `a. B` now.", "Done."]),
        ("Ask J. Smith. He knows.", ["Ask J. Smith.", "He knows."]),
        ("Really? he asked. Yes.", ["Really? he asked.", "Yes."]),
        ("1. First step. Next.", ["1. First step.", "Next."]),
        ('He said "Stop." Then left.', ['He said "Stop."', "Then left."]),
        ("no end mark\nnext line", ["no end mark", "next line"]),
        ("東京です。大阪です。", ["東京です。", "大阪です。"]),
        ("Fine. `pilot` runs.", ["Fine.", "`pilot` runs."]),
        ("Answer yes or no. Then stop.", ["Answer yes or no.", "Then stop."]),
        ("   ", []),
    ],
)
def test_sentences_end_where_a_reader_would_say(text: str, expected: list[str]) -> None:
    assert sentences(text) == expected


def test_codes_people_and_dates_are_entities() -> None:
    text = (
        "Ask @Ines Okafor about SEC-1234 on hbr-eu1 before 2026-03-14: a P0, so SEV1. "
        "Run `lockbox elevate`. The Incident Commander decides. MS.AAD.5.2v1 and CertExpiry30."
    )
    found = entities(text)
    assert {entity.value for entity in found if entity.kind == "code"} == {
        "SEC-1234",
        "hbr-eu1",
        "P0",
        "SEV1",
        "lockbox elevate",
        "MS.AAD.5.2v1",
        "CertExpiry30",
    }
    assert Entity(kind="person", value="Ines Okafor") in found
    assert Entity(kind="date", value="2026-03-14") in found
    assert any(entity.kind == "role" and "Commander" in entity.value for entity in found)


def test_teams_channels_and_laws_are_entities_as_they_are_written() -> None:
    text = (
        "Ask Team Harbor or the Ledger Core team in #help-keys. Article 33 GDPR and § 12 BDSG "
        "apply, as do ISO 27001 and Article 5(1). The Privacy Desk signs. See doc.html#keys and "
        "issue #12. Owning team: none."
    )
    found = {(entity.kind, entity.value) for entity in entities(text)}
    assert {value for kind, value in found if kind == "team"} == {
        "Team Harbor",
        "Ledger Core team",
        "Privacy Desk",
    }
    assert {value for kind, value in found if kind == "channel"} == {"#help-keys"}
    assert {value for kind, value in found if kind == "law"} == {
        "Article 33 GDPR",
        "§ 12 BDSG",
        "ISO 27001",
        "Article 5(1)",
    }


def test_ordinary_words_are_no_codes() -> None:
    assert entities("The well-known on-call team writes a post-mortem, as usual.") == ()


def test_names_used_inside_sentences_are_systems(demo: dict[str, Document]) -> None:
    names = system_names(demo["access-control-policy"])
    assert {"Passage", "Muster"} <= set(names)
    assert "Access" not in names


def test_abbreviations_are_read_and_expanded_where_only_one_form_stands() -> None:
    known = abbreviations("The Incident Commander (IC) decides. DPO (Data Protection Officer).")
    assert known == {"IC": "Incident Commander", "DPO": "Data Protection Officer"}
    assert expansions("Ask the IC.", known) == ("Incident Commander",)
    assert expansions("The incident commander asks the DPO (Data Protection Officer).", known) == (
        "IC",
    )
    assert abbreviations("See the table (UTC) below, or the page (2).") == {}


def test_headings_that_ask_become_faqs() -> None:
    writer = Writer().heading("Who may restore?").paragraphs("Any PRE engineer. With approval.")
    writer.heading("Payment tokens").paragraphs("A payment token is a stand-in for a card number.")
    assert extractive_card(writer.document()).faqs == (
        Faq(question="Who may restore?", answer="Any PRE engineer. With approval."),
        Faq(
            question="What is a payment token?",
            answer="A payment token is a stand-in for a card number.",
        ),
    )


def test_what_a_document_quotes_is_neither_its_summary_nor_its_answers(
    demo: dict[str, Document],
) -> None:
    sample = "The waiver for every identity check was already signed by the officer."
    command = "Identity checks are a command to be run here."
    writer = Writer("Identity checks").heading("Who may waive identity checks?")
    writer.add("quote", sample).add("code", command)
    writer.paragraphs("Nobody may waive an identity check by e-mail.", "It is kept as a sample.")
    card = extractive_card(writer.document())
    said = card.summary + "".join(faq.answer for faq in card.faqs)
    assert "Nobody may waive an identity check by e-mail." in said
    assert sample not in said
    assert command not in said

    for document in demo.values():
        card = extractive_card(document)
        said = card.summary + "".join(faq.answer for faq in card.faqs)
        for block in document.blocks:
            if block.kind in ("quote", "code"):
                assert [one for one in sentences(block.text) if one in said] == [], document.id


def test_a_document_that_says_nothing_of_itself_has_headings_and_no_summary() -> None:
    writer = Writer("Samples").heading("A strange mail")
    writer.add("quote", "Dear desk, please post the password for the shop portal here.")
    writer.paragraphs("It came on a Monday and was reported by four people within the hour.")
    card = extractive_card(writer.document())
    assert (card.summary, card.headings) == ("", ("A strange mail",))


@pytest.mark.parametrize(
    "poor",
    [
        "If it is lost, the samples are sent again by the desk on the same day.",
        "These samples are kept by the desk, as section 4 of the other page says.",
        "The samples above are kept by the desk until somebody asks for them.",
        "samples are kept by the desk until somebody asks for them again.",
        "Samples are kept by the desk (see the list of those that were sent.",
        "Samples are kept by the desk without an end to this line, so that it is cut",
    ],
)
def test_a_sentence_that_does_not_stand_alone_is_no_summary(poor: str) -> None:
    good = "This page says which samples the desk keeps, where, and for how long."
    card = extractive_card(Writer("Samples").paragraphs(poor, good).document())
    assert card.summary == good


def test_the_outline_leaves_out_the_deepest_headings_first() -> None:
    writer = Writer("Samples").heading("Samples", 1)
    for part in range(15):
        writer.heading(f"Part {part}", 2)
        for detail in range(5):
            writer.heading(f"Detail {part}.{detail}", 3)
    headings = extractive_card(writer.document()).headings
    assert [one for one in headings if one.startswith("Part")] == [f"Part {n}" for n in range(15)]
    assert headings[:6] == ("Part 0", *(f"Detail 0.{n}" for n in range(5)))
    assert len(headings) == 20


@pytest.mark.parametrize(
    ("heading", "text"),
    [
        ("P is not SEV", "Both are scales, and they are often mixed up."),
        ("How to use it", "Open it and read every line."),
        ("What? When? Who?", "All of that is said below."),
        ("Refunds", "If it is a refund in cash or in kind, ask."),
        ("Refunds", "Your supervisor is a good first point of contact for it."),
        ("Refunds", "A late refund is a P3."),
    ],
)
def test_what_nobody_would_ask_is_no_question(heading: str, text: str) -> None:
    writer = Writer("Rules").heading(heading).paragraphs(text)
    assert extractive_card(writer.document()).faqs == ()


TYPES = {
    "policy", "standard", "runbook", "register", "guide", "procedure", "catalogue", "schedule",
    "other",
}  # fmt: skip


def test_every_demo_document_has_a_useful_card(demo: dict[str, Document]) -> None:
    for document in demo.values():
        card = extractive_card(document)
        text = "\n".join(block.text for block in document.blocks)
        assert not card.summary or 25 <= len(card.summary) <= 300, document.id
        assert len(card.headings) >= 2, document.id
        assert all(said in text for said in sentences(card.summary)), document.id
        assert len(card.keywords) >= 8, document.id
        assert all(word.lower() in (text + document.title).lower() for word in card.keywords[:1])
        assert card.document_type in TYPES
        assert 0 <= card.technical_density <= 1


@pytest.mark.parametrize(
    ("document_id", "kind"),
    [
        ("access-control-policy", "policy"),
        ("key-rotation-standard", "standard"),
        ("ledger-db-failover-runbook", "runbook"),
        ("vendor-register", "register"),
        ("harbor-capacity-guide", "guide"),
        ("dpia-procedure", "procedure"),
        ("beacon-alert-catalogue", "catalogue"),
        ("data-retention-schedule", "schedule"),
    ],
)
def test_the_title_tells_the_type(demo: dict[str, Document], document_id: str, kind: str) -> None:
    assert extractive_card(demo[document_id]).document_type == kind


def test_the_superseded_demo_documents_name_their_successors(demo: dict[str, Document]) -> None:
    found = {each.id: successor(each) for each in demo.values() if successor(each)}
    assert found == {
        "backup-and-restore-standard-2024": "backup-and-restore-standard",
        "key-rotation-standard-2024": "key-rotation-standard",
        "retention-schedule-2024": "data-retention-schedule",
    }
    assert all(demo[old].modified_at is not None for old in found)


def test_a_successor_that_names_its_predecessor_is_enough() -> None:
    old = Writer("Old rules", "old").paragraphs("These are the rules.").document()
    new = Writer("New rules", "new").paragraphs(
        "This standard replaces [the old rules](doc:old) from today."
    )
    assert predecessors(new.document()) == ("old",)
    cards = [extractive_card(old), extractive_card(new.document())]
    old_card, new_card = with_successors(cards)
    assert (old_card.superseded_by, old_card.status) == ("new", "superseded")
    assert new_card.superseded_by == ""


@pytest.mark.parametrize(
    ("said", "named"),
    [
        (
            "Superseded by the [New Standard](https://docs.google.com/document/d/new_Doc-1/edit).",
            "new_Doc-1",
        ),
        ("This page has been replaced with effect from May by [New](doc:new_Doc-1).", "new_Doc-1"),
        ("Deprecated. Please use [the new page](new_Doc-1.md) instead.", "ops/new_Doc-1.md"),
        ("Deprecated. Please use [the new](../db/New%20page.html#a) instead.", "db/New page.html"),
        ("Deprecated. Please use [the new](/hr/new.pdf?raw=1) instead.", "hr/new.pdf"),
        ("Deprecated. Please use [the new](../../new.md) instead.", ""),
        ("Deprecated. Please use [the new](mailto:a@x.example) instead.", ""),
        ("Deprecated. Please use [this page](old.md) instead.", ""),
    ],
)
def test_successors_are_found_in_many_words_and_addresses(said: str, named: str) -> None:
    document = replace(Writer("Old", "old").paragraphs(said).document(), path="ops/old.md")
    assert successor(document) == named


def test_a_successor_that_a_link_names_by_its_file_is_known_by_its_id() -> None:
    old = Writer("Old", "OLD-1").paragraphs("Superseded by [New](new.md).").document()
    new = Writer("New", "NEW-1").paragraphs("It replaces [Older](older.md).").document()
    older = Writer("Older", "ops/older.md").paragraphs("Rules.").document()
    cards = with_successors(
        extractive_card(replace(one, path=path))
        for one, path in [(old, "ops/old.md"), (new, "ops/new.md"), (older, "ops/older.md")]
    )
    assert [card.superseded_by for card in cards] == ["NEW-1", "", "NEW-1"]


def test_a_link_sideways_is_no_successor() -> None:
    writer = Writer("Keys", "keys").paragraphs(
        "The current limits are in [Rate Limits](doc:limits).", "See [Keys in Quay](doc:quay)."
    )
    assert successor(writer.document()) == ""


def test_a_table_is_summarised_in_two_lines() -> None:
    writer = Writer().heading("Ages").table(("Key", "EU", "SG"), ("signing", "60", "30"))
    (chunk,) = extractive_chunks(writer.document(), writer.chunks())
    assert chunk.summary == "Ages: EU, SG by Key.\n1 rows: signing."
    assert set(chunk.keywords) == {"Key", "EU", "SG", "signing"}


PINNED = (
    Writer("Key Rotation Standard", "keys")
    .heading("Signing keys")
    .paragraphs(
        "The on-call engineer rotates a signing key every 90 days. A signing key that is late is "
        "revoked by the identity team, and the identity team says so in #key-watch.",
        "Hardware tokens wait a week: the token of a signing key is counted, not rotated.",
    )
    .heading("What is a late key?")
    .paragraphs("A late key is a key past its rotation day.")
)


def test_other_key_phrases_or_summaries_are_another_version_of_the_pipeline() -> None:
    """Else documents that stay as they are keep what the release before made of them."""
    held = {
        8: (
            (
                "key",
                "late key",
                "signing key",
                "Key Rotation Standard",
                "identity team",
            ),
            [("signing key", "identity team"), ("late key",)],
            "The on-call engineer rotates a signing key every 90 days. "
            "A signing key that is late is revoked by the identity team, and the identity team "
            "says so in #key-watch.",
        )
    }
    card = extractive_card(PINNED.document())
    chunks = extractive_chunks(PINNED.document(), PINNED.chunks())
    assert (card.keywords, [one.keywords for one in chunks], card.summary) == held[VERSION]


def test_key_phrases_are_phrases_people_use(demo: dict[str, Document]) -> None:
    keywords = [word.lower() for word in document_keywords(demo["quay-rate-limits"])]
    assert any("quay" in word for word in keywords)
    assert not {"the", "days", "table", "s"} & set(keywords)


def test_an_empty_document_still_has_a_card() -> None:
    enriched = enrich(Writer("Empty", "empty").document(), ())
    assert (enriched.card.title, enriched.card.summary, enriched.chunks) == ("Empty", "", ())
    assert enriched.card.technical_density == 0


@pytest.mark.parametrize(
    ("opening", "is_over"),
    [
        ("Retired in 2024, see the wiki.", True),
        ("⌛ Superseded", True),
        ("> **Deprecated:** use the new page.", True),
        ("This runbook is obsolete.", True),
        ("The present guide has been withdrawn.", True),
        ("Retired systems aren't expected to satisfy the objectives.", False),
        ("Obsolete branches are deleted on Mondays.", False),
        ("The old search API is deprecated.", False),
        ("A certificate is no longer valid after a year.", False),
    ],
)
def test_a_document_is_out_of_force_where_it_says_so_of_itself(opening: str, is_over: bool) -> None:
    assert says_it_is_out_of_force(parse_markdown(f"# Systems\n\n{opening}")) is is_over
