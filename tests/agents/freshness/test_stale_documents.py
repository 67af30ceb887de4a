"""Which documents are to be looked over, in which order, and why."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest

from agents.freshness.stale_documents import StaleDocument, review_overdue, stale_documents
from enrichment.chunk import DocumentCard

NOW = datetime(2026, 11, 25, 12, tzinfo=UTC)


def card(name: str, *, months: int | None = 14, **more: Any) -> DocumentCard:
    modified = NOW - timedelta(days=int(30.44 * months) + 1) if months is not None else None
    values = {"title": name.title(), "url": f"https://docs.example/{name}", "summary": ""}
    return DocumentCard(id=name, modified_at=modified, **(values | more))


def stale(*cards: DocumentCard, **cited: int) -> list[StaleDocument]:
    return stale_documents(cards, cited, review_months=12, now=NOW)


def test_an_old_document_that_is_often_cited_says_how_often_and_how_old() -> None:
    (one,) = stale(card("keys"), keys=42)
    assert one.reason() == "cited 42 times in 90 days, last changed 14 months ago"
    assert one.score == pytest.approx(42 * one.months / 12 if one.months else 0)


@pytest.mark.parametrize(
    "found",
    [
        stale(card("keys", months=11), keys=42),
        stale(card("keys"), keys=2),
        stale(card("keys", months=None), keys=42),
        stale(card("keys", status="superseded"), keys=42),
        stale(card("keys", superseded_by="new", review_by=date(2026, 1, 1)), keys=42),
        stale(card("keys", months=2, review_by=date(2026, 11, 25)), keys=42),
    ],
)
def test_young_unused_undated_or_superseded_ones_are_not_listed(
    found: list[StaleDocument],
) -> None:
    assert found == []


def test_past_its_own_date_it_is_listed_however_young_and_unused() -> None:
    (one,) = stale(card("keys", months=2, review_by=date(2026, 11, 24)))
    assert one.reason() == (
        "was to be reviewed by 24 Nov 2026, not cited lately, last changed 2 months ago"
    )
    (used,) = stale(card("keys", months=2, review_by=date(2026, 11, 24)), keys=5)
    assert used.score == 10.0


def test_a_review_date_is_past_when_it_is_over_everywhere() -> None:
    due = card("keys", months=2, review_by=date(2026, 11, 24))
    assert review_overdue(due, NOW) == date(2026, 11, 24)
    assert review_overdue(due, NOW - timedelta(minutes=1)) is None
    assert review_overdue(card("keys", review_by=date.max), NOW) is None


def test_what_people_act_by_comes_before_drafts_and_use_before_age() -> None:
    found = stale(
        card("draft", status="draft"),
        card("policy", document_type="policy"),
        card("guide", document_type="guide"),
        card("used"),
        draft=10, policy=10, guide=10, used=30,
    )  # fmt: skip
    assert [one.id for one in found] == ["used", "policy", "guide", "draft"]
