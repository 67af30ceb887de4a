"""Google's client, thread-safe and rate-limited.

Each connection runs one call at a time (httplib2 connections can't be shared) and is reused.
Temporary failures are retried with backoff. Final failures become GoogleRefused. A limiter keeps
the Docs reads of all threads below the per-minute quota."""

from __future__ import annotations

import contextlib
import http.client
import random
import threading
import time
import weakref
from collections.abc import Callable, Iterator, Sequence
from functools import cache, cached_property, partial
from typing import TYPE_CHECKING, Any

from config.errors import ConfigError
from loaders.google.errors import GoogleRefused, read_error, retry_after
from loaders.google.services import NoRetryHttp, build_service

if TYPE_CHECKING:
    from google.oauth2.service_account import Credentials


class RateLimiter:
    """Allows at most 90% of `per_minute` calls in any minute.

    A sixth of them may run at once; the rest are spaced evenly. A small run does not wait, and a
    long one never reaches the quota. Thread-safe."""

    def __init__(
        self,
        per_minute: float,
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._interval = 60 / (0.75 * per_minute)
        self._slack = 0.15 * per_minute * self._interval
        """How far calls may run ahead of even spacing, in seconds."""
        self._clock = clock
        self._sleep = sleep
        self._lock = threading.Lock()
        self._next = clock() - self._slack
        """When the next call is due under even spacing."""

    def wait(self) -> None:
        """Blocks until this call may run."""
        with self._lock:
            now = self._clock()
            due = max(self._next, now - self._slack)
            self._next = due + self._interval
        if due > now:
            self._sleep(due - now)

    def hold(self, seconds: float) -> None:
        """Delays all calls, because Google requested a pause."""
        with self._lock:
            self._next = max(self._next, self._clock() + seconds)


ATTEMPTS = 7
MAX_BACKOFF = 32.0
TIMEOUT = 60.0
"""Seconds. Google needs about ten for a long document."""
BATCH = 100
"""Requests per batch, Drive's limit. Each request counts towards the quota."""

MALFORMED = GoogleRefused(200, "malformed answer", "not JSON", temporary=True)


class GoogleClient:
    """Calls Docs v1, Drive v3 and Directory v1 with a service account."""

    def __init__(
        self,
        credentials: Credentials,
        *,
        api_url: str = "",
        reads_per_minute: int = 300,
        attempts: int = ATTEMPTS,
        timeout: float = TIMEOUT,
        writes: bool = False,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """`writes`: the HTTP library never resends a request by itself."""
        self._credentials = credentials
        self._writes = writes
        self._api_url = api_url.rstrip("/")
        self._attempts = attempts
        self._timeout = timeout
        self._sleep = sleep
        self._idle: list[Any] = []
        self._docs_reads = RateLimiter(reads_per_minute, clock=clock, sleep=sleep)
        self.close = weakref.finalize(self, _close_all, self._idle)

    @cached_property
    def files(self) -> Any:
        """Drive's files collection. Builds requests for `call` and `pages`."""
        return self.drive.files()

    @cached_property
    def permissions(self) -> Any:
        return self.drive.permissions()

    @cached_property
    def comments(self) -> Any:
        return self.drive.comments()

    @cached_property
    def changes(self) -> Any:
        return self.drive.changes()

    @cached_property
    def drive(self) -> Any:
        with self._connection() as connection:
            return build_service("drive", "v3", connection, self._api_url)

    @cached_property
    def directory(self) -> Any:
        """Google Workspace's users and groups."""
        with self._connection() as connection:
            return build_service("admin", "directory_v1", connection, self._api_url)

    @cached_property
    def _documents(self) -> Any:
        with self._connection() as connection:
            return build_service("docs", "v1", connection, self._api_url).documents()

    def document(self, document_id: str) -> Any:
        """The `documents.get` response: all tabs, without suggestions."""
        request = self._documents.get(
            documentId=document_id,
            includeTabsContent=True,
            suggestionsViewMode="PREVIEW_WITHOUT_SUGGESTIONS",
        )
        return self.call(request, before=self._docs_reads.wait)

    def call(self, request: Any, *, before: Callable[[], None] = lambda: None) -> Any:
        """Returns the response: a dict, or the bytes of a download.

        Raises GoogleRefused, or ConfigError when Google rejects the credentials."""
        return self._persistently(partial(self._once, request), before=before)

    def call_unless(self, result_of_earlier: Callable[[], Any], request: Any) -> Any:
        """Like `call`, for a request that may take effect only once.

        `result_of_earlier` returns the result of an earlier attempt, or None. It runs before each
        attempt, because a reply may have been lost."""
        return self._persistently(lambda: result_of_earlier() or self._once(request))

    def batch(self, service: Any, requests: Sequence[Any]) -> list[Any]:
        """Returns responses in order, with a GoogleRefused for each request that failed.

        One HTTP call carries up to 100 requests. Raises GoogleRefused when a whole call fails, or
        ConfigError like `call`."""
        answers = self._batches(service, requests)
        for attempt in range(1, self._attempts):
            again = [
                place
                for place, answer in enumerate(answers)
                if isinstance(answer, GoogleRefused) and answer.temporary
            ]
            if not again:
                break
            self._sleep(_backoff(attempt))
            retries = self._batches(service, [requests[place] for place in again])
            for place, answer in zip(again, retries, strict=True):
                answers[place] = answer
        return answers

    def batch_pages(
        self, service: Any, collection: Any, requests: Sequence[Any], first_pages: Sequence[Any]
    ) -> list[list[Any] | GoogleRefused]:
        """Reads listings, whose first pages a batch returned, to their last page.

        A GoogleRefused replaces each listing that failed. Each round reads one page of every open
        listing. Raises like `batch`."""
        listings = [[page] for page in first_pages]
        waiting = dict(enumerate(requests))
        while waiting:
            following = {
                place: collection.list_next(request, listings[place][-1])
                for place, request in waiting.items()
                if not isinstance(listings[place][-1], GoogleRefused)
            }
            waiting = {place: one for place, one in following.items() if one is not None}
            pages = self.batch(service, list(waiting.values()))
            for place, page in zip(waiting, pages, strict=True):
                listings[place].append(page)
        return [pages[-1] if isinstance(pages[-1], GoogleRefused) else pages for pages in listings]

    def _batches(self, service: Any, requests: Sequence[Any]) -> list[Any]:
        blocks = [requests[at : at + BATCH] for at in range(0, len(requests), BATCH)]
        answers = [self._persistently(partial(self._batch_once, service, each)) for each in blocks]
        return [answer for block in answers for answer in block]

    def _persistently(
        self, attempt_once: Callable[[], Any], *, before: Callable[[], None] = lambda: None
    ) -> Any:
        for attempt in range(1, self._attempts + 1):
            before()
            try:
                return attempt_once()
            except _Stumble as stumble:
                if attempt == self._attempts:
                    raise stumble.refused from stumble.__cause__
                pause = max(stumble.pause, _backoff(attempt))
                if stumble.refused.status == 429:
                    self._docs_reads.hold(pause)
                self._sleep(pause)
        raise AssertionError("unreachable")

    def pages(self, collection: Any, request: Any) -> Iterator[dict[str, Any]]:
        """Yields every page of a listing."""
        while request is not None:
            page = self.call(request)
            yield page
            request = collection.list_next(request, page)

    def _once(self, request: Any) -> Any:
        with self._translated(), self._connection() as connection:
            answer = request.execute(http=connection)
        is_media = "alt=media" in request.uri or "/export?" in request.uri
        if isinstance(answer, str) or (isinstance(answer, bytes) and not is_media):
            # googleapiclient returns a body that is not JSON unchanged.
            raise _Stumble(MALFORMED)
        return answer

    def _batch_once(self, service: Any, requests: Sequence[Any]) -> list[Any]:
        from google_auth_httplib2 import Request  # type: ignore[import-untyped] # no stubs

        answers: dict[str, Any] = {}

        def take(number: str, answer: Any, error: Any) -> None:
            malformed = error is None and not isinstance(answer, dict)
            answers[number] = MALFORMED if malformed else read_error(error) if error else answer

        batch = service.new_batch_http_request(callback=take)
        for number, request in enumerate(requests):
            batch.add(request, request_id=str(number))
        with self._translated(), self._connection() as connection:
            renew = cache(lambda: self._credentials.refresh(Request(connection.http)))  # type: ignore[no-untyped-call] # no types
            # The library's own token refresh has no timeout and leaves its connection open.
            batch._refresh_and_apply_credentials = lambda request, http: renew()
            if not self._credentials.valid:
                renew()
            try:
                batch.execute(http=connection)
            except (LookupError, TypeError, ValueError) as error:  # raised by the library
                raise _Stumble(MALFORMED) from error
        return [answers[str(number)] for number in range(len(requests))]

    @contextlib.contextmanager
    def _translated(self) -> Iterator[None]:
        """Translates library errors: temporary ones to _Stumble, final ones for the caller."""
        from google.auth.exceptions import RefreshError, TransportError
        from googleapiclient.errors import BatchError, HttpError
        from httplib2 import HttpLib2Error

        try:
            yield
        except BatchError as error:
            raise _Stumble(MALFORMED) from error
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
                "GOOGLE_DELEGATE or GOOGLE_GROUPS_ADMIN",
            ) from error
        except (http.client.HTTPException, HttpLib2Error, TransportError, OSError) as error:
            raise _Stumble(_broken(error)) from error
        except UnicodeDecodeError as error:
            raise _Stumble(MALFORMED) from error

    @contextlib.contextmanager
    def _connection(self) -> Iterator[Any]:
        """Yields an idle connection or a new one. A broken connection is closed."""
        from google_auth_httplib2 import AuthorizedHttp
        from googleapiclient.errors import HttpError
        from httplib2 import Http

        try:
            connection = self._idle.pop()
        except IndexError:
            http_class = NoRetryHttp if self._writes else Http
            connection = AuthorizedHttp(self._credentials, http=http_class(timeout=self._timeout))
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


def _backoff(attempt: int) -> float:
    """Seconds to wait: random, with a doubling ceiling, so that threads don't retry together."""
    return random.uniform(0.2, 1.0) * min(MAX_BACKOFF, 2.0 ** (attempt - 1))  # noqa: S311 - no secret


def _broken(error: Exception) -> GoogleRefused:
    return GoogleRefused(0, type(error).__name__, "the connection broke", temporary=True)


def _close_all(connections: list[Any]) -> None:
    for connection in connections:
        connection.close()
