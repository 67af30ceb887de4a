"""Which row or heading is for an alert: its own and no other, or none, or which of several."""

from __future__ import annotations

import pytest

from agents.alerts.parser import alerts_in
from agents.runbooks.matching import match
from agents.runbooks.narrowing import RunbookMatch
from index.search import Snapshot
from tests.agents.alerts.documents import KNOWN


def matched(text: str, known: Snapshot = KNOWN) -> RunbookMatch:
    (alert,) = alerts_in(text)
    return match(alert, known, {})


def steps(text: str, known: Snapshot = KNOWN) -> list[str]:
    found = matched(text, known)
    return [one.first("step") for one in found.entries] if found.outcome != "none" else []


@pytest.mark.parametrize(
    ("text", "step"),
    [
        ("KeyOverdue class=RC region=sg", "Freeze the key in Singapore"),
        ("KeyOverdue class=RC region=eu", "Rotate within the hour"),
        ("KeyOverdue class=Restricted region=ap-southeast-1 cluster=sg", "Open a ticket for Sing"),
        ("[FIRING:1] KeyOverdue (Restricted us page)", "Open a ticket"),
        ("KeyAge class=RC region=jp", "Tell the owner"),
        ("DiskFull env=prod\nUsage: 97 %", "Extend the volume now"),
        ("[FIRING:1] DiskFull (prod)\nDescription: 83 % used", "Delete old logs"),
        ("HostDown env=production", "Fail over"),
        ("HostDown env=prod severity=p4", "Fail over"),
        ("HostDown env=non-prod", "Wait until the morning"),
        ("ClockSkew region=eu-west-1", "Restart chrony in Ireland"),
        ("ClockSkew region=eu-west-2", "Write it down"),
        ("SlowReads region=fr", "Look at the cache"),
        ("SlowReads region=de", "Call Frankfurt"),
        ("QueueDepth queue=orders.new", "Add workers"),
        ("QueueDepth queue=returns.new", "Find the consumer"),
        ("TenantSlow tenant=globex", "Call the tenant"),
        ("HighMemory service=checkout-api", "Take a heap dump."),
        ("[FIRING:1] HighMemory (checkout-api prod)", "Take a heap dump."),
        ("ProviderTimeout provider=klarion", "Hide the button."),
        ("[FIRING:1] ProviderTimeout (prod Paynoble)", "Route cards elsewhere."),
        ("pg_lag_seconds replica=orders-2\nDescription: 742 s behind", "Take it out of the pool"),
        ("[FIRING:1] pg_lag_seconds (catalog)", "Tell Search"),
        ("Triggered: Basket latency p95 on shop:at", "Turn off recommendations"),
        ("Triggered: Basket latency p95 on shop:nl", "Note it"),
        ("[FIRING:1] host down (prod)", "Fail over"),
        ("[FIRING:1] host-down (prod)", "Fail over"),
        ("[FIRING:1] host_lost (prod)", "Fail over"),
        ("[FIRING:1] Connections high (core)\nDescription: 97% used", "Switch to the standby"),
        ("ConnectionsHigh cluster=core\nDescription: 85% used", "Kill idle sessions"),
        ("ConnectionsHigh cluster=reports\nDescription: 93% used", "Restart the pooler"),
        ("[FIRING:1] DB-3 (reports)", "Restart the pooler"),
        ("[FIRING:1] TunnelDown (osl)", "Restart the concentrator"),
        ("[RESOLVED] DnsServfail (x)", "Use the second resolver."),
        ("TokensOld env=prod region=eu-central-1", "Rotate the signing key"),
        ("LobbyFull region=us", "Open the overflow pool"),
        ("[FIRING:1] FleetDegraded (x)", "Drain the bad zone"),
        ("Resolved: #34 TunnelDown", "Restart the concentrator"),
        ("HD is firing on prod, do I wake somebody?", "Fail over"),
    ],
)
def test_an_alert_finds_its_own_row(text: str, step: str) -> None:
    found = matched(text)
    assert found.outcome == "found", found
    assert found.entries[0].first("step").startswith(step)


@pytest.mark.parametrize(
    "text",
    [
        "KeyOverdue class=RC region=jp",
        "KeyOverdue class=Internal region=sg",
        "DiskFull env=staging",
        "TokensOld env=prod region=us",
        "LobbyFull region=asia",
        "SlowReads region=us",
        "QueueDepth queue=archive.scans",
        "HighMemory service=search-api",
        "[FIRING:1] HighMemory (search-api prod)",
        "ProviderTimeout provider=stripely",
        "[FIRING:1] pg_lag_seconds (prod)\nreplica: dwh",
    ],
)
def test_where_every_row_is_for_others_it_is_said(text: str) -> None:
    found = matched(text)
    assert found.outcome == "other_scope"
    assert found.entries


@pytest.mark.parametrize(
    "text",
    [
        "KeyOverdu class=RC region=sg",
        "KeyAgeWarn region=sg",
        "DiskFul env=prod",
        "[FIRING:1] HostDownLong (prod)",
        "[FIRING:1] checkout-api (prod): errors",
        "[FIRING:1] ledger-core (prod)",
        "Triggered: search-api on host:x",
        "Triggered: search-api latency on host:x",
        "Triggered: Basket latency p99 on shop:at",
        "Triggered: Orders dropped on shop:at",
    ],
)
def test_a_name_that_is_nearly_one_is_none(text: str) -> None:
    assert matched(text).outcome == "none"


@pytest.mark.parametrize(
    ("text", "count", "on"),
    [
        ("KeyOverdue class=RC", 2, ("Region",)),
        ("[FIRING:1] KeyOverdue", 4, ("Class", "Region")),
        ("[FIRING:1] ProviderTimeout", 2, ()),
        ("HostDown host=db-1", 2, ("Environment",)),
        ("KeyOverdue region=sg severity=SEV1", 2, ("Class",)),
        ("[FIRING:1] Connections high (prod)\nDescription: 85% used", 2, ("Cluster", "Threshold")),
        ("pg_lag_seconds replica=orders-1", 2, ("Behind by",)),
        ("pg_lag_seconds replica=orders-1\nThreshold: above 10 min", 2, ("Behind by",)),
        ("[FIRING:2] DiskFull (prod)\nbroker 1: 83 % used\nbroker 2: 97 % used", 2, ()),
    ],
)
def test_what_the_labels_leave_open_is_left_open(text: str, count: int, on: tuple[str]) -> None:
    found = matched(text)
    assert (found.outcome, len(found.entries), found.on) == ("several", count, on)


def test_a_document_that_holds_no_more_gives_no_row() -> None:
    found = matched("TapeStuck env=prod")
    assert found.outcome == "none"
    assert [one.chunk.document_id for one in found.entries] == ["catalogue-2024"]
    assert steps("HostDown env=prod") == ["Fail over"]
