"""A step of a runbook, in its author's words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, kw_only=True)
class StepPart:
    kind: Literal["words", "command"]
    text: str
    """Markdown; of a command, what is typed, without its backticks or fence."""


@dataclass(frozen=True, kw_only=True)
class RunbookStep:
    """`lead`, `condition` and `parts` one after the other are what the author wrote."""

    number: str
    """As a reader counts: `2`, `2.1`, `2.1.a`."""
    level: int
    """0: outermost."""
    parts: tuple[StepPart, ...]
    condition: str = ""
    """Markdown: the author's words for when it holds, with the sign that ends them."""
    lead: str = ""
    """Markdown of the line that introduces the list which begins here."""
    parallel: bool = False
    """The author says that it is done while something else goes on."""
    leads_to: tuple[str, ...] = ()
    """Numbers of the other steps of its section that it names."""

    @property
    def text(self) -> str:
        """All of its own words, as markdown."""
        return "\n".join(filter(None, (self.condition, *(part.text for part in self.parts))))


@dataclass(frozen=True, kw_only=True)
class StepSection:
    """A section that holds steps."""

    document: str
    """Id."""
    title: str
    heading: str
    heading_path: tuple[str, ...]
    tab: str
    url: str
    """Opens the section."""
    steps: tuple[RunbookStep, ...]
