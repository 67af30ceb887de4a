"""Who is in Slack user groups."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from bot.slack.web import SlackBusy, SlackRefused, SlackUnsure, Web
from config.errors import PermissionsUnknown

PATIENCE = 10.0
"""Seconds; somebody waits for an answer."""

Members = frozenset[str]


def user_group_members(groups: Collection[str], web: Web) -> Mapping[str, Members | str]:
    """Ids of user groups → ids of their members; or in words why Slack refuses.

    See `index.permissions.groups.FetchMembers`. Raises PermissionsUnknown when Slack does not answer."""
    return {group: _members(group, web) for group in groups}


def _members(group: str, web: Web) -> Members | str:
    try:
        answer = web.call("usergroups.users.list", patience=PATIENCE, usergroup=group)
    except SlackRefused as refused:
        return f"Slack refuses to list it ({refused.code})"
    except (SlackBusy, SlackUnsure) as error:
        raise PermissionsUnknown("Slack does not tell who is in a user group") from error
    return frozenset(str(user) for user in answer.get("users") or [])
