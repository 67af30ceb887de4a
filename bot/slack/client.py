"""Slack's Web API: calls with one outcome each for limits, outages and lost replies; features
that a workspace lacks; remedies for refused tokens; members of user groups."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from http.client import HTTPException
from typing import Any
from urllib.error import URLError

import structlog
from slack_sdk import WebClient
from slack_sdk.errors import SlackApiError, SlackClientError

from config.checks import WHERE
from config.errors import ConfigError, PermissionsUnknown
from telemetry import metrics

UNSUPPORTED_SECONDS = 600.0
"""Slack rolls out features one workspace after the other: they are tried again after this time."""


class UnsupportedFeatures:
    """Kinds of blocks, chunks and previews that Slack refused lately. Thread-safe."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._until: dict[str, float] = {}

    def note(self, kinds: Iterable[str], seconds: float = UNSUPPORTED_SECONDS) -> None:
        for kind in kinds:
            self._until[kind] = self._clock() + seconds

    def any_of(self, kinds: Iterable[str]) -> bool:
        return any(self._until.get(kind, 0.0) > self._clock() for kind in kinds)

    def forget(self) -> None:
        self._until.clear()


_REVOKED = (
    "it was revoked, or the app was removed: install the app again, and copy the new token from"
)
_REMEDIES = {
    "account_inactive": _REVOKED,
    "token_revoked": _REVOKED,
    "token_expired": "switch token rotation off, install the app again, and copy the token from",
    "missing_scope": "make an app-level token with the scope connections:write at",
    "not_allowed_token_type": "it is of another kind: copy the right one from",
}
_OF_THE_WORKSPACE = {
    "access_denied", "accesslimited", "ekm_access_denied", "enterprise_is_restricted",
    "forbidden_team", "org_login_required", "team_access_not_granted", "two_factor_setup_required",
}  # fmt: skip


def refused_token(variable: str, code: str) -> ConfigError:
    """`code`: Slack's error."""
    if code in _OF_THE_WORKSPACE:
        remedy = "the workspace or organisation doesn't allow it: ask an administrator of Slack"
    else:
        remedy = f"{_REMEDIES.get(code, 'copy it again from')} {WHERE[variable]}"
    return ConfigError(f"Slack refused {variable}: {code}", remedy=remedy)


log = structlog.get_logger()

Json = dict[str, Any]

MAX_WAIT = 600.0
"""Seconds. An answer ten minutes late is still better than none."""


ABOUT_THE_TOKEN = {
    "account_inactive", "invalid_auth", "missing_scope", "not_authed", "token_expired",
    "token_revoked",
}  # fmt: skip
"""Refusals that concern the token, not a channel or person; an operator can fix them."""


class SlackRefused(Exception):
    """Slack refused the call: retrying changes nothing. `code` is Slack's error."""

    def __init__(self, method: str, code: str) -> None:
        super().__init__(f"Slack refused {method}: {code}")
        self.code = code


class SlackUnsure(Exception):
    """The reply was lost or was a server error: the call may or may not have taken effect."""


class SlackBusy(Exception):
    """429: the call had no effect. It may be repeated in `after` seconds."""

    def __init__(self, after: float) -> None:
        super().__init__(f"rate limited for {after:g} s")
        self.after = after


class SlackClient:
    """One workspace's Web API. Thread-safe."""

    def __init__(self, client: WebClient, sleep: Callable[[float], None] = time.sleep) -> None:
        # `call` retries: the client's own retries would repeat a post whose reply was lost.
        client.retry_handlers.clear()
        self._client = client
        self.bot_user = self.bot_id = ""
        """The bot's own ids, set after `auth.test`."""
        self.granted: frozenset[str] = frozenset()
        """Scopes of the token by the last reply that named them; empty before."""
        self.sleep = sleep
        self.unsupported = UnsupportedFeatures()
        """New features of Slack that this workspace refused."""

    def once(self, method: str, **arguments: object) -> Json:
        """One attempt. Raises SlackRefused, SlackUnsure or SlackBusy."""
        try:
            response = self._send(
                method, {name: value for name, value in arguments.items() if value is not None}
            )
        except SlackApiError as error:
            raise _translated(method, error) from error
        except (SlackClientError, OSError, URLError, HTTPException, ValueError) as error:
            raise SlackUnsure(f"{method}: {error}") from error
        if "app_token" not in arguments:
            self._note_scopes(response.headers)
        return response.data if isinstance(response.data, dict) else {}

    def _note_scopes(self, headers: Mapping[str, object]) -> None:
        """Slack names the token's scopes in each reply."""
        named = {name.lower(): str(value) for name, value in headers.items()}
        scopes = named.get("x-oauth-scopes", "").split(",")
        granted = frozenset(map(str.strip, scopes)) - {""}
        if granted and (lost := self.granted - granted):
            log.warning("slack took scopes from the app", lost=sorted(lost))
        self.granted = granted or self.granted

    def _send(self, method: str, arguments: dict[str, object]) -> Any:
        """Sends with the SDK's own function, which knows whether arguments go as form, JSON or
        query; with JSON for methods that the SDK does not have yet."""
        send = getattr(self._client, method.replace(".", "_"), None)
        return send(**arguments) if send else self._client.api_call(method, json=arguments)

    def call(self, method: str, *, patience: float = MAX_WAIT, **arguments: object) -> Json:
        """Retry until Slack answers. Only for calls that may safely take effect twice."""
        pauses = backoff(patience)
        while True:
            try:
                return self.once(method, **arguments)
            except SlackBusy as busy:
                self.wait(pauses, exactly=busy.after, cause=busy)
            except SlackUnsure as unsure:
                self.wait(pauses, cause=unsure)

    def wait(self, pauses: Iterator[float], *, cause: Exception, exactly: float = 0.0) -> None:
        """Sleep until the next attempt; re-raises `cause` when patience has run out."""
        pause = next(pauses, None)
        if pause is None:
            raise cause
        pause = exactly or pause
        metrics.SLACK_WAITS.labels(type(cause).__name__).inc()
        log.info("waiting for slack", cause=str(cause), pause=round(pause, 2))
        self.sleep(pause)

    def pages(
        self,
        method: str,
        key: str,
        *,
        patience: float = MAX_WAIT,
        limit: int = 200,
        **arguments: object,
    ) -> Iterator[Any]:
        """Items under `key` of every page, `limit` at most on each."""
        cursor = ""
        while True:
            page = self.call(
                method, patience=patience, cursor=cursor or None, limit=limit, **arguments
            )
            yield from page.get(key) or []
            cursor = (page.get("response_metadata") or {}).get("next_cursor") or ""
            if not cursor:
                return


def backoff(patience: float, first: float = 0.5, max_pause: float = 30.0) -> Iterator[float]:
    """Growing pauses, in seconds, until `patience` seconds have passed."""
    deadline = time.monotonic() + patience
    pause = first
    while time.monotonic() < deadline:
        yield pause
        pause = min(pause * 2, max_pause)


def _translated(method: str, error: SlackApiError) -> Exception:
    response = error.response
    code = str(response.get("error") or "")
    if response.status_code == 429 or code in {"ratelimited", "rate_limited"}:
        return SlackBusy(_retry_after(response.headers))
    status = response.status_code
    if not _is_code(code) and 400 <= status < 500 and status != 408:
        return SlackRefused(method, f"http_{status}")
    if status >= 500 or code in SERVER_TROUBLE or not _is_code(code):
        return SlackUnsure(f"{method}: {status} {code}".rstrip())
    return SlackRefused(method, code)


SERVER_TROUBLE = {"internal_error", "fatal_error", "service_unavailable", "request_timeout"}


def _is_code(text: str) -> bool:
    """Slack's codes are words joined by `_`; for a body that isn't JSON, the SDK gives prose."""
    return text.replace("_", "").isalnum()


def _retry_after(headers: Mapping[str, Any]) -> float:
    values = {name.lower(): value for name, value in headers.items()}
    try:
        return float(values.get("retry-after", 1))
    except (TypeError, ValueError):
        return 1.0


USER_GROUP_PATIENCE = 10.0
"""Seconds; a person waits for an answer."""

Members = frozenset[str]


def user_group_members(groups: Collection[str], web: SlackClient) -> Mapping[str, Members | str]:
    """Ids of user groups → ids of their members, or the reason why Slack refuses, as text.

    See `index.permissions.groups.FetchMembers`. Raises PermissionsUnknown when Slack can't be
    reached."""
    return {group: _members(group, web) for group in groups}


def _members(group: str, web: SlackClient) -> Members | str:
    try:
        answer = web.call("usergroups.users.list", patience=USER_GROUP_PATIENCE, usergroup=group)
    except SlackRefused as refused:
        return f"Slack refuses to list it ({refused.code})"
    except (SlackBusy, SlackUnsure) as error:
        raise PermissionsUnknown("Slack does not tell who is in a user group") from error
    return frozenset(str(user) for user in answer.get("users") or [])
