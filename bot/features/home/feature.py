"""App Home and the agent pane as a feature of the bot."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from slack_bolt import App

from bot.blocks.kit import Json
from bot.bus.events import Enqueue
from bot.feature import Feature
from bot.features.home.service import ExampleChosen, ExampleService, HomeService
from bot.features.home.views import EXAMPLE
from bot.slack.events import AppHomeOpened, AssistantOpened
from bot.slack.messages import team_of, user_of

Ack = Callable[..., Any]


def build_home(home: HomeService, examples: ExampleService) -> Feature:
    return Feature(
        listen=_listen,
        handlers={
            ExampleChosen: examples.ask,
            AppHomeOpened: lambda _, event: home.publish(event.user),
            AssistantOpened: lambda _, event: home.greet(event),
        },
    )


def _listen(app: App, put: Enqueue) -> None:
    def ask(ack: Ack, body: Json, action: Json) -> None:
        if example := chosen_example(body, action):
            put(f"example-{example.user}-{action.get('action_ts')}", example)
        ack()

    app.action(re.compile(rf"^{EXAMPLE}_\d+_\d+$"))(ask)


def chosen_example(body: Json, action: Mapping[str, Any]) -> ExampleChosen | None:
    """Asker, domain and question of a chosen example; None for a button without them."""
    try:
        value = json.loads(str(action.get("value") or ""))
        domain, question = str(value["domain"]), str(value["question"])
    except (ValueError, KeyError, TypeError):
        return None
    return ExampleChosen(user=user_of(body), team=team_of(body), domain=domain, question=question)
