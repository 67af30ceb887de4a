"""The service account's key, Google's APIs, and an HTTP client that sends a request once.

APIs are built from the descriptions that ship with Google's client, without a request online.
httplib2 resends a request, even a POST, when a connection ends without a status line. This
duplicated a comment whose reply was lost."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from http.client import BadStatusLine, HTTPConnection, HTTPResponse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from httplib2 import Http, HTTPConnectionWithTimeout, HTTPSConnectionWithTimeout

from config.errors import ConfigError

if TYPE_CHECKING:
    from google.oauth2.service_account import Credentials


DRIVE = "https://www.googleapis.com/auth/drive.readonly"
WRITE = "https://www.googleapis.com/auth/drive"
"""The narrowest scope with which comments.create works on other people's documents, and
files.create in other people's folders.

`drive.file` covers only what an app created. The account's role limits what it can do: commenter of
a document, contributor of a folder."""
GROUP_MEMBERS = "https://www.googleapis.com/auth/admin.directory.group.member.readonly"
_OTHER_KEYS = {
    "authorized_user": "it is a person's own login, as `gcloud auth application-default login` "
    "writes it",
    "external_account": "it is of workload identity federation",
    "impersonated_service_account": "it is a person's login that stands in for an account",
}
"""`type` of other credential files → description."""
KEY_REMEDY = (
    "put the path of a service account's JSON key into GOOGLE_APPLICATION_CREDENTIALS"
    " (Google Cloud console › IAM & Admin › Service accounts › Keys)"
)


def read_credentials(
    path: Path | None, *, scope: str = DRIVE, delegate: str = "", api_url: str = ""
) -> Credentials:
    """Reads the service account's key, by default for read access. Raises ConfigError.

    `delegate`: the user to impersonate; ignored when it is the service account itself.
    `api_url`: the host that also issues tokens."""
    from google.oauth2.service_account import Credentials

    if path is None:
        raise ConfigError("missing setting: GOOGLE_APPLICATION_CREDENTIALS", remedy=KEY_REMEDY)
    try:
        info = json.loads(path.read_text(encoding="utf-8"))
        if api_url:
            info = {**info, "token_uri": f"{api_url.rstrip('/')}/token"}
        credentials = Credentials.from_service_account_info(  # type: ignore[no-untyped-call] # google-auth has no types here
            info, scopes=[scope], subject=delegate or None
        )
        if delegate == credentials.service_account_email:
            credentials = credentials.with_subject(None)
    except OSError as error:
        problem = f"can't read the Google key {path}: {error.strerror or error}"
        raise ConfigError(problem, remedy=KEY_REMEDY) from error
    except (ValueError, TypeError):
        # The parser's message may quote the key, so it is left out.
        problem = f"{path} is not a service account's JSON key: {_what_else(path)}"
        raise ConfigError(problem, remedy=KEY_REMEDY) from None
    assert isinstance(credentials, Credentials)  # noqa: S101 - the classmethod's own class
    return credentials


def _what_else(path: Path) -> str:
    """Describes what the file is instead, without quoting it."""
    try:
        key = json.loads(path.read_text(encoding="utf-8"))
    except ValueError:
        return "it is not JSON"
    if not isinstance(key, dict):
        return "it holds no object"
    if {"installed", "web"} & key.keys():
        return "it is the secret of an OAuth client, by which people sign in"
    kind = key.get("type")
    if kind == "service_account":
        return "a part of it is missing or damaged; download a new one"
    return _OTHER_KEYS.get(kind if isinstance(kind, str) else "", "it is something else")


USED_METHODS: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "admin": {"members": ("list",)},
    "docs": {"documents": ("get",)},
    "drive": {
        "changes": ("getStartPageToken", "list"),
        "comments": ("create", "list"),
        "files": ("create", "export", "get", "list"),
        "permissions": ("list",),
    },
}
"""Every method in use. `comments.create` and `files.create` write, with a separate token."""
ANSWER = {"type": "object", "properties": {"nextPageToken": {"type": "string"}}}
"""A response schema with all that the client needs: it is JSON, and how it is paged."""

BODY = {"type": "object"}
"""A schema for request bodies: any JSON object."""


def build_service(name: str, version: str, connection: Any, host: str = "") -> Any:
    """`connection`: an httplib2 client. `host`: replaces Google's host."""
    from googleapiclient import discovery

    # It logs every error response as a warning; callers handle or report them already.
    logging.getLogger("googleapiclient.http").setLevel(logging.ERROR)
    description = _description(name, version)
    if host:
        # Calls and batches both use it.
        description |= {"rootUrl": f"{host}/"}
        description.pop("mtlsRootUrl", None)
    return discovery.build_from_document(description, http=connection)  # type: ignore[attr-defined] # stubs lack it


def _description(name: str, version: str) -> dict[str, Any]:
    """The API's description from the client library, reduced to USED_METHODS.

    The full description adds a second to every start: the client generates documentation for each
    method from the schemas of its responses."""
    from googleapiclient.discovery_cache import get_static_doc

    document: dict[str, Any] = json.loads(get_static_doc(name, version))  # type: ignore[no-untyped-call] # no types
    resources: dict[str, Any] = {}
    for resource, names in USED_METHODS[name].items():
        methods = document["resources"][resource]["methods"]
        methods_used = {each: dict(methods[each]) for each in names}
        for method in methods_used.values():
            if "response" in method:
                method["response"] = ANSWER
            if "request" in method:
                method["request"] = BODY
        resources[resource] = {"methods": methods_used}
    return {**document, "resources": resources, "schemas": {}}


class _EndsForGood(HTTPConnection):
    def getresponse(self) -> HTTPResponse:
        try:
            return super().getresponse()
        except BadStatusLine as error:
            # httplib2 does not retry after this error.
            raise ConnectionResetError("the connection ended without a reply") from error


class _PlainOnce(_EndsForGood, HTTPConnectionWithTimeout):
    """Never resends a request; see the module's docstring."""


class _SecureOnce(_EndsForGood, HTTPSConnectionWithTimeout):
    """The same over TLS."""


class NoRetryHttp(Http):
    def request(self, uri: str, *arguments: Any, **options: Any) -> Any:
        kind = _SecureOnce if uri.startswith("https:") else _PlainOnce
        return super().request(uri, *arguments, **{**options, "connection_type": kind})
