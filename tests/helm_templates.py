"""As much of Helm's template language as our chart uses; anything else is an error.

Source: pkg.go.dev/text/template, helm.sh/docs/chart_template_guide."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

_ACTION = re.compile(r"\{\{(-?)((?:\"(?:\\.|[^\"\\])*\"|/\*.*?\*/|.)*?)(-?)\}\}", re.DOTALL)
_TOKEN = re.compile(
    r'\s*(?:(?P<text>"(?:\\.|[^"\\])*")|(?P<number>-?\d+)|(?P<path>\$\w*(?:\.\w+)*|(?:\.\w+)+|\.)'
    r"|(?P<word>\w+)|(?P<sign>:=|[|(),]))"
)
_BLOCKS = {"if", "with", "range", "define"}
Tokens = list[tuple[str, str]]


class TemplateError(Exception):
    """What Helm would refuse, or print as `<no value>`."""


@dataclass
class _Block:
    """`else` begins another one: its branches are tried in turn."""

    kind: str
    head: Tokens
    body: list[Any] = field(default_factory=list)
    otherwise: list[Any] | None = None


def rendered(chart: Path, values: Mapping[str, Any], release: str = "oncall") -> dict[str, str]:
    """Template's file name → what it becomes. `values` go over those of values.yaml."""
    about = yaml.safe_load((chart / "Chart.yaml").read_text(encoding="utf-8"))
    defaults = yaml.safe_load((chart / "values.yaml").read_text(encoding="utf-8"))
    root = {
        "Values": merged(defaults, values),
        "Chart": {
            "Name": about["name"], "Version": about["version"], "AppVersion": about["appVersion"]
        },
        "Release": {"Name": release, "Namespace": "tools", "Service": "Helm"},
    }  # fmt: skip
    parsed = {
        path.name: _parse(path.read_text(encoding="utf-8"))
        for path in sorted((chart / "templates").iterdir())
    }
    defined = {
        json.loads(node.head[0][1]): node.body
        for nodes in parsed.values() for node in nodes
        if isinstance(node, _Block) and node.kind == "define"
    }  # fmt: skip
    renderer = _Renderer(defined)
    return {name: renderer.text(nodes, root, {"$": root}) for name, nodes in parsed.items()}


def merged(under: Any, over: Any) -> Any:
    if isinstance(under, Mapping) and isinstance(over, Mapping):
        return {**under, **{key: merged(under.get(key), value) for key, value in over.items()}}
    return over


def _parse(source: str) -> list[Any]:
    stack = [_Block("define", [])]
    targets = [stack[0].body]
    for piece in _pieces(source):
        if isinstance(piece, str):
            targets[-1].append(piece)
            continue
        kind = piece[0][1] if piece[0][0] == "word" else ""
        if kind in _BLOCKS:
            block = _Block(kind, piece[1:])
            targets[-1].append(block)
            stack.append(block)
            targets.append(block.body)
        elif kind == "else":
            if piece[1:]:
                raise TemplateError("`else if` is not used here")
            stack[-1].otherwise = targets[-1] = []
        elif kind == "end":
            stack.pop()
            targets.pop()
        else:
            targets[-1].append(piece)
    if len(stack) != 1:
        raise TemplateError(f"{stack[-1].kind} has no end")
    return stack[0].body


def _pieces(source: str) -> Iterator[str | Tokens]:
    at, trim = 0, False
    for match in _ACTION.finditer(source):
        text = source[at : match.start()]
        text = text.lstrip() if trim else text
        yield text.rstrip() if match[1] else text
        inside = match[2].strip()
        if not inside.startswith("/*"):
            yield _tokens(inside)
        at, trim = match.end(), bool(match[3])
    yield source[at:].lstrip() if trim else source[at:]


def _tokens(inside: str) -> Tokens:
    found, at = [], 0
    while at < len(inside):
        match = _TOKEN.match(inside, at)
        if not match or not match.lastgroup:
            raise TemplateError(f"can't be read: {inside[at:]!r}")
        found.append((match.lastgroup, match[match.lastgroup]))
        at = match.end()
    return found


class _Renderer:
    def __init__(self, defined: Mapping[str, list[Any]]) -> None:
        self._defined = defined

    def text(self, nodes: list[Any], dot: Any, names: dict[str, Any]) -> str:
        return "".join(self._node(node, dot, names) for node in nodes)

    def _node(self, node: Any, dot: Any, names: dict[str, Any]) -> str:
        if isinstance(node, str):
            return node
        if isinstance(node, _Block):
            return self._block(node, dot, dict(names))
        if len(node) > 1 and node[1] == ("sign", ":="):
            names[node[0][1]] = self._value(node[2:], dot, names)
            return ""
        return _shown(self._value(node, dot, names))

    def _block(self, block: _Block, dot: Any, names: dict[str, Any]) -> str:
        if block.kind == "define":
            return ""
        head, variables = block.head, []
        if ("sign", ":=") in head:
            assigned = head.index(("sign", ":="))
            variables = [text for kind, text in head[:assigned] if kind == "path"]
            head = head[assigned + 1 :]
        value = self._value(head, dot, names)
        if not value:
            return self.text(block.otherwise or [], dot, names)
        if block.kind == "if":
            return self.text(block.body, dot, names)
        if block.kind == "with":
            return self.text(block.body, value, names)
        keyed = sorted(value.items()) if isinstance(value, Mapping) else list(enumerate(value))
        return "".join(
            self.text(block.body, one, {**names, **_named(variables, (key, one))})
            for key, one in keyed
        )

    def _value(self, tokens: Tokens, dot: Any, names: Mapping[str, Any]) -> Any:
        value, rest = self._pipeline(list(tokens), dot, names)
        if rest:
            raise TemplateError(f"too much: {rest}")
        return value

    def _pipeline(self, tokens: Tokens, dot: Any, names: Mapping[str, Any]) -> tuple[Any, Tokens]:
        value, piped = None, False
        while True:
            words: list[Any] = []
            called: Callable[..., Any] | None = None
            while tokens and tokens[0] not in {("sign", "|"), ("sign", ")")}:
                kind, text = tokens.pop(0)
                if kind == "word" and text not in {"true", "false"}:
                    if words or called:
                        raise TemplateError(f"{text!r} is no argument")
                    called = self._function(text)
                elif (kind, text) == ("sign", "("):
                    inner, tokens = self._pipeline(tokens, dot, names)
                    if tokens.pop(0) != ("sign", ")"):
                        raise TemplateError("a bracket is open")
                    words.append(inner)
                else:
                    words.append(_operand(kind, text, dot, names))
            words += [value] if piped else []
            if called is None and len(words) != 1:
                raise TemplateError(f"one value, or a function with its arguments: {words}")
            value, piped = called(*words) if called else words[0], True
            if not tokens or tokens[0] == ("sign", ")"):
                return value, tokens
            tokens.pop(0)

    def _function(self, name: str) -> Callable[..., Any]:
        def include(template: str, dot: Any) -> str:
            return self.text(self._defined[template], dot, {"$": dot})

        if name == "include":
            return include
        if name not in _FUNCTIONS:
            raise TemplateError(f"no function {name!r}")
        return _FUNCTIONS[name]


def _operand(kind: str, text: str, dot: Any, names: Mapping[str, Any]) -> Any:
    if kind == "text":
        return json.loads(text)
    if kind == "number":
        return int(text)
    if kind == "word":
        return text == "true"
    first, *path = text.split(".")
    value = names[first] if first else dot
    for step in filter(None, path):
        if not isinstance(value, Mapping):
            raise TemplateError(f"{text}: nothing has {step!r}")
        value = value.get(step)
    return value


def _named(variables: list[str], pair: tuple[Any, Any]) -> dict[str, Any]:
    """One variable is the value, two are key and value."""
    return dict(zip(variables, pair[2 - len(variables) :], strict=True))


def _shown(value: Any) -> str:
    if value is None:
        raise TemplateError("a value is missing")
    return str(value).lower() if isinstance(value, bool) else str(value)


def _indented(width: int, text: str) -> str:
    return "\n".join(" " * width + line for line in text.split("\n"))


def _both(*values: Any) -> Any:
    return next((one for one in values if not one), values[-1])


def _either(*values: Any) -> Any:
    return next((one for one in values if one), values[-1])


_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "and": _both,
    "concat": lambda *lists: [one for each in lists for one in each],
    "default": lambda otherwise, value=None: value or otherwise,
    "dict": lambda *pairs: dict(zip(pairs[::2], pairs[1::2], strict=True)),
    "eq": lambda one, other: one == other,
    "index": lambda value, key: value[key],
    "list": lambda *values: list(values),
    "ne": lambda one, other: one != other,
    "not": lambda value: not value,
    "nindent": lambda width, text: "\n" + _indented(width, text),
    "or": _either,
    "printf": lambda form, *values: form % values,
    "quote": lambda value: json.dumps(_shown(value), ensure_ascii=False),
    "toYaml": lambda value: yaml.safe_dump(value, sort_keys=True).rstrip("\n"),
    "trimSuffix": lambda suffix, text: text.removesuffix(suffix),
    "trunc": lambda length, text: text[:length],
}
