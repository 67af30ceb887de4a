"""Documents of an invented company, for tests of alerts and their runbooks."""

from __future__ import annotations

from tests.agents.corpus import snapshot

CATALOGUE = """---
id: catalogue
title: Alert Catalogue
owner: Platform
status: current
---
# Alert Catalogue

## Keys

| Alert | Class | Region | Starts as | First step | If not cleared | Owner |
|---|---|---|---|---|---|---|
| `KeyOverdue` | RC | sg | SEV1 | Freeze the key in Singapore | 5 minutes: CISO | Keys SG |
| `KeyOverdue` | RC | eu, us | SEV2 | Rotate within the hour | 1 hour: CISO | Keys |
| `KeyOverdue` | Restricted | sg | SEV3 | Open a ticket for Singapore | 1 day: owner | Keys SG |
| `KeyOverdue` | Restricted | eu, us | SEV4 | Open a ticket | 2 days: owner | Keys |
| `KeyAge` | all | all | SEV4 | Tell the owner | 1 week: owner | Keys |

## Hosts

Tiers: gold = acme, globex. silver = everybody else.

| Alert | Environment | Sev | What to do |
|---|---|---|---|
| `DiskFull` above 80 % | prod | P3 | Delete old logs |
| `DiskFull` above 95 % | prod | P1 | Extend the volume now |
| `HostDown` | prod | P1 | Fail over |
| `HostDown` | non-prod | P4 | Wait until the morning |
| `ClockSkew` | eu-west-1 | P3 | Restart chrony in Ireland |
| `ClockSkew` | all other regions | P4 | Write it down |
| `SlowReads` | EU except DE | P3 | Look at the cache |
| `SlowReads` | DE | P2 | Call Frankfurt |
| `QueueDepth` | `orders.*` | P2 | Add workers |
| `QueueDepth` | all other queues, except `archive.*` | P4 | Find the consumer |
| `TokensOld` | production (EU only) | P3 | Rotate the signing key |
| `LobbyFull` | NA | P3 | Open the overflow pool |
| `TenantSlow` | gold | P1 | Call the tenant |
| `TenantSlow` | silver | P4 | Write to the tenant |

## Databases

| Id | Alert name | Cluster | Threshold | Do this |
|---|---|---|---|---|
| DB-1 | Connections high | core | > 80% | Kill idle sessions |
| DB-2 | Connections high | core | > 95% | Switch to the standby |
| DB-3 | Connections high | any other | > 90% | Restart the pooler |

## Old names

| Old | New |
|---|---|
| `host_lost` | `HostDown` |

## Short names

| Short | Stands for |
|---|---|
| HD | `HostDown` |
"""

RUNBOOKS = """---
id: runbooks
title: Checkout Runbooks
owner: Checkout
status: current
---
# Checkout Runbooks

## Runbook: HighMemory

Applies to `checkout-api` only. Severity: P3. Owner: Checkout Squad.

1. Take a heap dump.
2. Restart one pod.

## Runbook: ProviderTimeout (Klarion)

Severity: P3

1. Hide the button.

## Runbook: ProviderTimeout (Paynoble)

Severity: P2

1. Route cards elsewhere.

## Replication lag

Fired as `pg_lag_seconds`.

| Replica | Behind by | Sev | Do this first |
|---|---|---|---|
| `orders-1`, `orders-2` | 60 s to 10 min | P3 | Kill long reports |
| `orders-1`, `orders-2` | over 10 min | P2 | Take it out of the pool |
| `catalog` | over 5 min | P4 | Tell Search |

## FleetDegraded

**Severity:** critical. **Owner:** Fleet. **First step:** Drain the bad zone

## Resolvers

Alerts: DnsSlow, DnsServfail

1. Use the second resolver.
2. Open a ticket.

## Basket latency

| Monitor | Shop | Action |
|---|---|---|
| Basket latency p95 | DE, AT | Turn off recommendations |
| Basket latency p95 | all shops except DE, AT | Note it |
"""

OLD = """---
id: catalogue-2024
title: Alert Catalogue 2024
status: superseded
---
# Alert Catalogue 2024

| Alert | Environment | First step |
|---|---|---|
| `HostDown` | prod | Drive to the data centre |
| `TapeStuck` | prod | Pull the tape |
"""

REGISTER = """---
id: register
title: Service Register
status: current
---
# Service Register

| Service | Tier | Owner | Action when it is down |
|---|---|---|---|
| checkout-api | T0 | Checkout | Call them |
| search-api | T1 | Search | Call them by day |

## ledger-core

The ledger keeps the books. It speaks to the vault.
"""

KNOWN = snapshot(CATALOGUE, RUNBOOKS, OLD, REGISTER)
