"""What one round of an answerer's requests brings from tools of others."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from agents.answer import Fallback, Progress
from agents.asked_tools.tool_arguments import Sayable, UnfitError, arguments_in
from agents.asked_tools.tool_values import Toolbox, ToolFailed, ToolOffer, ToolSaid
from agents.look_requests import LookRequest
from agents.prompts import render
from config.prompts import Foreign

MOST_ASKED = 3
"""Calls for one question."""


@dataclass(frozen=True, kw_only=True)
class ToolRound:
    said: tuple[ToolSaid, ...] = ()
    notes: tuple[str, ...] = ()
    """One line for each request: what became of it."""
    failures: tuple[str, ...] = ()
    """One line for each tool that the answer goes without."""
    fallbacks: tuple[Fallback, ...] = ()


def ask_tools(
    toolbox: Toolbox,
    requests: Sequence[LookRequest],
    *,
    before: Sequence[ToolSaid],
    asked_before: int,
    question: str,
    documents: str,
    progress: Progress,
) -> ToolRound:
    """`before`: what tools said to this question already. `asked_before`: calls made for it.
    `documents`: what of them may be sent; see `Sayable`."""
    offers = {offer.name.casefold(): offer for offer in toolbox.offers()}
    said: list[ToolSaid] = []
    notes: list[str] = []
    failures: list[str] = []
    fallbacks: list[Fallback] = []
    for request in requests:
        offer = offers.get(request.words.casefold())
        if offer is None:
            notes.append(f"{request} → there is no such tool")
            continue
        if asked_before + len(said) + len(failures) >= MOST_ASKED:
            notes.append(f"{request} → not asked: {MOST_ASKED} calls are all that a question has")
            continue
        answered = "\n".join(o.text for o in (*before, *said) if o.offer.server == offer.server)
        sayable = Sayable(question=question, answered=answered, documents=documents)
        try:
            one = _asked(toolbox, offer, request.arguments, sayable, progress)
        except UnfitError as unfit:
            notes.append(f"{request} → not asked: {unfit}")
        except ToolFailed as failed:
            notes.append(f"{request} → {failed}")
            failures.append(f"{offer.server} could not be asked ({offer.what}): {failed.why}")
            fallbacks.append(Fallback(node="tool", reason=failed.kind, outage=False))
        else:
            said.append(one)
            notes.append(f"{request} → answered")
    return ToolRound(
        said=tuple(said),
        notes=tuple(notes),
        failures=tuple(failures),
        fallbacks=tuple(fallbacks),
    )


def _asked(
    toolbox: Toolbox, offer: ToolOffer, written: str, sayable: Sayable, progress: Progress
) -> ToolSaid:
    if not offer.reachable:
        raise ToolFailed(offer.server, "unreachable")
    arguments = arguments_in(written, offer, sayable)
    progress.status(f"Asking {offer.server}: {offer.what}…")
    text = toolbox.ask(offer, arguments)
    at = datetime.now(UTC)
    return ToolSaid(offer=offer, arguments=json.dumps(arguments), text=text or "(empty)", at=at)


def asking_explained(offers: Sequence[ToolOffer]) -> str:
    """The part of the answerer's prompt about tools; nothing of it where there is none."""
    if not offers:
        return ""
    return "\n\n" + render("asking_tools", most=str(MOST_ASKED)).system


def offers_shown(offers: Sequence[ToolOffer]) -> list[Foreign]:
    """As their servers describe them: words of others."""
    return [
        Foreign(
            f"tool {offer.name} | {offer.what}",
            "\n".join(filter(None, (offer.description, f"takes: {_takes(offer)}")))
            if offer.reachable
            else "It can't be reached now. Ask for it nevertheless where the answer needs it: then "
            "the asker is told.",
        )
        for offer in offers
    ]


def _takes(offer: ToolOffer) -> str:
    known = {key: offer.schema[key] for key in ("properties", "required") if key in offer.schema}
    return json.dumps(known, ensure_ascii=False) if known.get("properties") else "nothing"
