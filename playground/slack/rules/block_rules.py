"""Block Kit as Slack accepts it: types, places and limits.

`problems` words each refusal as Slack does in `response_metadata.messages`, with a JSON pointer.
Limits: docs.slack.dev/reference/block-kit, and the validators of `slack_sdk.models.blocks`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

from playground.slack.rules.agent_rules import (
    data_table,
    plan,
    rich_text,
    table,
    task_card,
    too_much_in_tables,
)
from playground.slack.rules.rule_parts import (
    Json,
    Problems,
    count,
    items,
    length,
    problem,
    text,
    url,
)

MAX_BLOCKS = {"message": 50, "modal": 100, "home": 100}
MARKDOWN_TOTAL = 12_000
MESSAGE_TOTAL = 13_200
"""Characters in all blocks of a message of several blocks. Slack documents no figure; measured by
its users (slackapi/bolt-js#2509)."""

SELECTS = {
    f"{many}{kind}_select"
    for many in ("", "multi_")
    for kind in ("static", "external", "users", "conversations", "channels")
}
PICKERS = {"datepicker", "timepicker", "datetimepicker"}
CHOICES = {"checkboxes", "radio_buttons"}
TYPED = {"plain_text_input", "email_text_input", "url_text_input", "number_input"}
IN_ACTIONS = {"button", "overflow", "workflow_button"} | SELECTS | PICKERS | CHOICES
IN_SECTION = IN_ACTIONS | {"image"}
IN_CONTEXT_ACTIONS = {"feedback_buttons", "icon_button"}
IN_INPUT = TYPED | SELECTS | PICKERS | CHOICES | {"rich_text_input", "file_input"}
INTERACTIVE = IN_ACTIONS | IN_INPUT | IN_CONTEXT_ACTIONS
MAX_OPTIONS = {"checkboxes": 10, "radio_buttons": 10, "overflow": 5}


def problems(
    blocks: list[Json], surface: str = "message", unsupported: Collection[str] = ()
) -> list[str]:
    """What Slack would refuse, empty when all is well; `unsupported`: types that it lacks yet."""
    return list(_blocks(blocks, surface, unsupported))


def text_length(block: Any) -> int:
    """Characters of every string under a `text` key, as the total of a message counts them."""
    if isinstance(block, Mapping):
        own = block.get("text")
        length = len(own) if isinstance(own, str) else 0
        return length + sum(text_length(value) for value in block.values())
    return sum(text_length(item) for item in block) if isinstance(block, list) else 0


def too_long(blocks: list[Json]) -> bool:
    """Whether Slack answers `msg_blocks_too_long`."""
    markdown = sum(len(str(b.get("text"))) for b in blocks if b.get("type") == "markdown")
    total = sum(text_length(block) for block in blocks)
    return markdown > MARKDOWN_TOTAL or (len(blocks) > 1 and total > MESSAGE_TOTAL)


def _blocks(blocks: list[Json], surface: str, unsupported: Collection[str]) -> Problems:
    if len(blocks) > MAX_BLOCKS[surface]:
        yield problem(f"no more than {MAX_BLOCKS[surface]} items allowed", "/blocks")
    seen: set[str] = set()
    for number, block in enumerate(blocks):
        where = f"/blocks/{number}"
        kind = str(block.get("type"))
        check = None if kind in unsupported else _BLOCKS.get(kind)
        if check is None or surface in _NOT_ON.get(block["type"], ()):
            yield problem(f"unsupported type: {block.get('type')}", f"{where}/type")
            continue
        block_id = block.get("block_id")
        if block_id is not None:
            yield from length(block_id, f"{where}/block_id", 255)
            if block_id in seen:
                yield problem(f"block_id {block_id!r} already exists", f"{where}/block_id")
            seen.add(str(block_id))
        yield from check(block, where)
    yield from too_much_in_tables(blocks)


def _section(block: Json, where: str) -> Problems:
    if "text" not in block and "fields" not in block:
        yield problem("missing required field: text", where)
    if "text" in block:
        yield from text(block["text"], f"{where}/text", 3000)
    if "fields" in block:
        yield from count(block["fields"], f"{where}/fields", 10)
        for pointer, field in items(block["fields"], f"{where}/fields", 10):
            yield from text(field, pointer, 2000)
    if "accessory" in block:
        yield from _element(block["accessory"], f"{where}/accessory", IN_SECTION)


def _header(block: Json, where: str) -> Problems:
    yield from text(block.get("text"), f"{where}/text", 150, "plain_text")


def _markdown(block: Json, where: str) -> Problems:
    yield from length(block.get("text"), f"{where}/text", MARKDOWN_TOTAL)


def _context(block: Json, where: str) -> Problems:
    yield from count(block.get("elements"), f"{where}/elements", 10)
    for pointer, element in items(block.get("elements"), f"{where}/elements", 10):
        if element.get("type") == "image":
            yield from _image(element, pointer)
        else:
            yield from text(element, pointer, 3000)


def _image(block: Json, where: str) -> Problems:
    yield from length(block.get("alt_text"), f"{where}/alt_text", 2000)
    if "slack_file" not in block:
        yield from url(block.get("image_url"), f"{where}/image_url")
    if "title" in block:
        yield from text(block["title"], f"{where}/title", 2000, "plain_text")


def _elements(allowed: set[str], maximum: int) -> Callable[[Json, str], Problems]:
    def check(block: Json, where: str) -> Problems:
        yield from count(block.get("elements"), f"{where}/elements", maximum)
        seen: set[str] = set()
        for pointer, element in items(block.get("elements"), f"{where}/elements", maximum):
            yield from _element(element, pointer, allowed)
            action_id = element.get("action_id")
            if action_id in seen:
                yield problem(f"action_id {action_id!r} already exists", f"{pointer}/action_id")
            seen.add(str(action_id) if action_id else pointer)

    return check


def _input(block: Json, where: str) -> Problems:
    yield from text(block.get("label"), f"{where}/label", 2000, "plain_text")
    if "hint" in block:
        yield from text(block["hint"], f"{where}/hint", 2000, "plain_text")
    yield from _element(block.get("element"), f"{where}/element", IN_INPUT)


def _element(element: object, where: str, allowed: set[str]) -> Problems:
    if not isinstance(element, dict) or element.get("type") not in allowed:
        kind = element.get("type") if isinstance(element, dict) else None
        yield problem(f"unsupported type: {kind}", f"{where}/type")
        return
    if "action_id" in element:
        yield from length(element["action_id"], f"{where}/action_id", 255)
    if "placeholder" in element:
        yield from text(element["placeholder"], f"{where}/placeholder", 150, "plain_text")
    if "options" in element or element["type"] in MAX_OPTIONS:
        yield from _options(element, where)
    yield from _ELEMENTS.get(element["type"], _nothing)(element, where)


def _options(element: Json, where: str) -> Problems:
    maximum = MAX_OPTIONS.get(element["type"], 100)
    yield from count(element.get("options"), f"{where}/options", maximum)
    for pointer, option in items(element.get("options"), f"{where}/options", maximum):
        yield from text(option.get("text"), f"{pointer}/text", 75)
        yield from length(option.get("value"), f"{pointer}/value", 150)


def _button(element: Json, where: str) -> Problems:
    yield from text(element.get("text"), f"{where}/text", 75, "plain_text")
    yield from _value(element, where)
    yield from _spoken(element, where)
    if "url" in element:
        yield from url(element["url"], f"{where}/url")
    if element.get("style", "primary") not in ("primary", "danger"):
        yield problem("must be one of: primary, danger", f"{where}/style")


def _value(element: Json, where: str) -> Problems:
    if "value" in element:
        yield from length(element["value"], f"{where}/value", 2000, minimum=0)


def _spoken(element: Json, where: str) -> Problems:
    """What a screen reader says of a button."""
    if "accessibility_label" in element:
        yield from length(element["accessibility_label"], f"{where}/accessibility_label", 75)


def _feedback(element: Json, where: str) -> Problems:
    for name in ("positive_button", "negative_button"):
        button = element.get(name)
        if not isinstance(button, dict):
            yield problem(f"missing required field: {name}", where)
            continue
        yield from text(button.get("text"), f"{where}/{name}/text", 75, "plain_text")
        yield from length(button.get("value"), f"{where}/{name}/value", 2000)
        yield from _spoken(button, f"{where}/{name}")


def _icon_button(element: Json, where: str) -> Problems:
    yield from text(element.get("text"), f"{where}/text", 75, "plain_text")
    yield from _value(element, where)
    yield from _spoken(element, where)
    if element.get("icon") != "trash":
        yield problem("must be one of: trash", f"{where}/icon")
    if "visible_to_user_ids" in element:
        yield from count(element["visible_to_user_ids"], f"{where}/visible_to_user_ids", 10, str)


def _plain_input(element: Json, where: str) -> Problems:
    if element.get("max_length", 1) not in range(1, 3001):
        yield problem("must be between 1 and 3000", f"{where}/max_length")
    if "initial_value" in element:
        yield from length(element["initial_value"], f"{where}/initial_value", 3000, minimum=0)


def _nothing(block: Json, where: str) -> Problems:
    return iter(())


_ELEMENTS: dict[str, Callable[[Json, str], Problems]] = {
    "button": _button,
    "feedback_buttons": _feedback,
    "icon_button": _icon_button,
    "image": _image,
    "plain_text_input": _plain_input,
}

_NOT_ON = {
    "input": {"message"},
    "data_table": {"modal"},
    "table": {"modal"},
    "plan": {"modal", "home"},
    "task_card": {"modal", "home"},
}
_BLOCKS: dict[str, Callable[[Json, str], Problems]] = {
    "actions": _elements(IN_ACTIONS, 25),
    "context": _context,
    "context_actions": _elements(IN_CONTEXT_ACTIONS, 5),
    "data_table": data_table,
    "divider": _nothing,
    "header": _header,
    "image": _image,
    "input": _input,
    "markdown": _markdown,
    "plan": plan,
    "rich_text": rich_text,
    "section": _section,
    "table": table,
    "task_card": task_card,
}
