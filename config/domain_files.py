"""Reads and checks domain files. Every problem has a file, line and column."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import get_args

import yaml
from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from config.domain import Domain
from config.errors import ConfigError
from config.parsing.strict_yaml import UnreadableFileError, advice, misread, read_mapping, read_text
from config.settings import Settings
from loaders.registry import used_kinds

SUFFIXES = (".yaml", ".yml")
MAX_CHOICES = 20
"""Number of choices that an error lists."""


@dataclass(frozen=True)
class Problem:
    """One thing wrong in a domain file; line and column count from 1."""

    path: Path
    line: int
    column: int
    message: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}:{self.column}: {self.message}"


Check = Callable[[Domain], Iterable[Problem]]


def no_checks(domain: Domain) -> Iterable[Problem]:
    return ()


def unset(domain: Domain, settings: Settings) -> Iterator[Problem]:
    """Problems of a domain file that only the settings reveal."""
    if domain.retrieval.rerank in ("cross_encoder", "both") and not settings.cross_encoder:
        yield problem_at(
            domain.path,
            ["retrieval", "rerank"],
            "retrieval.rerank: no cross-encoder is named; set ONCALL_CROSS_ENCODER to its name or "
            "folder, or write `model` or `none`",
        )
    for place, server in enumerate(domain.tools):
        at: list[int | str] = ["tools", place]
        if server.command and not settings.tool_commands:
            yield problem_at(
                domain.path, [*at, "command"],
                "tools.command: domain files may start nothing here; use url, or set "
                "ONCALL_TOOL_COMMANDS=on if all who write them may run commands",
            )  # fmt: skip
        if server.token and not settings.tool_token(server.token):
            message = f"tools.token: {server.token} is not set; export it or put it in .env"
            yield problem_at(domain.path, [*at, "token"], message)
    limits = domain.limits
    dollars = {
        name for name in ("dollars_per_day", "dollars_per_user_per_day") if getattr(limits, name)
    }
    if dollars and (unpriced := settings.unpriced_models()):
        yield problem_at(
            domain.path,
            ["limits", min(dollars)],
            f"limits.{min(dollars)}: {', '.join(unpriced)} has no price; set ONCALL_PRICES, or "
            "write a limit in tokens",
        )
    if domain.tools and domain.answer.effort == "fast":
        yield problem_at(
            domain.path,
            ["tools"],
            "tools: with `effort: fast` nothing is asked; write `standard`, or leave tools out",
        )


def load_domains(config_dir: Path, also: Check = no_checks) -> dict[str, Domain]:
    """Every domain of `config_dir/domains/*.yaml` by its id.

    Raises ConfigError, which lists the problems of all files."""
    domains, problems = check_domains(config_dir, also)
    if problems:
        raise ConfigError(
            "\n".join(str(problem) for problem in problems),
            remedy="correct the domain file and run `oncall config check`",
        )
    return domains


def domain_paths(config_dir: Path) -> list[Path]:
    """YAML files in name order, with a suffix in any case; hidden files, such as an editor's
    copies, are skipped."""
    return sorted(
        path
        for path in (config_dir / "domains").glob("*")
        if path.suffix.lower() in SUFFIXES and not path.name.startswith(".")
    )


def check_domains(
    config_dir: Path, also: Check = no_checks
) -> tuple[dict[str, Domain], list[Problem]]:
    """The valid domains and all problems, files in name order.

    `also` adds checks that need more than the file. Raises ConfigError when there are no files."""
    folder = config_dir / "domains"
    paths = domain_paths(config_dir)
    if not paths:
        raise ConfigError(
            f"no domain files in {folder}",
            remedy="run `oncall init`, or set ONCALL_CONFIG_DIR to a folder with domains/*.yaml",
        )
    domains: dict[str, Domain] = {}
    problems: list[Problem] = []
    channels: dict[str, Path] = {}
    for path in paths:
        if path.suffix not in SUFFIXES:
            message = f"this file is ignored; rename it to {path.stem}{path.suffix.lower()}"
            problems.append(Problem(path, 1, 1, message))
            continue
        domain, file_problems = read_domain(path)
        problems += file_problems
        if domain is None:
            continue
        problems += also(domain)
        if domain.domain in domains:
            other = domains[domain.domain].path
            message = f"domain {domain.domain!r} is already defined in {other}"
            problems.append(problem_at(path, ["domain"], f"{message}; give each its own name"))
            continue
        for place, channel in enumerate(domain.channels):
            if (owner := channels.setdefault(channel, path)) != path:
                message = f"channel {channel!r} already belongs to {owner}"
                message += "; one domain answers in a channel"
                problems.append(problem_at(path, ["channels", place], message))
        domains[domain.domain] = domain
    return domains, problems


def read_domain(path: Path) -> tuple[Domain | None, list[Problem]]:
    """One file: the domain, or None and its problems."""
    try:
        root, values = read_mapping(read_text(path))
    except UnreadableFileError as error:
        return None, [Problem(path, error.line, error.column, error.message)]
    problems = [placed(path, node, message) for node, message in misread(root)]
    problems += _glossary(path, root)
    misread_at = {(problem.line, problem.column) for problem in problems}
    try:
        domain = Domain.model_validate(values).read_from(path)
    except ValidationError as error:
        invalid = (placed(path, *refused(Domain, root, detail)) for detail in error.errors())
        return None, problems + [one for one in invalid if (one.line, one.column) not in misread_at]
    problems += _duplicates(path, root, domain)
    problems += _contradictions(path, root, domain)
    if not domain.sources.used_keys():
        message = "sources: no documents to answer from; name some, as in `files: [handbook/*.md]`"
        problems.append(placed(path, node_at(root, ["sources"], want_key=True), message))
    return (None, problems) if problems else (domain, [])


def problem_at(
    path: Path, location: Sequence[int | str], message: str, *, want_key: bool = False
) -> Problem:
    """A problem of a readable file, at the key or item named by `location`."""
    try:
        root, _ = read_mapping(read_text(path))
    except UnreadableFileError:  # the file was changed or deleted since
        return Problem(path, 1, 1, message)
    return placed(path, node_at(root, location, want_key=want_key), message)


def _duplicates(path: Path, root: yaml.MappingNode, domain: Domain) -> Iterator[Problem]:
    """Channels, example questions and documents of an example that occur twice."""
    lines: dict[str, int] = {}
    for place, channel in enumerate(domain.channels):
        node = node_at(root, ["channels", place])
        if channel in lines:
            message = f"channel {channel!r} is already on line {lines[channel]}"
            yield placed(path, node, f"{message}; leave one of them out")
        lines.setdefault(channel, node.start_mark.line + 1)
    lines.clear()
    for place, example in enumerate(domain.examples):
        words = " ".join(example.question.casefold().split())
        node = node_at(root, ["examples", place, "question"])
        if words in lines:
            message = f"the same question is the example on line {lines[words]}"
            yield placed(path, node, f"{message}; merge their documents")
        lines.setdefault(words, node.start_mark.line + 1)
        for position, document in enumerate(example.documents):
            if document in example.documents[:position]:
                node = node_at(root, ["examples", place, "documents", position])
                yield placed(path, node, f"document {document!r} is in this example twice")


def _contradictions(path: Path, root: yaml.MappingNode, domain: Domain) -> Iterator[Problem]:
    for kind in used_kinds(domain):
        for place, message in kind.contradictions(domain):
            node = node_at(root, ["sources", kind.key, *place])
            yield placed(path, node, f"sources.{kind.key}: {message}")


def _glossary(path: Path, root: yaml.MappingNode) -> Iterator[Problem]:
    """Duplicate short forms and meanings, ignoring case and white space."""
    glossary = node_at(root, ["glossary"])
    if glossary is root or not isinstance(glossary, yaml.MappingNode):
        return
    lines: dict[str, int] = {}
    spellings: set[str] = set()
    for key, meanings in glossary.value:
        ways = {same := _folded(key)}
        if same in lines and key.value not in spellings:
            message = f"short form {key.value!r} is already on line {lines[same]}"
            yield placed(path, key, f"{message}; join their meanings")
        spellings.add(str(key.value))
        lines.setdefault(same, key.start_mark.line + 1)
        for meaning in meanings.value if isinstance(meanings, yaml.SequenceNode) else ():
            if (way := _folded(meaning)) in ways:
                message = f"glossary: {meaning.value!r} repeats {key.value!r} or another meaning"
                yield placed(path, meaning, f"{message}; leave one of them out")
            ways.add(way)


def _folded(node: yaml.Node) -> str:
    return " ".join(str(node.value).casefold().split())


def nearest(word: str, options: Sequence[str]) -> str:
    """`; did you mean 'x'?`, or else the first MAX_CHOICES options, or '' without options."""
    close = difflib.get_close_matches(word, options, n=1, cutoff=0.6)
    if close:
        return f"; did you mean {close[0]!r}?"
    choices = [*options[:MAX_CHOICES], "…"] if len(options) > MAX_CHOICES else options
    return f"; known: {', '.join(choices)}" if options else ""


def refused(model: type[BaseModel], root: yaml.Node, detail: ErrorDetails) -> tuple[yaml.Node, str]:
    """The node and the message for one validation error of a model."""
    location = detail["loc"]
    dotted = ".".join(map(str, location))
    if detail["type"] == "extra_forbidden":
        options = _keys(model, location[:-1])
        message = f"unknown key {str(location[-1])!r}{nearest(str(location[-1]), options)}"
        return node_at(root, location, want_key=True), message
    if detail["type"] == "missing":
        return node_at(root, location[:-1]), f"missing key {dotted!r}"
    of_key = location[-1:] == ("[key]",)
    node = node_at(root, location[:-1] if of_key else location, want_key=of_key)
    text = advice(detail, node, keys=_keys(model, location), choices=_choices(model, location))
    key = dotted.removesuffix(".[key]")
    return node, f"{key}: {text}" if key else text


def placed(path: Path, node: yaml.Node, message: str) -> Problem:
    mark = node.start_mark
    return Problem(path, mark.line + 1, mark.column + 1, message)


def node_at(root: yaml.Node, location: Sequence[int | str], *, want_key: bool = False) -> yaml.Node:
    """The deepest node on the way to `location`; its key when `want_key`."""
    node = root
    for depth, part in enumerate(location):
        if isinstance(node, yaml.MappingNode):
            if isinstance(part, int):  # one entry, written without the list
                continue
            pair = next((pair for pair in node.value if pair[0].value == str(part)), None)
            if pair is None:
                return node
            node = pair[0] if want_key and depth == len(location) - 1 else pair[1]
        elif isinstance(node, yaml.SequenceNode) and isinstance(part, int):
            if part >= len(node.value):
                return node
            node = node.value[part]
    return node


def _section(model: type[BaseModel], location: Sequence[int | str]) -> type[BaseModel] | None:
    current: type[BaseModel] | None = model
    for part in location:
        if isinstance(part, int):
            continue
        field = current.model_fields.get(part) if current else None
        if field is None:
            return None
        current = next(_sections_in(field.annotation), None)
    return current


def _sections_in(annotation: object) -> Iterator[type[BaseModel]]:
    """In lists, unions and what is annotated, at any depth."""
    if parts := get_args(annotation):
        for part in parts:
            yield from _sections_in(part)
    elif isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation


def _keys(model: type[BaseModel], location: Sequence[int | str]) -> list[str]:
    section = _section(model, location)
    return list(section.model_fields) if section else []


def _choices(model: type[BaseModel], location: Sequence[int | str]) -> list[str]:
    if not location:  # the file as a whole
        return []
    section = _section(model, location[:-1])
    field = section.model_fields.get(str(location[-1])) if section else None
    return [str(choice) for choice in get_args(field.annotation)] if field else []
