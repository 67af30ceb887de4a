"""What a gap goes through, from the first question to the document that answers it."""

from __future__ import annotations

from collections.abc import Collection
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


def state_after(decided: str, before: GapState, outcomes: Collection[str]) -> GapState:
    """Of a gap about one of whose drafts was decided. `outcomes`: of all its drafts, this one among
    them, '' for those that wait."""
    if before == "closed":
        return before
    if decided == "accepted":
        return "accepted"
    if before == "accepted" and "accepted" in outcomes:
        return before
    if "" in outcomes:
        return before
    if "accepted" in outcomes:
        return "reopened"  # what was accepted once no longer answers, and nothing else will
    return "dismissed" if set(outcomes) == {"dismissed"} else "open"
