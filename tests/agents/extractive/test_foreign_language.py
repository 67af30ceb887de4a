from __future__ import annotations

import pytest

from agents.extractive.language import _NOTICES, foreign_language
from tests.agents.corpus import asking, snapshot
from tests.agents.foreign_questions import FOREIGN

ENGLISH = snapshot()
TOLD = 0.9


@pytest.mark.parametrize("language", FOREIGN)
def test_nine_of_ten_questions_in_another_language_are_told(language: str) -> None:
    told = [foreign_language(question, ENGLISH) for question in FOREIGN[language]]
    assert told.count(language) >= TOLD * len(told)
    assert set(told) <= {language, ""}


@pytest.mark.parametrize(
    "question",
    [
        "how old may an API signing key get in São Paulo?",
        "what does 契約 mean in the vendor list?",
        "who is on call for the Los Angeles office",
        "EST or CEST for the DE on-call?",
        "min length for passage",
        "ETA de-de locale van der Berg",
        "kubectl get pods -n prod-eu",
        "P1 SEV-1 Okta SSO",
        "café budget",
    ],
)
def test_names_codes_and_quotations_are_no_other_language(question: str) -> None:
    assert foreign_language(question, ENGLISH) == ""


def test_nothing_is_foreign_to_an_embedder_of_many_languages() -> None:
    found = snapshot()
    found.language = ""
    assert foreign_language(FOREIGN["French"][1], found) == ""


GERMAN = """---
id: urlaub
title: Urlaub
---
# Urlaub

## Anspruch

Wie viele Tage es sind, steht im Vertrag. Wer im Jahr keine Tage nimmt, der verliert sie.

## Antrag

Wer Urlaub nimmt, der fragt im Team. Wie viele im Jahr gehen, sagt die Leitung.
"""


def test_the_language_of_the_documents_is_not_foreign() -> None:
    question = "wie viele Tage im Jahr, und wer fragt?"
    assert foreign_language(question, ENGLISH) == "German"
    assert foreign_language(question, snapshot(GERMAN)) == ""


@pytest.mark.parametrize("language", sorted(set(FOREIGN)))
def test_a_reply_speaks_about_itself_in_the_askers_language(language: str) -> None:
    english = "This looks like" in asking()(FOREIGN[language][1]).text
    assert english == (language not in _NOTICES)


def test_every_language_has_every_sentence() -> None:
    for texts in _NOTICES.values():
        assert texts.keys() == _NOTICES["English"].keys()
