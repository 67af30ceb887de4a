"""What people press on a checklist, as items of the inbox. Nothing is decided here."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import structlog
from slack_bolt import App

from bot.checklist.checklist_standing import WHOLE
from bot.checklist.checklist_view import FINISH, TAKE_OVER
from bot.checklist.step_blocks import DONE, MORE, NOT_NEEDED, REPORT, UNDO
from bot.feature import Store
from bot.message.blockkit import Json
from bot.message.modal import input_block, modal, submitted, text_input
from bot.slack.web import SlackBusy, SlackRefused, SlackUnsure, Web

log = structlog.get_logger()

START = "checklist_start"
PRESSED = "checklist_press"
REPORTED = "checklist_report"
REPORT_VIEW = "checklist_report"
Ack = Callable[..., Any]


def listen_to_buttons(app: App, store: Store, web: Web) -> None:
    def start(ack: Ack, body: Json, action: Json) -> None:
        question, user = str(action.get("value") or ""), _user(body)
        item = {"question_id": question, "user": user, "at": str(action.get("action_ts") or "")}
        store(f"{START}-{question}-{user}-{item['at']}"[:120], {START: item})
        ack()

    def press(ack: Ack, body: Json, action: Json) -> None:
        if pressed := press_of(body, action):
            store(pressed["id"], {PRESSED: pressed})
        ack()

    def ask_what(body: Json, action: Json) -> None:
        act, step, checklist = _chosen(action)
        if act != REPORT:
            return
        view = report_view(json.dumps({"checklist": checklist, "step": step}))
        try:
            web.once("views.open", trigger_id=body.get("trigger_id"), view=view)
        except (SlackRefused, SlackUnsure, SlackBusy) as error:
            log.warning("a modal did not open", reason=str(error))

    def report(ack: Ack, body: Json, view: Json) -> None:
        about = json.loads(view["private_metadata"])
        key = f"{REPORTED}-{view.get('id')}-{view.get('hash', '')}"[:120]
        said = {
            "id": key,
            "user": _user(body),
            "words": submitted(view, "words"),
            "checklist": str(about["checklist"]),
            "step": int(about["step"]),
        }
        store(key, {REPORTED: said})
        ack()

    app.action(START)(start)
    app.action(re.compile(rf"^(?:{DONE}_\d+|{TAKE_OVER}|{FINISH})$"))(press)
    app.action(re.compile(rf"^{MORE}_\d+$"))(ack=press, lazy=[ask_what])
    app.view(REPORT_VIEW)(report)


def press_of(body: Json, action: Json) -> dict[str, Any] | None:
    """The state that is asked for; None for what opens a form."""
    act, step, checklist = _chosen(action)
    if act == REPORT or not act:
        return None
    user, at = _user(body), str(action.get("action_ts") or "")
    return {
        "id": f"checklist-{checklist}-{act}-{step}-{user}-{at}"[:120],
        "checklist": checklist,
        "step": step,
        "act": act,
        "user": user,
        "at": at,
    }


def report_view(remember: str) -> Json:
    words = input_block(
        "words",
        "What is wrong?",
        text_input(multiline=True),
        optional=False,
        hint="Shown at the step, and sent to the owner of the runbook.",
    )
    return modal(
        REPORT_VIEW, "Wrong or outdated", [words], remember=remember, submit="Send", close="Cancel"
    )


def _chosen(action: Json) -> tuple[str, int, str]:
    """(what, which step, which checklist)."""
    name = str(action.get("action_id") or "")
    if name == TAKE_OVER:
        return "take", WHOLE, str(action.get("value") or "")
    if name == FINISH:
        return "finish", WHOLE, str(action.get("value") or "")
    if name.startswith(f"{DONE}_"):
        return "done", int(name.removeprefix(f"{DONE}_")), str(action.get("value") or "")
    chosen = str((action.get("selected_option") or {}).get("value") or "")
    act, _, rest = chosen.partition(" ")
    step, _, checklist = rest.partition(" ")
    known = act in (NOT_NEEDED, UNDO, REPORT) and step.isdigit()
    return (act, int(step), checklist) if known else ("", WHOLE, "")


def _user(body: Json) -> str:
    return str((body.get("user") or {}).get("id") or "")
