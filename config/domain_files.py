"""Domain files, read as a compiler reads source: every problem has a file, line and column."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import get_args

import yaml
from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from config.domain import NOT_YET, Domain
from config.errors import ConfigError

MAX_BYTES = 1_000_000
MOST_KNOWN = 20
"""Choices that an error names."""


@dataclass(frozen=True, kw_only=True)
class Problem:
    """One thing wrong in a domain file; line and column count from 1."""

    path: Path
    line: int
    column: int
    message: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}:{self.column}: {self.message}"


def load_domains(config_dir: Path) -> dict[str, Domain]:
    """Every domain of `config_dir/domains/*.yaml` by its id.

    Raises ConfigError that lists every problem of every file."""
    domains, problems = check_domains(config_dir)
    if problems:
        raise ConfigError(
            "\n".join(str(problem) for problem in problems),
            remedy="correct the domain file and run `oncall config check`",
        )
    return domains


def check_domains(config_dir: Path) -> tuple[dict[str, Domain], list[Problem]]:
    """The valid domains and all problems, files in name order."""
    folder = config_dir / "domains"
    paths = sorted(folder.glob("*.yaml")) + sorted(folder.glob("*.yml"))
    if not paths:
        raise ConfigError(
            f"no domain files in {folder}",
            remedy="set ONCALL_CONFIG_DIR to a folder with domains/*.yaml",
        )
    domains: dict[str, Domain] = {}
    problems: list[Problem] = []
    channels: dict[str, Path] = {}
    for path in paths:
        domain, found = read_domain(path)
        problems += found
        if domain is None:
            continue
        if domain.domain in domains:
            other = domains[domain.domain].path
            message = f"domain {domain.domain!r} is already defined in {other}"
            problems.append(problem_at(path, ["domain"], f"{message}; give each its own name"))
            continue
        for place, channel in enumerate(domain.channels):
            if (owner := channels.setdefault(channel, path)) != path:
                message = f"channel {channel!r} already belongs to {owner}"
                problems.append(
                    problem_at(
                        path, ["channels", place], f"{message}; one domain answers in a channel"
                    )
                )
        domains[domain.domain] = domain
    return domains, problems


def read_domain(path: Path) -> tuple[Domain | None, list[Problem]]:
    """One file: the domain, or None and what is wrong with it."""
    try:
        text = path.read_bytes()[:MAX_BYTES].decode("utf-8")
        root = yaml.compose(text, Loader=yaml.SafeLoader)
        values = yaml.safe_load(text)
    except (OSError, UnicodeDecodeError, RecursionError) as error:
        return None, [Problem(path=path, line=1, column=1, message=f"can't be read: {error}")]
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line, column = (mark.line + 1, mark.column + 1) if mark else (1, 1)
        reason = error.problem or "not valid YAML"
        return None, [Problem(path=path, line=line, column=column, message=reason)]
    except (yaml.YAMLError, ValueError) as error:
        return None, [Problem(path=path, line=1, column=1, message=f"not valid YAML: {error}")]
    if not isinstance(root, yaml.MappingNode) or not isinstance(values, dict):
        message = "expected keys such as `domain:` and `sources:`"
        return None, [Problem(path=path, line=1, column=1, message=message)]
    problems = [_at(path, node, message) for node, message in _repeated_keys(root)]
    try:
        domain = Domain.model_validate(values).read_from(path)
    except ValidationError as error:
        problems += [_problem(path, root, detail) for detail in error.errors()]
        return None, problems
    problems += _told_twice(path, root, domain)
    return (None, problems) if problems else (domain, [])


def problem_at(path: Path, location: Sequence[int | str], message: str) -> Problem:
    """A problem of a file that could be read, at the key or item named by `location`."""
    try:
        root = yaml.compose(path.read_text(encoding="utf-8"), Loader=yaml.SafeLoader)
    except (OSError, ValueError, yaml.YAMLError):  # it has been changed or taken away since
        root = None
    if root is None:
        return Problem(path=path, line=1, column=1, message=message)
    return _at(path, _node(root, location), message)


def _told_twice(path: Path, root: yaml.MappingNode, domain: Domain) -> Iterator[Problem]:
    """Channels and examples that the file has already named."""
    seen: dict[str, int] = {}
    for place, channel in enumerate(domain.channels):
        node = _node(root, ["channels", place])
        if channel in seen:
            message = f"channel {channel!r} is already on line {seen[channel]}"
            yield _at(path, node, f"{message}; leave one of them out")
        seen.setdefault(channel, node.start_mark.line + 1)
    seen.clear()
    for place, example in enumerate(domain.examples):
        words = " ".join(example.question.casefold().split())
        node = _node(root, ["examples", place, "question"])
        if words in seen:
            message = f"the same question is the example on line {seen[words]}"
            yield _at(path, node, f"{message}; merge their documents")
        seen.setdefault(words, node.start_mark.line + 1)


def nearest(word: str, known: Sequence[str]) -> str:
    """`; did you mean 'x'?`, or the choices while they fit a line, or nothing."""
    close = difflib.get_close_matches(word, known, n=1, cutoff=0.6)
    if close:
        return f"; did you mean {close[0]!r}?"
    shown = [*known[:MOST_KNOWN], "…"] if len(known) > MOST_KNOWN else known
    return f"; known: {', '.join(shown)}" if known else ""


def _problem(path: Path, root: yaml.MappingNode, detail: ErrorDetails) -> Problem:
    location = detail["loc"]
    dotted = ".".join(str(part) for part in location)
    if unbuilt := NOT_YET.get(dotted) or NOT_YET.get(f"{dotted}: {detail['input']}"):
        said = dotted if dotted in NOT_YET else f"{dotted}: {detail['input']}"
        wants_key = detail["type"] == "extra_forbidden"
        return _at(path, _node(root, location, want_key=wants_key), f"`{said}`: {unbuilt}")
    if detail["type"] == "extra_forbidden":
        known = _keys(Domain, location[:-1])
        message = f"unknown key {str(location[-1])!r}{nearest(str(location[-1]), known)}"
        return _at(path, _node(root, location, want_key=True), message)
    if detail["type"] == "missing":
        return _at(path, _node(root, location[:-1]), f"missing key {dotted!r}")
    message = f"{dotted}: {detail['msg'][0].lower()}{detail['msg'][1:]}"
    if detail["type"] == "literal_error":
        close = difflib.get_close_matches(str(detail["input"]), _choices(Domain, location), n=1)
        message += f"; did you mean {close[0]!r}?" if close else ""
    return _at(path, _node(root, location), message)


def _at(path: Path, node: yaml.Node, message: str) -> Problem:
    mark = node.start_mark
    return Problem(path=path, line=mark.line + 1, column=mark.column + 1, message=message)


def _node(root: yaml.Node, location: Sequence[int | str], *, want_key: bool = False) -> yaml.Node:
    """The deepest node on the way to `location`; its key when `want_key`."""
    node = root
    for depth, part in enumerate(location):
        if isinstance(node, yaml.MappingNode):
            pair = next((pair for pair in node.value if pair[0].value == str(part)), None)
            if pair is None:
                return node
            node = pair[0] if want_key and depth == len(location) - 1 else pair[1]
        elif isinstance(node, yaml.SequenceNode) and isinstance(part, int):
            if part >= len(node.value):
                return node
            node = node.value[part]
    return node


def _repeated_keys(
    node: yaml.Node, above: frozenset[int] = frozenset()
) -> Iterator[tuple[yaml.Node, str]]:
    """YAML keeps the last of two equal keys and says nothing; an admin would never find out.

    `above` holds the ids of the nodes around this one: an alias may point back to them."""
    if id(node) in above:
        return
    children: list[yaml.Node] = []
    if isinstance(node, yaml.MappingNode):
        seen: set[str] = set()
        for key, value in node.value:
            if key.value in seen:
                yield key, f"key {key.value!r} is given twice"
            seen.add(key.value)
            children.append(value)
    elif isinstance(node, yaml.SequenceNode):
        children = list(node.value)
    for child in children:
        yield from _repeated_keys(child, above | {id(node)})


def _section(model: type[BaseModel], location: Sequence[int | str]) -> type[BaseModel] | None:
    current: type[BaseModel] | None = model
    for part in location:
        if isinstance(part, int):
            continue
        field = current.model_fields.get(part) if current else None
        if field is None:
            return None
        candidates = (field.annotation, *get_args(field.annotation))
        current = next(
            (c for c in candidates if isinstance(c, type) and issubclass(c, BaseModel)), None
        )
    return current


def _keys(model: type[BaseModel], location: Sequence[int | str]) -> list[str]:
    section = _section(model, location)
    fields: Mapping[str, object] = section.model_fields if section else {}
    return list(fields)


def _choices(model: type[BaseModel], location: Sequence[int | str]) -> list[str]:
    section = _section(model, location[:-1])
    field = section.model_fields.get(str(location[-1])) if section else None
    return [str(choice) for choice in get_args(field.annotation)] if field else []
