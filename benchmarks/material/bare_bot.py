"""A bot that has its agents and a database, and no documents."""

from __future__ import annotations

from collections.abc import Callable

from sqlalchemy import Engine

from agents.answer import Ask
from agents.ledger.ledger import RunLedger
from agents.routing.router import DomainRouter
from bot.app import Agents, Bot, Documents
from config.domain import Domain
from config.settings import Settings
from index.permissions.rules import by_email


def bare_bot(
    settings: Settings,
    domain: Domain,
    engine: Engine,
    ask: Callable[[str], Ask],
    *,
    streaming: bool = False,
) -> Bot:
    ledger = RunLedger(engine, has_model=False)
    return Bot(
        settings,
        domains=lambda: {domain.domain: domain},
        engine=engine,
        agents=Agents(
            ask=ask,
            ask_unattended=None,
            router=DomainRouter(snapshot={}.__getitem__, ledger=lambda: ledger),
            model=None,
            streaming=streaming,
            warm=None,
        ),
        documents=Documents(
            published=None,
            owners=None,
            identities=by_email,
            everyone_may_read=lambda name, documents: False,
            status=lambda name: None,
        ),
    )
