"""Buttons and forms of drafts. What needs Slack's short-lived trigger happens after the ack.

What waits for whoever opens App Home: their own drafts, and those of their domains.

Suggestions to owners of documents, put together."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import structlog
from slack_bolt import App

from bot.blocks.kit import Json, actions, button, context, section
from bot.feature import Feature, FeatureContext, Store
from bot.features.owner_drafts.delivery import REMIND, SEND, DraftDelivery
from bot.features.owner_drafts.posts import DraftPosts, DraftRights
from bot.features.owner_drafts.service import COMMENT, NOT_YOURS, DraftDecisions
from bot.features.owner_drafts.store import DraftStore, OwnerDraft
from bot.features.owner_drafts.views import (
    ACCEPT,
    DISMISS,
    DISMISS_VIEW,
    EDIT,
    EDIT_VIEW,
    DraftVisibility,
    draft_message,
    home_line,
    reason_form,
    submitted_reason,
    submitted_words,
    told_in_a_form,
    words_form,
)
from bot.slack.client import SlackBusy, SlackRefused, SlackUnsure
from config.domain import Domain
from index.permissions.rules import IdentitiesOf

log = structlog.get_logger()

ACCEPTED = "owner_accepted"
EDITED = "owner_edited"
DISMISSED = "owner_dismissed"
"""Keys of stored items."""
NO_LONGER = "This suggestion is no longer kept."
BLANK = "Write what should stand in the document."

Ack = Callable[..., Any]


@dataclass(frozen=True, kw_only=True)
class DraftActions:
    posts: DraftPosts

    def listen(self, app: App, store: Store) -> None:
        def accept(ack: Ack, body: Json, action: Json) -> None:
            key, user = str(action.get("value") or ""), _user(body)
            channel = str((body.get("channel") or {}).get("id") or "")
            event_id = f"owner-accept-{key}-{user}-{action.get('action_ts')}"
            store(event_id, {ACCEPTED: {"key": key, "user": user, "channel": channel}})
            ack()

        def edited(ack: Ack, body: Json, view: Json) -> None:
            told = submitted_words(view)
            if not told["words"]:
                ack(response_action="errors", errors={"words": BLANK})
                return
            user = _user(body)
            store(f"owner-edited-{view.get('id')}-{user}", {EDITED: {**told, "user": user}})
            ack()

        def dismissed(ack: Ack, body: Json, view: Json) -> None:
            told, user = submitted_reason(view), _user(body)
            store(f"owner-dismissed-{view.get('id')}-{user}", {DISMISSED: {**told, "user": user}})
            ack()

        app.action(ACCEPT)(accept)
        app.action(EDIT)(ack=lambda ack: ack(), lazy=[self._asks_words])
        app.action(DISMISS)(ack=lambda ack: ack(), lazy=[self._asks_why])
        app.view(EDIT_VIEW)(edited)
        app.view(DISMISS_VIEW)(dismissed)

    def _asks_words(self, body: Json, action: Json) -> None:
        self._open(body, str(action.get("value") or ""), words_form)

    def _asks_why(self, body: Json, action: Json) -> None:
        self._open(body, str(action.get("value") or ""), reason_form)

    def _open(
        self, body: Json, key: str, form: Callable[[OwnerDraft, DraftVisibility], Json]
    ) -> None:
        try:
            view = self._form(_user(body), key, form)
            self.posts.web.once("views.open", trigger_id=body.get("trigger_id"), view=view)
        except (SlackRefused, SlackUnsure, SlackBusy) as error:
            log.warning("a form did not open", reason=str(error))

    def _form(
        self, user: str, key: str, form: Callable[[OwnerDraft, DraftVisibility], Json]
    ) -> Json:
        """For whoever may decide on a draft that still waits; else why not."""
        draft = self.posts.drafts.get(key)
        if draft is None:
            return told_in_a_form(NO_LONGER)
        if not self.posts.rights.may_decide(user, draft):
            return told_in_a_form(NOT_YOURS)
        sight = self.posts.sight(user, draft)
        if not draft.waits:
            return told_in_a_form(draft_message(draft, sight).text)
        return form(draft, sight)


def _user(body: Json) -> str:
    return str((body.get("user") or {}).get("id") or "")


SHOWN = 5
COUNTED = 100


@dataclass(frozen=True, kw_only=True)
class WaitingAtHome:
    posts: DraftPosts

    def __call__(self, viewer: str, administered: Sequence[Domain]) -> Iterator[Json]:
        """The oldest first, without anybody's words: the form shows those to whoever may see."""
        domains = [domain.domain for domain in administered]
        waiting = self.posts.drafts.waiting(viewer, domains, COUNTED)
        theirs = [one for one in waiting if self.posts.rights.may_decide(viewer, one)]
        if not theirs:
            return
        title = "Suggestions for documents"
        yield {"type": "header", "text": {"type": "plain_text", "text": title}}
        for draft in theirs[:SHOWN]:
            yield section(home_line(draft, self.posts.sight(viewer, draft)))
            review = button("Review…", EDIT, draft.key)
            yield actions([review, button("Dismiss…", DISMISS, draft.key)])
        more = len(theirs) - SHOWN
        if more > 0:
            yield context([f"{more} more wait{'s' if more == 1 else ''} behind these."])


WITHDRAWN = "owner_withdrawn"


def build_owner_drafts(tools: FeatureContext, identities: IdentitiesOf) -> Feature:
    drafts = DraftStore(tools.engine)
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
        listen=DraftActions(posts=posts).listen,
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
