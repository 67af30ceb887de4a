"""Members and channels of the Slack workspace, cached for some minutes: who is a colleague, a guest
or from another organization, and who is in which channel."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Generic, TypeVar

import structlog

from bot.slack.client import SlackBusy, SlackClient, SlackRefused, SlackUnsure
from index.permissions.acts import Kind, Visitor
from index.permissions.rules import Person, address_of

FRESH_SECONDS = 300.0
STALE_SECONDS = 900.0
"""Maximum age of a cached reply while Slack can't be reached."""
REFUSED_SECONDS = 30.0
FAILED_SECONDS = 5.0
"""Pause after Slack could not be reached: dozens of threads may be waiting."""
PATIENCE = 30.0
"""Seconds that a question waits for Slack; then the inbox retries it later."""
MAX_KEYS = 20_000
"""The least recently used is dropped first."""

Value = TypeVar("Value")


@dataclass
class _Entry(Generic[Value]):
    lock: threading.Lock = field(default_factory=threading.Lock)
    value: Value | None = None
    fetched_at: float = float("-inf")
    error: Exception | None = None
    """Why the last fetch failed."""
    failed_at: float = float("-inf")


class TtlCache(Generic[Value]):
    """Fetches a key once, however many threads need it, and again when the value has expired.

    `fetch`: (key, seconds it may wait for Slack) → value; None when Slack refuses to say, which
    expires sooner. Raises SlackBusy or SlackUnsure when Slack can't be reached."""

    def __init__(
        self,
        fetch: Callable[[str, float], Value | None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._fetch = fetch
        self._clock = clock
        self._entries: OrderedDict[str, _Entry[Value]] = OrderedDict()
        self._lock = threading.Lock()

    def get(
        self, key: str, *, within: float = FRESH_SECONDS, patience: float = PATIENCE
    ) -> Value | None:
        """A value at most `within` seconds old, or `STALE_SECONDS` while Slack can't be reached.

        Without one, waits `patience` seconds, then raises SlackBusy or SlackUnsure."""
        entry = self._entry(key)
        with entry.lock:
            age = self._clock() - entry.fetched_at
            if age <= (within if entry.value is not None else min(within, REFUSED_SECONDS)):
                return entry.value
            usable = entry.value is not None and age <= STALE_SECONDS
            if self._clock() - entry.failed_at > FAILED_SECONDS:
                self._refresh(key, entry, 0.0 if usable else patience)
            if entry.error and not usable:
                raise entry.error
            return entry.value

    def _refresh(self, key: str, entry: _Entry[Value], patience: float) -> None:
        try:
            entry.value = self._fetch(key, patience)
        except (SlackBusy, SlackUnsure) as error:
            entry.error, entry.failed_at = error, self._clock()
        else:
            entry.error, entry.fetched_at = None, self._clock()
            entry.failed_at = float("-inf")

    def _entry(self, key: str) -> _Entry[Value]:
        with self._lock:
            entry = self._entries.setdefault(key, _Entry())
            self._entries.move_to_end(key)
            if len(self._entries) > MAX_KEYS:
                self._entries.popitem(last=False)
            return entry


log = structlog.get_logger()

JUST_JOINED_SECONDS = 30.0
"""Someone who just joined a channel, or is no guest any more, waits no longer than this."""
PAGE = 999
"""Items per page: Slack accepts fewer than 1,000."""
_PUBLIC, _SHARED = "public", "shared outside"
KINDS = ("public_channel,private_channel", "public_channel")
"""Requested in this order: without `groups:read` Slack refuses the first."""


class Channels:
    """Memberships, cached for some minutes. Where Slack does not say, access is denied.

    Requested by person: one call, whatever the number and size of the channels. Members from other
    organizations are listed by channel only."""

    def __init__(self, web: SlackClient) -> None:
        self._web = web
        self._channels_of = TtlCache(self._fetch_channels)
        self._members = TtlCache(self._fetch_members)
        self._flags = TtlCache(self._fetch_flags)

    def has(self, channel: str, visitor: Visitor, patience: float = PATIENCE) -> bool:
        """Whether they are in it; of a private one the bot must be a member, too.

        A "no" expires sooner than a "yes". Raises SlackBusy or SlackUnsure when Slack can't be
        reached."""
        user = visitor.person.slack_user
        cache, key, item = self._channels_of, user, channel
        if visitor.kind == "external":
            cache, key, item = self._members, channel, user
        return item in (cache.get(key, patience=patience) or ()) or item in (
            cache.get(key, within=JUST_JOINED_SECONDS, patience=patience) or ()
        )

    def is_public(self, channel: str) -> bool:
        """Whether any colleague may see and join it. Raises as `has` does."""
        return _PUBLIC in (self._flags.get(channel) or ())

    def is_shared_outside(self, channel: str) -> bool:
        """Whether people of other organizations read it, by Slack Connect. True where Slack won't
        say. Raises as `has` does."""
        flags = self._flags.get(channel)
        return flags is None or _SHARED in flags

    def _fetch_channels(self, user: str, patience: float) -> Set[str] | None:
        for kinds in KINDS:
            try:
                shared = self._web.pages(
                    "users.conversations",
                    "channels",
                    patience=patience,
                    limit=PAGE,
                    user=user,
                    types=kinds,
                    exclude_archived=True,
                )
                return frozenset(str(channel["id"]) for channel in shared)
            except SlackRefused as refused:
                self._log_refusal("what somebody is a member of", refused)
                if refused.code != "missing_scope":
                    break
        return None

    def _fetch_members(self, channel: str, patience: float) -> Set[str] | None:
        try:
            return frozenset(
                self._web.pages(
                    "conversations.members",
                    "members",
                    patience=patience,
                    limit=PAGE,
                    channel=channel,
                )
            )
        except SlackRefused as refused:
            self._log_refusal(f"who is in {channel}", refused)
            return None

    def _fetch_flags(self, channel: str, patience: float) -> Set[str] | None:
        try:
            reply = self._web.call("conversations.info", patience=patience, channel=channel)
        except SlackRefused as refused:
            self._log_refusal(f"whether {channel} is public", refused)
            return None
        info = reply.get("channel") or {}
        public = info.get("is_private") is False and not info.get("is_archived")
        shared = info.get("is_ext_shared") or info.get("is_pending_ext_shared")
        return frozenset(({_PUBLIC} if public else set()) | ({_SHARED} if shared else set()))

    def _log_refusal(self, what: str, refused: SlackRefused) -> None:
        remedy = (
            "install the app again with the scopes of manifest.yaml"
            if refused.code == "missing_scope"
            else "invite the bot into every channel of the domain files, and correct wrong ids"
        )
        log.error("slack lookup failed, access denied", what=what, reason=refused.code, fix=remedy)


UNKNOWN = Visitor(kind="unknown")


class People:
    """Slack's users, cached for some minutes.

    `workspace_ids`: of this workspace and, on Enterprise Grid, of its organization."""

    def __init__(self, web: SlackClient, workspace_ids: frozenset[str]) -> None:
        self._web = web
        self._workspace_ids = workspace_ids
        self._by_id = TtlCache(partial(self._fetch, "users.info", "user"))
        self._by_email = TtlCache(self._fetch_by_email)

    def member(self, user: str, patience: float = PATIENCE) -> Visitor:
        """Raises SlackBusy or SlackUnsure when Slack can't be reached."""
        visitor = _latest(self._by_id, user, patience)
        return visitor or Visitor(person=Person(slack_user=user), kind="unknown")

    def member_of(self, user: str, teams: Set[str], patience: float) -> Visitor:
        """Unknown unless one of the teams is ours. Raises as `member` does."""
        return self.member(user, patience) if teams & self._workspace_ids else UNKNOWN

    def person(self, user: str) -> Person:
        """Without an e-mail address when nobody vouches for one: it matches no permission."""
        return self.member(user).person

    def time_zone(self, user: str) -> str:
        """UTC where Slack doesn't say or can't be reached: no answer waits for it."""
        try:
            return self.member(user).time_zone
        except (SlackBusy, SlackUnsure):
            return "UTC"

    def member_by_email(self, email: str, patience: float = PATIENCE) -> Visitor:
        """The account that our workspace gave this address; unknown when there is none. Raises as
        `member` does."""
        visitor = _latest(self._by_email, address_of(email), patience)
        return visitor or UNKNOWN

    def _fetch(self, method: str, argument: str, key: str, patience: float) -> Visitor | None:
        try:
            user = self._web.call(method, patience=patience, **{argument: key}).get("user")
        except SlackRefused as refused:
            log.warning("slack user lookup failed", method=method, reason=refused.code)
            return None
        return self._visitor(user) if isinstance(user, Mapping) and user.get("id") else None

    def _fetch_by_email(self, address: str, patience: float) -> Visitor | None:
        visitor = self._fetch("users.lookupByEmail", "email", address, patience)
        if visitor is None or visitor.kind != "external":
            return visitor
        # Slack names one account for an address: an external one may hide the colleague's.
        try:
            users = self._web.pages("users.list", "members", patience=patience, limit=PAGE)
            ours = (one for one in map(self._visitor, users) if one.kind in ("member", "guest"))
            return next((one for one in ours if address_of(one.person.email) == address), None)
        except SlackRefused as refused:
            log.warning("slack user lookup failed", method="users.list", reason=refused.code)
            return None

    def _visitor(self, user: Mapping[str, Any]) -> Visitor:
        """Without the address of an account that isn't ours: its workspace, or its holder, may
        have written a colleague's there."""
        is_ours = bool(_teams_of(user) & self._workspace_ids) and not user.get("is_bot")
        profile = user.get("profile") or {}
        email = str(profile.get("email") or "") if is_ours else ""
        return Visitor(
            person=Person(slack_user=str(user["id"]), email=email),
            kind=kind_of(user, self._workspace_ids),
            time_zone=str(user.get("tz") or "UTC"),
        )


def _latest(cache: TtlCache[Visitor], key: str, patience: float) -> Visitor | None:
    """A guest may have become a colleague since."""
    visitor = cache.get(key, patience=patience) if key else None
    if visitor and visitor.kind in ("guest", "external"):
        visitor = cache.get(key, within=JUST_JOINED_SECONDS, patience=patience)
    return visitor


def kind_of(user: Mapping[str, Any], workspace_ids: frozenset[str]) -> Kind:
    """From a user object of Slack's Web API; see `People` for `workspace_ids`.

    People of another workspace in the same Enterprise Grid organization are colleagues."""
    if user.get("deleted"):
        return "former"
    if user.get("is_bot") or user.get("id") == "USLACKBOT":
        return "bot"
    teams = _teams_of(user)
    if not teams & workspace_ids:
        return "external" if teams else "unknown"
    return "guest" if user.get("is_restricted") or user.get("is_ultra_restricted") else "member"


def _teams_of(user: Mapping[str, Any]) -> set[str]:
    grid = user.get("enterprise_user") or {}
    teams = (user.get("team_id"), user.get("enterprise_id"), grid.get("enterprise_id"))
    return {str(one) for one in (*teams, *(grid.get("teams") or ())) if one}
