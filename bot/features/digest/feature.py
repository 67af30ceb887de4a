"""The digest of a shift as a feature of the bot."""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set

from bot.feature import Feature, FeatureContext, WaitingForHuman
from bot.features.digest.open_questions import OpenQuestions
from bot.features.digest.service import DIGEST, DigestService, PartsOf
from bot.features.digest.store import DigestStore
from bot.questions.store import QuestionStore
from bot.rotas.on_call import OnCallResolver


def build_digest(
    context: FeatureContext,
    records: QuestionStore,
    *,
    parts: Sequence[PartsOf],
    waiting: WaitingForHuman,
    alerts: Callable[[str], Set[str]],
    whom: OnCallResolver,
) -> Feature:
    """`parts`: the sections of the other features; `alerts`: see `OpenQuestions`."""
    store = DigestStore(context.engine)
    open_questions = OpenQuestions(
        records=records,
        store=store,
        waiting=waiting,
        alerts=alerts,
        team_url=context.identity.team_url,
    )
    service = DigestService(context, store, whom, open_questions, parts)
    return Feature(
        timers={DIGEST: service.send}, plan=service.plan, replies={"open": service.open_here}
    )
