"""Forms that open over the conversation. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from bot.message.blockkit import Json

MAX_TEXT = 3_000


def modal(
    callback: str, title: str, blocks: Sequence[Json], *, remember: str, submit: str, close: str
) -> Json:
    """`callback` and `remember` come back with its submission."""
    return {
        "type": "modal",
        "callback_id": callback,
        "private_metadata": remember,
        "title": {"type": "plain_text", "text": title},
        "submit": {"type": "plain_text", "text": submit},
        "close": {"type": "plain_text", "text": close},
        "blocks": list(blocks),
    }


def input_block(
    block_id: str, label: str, element: Json, *, optional: bool = True, hint: str = ""
) -> Json:
    return {
        **({"hint": {"type": "plain_text", "text": hint}} if hint else {}),
        "type": "input",
        "block_id": block_id,
        "optional": optional,
        "label": {"type": "plain_text", "text": label},
        "element": {**element, "action_id": "value"},
    }


def text_input(*, multiline: bool, initial: str = "") -> Json:
    element: Json = {"type": "plain_text_input", "multiline": multiline, "max_length": MAX_TEXT}
    return {**element, "initial_value": initial[:MAX_TEXT]} if initial else element


def submitted(view: Json, block_id: str) -> str:
    """What was entered in an input of a submitted modal; empty when nothing."""
    value = ((view.get("state") or {}).get("values") or {}).get(block_id, {}).get("value") or {}
    return str(value.get("value") or (value.get("selected_option") or {}).get("value") or "")
