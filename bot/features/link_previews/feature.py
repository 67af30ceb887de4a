"""Details of a linked document, as a feature of the bot."""

from __future__ import annotations

from collections.abc import Callable

from slack_bolt import App

from bot.blocks.kit import Json
from bot.feature import Feature, Store
from bot.slack.manifest import DETAILS


def build_details(details: Callable[[Json], None]) -> Feature:
    """`details` answers Slack's event about a linked document, which waits as a click does."""

    def listen(app: App, _: Store) -> None:
        _details(app, details)

    return Feature(listen=listen)


def _details(app: App, details: Callable[[Json], None]) -> None:
    def show(event: Json) -> None:
        details(event)

    app.event(DETAILS)(ack=lambda ack: ack(), lazy=[show])
