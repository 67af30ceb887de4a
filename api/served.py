"""The domains that the API serves, by name, and as whom each is read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from fastapi import HTTPException

from config.domain import Domain
from index.audit import Audit, Shown
from index.readers import IdentitiesOf, Person, readers_of


@dataclass(frozen=True)
class Served:
    current: Callable[[], Mapping[str, Domain]]
    """By name, as their files are now."""
    identities: IdentitiesOf
    audit: Audit | None = None

    def one(self, name: str) -> Domain:
        """The domain of this name, or the only one; 422 that lists them otherwise."""
        domains = self.current()
        if not name and len(domains) == 1:
            return next(iter(domains.values()))
        if name not in domains:
            known = ", ".join(sorted(domains))
            raise HTTPException(422, f"unknown domain {name!r}: one of {known}")
        return domains[name]

    def candidates(self, name: str) -> list[Domain]:
        """The named domain, or all."""
        return [self.one(name)] if name else list(self.current().values())

    def showing(
        self,
        door: str,
        domain: Domain,
        generation: int,
        documents: Mapping[str, Iterable[str]],
        asker: str = "",
    ) -> None:
        """Record what is about to be shown; see `index.audit.Shown`. May raise AuditUnavailable."""
        if self.audit:
            shown = {how: tuple(ids) for how, ids in documents.items()}
            self.audit(
                Shown(
                    door=f"api/{door}", domain=domain.domain, generation=generation,
                    documents=shown, asker=asker,
                ),
                domain,
            )  # fmt: skip

    def readers(self, domain: Domain, email: str) -> frozenset[str] | None:
        """As whom a domain is read for this address; empty: for nobody in particular."""
        return readers_of(
            domain.access.audience, lambda: self.identities(domain, Person(email=email))
        )
