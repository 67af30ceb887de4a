"""What the bot's features work with: the infrastructure of a running bot.

What one feature does for another stands in `bot.feature`, and is handed over by `bot.features`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import Engine

from agents.answer import Ask
from bot.access.gate import Gate
from bot.clock.timers import Timers
from bot.connection import Identity
from bot.feature import Store
from bot.owners.document_desk import DocumentDesk
from bot.owners.suggestion import Suggestion
from bot.slack.web import Web
from config.domain import Domain
from config.models import ChatModel, Vectors
from index.audit import Audit
from index.search import Snapshot

Embed = Callable[[Sequence[str]], Vectors]


@dataclass(frozen=True, kw_only=True)
class PublishedDomains:
    """The documents as everybody may read them, without a question."""

    snapshot: Callable[[str], Snapshot]
    """Domain name → its current generation; raises CopilotError where there is none."""
    embed: Embed
    embedder: str = ""
    """Its name: what another one made is compared with nothing of it."""


@dataclass(frozen=True, kw_only=True)
class FeatureTools:
    web: Web
    engine: Engine
    gate: Gate
    domains: Callable[[], Mapping[str, Domain]]
    timers: Timers
    put: Store
    """Stores an item in the inbox."""
    identity: Identity
    audit: Audit
    published: PublishedDomains | None
    """None: nothing is known of the documents, as in tests of other things."""
    model: ChatModel | None = None
    """Names things; None: they are named by people's own words."""
    ask_anew: Callable[[str], Ask] | None = None
    """Domain name → its agents, answering from the documents of today, never from a cache."""
    document_desk: DocumentDesk | None = None
    """None: nobody says whose a document is, and nothing is written there."""

    def suggest(self, suggestion: Suggestion) -> None:
        """To the document's owner, once."""
        self.put(suggestion.event_id, suggestion.item())
