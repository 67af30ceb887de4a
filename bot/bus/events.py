"""What is suggested to the owner of a document: the seam between whoever notices and the owners."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

SuggestionKind = Literal["answer", "outdated", "step", "contradiction", "review"]
"""`answer`: a human answered what the document didn't; `outdated`: somebody says that a cited place
is out of date; `step`: a step of a checklist is wrong; `contradiction`: another place that a human
chose to keep says otherwise; `review`: a document is to be looked over."""


@dataclass(frozen=True, kw_only=True)
class Suggestion:
    """One suggestion, as whoever noticed it puts it. Stored in the inbox as JSON."""

    id: str
    """Stable: suggested twice, it is one."""
    kind: SuggestionKind
    domain: str
    document: str
    """Id; empty where nobody knows which: then it is for the domain's admins."""
    heading: str = ""
    """The place meant, or the nearest one."""
    question: str = ""
    """What was asked, or what the place is about; people's words. Of a `review`, why."""
    words: str = ""
    """What should stand there, or what is wrong; people's words."""
    by: str = ""
    """Slack user id of whose words they are."""
    question_id: str = ""
    """With which question it goes, when that is forgotten."""
    channel: str = ""
    """Where the words were said: only who may see that channel is shown them."""
    permalink: str = ""

    def item(self) -> dict[str, Any]:
        """For the inbox, under `event_id`."""
        return {"suggestion": asdict(self)}

    @property
    def event_id(self) -> str:
        return f"suggestion-{self.id}"

    @classmethod
    def stored(cls, kept: Mapping[str, Any]) -> Suggestion:
        """From its JSON, without what a newer release knows of it besides."""
        return cls(**{name: kept[name] for name in cls.__dataclass_fields__ if name in kept})
