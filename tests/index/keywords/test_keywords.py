from __future__ import annotations

import shutil
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from enrichment.chunk import Chunk, DocumentCard, Entity, Faq
from enrichment.language.words import STOP_WORDS, search_terms
from index.generations.folder import FORMAT
from index.keywords.bm25 import K1, B, RankBm25, SparseBm25, chunk_terms, save_sparse
from index.keywords.columns import Bags, Columns, following

ROWS = [
    "signing keys are rotated every ninety days by the identity team",
    "the on-call engineer rotates at noon",
    "SEC-1234 covers keys in hbr-eu1",
    "",
    "keys keys keys and nothing else",
]
word = st.sampled_from(
    ["key", "rotate", "p0", "sec-1", "team", "day", "lock", "node", "disk", "page"]
)

SAID = """
The on-call engineer's keys: SEC-1234 rotates P0 hosts in hbr-eu1 (v1.2) at 90% of max_age.
IT doesn't tell the US team, afaik; read/write access to C++ or R&D needs Zoë's okay. 暗号鍵 2FA
"""


def test_other_search_terms_are_another_format() -> None:
    """Published folders hold the terms of their day, and are asked with today's."""
    held = {
        7: "on-call oncal call engin key sec-1234 sec 1234 rotat p0 host hbr-eu1 hbr eu1 v1.2 v1 "
        "90 max_age maxag max age it us team read/write read write access c++ r&d zoë 暗号 号鍵 2fa"
    }
    assert " ".join(search_terms(SAID)) == held[FORMAT]


def test_other_stop_words_are_another_format() -> None:
    held = {7: "8ab8cf5565b6e07f"}
    assert sha256(" ".join(sorted(STOP_WORDS)).encode()).hexdigest()[:16] == held[FORMAT]


def sparse(folder: Path, bags: list[list[str]]) -> SparseBm25:
    save_sparse(folder, columns_of(bags))
    return SparseBm25(folder)


def columns_of(bags: list[list[str]]) -> Columns:
    fresh = Bags()
    for row, bag in enumerate(bags):
        fresh.add(row, bag)
    return following(None, np.zeros(0, dtype=np.int32), fresh, len(bags))


@settings(
    max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None
)
@given(bags=st.lists(st.lists(word, max_size=12), min_size=1, max_size=15), query=st.lists(word))
def test_both_engines_score_alike(tmp_path: Path, bags: list[list[str]], query: list[str]) -> None:
    fast, plain = sparse(tmp_path, bags), RankBm25(bags)
    assert np.allclose(fast.scores(query), plain.scores(query), atol=1e-5)
    assert all(fast.frequency(term) == plain.frequency(term) for term in query)


@settings(
    max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None
)
@given(bags=st.lists(st.tuples(st.lists(word, max_size=8), st.sampled_from("-+=")), max_size=12))
def test_columns_of_edited_rows_are_those_of_all_rows_anew(
    tmp_path: Path, bags: list[tuple[list[str], str]]
) -> None:
    """- leaves, + is new, = stays."""
    base = sparse(tmp_path / "base", [bag for bag, fate in bags if fate != "+"])
    after = [(bag, fate) for bag, fate in bags if fate != "-"]
    row_of_base, fresh, row = [], Bags(), 0
    for bag, fate in bags:
        if fate == "+":
            fresh.add(row, bag)
        else:
            row_of_base.append(row if fate == "=" else -1)
        row += fate != "-"
    made = following(base.columns, np.array(row_of_base, dtype=np.int32), fresh, len(after))
    anew = columns_of([bag for bag, _ in after])
    assert made.terms == anew.terms
    for name in ("starts", "rows", "counts", "lengths"):
        assert np.array_equal(getattr(made, name), getattr(anew, name)), name
    shutil.rmtree(tmp_path / "base")


def test_bm25s_itself_builds_the_same_columns(tmp_path: Path) -> None:
    import bm25s

    bags = [search_terms(row) for row in ROWS]
    library = bm25s.BM25(method="lucene", k1=K1, b=B, backend="numpy")
    library.index(bags, show_progress=False)
    for query in ("rotated keys", "SEC-1234", "engineer noon"):
        expected = library.get_scores(search_terms(query))
        assert np.allclose(sparse(tmp_path, bags).scores(search_terms(query)), expected, atol=1e-5)


def test_bm25s_reads_what_was_saved(tmp_path: Path) -> None:
    import bm25s

    found = sparse(tmp_path, [search_terms(row) for row in ROWS])
    loaded = bm25s.BM25.load(tmp_path, mmap=True)
    assert np.allclose(
        loaded.get_scores(search_terms("rotated keys")), found.scores(search_terms("rotated keys"))
    )


def test_an_exact_code_beats_its_parts(tmp_path: Path) -> None:
    index = sparse(
        tmp_path,
        [search_terms("SEC-1234 rule"), search_terms("SEC and 1234 rule"), search_terms("other")],
    )
    assert index.scores(search_terms("SEC-1234")).argmax() == 0


def test_an_empty_index_and_an_empty_query_score_nothing(tmp_path: Path) -> None:
    assert sparse(tmp_path / "a", []).scores(["key"]).shape == (0,)
    assert RankBm25([]).scores(["key"]).shape == (0,)
    assert not sparse(tmp_path / "b", [["key"]]).scores([]).any()


def test_a_chunk_is_found_by_its_metadata(
    chunk: Callable[..., Chunk], card: Callable[..., DocumentCard]
) -> None:
    one = chunk(
        "guide",
        0,
        "Call the bridge.",
        heading="Escalation",
        keywords=("paging",),
        entities=(Entity(kind="code", value="P0"),),
    )
    document = card("guide", keywords=("outage",), faqs=(Faq(question="Who decides?", answer="…"),))
    bag = chunk_terms(one, document)
    for text in ("bridge", "escalation", "paging", "P0", "outage", "decides"):
        assert set(search_terms(text)) <= set(bag), text
    assert bag.count("escal") > bag.count("bridg")


def test_a_chunk_is_found_by_the_words_of_its_files_path(
    chunk: Callable[..., Chunk], card: Callable[..., DocumentCard]
) -> None:
    document = card("guide", path="runbooks/kiln_team/night-shift.v2.md")
    bag = chunk_terms(chunk("guide", 0, "Call the bridge."), document)
    assert {"runbook", "kiln", "team", "night", "shift", "v2"} <= set(bag)
    assert "md" not in bag
