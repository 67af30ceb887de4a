from __future__ import annotations

import pytest

from agents.checks.claims import claims_of


def cited(text: str, number: int) -> str:
    return " ".join(claim.text for claim in claims_of(text) if number in claim.numbers)


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
    assert "Orders" not in cited(text, 1)
    assert "Laptops" in cited(text, 1)
    assert "Orders" in cited(text, 2)


@pytest.mark.parametrize(
    "text",
    [
        "```\nrm -rf keys\n```",
        "    rm -rf keys",
        "## How to rotate a key",
        "**Steps**",
        "Shall I look for the one of web-eu1?",
        "| Key | Age |\n|---|---|",
        "Yes.",
    ],
)
def test_what_says_nothing_claims_nothing(text: str) -> None:
    assert claims_of(text) == ()


@pytest.mark.parametrize(
    "text",
    [
        "Do this [1]:\n\n1. Stop the job\n2. Rotate the key",
        "Do this:\n\n1. Stop the job\n2. Rotate the key [1]",
        "Do this:\n\n1. Stop the job\n2. Rotate the key\n\n[1]",
        "Do this:\n\n1. Stop the job\n2. Rotate the key\n\nSource: [1]",
        "Do this:\n\n1. Stop the job [1]\n2. Rotate the key [1]",
        "## Steps [1]\n\n1. Stop the job\n2. Rotate the key",
        "Stop the job. Rotate the key [1].",
        "> Stop the job.\n> Rotate the key.\n\n[1]",
        "| Step | What [1] |\n|---|---|\n| 1 | Stop the job |\n| 2 | Rotate the key |",
    ],
)
def test_a_citation_before_or_after_a_block_covers_it(text: str) -> None:
    assert [claim.numbers for claim in claims_of(text)] == [(1,), (1,)]


def test_a_citation_does_not_cover_what_follows_its_paragraph() -> None:
    claims = claims_of("Stop the job [1].\n\nThen dance.")
    assert [claim.numbers for claim in claims] == [(1,), ()]


@pytest.mark.parametrize(
    "text",
    [
        "The documents don't say who approves it.",
        "Parental leave is not mentioned.",
        "There is no mention of a budget in the guide.",
        "I could not find a limit for Singapore.",
    ],
)
def test_what_the_documents_do_not_say_is_told_from_what_they_say(text: str) -> None:
    assert [claim.kind for claim in claims_of(text)] == ["absence"]


def test_what_is_said_beside_an_absence_is_a_claim() -> None:
    claims = claims_of("The documents don't say when; keys expire after 60 days [1].")
    assert [claim.kind for claim in claims] == ["absence", "statement"]


def test_a_rule_with_a_not_is_a_claim() -> None:
    assert [claim.kind for claim in claims_of("They do not cover contractors [1].")] == [
        "statement"
    ]
