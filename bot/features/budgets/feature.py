"""The budgets of the day as a feature of the bot."""

from __future__ import annotations

from agents.ledger.ledger import RunLedger
from bot.feature import Feature, FeatureContext
from bot.features.budgets.service import WARN, BudgetService


def build_budgets(context: FeatureContext, ledger: RunLedger) -> Feature:
    service = BudgetService(context=context, ledger=ledger)
    return Feature(
        timers={WARN: service.warn}, plan=service.plan, home=service.home, digest=service.digest
    )
