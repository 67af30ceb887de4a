"""What the bot shows beside answers, put together: suggested questions, previews of links, and
earlier threads."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from sqlalchemy import Engine

from bot.access.gate import Gate
from bot.feature_tools import PublishedDomains
from bot.home.suggestions import Suggest, Suggestions, only_examples
from bot.link_previews.link_previews import LinkPreviews
from bot.manifest import lacking
from bot.question.earlier_threads import EarlierThreads
from bot.slack.web import Web
from config.domain import Domain
from config.errors import NothingPublished
from index.audit import Audit
from index.permissions.rules import IdentitiesOf
from index.search import Snapshot


@dataclass(frozen=True, kw_only=True)
class BesideAnswers:
    suggest: Suggest
    previews: LinkPreviews
    earlier: EarlierThreads
    domains: Callable[[], Mapping[str, Domain]]
    granted: frozenset[str]
    """What Slack lets the app do; empty when it didn't say."""

    def troubles(self) -> list[str]:
        """What Slack doesn't let the bot do, with the remedy; for whoever runs it."""
        told = [self.previews.problem, self.earlier.problem]
        if self.granted:
            told += lacking(self.granted, self.domains().values())
        return [problem for problem in told if problem]


def beside_answers(
    web: Web,
    engine: Engine,
    *,
    gate: Gate,
    domains: Callable[[], Mapping[str, Domain]],
    identities: IdentitiesOf,
    audit: Audit,
    team_url: str,
    published: PublishedDomains | None,
) -> BesideAnswers:
    """`published`: None suggests the domain files' examples, and previews nothing."""
    is_public = gate.channels.is_public
    suggest: Suggest = only_examples
    if published:
        suggest = Suggestions(
            engine, snapshot=published.snapshot, embed=published.embed, is_public=is_public
        )
    return BesideAnswers(
        suggest=suggest,
        previews=LinkPreviews(
            web,
            domains=domains,
            gate=gate,
            snapshot=published.snapshot if published else _nothing,
            identities=identities,
            audit=audit,
        ),
        earlier=EarlierThreads(web, is_public=is_public, team_url=team_url),
        domains=domains,
        granted=web.granted,
    )


def _nothing(domain: str) -> Snapshot:
    raise NothingPublished(domain)
