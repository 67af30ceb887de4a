"""The manifest says what the bot does, no more and no less."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import yaml

from bot.slack.manifest import (
    EVENTS,
    OPTIONAL_SCOPES,
    SCOPES,
    SHORTCUTS,
    manifest,
    manifest_yaml,
    missing_scopes,
)
from playground.slack_stand_in import SlackStandIn
from tests.bot.conftest import Desk, running
from tests.bot.fakes import Agents, domain

ROOT = Path(__file__).parents[3]

NEEDS = {
    "assistant.search.context": "search:read.public",
    "assistant.threads.setStatus": "assistant:write",
    "assistant.threads.setSuggestedPrompts": "assistant:write",
    "assistant.threads.setTitle": "assistant:write",
    "auth.test": None,
    "chat.appendStream": "chat:write",
    "chat.delete": "chat:write",
    "chat.postEphemeral": "chat:write",
    "chat.postMessage": "chat:write",
    "chat.startStream": "chat:write",
    "chat.stopStream": "chat:write",
    "chat.unfurl": "links:write",
    "chat.update": "chat:write",
    "conversations.history": "channels:history",
    "conversations.info": "channels:read",
    "conversations.list": "channels:read",
    "conversations.members": "groups:read",
    "conversations.replies": "channels:history",
    "entity.presentDetails": None,
    "reactions.add": "reactions:write",
    "users.conversations": "groups:read",
    "users.info": "users:read",
    "users.list": "users:read",
    "users.lookupByEmail": "users:read.email",
    "views.open": None,
    "views.publish": None,
}
"""Method → the bot scope it needs, from Slack's reference."""


def test_the_file_is_what_the_listeners_make() -> None:
    """Made by `bot.slack.manifest.manifest_yaml`."""
    assert (ROOT / "manifest.yaml").read_text() == manifest_yaml()


def test_every_method_the_bot_calls_has_its_scope() -> None:
    code = "\n".join(path.read_text() for path in (ROOT / "bot").rglob("*.py"))
    pattern = r'"((?:assistant|auth|chat|conversations|entity|reactions|users|views)\.[a-zA-Z.]+)"'
    called = set(re.findall(pattern, code))
    assert called == set(NEEDS)
    assert {scope for scope in NEEDS.values() if scope} <= set(SCOPES | OPTIONAL_SCOPES)


def test_a_scope_that_searches_is_asked_for_only_where_a_domain_wants_it() -> None:
    def scopes(**policy: bool) -> list[str]:
        asked = manifest(domains=[domain(answer=policy)])["oauth_config"]["scopes"]["bot"]
        return [scope for scope in asked if scope.startswith("search:")]

    assert scopes() == []
    assert scopes(earlier_threads=True) == ["search:read.public"]


def test_an_app_of_an_older_manifest_is_told_what_it_goes_without() -> None:
    old = SCOPES.keys() - {"links:write"}
    [line] = missing_scopes(old, [domain()])
    assert "`links:write`" in line
    assert len(missing_scopes(old, [domain(answer={"earlier_threads": True})])) == 2
    assert missing_scopes(frozenset(SCOPES), [domain()]) == []


def test_the_setup_page_explains_every_scope() -> None:
    page = (ROOT / "docs" / "slack-setup.md").read_text()
    rows = dict(re.findall(r"^\| `([a-z:._]+)` \| (.+) \|$", page, re.MULTILINE))
    assert {scope: rows.get(scope) for scope in SCOPES | OPTIONAL_SCOPES} == {
        **SCOPES,
        **OPTIONAL_SCOPES,
    }


def test_events_and_shortcuts_are_subscribed() -> None:
    made = manifest()
    subscribed = set(made["settings"]["event_subscriptions"]["bot_events"])
    assert subscribed == {name for names in EVENTS.values() for name in names}
    assert [s["callback_id"] for s in made["features"]["shortcuts"]] == list(SHORTCUTS)
    assert made["settings"]["socket_mode_enabled"] is True


def test_http_mode_names_its_address() -> None:
    made = yaml.safe_load(manifest_yaml(url="https://copilot.example/"))
    settings = made["settings"]
    assert settings["socket_mode_enabled"] is False
    assert settings["interactivity"]["request_url"] == "https://copilot.example/slack/events"
    assert settings["event_subscriptions"]["request_url"] == "https://copilot.example/slack/events"


def test_an_older_app_starts_answers_and_tells_its_admins_what_it_lacks(tmp_path: Any) -> None:
    with SlackStandIn(enforce_rate_limits=False) as slack:
        slack.api.scopes -= {"links:read", "links:write"}
        domains = {"security": domain(admins=["U0INES"])}
        agents = Agents()
        with running(slack, tmp_path, agents, domains) as bot:
            Desk(slack, bot, agents).ask("how often?")
            slack.open_app("home", "U0INES")
            shown = json.dumps(slack.wait_for(lambda: slack.home("U0INES"))["blocks"])
    assert "lacks `links:read`" in shown
    assert "lacks `links:write`" in shown
    assert "search:read" not in shown


def test_pages_of_documents_are_signed_in_to_and_previewed() -> None:
    made = manifest(pages="https://copilot.example.com/desk")
    assert made["oauth_config"]["redirect_urls"] == ["https://copilot.example.com/desk/signed-in"]
    assert made["oauth_config"]["scopes"]["user"] == ["openid"]
    assert "copilot.example.com" in made["features"]["unfurl_domains"]
