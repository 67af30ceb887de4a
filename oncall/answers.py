"""The agents of each domain: built, wrapped, warmed up."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property, partial
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from agents.answer import Ask
    from agents.answer_cache.cache import AnswerCache
    from agents.answer_cache.store import CachedAnswerStore
    from agents.confidence import ThresholdStore
    from agents.ledger.ledger import RunLedger
    from agents.ledger.runs import BudgetGauges
    from agents.requests import Toolbox
    from agents.routing.router import DomainRouter
    from agents.thread.memory import ThreadMemory
    from config.domain import Domain
    from config.settings import Settings
    from index.search import Snapshot
    from oncall.documents import Documents
    from oncall.models import Models


class Answers:
    def __init__(self, settings: Settings, models: Models, documents: Documents) -> None:
        self._settings = settings
        self._models = models
        self._documents = documents
        self._asks: dict[tuple[str, bool], tuple[Domain, Ask]] = {}
        self._warm_generations: dict[str, int] = {}

    @cached_property
    def router(self) -> DomainRouter:
        """Chooses the domain that answers, and logs one line per question."""
        from agents.observability import QuestionLog
        from agents.routing.router import DomainRouter

        if self._settings.log_words:
            import structlog

            structlog.get_logger().warning(
                "the words of questions and answers are logged", setting="ONCALL_LOG_WORDS"
            )
        return DomainRouter(
            snapshot=self._documents.access.snapshot,
            model=lambda: self._models.chat,
            last_answered=lambda talk: self.threads.last_answered(talk),
            log=QuestionLog(
                words=self._settings.log_words,
                prices=self._settings.read_prices(),
                model_seconds=self._settings.model_seconds,
            ),
            ledger=lambda: self.ledger,
        )

    @cached_property
    def ledger(self) -> RunLedger:
        from agents.ledger.ledger import RunLedger

        return RunLedger(
            self._documents.index.engine,
            has_model=self._models.chat is not None,
            prices=self._settings.read_prices(),
        )

    @cached_property
    def budget_gauges(self) -> BudgetGauges:
        """The use of each domain's budget, as a metric."""
        from agents.ledger.runs import BudgetGauges

        return BudgetGauges(self._documents.live_domains, self.ledger.use)

    @cached_property
    def threads(self) -> ThreadMemory:
        from agents.thread.memory import ThreadMemory

        return ThreadMemory(self._documents.index.engine)

    @cached_property
    def thresholds(self) -> ThresholdStore:
        """Stores each domain's confidence threshold for answers without reserve."""
        return self._thresholds_of(self._models.chat_name)

    def _thresholds_of(self, model: str) -> ThresholdStore:
        """`model`: its name; '' for answers without one."""
        from agents.confidence import ThresholdStore

        return ThresholdStore(self._documents.index.engine, model)

    @cached_property
    def cached(self) -> CachedAnswerStore:
        from agents.answer_cache.store import CachedAnswerStore

        return CachedAnswerStore(self._documents.index.engine)

    def cache(self, domain: Domain) -> AnswerCache | None:
        """None without a model: answers then cost nothing."""
        if self._models.chat is None or not domain.answer.cache.enabled:
            return None
        from agents.answer_cache.cache import SemanticCache

        return SemanticCache(
            open_store=lambda: self.cached,
            embedder=self._models.embedder,
            domain=domain,
            model=self._models.chat.name,
        )

    def ask(self, name: str, *, unattended: bool = False) -> Ask:
        """The agents of one domain, rebuilt when its file changes; each question looks up the
        generation. `unattended`: no user waits, and answers neither come from the cache nor go
        into it."""
        domain = self._documents.domain(name)
        built = self._asks.get((name, unattended))
        if built is None or built[0] is not domain:
            cache = None if unattended else self.cache(domain)
            asks = [
                self.ask_as(domain, cache=cache, for_people=not unattended, quotes=quotes)
                for quotes in (False, True)
            ]
            built = (domain, lambda question, progress: asks[question.quotes](question, progress))
            self._asks[name, unattended] = built
        return built[1]

    def ask_as(
        self,
        domain: Domain,
        *,
        cache: AnswerCache | None = None,
        for_people: bool = True,
        quotes: bool = False,
        snapshot: Callable[[], Snapshot] | None = None,
    ) -> Ask:
        """The agents over a domain's published documents by this domain file, which need not be
        the one in use. `quotes`: without the model; they read the cache and never write it.
        `snapshot`: the documents to answer from; the published ones by default."""
        from agents.graph import build_ask
        from agents.observability import with_metrics, with_unread_sources
        from agents.runbooks.answer import with_runbook_lookup
        from agents.thorough.gates import with_buffered_progress
        from agents.thread.memory import with_thread_memory

        name, max_wrong = domain.domain, domain.answer.max_wrong
        models, access = self._models, self._documents.access
        current = snapshot or partial(access.snapshot, name)
        model = None if quotes else models.chat
        thresholds = self._thresholds_of("") if quotes else self.thresholds
        ask = build_ask(
            snapshot=current,
            domain=domain,
            model=model,
            cache=cache,
            entails=models.entails,
            reranker=models.reranker_of(domain, model),
            needed=lambda: thresholds.needed(name, max_wrong),
            toolbox=self._toolbox_of(domain) if model else None,
        )
        wrappers = (  # innermost first
            with_buffered_progress(domain, model),
            with_runbook_lookup(domain, current, model),
            with_unread_sources(
                current,
                partial(self._documents.lost_sources.unread_since, name),
            ),
            with_metrics(name, prices=self._settings.read_prices(), for_people=for_people),
            with_thread_memory(name, lambda: self.threads),
        )
        for wrap in wrappers:
            ask = wrap(ask)
        return ask

    def _toolbox_of(self, domain: Domain) -> Toolbox | None:
        """Third-party tools, which only a model can call."""
        if not domain.tools or self._models.chat is None:
            return None
        from agents.tools.mcp import AllowedTools
        from config.errors import ConfigError

        # The check of live domain files does not cover the files passed to `ask_as`.
        if any(one.command for one in domain.tools) and not self._settings.tool_commands:
            raise ConfigError(
                f"{domain.domain}: domain files may start nothing here (tools.command)",
                remedy="use url, or set ONCALL_TOOL_COMMANDS=on",
            )
        return AllowedTools(domain.tools, self._settings.tool_token)

    def warm(self) -> Mapping[str, str]:
        """Load everything that the first question of each domain would wait for.

        Returns the reason for each published domain that cannot answer. Skips domains without a
        published generation, and generations that are warm already."""
        from config.errors import CopilotError, NothingPublished
        from config.langchain_model import LangChainModel

        if isinstance(self._models.chat, LangChainModel):
            self._models.chat.load()
        if self._models.chat and any(domain.tools for domain in self._documents.domains.values()):
            from agents.tools.mcp import load_sdk

            load_sdk()
        problems = {}
        for name in self._documents.domains:
            try:
                snapshot = self._documents.index.snapshot(name)
                if self._warm_generations.get(name) != snapshot.generation:
                    self._warm(name, snapshot)
                    self._warm_generations[name] = snapshot.generation
            except NothingPublished:
                continue
            except CopilotError as error:
                problems[name] = str(error)
        return problems

    def _warm(self, name: str, snapshot: Snapshot) -> None:
        """Asks one question over the whole index without a model, and drops the answer."""
        from agents.answer import Question
        from agents.graph import build_ask

        self.ask(name)
        domain = self._documents.domain(name)
        titles = (card.title for card in snapshot.documents.values())
        quoting = build_ask(snapshot=lambda: snapshot, domain=domain, model=None)
        quoting(Question(text=f"What does {next(titles, domain.title)} say?"), None)
