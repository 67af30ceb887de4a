"""What the bot's features work with: the parts of a running bot."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from sqlalchemy import Engine

from agents.answer import Ask
from bot.access.gate import Gate
from bot.beside_answers import PublishedDomains
from bot.clock.timers import Timers
from bot.connection import Identity
from bot.feature import Store
from bot.feedback import Feedback
from bot.handoff.handoffs import Handoffs
from bot.memory.record import Records
from bot.owners.document_desk import DocumentDesk
from bot.owners.suggestion import Suggestion
from bot.question.asking import Asking
from bot.question.intake import Intake
from bot.slack.web import Web
from config.domain import Domain
from config.models import ChatModel
from index.audit import Audit


@dataclass(frozen=True, kw_only=True)
class FeatureTools:
    web: Web
    engine: Engine
    records: Records
    feedback: Feedback
    handoffs: Handoffs
    gate: Gate
    domains: Callable[[], Mapping[str, Domain]]
    asking: Asking
    intake: Intake
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
