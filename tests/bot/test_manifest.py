"""The manifest says what the bot does, no more and no less."""

from __future__ import annotations

import re
from pathlib import Path

import yaml

from bot.listeners import EVENTS, SHORTCUTS
from bot.manifest import SCOPES, manifest, manifest_yaml

ROOT = Path(__file__).parents[2]

NEEDS = {
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
    "chat.update": "chat:write",
    "conversations.info": "channels:read",
    "conversations.members": "groups:read",
    "conversations.replies": "channels:history",
    "reactions.add": "reactions:write",
    "users.conversations": "groups:read",
    "users.info": "users:read",
    "users.lookupByEmail": "users:read.email",
    "views.open": None,
    "views.publish": None,
}
"""Method → the bot scope it needs, from Slack's reference."""


def test_the_file_is_what_the_listeners_make() -> None:
    """Made anew by: python -c "from bot.manifest import manifest_yaml; print(manifest_yaml())"."""
    assert (ROOT / "manifest.yaml").read_text() == manifest_yaml()


def test_every_method_the_bot_calls_has_its_scope() -> None:
    code = "\n".join(path.read_text() for path in (ROOT / "bot").rglob("*.py"))
    pattern = r'"((?:assistant|auth|chat|conversations|reactions|users|views)\.[a-zA-Z.]+)"'
    called = set(re.findall(pattern, code))
    assert called == set(NEEDS)
    assert {scope for scope in NEEDS.values() if scope} <= set(SCOPES)


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
