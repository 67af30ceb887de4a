"""The service account that reads: its key, from a file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from config.errors import ConfigError

if TYPE_CHECKING:
    from google.oauth2.service_account import Credentials

DRIVE = "https://www.googleapis.com/auth/drive.readonly"
GROUP_MEMBERS = "https://www.googleapis.com/auth/admin.directory.group.member.readonly"
KEY_REMEDY = (
    "put the path of a service account's JSON key into GOOGLE_APPLICATION_CREDENTIALS"
    " (Google Cloud console › IAM & Admin › Service accounts › Keys)"
)


def read_credentials(
    path: Path | None, *, scope: str = DRIVE, delegate: str = "", api_url: str = ""
) -> Credentials:
    """The service account's key, for reading only. Raises ConfigError.

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
        problem = f"{path} is not a service account's JSON key"
        raise ConfigError(problem, remedy=KEY_REMEDY) from None
    assert isinstance(credentials, Credentials)  # noqa: S101 - the classmethod's own class
    return credentials
