"""The Workspace directory, as far as groups go: members.list with groups in groups."""

from __future__ import annotations

import base64
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from playground.google.google_faults import ApiError

Json = dict[str, Any]
MOST_ON_A_PAGE = 200


@dataclass
class Directory:
    """Groups by address; a member that is a group's address stands for that group."""

    groups: dict[str, list[str]] = field(default_factory=dict)
    admins: Collection[str] = ()
    """Who may read groups."""
    suspended: set[str] = field(default_factory=set)

    def list_members(self, group: str, params: Mapping[str, str], asker: str) -> Json:
        """One page. Raises ApiError: 403 for whoever may not ask, 404 for an unknown group."""
        if asker not in self.admins:
            raise ApiError(403, "forbidden", "Not Authorized to access this resource/api")
        if group not in self.groups:
            raise ApiError(404, "notFound", "Resource Not Found: groupKey")
        derived = params.get("includeDerivedMembership") == "true"
        members = list(
            dict.fromkeys(self._derived(group, set()) if derived else self.groups[group])
        )
        first = _offset(params.get("pageToken", ""))
        last = first + min(int(params.get("maxResults", MOST_ON_A_PAGE)), MOST_ON_A_PAGE)
        result: Json = {"kind": "admin#directory#members", "etag": "x"}
        if members[first:last]:  # the directory leaves an empty list out
            result["members"] = [self._member(each) for each in members[first:last]]
        if last < len(members):
            result["nextPageToken"] = base64.urlsafe_b64encode(str(last).encode()).decode()
        return result

    def _derived(self, group: str, seen: set[str]) -> Iterator[str]:
        seen.add(group)
        for member in self.groups[group]:
            if member not in self.groups:
                yield member
            elif member not in seen:
                yield from self._derived(member, seen)

    def _member(self, address: str) -> Json:
        shown = {
            "kind": "admin#directory#member",
            "id": address,
            "email": address,
            "role": "MEMBER",
            "type": "GROUP" if address in self.groups else "USER",
        }
        return shown | {"status": "SUSPENDED" if address in self.suspended else "ACTIVE"}


def _offset(token: str) -> int:
    try:
        return int(base64.urlsafe_b64decode(token) or 0)
    except ValueError as error:
        raise ApiError(400, "invalid", "Invalid Input: pageToken") from error
