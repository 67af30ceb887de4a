"""Suggestions to owners of documents: wiring, listeners, and waiting drafts in App Home.

A form needs Slack's short-lived trigger: it opens after the ack, and not through the inbox."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

import structlog
from slack_bolt import App

from bot.blocks.kit import Json, actions, button, context, section
from bot.bus.events import Enqueue, Event, SuggestionMade
from bot.feature import DocumentOwners, Feature, FeatureContext
from bot.features.owner_drafts.delivery import REMIND, SEND, DraftDelivery
from bot.features.owner_drafts.posts import DraftPosts, DraftRights
from bot.features.owner_drafts.service import (
    COMMENT,
    NOT_YOURS,
    DraftAccepted,
    DraftDecisions,
    DraftDismissed,
    DraftEdited,
)
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
    message_modal,
    reason_form,
    submitted_reason,
    submitted_words,
    words_form,
)
from bot.slack.client import SlackBusy, SlackRefused, SlackUnsure
from config.domain import Domain

log = structlog.get_logger()

ERASED_DRAFT = "This suggestion is no longer kept."
BLANK = "Write what should stand in the document."

Ack = Callable[..., object]


@dataclass(frozen=True, kw_only=True)
class DraftActions:
    posts: DraftPosts

    def listen(self, app: App, put: Enqueue) -> None:
        def accept(ack: Ack, body: Json, action: Json) -> None:
            key, user = str(action.get("value") or ""), _user(body)
            channel = str((body.get("channel") or {}).get("id") or "")
            event_id = f"owner-accept-{key}-{user}-{action.get('action_ts')}"
            put(event_id, DraftAccepted(key=key, user=user, channel=channel))
            ack()

        def submit_words(ack: Ack, body: Json, view: Json) -> None:
            form = submitted_words(view)
            if not form["words"]:
                ack(response_action="errors", errors={"words": BLANK})
                return
            user = _user(body)
            put(f"owner-edited-{view.get('id')}-{user}", DraftEdited(**form, user=user))
            ack()

        def submit_reason(ack: Ack, body: Json, view: Json) -> None:
            form, user = submitted_reason(view), _user(body)
            put(f"owner-dismissed-{view.get('id')}-{user}", DraftDismissed(**form, user=user))
            ack()

        app.action(ACCEPT)(accept)
        app.action(EDIT)(ack=lambda ack: ack(), lazy=[self._open_words_form])
        app.action(DISMISS)(ack=lambda ack: ack(), lazy=[self._open_reason_form])
        app.view(EDIT_VIEW)(submit_words)
        app.view(DISMISS_VIEW)(submit_reason)

    def _open_words_form(self, body: Json, action: Json) -> None:
        self._open(body, str(action.get("value") or ""), words_form)

    def _open_reason_form(self, body: Json, action: Json) -> None:
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
        """The form where this person may decide the draft; a message otherwise."""
        draft = self.posts.drafts.get(key)
        if draft is None:
            return message_modal(ERASED_DRAFT)
        if not self.posts.rights.may_decide(user, draft):
            return message_modal(NOT_YOURS)
        visibility = self.posts.visibility(user, draft)
        if not draft.waits:
            return message_modal(draft_message(draft, visibility).text)
        return form(draft, visibility)


def _user(body: Json) -> str:
    return str((body.get("user") or {}).get("id") or "")


MAX_DRAFTS = 5
MAX_COUNT = 100


@dataclass(frozen=True, kw_only=True)
class HomeDrafts:
    posts: DraftPosts

    def __call__(self, viewer: str, administered: Sequence[Domain]) -> Iterator[Json]:
        """Oldest first, without anybody's words: the form shows them to those who may see them."""
        domains = [domain.domain for domain in administered]
        waiting = self.posts.drafts.waiting(viewer, domains, MAX_COUNT)
        theirs = [one for one in waiting if self.posts.rights.may_decide(viewer, one)]
        if not theirs:
            return
        title = "Suggestions for documents"
        yield {"type": "header", "text": {"type": "plain_text", "text": title}}
        for draft in theirs[:MAX_DRAFTS]:
            yield section(home_line(draft, self.posts.visibility(viewer, draft)))
            review = button("Review…", EDIT, draft.key)
            yield actions([review, button("Dismiss…", DISMISS, draft.key)])
        more = len(theirs) - MAX_DRAFTS
        if more > 0:
            yield context([f"{more} more wait{'s' if more == 1 else ''} behind these."])


@dataclass(frozen=True, kw_only=True)
class WordsWithdrawn(Event):
    """The author of a draft's words was erased: its message is to be updated."""

    kind: ClassVar[str] = "owner_withdrawn"
    key: str
    part: int


def build_owner_drafts(context: FeatureContext, owners: DocumentOwners | None) -> Feature:
    """`owners` of None: no document has a known owner, and no comment is written."""
    drafts = DraftStore(context.engine)
    rights = DraftRights(
        gate=context.gate,
        domains=context.domains,
        identities=context.identities,
        published=context.published,
    )
    posts = DraftPosts(
        web=context.web,
        drafts=drafts,
        rights=rights,
        owners=owners,
        domains=context.domains,
    )
    decisions = DraftDecisions(
        web=context.web,
        drafts=drafts,
        posts=posts,
        owners=owners,
        timers=context.timers,
        put=context.put,
        identity=context.identity,
    )
    delivery = DraftDelivery(
        drafts=drafts,
        posts=posts,
        owners=owners,
        timers=context.timers,
        close=decisions.close,
    )

    def withdraw_erased_words() -> None:
        """The privacy command erases people, and has no connection to Slack."""
        for key, part in drafts.messages_to_withdraw():
            context.put(f"owner-withdrawn-{key}-{part}", WordsWithdrawn(key=key, part=part))

    return Feature(
        listen=DraftActions(posts=posts).listen,
        handlers={
            SuggestionMade: delivery.receive,
            DraftAccepted: decisions.accept,
            DraftEdited: decisions.accept_edited,
            DraftDismissed: decisions.dismiss,
            WordsWithdrawn: lambda _, event: posts.withdraw(event.key, event.part),
        },
        timers={
            SEND: delivery.send,
            REMIND: delivery.remind,
            COMMENT: decisions.retry_comment,
        },
        plan=withdraw_erased_words,
        home=HomeDrafts(posts=posts),
    )
