"""What runbook entries name outside of the documents: links, people, groups, channels, rotas.

Wrong is only what a server or Slack says is not there. What can't be asked is left alone."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from urllib.parse import urlsplit

from agents.drill.checks import Finding
from agents.drill.rows import DrillRow
from bot.access.directory import TtlCache
from bot.blocks.sanitize.text import links_to
from bot.rotas.on_call import OnCallResolver
from bot.rotas.shifts import begins_after, turn_at
from bot.slack.client import SlackClient, SlackRefused
from config.domain import Domain
from config.errors import ConfigError
from loaders.untrusted import ReadRefused, Web

MAX_LINKS, MAX_NAMES = 5, 10
"""Of one entry."""
LINK_SECONDS, MAX_BYTES = 5.0, 100_000
HOST_PAUSE = 3_600.0
"""Seconds without further tries after a host did not answer."""
MAX_PAGE = 999
REMEMBERED, MAX_REMEMBERED = 3_600.0, 20_000
"""Seconds for which an answer holds: the same names stand in many entries."""
AHEAD = timedelta(days=7)
MENTION = re.compile(
    r"<@([UW][A-Z0-9]{2,20})|<!subteam\^(S[A-Z0-9]{2,20})|<#(C[A-Z0-9]{2,20})"
    r"|\.slack\.com/(?:archives|team)/([CUW][A-Z0-9]{2,20})|\b([UWSC]0[A-Z0-9]{7,9})\b"
    r"|(?<![\w/&#])(#[a-z][a-z0-9_-]{1,79})(?![\w-])"
)


@dataclass
class LinkChecker:
    """Thread-safe."""

    inner_hosts: Collection[str] = ()
    """Hosts that may be at a private address, because the operator named them."""
    seconds: float = LINK_SECONDS
    """For one request."""
    clock: Callable[[], float] = time.monotonic
    _missing: dict[str, tuple[bool, float]] = field(default_factory=dict, init=False)
    _silent: dict[str, float] = field(default_factory=dict, init=False)
    """Host → when it did not answer."""

    def findings(self, row: DrillRow, hosts: Collection[str]) -> Iterator[Finding]:
        """Of its links to these hosts, those to pages that are not there."""
        allowed = links_to((), hosts)
        urls = [one for one in row.entry.links if allowed.allow(one)]
        for url in urls[:MAX_LINKS]:
            if self._is_missing(url, hosts):
                parts = urlsplit(url)
                yield Finding(
                    kind="link", sentence=f"its link to {parts.hostname}{parts.path[:80]} "
                    "leads to a page that is not there", remedy="correct the link",
                )  # fmt: skip

    def _is_missing(self, url: str, hosts: Collection[str]) -> bool:
        """False where nobody can tell: the page needs a sign-in, or its server is slow."""
        now, host = self.clock(), urlsplit(url).netloc
        earlier = self._missing.get(url)
        if earlier and now - earlier[1] < REMEMBERED:
            return earlier[0]
        if now - self._silent.get(host, float("-inf")) < HOST_PAUSE:
            return False
        # Some servers answer HEAD otherwise than GET: both have to say so.
        missing = False
        for method in ("HEAD", "GET"):
            refused = self._refusal(url, hosts, method)
            missing = refused is not None and refused.missing
            if refused and refused.temporary:
                self._silent[host] = now
            if not missing:
                break
        if len(self._missing) >= MAX_REMEMBERED:
            self._missing.clear()
        self._missing[url] = missing, now
        return missing

    def _refusal(self, url: str, hosts: Collection[str], method: str) -> ReadRefused | None:
        """Why a page can't be had; None where it opens."""
        web = Web(
            allows=links_to((), hosts).allow, is_inner=self.inner_hosts.__contains__,
            max_bytes=MAX_BYTES, max_seconds=self.seconds,
        )  # fmt: skip
        try:
            web.download(url.partition("#")[0], {"User-Agent": "oncall-copilot"}, method)
        except ReadRefused as refused:
            return refused
        return None


class NameChecker:
    """People, groups and channels of Slack. Without patience it never waits for Slack.

    A finding, which is stored, says nothing of who somebody is."""

    def __init__(self, web: SlackClient, patience: float = 0.0) -> None:
        """`patience`: seconds that a call may wait."""
        self._web = web
        self._patience = patience
        self._problems = TtlCache(self._fetch)
        self._lists = TtlCache(self._fetch_list)

    def findings(self, row: DrillRow) -> Iterator[Finding]:
        """Raises SlackBusy or SlackUnsure."""
        matches = MENTION.findall(row.text)
        names = dict.fromkeys("".join(match) for match in matches)
        for name in list(names)[:MAX_NAMES]:
            if problem := self._problem(name):
                remedy = "name who or what took over"
                yield Finding(kind="name", sentence=f"it names {problem}", remedy=remedy)

    def _problem(self, name: str) -> str | None:
        """'' where there is none, None where Slack won't say."""
        if name[0] not in "S#":
            return self._problems.get(name, within=REMEMBERED, patience=self._patience)
        listed = self._lists.get(name[0], within=REMEMBERED, patience=self._patience)
        # A channel that isn't listed may be a private one.
        unknown = f"the group {name}, which Slack doesn't know" if name[0] == "S" else ""
        return None if listed is None else listed.get(name, unknown)

    def _fetch(self, name: str, patience: float) -> str | None:
        try:
            return self._channel(name, patience) if name[0] == "C" else self._person(name, patience)
        except SlackRefused as refused:
            is_unknown = refused.code == "user_not_found"
            return "somebody whom Slack doesn't know" if is_unknown else None

    def _person(self, user: str, patience: float) -> str:
        reply = self._web.call("users.info", patience=patience, user=user)
        return "somebody who has left Slack" if (reply.get("user") or {}).get("deleted") else ""

    def _channel(self, channel: str, patience: float) -> str:
        reply = self._web.call("conversations.info", patience=patience, channel=channel)
        info = reply.get("channel") or {}
        return _archived(info) if info.get("is_archived") else ""

    def _fetch_list(self, sign: str, patience: float) -> Mapping[str, str] | None:
        """Problem of each group by id (`S`), or of each public channel by name (`#`)."""
        try:
            if sign == "#":
                pages = self._web.pages(
                    "conversations.list", "channels", patience=patience, limit=MAX_PAGE
                )
                channels = sorted(pages, key=lambda one: not one.get("is_archived"))
                return {  # a live channel comes after an archived one of its name
                    f"#{one.get('name')}": _archived(one) if one.get("is_archived") else ""
                    for one in channels
                }
            reply = self._web.call("usergroups.list", patience=patience, include_disabled=True)
        except SlackRefused:
            return None
        return {
            str(one.get("id")): f"the group @{one.get('handle')}, which is switched off"
            if one.get("date_delete") else ""
            for one in reply.get("usergroups") or ()
        }  # fmt: skip


def _archived(channel: Mapping[str, object]) -> str:
    """Not everyone who reads an entry may know the name of a private channel."""
    return (
        "an archived channel"
        if channel.get("is_private")
        else (f"#{channel.get('name')}, an archived channel")
    )


def rota_findings(domain: Domain, resolver: OnCallResolver) -> Iterator[Finding]:
    """Of the domain's own rota. A gap between shifts is no finding: it may be meant."""
    if not domain.escalation.rota:
        return
    now, remedy = datetime.now(UTC), "correct the rota, or escalation.rota in the domain file"
    try:
        rota = resolver.rotas.of(domain, domain.escalation.rota)
    except ConfigError:
        yield Finding(kind="rota", sentence="the rota can't be read", remedy=remedy)
        return
    begins = None if turn_at(rota.shifts, now).who else begins_after(rota.shifts, now)
    if not turn_at(rota.shifts, now).who and (begins is None or begins > now + AHEAD):
        yield Finding(kind="rota", sentence="the rota has nobody for a week", remedy=remedy)
        return
    current = resolver.on_call(domain)
    if current and current.named and not current.who:
        sentence = "the rota names somebody whom Slack doesn't know"
        yield Finding(kind="rota", sentence=sentence, remedy=remedy)
