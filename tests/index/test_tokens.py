from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from index.keywords.tokens import STOP_WORDS, terms


@pytest.mark.parametrize("code", ["SEC-1234", "hbr-eu1", "P0", "v1.2.3", "max.poll.records", "C++"])
def test_codes_are_kept_whole(code: str) -> None:
    assert code.lower() in terms(f"What is {code}?")


def test_a_code_is_also_found_by_its_parts() -> None:
    assert set(terms("SEC-1234")) == {"sec-1234", "sec", "1234"}


def test_words_meet_by_their_stem() -> None:
    assert set(terms("rotation of keys")) & set(terms("the key is rotated")) >= {"rotat", "key"}


@pytest.mark.parametrize("spelling", ["on-call", "oncall", "On_Call", "on-call's"])
def test_joined_and_hyphenated_spellings_meet(spelling: str) -> None:
    assert set(terms(spelling)) & set(terms("oncall"))


def test_a_code_is_not_stemmed() -> None:
    assert terms("p0s1s") == ["p0s1s"]


def test_stop_words_give_nothing() -> None:
    assert terms("what is the and of how do we") == []
    assert all(terms(word) == [] for word in STOP_WORDS)


def test_full_width_and_case_do_not_matter() -> None:
    assert terms("ＳＥＣ－１２３４".replace("－", "-")) == terms("sec-1234")


def test_scripts_without_spaces_match_by_neighbouring_characters() -> None:
    assert set(terms("鍵交換")) & set(terms("暗号鍵交換の頻度"))


@given(st.text(max_size=300))
def test_any_text_gives_clean_terms(text: str) -> None:
    found = terms(text)
    assert all(term and not term.isspace() and term == term.strip() for term in found)


def test_a_huge_text_is_cut() -> None:
    assert len(terms("word " * 1_000_000)) == 20_000


def test_threads_do_not_disturb_each_other() -> None:
    texts = [f"rotating policies number{n} escalations" for n in range(200)]
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(terms, texts)) == [terms(text) for text in texts]
