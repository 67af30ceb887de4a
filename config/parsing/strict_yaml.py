"""Reads YAML and rejects values that YAML would silently change, with line and column.

PyYAML reads YAML 1.1, in which `NO` is false, `0160` is 112 and `1:30` is 90. Also writes advice
for values of a wrong type."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import yaml
from pydantic_core import ErrorDetails

_GROUPED_DIGITS = re.compile(r"\d{1,3}([,._' ]?\d{3})+")


def advice(
    detail: ErrorDetails, node: yaml.Node, *, keys: Sequence[str] = (), choices: Sequence[str] = ()
) -> str:
    """The message for a validation error.

    `node`: the value's node; `keys`: keys of its section; `choices`: choices of its key."""
    value = detail["input"]
    if value is None:
        return "is empty; write a value, or leave the key out"
    match detail["type"]:
        case "list_type" if isinstance(node, yaml.ScalarNode):
            return f"expected a list; write [{node.value}]"
        case "list_type":
            return "expected a list, as in [one, other]"
        case "model_type":
            return f"expected keys such as {keys[0]}:" if keys else "expected keys"
        case "dict_type":
            return "expected keys, each with its value, as in SG: [Singapore]"
        case "too_long" if isinstance(value, list | dict):
            most = detail["ctx"]["max_length"]
            return f"{len(value):,} entries; at most {most:,}"
        case "int_type" | "float_type" | "int_from_float":
            number = "number" if detail["type"] == "float_type" else "whole number"
            return f"expected a {number}{_without_grouping(value)}"
        case "bool_type":
            return "expected true or false"
        case "string_type" if isinstance(node, yaml.ScalarNode):
            return f"expected text; write '{node.value}'"
        case "string_type":
            return "expected text; put quotes around it"
        case "literal_error":
            close = difflib.get_close_matches(str(value), choices, n=1)
            return _lowered(detail["msg"]) + (f"; did you mean {close[0]!r}?" if close else "")
    return _lowered(detail["msg"])


def _without_grouping(value: object) -> str:
    if isinstance(value, str) and _GROUPED_DIGITS.fullmatch(value):
        return "; write " + re.sub(r"\D", "", value)
    return ""


def _lowered(message: str) -> str:
    """The message with a lower-case first letter, as in our own messages."""
    return message[:1].lower() + message[1:]


MAX_BYTES = 1_000_000
MAX_FIELDS = 16_000
"""Limit of a document's front matter, in characters."""
_PLAIN_NUMBER = re.compile(r"[-+]?(0|[1-9]\d{0,17})(\.\d{1,18})?")
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")
_BOOLEAN = "tag:yaml.org,2002:bool"
_NOTHING = "tag:yaml.org,2002:null"
_NUMBERS = ("tag:yaml.org,2002:int", "tag:yaml.org,2002:float")


class UnreadableFileError(Exception):
    """A file without readable YAML. Line and column count from 1."""

    def __init__(self, message: str, line: int = 1, column: int = 1) -> None:
        super().__init__(message)
        self.message = message
        self.line = line
        self.column = column


class _TextLoader(yaml.SafeLoader):
    """Keys and dates stay text as written: no setting is a date."""

    yaml_implicit_resolvers = {  # noqa: RUF012  # the base class has it so
        first: [(tag, form) for tag, form in resolvers if tag != "tag:yaml.org,2002:timestamp"]
        for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }

    def construct_mapping(self, node: Any, deep: bool = False) -> dict[Any, Any]:
        self.flatten_mapping(node)
        return {
            key.value
            if isinstance(key, yaml.ScalarNode)
            else str(self.construct_object(key, deep=True)): self.construct_object(value, deep=True)
            for key, value in node.value
        }

    def construct_object(self, node: Any, deep: bool = False) -> Any:
        try:
            return super().construct_object(node, deep=deep)
        except (ValueError, KeyError, IndexError) as error:  # a bad number or explicit tag
            raise yaml.constructor.ConstructorError(
                None, None, f"`{_short(node)}` can't be read: {error}", node.start_mark
            ) from error


class _FieldsLoader(yaml.SafeLoader):
    """Rejects aliases: a few lines of them can expand to gigabytes. Numbers, `no` and impossible
    dates, such as 30 February, stay text as written."""

    yaml_implicit_resolvers = {  # noqa: RUF012  # the base class has it so
        first: [(tag, form) for tag, form in resolvers if tag not in (*_NUMBERS, _BOOLEAN)]
        for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }

    def compose_node(self, parent: Any, index: Any) -> Any:
        if self.check_event(yaml.AliasEvent):
            event = self.peek_event()  # type: ignore[no-untyped-call]
            raise yaml.composer.ComposerError(
                None, None, "an alias (`*name`); write its value out", event.start_mark
            )
        return super().compose_node(parent, index)

    def construct_day(self, node: Any) -> Any:
        try:
            return self.construct_yaml_timestamp(node)
        except ValueError:
            return node.value


_FieldsLoader.add_constructor("tag:yaml.org,2002:timestamp", _FieldsLoader.construct_day)


def read_fields(text: str) -> Any:
    """The values in a document's front matter. Raises UnreadableFileError."""
    if len(text) > MAX_FIELDS:
        raise UnreadableFileError(f"{len(text):,} characters, more than {MAX_FIELDS:,}")
    try:
        return yaml.load(text, Loader=_FieldsLoader)  # noqa: S506  # it is a SafeLoader
    except yaml.MarkedYAMLError as error:
        raise _located(error) from error
    except (yaml.YAMLError, ValueError, KeyError, IndexError, RecursionError) as error:
        raise UnreadableFileError("not YAML") from error


def read_text(path: Path) -> str:
    """Raises UnreadableFileError for a file that is unreadable, too large or not UTF-8."""
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise UnreadableFileError(f"can't be read: {error.strerror or error}") from error
    if len(data) > MAX_BYTES:
        raise UnreadableFileError("larger than 1 MB; what answers are made of belongs in documents")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        before = data[: error.start].decode("utf-8")
        byte = data[error.start]
        raise UnreadableFileError(
            f"can't be read: byte 0x{byte:02x} isn't UTF-8; save the file as UTF-8", *_place(before)
        ) from error


def read_mapping(text: str) -> tuple[yaml.MappingNode, dict[str, Any]]:
    """(nodes with positions, values) of a file with keys.

    Raises UnreadableFileError for invalid YAML or a file without keys."""
    root, values = _read(text)
    if not isinstance(root, yaml.MappingNode) or not isinstance(values, dict):
        raise UnreadableFileError("expected keys such as `domain:` and `sources:`")
    return root, values


def read_list(text: str) -> tuple[list[yaml.Node], list[Any]]:
    """(nodes, values) of a file with a list; both empty for an empty file."""
    root, values = _read(text)
    if root is None:
        return [], []
    if not isinstance(root, yaml.SequenceNode) or not isinstance(values, list):
        raise UnreadableFileError("expected a list, each entry after a hyphen")
    return root.value, values


def _read(text: str) -> tuple[yaml.Node | None, Any]:
    try:
        root = yaml.compose(text, Loader=_TextLoader)
        values = yaml.load(text, Loader=_TextLoader)  # noqa: S506  # it is a SafeLoader
    except yaml.MarkedYAMLError as error:
        raise _located(error) from error
    except yaml.reader.ReaderError as error:
        character = ord(error.character) if isinstance(error.character, str) else error.character
        raise UnreadableFileError(
            f"holds the control character U+{character:04X}; delete it",
            *_place(text[: error.position]),
        ) from error
    except RecursionError as error:
        raise UnreadableFileError("can't be read: nested too deeply") from error
    return root, values


def misread(root: yaml.Node) -> Iterator[tuple[yaml.Node, str]]:
    """Nodes that YAML reads differently than written, and duplicate keys, each with a message."""
    for node in _all_nodes(root):
        if isinstance(node, yaml.MappingNode):
            yield from _misread_keys(node)
        elif isinstance(node, yaml.ScalarNode):
            if _LONE_SURROGATE.search(node.value):
                yield node, "holds half a character (\\ud800 to \\udfff); write the whole one"
            elif node.tag in _NUMBERS and not _PLAIN_NUMBER.fullmatch(node.value):
                message = "is no plain decimal number; write its digits alone"
                yield node, f"`{_short(node)}` {message}, or quotes around it if it is text"


def _misread_keys(node: yaml.MappingNode) -> Iterator[tuple[yaml.Node, str]]:
    keys: set[str] = set()
    for key, _ in node.value:
        if not isinstance(key, yaml.ScalarNode):
            yield key, "expected a name as key; is a bracket or brace too many?"
            continue
        if key.value in keys:
            yield key, f"key {key.value!r} is given twice"
        elif _LONE_SURROGATE.search(key.value):
            yield key, "holds half a character (\\ud800 to \\udfff); write the whole one"
        elif key.tag in (_BOOLEAN, _NOTHING, *_NUMBERS):
            yield key, f"`{_short(key)}` means {_meaning(key)} in YAML; write `'{_short(key)}':`"
        keys.add(key.value)


def _meaning(key: yaml.ScalarNode) -> str:
    if key.tag == _BOOLEAN:
        return str(yaml.SafeLoader.bool_values.get(key.value.lower(), "a truth value")).lower()
    return "nothing" if key.tag == _NOTHING else "a number"


def _all_nodes(root: yaml.Node) -> Iterator[yaml.Node]:
    """Each node but keys, once: aliases may repeat a node or form a cycle."""
    ids: set[int] = set()
    waiting = [root]
    while waiting:
        node = waiting.pop()
        if id(node) in ids:
            continue
        ids.add(id(node))
        yield node
        if isinstance(node, yaml.MappingNode):
            waiting += [value for _, value in reversed(node.value)]
        elif isinstance(node, yaml.SequenceNode):
            waiting += reversed(node.value)


def _located(error: yaml.MarkedYAMLError) -> UnreadableFileError:
    mark = error.problem_mark or error.context_mark
    place = (mark.line + 1, mark.column + 1) if mark else (1, 1)
    reason = error.problem or "not valid YAML"
    if reason == "but found another document":
        reason = "a second document begins here; one file describes one domain"
    return UnreadableFileError(reason, *place)


def _place(before: str) -> tuple[int, int]:
    """Line and column, from 1, of the position after this text."""
    return before.count("\n") + 1, len(before) - (before.rfind("\n") + 1) + 1


def _short(node: yaml.Node) -> str:
    text = str(node.value)
    return text if len(text) <= 40 else text[:39] + "…"
