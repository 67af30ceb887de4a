"""What waits for whoever opens App Home: their own drafts, and those of their domains."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from bot.message.blockkit import Json, actions, button, context, section
from bot.owner_drafts.draft_posts import DraftPosts
from bot.owner_drafts.draft_view import DISMISS, EDIT, home_line
from config.domain import Domain

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
