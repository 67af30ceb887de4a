"""Whether Slack takes the tokens, and whether they may do all that the manifest asks for."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from slack_sdk import WebClient

from bot.connection import Identity, api_base, reach_slack
from bot.slack.token_refusals import refused_token
from bot.slack.web import SlackBusy, SlackRefused, SlackUnsure, Web
from config.checks import Finding, bare, fine, misplaced, of_error, skipped, token_remedy, wrong
from config.domain import Domain
from config.errors import ConfigError, CopilotError
from config.settings import Settings

BOT_TOKEN, APP_TOKEN = "Slack bot token", "Slack app token"
SCOPES_CHECK = "Slack permissions"
PATIENCE = 4.0
"""Seconds that a check goes on trying: somebody sits in front of it."""
_APP_OF_TOKEN = re.compile(r"xapp-\d+-(A[A-Z0-9]+)-")


@dataclass(frozen=True, kw_only=True)
class SlackApp:
    """The app as Slack knows it by its bot token."""

    web: Web = field(repr=False)
    identity: Identity
    scopes: frozenset[str]
    """Empty where Slack doesn't say."""
    app: str = ""
    """Its id, which the app token names, too; empty where Slack doesn't say."""


def check_bot_token(settings: Settings) -> tuple[Finding, SlackApp | None]:
    """Who the token makes us; None when it is wrong, or Slack doesn't answer."""
    if bad := _bad("SLACK_BOT_TOKEN", _secret(settings, "slack_bot_token")):
        return of_error(BOT_TOKEN, bad), None
    try:
        web, identity = reach_slack(settings, patience=PATIENCE)
        app = SlackApp(
            web=web,
            identity=identity,
            scopes=web.granted,
            app=_app_id(web, identity.bot),
        )
    except CopilotError as error:
        return of_error(BOT_TOKEN, error), None
    except (SlackRefused, SlackUnsure, SlackBusy) as error:
        return wrong(BOT_TOKEN, str(error), "try again"), None
    return fine(BOT_TOKEN, f"@{identity.name} in {identity.team_name}"), app


def check_scopes(app: SlackApp, domains: Iterable[Domain] = ()) -> Finding:
    """What the manifest asks for, for these domains, against what was granted when the app was
    installed."""
    from bot.manifest import scopes_for

    wanted = scopes_for(domains)
    if not app.scopes:
        return skipped(SCOPES_CHECK, "Slack doesn't say what the token may do")
    if missing := sorted(wanted.keys() - app.scopes):
        return wrong(
            SCOPES_CHECK,
            f"missing: {', '.join(missing)}",
            "add them under OAuth & Permissions, or paste the manifest under App Manifest; "
            "then Install App › Reinstall",
        )
    return fine(SCOPES_CHECK, f"all {len(wanted)} permissions of the manifest")


def check_app_token(settings: Settings, app: SlackApp | None) -> Finding:
    """Whether Socket Mode opens with it, and for the same app as the bot token's."""
    token = _secret(settings, "slack_app_token")
    if bad := _bad("SLACK_APP_TOKEN", token):
        return of_error(APP_TOKEN, bad)
    web = Web(WebClient(base_url=api_base(settings.slack_api_url), timeout=30))
    try:
        web.call("apps.connections.open", patience=PATIENCE, app_token=token)
    except SlackRefused as refused:
        return of_error(APP_TOKEN, refused_token("SLACK_APP_TOKEN", refused.code))
    except (SlackUnsure, SlackBusy) as error:
        return wrong(
            APP_TOKEN,
            f"could not reach Slack: {error}",
            "check the network, HTTPS_PROXY and SLACK_API_URL",
        )
    named = _APP_OF_TOKEN.match(token)
    if app and app.app and named and named[1] != app.app:
        return wrong(
            APP_TOKEN,
            f"it is of the app {named[1]}, and the bot token of {app.app}",
            "take both from one app",
        )
    return fine(APP_TOKEN, "Socket Mode opens")


def check_slack(
    settings: Settings, domains: Iterable[Domain] = ()
) -> tuple[list[Finding], SlackApp | None]:
    """Both tokens and the permissions; an installation that takes Slack's events by HTTP does
    without an app token."""
    found, app = check_bot_token(settings)
    return [found, *_rest(settings, app, domains)], app


def _rest(settings: Settings, app: SlackApp | None, domains: Iterable[Domain]) -> Iterator[Finding]:
    if app:
        yield check_scopes(app, domains)
    else:
        yield skipped(SCOPES_CHECK, "not asked, for want of a bot token that works")
    if settings.slack_app_token is None and settings.slack_signing_secret:
        yield fine(APP_TOKEN, "not needed: events come by HTTP, with SLACK_SIGNING_SECRET")
    else:
        yield check_app_token(settings, app)


def _bad(variable: str, token: str) -> ConfigError | None:
    """What can be said of a token without asking Slack."""
    if not token:
        return ConfigError(f"{variable} is not set", remedy="run `oncall init`")
    if token != bare(token):
        return ConfigError(
            f"{variable} has blanks, quotes or a name around it",
            remedy="leave them away: the token alone counts",
        )
    problem = misplaced(variable, token)
    return ConfigError(f"{variable}: {problem}", remedy=token_remedy(variable)) if problem else None


def _secret(settings: Settings, name: str) -> str:
    secret = getattr(settings, name)
    return secret.get_secret_value() if secret else ""


def _app_id(web: Web, bot: str) -> str:
    try:
        told = web.call("bots.info", patience=PATIENCE, bot=bot)
    except SlackRefused:  # without users:read
        return ""
    return str((told.get("bot") or {}).get("app_id") or "")
