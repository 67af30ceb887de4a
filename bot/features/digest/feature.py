"""The digest of a shift as a feature of the bot."""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set

from bot.feature import Feature, FeatureTools, WaitingForHuman
from bot.features.digest.service import DIGEST, PartsOf, ShiftDigest
from bot.features.digest.store import KeptDigests
from bot.features.digest.views import OpenQuestions
from bot.questions.store import Records
from bot.rotas.on_call import WhomToCall


def build_digest(
    tools: FeatureTools,
    records: Records,
    *,
    parts: Sequence[PartsOf],
    waiting: WaitingForHuman,
    alerts: Callable[[str], Set[str]],
    whom: WhomToCall,
) -> Feature:
    """`parts`: what the other features have to say in it; `alerts`: see `OpenQuestions`."""
    made = ShiftDigest(
        web=tools.web,
        domains=tools.domains,
        timers=tools.timers,
        gate=tools.gate,
        whom=whom,
        kept=KeptDigests(tools.engine),
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
