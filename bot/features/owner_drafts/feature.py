"""Suggestions to owners of documents: wiring, listeners, and waiting drafts in App Home.

A form needs Slack's short-lived trigger: it opens after the ack, and not through the inbox."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import structlog
from slack_bolt import App

from bot.blocks.kit import Json, actions, button, context, header, section
from bot.bus.events import Enqueue, Event, SuggestionMade
from bot.feature import DocumentOwners, Feature, FeatureContext
from bot.features.owner_drafts.delivery import REMIND, SEND, DraftDelivery
from bot.features.owner_drafts.posts import DraftPosts, DraftRights, PreviewDraft
from bot.features.owner_drafts.service import (
    COMMENT,
    NOT_YOURS,
    DraftAccepted,
    DraftDecisions,
    DraftDismissed,
    DraftEdited,
    DraftPreviewRequested,
    DraftPreviews,
)
from bot.features.owner_drafts.store import DraftStore, OwnerDraftRow
from bot.features.owner_drafts.views import (
    ACCEPT,
    DISMISS,
    DISMISS_VIEW,
    EDIT,
    EDIT_VIEW,
    PREVIEW,
    DraftVisibility,
    draft_message,
    headline,
    message_modal,
    reason_form,
    submitted_reason,
    submitted_words,
    words_form,
)
from bot.showing import Showing
from bot.slack.client import SlackBusy, SlackRefused, SlackUnsure
from bot.slack.messages import user_of
from config.domain import Domain
from index.audit import AuditUnavailable

log = structlog.get_logger()

ERASED_DRAFT = "This suggestion is no longer kept."
BLANK = "Write what should stand in the document."

Ack = Callable[..., object]
Form = Callable[[OwnerDraftRow, DraftVisibility], Json]


@dataclass(frozen=True, kw_only=True)
class DraftActions:
    posts: DraftPosts

    def listen(self, app: App, put: Enqueue) -> None:
        def accept(ack: Ack, body: Json, action: Json) -> None:
            key, user = str(action.get("value") or ""), user_of(body)
            channel = str((body.get("channel") or {}).get("id") or "")
            event_id = f"owner-accept-{key}-{user}-{action.get('action_ts')}"
            put(event_id, DraftAccepted(key=key, user=user, channel=channel))
            ack()

        def preview(ack: Ack, body: Json, action: Json) -> None:
            key, user = str(action.get("value") or ""), user_of(body)
            event_id = f"owner-preview-{key}-{user}-{action.get('action_ts')}"
            put(event_id, DraftPreviewRequested(key=key, user=user))
            ack()

        def submit_words(ack: Ack, body: Json, view: Json) -> None:
            form = submitted_words(view)
            if not form["words"]:
                ack(response_action="errors", errors={"words": BLANK})
                return
            user = user_of(body)
            put(f"owner-edited-{view.get('id')}-{user}", DraftEdited(**form, user=user))
            ack()

        def submit_reason(ack: Ack, body: Json, view: Json) -> None:
            form, user = submitted_reason(view), user_of(body)
            put(f"owner-dismissed-{view.get('id')}-{user}", DraftDismissed(**form, user=user))
            ack()

        app.action(ACCEPT)(accept)
        app.action(PREVIEW)(preview)
        app.action(EDIT)(ack=lambda ack: ack(), lazy=[self._opener(words_form)])
        app.action(DISMISS)(ack=lambda ack: ack(), lazy=[self._opener(reason_form)])
        app.view(EDIT_VIEW)(submit_words)
        app.view(DISMISS_VIEW)(submit_reason)

    def _opener(self, form: Form) -> Callable[[Json, Json], None]:
        def open_form(body: Json, action: Json) -> None:
            try:
                view = self._form(user_of(body), str(action.get("value") or ""), form)
                web = self.posts.context.web
                web.once("views.open", trigger_id=body.get("trigger_id"), view=view)
            except (SlackRefused, SlackUnsure, SlackBusy, AuditUnavailable) as error:
                log.warning("a form did not open", reason=str(error))

        return open_form

    def _form(self, user: str, key: str, form: Form) -> Json:
        """The form where this person may decide the draft; a message otherwise."""
        draft = self.posts.drafts.get(key)
        if draft is None:
            return message_modal(ERASED_DRAFT)
        if not self.posts.rights.may_decide(user, draft):
            return message_modal(NOT_YOURS)
        showing = self.posts.showing(user)
        visibility = self.posts.visibility(draft, showing)
        showing.record()
        if not draft.waits:
            return message_modal(draft_message(draft, visibility).text)
        return form(draft, visibility)


MAX_DRAFTS = 5
MAX_COUNT = 100


def _home(posts: DraftPosts, showing: Showing, administered: Sequence[Domain]) -> Iterator[Json]:
    """Oldest first, without anybody's words: the form shows them to those who may see them."""
    domains, viewer = [domain.domain for domain in administered], showing.user
    waiting = posts.drafts.waiting(viewer, domains, MAX_COUNT)
    theirs = [one for one in waiting if posts.rights.may_decide(viewer, one)]
    if not theirs:
        return
    yield header("Suggestions for documents")
    for draft in theirs[:MAX_DRAFTS]:
        yield section(headline(draft, posts.visibility(draft, showing)))
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


def build_owner_drafts(
    context: FeatureContext, owners: DocumentOwners | None, preview: PreviewDraft | None
) -> Feature:
    """`owners` of None: no document has a known owner, and no comment is written. `preview` of
    None: no draft can be tried."""
    drafts = DraftStore(context.engine)
    posts = DraftPosts(
        context=context,
        drafts=drafts,
        rights=DraftRights(context, drafts),
        owners=owners,
        preview=preview,
    )
    decisions = DraftDecisions(context=context, drafts=drafts, posts=posts, owners=owners)
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
            DraftPreviewRequested: DraftPreviews(posts=posts).answer,
            WordsWithdrawn: lambda _, event: posts.withdraw(event.key, event.part),
        },
        timers={
            SEND: delivery.send,
            REMIND: delivery.remind,
            COMMENT: decisions.retry_comment,
        },
        plan=withdraw_erased_words,
        home=partial(_home, posts),
    )
