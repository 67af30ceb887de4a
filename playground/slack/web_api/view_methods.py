"""Web API: modals and the App Home, and the triggers that allow opening them."""

from __future__ import annotations

import json
from typing import Any

from playground.slack import tidewater
from playground.slack.rules import block_rules as block_kit
from playground.slack.web_api.call import Call, Method
from playground.slack.web_api.chat_methods import numbered
from playground.slack.workspace import Json, SlackError, Workspace, WorkspaceChange, duplicate

MAX_STACK = 3
MAX_TITLE = 24
MAX_PRIVATE_METADATA = 3000


class Views:
    """Each person's stack of modals and App Home. Guarded by the workspace's lock."""

    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace
        self.trigger_lifetime = 3.0
        """Seconds in which a click may be answered with a modal."""
        self.homes: dict[str, Json] = {}
        self._stacks: dict[str, list[Json]] = {}
        self._triggers: dict[str, tuple[str, float]] = {}

    def methods(self) -> dict[str, Method]:
        return {
            "views.open": self.open,
            "views.push": self.push,
            "views.update": self.update,
            "views.publish": self.publish,
        }

    def trigger(self, user: str) -> str:
        """A fresh trigger id; good once."""
        trigger = self.workspace.next_id("trigger.")
        self._triggers[trigger] = (user, self.workspace.clock() + self.trigger_lifetime)
        return trigger

    def top(self, user: str) -> Json | None:
        """The modal that `user` sees."""
        with self.workspace.changed:
            stack = self._stacks.get(user)
            return duplicate(stack[-1]) if stack else None

    def stack(self, user: str) -> list[Json]:
        with self.workspace.changed:
            return duplicate(self._stacks.get(user, []))

    def open(self, call: Call) -> Json:
        user = self.redeem(call)
        return {"view": self.show(user, _view_argument(call), push=False)}

    def push(self, call: Call) -> Json:
        user = self.redeem(call)
        return {"view": self.show(user, _view_argument(call), push=True)}

    def update(self, call: Call) -> Json:
        name, external = call.text("view_id"), call.text("external_id")
        for user, stack in self._stacks.items():
            for place, view in enumerate(stack):
                if (name and view["id"] == name) or (external and view["external_id"] == external):
                    if call.text("hash") not in ("", view["hash"]):
                        raise SlackError("hash_conflict")
                    return {"view": self.replace(user, place, _view_argument(call))}
        raise SlackError("not_found")

    def publish(self, call: Call) -> Json:
        user = call.need("user_id")
        if user not in self.workspace.people:
            raise SlackError("user_not_found")
        if (shown := self.homes.get(user)) and call.text("hash") not in ("", shown["hash"]):
            raise SlackError("hash_conflict")
        view = self._new(_view_argument(call, "home"))
        self.homes[user] = view
        self.workspace.tell(WorkspaceChange(kind="home", user=user, detail=duplicate(view)))
        return {"view": view}

    def show(self, user: str, view: Json, *, push: bool) -> Json:
        """Open a modal, or put one on top; raises SlackError for one that Slack refuses."""
        with self.workspace.changed:
            check(view, "modal")
            stack = self._stacks.setdefault(user, []) if push else []
            if len(stack) >= MAX_STACK:
                raise SlackError("push_limit_reached")
            self._stacks[user] = stack
            new = self._new(view)
            new["root_view_id"] = stack[0]["id"] if stack else new["id"]
            new["previous_view_id"] = stack[-1]["id"] if stack else None
            stack.append(new)
            self._tell(user)
            return duplicate(new)

    def replace(self, user: str, place: int, view: Json) -> Json:
        with self.workspace.changed:
            check(view, "modal")
            old = self._stacks[user][place]
            kept = {name: old[name] for name in ("id", "root_view_id", "previous_view_id")}
            new = {**self._new(view), **kept}
            self._stacks[user][place] = new
            self._tell(user)
            return duplicate(new)

    def close(self, user: str, *, every: bool) -> None:
        with self.workspace.changed:
            if every:
                self._stacks.pop(user, None)
            elif self._stacks.get(user):
                self._stacks[user].pop()
            self._tell(user)

    def _tell(self, user: str) -> None:
        top = self.top(user)
        self.workspace.tell(WorkspaceChange(kind="view", user=user, detail={"view": top}))

    def redeem(self, call: Call) -> str:
        """Whose trigger it is; it is used up."""
        user, until = self._triggers.pop(call.need("trigger_id"), ("", 0.0))
        if not user:
            raise SlackError("invalid_trigger_id")
        if self.workspace.clock() > until:
            raise SlackError("expired_trigger_id")
        return user

    def _new(self, view: Json) -> Json:
        name = self.workspace.next_id("V")
        defaults: Json = {
            "callback_id": "",
            "private_metadata": "",
            "external_id": "",
            "submit": None,
            "close": None,
            "clear_on_close": False,
            "notify_on_close": False,
        }
        return {
            **defaults,
            **duplicate(view),
            "blocks": numbered(Call(self.workspace, {}), duplicate(view["blocks"])),
            "id": name,
            "team_id": tidewater.TEAM_ID,
            "app_id": tidewater.APP_ID,
            "app_installed_team_id": tidewater.TEAM_ID,
            "bot_id": tidewater.BOT_ID,
            "hash": f"{self.workspace.next_ts()}.{name}",
            "root_view_id": name,
            "previous_view_id": None,
            "state": {"values": {}},
        }


def check(view: Json, kind: str) -> None:
    """Raise SlackError as `views.*` would refuse this view."""
    if view.get("type") != kind or not isinstance(view.get("blocks"), list):
        raise SlackError("invalid_arguments", [f"[ERROR] must be a {kind} view with blocks"])
    if not all(isinstance(block, dict) for block in view["blocks"]):
        raise SlackError(
            "invalid_arguments", ["[ERROR] must be objects [json-pointer:/view/blocks]"]
        )
    messages = [
        problem.replace("[json-pointer:", "[json-pointer:/view")
        for problem in block_kit.problems(view["blocks"], kind)
    ]
    if len(str(view.get("private_metadata", ""))) > MAX_PRIVATE_METADATA:
        messages.append(
            "[ERROR] must be less than 3001 characters [json-pointer:/view/private_metadata]"
        )
    for name in ("title", "submit", "close") if kind == "modal" else ():
        text = view.get(name) or {}
        if (name == "title" and not text) or len(str(text.get("text", ""))) > MAX_TITLE:
            messages.append(f"[ERROR] must be less than 25 characters [json-pointer:/view/{name}]")
    has_input = any(block.get("type") == "input" for block in view["blocks"])
    if kind == "modal" and has_input and not view.get("submit"):
        messages.append("[ERROR] missing required field: submit [json-pointer:/view]")
    if messages:
        raise SlackError("invalid_arguments", messages)


def _view_argument(call: Call, kind: str = "modal") -> Json:
    value: Any = call.arguments.get("view")
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except ValueError as error:
            raise SlackError("invalid_arguments", ["[ERROR] view is not JSON"]) from error
    if not isinstance(value, dict):
        raise SlackError("invalid_arguments", ["[ERROR] missing required field: view"])
    check(value, kind)
    return value
