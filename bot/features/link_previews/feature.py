"""Previews of linked documents, and their details, as a feature of the bot."""

from __future__ import annotations

from slack_bolt import App

from bot.blocks.kit import Json
from bot.bus.events import Enqueue
from bot.feature import Feature
from bot.features.link_previews.service import LinkPreviews
from bot.slack.events import LinksShared
from bot.slack.manifest import DETAILS


def build_link_previews(previews: LinkPreviews) -> Feature:
    def listen(app: App, _: Enqueue) -> None:
        def show(event: Json) -> None:
            previews.details(event)

        # Slack waits for the details as it does for a click: they go past the inbox.
        app.event(DETAILS)(ack=lambda ack: ack(), lazy=[show])

    return Feature(listen=listen, handlers={LinksShared: previews.unfurl})
