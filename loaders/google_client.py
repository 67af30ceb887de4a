"""Google's own client, made safe for threads, quotas and bad days.

One call at a time per connection (httplib2 allows no sharing), and connections are kept for the
next call; what is temporary is tried again with backoff; what is final becomes GoogleRefused."""

from __future__ import annotations

import contextlib
import http.client
import json
import logging
import random
import time
import weakref
from collections.abc import Callable, Iterator
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from config.errors import ConfigError
from loaders.google_errors import GoogleRefused, read_error, retry_after
from loaders.rate_limit import RateLimiter

if TYPE_CHECKING:
    from google.oauth2.service_account import Credentials

SCOPES = ("https://www.googleapis.com/auth/drive.readonly",)
ATTEMPTS = 7
LONGEST_BACKOFF = 32.0
TIMEOUT = 60.0
"""Seconds; a long document takes Google ten."""
KEY_REMEDY = (
    "put the path of a service account's JSON key into GOOGLE_APPLICATION_CREDENTIALS"
    " (Google Cloud console › IAM & Admin › Service accounts › Keys)"
)

Execute = Callable[[Any], Any]


class GoogleClient:
    """Docs v1 and Drive v3 by a service account."""

    def __init__(
        self,
        credentials: Credentials,
        *,
        api_url: str = "",
        reads_per_minute: int = 300,
        attempts: int = ATTEMPTS,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._credentials = credentials
        self._api_url = api_url.rstrip("/")
        self._attempts = attempts
        self._sleep = sleep
        self._idle: list[Any] = []
        self._docs_reads = RateLimiter(reads_per_minute, clock=clock, sleep=sleep)
        self.close = weakref.finalize(self, _close_all, self._idle)

    # Collections are kept: googleapiclient writes all their methods' documentation anew each time
    # (0.4 s for `documents()`, measured).

    @cached_property
    def files(self) -> Any:
        """Drive's files; build requests with it and hand them to `call` or `pages`."""
        return self._drive.files()

    @cached_property
    def permissions(self) -> Any:
        return self._drive.permissions()

    @cached_property
    def changes(self) -> Any:
        return self._drive.changes()

    @cached_property
    def _drive(self) -> Any:
        return self._build("drive", "v3", f"{self._api_url}/drive/v3/")

    @cached_property
    def _documents(self) -> Any:
        return self._build("docs", "v1", self._api_url).documents()

    def document(self, document_id: str) -> Any:
        """The `documents.get` response: all tabs, without suggestions."""
        request = self._documents.get(
            documentId=document_id,
            includeTabsContent=True,
            suggestionsViewMode="PREVIEW_WITHOUT_SUGGESTIONS",
        )
        return self.call(request, before=self._docs_reads.wait)

    def call(self, request: Any, *, before: Callable[[], None] = lambda: None) -> Any:
        """The answer: a dict, or bytes of a download. Raises GoogleRefused, or ConfigError when
        the credentials themselves are refused."""
        for attempt in range(1, self._attempts + 1):
            before()
            try:
                return self._once(request)
            except _Stumble as stumble:
                if attempt == self._attempts:
                    raise stumble.refused from stumble.__cause__
                pause = max(stumble.pause, _backoff(attempt))
                if stumble.refused.status == 429:
                    self._docs_reads.hold(pause)
                self._sleep(pause)
        raise AssertionError("unreachable")

    def pages(self, collection: Any, request: Any) -> Iterator[dict[str, Any]]:
        """Every page of a listing."""
        while request is not None:
            page = self.call(request)
            yield page
            request = collection.list_next(request, page)

    def _once(self, request: Any) -> Any:
        from google.auth.exceptions import RefreshError, TransportError
        from googleapiclient.errors import HttpError
        from httplib2 import HttpLib2Error

        try:
            with self._connection() as connection:
                answer = request.execute(http=connection)
        except HttpError as error:
            refused = read_error(error)
            if not refused.temporary:
                raise refused from error
            raise _Stumble(refused, retry_after(error.resp.get("retry-after"))) from error
        except RefreshError as error:
            if error.retryable:
                raise _Stumble(_broken(error)) from error
            raise ConfigError(
                f"Google refuses the service account {self._credentials.service_account_email}: "
                f"{error.args[0] if error.args else 'no reason given'}",
                remedy="check the key, this machine's clock, and domain-wide delegation if you set "
                "GOOGLE_DELEGATE",
            ) from error
        except (http.client.HTTPException, HttpLib2Error, TransportError, OSError) as error:
            raise _Stumble(_broken(error)) from error
        if isinstance(answer, str) or (isinstance(answer, bytes) and not _is_media(request)):
            # googleapiclient hands a body that is no JSON through as it is.
            raise _Stumble(GoogleRefused(200, "malformed answer", "not JSON", temporary=True))
        return answer

    def _build(self, name: str, version: str, endpoint: str) -> Any:
        from googleapiclient.discovery import build

        # It logs every refusal as a warning; ours are answered or reported.
        logging.getLogger("googleapiclient.http").setLevel(logging.ERROR)
        options = {"api_endpoint": endpoint} if self._api_url else None
        with self._connection() as connection:
            return build(
                name,
                version,
                http=connection,
                static_discovery=True,
                cache_discovery=False,
                client_options=options,
            )

    @contextlib.contextmanager
    def _connection(self) -> Iterator[Any]:
        """An idle connection or a new one; one that broke is closed."""
        from google_auth_httplib2 import AuthorizedHttp  # type: ignore[import-untyped] # no stubs
        from googleapiclient.errors import HttpError
        from httplib2 import Http

        try:
            connection = self._idle.pop()
        except IndexError:
            connection = AuthorizedHttp(self._credentials, http=Http(timeout=TIMEOUT))
        try:
            yield connection
        except HttpError:
            self._idle.append(connection)
            raise
        except BaseException:
            connection.close()
            raise
        self._idle.append(connection)


class _Stumble(Exception):
    """A temporary failure of one attempt."""

    def __init__(self, refused: GoogleRefused, pause: float = 0.0) -> None:
        self.refused = refused
        self.pause = pause
        super().__init__(str(refused))


def read_credentials(path: Path | None, *, delegate: str = "", api_url: str = "") -> Credentials:
    """The service account's key, for reading only. Raises ConfigError.

    With `api_url` tokens come from that host too."""
    from google.oauth2.service_account import Credentials

    if path is None:
        raise ConfigError("missing setting: GOOGLE_APPLICATION_CREDENTIALS", remedy=KEY_REMEDY)
    try:
        info = json.loads(path.read_text(encoding="utf-8"))
        if api_url:
            info = {**info, "token_uri": f"{api_url.rstrip('/')}/token"}
        credentials = Credentials.from_service_account_info(  # type: ignore[no-untyped-call] # google-auth has no types here
            info, scopes=list(SCOPES), subject=delegate or None
        )
    except OSError as error:
        problem = f"can't read the Google key {path}: {error.strerror or error}"
        raise ConfigError(problem, remedy=KEY_REMEDY) from error
    except (ValueError, TypeError):
        # The parser's message may quote the key, so it is left out.
        problem = f"{path} is not a service account's JSON key"
        raise ConfigError(problem, remedy=KEY_REMEDY) from None
    assert isinstance(credentials, Credentials)  # noqa: S101 - the classmethod's own class
    return credentials


def _backoff(attempt: int) -> float:
    """Full jitter over a doubling ceiling, so that threads don't come back together."""
    return random.uniform(0.2, 1.0) * min(LONGEST_BACKOFF, 2.0 ** (attempt - 1))  # noqa: S311 - no secret


def _broken(error: Exception) -> GoogleRefused:
    return GoogleRefused(0, type(error).__name__, "the connection broke", temporary=True)


def _is_media(request: Any) -> bool:
    return "alt=media" in request.uri or "/export?" in request.uri


def _close_all(connections: list[Any]) -> None:
    for connection in connections:
        connection.close()
