"""Stored words and documents on their way to a reader: one decision, and one row of the audit log.

What is kept to be shown again (questions, corrections, drafts, gaps, contradictions) is rendered
through a `Showing`. It lets through what its reader may see and notes the documents; `record` is
called before the message is sent."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Container, Iterable, Mapping
from dataclasses import dataclass, field

from bot.access.gate import Gate
from config.domain import Domain
from config.errors import CopilotError, DatabaseAway
from index.audit import Audit, AuditEntry
from index.permissions.acts import Act
from index.permissions.rules import EVERYONE, IdentitiesOf, visible_to
from index.permissions.words import Reader, Words, may_repeat, visible_text
from index.search import Snapshot


@dataclass(frozen=True, kw_only=True)
class Readers:
    """Who may see what. Readers raise SlackBusy or SlackUnsure where Slack doesn't answer."""

    gate: Gate
    domains: Callable[[], Mapping[str, Domain]]
    snapshot: Callable[[str], Snapshot]
    """Domain name → what everyone may read now. Raises CopilotError."""
    identities: IdentitiesOf
    audit: Audit

    def person(self, user: str) -> Reader:
        return _Person(self, user)

    def channel(self, domain: Domain, channel: str) -> Reader:
        """All who read `channel`, where a message about `domain` is posted."""
        return _Channel(self, domain, channel)

    def showing(self, reader: Reader, door: str, place: str = "") -> Showing:
        """`door`, `place`: of the audit log's row."""
        return Showing(readers=self, reader=reader, door=door, place=place)

    def readable(self, domain: Domain, identities: Callable[[], frozenset[str]]) -> Container[str]:
        """Ids of the documents of a domain with `audience: asker` that these names open."""
        try:
            snapshot = self.snapshot(domain.domain)
            return visible_to(snapshot, identities()).documents
        except DatabaseAway:
            raise  # whoever handles the event tries again
        except CopilotError:
            return ()


@dataclass(frozen=True)
class _Person:
    readers: Readers
    user: str
    _documents: dict[str, Container[str]] = field(default_factory=dict)

    def sees(self, channel: str) -> bool:
        return self.readers.gate.may_see(self.user, channel)

    def reads(self, domain: str, documents: Collection[str] | None) -> bool:
        of = self.readers.domains().get(domain)
        if of is None:
            return False
        gate = self.readers.gate
        if of.access.audience == "channel":
            return any(gate.open_to(act, self.user, [of]) for act in (Act.ADMINISTER, Act.HOME))
        if domain not in self._documents:
            person = gate.people.person
            self._documents[domain] = self.readers.readable(
                of, lambda: self.readers.identities(of, person(self.user))
            )
        return may_repeat(documents, self._documents[domain])


@dataclass(frozen=True)
class _Channel:
    readers: Readers
    domain: Domain
    channel: str
    user: str = ""
    _documents: dict[str, Container[str]] = field(default_factory=dict)

    def sees(self, channel: str) -> bool:
        """Where guests and other organizations are, its readers may see no other channel."""
        channels = self.readers.gate.channels
        if channel == self.channel or self.domain.access.external:
            return channel == self.channel
        return not channels.is_shared_outside(self.channel) and channels.is_public(channel)

    def reads(self, domain: str, documents: Collection[str] | None) -> bool:
        of = self.readers.domains().get(domain)
        if of is None:
            return False
        if of.access.audience == "channel":
            return self.channel in of.channels
        if domain not in self._documents:
            self._documents[domain] = self.readers.readable(of, lambda: EVERYONE)
        return may_repeat(documents, self._documents[domain])


@dataclass(frozen=True, kw_only=True)
class Showing:
    readers: Readers
    reader: Reader
    door: str
    place: str
    _documents: dict[tuple[str, str], set[str]] = field(default_factory=lambda: defaultdict(set))

    @property
    def user(self) -> str:
        return self.reader.user

    def text(self, words: Words) -> str:
        """As much of it as the reader may see; see `visible_text`."""
        text = visible_text(words, self.reader)
        if text and text == words.text and words.drawn_from:
            self.note(words.domain, words.drawn_from, "drawn_from")
        return text

    def names(self, domain: str, document: str) -> bool:
        """Whether the reader may know of this document; it counts as shown then."""
        if not self.reader.reads(domain, (document,)):
            return False
        self.note(domain, (document,))
        return True

    def note(self, domain: str, documents: Iterable[str], how: str = "listed") -> None:
        """`how`: as in `AuditEntry.documents`."""
        self._documents[domain, how].update(documents)

    def record(self, showing: str = "") -> None:
        """Add what was let through to the audit log, before it is sent.

        `showing`: see `AuditEntry`. Raises AuditUnavailable."""
        domains = self.readers.domains()
        for name in sorted({domain for domain, _ in self._documents} & domains.keys()):
            documents = {
                how: sorted(ids) for (domain, how), ids in self._documents.items() if domain == name
            }
            entry = AuditEntry(
                door=self.door, domain=name, generation=self._generation(name),
                documents=documents, asker=self.user, place=self.place,
                showing=f"{showing}/{name}" if showing else "",
            )  # fmt: skip
            self.readers.audit(entry, domains[name])
        self._documents.clear()

    def _generation(self, domain: str) -> int:
        try:
            return self.readers.snapshot(domain).generation
        except DatabaseAway:
            raise  # whoever handles the event tries again
        except CopilotError:
            return 0
