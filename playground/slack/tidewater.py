"""The invented workspace of the playground: people, channels, groups and first questions."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

TEAM_ID = "T0TIDEWATER"
TEAM_NAME = "Tidewater Pay"
TEAM_DOMAIN = "tidewater-pay"
APP_ID = "A0COPILOT"
BOT_ID = "B0COPILOT"
BOT_USER_ID = "U0COPILOT"
YOU = "U0YOU"


@dataclass(frozen=True, kw_only=True)
class SlackUser:
    """Somebody in the workspace; bots carry the id of their app's bot."""

    id: str
    handle: str
    name: str
    title: str
    timezone: str = "Europe/Amsterdam"
    bot_id: str = ""
    team_id: str = TEAM_ID
    """Another one's for somebody who is here by Slack Connect."""
    enterprise_id: str = ""
    guest: Literal["", "multi_channel", "single_channel"] = ""
    stranger: bool = False
    """Of another workspace, and in no channel that the app can see."""
    deleted: bool = False

    @property
    def email(self) -> str:
        return f"{self.handle}@tidewater.example"


@dataclass(frozen=True, kw_only=True)
class Group:
    """A user group that can be mentioned, e.g. an on-call rota."""

    id: str
    handle: str
    name: str
    members: tuple[str, ...]


@dataclass(kw_only=True)
class Channel:
    """A conversation. `im` ones belong to one person and the bot."""

    id: str
    name: str
    topic: str = ""
    kind: str = "channel"
    """`channel`, `group` (private) or `im`."""
    user: str = ""
    """The person of an `im`."""
    members: set[str] = field(default_factory=set)
    archived: bool = False
    shared: bool = False
    """By Slack Connect, with another organisation."""
    questions: tuple[str, ...] = ()
    """First questions that a newcomer can click."""


@dataclass(frozen=True, kw_only=True)
class ShownQuestion:
    """Asked when the demo starts, so that its reply can be looked at."""

    text: str
    channel: str = "C0SECURITY"
    user: str = YOU


SHOWN_QUESTIONS = (
    ShownQuestion(text="what is the overlap window of a merchant webhook secret?"),
    ShownQuestion(text="who gets a written update of a P1, and how often?", user="U0PRIYA"),
    ShownQuestion(text="what does the cafeteria serve on Fridays?", user="U0DANA"),
)
"""One for each kind of reply without a model: an answer, passages, none."""

PEOPLE = (
    SlackUser(id=YOU, handle="sam.rivers", name="Sam Rivers", title="Payments engineer"),
    SlackUser(id="U0INES", handle="ines.okafor", name="Ines Okafor", title="CISO"),
    SlackUser(id="U0MAREK", handle="marek.vos", name="Marek Vos", title="Data Protection Officer"),
    SlackUser(
        id="U0DANA",
        handle="dana.whitlock",
        name="Dana Whitlock",
        title="Head of Platform",
        timezone="America/Chicago",
    ),
    SlackUser(
        id="U0PRIYA",
        handle="priya.nair",
        name="Priya Nair",
        title="Data analyst, contractor",
        timezone="Asia/Singapore",
    ),
    SlackUser(
        id=BOT_USER_ID,
        handle="copilot",
        name="Copilot",
        title="Answers from the team's documents",
        bot_id=BOT_ID,
    ),
    SlackUser(
        id="U0BEACON",
        handle="beacon",
        name="Beacon",
        title="Metrics and alerts",
        bot_id="B0BEACON",
    ),
)

GROUPS = (
    Group(id="S0SECENG", handle="seceng-primary", name="SecEng on-call", members=("U0INES",)),
    Group(id="S0PRIVDESK", handle="privacy-desk", name="Privacy desk", members=("U0MAREK",)),
    Group(id="S0PRE", handle="pre-primary", name="PRE on-call", members=("U0DANA",)),
)

_HUMANS = {person.id for person in PEOPLE if not person.bot_id}
_EVERYONE = _HUMANS | {BOT_USER_ID, "U0BEACON"}


def channels() -> list[Channel]:
    """Fresh copies, because membership changes while the workspace runs."""
    shared = [
        Channel(
            id="C0SECURITY",
            name="help-security",
            topic="Access, keys, vulnerabilities, devices, vendors. SecEng answers.",
            questions=(
                "what is the overlap window of a merchant webhook secret?",
                "may a contractor own the fix of a P2?",
                "what is the longest time for the role ledger-dba?",
            ),
        ),
        Channel(
            id="C0PRIVACY",
            name="help-privacy",
            topic="Data classes, retention, subject requests, transfers. Privacy Office answers.",
            questions=(
                "how long do we keep failed onboarding applications in the US?",
                "what is the turnaround of Tally for a subject request?",
                "how long do we keep recorded support calls in the US?",
            ),
        ),
        Channel(
            id="C0PLATFORM",
            name="help-platform",
            topic="Deploys, alerts, databases, quotas, on-call duty. PRE answers.",
            questions=(
                "what is the RTO of a T1 service?",
                "what does a POST to /v2/refunds cost?",
                "Pilot said FROZEN and exited 41, what does that mean?",
            ),
        ),
        Channel(id="C0GENERAL", name="general", topic="Company news and everything else."),
    ]
    for channel in shared:
        channel.members = set(_EVERYONE)
    quiet = Channel(id="C0QUIET", name="quiet-corner", topic="No apps here.", members=set(_HUMANS))
    return [*shared, quiet, *(direct(person.id) for person in PEOPLE if not person.bot_id)]


def direct(user: str) -> Channel:
    name = f"D{user[1:]}"
    return Channel(id=name, name=name, kind="im", user=user, members={user, BOT_USER_ID})
