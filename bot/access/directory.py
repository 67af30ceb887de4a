"""Who is in which channel, and which channels anybody may join.

What Slack said a moment ago, for as long as that may be relied on.

Who somebody is: a colleague, a guest, somebody from elsewhere."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass, field
from typing import Any, Generic, Literal, TypeVar

import structlog

from bot.slack.client import SlackBusy, SlackClient, SlackRefused, SlackUnsure
from index.permissions.rules import Person

FRESH_SECONDS = 300.0
STALE_SECONDS = 900.0
"""How old an answer may be while Slack can't be reached; after that there is none."""
REFUSED_SECONDS = 30.0
FAILED_SECONDS = 5.0
"""Nobody waits again so soon after Slack could not be reached: dozens may stand in line."""
PATIENCE = 30.0
"""Seconds that a question waits for Slack; then the inbox takes it up again later."""
MOST = 20_000
"""Keys; the least recently asked for is forgotten first."""

Value = TypeVar("Value")


@dataclass
class _Kept(Generic[Value]):
    one_at_a_time: threading.Lock = field(default_factory=threading.Lock)
    value: Value | None = None
    known_at: float = float("-inf")
    trouble: Exception | None = None
    """Why the last look-up failed."""
    failed_at: float = float("-inf")


class TtlCache(Generic[Value]):
    """Looks a key up once, however many threads ask, and again when the answer has aged.

    `look_up`: key and the seconds it may wait for Slack → value; None when Slack refuses to say,
    which is not remembered as long. Raises SlackBusy or SlackUnsure when Slack can't be reached."""

    def __init__(
        self,
        look_up: Callable[[str, float], Value | None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._look_up = look_up
        self._clock = clock
        self._kept: OrderedDict[str, _Kept[Value]] = OrderedDict()
        self._lock = threading.Lock()

    def get(
        self, key: str, *, within: float = FRESH_SECONDS, patience: float = PATIENCE
    ) -> Value | None:
        """At most `within` seconds old, or `STALE_SECONDS` while Slack can't be reached, for which
        it waits `patience` seconds when there is nothing that recent.

        Raises SlackBusy or SlackUnsure then."""
        kept = self._of(key)
        with kept.one_at_a_time:
            age = self._clock() - kept.known_at
            if age <= (within if kept.value is not None else min(within, REFUSED_SECONDS)):
                return kept.value
            usable = kept.value is not None and age <= STALE_SECONDS
            if self._clock() - kept.failed_at > FAILED_SECONDS:
                self._ask(key, kept, 0.0 if usable else patience)
            if kept.trouble and not usable:
                raise kept.trouble
            return kept.value

    def _ask(self, key: str, kept: _Kept[Value], patience: float) -> None:
        try:
            kept.value = self._look_up(key, patience)
        except (SlackBusy, SlackUnsure) as error:
            kept.trouble, kept.failed_at = error, self._clock()
        else:
            kept.trouble, kept.known_at = None, self._clock()
            kept.failed_at = float("-inf")

    def _of(self, key: str) -> _Kept[Value]:
        with self._lock:
            kept = self._kept.setdefault(key, _Kept())
            self._kept.move_to_end(key)
            if len(self._kept) > MOST:
                self._kept.popitem(last=False)
            return kept


log = structlog.get_logger()

JUST_JOINED_SECONDS = 30.0
"""Somebody who is told to join a channel, and does, need not wait longer than this."""
PAGE = 999
"""Items a page: Slack takes less than 1,000."""
_PUBLIC, _SHARED = "public", "shared outside"
KINDS = ("public_channel,private_channel", "public_channel")
"""What to ask for: without `groups:read` Slack refuses the first, and tells the second."""


class Channels:
    """Membership, remembered for some minutes. What Slack won't say is closed.

    Slack is asked about the person, in one call whatever number of channels there are and however
    large they are. Of people of other organisations it knows the membership by channel alone."""

    def __init__(self, web: SlackClient) -> None:
        self._web = web
        self._of_person = TtlCache(self._shared_with)
        self._members = TtlCache(self._all_members)
        self._signs = TtlCache(self._known_of)

    def holds(self, channel: str, user: str, patience: float = PATIENCE) -> bool:
        """Whether this colleague or guest is in it; the bot has to be as well, if it is private.

        Raises SlackBusy or SlackUnsure when nobody can tell."""
        return _found(self._of_person, user, channel, patience)

    def holds_outsider(self, channel: str, user: str, patience: float = PATIENCE) -> bool:
        """The same of somebody of another organisation."""
        return _found(self._members, channel, user, patience)

    def is_public(self, channel: str) -> bool:
        """Whether any colleague may see and join it. Raises as `holds` does."""
        return _PUBLIC in (self._signs.get(channel) or ())

    def is_shared_outside(self, channel: str) -> bool:
        """Whether people of other organisations read it, by Slack Connect. What Slack won't say is
        taken for shared. Raises as `holds` does."""
        signs = self._signs.get(channel)
        return signs is None or _SHARED in signs

    def _shared_with(self, user: str, patience: float) -> Set[str] | None:
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
                self._tell_operators("what somebody is a member of", refused)
                if refused.code != "missing_scope":
                    break
        return None

    def _all_members(self, channel: str, patience: float) -> Set[str] | None:
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
            self._tell_operators(f"who is in {channel}", refused)
            return None

    def _known_of(self, channel: str, patience: float) -> Set[str] | None:
        try:
            reply = self._web.call("conversations.info", patience=patience, channel=channel)
        except SlackRefused as refused:
            self._tell_operators(f"whether {channel} is public", refused)
            return None
        shown = reply.get("channel") or {}
        public = shown.get("is_private") is False and not shown.get("is_archived")
        shared = shown.get("is_ext_shared") or shown.get("is_pending_ext_shared")
        return frozenset(({_PUBLIC} if public else set()) | ({_SHARED} if shared else set()))

    def _tell_operators(self, what: str, refused: SlackRefused) -> None:
        remedy = (
            "install the app again with the scopes of manifest.yaml"
            if refused.code == "missing_scope"
            else "invite the bot into every channel of the domain files, and correct wrong ids"
        )
        log.error("slack does not say, so it is closed", what=what, reason=refused.code, fix=remedy)


def _found(memory: TtlCache[Set[str]], key: str, wanted: str, patience: float) -> bool:
    """A "no" is looked up again sooner than a "yes"."""
    if wanted in (memory.get(key, patience=patience) or ()):
        return True
    return wanted in (memory.get(key, within=JUST_JOINED_SECONDS, patience=patience) or ())


Standing = Literal["member", "guest", "external", "bot", "gone", "unknown"]
"""`external`: of another organisation, by Slack Connect. `unknown`: Slack won't say."""


@dataclass(frozen=True, kw_only=True)
class SlackMember:
    """Somebody, as Slack knows them."""

    person: Person
    standing: Standing
    time_zone: str = "UTC"
    """As their Slack shows the time; IANA."""


class People:
    """Slack's users, remembered for some minutes.

    `ours`: ids of this workspace and, on Enterprise Grid, of its organisation."""

    def __init__(self, web: SlackClient, ours: frozenset[str]) -> None:
        self._web = web
        self._ours = ours
        self._by_id = TtlCache(self._user)
        self._by_email = TtlCache(self._user_of_email)

    def known(self, user: str) -> SlackMember:
        """Raises SlackBusy or SlackUnsure when Slack can't be reached."""
        found = self._by_id.get(user) if user else None
        return found or SlackMember(person=Person(slack_user=user), standing="unknown")

    def person(self, user: str) -> Person:
        """Without an address when Slack won't say, which opens nothing."""
        return self.known(user).person

    def time_zone(self, user: str) -> str:
        """UTC where Slack doesn't say, or can't be reached: no answer waits for it."""
        try:
            return self.known(user).time_zone
        except (SlackBusy, SlackUnsure):
            return "UTC"

    def known_by_email(self, email: str, patience: float = PATIENCE) -> SlackMember:
        """Unknown when nobody has this address. Raises as `known` does."""
        address = email.strip().casefold()
        found = self._by_email.get(address, patience=patience) if address else None
        return found or SlackMember(person=Person(email=email), standing="unknown")

    def _user(self, user: str, patience: float) -> SlackMember | None:
        return self._looked_up("users.info", patience, user=user)

    def _user_of_email(self, email: str, patience: float) -> SlackMember | None:
        return self._looked_up("users.lookupByEmail", patience, email=email)

    def _looked_up(self, method: str, patience: float, **whom: str) -> SlackMember | None:
        try:
            user = self._web.call(method, patience=patience, **whom).get("user")
        except SlackRefused as refused:
            log.warning("slack does not say who somebody is", method=method, reason=refused.code)
            return None
        if not (isinstance(user, Mapping) and user.get("id")):
            return None
        profile = user.get("profile") or {}
        return SlackMember(
            person=Person(slack_user=str(user["id"]), email=str(profile.get("email") or "")),
            standing=standing_of(user, self._ours),
            time_zone=str(user.get("tz") or "UTC"),
        )


def standing_of(user: Mapping[str, Any], ours: frozenset[str]) -> Standing:
    """From a user object of Slack's Web API; see `People` for `ours`.

    People of another workspace in the same Enterprise Grid organisation are colleagues."""
    if user.get("deleted"):
        return "gone"
    if user.get("is_bot") or user.get("id") == "USLACKBOT":
        return "bot"
    grid = user.get("enterprise_user") or {}
    theirs = {user.get("team_id"), user.get("enterprise_id"), grid.get("enterprise_id")}
    theirs = {one for one in (*theirs, *(grid.get("teams") or ())) if one}
    if not theirs:
        return "unknown"
    if not theirs & ours:
        return "external"
    if user.get("is_restricted") or user.get("is_ultra_restricted"):
        return "guest"
    return "member"
