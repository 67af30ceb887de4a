"""What it means when Slack refuses a token, and what to do."""

from __future__ import annotations

from config.checks import WHERE
from config.errors import ConfigError

_GONE = "it was revoked, or the app was removed: install the app again, and copy the new token from"
_REMEDIES = {
    "account_inactive": _GONE,
    "token_revoked": _GONE,
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
