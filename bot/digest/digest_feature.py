"""The digest of a shift as a feature of the bot."""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set

from bot.digest.digest_parts import OpenQuestions
from bot.digest.kept_digests import KeptDigests
from bot.digest.shift_digest import DIGEST, PartsOf, ShiftDigest
from bot.feature import Feature, WaitingForHuman
from bot.feature_tools import FeatureTools
from bot.handoff.whom_to_call import WhomToCall
from bot.memory.record import Records


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
