"""Google's APIs from the descriptions that ship with its client: no look-up online."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from typing import Any

CALLED: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "admin": {"members": ("list",)},
    "docs": {"documents": ("get",)},
    "drive": {
        "changes": ("getStartPageToken", "list"),
        "comments": ("create", "list"),
        "files": ("export", "get", "list"),
        "permissions": ("list",),
    },
}
"""Every method that we use, and no other: `comments.create` alone writes, by a token of its own."""
ANSWER = {"type": "object", "properties": {"nextPageToken": {"type": "string"}}}
"""All that the client needs to know of an answer: that it is JSON, and how it is paged."""

BODY = {"type": "object"}
"""Likewise of what is sent."""


def build_service(name: str, version: str, connection: Any, host: str = "") -> Any:
    """`connection`: an httplib2 client; `host`: another one than Google's."""
    from googleapiclient import discovery

    # It logs every refusal as a warning; ours are answered or reported.
    logging.getLogger("googleapiclient.http").setLevel(logging.ERROR)
    description = _description(name, version)
    if host:
        # Calls and batches of calls both begin with it.
        description |= {"rootUrl": f"{host}/"}
        description.pop("mtlsRootUrl", None)
    return discovery.build_from_document(description, http=connection)  # type: ignore[attr-defined] # stubs lack it


def _description(name: str, version: str) -> dict[str, Any]:
    """The API's description as it ships with the client, cut to what we call.

    The whole of it costs a second at every start: the client writes documentation for each method
    from the schemas of everything that the method returns."""
    from googleapiclient.discovery_cache import get_static_doc

    document: dict[str, Any] = json.loads(get_static_doc(name, version))  # type: ignore[no-untyped-call] # no types
    resources: dict[str, Any] = {}
    for resource, wanted in CALLED[name].items():
        methods = document["resources"][resource]["methods"]
        kept = {each: dict(methods[each]) for each in wanted}
        for method in kept.values():
            if "response" in method:
                method["response"] = ANSWER
            if "request" in method:
                method["request"] = BODY
        resources[resource] = {"methods": kept}
    return {**document, "resources": resources, "schemas": {}}
