"""Text that is stored to be shown again, with its provenance, and the one rule for its readers.

An author reads their own words; everyone else needs to see the place where they were said. Text
that a model or a template drew from documents needs these documents to be readable as well."""

from __future__ import annotations

from collections.abc import Collection, Container
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, kw_only=True)
class Words:
    """Text that is stored to be shown again."""

    text: str
    domain: str
    author: str = ""
    """Slack user id; empty: nobody's words."""
    place: str = ""
    """Channel id of the conversation; empty: no conversation."""
    private: bool = False
    """Written where only its author sees the answer, such as below a private one."""
    drawn_from: frozenset[str] | None = frozenset()
    """Documents whose title or text it may repeat; None: unknown."""
    own: str = ""
    """People's words alone, for readers who may not see all of `drawn_from`."""


class Reader(Protocol):
    """A person, or everyone in a channel."""

    @property
    def user(self) -> str:
        """Slack user id; empty for a channel."""
        ...

    def sees(self, channel: str) -> bool:
        """Whether they may read a channel's messages."""
        ...

    def reads(self, domain: str, documents: Collection[str] | None) -> bool:
        """Whether they may read all of these documents; None: unknown ones."""
        ...


class Operator:
    """Whoever runs the product on its machine, and can read the database."""

    user = ""

    def sees(self, channel: str) -> bool:
        return True

    def reads(self, domain: str, documents: Collection[str] | None) -> bool:
        return True


def is_visible(words: Words, reader: Reader) -> bool:
    """Whether the reader may see what people said; see `visible_text` for the rest."""
    if words.author and words.author == reader.user:
        return True
    if words.private or words.place.startswith("D"):
        return False
    return not words.place or reader.sees(words.place)


def visible_text(words: Words, reader: Reader) -> str:
    """What the reader may see of it: the text, people's own words in it, or ''."""
    if not is_visible(words, reader):
        return ""
    if words.drawn_from is not None and not words.drawn_from:
        return words.text
    return words.text if reader.reads(words.domain, words.drawn_from) else words.own


def may_repeat(drawn_from: Collection[str] | None, readable: Container[str]) -> bool:
    """Whether text drawn from these documents (None: unknown) may be shown to who reads these."""
    return drawn_from is not None and all(one in readable for one in drawn_from)
