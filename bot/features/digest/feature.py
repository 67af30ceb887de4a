"""The digest of a shift as a feature of the bot."""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set

from bot.feature import Feature, FeatureContext, WaitingForHuman
from bot.features.digest.service import DIGEST, PartsOf, ShiftDigest
from bot.features.digest.store import DigestStore
from bot.features.digest.views import OpenQuestions
from bot.questions.store import QuestionStore
from bot.rotas.on_call import OnCallResolver


def build_digest(
    tools: FeatureContext,
    records: QuestionStore,
    *,
    parts: Sequence[PartsOf],
    waiting: WaitingForHuman,
    alerts: Callable[[str], Set[str]],
    whom: OnCallResolver,
) -> Feature:
    """`parts`: what the other features have to say in it; `alerts`: see `OpenQuestions`."""
    made = ShiftDigest(
        web=tools.web,
        domains=tools.domains,
        timers=tools.timers,
        gate=tools.gate,
        whom=whom,
        kept=DigestStore(tools.engine),
        open_questions=OpenQuestions(
            records=records,
            engine=tools.engine,
            waiting=waiting,
            alerts=alerts,
            team_url=tools.identity.team_url.rstrip("/"),
        ),
        parts=parts,
        bot_user=tools.identity.user,
    )
    return Feature(timers={DIGEST: made.send}, plan=made.plan)
