"""The service account: its key, from a file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from config.errors import ConfigError

if TYPE_CHECKING:
    from google.oauth2.service_account import Credentials

DRIVE = "https://www.googleapis.com/auth/drive.readonly"
COMMENTS = "https://www.googleapis.com/auth/drive"
"""The narrowest that comments.create takes for documents of others: `drive.file` reaches only what
an app made. What the account may do with a document is bounded by its role there: commenter."""
GROUP_MEMBERS = "https://www.googleapis.com/auth/admin.directory.group.member.readonly"
_OTHER_KEYS = {
    "authorized_user": "it is a person's own login, as `gcloud auth application-default login` "
    "writes it",
    "external_account": "it is of workload identity federation",
    "impersonated_service_account": "it is a person's login that stands in for an account",
}
"""`type` of other files of credentials → what they are."""
KEY_REMEDY = (
    "put the path of a service account's JSON key into GOOGLE_APPLICATION_CREDENTIALS"
    " (Google Cloud console › IAM & Admin › Service accounts › Keys)"
)


def read_credentials(
    path: Path | None, *, scope: str = DRIVE, delegate: str = "", api_url: str = ""
) -> Credentials:
    """The service account's key, for reading only unless `scope` says more. Raises ConfigError.

    `delegate`: the user to act as, unless it is the service account itself. With `api_url` tokens
    come from that host too."""
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
    """What the file is instead, in words that quote none of it."""
    try:
        held = json.loads(path.read_text(encoding="utf-8"))
    except ValueError:
        return "it is not JSON"
    if not isinstance(held, dict):
        return "it holds no object"
    if {"installed", "web"} & held.keys():
        return "it is the secret of an OAuth client, by which people sign in"
    kind = held.get("type")
    if kind == "service_account":
        return "a part of it is missing or damaged; download a new one"
    return _OTHER_KEYS.get(kind if isinstance(kind, str) else "", "it is something else")
