"""Domains and their documents: sources, preparation, the index, read permissions."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any

from config.errors import UsageError

if TYPE_CHECKING:
    from config.domain import Domain
    from config.domain_files import Check
    from config.live_domains import LiveDomains
    from config.settings import Settings
    from enrichment.llm.budget import Budget
    from enrichment.llm.ledger import Ledger
    from index.audit import AuditLog
    from index.permissions.groups import Groups
    from index.permissions.live import DomainAccess
    from index.publish import Index
    from index.search import Snapshot
    from jobs.ingest.lost_sources import LostSourceStore
    from jobs.ingest.preparer import Preparation
    from loaders.google.owners import GoogleOwners
    from loaders.source import CheckReaders, DocumentSource
    from oncall.models import Models


def runtime_checks(settings: Settings) -> Check:
    """Returns problems of a domain file that only the settings reveal."""
    from agents.extractive.language import glossary_problems
    from config.domain_files import unset

    return lambda domain: (*glossary_problems(domain), *unset(domain, settings))


class Documents:
    def __init__(self, settings: Settings, models: Models) -> None:
        self._settings = settings
        self._models = models

    @cached_property
    def live_domains(self) -> LiveDomains:
        from config.live_domains import LiveDomains

        return LiveDomains(self._settings.config_dir, also=runtime_checks(self._settings))

    @property
    def domains(self) -> Mapping[str, Domain]:
        """Current domains by id."""
        return self.live_domains()

    def domain(self, name: str) -> Domain:
        """Raises a UsageError that names the nearest domain."""
        from config.domain_files import nearest

        domains = self.domains
        if name not in domains:
            raise UsageError(f"no domain {name!r}{nearest(name, sorted(domains))}")
        return domains[name]

    @cached_property
    def index(self) -> Index:
        from index.publish import open_index

        return open_index(self._settings, self._models.embedder)

    @cached_property
    def access(self) -> DomainAccess:
        """Access to published documents for each entry point."""
        from index.permissions.live import DomainAccess

        return DomainAccess(
            domains=self.live_domains,
            snapshot=self.index.snapshot,
            checker=cache(self._readers_checker),
        )

    def _readers_checker(self, source: str) -> CheckReaders:
        from loaders.registry import KINDS

        return KINDS[source].check_readers(self._settings)

    @cached_property
    def groups(self) -> Groups:
        """Resolves users to identities, including groups that documents are shared with."""
        from bot.connection import open_user_groups
        from index.permissions.groups import CachedMembers, Groups, no_directory
        from loaders.google.permissions import open_groups

        directory = no_directory(
            "access.groups does not name it, and GOOGLE_GROUPS_ADMIN is not set"
        )
        if self._settings.google_groups_admin:
            directory = open_groups(self._settings)
        return Groups(
            shared_groups=self.access.groups,
            directory=CachedMembers(directory),
            slack=CachedMembers(open_user_groups(self._settings)),
        )

    @cached_property
    def owners(self) -> GoogleOwners | None:
        """Finds a document's owner and writes comments; None without a key.

        Raises ConfigError if comments are enabled without a key."""
        from loaders.google.owners import GoogleOwners

        if self._settings.google_comments:
            self._settings.require(google_credentials="GOOGLE_COMMENTS=on writes by its account")
        return GoogleOwners(self._settings) if self._settings.google_credentials else None

    @cached_property
    def audit(self) -> AuditLog:
        from index.audit import AuditLog

        return AuditLog(self.index.engine)

    @cached_property
    def lost_sources(self) -> LostSourceStore:
        """Sources of which nothing can be read."""
        from jobs.ingest.lost_sources import LostSourceStore

        return LostSourceStore(self.index.engine)

    def snapshot(self, name: str) -> Snapshot:
        """A domain's published documents. Loads no model.

        Raises UsageError for an unknown domain, IndexUnavailable if nothing is published."""
        return self.access.snapshot(self.domain(name).domain)

    def current(self, name: str) -> Snapshot | None:
        """The current generation, without access checks; None if it cannot be opened."""
        from config.errors import IndexUnavailable

        with suppress(IndexUnavailable):
            return self.index.snapshot(name)
        return None

    def published(self) -> dict[str, Snapshot]:
        """The current generation of every domain that has one."""
        current = {name: self.current(name) for name in self.domains}
        return {name: snapshot for name, snapshot in current.items() if snapshot is not None}

    def retrieve(
        self,
        name: str,
        question: str,
        *,
        readers: frozenset[str] | None = None,
        top_k: int | None = None,
        without_model: bool = False,
        **options: Any,
    ) -> dict[str, Any]:
        """The `/api/retrieve` response; `options` are those of `index.pipelines.retrieve`.

        `top_k` defaults to the domain's own. `without_model`: a budget is spent."""
        from agents.answer import unread_notice
        from agents.query_optimizer import search_planner
        from index.permissions.rules import visible_to
        from index.pipelines import retrieve

        domain = self.domain(name)
        snapshot = visible_to(self.snapshot(name), readers)
        models = self._models
        response = retrieve(
            snapshot,
            question,
            top_k=domain.retrieval.top_k if top_k is None else top_k,
            plan=search_planner(domain, None if without_model else models.chat, snapshot),
            reranker=models.reranker_without_model if without_model else models.reranker,
            **options,
        )
        named = dict.fromkeys(one["source"] for one in response["documents"])
        since = self.lost_sources.unread_since(name, snapshot.cards(named)) if named else None
        notices = [unread_notice("these passages", since)] if since else []
        return {**response, "notices": notices}

    def sources(self, name: str) -> list[DocumentSource]:
        from loaders.registry import open_sources

        vision = self.preparing.vision("") if self._models.vision else None
        pictures = vision.collector() if vision else None
        return open_sources(self.domain(name), self._settings, pictures)

    @cached_property
    def preparing(self) -> Preparation:
        from jobs.ingest.preparer import Preparation

        return Preparation(
            embedder=self._models.embedder,
            embed_ahead=self.index.embed_ahead,
            model=self._models.enrichment,
            engine=self.index.engine,
            budget=self.enrichment_budget,
            vision_model=self._models.vision,
            vision_budget=self._vision_budget,
        )

    @property
    def made_with(self) -> str:
        """Identifies the pipeline and models on which a prepared document depends."""
        from enrichment.pipeline import VERSION

        models = self._models
        names = filter(None, (models.embedder.name, models.chat_name, models.vision_name))
        return f"{VERSION} {' '.join(names)}"

    def enrichment_budget(self, run: str) -> Budget:
        """Limits one ingest run's use and rate of the chat model. All processes of the run share it
        if they share a database."""
        from enrichment.llm.ledger import SharedLedger

        model = self._models.chat_name or self._models.vision_name
        if self._settings.database_url and model:
            engine = self.index.engine
            return self._budget(SharedLedger(engine, model=model, run=run))
        return self._budget(None)

    def _vision_budget(self, run: str) -> Budget:
        """Shares calls, tokens and dollars with the chat budget, at the vision model's rate."""
        from config.chat_model import VISION_MODEL
        from enrichment.llm.ledger import SeparatePaceLedger, SharedLedger

        shared, name = self.preparing.budget(run), self._models.vision_name
        if name == self._models.chat_name:
            return shared
        ledger: Ledger = (
            SharedLedger(self.index.engine, model=name, run=run)
            if self._settings.database_url
            else SeparatePaceLedger(shared.ledger)
        )
        return self._budget(ledger, VISION_MODEL)

    def _budget(self, ledger: Ledger | None, variable: str = "ONCALL_CHAT_MODEL") -> Budget:
        from enrichment.llm.budget import Budget

        settings, prices = self._settings, self._settings.ingest_prices()
        return Budget(
            variable=variable,
            calls=settings.enrich_calls,
            tokens=settings.enrich_tokens,
            dollars=settings.enrich_dollars,
            cost=prices.of if prices else None,
            at_once=settings.enrich_at_once,
            per_minute=settings.enrich_per_minute,
            ledger=ledger,
        )
