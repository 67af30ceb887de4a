"""Until when a document was to be reviewed, as it says itself in many ways; and what is no such
date."""

from __future__ import annotations

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from enrichment.extractive.cards import extractive_card
from enrichment.extractive.lifecycle import review_date
from loaders.dates import date_in, months_later
from loaders.files.markdown import parse_markdown

SEPTEMBER = date(2026, 9, 1)


def said_in(body: str, front: str = "") -> date | None:
    document = parse_markdown(f"{front}# Backup Guide\n\n{body}\n\n## Steps\n\nCopy it.\n")
    return extractive_card(document).review_by


@pytest.mark.parametrize(
    "body",
    [
        "Owner: Ines · Next review: 2026-09-01",
        "Owner: Ines. Next review: 2026-09-01.",
        "**Review by:** 1 September 2026",
        "Next review date: September 1, 2026",
        "Review due: 01.09.2026",
        "This guide is valid until 1 September 2026.",
        "This document must be reviewed by 1st of September 2026.",
        "The next review is due on 2026-09-01.",
        "It was written in 2024. This policy expires on Sept 1, 2026 unless it is renewed.",
        "| Owner | Status | Next review |\n|---|---|---|\n| Ines | current | 2026-09-01 |",
        "| | |\n|---|---|\n| Owner | Ines |\n| Last reviewed | 2025-09-01 |\n"
        "| Valid until | 2026-09-01 |",
        "- Owner: Ines\n- Next review: 2026-09-01",
        "Next review: Tuesday, 1 September 2026",
        "Next review: by 2026.09.01",
        "Next review: 2026-09-01T00:00:00+08:00",
        "Next review: 2026-09-01. Valid until: 2030-12-31.",
        "Next review: 2030-09-01. Valid until: 2026-09-01.",
        "Owner: Ines. Review every 6 months. Last reviewed: 2026-03-01.",
        "Last review: 1 March 2026 · Review cycle: six months",
        "Reviewed annually. Last reviewed on: 2025-09-01",
        "Last reviewed: 2024-01-01. Last reviewed: 2026-06-01. Review: quarterly",
        "| Owner | Ines |\n|---|---|\n| Last reviewed | 2025-09-01 |\n"
        "| Review frequency | yearly |",
    ],
)
def test_a_date_that_the_document_states_of_itself_is_read(body: str) -> None:
    assert said_in(body) == SEPTEMBER


@pytest.mark.parametrize(
    "body",
    [
        "Certificates are valid until 2026-09-01.",
        "The audit log expires on 1 September 2026.",
        "Last reviewed: 2026-09-01",
        "Reviewed on 2026-09-01 by Ines.",
        "Next review: to be agreed",
        "Next review: every September",
        "| Certificate | Valid until |\n|---|---|\n| web-eu1 | 2026-09-01 |",
        "| Supplier | Next review |\n|---|---|\n| Harbour | 2026-09-01 |\n| Quay | 2026-10-01 |",
        "Next review: 2026-13-45",
        "Next review: 2026-02-30",
        "Next review: 30 February 2026",
        "Next review: 31/09/2026",
        "Review every 6 months.",
        "Last reviewed: 2026-03-01. Review every 6 months the list of suppliers.",
        "Last reviewed: 2026-03-01. The board is reviewed every 6 months.",
        "Next review: 2027 laptops are ordered before it.",
        "The board's next review of suppliers: see the calendar, 2026-09-01.",
    ],
)
def test_other_dates_are_none_of_it(body: str) -> None:
    assert said_in(body) is None


def test_it_is_read_at_the_end_as_well_and_of_several_the_latest_counts() -> None:
    steps = "\n\n".join(f"Step {n} is done by hand." for n in range(30))
    assert said_in(f"{steps}\n\nNext review: 2026-09-01") is not None
    assert said_in("Next review: 2025-09-01\n\nNext review: 2026-09-01") == SEPTEMBER


def test_front_matter_goes_before_the_text_and_what_is_no_date_there_is_passed_over() -> None:
    front = "---\nid: backup\nreview_by: 2026-12-01\n---\n"
    assert said_in("Next review: 2026-09-01", front) == date(2026, 12, 1)
    assert said_in("Next review: 2026-09-01", "---\nreview_by: [soon]\n---\n") == SEPTEMBER
    assert said_in("", "---\nnext_review: '2026-09-01'\n---\n") == SEPTEMBER


def test_months_and_quarters_are_over_at_their_end_and_a_doubtful_day_is_the_later_one() -> None:
    assert date_in("September 2026") == date(2026, 9, 30)
    assert date_in("end of Q3 2026") == date(2026, 9, 30)
    assert date_in("2026-02") == date(2026, 2, 28)
    assert date_in("03/02/2026") == date(2026, 3, 2)
    assert date_in("31/12/2026") == date(2026, 12, 31)
    assert date_in("45/45/2026") is None
    assert date_in("2027") == date(2027, 12, 31)
    assert date_in("end of 2027.") == date(2027, 12, 31)


def test_months_later_ends_where_the_month_does() -> None:
    assert months_later(date(2026, 8, 31), 6) == date(2027, 2, 28)
    assert months_later(date(2026, 12, 1), 12) == date(2027, 12, 1)
    assert months_later(date.max, 1) is None


@pytest.mark.parametrize(
    ("value", "day"),
    [
        ("2026-02-30", None),
        ("'2026-02-30'", None),
        ("every 6 months", None),
        ("2027", date(2027, 12, 31)),
        ("1 September 2026", SEPTEMBER),
        ("September 2026", date(2026, 9, 30)),
        ("2026-09-01T10:00:00Z", SEPTEMBER),
    ],
)
def test_no_date_in_the_front_matter_makes_a_document_unreadable(
    value: str, day: date | None
) -> None:
    assert said_in("", f"---\nid: backup\nreview_by: {value}\n---\n") == day


@given(st.text(max_size=200))
def test_no_text_breaks_it(text: str) -> None:
    document = parse_markdown("# T\n")
    assert review_date(document) is None
    date_in(text)
    said_in(f"Next review: {text}".replace("\x00", ""))
