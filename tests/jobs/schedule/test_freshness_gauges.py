"""An index grows old in sight, also where no runner of jobs runs."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from config.domain import Domain
from jobs.schedule.freshness import Freshness, FreshnessGauges
from telemetry import metrics
from tests.bot.fakes import domain


def at(written: str) -> datetime:
    return datetime.fromisoformat(written).replace(tzinfo=UTC)


def value(name: str, of: str) -> float | None:
    return metrics.registry.get_sample_value(name, {"domain": of})


def test_an_index_becomes_overdue_between_two_looks_at_the_database() -> None:
    now = [at("2026-11-03T03:30")]
    nightly = {"gauged": domain(domain="gauged", refresh="0 3 * * *")}
    fresh = Freshness(domain="gauged", fresh_at=at("2026-11-02T03:00"), failing={"keys": "403"})
    gauges = FreshnessGauges(lambda: nightly, lambda name: fresh, lambda: now[0])
    gauges.look()
    gauges.observe()
    assert value("oncall_index_overdue", "gauged") == 0
    assert value("oncall_index_age_seconds", "gauged") == 24.5 * 3600
    assert value("oncall_documents_failing", "gauged") == 1
    now[0] = at("2026-11-03T04:01")
    gauges.observe()
    assert value("oncall_index_overdue", "gauged") == 1


def test_a_domain_that_is_gone_has_no_age() -> None:
    known: dict[str, Domain] = {"gone": domain(domain="gone", refresh="0 3 * * *")}
    fresh = Freshness(domain="gone", fresh_at=at("2026-11-02T03:00"))
    gauges = FreshnessGauges(lambda: known, lambda name: fresh)
    gauges.look()
    gauges.observe()
    assert value("oncall_index_overdue", "gone") == 1
    known.clear()
    gauges.observe()
    assert value("oncall_index_overdue", "gone") is None


def test_an_outage_changes_nothing_that_was_seen() -> None:
    def away(name: str) -> Freshness:
        if outage:
            raise OSError("the database is away")
        return Freshness(domain=name, fresh_at=at("2026-11-02T03:00"))

    outage = False
    known = {"kept": domain(domain="kept", refresh="0 3 * * *")}
    gauges = FreshnessGauges(lambda: known, away, lambda: at("2026-11-02T12:00"))
    gauges.look()
    outage = True
    with pytest.raises(OSError, match="away"):
        gauges.look()
    gauges.observe()
    assert value("oncall_index_overdue", "kept") == 0
    assert value("oncall_index_age_seconds", "kept") == 9 * 3600


def test_failures_are_counted_from_nought_so_that_the_first_is_a_rise() -> None:
    known: dict[str, Domain] = {"quiet": domain(domain="quiet")}
    gauges = FreshnessGauges(lambda: known, lambda name: Freshness(domain=name))
    gauges.look()
    gauges.observe()
    for counter in ("oncall_questions_failed_total", "oncall_degraded_total"):
        assert value(counter, "quiet") == 0
