"""The scope of one request: its domains, and whose document permissions apply."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from agents.answer import Answer, Conversation, document_uses_by_domain
from agents.ledger import LimitReached, QuestionDoor, QuestionOrigin
from agents.routing.router import DomainRouter
from api.auth.routes import RequestRejected
from api.auth.tokens import Caller
from api.errors import limit_reached
from config.domain import Domain
from index.audit import Audit, AuditEntry
from index.permissions.rules import IdentitiesOf, Person, readers_of
from telemetry import metrics

ADDRESS = r"^([^@\s]+@[^@\s]+)?$"
"""An e-mail address, or none."""
MayAsk = Callable[[str, Domain], bool]
"""(e-mail, domain) → whether this person may ask there. May raise CopilotError."""


@dataclass(frozen=True, kw_only=True)
class RequestScopes:
    current: Callable[[], Mapping[str, Domain]]
    """Returns the current domains by name."""
    identities: IdentitiesOf
    may_ask: MayAsk | None = None
    """None: channel membership cannot be checked."""
    audit: Audit | None = None

    def to(self, caller: Caller, asker_email: str = "") -> RequestScope:
        """Returns the caller's scope, on behalf of `asker_email` if given.

        Raises RequestRejected if the caller may not ask on behalf of people."""
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
        """Returns the caller's scope over MCP, where a token's identity counts as the asker.

        With Slack, this person must be in a domain's channel like everyone else. `email`: the
        asker if this machine calls."""
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
    """Access of one request. Domains that its caller cannot access are treated as missing."""

    caller: Caller
    asker: str
    """E-mail of the person on whose behalf the caller asks; empty: the caller itself."""
    domains: Mapping[str, Domain]
    served: RequestScopes
    way: Literal["api", "mcp"] = "api"

    def one(self, name: str) -> Domain:
        """Returns the named domain, or the only one.

        Raises RequestRejected: 422 with the caller's domains, 403 if the asker has no access."""
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
        """Returns the named domain, or all in which the asker may ask."""
        if name or not self.domains:
            return [self.one(name)]
        closed = {one.domain: self._closed(one) for one in self.domains.values()}
        usable = [one for one in self.domains.values() if not closed[one.domain]]
        if not usable:
            raise RequestRejected(403, next(iter(closed.values())))
        return usable

    def origin(self, door: QuestionDoor, mark: str, text: str) -> QuestionOrigin:
        """Limits of persons hold for people, and not for programs or the operator."""
        person = "" if self.caller.local else self.email.strip().casefold()
        return QuestionOrigin(id=mark, door=door, text=text, asker=person, place=self.caller.name)

    def admitted(self, router: DomainRouter, origin: QuestionOrigin, name: str) -> list[Domain]:
        """Returns the candidates whose limits allow this question.

        Raises RequestRejected, with 429 if none does."""
        try:
            return router.admit(origin, self.candidates(name))
        except LimitReached as reached:
            raise limit_reached(reached) from None

    def showing(
        self, door: str, domain: Domain, generation: int, documents: Mapping[str, Iterable[str]]
    ) -> None:
        """Record documents before they are sent, as `AuditEntry`. May raise AuditUnavailable."""
        if self.served.audit:
            documents_by_access = {how: tuple(ids) for how, ids in documents.items()}
            self.served.audit(
                AuditEntry(
                    door=f"{self.way}/{door}", place=self.caller.name, domain=domain.domain,
                    generation=generation, documents=documents_by_access,
                    asker=self.email,
                ),
                domain,
            )  # fmt: skip

    def answered(
        self, door: str, domains: Sequence[Domain], answer: Callable[[], tuple[Answer, Domain]]
    ) -> tuple[Answer, Domain]:
        """Returns an answer from one of these domains, counted when it fails and recorded before
        it is sent."""
        try:
            result, domain = answer()
        except Exception:
            metrics.FAILED.labels(domains[0].domain).inc()
            raise
        for name, generation, documents in document_uses_by_domain(result, domain.domain):
            self.showing(door, self.domains[name], generation, documents)
        return result, domain

    @property
    def email(self) -> str:
        """Of the person whose permissions apply: the asker, else the token's identity."""
        return self.asker or self.caller.identity

    def readers(self, domain: Domain) -> frozenset[str] | None:
        """Returns whose permissions apply in a domain."""
        person = Person(email=self.email)
        return readers_of(domain.access.audience, lambda: self.served.identities(domain, person))

    def place_of(self, conversation_id: str) -> str:
        """Conversations are separate for each token and asker, even with the same id."""
        return json.dumps([self.way, self.caller.name, self.email, conversation_id])

    def conversation(self, conversation_id: str, message: str) -> Conversation | None:
        """`message` distinguishes this question from others of its conversation; None without an
        id."""
        if not conversation_id:
            return None
        asker = self.email or self.caller.name
        return Conversation(place=self.place_of(conversation_id), message=message, asker=asker)

    def _closed(self, domain: Domain) -> str:
        """Returns why the asker has no access to the domain; empty if they have."""
        if not self.asker:
            return ""
        if self.served.may_ask is not None:
            may = self.served.may_ask(self.asker, domain)
            return "" if may else "this person may not ask here: no member of the domain's channels"
        # The operator can try out document permissions without Slack.
        if self.caller.local or not domain.channels:
            return ""
        return (
            "without Slack nobody knows who is a member of the domain's channels; "
            "set SLACK_BOT_TOKEN, or leave asker_email out"
        )
