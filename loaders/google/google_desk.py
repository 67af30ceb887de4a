"""What owners are found by, and told with: Drive, read by one token and commented on by another."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from config.settings import Settings
from loaders.google.document_comments import Commented, comment_once
from loaders.google.document_owners import OwnersFound, owners_of
from loaders.google.drive.drive_calls import DriveCalls
from loaders.google.drive.google_drive import open_drive
from loaders.google.google_client import GoogleClient
from loaders.google.google_key import COMMENTS, read_credentials

ATTEMPTS = 4
TIMEOUT = 20.0
"""Nobody waits at a screen; whoever asks comes back later."""


@dataclass(frozen=True)
class GoogleDesk:
    """See `bot.owners.document_desk.DocumentDesk`. Thread-safe; opened when first asked."""

    settings: Settings
    attempts: int = ATTEMPTS
    sleep: Callable[[float], None] = time.sleep

    @property
    def comments_are_on(self) -> bool:
        return self.settings.google_comments

    def owners(self, document: str) -> OwnersFound:
        return owners_of(document, self._reading)

    def comment(self, document: str, *, mark: str, content: str, quoted: str) -> Commented:
        if not self.comments_are_on:
            return Commented(outcome="gone" if self.owners(document).gone else "off")
        return comment_once(self._writing, document, mark=mark, content=content, quoted=quoted)

    @cached_property
    def _reading(self) -> DriveCalls:
        opened = open_drive(
            self.settings, attempts=self.attempts, timeout=TIMEOUT, sleep=self.sleep
        )
        return opened.calls

    @cached_property
    def _writing(self) -> GoogleClient:
        """As the service account, whatever GOOGLE_DELEGATE says: nobody's name stands on a comment
        that they didn't write."""
        api_url = self.settings.google_api_url or ""
        key = self.settings.google_credentials
        credentials = read_credentials(key, scope=COMMENTS, api_url=api_url)
        return GoogleClient(
            credentials,
            api_url=api_url,
            attempts=self.attempts,
            timeout=TIMEOUT,
            writes=True,
            sleep=self.sleep,
        )
