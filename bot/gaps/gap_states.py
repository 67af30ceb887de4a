"""What a gap goes through, from the first question to the document that answers it."""

from __future__ import annotations

from typing import Literal

GapState = Literal["open", "proposed", "accepted", "closed", "dismissed", "reopened"]
"""`open`: asked in vain; `proposed`: an owner has somebody's words for it; `accepted`: an owner
took them, and the document doesn't say so yet; `closed`: the document answers; `dismissed`: an
owner decided that it won't; `reopened`: it was closed, and isn't answered any more."""

UNANSWERED: frozenset[GapState] = frozenset(("open", "proposed", "accepted", "reopened"))

SAID: dict[GapState, str] = {
    "open": "open",
    "proposed": "a draft is with the owner",
    "accepted": "accepted, not in the document yet",
    "closed": "answered",
    "dismissed": "dismissed by the owner",
    "reopened": "open again",
}
