"""Documentation gaps: wiring."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from agents.answer import Ask
from agents.ledger.ledger import RunLedger
from bot.bus.events import SuggestionDecided
from bot.feature import Feature, FeatureContext
from bot.features.gaps.collect import GapCollector
from bot.features.gaps.gap import where
from bot.features.gaps.question_store import GapDraftStore
from bot.features.gaps.recheck import ASK_GAP, GapRecheck
from bot.features.gaps.report import SEND_REPORT, WeeklyReport
from bot.features.gaps.service import COLLECT, RECHECK, GapService
from bot.features.gaps.store import GapStore
from bot.questions.store import QuestionStore


def build_gaps(
    context: FeatureContext,
    records: QuestionStore,
    ask_anew: Callable[[str], Ask] | None,
    ledger: RunLedger,
) -> Feature:
    """`ask_anew`: domain name → its agents, answering from today's documents and never from a
    cache. Does nothing without it, or without a published index."""
    if context.published is None or ask_anew is None:
        return Feature()
    published = context.published
    store, drafts = GapStore(context.engine), GapDraftStore(context.engine)
    service = GapService(
        context=context,
        store=store,
        drafts=drafts,
        collector=GapCollector(
            context=context, published=published, store=store, drafts=drafts, records=records
        ),
        recheck=GapRecheck(
            context=context,
            published=published,
            store=store,
            drafts=drafts,
            ledger=ledger,
            ask_anew=ask_anew,
        ),
        where=partial(where, published.snapshot),
    )
    weekly = WeeklyReport(context=context, records=records, store=store, where=service.where)
    return Feature(
        handlers={SuggestionDecided: service.decide},
        timers={
            COLLECT: service.collect,
            RECHECK: service.recheck_domain,
            ASK_GAP: service.recheck.ask,
            SEND_REPORT: weekly.send,
        },
        plan=partial(service.plan, weekly),
        home=service.home,
        digest=service.digest,
    )
