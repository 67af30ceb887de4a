"""Buttons and forms of drafts. What needs Slack's short-lived trigger happens after the ack."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import structlog
from slack_bolt import App

from bot.feature import Store
from bot.message.blockkit import Json
from bot.owner_drafts.decisions import NOT_YOURS
from bot.owner_drafts.draft_forms import (
    DISMISS_VIEW,
    EDIT_VIEW,
    reason_form,
    submitted_reason,
    submitted_words,
    told_in_a_form,
    words_form,
)
from bot.owner_drafts.draft_posts import DraftPosts
from bot.owner_drafts.draft_view import ACCEPT, DISMISS, EDIT, Sight, draft_message
from bot.owner_drafts.drafts_on_record import OwnerDraft
from bot.slack.web import SlackBusy, SlackRefused, SlackUnsure

log = structlog.get_logger()

ACCEPTED = "owner_accepted"
EDITED = "owner_edited"
DISMISSED = "owner_dismissed"
"""Keys of stored items."""
NO_LONGER = "This suggestion is no longer kept."
BLANK = "Write what should stand in the document."

Ack = Callable[..., Any]


@dataclass(frozen=True, kw_only=True)
class DraftPresses:
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

    def _open(self, body: Json, key: str, form: Callable[[OwnerDraft, Sight], Json]) -> None:
        try:
            view = self._form(_user(body), key, form)
            self.posts.web.once("views.open", trigger_id=body.get("trigger_id"), view=view)
        except (SlackRefused, SlackUnsure, SlackBusy) as error:
            log.warning("a form did not open", reason=str(error))

    def _form(self, user: str, key: str, form: Callable[[OwnerDraft, Sight], Json]) -> Json:
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
