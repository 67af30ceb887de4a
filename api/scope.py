"""The scope of one request: who acts, in which domains, and whose document permissions apply."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from functools import cached_property

from structlog.contextvars import bound_contextvars

from agents.answer import Answer, Conversation, document_uses_by_domain
from agents.ledger.ledger import LimitReached, QuestionOrigin
from agents.routing.router import DomainRouter
from api.auth.routes import RequestRejected
from api.auth.tokens import Caller
from api.errors import limit_reached
from config.domain import Domain
from index.audit import Audit, AuditEntry
from index.permissions.acts import Act, Directory, Kind, Visitor, may
from index.permissions.rules import IdentitiesOf, Person, address_of, readers_of
from telemetry import metrics


def in_workflow(workflow_id: str) -> AbstractContextManager[None]:
    """Names the caller's workflow in each log line until it ends."""
    return bound_contextvars(**({"workflow_id": workflow_id} if workflow_id else {}))


@dataclass(frozen=True, kw_only=True)
class RequestScopes:
    current: Callable[[], Mapping[str, Domain]]
    """Returns the current domains by name."""
    identities: IdentitiesOf
    directory: Callable[[], Directory] | None = None
    """None: without Slack nobody knows people and their channels. May raise CopilotError, such as
    PeopleUnknown."""
    audit: Audit | None = None

    def to(self, caller: Caller, act: Act, asker_email: str = "") -> RequestScope:
        """Returns the scope of one act, as the person `asker_email`, else as the token's identity.

        Raises RequestRejected if the caller may not ask on behalf of people, or for no address."""
        asker = address_of(asker_email)
        if asker_email and not asker:
            raise RequestRejected(422, "this is no e-mail address of ASCII letters; correct it")
        if asker and not caller.speaks_for_people:
            raise RequestRejected(
                403,
                "this token can't name an asker; leave asker_email out, or create one with "
                "--speaks-for-people",
            )
        return RequestScope(
            caller=caller,
            act=act,
            address=asker or caller.identity,
            domains={name: one for name, one in self.current().items() if caller.opens(name)},
            served=self,
        )


@dataclass(frozen=True, kw_only=True)
class RequestScope:
    """Access of one request. Domains that its caller cannot access are treated as missing."""

    caller: Caller
    act: Act
    address: str
    """E-mail of the person for whom all is done; empty: a program acts."""
    domains: Mapping[str, Domain]
    served: RequestScopes

    @cached_property
    def visitor(self) -> Visitor:
        """Calls Slack for a person."""
        if self.caller.slack_user and self.served.directory:
            account = self.caller.slack_user, self.caller.slack_teams
            return self.served.directory().by_account(*account)
        if self.address and self.served.directory:
            return self.served.directory().by_address(self.address)
        # The operator can try out document permissions without Slack.
        is_checked = self.address and not self.caller.local
        kind: Kind = "unverified" if is_checked or self.caller.slack_user else "program"
        return Visitor(kind=kind, person=Person(email=self.address))

    def admits(self, domain: Domain) -> bool:
        if self.served.directory and self.visitor.kind != "program":
            return self.served.directory().admits(self.act, self.visitor, domain)
        return may(self.act, domain, self.visitor, lambda channel: False)

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
        if not self.admits(self.domains[name]):
            raise RequestRejected(403, self._refusal([self.domains[name]]))
        return self.domains[name]

    def candidates(self, name: str) -> list[Domain]:
        """Returns the named domain, or all in which the asker may ask."""
        if name or not self.domains:
            return [self.one(name)]
        usable = [one for one in self.domains.values() if self.admits(one)]
        if not usable:
            raise RequestRejected(403, self._refusal(self.domains.values()))
        return usable

    def admitted(
        self, router: DomainRouter, origin: QuestionOrigin, name: str
    ) -> tuple[QuestionOrigin, list[Domain]]:
        """Returns the question as this person's, and the candidates whose limits allow it.

        With Slack they are counted by their account there, whatever the address and the door.
        Programs and the operator have no personal limit. Raises RequestRejected, with 429 if no
        limit allows it."""
        domains, person = self.candidates(name), ""
        if self.address and not self.caller.local:
            person = self.visitor.person.slack_user or self.asker
        counted = replace(origin, asker=person, place=self.caller.name)
        try:
            return counted, router.admit(counted, domains)
        except LimitReached as reached:
            raise limit_reached(reached) from None

    def showing(
        self, domain: Domain, generation: int, documents: Mapping[str, Iterable[str]]
    ) -> None:
        """Record documents before they are sent, as `AuditEntry`. May raise AuditUnavailable."""
        if self.served.audit:
            documents_by_access = {how: tuple(ids) for how, ids in documents.items()}
            self.served.audit(
                AuditEntry(
                    door=self.act.value, place=self.caller.name, domain=domain.domain,
                    generation=generation, documents=documents_by_access,
                    asker=self.asker,
                ),
                domain,
            )  # fmt: skip

    def answered(
        self, domains: Sequence[Domain], answer: Callable[[], tuple[Answer, Domain]]
    ) -> tuple[Answer, Domain]:
        """Returns an answer from one of these domains, counted when it fails and recorded before
        it is sent."""
        try:
            result, domain = answer()
        except Exception:
            metrics.FAILED.labels(domains[0].domain).inc()
            raise
        for name, generation, documents in document_uses_by_domain(result, domain.domain):
            self.showing(self.domains[name], generation, documents)
        return result, domain

    @property
    def asker(self) -> str:
        """E-mail for records, from which it can be found again and erased, or the Slack id of an
        account without one; empty: a program."""
        return address_of(self.visitor.person.email) or self.address or self.caller.slack_user

    def readers(self, domain: Domain) -> frozenset[str] | None:
        """Returns whose permissions apply in a domain."""
        person = self.visitor.person
        return readers_of(domain.access.audience, lambda: self.served.identities(domain, person))

    def places_of(self, conversation_id: str, token: str = "") -> dict[str, str]:
        """`api` and `mcp` → its key. Conversations are separate for each token and asker, even with
        the same id, and a token that gets the name of a revoked one begins anew. `token`: its name,
        which was in the key before, to erase what was stored then."""
        token = token or self.caller.fingerprint or self.caller.name
        return {
            way: json.dumps([way, token, self.address, conversation_id]) for way in ("api", "mcp")
        }

    def conversation(self, conversation_id: str, message: str) -> Conversation | None:
        """`message` distinguishes this question from others of its conversation; None without an
        id."""
        if not conversation_id:
            return None
        place = self.places_of(conversation_id)[self.act.partition("/")[0]]
        return Conversation(place=place, message=message, asker=self.asker or self.caller.name)

    def _refusal(self, domains: Collection[Domain]) -> str:
        """Why none of these is open to the person, with the remedy."""
        kind = self.visitor.kind
        if kind == "unverified":
            names_people = self.caller.speaks_for_people
            other = "leave asker_email out" if names_people else "use a token without an identity"
            return (
                "without Slack nobody knows who is a member of the domain's channels; "
                f"set SLACK_BOT_TOKEN, or {other}"
            )
        if kind == "unknown" and self.caller.slack_user:
            return (
                "this account is of another Slack workspace; open the link again to sign in to ours"
            )
        if kind in _REFUSALS:
            return _REFUSALS[kind]
        if kind != "member" and not any(one.access.external for one in domains):
            return "guests and people of other organizations may not ask here; ask a colleague"
        if not any(one.channels for one in domains):
            return "no channel belongs to this domain, so that only its admins may ask; ask one"
        return "Slack shows this person in none of the domain's channels; join one and ask again"


_REFUSALS: Mapping[Kind, str] = {
    "unknown": "Slack names no account of this workspace for this address; correct it, or let "
    "whoever runs the copilot look into its log",
    "former": "this person's account in Slack is deactivated; use the address of another one",
    "bot": "this address is a bot's, and bots may not ask; use a token without an identity",
}
