"""App Home, gathered and published.

The questions to choose from in App Home, as a feature of the bot."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import timedelta
from typing import Any

import structlog
from slack_bolt import App

from bot.access.gate import EntryPoint, Gate
from bot.blocks.kit import Json
from bot.db import now
from bot.feature import Feature, Store, VerdictsOf
from bot.features.home.suggestions import Suggest, only_examples
from bot.features.home.views import (
    EXAMPLE,
    EXAMPLES,
    IndexStatus,
    JustAsked,
    Offered,
    Report,
    blocks,
)
from bot.questions.outcomes import is_question, went_wrong
from bot.questions.store import QuestionStore
from bot.slack.client import SlackBusy, SlackClient, SlackRefused, SlackUnsure
from bot.slack.interactions import team_of, user_of
from config.domain import Domain

__all__ = ["Home", "IndexStatus", "StatusOf"]

log = structlog.get_logger()

WEEK = timedelta(days=7)
MoreForAdmins = Callable[[str, Sequence[Domain]], Iterator[Json]]
"""(viewer, the domains whose admin they are) → blocks."""
StatusOf = Callable[[str], IndexStatus | None]
"""Domain name → its index; None when nothing was ever published."""


class Home:
    def __init__(
        self,
        web: SlackClient,
        records: QuestionStore,
        verdicts: VerdictsOf,
        *,
        domains: Callable[[], Mapping[str, Domain]],
        gate: Gate,
        status: StatusOf,
        team_url: str,
        suggest: Suggest = only_examples,
        troubles: Callable[[], Sequence[str]] = tuple,
        more: Sequence[MoreForAdmins] = (),
    ) -> None:
        """`troubles`: what Slack doesn't let the bot do, for admins. `more`: see `bot.feature`."""
        self._web = web
        self._records = records
        self._verdicts = verdicts
        self._domains = domains
        self._gate = gate
        self._status = status
        self._team_url = team_url.rstrip("/")
        self._suggest = suggest
        self._troubles = troubles
        self._more = more

    def publish(self, user: str, just_asked: JustAsked | None = None) -> None:
        """Show the user their home."""
        domains = list(self._domains().values())
        theirs = self._gate.open_to(EntryPoint.HOME, user, domains)
        offered = [self._offered(user, domain) for domain in theirs]
        why_not = "" if theirs else self._gate.why_not(user, domains)
        reports = [self._report(domain, user) for domain in domains if user in domain.admins]
        administered = [domain for domain in domains if user in domain.admins]
        more = [block for of in self._more for block in of(user, administered)]
        mine = [r for r in self._records.recent(asker=user, limit=25) if is_question(r)][:5]
        view = {
            "type": "home",
            "blocks": list(
                blocks(offered, reports, mine, self._team_url, why_not, just_asked, more)
            )[:100],
        }
        try:
            self._web.once("views.publish", user_id=user, view=view)
        except (SlackRefused, SlackUnsure, SlackBusy) as error:
            log.warning("the app home was not published", reason=str(error))

    def _offered(self, user: str, domain: Domain) -> Offered:
        """Names no channel that they may not see."""
        seen = [channel for channel in domain.channels if self._gate.may_see(user, channel)]
        return Offered(
            domain=domain.model_copy(update={"channels": seen}),
            questions=self._suggest(domain, EXAMPLES),
        )

    def _report(self, domain: Domain, admin: str) -> Report:
        today = now()
        recent = self._records.recent(domain=domain.domain, limit=200)
        failing = [
            record for record in recent if record.asked_at >= today - WEEK and went_wrong(record)
        ]
        return Report(
            domain=domain,
            index=self._status(domain.domain),
            this_week=self._verdicts(domain.domain, today - WEEK, today),
            last_week=self._verdicts(domain.domain, today - 2 * WEEK, today - WEEK),
            asked=self._records.count(today - WEEK, domain=domain.domain),
            passages=self._records.count(today - WEEK, domain=domain.domain, path="passages_found"),
            failing=failing[:5],
            readable=frozenset(
                channel
                for channel in {record.channel for record in failing[:5]}
                if not channel.startswith("D") and self._gate.may_see(admin, channel)
            ),
            troubles=self._troubles(),
        )


Ack = Callable[..., Any]


def build_examples() -> Feature:
    return Feature(listen=_examples)


def _examples(app: App, store: Store) -> None:
    def ask(ack: Ack, body: Json, action: Json) -> None:
        if example := chosen_example(body, action):
            store(f"example-{example['user']}-{action.get('action_ts')}", {"example": example})
        ack()

    app.action(re.compile(rf"^{EXAMPLE}_\d+_\d+$"))(ask)


def chosen_example(body: Json, action: Mapping[str, Any]) -> dict[str, str] | None:
    """Who asks what of which domain; None for a button that says neither."""
    try:
        value = json.loads(str(action.get("value") or ""))
        domain, question = str(value["domain"]), str(value["question"])
    except (ValueError, KeyError, TypeError):
        return None
    return {"user": user_of(body), "team": team_of(body), "domain": domain, "question": question}
