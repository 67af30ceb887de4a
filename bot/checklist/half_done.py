"""Checklists that the next shift takes over. Pure, but for what it reads."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from bot.checklist.checklist_keeper import thread_link
from bot.checklist.checklist_standing import Checklist, ChecklistStanding
from bot.checklist.checklist_times import clock
from bot.checklist.checklist_view import progress
from bot.checklist.kept_checklists import KeptChecklists
from bot.feature import DigestPart
from bot.message.blockkit import link, short
from bot.slack.message_words import mention
from config.domain import Domain

LATELY = timedelta(days=7)
"""What nobody has touched for so long is no work for a shift."""


def half_done(
    kept: KeptChecklists, team_url: str, domain: Domain, since: datetime
) -> Sequence[DigestPart]:
    """Of the domain's channels, the one touched last first; `since` matters to none of them, as
    what is half done is half done. What goes on in direct messages is nobody else's, and what goes
    on in a channel that of those who may see it."""
    oldest = datetime.now(UTC).replace(tzinfo=None) - LATELY
    begun = kept.open_since(oldest, domain.domain)
    found = [(one, kept.standing(one)) for one in begun if one.channel in domain.channels]
    found.sort(key=lambda pair: pair[1].last_at, reverse=True)
    lines = [_line(*one, team_url) for one in found]
    places = [one.channel for one, _ in found]
    part = DigestPart(title="Checklists half done", lines=lines, places=places)
    return [part] if lines else []


def _line(checklist: Checklist, standing: ChecklistStanding, team_url: str) -> str:
    title = link(thread_link(team_url, checklist), short(checklist.runbook.name, 150))
    driver = f"{mention(standing.driver)} drives since {clock(standing.driving_since)}"
    return f"{title} · {progress(checklist, standing)} · {driver}"
