"""Documents to review: past the review date that they state, or old and often cited."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta

from enrichment.chunk import DocumentCard, is_out_of_force

COUNTED_DAYS = 90
MIN_CITATIONS = 3
"""Minimum citations of an old document: the age of a hardly used one does no harm."""
_ACTED_ON = frozenset({"policy", "standard", "procedure", "runbook"})
"""Types of documents that people act on."""
_DAYS_IN_MONTH = 30.44


@dataclass(frozen=True, kw_only=True)
class StaleDocument:
    """A document to review, with the parts of its score."""

    id: str
    title: str
    url: str
    owner: str
    cited: int
    """Number of answers that cited it in the last 90 days."""
    months: float | None
    """Months since its last change; None where the source does not say."""
    importance: float
    """2 for a document that people act on, 0.5 for a draft, else 1."""
    review_by: date | None
    """The past review date; None where it is listed for its age alone."""
    score: float
    """cited x (months / review months) x importance. A past review date counts as twice the review
    months at least: the document itself says that it is due."""

    def reason(self) -> str:
        """Text for display: `cited 42 times in 90 days, last changed 14 months ago`."""
        times = "once" if self.cited == 1 else f"{self.cited} times"
        parts = [f"cited {times} in {COUNTED_DAYS} days" if self.cited else "not cited lately"]
        if self.months is not None:
            count = int(self.months)
            ago = "this month" if not count else f"{count} month{'s' if count > 1 else ''} ago"
            parts.append(f"last changed {ago}")
        if self.review_by:
            parts.insert(0, f"was to be reviewed by {on_day(self.review_by)}")
        return ", ".join(parts)


def stale_documents(
    cards: Iterable[DocumentCard],
    citation_counts: Mapping[str, int],
    *,
    review_months: int,
    now: datetime | None = None,
) -> list[StaleDocument]:
    """Highest score first. `citation_counts`: document id → answers that cited it in 90 days.

    Superseded and withdrawn documents are not listed: nobody needs to update them."""
    now = now or datetime.now(UTC)
    documents: list[StaleDocument] = []
    for card in cards:
        if is_out_of_force(card):
            continue
        overdue, uses = review_overdue(card, now), citation_counts.get(card.id, 0)
        months = _months_since(card.modified_at, now)
        is_old = months is not None and months >= review_months and uses >= MIN_CITATIONS
        if not overdue and not is_old:
            continue
        importance = _importance(card)
        age = (months or 0.0) / review_months
        one = StaleDocument(
            id=card.id,
            title=card.title,
            url=card.url,
            owner=card.owner,
            cited=uses,
            months=months,
            importance=importance,
            review_by=overdue,
            score=uses * (max(age, 2.0) if overdue else age) * importance,
        )
        documents.append(one)
    return sorted(documents, key=lambda one: (-one.score, -one.cited, one.title, one.id))


def review_overdue(card: DocumentCard, now: datetime) -> date | None:
    """The past review date of a document in force; else None. `now`: timezone-aware."""
    day = card.review_by
    is_over = day is not None and passed_at(day) <= now
    return day if is_over and not is_out_of_force(card) else None


def passed_at(day: date) -> datetime:
    """When the day is over everywhere: west of Greenwich it ends up to twelve hours later."""
    if day == date.max:
        return datetime.max.replace(tzinfo=UTC)
    return datetime.combine(day + timedelta(days=1), time(12), UTC)


def on_day(day: date) -> str:
    """`1 Sep 2026`."""
    return f"{day.day} {day:%b %Y}"


def _importance(card: DocumentCard) -> float:
    if "draft" in card.status.lower().split(", "):
        return 0.5
    return 2.0 if card.document_type in _ACTED_ON else 1.0


def _months_since(modified: datetime | None, now: datetime) -> float | None:
    if modified is None:
        return None
    aware = modified if modified.tzinfo else modified.replace(tzinfo=UTC)
    return max(0.0, (now - aware).days / _DAYS_IN_MONTH)
