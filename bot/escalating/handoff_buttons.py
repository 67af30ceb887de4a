"""*Ask a human*, *I'll take it* and *Resolved*: what a press of them stores."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from slack_bolt import App

from bot.feature import Store
from bot.handoff.handoff_card import RESOLVE, RESOLVE_VIEW, TAKE, resolution_view
from bot.message.blockkit import Json
from bot.message.buttons import ASK_HUMAN
from bot.message.modal import submitted
from bot.slack.presses import open_modal, place_of, posted_at, user_of
from bot.slack.web import Web

Ack = Callable[..., Any]


def listen_for_steps(app: App, store: Store, web: Web) -> None:
    def ask_human(ack: Ack, body: Json, action: Json) -> None:
        question_id = str(action.get("value") or "")
        user = user_of(body)
        # Of each who presses: not everybody may, and who may not must not use up the first press.
        channel, _ = place_of(body)
        asked = {"question_id": question_id, "user": user}
        pressed = {"channel": channel, "ts": posted_at(body)}
        store(f"human-{question_id}-{user}", {"human": asked, "pressed": pressed})
        ack()

    def take(ack: Ack, body: Json, action: Json) -> None:
        question_id, user = str(action.get("value") or ""), user_of(body)
        store(f"take-{question_id}-{user}", {"take": {"question_id": question_id, "user": user}})
        ack()

    def ask_resolution(body: Json, action: Json) -> None:
        open_modal(web, body, resolution_view(str(action.get("value") or "")))

    def resolved(ack: Ack, body: Json, view: Json) -> None:
        done = {
            "question_id": str(view.get("private_metadata") or ""),
            "user": user_of(body),
            "resolution": submitted(view, "resolution"),
        }
        store(f"resolve-{view.get('id')}-{view.get('hash', '')}", {"resolve": done})
        ack()

    app.action(ASK_HUMAN)(ask_human)
    app.action(TAKE)(take)
    app.action(RESOLVE)(ack=lambda ack: ack(), lazy=[ask_resolution])
    app.view(RESOLVE_VIEW)(resolved)
