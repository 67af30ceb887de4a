"""The digest of a shift as a feature of the bot."""

from __future__ import annotations

from collections.abc import Sequence

from bot.digest.digest_parts import OpenQuestions
from bot.digest.kept_digests import KeptDigests
from bot.digest.shift_digest import DIGEST, PartsOf, ShiftDigest
from bot.escalating.handoff_report import HandoffReport
from bot.feature import Feature
from bot.feature_tools import FeatureTools


def build_digest(tools: FeatureTools, parts: Sequence[PartsOf]) -> Feature:
    """`parts`: what the other features have to say in it."""
    team_url = tools.identity.team_url.rstrip("/")
    report = HandoffReport(
        handoffs=tools.handoffs,
        records=tools.records,
        domains=tools.domains,
        gate=tools.gate,
        team_url=team_url,
    )
    made = ShiftDigest(
        web=tools.web,
        domains=tools.domains,
        timers=tools.timers,
        gate=tools.gate,
        handoffs=tools.handoffs,
        kept=KeptDigests(tools.engine),
        open_questions=OpenQuestions(
            records=tools.records, engine=tools.engine, report=report, team_url=team_url
        ),
        parts=parts,
        bot_user=tools.identity.user,
    )
    return Feature(timers={DIGEST: made.send}, plan=made.plan)
