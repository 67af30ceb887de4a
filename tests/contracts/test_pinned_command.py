"""The command line: every command, argument and option."""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import Any, get_args

from typer.main import get_command

from cli.main import app
from tests.contracts.pins import check_json

PLAIN = {bool: "yes or no", float: "number", int: "whole number", Path: "path", str: "text"}


def takes(kind: Any) -> list[str]:
    """Words for what a value may be; the words themselves where only some are allowed."""
    if kind in PLAIN:
        return [PLAIN[kind]]
    if isinstance(kind, type) and issubclass(kind, Enum):
        return sorted(str(one.value) for one in kind)
    return [
        word for one in get_args(kind) for word in ([one] if isinstance(one, str) else takes(one))
    ]


def described(command: Any) -> Any:
    """A group's commands, or a command's parameters; words of help may change."""
    if hasattr(command, "commands"):
        return {name: described(child) for name, child in command.commands.items()}
    return [
        {
            "named": [*one.opts, *one.secondary_opts] if one.param_type_name == "option" else [],
            "takes": takes(one.type_descriptor.annotation),
            "default": None if callable(one.default) else str(one.default),
            "required": one.required,
            "several": one.nargs != 1 or one.multiple,
            "hidden": one.hidden,
            "range": [one.min, one.max],
            "variables": one.envvar,
        }
        for one in command.params
    ]


def test_commands_keep_their_names_arguments_and_options() -> None:
    check_json("commands.json", described(get_command(app)))
