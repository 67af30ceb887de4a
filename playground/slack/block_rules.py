"""Block Kit as Slack accepts it: types, places and limits.

`problems` words each refusal as Slack does in `response_metadata.messages`, with a JSON pointer.
Limits: docs.slack.dev/reference/block-kit, and the validators of `slack_sdk.models.blocks`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any
from urllib.parse import urlsplit

Json = dict[str, Any]
Problems = Iterator[str]

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


def problems(blocks: list[Json], surface: str = "message") -> list[str]:
    """What Slack would refuse, empty when all is well."""
    return list(_blocks(blocks, surface))


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


def _blocks(blocks: list[Json], surface: str) -> Problems:
    if len(blocks) > MAX_BLOCKS[surface]:
        yield _problem(f"no more than {MAX_BLOCKS[surface]} items allowed", "/blocks")
    seen: set[str] = set()
    for number, block in enumerate(blocks):
        where = f"/blocks/{number}"
        check = _BLOCKS.get(str(block.get("type")))
        if check is None or (block["type"] == "input" and surface == "message"):
            yield _problem(f"unsupported type: {block.get('type')}", f"{where}/type")
            continue
        block_id = block.get("block_id")
        if block_id is not None:
            yield from _length(block_id, f"{where}/block_id", 255)
            if block_id in seen:
                yield _problem(f"block_id {block_id!r} already exists", f"{where}/block_id")
            seen.add(str(block_id))
        yield from check(block, where)


def _problem(message: str, pointer: str) -> str:
    return f"[ERROR] {message} [json-pointer:{pointer}]"


def _length(value: object, where: str, maximum: int, minimum: int = 1) -> Problems:
    if not isinstance(value, str):
        yield _problem("must be a string", where)
    elif len(value) < minimum:
        yield _problem(f"must be more than {minimum - 1} characters", where)
    elif len(value) > maximum:
        yield _problem(f"must be less than {maximum + 1} characters", where)


def _text(value: object, where: str, maximum: int, kinds: str = "plain_text mrkdwn") -> Problems:
    if not isinstance(value, Mapping):
        yield _problem("must be an object", where)
        return
    if value.get("type") not in kinds.split():
        yield _problem(f"unsupported type: {value.get('type')}", f"{where}/type")
    yield from _length(value.get("text"), f"{where}/text", maximum)


def _items(value: object, where: str, maximum: int) -> Iterator[tuple[str, Json]]:
    """The objects of a list, with their pointers; how many is `_count`'s concern."""
    for number, item in enumerate(value if isinstance(value, list) else []):
        if isinstance(item, dict) and number < maximum:
            yield f"{where}/{number}", item


def _count(value: object, where: str, maximum: int) -> Problems:
    if not isinstance(value, list) or not value:
        yield _problem("must provide a list with at least 1 item", where)
    elif len(value) > maximum:
        yield _problem(f"no more than {maximum} items allowed", where)
    elif not all(isinstance(item, dict | list) for item in value):
        yield _problem("must be objects", where)


def _url(value: object, where: str) -> Problems:
    yield from _length(value, where, 3000)
    if isinstance(value, str) and urlsplit(value).scheme not in ("http", "https", "mailto"):
        yield _problem("must be a valid URL", where)


def _section(block: Json, where: str) -> Problems:
    if "text" not in block and "fields" not in block:
        yield _problem("missing required field: text", where)
    if "text" in block:
        yield from _text(block["text"], f"{where}/text", 3000)
    if "fields" in block:
        yield from _count(block["fields"], f"{where}/fields", 10)
        for pointer, field in _items(block["fields"], f"{where}/fields", 10):
            yield from _text(field, pointer, 2000)
    if "accessory" in block:
        yield from _element(block["accessory"], f"{where}/accessory", IN_SECTION)


def _header(block: Json, where: str) -> Problems:
    yield from _text(block.get("text"), f"{where}/text", 150, "plain_text")


def _markdown(block: Json, where: str) -> Problems:
    yield from _length(block.get("text"), f"{where}/text", MARKDOWN_TOTAL)


def _context(block: Json, where: str) -> Problems:
    yield from _count(block.get("elements"), f"{where}/elements", 10)
    for pointer, element in _items(block.get("elements"), f"{where}/elements", 10):
        if element.get("type") == "image":
            yield from _image(element, pointer)
        else:
            yield from _text(element, pointer, 3000)


def _image(block: Json, where: str) -> Problems:
    yield from _length(block.get("alt_text"), f"{where}/alt_text", 2000)
    if "slack_file" not in block:
        yield from _url(block.get("image_url"), f"{where}/image_url")
    if "title" in block:
        yield from _text(block["title"], f"{where}/title", 2000, "plain_text")


def _elements(allowed: set[str], maximum: int) -> Callable[[Json, str], Problems]:
    def check(block: Json, where: str) -> Problems:
        yield from _count(block.get("elements"), f"{where}/elements", maximum)
        seen: set[str] = set()
        for pointer, element in _items(block.get("elements"), f"{where}/elements", maximum):
            yield from _element(element, pointer, allowed)
            action_id = element.get("action_id")
            if action_id in seen:
                yield _problem(f"action_id {action_id!r} already exists", f"{pointer}/action_id")
            seen.add(str(action_id) if action_id else pointer)

    return check


def _input(block: Json, where: str) -> Problems:
    yield from _text(block.get("label"), f"{where}/label", 2000, "plain_text")
    if "hint" in block:
        yield from _text(block["hint"], f"{where}/hint", 2000, "plain_text")
    yield from _element(block.get("element"), f"{where}/element", IN_INPUT)


def _element(element: object, where: str, allowed: set[str]) -> Problems:
    if not isinstance(element, dict) or element.get("type") not in allowed:
        kind = element.get("type") if isinstance(element, dict) else None
        yield _problem(f"unsupported type: {kind}", f"{where}/type")
        return
    if "action_id" in element:
        yield from _length(element["action_id"], f"{where}/action_id", 255)
    if "placeholder" in element:
        yield from _text(element["placeholder"], f"{where}/placeholder", 150, "plain_text")
    if "options" in element or element["type"] in MAX_OPTIONS:
        yield from _options(element, where)
    yield from _ELEMENTS.get(element["type"], _nothing)(element, where)


def _options(element: Json, where: str) -> Problems:
    maximum = MAX_OPTIONS.get(element["type"], 100)
    yield from _count(element.get("options"), f"{where}/options", maximum)
    for pointer, option in _items(element.get("options"), f"{where}/options", maximum):
        yield from _text(option.get("text"), f"{pointer}/text", 75)
        yield from _length(option.get("value"), f"{pointer}/value", 150)


def _button(element: Json, where: str) -> Problems:
    yield from _text(element.get("text"), f"{where}/text", 75, "plain_text")
    yield from _value(element, where)
    if "url" in element:
        yield from _url(element["url"], f"{where}/url")
    if element.get("style", "primary") not in ("primary", "danger"):
        yield _problem("must be one of: primary, danger", f"{where}/style")


def _value(element: Json, where: str) -> Problems:
    if "value" in element:
        yield from _length(element["value"], f"{where}/value", 2000, minimum=0)


def _feedback(element: Json, where: str) -> Problems:
    for name in ("positive_button", "negative_button"):
        button = element.get(name)
        if not isinstance(button, dict):
            yield _problem(f"missing required field: {name}", where)
            continue
        yield from _text(button.get("text"), f"{where}/{name}/text", 75, "plain_text")
        yield from _length(button.get("value"), f"{where}/{name}/value", 2000)


def _icon_button(element: Json, where: str) -> Problems:
    yield from _text(element.get("text"), f"{where}/text", 75, "plain_text")
    yield from _value(element, where)
    if element.get("icon") != "trash":
        yield _problem("must be one of: trash", f"{where}/icon")


def _plain_input(element: Json, where: str) -> Problems:
    if element.get("max_length", 1) not in range(1, 3001):
        yield _problem("must be between 1 and 3000", f"{where}/max_length")
    if "initial_value" in element:
        yield from _length(element["initial_value"], f"{where}/initial_value", 3000, minimum=0)


def _rich_text(block: Json, where: str) -> Problems:
    kinds = ("section", "list", "preformatted", "quote")
    yield from _count(block.get("elements"), f"{where}/elements", 1000)
    for pointer, element in _items(block.get("elements"), f"{where}/elements", 1000):
        if element.get("type") not in [f"rich_text_{kind}" for kind in kinds]:
            yield _problem(f"unsupported type: {element.get('type')}", f"{pointer}/type")


def _table(block: Json, where: str) -> Problems:
    yield from _count(block.get("rows"), f"{where}/rows", 100)
    for number, row in enumerate(block.get("rows") or []):
        pointer = f"{where}/rows/{number}"
        yield from _count(row, pointer, 20)
        for cell_pointer, cell in _items(row, pointer, 20):
            if cell.get("type") not in ("raw_text", "raw_number", "rich_text"):
                yield _problem(f"unsupported type: {cell.get('type')}", f"{cell_pointer}/type")


def _nothing(block: Json, where: str) -> Problems:
    return iter(())


_ELEMENTS: dict[str, Callable[[Json, str], Problems]] = {
    "button": _button,
    "feedback_buttons": _feedback,
    "icon_button": _icon_button,
    "image": _image,
    "plain_text_input": _plain_input,
}

_BLOCKS: dict[str, Callable[[Json, str], Problems]] = {
    "actions": _elements(IN_ACTIONS, 25),
    "context": _context,
    "context_actions": _elements(IN_CONTEXT_ACTIONS, 5),
    "divider": _nothing,
    "header": _header,
    "image": _image,
    "input": _input,
    "markdown": _markdown,
    "plan": _nothing,
    "rich_text": _rich_text,
    "section": _section,
    "table": _table,
    "task_card": _nothing,
}
