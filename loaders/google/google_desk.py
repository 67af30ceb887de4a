"""What owners are found by, and told with: Drive, read by one token and commented on by another."""

from __future__ import annotations

from dataclasses import dataclass

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
    """See `bot.owners.document_desk.DocumentDesk`. Thread-safe."""

    calls: DriveCalls
    writing: GoogleClient | None
    """None: comments are not switched on."""

    @property
    def comments_are_on(self) -> bool:
        return self.writing is not None

    def owners(self, document: str) -> OwnersFound:
        return owners_of(document, self.calls)

    def comment(self, document: str, *, mark: str, content: str, quoted: str) -> Commented:
        if self.writing is None:
            return Commented(outcome="gone" if self.owners(document).gone else "off")
        return comment_once(self.writing, document, mark=mark, content=content, quoted=quoted)


def open_desk(
    settings: Settings, *, attempts: int = ATTEMPTS, timeout: float = TIMEOUT
) -> GoogleDesk:
    """Makes no call yet. Raises ConfigError for a missing or unreadable key."""
    drive = open_drive(settings, attempts=attempts, timeout=timeout)
    api_url = settings.google_api_url or ""
    writing = None
    if settings.google_comments:
        # As the service account, whatever GOOGLE_DELEGATE says: nobody's name stands on a comment
        # that they didn't write.
        credentials = read_credentials(settings.google_credentials, scope=COMMENTS, api_url=api_url)
        writing = GoogleClient(credentials, api_url=api_url, attempts=attempts, timeout=timeout)
    return GoogleDesk(drive.calls, writing)
