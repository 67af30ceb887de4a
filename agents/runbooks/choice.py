"""Lets a model choose where labels leave several entries open, or where no entry has the name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from pydantic import BaseModel, Field

from agents.prompts import render
from agents.runbooks.entries import RunbookEntry
from agents.runbooks.matching import RunbookMatch
from agents.state import AgentResult, with_fallback
from config.domain import Domain
from config.models import ChatModel, Usage
from config.prompts import Foreign

NODE = "runbook_choice"
MAX_CHOICES = 3
"""Alerts of one message that a model is asked about."""
_MAX_STEP, _MAX_MESSAGE = 240, 3_000
"""Characters."""


class ChosenEntries(BaseModel):
    """The reply asked of the model."""

    entries: list[int] = Field(description="Numbers of the entries for the message; [] for none")


Choose = Callable[[str, Sequence[RunbookMatch]], AgentResult[list[RunbookMatch]]]
"""The message and its matches → the matches with what the model chose among their entries."""


def choose_entries(domain: Domain, model: ChatModel | None) -> Choose:
    """Without a model, or when it fails, the matches stay as they are."""

    def by_model(text: str, matches: Sequence[RunbookMatch]) -> tuple[list[RunbookMatch], Usage]:
        usage, chosen = Usage(), list(matches)
        open_ones = [at for at, one in enumerate(matches) if candidates_of(one)]
        for at in open_ones[:MAX_CHOICES]:
            candidates = candidates_of(matches[at])
            listed = (_line(number, one) for number, one in enumerate(candidates, start=1))
            name = matches[at].alert.name
            about = f"(This is about its alert {name}.)\n" if len(matches) > 1 else ""
            prompt = render(
                "runbook", title=domain.title,
                message=Foreign("message", f"{about}{text[:_MAX_MESSAGE]}"),
                entries=Foreign("entries", "\n".join(listed)),
            )  # fmt: skip
            reply, cost = model.structured(prompt, ChosenEntries)  # type: ignore[union-attr]
            usage += cost
            numbers = dict.fromkeys(one for one in reply.entries if 0 < one <= len(candidates))
            chosen[at] = _with_choice(matches[at], [candidates[one - 1] for one in numbers])
        return chosen, usage

    return with_fallback(NODE, by_model if model else None, lambda _, matches: list(matches))


def candidates_of(match: RunbookMatch) -> tuple[RunbookEntry, ...]:
    """What a model chooses among; empty where the labels decide."""
    if match.outcome == "several":
        return match.entries
    return match.perhaps if match.outcome == "none" else ()


def _with_choice(match: RunbookMatch, entries: Sequence[RunbookEntry]) -> RunbookMatch:
    if not entries:
        # Several rows have the alert's name: the model can't take that back.
        return match if match.outcome == "several" else replace(match, perhaps=())
    return replace(
        match, outcome="found" if len(entries) == 1 else "several",
        entries=tuple(entries), perhaps=(), chosen=True,
    )  # fmt: skip


def _line(number: int, entry: RunbookEntry) -> str:
    roles = {"scope", "meaning", ""}
    cells = (one for one in entry.cells if one.role in roles and one.text)
    limits = "; ".join(f"{one.label}: {one.text}".strip(" :") for one in cells)
    step = (entry.first("step") or entry.quote)[:_MAX_STEP]
    parts = (f"{entry.name} ({entry.place})", limits, f"First step: {step}")
    return f"{number}. {'. '.join(filter(None, parts))}"
