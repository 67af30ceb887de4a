"""What one request may use: the domains that its caller opens, read as whom it asks for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from api.auth.routes import RequestRejected
from api.auth.tokens import Caller
from config.domain import Domain
from index.audit import Audit, AuditEntry
from index.permissions.rules import IdentitiesOf, Person, readers_of

ADDRESS = r"^([^@\s]+@[^@\s]+)?$"
"""An e-mail address, or none."""
MayAsk = Callable[[str, Domain], bool]
"""Whether the person of this e-mail address may ask in this domain. May raise CopilotError."""


@dataclass(frozen=True, kw_only=True)
class RequestScopes:
    current: Callable[[], Mapping[str, Domain]]
    """By name, as their files are now."""
    identities: IdentitiesOf
    may_ask: MayAsk | None = None
    """None: nobody knows who is a member of a channel."""
    audit: Audit | None = None

    def to(self, caller: Caller, asker_email: str = "") -> RequestScope:
        """What the caller may use, in the name of `asker_email` when there is one.

        Raises RequestRejected when the caller may speak for nobody."""
        asker = asker_email.strip().casefold()
        if asker and not caller.speaks_for_people:
            raise RequestRejected(
                403,
                "this token can't name an asker; leave asker_email out, or create one with "
                "--speaks-for-people",
            )
        return RequestScope(
            caller=caller, asker=asker, domains=self._opened_by(caller), served=self
        )

    def to_person(self, caller: Caller, email: str = "") -> RequestScope:
        """What the caller may use over MCP, where a token with an identity is that person: with
        Slack, they have to be in a domain's channel as everybody else.

        `email`: as whom this machine asks."""
        identity = caller.identity if self.may_ask else ""
        return RequestScope(
            caller=caller,
            asker=email.strip().casefold() or identity.strip().casefold(),
            domains=self._opened_by(caller),
            served=self,
            way="mcp",
        )

    def _opened_by(self, caller: Caller) -> dict[str, Domain]:
        return {name: one for name, one in self.current().items() if caller.opens(name)}


@dataclass(frozen=True, kw_only=True)
class RequestScope:
    """One request's view. What its caller doesn't open is the same here as what doesn't exist."""

    caller: Caller
    asker: str
    """E-mail of the person who is asked for; empty: the caller itself asks."""
    domains: Mapping[str, Domain]
    served: RequestScopes
    way: Literal["api", "mcp"] = "api"

    def one(self, name: str) -> Domain:
        """The domain of this name, or the only one.

        Raises RequestRejected: 422 with the domains that the caller opens, 403 for a closed one."""
        if not name and len(self.domains) == 1:
            name = next(iter(self.domains))
        if name not in self.domains:
            names = ", ".join(sorted(self.domains)) or "no domain"
            raise RequestRejected(
                422, f"no such domain for you; name one that you may use: {names}"
            )
        if why := self._closed(self.domains[name]):
            raise RequestRejected(403, why)
        return self.domains[name]

    def candidates(self, name: str) -> list[Domain]:
        """The named domain, or all in which the asker may ask."""
        if name or not self.domains:
            return [self.one(name)]
        closed = {one.domain: self._closed(one) for one in self.domains.values()}
        usable = [one for one in self.domains.values() if not closed[one.domain]]
        if not usable:
            raise RequestRejected(403, next(iter(closed.values())))
        return usable

    def showing(
        self, door: str, domain: Domain, generation: int, documents: Mapping[str, Iterable[str]]
    ) -> None:
        """Record what is about to be shown, as `AuditEntry`. May raise AuditUnavailable."""
        if self.served.audit:
            documents_by_access = {how: tuple(ids) for how, ids in documents.items()}
            self.served.audit(
                AuditEntry(
                    door=f"{self.way}/{door}", place=self.caller.name, domain=domain.domain,
                    generation=generation, documents=documents_by_access,
                    asker=self.asker or self.caller.identity,
                ),
                domain,
            )  # fmt: skip

    def readers(self, domain: Domain) -> frozenset[str] | None:
        """As whom a domain is read: the asker, or else the token's own identity."""
        email = self.asker or self.caller.identity
        return readers_of(
            domain.access.audience, lambda: self.served.identities(domain, Person(email=email))
        )

    def _closed(self, domain: Domain) -> str:
        """Why the asker may not ask here; empty when they may."""
        if not self.asker:
            return ""
        if self.served.may_ask is not None:
            may = self.served.may_ask(self.asker, domain)
            return "" if may else "this person may not ask here: no member of the domain's channels"
        # The operator tries out document permissions, which needs no Slack.
        if self.caller.local or not domain.channels:
            return ""
        return (
            "without Slack nobody knows who is a member of the domain's channels; "
            "set SLACK_BOT_TOKEN, or leave asker_email out"
        )
