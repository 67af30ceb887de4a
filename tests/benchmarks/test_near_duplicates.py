"""Made-up near-duplicates: what they are for, and that they are always the same."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from benchmarks.material.asked_sets import AskedSet, in_one_domain
from benchmarks.material.near_duplicates import (
    Original,
    crowd,
    near_duplicates,
    variations,
    with_other_values,
)
from enrichment.chunk import DocumentCard
from enrichment.pipeline import enrich
from loaders.files.markdown import parse_markdown

RULES = Original(
    "key-rotation",
    "Key Rotation",
    ("## Ages\n\nKeys live 90 days, see 4.2 and RFC 2119.\n", "## Owners\n\nAsk 2 people.\n"),
)


def card(text: str) -> DocumentCard:
    return enrich(parse_markdown(text), []).card


def test_a_hundred_of_a_thousand_are_the_hundred() -> None:
    many = [RULES, Original("zoom", "Zoom", ("## A\n\n5 hosts\n",))]
    assert list(near_duplicates(many, 60))[:10] == list(near_duplicates(many, 10))


def test_each_has_an_id_and_a_title_of_its_own() -> None:
    made = list(near_duplicates([RULES], len(variations())))
    titles = {card(text).title for _, text in made}
    assert len({identity for identity, _ in made}) == len(titles) == len(made)
    assert RULES.title not in titles


def test_an_older_edition_names_its_successor() -> None:
    texts = [text for _, text in near_duplicates([RULES], len(variations()))]
    older = [one for one in map(card, texts) if "edition" in one.title]
    assert {one.superseded_by for one in older} == {RULES.id}
    assert all(one.modified_at and str(one.modified_at.year) in one.title for one in older)


def test_more_than_there_are_is_refused() -> None:
    with pytest.raises(ValueError, match="at most"):
        list(near_duplicates([RULES], 1_000))


def test_values_change_and_what_is_no_value_stays() -> None:
    text = (
        "## 4.2 Ages\n\n"
        "Within 30 days, 99% of keys; 2,500 keys on 2026-01-02 at 10:15 by AES-256 and v3, `30 d`, "
        "[see 30](doc:a-30); again 30 days.\n\n```\nttl 30\n```\n"
    )
    changed = with_other_values(text, random.Random(0))
    kept = ("## 4.2 Ages", "2026-01-02 at 10:15", "AES-256 and v3, `30 d`", "doc:a-30", "ttl 30")
    assert [piece for piece in kept if piece not in changed] == []
    assert "30 days" not in changed
    assert "2,500" not in changed
    first, again = changed.split("Within ")[1].split()[0], changed.split("again ")[1].split()[0]
    assert first == again


def test_a_percentage_stays_one() -> None:
    shares = [with_other_values("80% of it", random.Random(seed)) for seed in range(20)]
    assert all(0 < int(one.split("%")[0]) < 100 for one in shares)
    assert "80% of it" not in shares


def test_a_crowd_is_a_domain_of_its_own_with_the_originals(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs/a.md").write_text("# A\n\n## Rules\n\nWithin 5 days.\n", "utf-8")
    sets = [AskedSet(name, (tmp_path / "docs",), (), name, {"title": name}) for name in "xy"]
    crowded = crowd(in_one_domain(sets), 12, tmp_path / "made")
    assert {one.domain for one in crowded} == {"everything-12"}
    assert crowded[0].files[0] == tmp_path / "docs"
    assert len(list(crowded[0].files[1].glob("*.md"))) == 12
