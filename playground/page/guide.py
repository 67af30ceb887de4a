"""What the page tells a newcomer above the conversation: what answers here, and in which ways."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass

from playground.slack.workspace import Json

SAID = 220
"""Characters of a reply that are shown; its thread has the rest."""


@dataclass(frozen=True, kw_only=True)
class KindOfReply:
    """An example of one: a question that was asked in `channel` at `ts`, and what was said."""

    name: str
    channel: str
    ts: str
    question: str
    said: str
    """Plain text."""


@dataclass(frozen=True, kw_only=True)
class Guide:
    notice: str = ""
    """One line, shown in every conversation with the bot."""
    kinds: Sequence[KindOfReply] = ()

    def shown(self) -> Json:
        return {
            "notice": self.notice,
            "kinds": [{**asdict(kind), "said": _short(kind.said)} for kind in self.kinds],
        }


def _short(said: str) -> str:
    words = " ".join(said.split())
    return words if len(words) <= SAID else words[:SAID].rsplit(" ", 1)[0] + "…"
