"""Contradictions as admins see them in App Home, side by side, and the buttons that settle them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from slack_bolt import App

from agents.freshness.cited_places import KnownPlace
from bot.aging.contradiction_queue import ContradictionQueue
from bot.aging.contradiction_sides import CHOICES
from bot.feature import Store
from bot.message.blockkit import Json, actions, button, header, link, section, short, words
from bot.message.harmless.harmless_words import mrkdwn, plain
from config.domain import Domain

KEEP = "settle_contradiction"
_SHOWN = 3
_LONGEST_SIDE, _LONGEST_FIELD = 700, 2_000
"""Characters of a document's words, and of a field of a section, in which `&` counts as five."""
_LABELS = {"one": "Keep A", "other": "Keep B", "none": "No contradiction"}


def contradiction_blocks(queue: ContradictionQueue, domains: Sequence[Domain]) -> Iterator[Json]:
    for domain in domains:
        waiting = queue.waiting(domain.domain, most=_SHOWN + 1)
        if not waiting:
            continue
        yield header(f"{plain(domain.title)}: sources that say different things")
        for pair in waiting[:_SHOWN]:
            often = "once" if pair.met == 1 else f"{pair.met} times"
            about = mrkdwn(short(pair.about, 200)) or "The same subject"
            fields = [
                words(_side("A", pair.one, pair.one_url, pair.one_says)),
                words(_side("B", pair.other, pair.other_url, pair.other_says)),
            ]
            yield {
                **section(f"{about} · met {often}"),
                "fields": fields,
                "block_id": f"contradiction_{pair.id}",
            }
            yield actions(
                [
                    button(label, f"{KEEP}_{choice}", f"{choice} {pair.id} {pair.seen}")
                    for choice, label in _LABELS.items()
                ],
                block_id=f"settle_{pair.id}",
            )


def listen_for_decisions(app: App, store: Store) -> None:
    def decided(ack: Callable[..., Any], body: Json, action: Json) -> None:
        choice, pair, seen, *_ = [*str(action.get("value") or "").split(" "), "", "", ""]
        person = body.get("user") or {}
        user = str(person.get("id") or "")
        team = str(person.get("team_id") or (body.get("team") or {}).get("id") or "")
        if choice in CHOICES and pair:
            item = {
                "contradiction": pair,
                "choice": choice,
                "seen": seen,
                "user": user,
                "team": team,
            }
            store(f"settle-{pair}-{choice}-{user}-{action.get('action_ts')}", {KEEP: item})
        ack()

    app.action(re.compile(rf"^{KEEP}_\w+$"))(decided)


def _side(letter: str, place: KnownPlace, url: str, says: str) -> str:
    name = short(place.name, 150)
    head = f"*{letter}* {link(url, name)}\n"
    if len(head) > _LONGEST_FIELD // 2:
        head = f"*{letter}* {mrkdwn(name)}\n"
    shown, most = mrkdwn(short(says, _LONGEST_SIDE)), _LONGEST_SIDE
    while len(shown) > _LONGEST_FIELD - len(head):
        most = most * 9 // 10
        shown = mrkdwn(short(says, most))
    return head + shown
