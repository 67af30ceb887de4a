"""`oncall gaps`: documentation gaps, worst first."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cli.options import AnyDomain, AsJson, plain_console, print_json, wired

if TYPE_CHECKING:
    from bot.features.gaps.gap import Gap
    from index.search import Snapshot

app = typer.Typer()

LONGEST_SHOWN = 160
"""Maximum characters of a printed question; `--json` has the full text."""


@app.command("gaps")
def gaps(
    domain: AnyDomain = "",
    everything: Annotated[
        bool, typer.Option("--all", help="Also what is answered by now, dismissed, or off-topic.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """List what the documents don't answer, the worst first.

    Worst: asked by most people, then most often. What was asked in direct messages is counted; its
    words are not shown. With --json also each question and how the gap came about."""
    from bot.features.gaps.gap import gaps_of, relevant_gaps
    from bot.features.gaps.questions import STATE_LABELS
    from bot.features.gaps.store import GapStore

    copilot = wired()
    names = [copilot.domain(domain).domain] if domain else list(copilot.domains)
    store = GapStore(copilot.index.engine)
    listed = [
        gap
        for name in names
        for gap in (
            gaps_of(store, name, STATE_LABELS, history=True)
            if everything
            else relevant_gaps(store, name, history=True)
        )
    ]
    if as_json:
        print_json([_as_json(gap) for gap in listed])
        return
    console = plain_console()
    for gap in listed:
        console.print(_line(gap, copilot.snapshot))
    if not listed:
        console.print("no gaps are known")


def _line(gap: Gap, snapshot: Callable[[str], Snapshot]) -> str:
    from bot.blocks.kit import short
    from bot.features.gaps.gap import where
    from bot.features.gaps.questions import STATE_LABELS
    from bot.features.gaps.views import summary
    from cli.output.terminal import visible
    from index.permissions.words import Operator

    visible_questions = gap.visible_questions(Operator())
    text = (
        short(visible_questions[0].name or visible_questions[0].text, LONGEST_SHOWN)
        if visible_questions
        else "(direct messages)"
    )
    _, place = where(snapshot, gap)
    parts = [summary(gap), f"nearest: {place}" if place else "", STATE_LABELS[gap.state]]
    return f"{gap.domain}: {visible(text)}\n    {' · '.join(filter(None, parts))}"


def _as_json(gap: Gap) -> dict[str, Any]:
    from index.permissions.words import Operator

    visible_questions = gap.visible_questions(Operator())
    return {
        "id": gap.id,
        "domain": gap.domain,
        "name": visible_questions[0].name if visible_questions else "",
        "state": gap.state,
        "times": gap.times,
        "people": gap.people,
        "since": gap.since.isoformat(),
        "off_topic": gap.is_off_topic,
        "nearest": {"document": gap.document, "heading": gap.heading},
        "questions": [
            {
                "id": one.question_id,
                "why": one.why,
                "asked_at": one.asked_at.isoformat(),
                "text": one.text if one in visible_questions else "",
            }
            for one in gap.questions
        ],
        "history": [
            {
                "state": one.state,
                "by": one.by,
                "generation": one.generation,
                "at": one.at.isoformat(),
            }
            for one in gap.history
        ],
    }
