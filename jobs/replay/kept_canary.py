"""How each domain's golden questions fared last, in the state database."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime

from sqlalchemy import Column, DateTime, Engine, Integer, MetaData, String, Table, Text

from index.store.vectors import KeptRows
from jobs.replay.evidence_places import SeenEvidence, Sight

_RESULTS = Table(
    "canary_results",
    MetaData(),
    Column("domain", String(64), primary_key=True),
    Column("generation", Integer, nullable=False),
    Column("version", String(64), nullable=False, comment="of the product's code"),
    Column("configuration", String(64), nullable=False, comment="of the domain file"),
    Column("seen", Text, nullable=False, comment="JSON: question → its evidence"),
    Column("told", String(64), nullable=False, comment="digest of what the admins were told last"),
    Column("measured_at", DateTime, nullable=False, comment="UTC"),
)


@dataclass(frozen=True, kw_only=True)
class KeptSight:
    """What all later ones are compared with."""

    generation: int
    version: str
    configuration: str
    seen: Sight
    told: str = ""


class KeptCanary:
    """Of one domain. Creates its table when something is kept."""

    def __init__(self, engine: Engine, domain: str) -> None:
        self._rows = KeptRows(engine, _RESULTS)
        self._domain = domain

    def last(self) -> KeptSight | None:
        """None: nothing was ever kept, or the database fails."""
        row = self._rows.find(domain=self._domain)
        if row is None:
            return None
        seen = {
            question: tuple(SeenEvidence(**one) for one in evidence)
            for question, evidence in json.loads(row.seen).items()
        }
        return KeptSight(
            generation=row.generation,
            version=row.version,
            configuration=row.configuration,
            seen=seen,
            told=row.told,
        )

    def keep(self, sight: KeptSight) -> None:
        seen = {name: [asdict(one) for one in evidence] for name, evidence in sight.seen.items()}
        self._rows.keep(
            domain=self._domain,
            generation=sight.generation,
            version=sight.version,
            configuration=sight.configuration,
            seen=json.dumps(seen, ensure_ascii=False),
            told=sight.told,
            measured_at=datetime.now(UTC).replace(tzinfo=None),
        )

    def is_news(self, told: str) -> bool:
        """Notes it, so that it is news only once."""
        last = self.last()
        if last is None or last.told == told:
            return last is None
        self.keep(replace(last, told=told))
        return True
