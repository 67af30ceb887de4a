"""`oncall init`: the Slack app and its channel."""

from __future__ import annotations

import re
from pathlib import Path

from pydantic import SecretStr

from bot.setup_checks import (
    SlackApp,
    channel_name,
    check_app_token,
    check_bot_token,
    check_channel,
    check_scopes,
    find_channel,
    find_person,
)
from bot.slack.manifest import manifest_yaml
from cli.setup.files import MANIFEST, EnvFile, write_shared
from cli.setup.prompts import InitOptions, Prompter, ToBeTold, settled
from config.checks import Finding, fine
from config.errors import ConfigError
from config.settings import Settings

NEW_APP = "https://api.slack.com/apps?new_app=1"
_HELP = re.compile(r"^(help|ask|team|support)-|-(help|support)$")


def tell_how(asker: Prompter, manifest: Path, settings: Settings) -> None:
    """Explain how to get the tokens."""
    write_shared(manifest, manifest_yaml())
    if settings.slack_bot_token:
        return
    asker.say(f"  1. Open {NEW_APP}")
    asker.say("     From a manifest › your workspace › YAML: paste what is in")
    asker.say(f"     {manifest}")
    asker.say("  2. Install App › Install to Workspace, and copy the Bot User OAuth Token")
    asker.say("  3. Basic Information › App-Level Tokens › Generate: scope connections:write")


def slack_step(
    asker: Prompter, settings: Settings, env_file: EnvFile, config_dir: Path
) -> tuple[SlackApp, Settings]:
    """Ask for both tokens until Slack accepts each."""
    asker.heading("Slack")
    tell_how(asker, config_dir / MANIFEST, settings)

    def bot(token: str) -> tuple[Finding, tuple[SlackApp, str] | None]:
        tried = settings.model_copy(update={"slack_bot_token": SecretStr(token)})
        finding, app = check_bot_token(tried)
        if app is None:
            return finding, None
        asker.show(finding)
        scopes = check_scopes(app)
        return scopes, None if scopes.state == "wrong" else (app, token)

    question = ToBeTold(
        prompt="Bot token (xoxb-…, stays hidden)", told_by="SLACK_BOT_TOKEN", hidden=True
    )
    app, token = settled(asker, question, _secret(settings.slack_bot_token), bot)
    env_file.keep("SLACK_BOT_TOKEN", token)
    settings = settings.model_copy(update={"slack_bot_token": SecretStr(token)})

    def socket(token: str) -> tuple[Finding, str | None]:
        finding = check_app_token(
            settings.model_copy(update={"slack_app_token": SecretStr(token)}), app
        )
        return finding, token if finding.state == "ok" else None

    question = ToBeTold(
        prompt="App token (xapp-…, stays hidden)", told_by="SLACK_APP_TOKEN", hidden=True
    )
    token = settled(asker, question, _secret(settings.slack_app_token), socket)
    env_file.keep("SLACK_APP_TOKEN", token)
    return app, settings.model_copy(update={"slack_app_token": SecretStr(token)})


def channel_step(asker: Prompter, app: SlackApp, options: InitOptions) -> tuple[str, str]:
    """Returns (id, name) of a channel that the bot has joined."""
    asker.heading("Channel")
    if not options.channel and asker.asks:
        asker.say(f"  In Slack, write /invite @{app.identity.name} in the help channel.")

    def channel(text: str) -> tuple[Finding, tuple[str, str] | None]:
        found_id = find_channel(app, text)
        finding = check_channel(app, found_id)
        return finding, (found_id, channel_name(app, found_id)) if finding.state == "ok" else None

    question = ToBeTold(prompt="Help channel (#name, link or id)", told_by="--channel")
    return settled(asker, question, options.channel, channel)


def admin_step(asker: Prompter, app: SlackApp, options: InitOptions) -> str:
    """Returns the member id of the admin who gets notices; empty for none."""
    if not options.admin and not asker.asks:
        return ""

    def person(text: str) -> tuple[Finding, str | None]:
        if text == "-":
            return fine("", "nobody; `admins` in the domain file names somebody later"), ""
        member, name = find_person(app, text)
        return fine("", f"{name} is told of trouble, and called by *Ask a human*"), member

    question = ToBeTold(
        prompt="Who is told of trouble? E-mail or Slack member id, - for nobody",
        told_by="--admin",
        default="-",
    )
    return settled(asker, question, options.admin, person)


def name_of_domain(channel: str) -> str:
    """E.g. `help-security` → `security`."""
    slug = re.sub(r"[^a-z0-9]+", "-", channel.lower()).strip("-")
    return (_HELP.sub("", slug) or slug or "help")[:63].strip("-")


def title_of(domain: str) -> str:
    return f"{domain.replace('-', ' ').capitalize()} help"


def checked_name(text: str, existing: set[str]) -> str:
    """Raises ConfigError for an invalid or existing domain name."""
    from pydantic import TypeAdapter, ValidationError

    from config.parsing.fields import DomainId

    try:
        TypeAdapter(DomainId).validate_python(text)
    except ValidationError as error:
        raise ConfigError(error.errors()[0]["msg"], remedy="") from None
    if text in existing:
        raise ConfigError(
            f"there is a domain {text!r} already", remedy="edit its file, or choose another name"
        )
    return text


def _secret(secret: SecretStr | None) -> str:
    return secret.get_secret_value() if secret else ""
