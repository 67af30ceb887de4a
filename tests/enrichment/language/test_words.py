from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from enrichment.language.words import (
    STOP_WORDS,
    codes,
    naming_words,
    prose_words,
    search_terms,
    stems,
    written_out,
)


@pytest.mark.parametrize("code", ["SEC-1234", "web-eu1", "P0", "v1.2.3", "max.poll.records", "C++"])
def test_codes_are_kept_whole(code: str) -> None:
    assert code.lower() in search_terms(f"What is {code}?")


def test_a_code_is_also_found_by_its_parts() -> None:
    assert set(search_terms("SEC-1234")) == {"sec-1234", "sec", "1234"}


def test_words_meet_by_their_stem() -> None:
    assert set(search_terms("rotation of keys")) & set(search_terms("the key is rotated")) >= {
        "rotat",
        "key",
    }


@pytest.mark.parametrize("spelling", ["on-call", "oncall", "On_Call", "on-call's"])
def test_joined_and_hyphenated_spellings_meet(spelling: str) -> None:
    assert set(search_terms(spelling)) & set(search_terms("oncall"))


def test_a_code_is_not_stemmed() -> None:
    assert search_terms("p0s1s") == ["p0s1s"]


def test_stop_words_give_nothing() -> None:
    assert search_terms("what is the and of how do we") == []
    assert all(search_terms(word) == [] for word in STOP_WORDS)


def test_full_width_and_case_do_not_matter() -> None:
    assert search_terms("ＳＥＣ－１２３４".replace("－", "-")) == search_terms("sec-1234")


def test_scripts_without_spaces_match_by_neighbouring_characters() -> None:
    assert set(search_terms("鍵交換")) & set(search_terms("暗号鍵交換の頻度"))


@given(st.text(max_size=300))
def test_any_text_gives_clean_terms(text: str) -> None:
    found = search_terms(text)
    assert all(term and not term.isspace() and term == term.strip() for term in found)


def test_a_huge_text_is_cut() -> None:
    assert len(search_terms("word " * 1_000_000)) == 20_000


def test_threads_do_not_disturb_each_other() -> None:
    texts = [f"rotating policies number{n} escalations" for n in range(200)]
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(search_terms, texts)) == [search_terms(text) for text in texts]


@pytest.mark.parametrize(
    ("question", "named"),
    [
        ("how do I rotate a key?", {"rotat", "key"}),
        ("isn't it the owner's job", {"owner", "job"}),
        ("I don’t want the on-call's phone", {"call", "phone"}),
        ("is P1 a SEC-1234", {"p1", "sec-1234"}),
        ("does IT help in the US or just us", {"it", "help", "us"}),
        ("read/write access", {"read", "write", "access"}),
        ("鍵交換", {"鍵交", "交換"}),
        ("thx, pls", set()),
    ],
)
def test_a_question_names_words_and_codes_but_not_what_it_asks_with(
    question: str, named: set[str]
) -> None:
    assert set(naming_words(question)) == named


@given(st.text(alphabet=st.characters(categories=["Ll", "Lu", "Nd", "Po", "Pd", "Zs"])))
def test_whatever_a_question_names_is_found_in_a_passage_with_the_same_words(text: str) -> None:
    assert naming_words(text).keys() <= stems(text)


def test_a_shouted_question_names_what_a_quiet_one_does() -> None:
    quiet = "how do we rotate all of the keys"
    assert naming_words(quiet.upper()) == naming_words(quiet)


def test_codes_come_as_written_and_once() -> None:
    assert codes("is P1 on web-eu1 a SEV2, or P1?") == ("P1", "web-eu1", "SEV2")


def test_chat_shorthand_is_written_out_and_look_alikes_stay() -> None:
    assert written_out("ppl w/ access, w/o msgs") == "people with access, without messages"
    assert written_out("w/hold /w/ bcc PPL") == "w/hold /w/ bcc PPL"


def test_prose_leaves_figures_out() -> None:
    assert prose_words("In 90 days, 3x more on-call") == ["In", "days", "more", "on-call"]
