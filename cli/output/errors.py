"""Usage errors: one line, with the nearest command or option."""

from __future__ import annotations

import re
from collections.abc import Iterator
from difflib import get_close_matches
from typing import Any

import typer

_UNKNOWN = re.compile(r"No such (command|option)[: ]+'?([^\s'.]+)'?")


def usage_error(error: typer.TyperException) -> str:
    """Text for standard error: the help if no arguments were given, else one line."""
    context: Any = getattr(error, "ctx", None)
    message = error.format_message().strip()
    if context is None:
        return f"oncall: {message}\n"
    if type(error).__name__ == "NoArgsIsHelpError":
        return f"{context.get_help()}\n"
    return f"oncall: {_in_words(message, context)}\n"


def _in_words(message: str, context: Any) -> str:
    path = _path(context)
    unknown = _UNKNOWN.match(message)
    if unknown and unknown[1] == "command":
        meant = ", ".join(f"`{one}`" for one in _meant(unknown[2], context, path))
        tail = f"did you mean {meant}?" if meant else f"`{path} --help` lists what there is"
        return f"there is no `{path} {unknown[2]}`; {tail}"
    if unknown:
        tail = f"did you mean {close}?" if (close := _option(unknown[2], context)) else ""
        return f"`{path}` has no {unknown[2]}; {tail or f'`{path} --help` lists what it has'}"
    if missing := re.match(r"Missing (?:argument|option) '?([^'.]+)'?", message):
        return f"`{path}` needs {missing[1]}; `{path} --help` says more"
    return f"{message[:1].lower()}{message[1:].rstrip('.')}; `{path} --help` says more"


def _meant(name: str, context: Any, path: str) -> list[str]:
    """Suggests commands: exact names in any group (`oncall config check` for `oncall check`), else
    the nearest name of this group, or of all."""
    everywhere = [*_commands(context.find_root().command, "oncall")]
    if exact := [full for full in everywhere if full.split()[-1] == name]:
        return exact[:3]
    here = getattr(context.command, "commands", {})
    if close := get_close_matches(name, here, n=1):
        return [f"{path} {close[0]}"]
    by_name = {full.split()[-1]: full for full in everywhere}
    return [by_name[one] for one in get_close_matches(name, by_name, n=1, cutoff=0.75)]


def _commands(command: Any, path: str) -> Iterator[str]:
    for name, child in getattr(command, "commands", {}).items():
        yield f"{path} {name}"
        yield from _commands(child, f"{path} {name}")


def _option(name: str, context: Any) -> str:
    options = [
        option for one in context.command.params for option in (*one.opts, *one.secondary_opts)
    ]
    return next(iter(get_close_matches(name, options, n=1)), "")


def _path(context: Any) -> str:
    """E.g. `oncall ingest`, independent of the program's own name."""
    return " ".join(["oncall", *context.command_path.split()[1:]])
