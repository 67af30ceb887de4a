"""The questions to choose from in App Home, as a feature of the bot."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from slack_bolt import App

from bot.feature import Feature, Store
from bot.home.home_view import EXAMPLE
from bot.message.blockkit import Json
from bot.slack.presses import team_of, user_of

Ack = Callable[..., Any]


def build_examples() -> Feature:
    return Feature(listen=_examples)


def _examples(app: App, store: Store) -> None:
    def ask(ack: Ack, body: Json, action: Json) -> None:
        if example := chosen_example(body, action):
            store(f"example-{example['user']}-{action.get('action_ts')}", {"example": example})
        ack()

    app.action(re.compile(rf"^{EXAMPLE}_\d+_\d+$"))(ask)


def chosen_example(body: Json, action: Mapping[str, Any]) -> dict[str, str] | None:
    """Who asks what of which domain; None for a button that says neither."""
    try:
        value = json.loads(str(action.get("value") or ""))
        domain, question = str(value["domain"]), str(value["question"])
    except (ValueError, KeyError, TypeError):
        return None
    return {"user": user_of(body), "team": team_of(body), "domain": domain, "question": question}
