"""Acts of people and programs, and the rule that decides who may do them in a domain.

`bot.access` resolves people of Slack; the API and MCP ask it through `Directory`.
docs/who-sees-what.md states the results, and tests/test_access_matrix.py walks `NEEDS`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal, Protocol

from config.domain import Domain
from index.permissions.rules import Person

Kind = Literal[
    "member", "guest", "external", "former", "bot", "unknown", "unverified", "program"
]  # fmt: skip
"""`external`: of another organization, by Slack Connect. `unknown`: Slack does not say.
`unverified`: an address, where Slack isn't connected. `program`: a token without a person, or the
operator at this machine."""


NOBODY = Person()


@dataclass(frozen=True, kw_only=True)
class Visitor:
    """Who acts."""

    kind: Kind
    person: Person = NOBODY
    """With an address only where this workspace or its organization vouches for it."""
    time_zone: str = "UTC"
    """From their Slack profile; IANA."""


class Act(StrEnum):
    """A way to see something of a domain, or to change something in it."""

    MENTION = "mention"
    UNMENTIONED = "unmentioned"
    """A question without a mention, where the domain file has those answered."""
    FOLLOW_UP = "follow_up"
    LINK = "link"
    """A link to a document, posted for all of a channel to see."""
    ALERT = "alert"
    """A message of a bot that the domain file lists."""
    DIRECT_MESSAGE = "direct_message"
    PANE = "pane"
    """A direct message from the agent pane; Slack names the channel next to it."""
    HOME = "home"
    SUGGESTED_PROMPTS = "suggested_prompts"
    SHORTCUT = "shortcut"
    OPTION = "option"
    """A button with one reading of an ambiguous question, which another person may have asked."""
    LINK_DETAILS = "link_details"
    """The pane of a previewed link."""
    HAND_OFF = "hand_off"
    """Ask a human, I'll take it, Resolved."""
    REACTION = "reaction"
    FEEDBACK = "feedback"
    CORRECTION = "correction"
    FLAG = "flag"
    CHECKLIST = "checklist"
    """Its start, presses and reports."""
    INCIDENT = "incident"
    """Snooze, timeline, what changed, how the runbook did: in the thread of an alert."""
    DRAFT = "draft"
    """A decision on a suggestion for a document, by its addressee or an admin."""
    ADMINISTER = "administer"
    """Reports in App Home, and decisions on contradictions."""
    API_ASK = "api/agentic_qna"
    API_RETRIEVE = "api/retrieve"
    API_DOCUMENTS = "api/documents"
    API_SUMMARY = "api/summary"
    API_CITATIONS = "api/citations"
    API_ENTITIES = "api/entities"
    PAGE = "page/document"
    """A document's own page, in a browser."""
    MCP_ASK = "mcp/ask"
    MCP_RETRIEVE = "mcp/retrieve"
    MCP_DOCUMENT = "mcp/document"
    CONVERSATION_READ = "api/conversation"
    CONVERSATION_ERASE = "api/conversation/erase"


Need = Literal["alert", "authorship", "membership", "colleague", "admin", "nothing"]
"""`authorship`: of a message in the domain's channel, where Slack lets only members write.
`membership`: in one of the domain's channels; a button or a shortcut works from a channel's
preview, too. `nothing`: the act concerns only the visitor's own words, and shows none."""

NEEDS: Mapping[Act, Need] = {
    **dict.fromkeys(Act, "membership"),
    **dict.fromkeys((Act.MENTION, Act.UNMENTIONED, Act.FOLLOW_UP, Act.LINK), "authorship"),
    Act.ALERT: "alert",
    Act.DRAFT: "colleague",
    Act.ADMINISTER: "admin",
    Act.CONVERSATION_ERASE: "nothing",
}
BY_HTTP = frozenset(act for act in Act if act.startswith(("api/", "mcp/", "page/")))
"""A program has no membership: its token names its domains."""


def may(act: Act, domain: Domain, visitor: Visitor, is_in: Callable[[str], bool]) -> bool:
    """Whether the visitor may do this in the domain. `is_in`: whether they are in a channel, by id.

    Guests and people of other organizations need `access.external`. A domain without channels is
    open to its admins, and to addresses that nobody could check."""
    need, kind = NEEDS[act], visitor.kind
    if kind in ("program", "unverified"):
        is_open = kind == "program" or need == "nothing" or not domain.channels
        return act in BY_HTTP and is_open
    if need in ("alert", "nothing"):
        return need == "nothing" or kind == "bot"
    is_outsider = kind in ("guest", "external") and domain.access.external
    if kind != "member" and not (is_outsider and need in ("authorship", "membership")):
        return False
    if need == "admin" or (need == "membership" and not domain.channels):
        return not is_outsider and visitor.person.slack_user in domain.admins
    # A guest may have lost the channel since they wrote, and it may be shared no longer.
    if need == "colleague" or (need == "authorship" and not is_outsider):
        return True
    return any(is_in(channel) for channel in domain.channels)


class Directory(Protocol):
    """Slack's people, for callers that do not wait for Slack. Raises PeopleUnknown while it can't
    be asked and no recent reply is cached."""

    def by_address(self, address: str) -> Visitor: ...

    def by_account(self, user: str, teams: Set[str]) -> Visitor:
        """Unknown unless one of the teams is this workspace or its organization: ids of users are
        unique in their own only."""
        ...

    def admits(self, act: Act, visitor: Visitor, domain: Domain) -> bool: ...
