"""Buttons and forms of drafts. What needs Slack's short-lived trigger happens after the ack.

What waits for whoever opens App Home: their own drafts, and those of their domains.

Suggestions to owners of documents, put together."""

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
    reason_form,
    submitted_reason,
    submitted_words,
    told_in_a_form,
    words_form,
)
from bot.slack.client import SlackBusy, SlackRefused, SlackUnsure
from config.domain import Domain

log = structlog.get_logger()

NO_LONGER = "This suggestion is no longer kept."
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

        def edited(ack: Ack, body: Json, view: Json) -> None:
            form = submitted_words(view)
            if not form["words"]:
                ack(response_action="errors", errors={"words": BLANK})
                return
            user = _user(body)
            put(f"owner-edited-{view.get('id')}-{user}", DraftEdited(**form, user=user))
            ack()

        def dismissed(ack: Ack, body: Json, view: Json) -> None:
            form, user = submitted_reason(view), _user(body)
            put(f"owner-dismissed-{view.get('id')}-{user}", DraftDismissed(**form, user=user))
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
        desk=owners,
        domains=context.domains,
    )
    decisions = DraftDecisions(
        web=context.web,
        drafts=drafts,
        posts=posts,
        desk=owners,
        timers=context.timers,
        put=context.put,
        identity=context.identity,
    )
    delivery = DraftDelivery(
        drafts=drafts,
        posts=posts,
        desk=owners,
        timers=context.timers,
        gone=decisions.gone,
    )

    def take_back_words() -> None:
        """Of people who were erased, by a process that doesn't speak with Slack."""
        for key, part in drafts.withdrawn():
            context.put(f"owner-withdrawn-{key}-{part}", WordsWithdrawn(key=key, part=part))

    return Feature(
        listen=DraftActions(posts=posts).listen,
        handlers={
            SuggestionMade: delivery.suggested,
            DraftAccepted: decisions.accept,
            DraftEdited: decisions.accept_edited,
            DraftDismissed: decisions.dismiss,
            WordsWithdrawn: lambda _, event: posts.withdraw(event.key, event.part),
        },
        timers={
            SEND: delivery.send,
            REMIND: delivery.remind,
            COMMENT: decisions.comment_again,
        },
        plan=take_back_words,
        home=WaitingAtHome(posts=posts),
    )
