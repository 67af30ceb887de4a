"""Suggestions to owners of documents, put together."""

from __future__ import annotations

from typing import Any

from bot.feature import Feature
from bot.feature_tools import FeatureTools
from bot.owner_drafts.decisions import COMMENT, DraftDecisions
from bot.owner_drafts.delivery_of_drafts import REMIND, SEND, DraftDelivery
from bot.owner_drafts.draft_posts import DraftPosts
from bot.owner_drafts.draft_presses import ACCEPTED, DISMISSED, EDITED, DraftPresses
from bot.owner_drafts.draft_rights import DraftRights
from bot.owner_drafts.drafts_on_record import Drafts
from bot.owner_drafts.waiting_at_home import WaitingAtHome
from index.permissions.rules import IdentitiesOf

WITHDRAWN = "owner_withdrawn"


def build_owner_drafts(tools: FeatureTools, identities: IdentitiesOf) -> Feature:
    drafts = Drafts(tools.engine)
    rights = DraftRights(
        gate=tools.gate, domains=tools.domains, identities=identities, published=tools.published
    )
    posts = DraftPosts(
        web=tools.web,
        drafts=drafts,
        rights=rights,
        desk=tools.document_desk,
        domains=tools.domains,
    )
    decisions = DraftDecisions(
        web=tools.web,
        drafts=drafts,
        posts=posts,
        desk=tools.document_desk,
        timers=tools.timers,
        put=tools.put,
        identity=tools.identity,
    )
    delivery = DraftDelivery(
        drafts=drafts,
        posts=posts,
        desk=tools.document_desk,
        timers=tools.timers,
        gone=decisions.gone,
    )

    def take_back_words() -> None:
        """Of people who were erased, by a process that doesn't speak with Slack."""
        for key, part in drafts.withdrawn():
            item = {WITHDRAWN: {"key": key, "part": part}}
            tools.put(f"owner-withdrawn-{key}-{part}", item)

    def withdrawn(event_id: str, item: Any) -> None:
        posts.withdraw(str(item["key"]), int(item["part"]))

    return Feature(
        listen=DraftPresses(posts=posts).listen,
        items={
            "suggestion": delivery.suggested,
            ACCEPTED: decisions.accept,
            EDITED: decisions.accept_edited,
            DISMISSED: decisions.dismiss,
            WITHDRAWN: withdrawn,
        },
        timers={
            SEND: delivery.send,
            REMIND: delivery.remind,
            COMMENT: decisions.comment_again,
        },
        plan=take_back_words,
        home=WaitingAtHome(posts=posts),
    )
