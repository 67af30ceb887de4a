"""Golden files, read as a compiler reads: every entry, and what is wrong with it at its place."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import yaml
from pydantic import ValidationError
from pydantic_core import ErrorDetails

from config.domain_files import Problem, node_at, placed, refused
from config.errors import ConfigError
from config.parsing.strict_yaml import UnreadableFileError, misread, read_list, read_text
from jobs.golden.golden_questions import GoldenQuestion


@dataclass(frozen=True, kw_only=True)
class PlacedQuestion:
    """A golden question, and where it stands."""

    question: GoldenQuestion
    path: Path
    node: yaml.Node

    @property
    def place(self) -> str:
        """`security.yaml:12`"""
        return f"{self.path.name}:{self.node.start_mark.line + 1}"

    def problem(self, message: str, *location: str | int, want_key: bool = False) -> Problem:
        """At one of its keys."""
        node = node_at(self.node, location, want_key=want_key)
        return placed(self.path, node, f"{self.question.id}: {message}")


def load_golden(paths: Sequence[Path]) -> list[GoldenQuestion]:
    """All entries of the files, in order. Raises ConfigError: the first problem, with its place."""
    found: list[PlacedQuestion] = []
    for path in paths:
        questions, problems = read_golden(path)
        found += questions
        if problems:
            raise ConfigError(
                str(problems[0]), remedy="`oncall golden check` lists all that is wrong"
            )
    seen: dict[str, PlacedQuestion] = {}
    for one in found:
        if (other := seen.setdefault(one.question.id, one)) is not one:
            raise ConfigError(str(one.problem(taken_on(other), "id")))
    if not found:
        named = ", ".join(map(str, paths)) or "no file"
        raise ConfigError(f"no golden questions in {named}")
    return [one.question for one in found]


def taken_on(other: PlacedQuestion) -> str:
    """Of an id."""
    return f"this id is taken on {other.place}; give each its own"


def read_golden(path: Path) -> tuple[list[PlacedQuestion], list[Problem]]:
    """The entries of one file that can be read, and what is wrong with the others.

    Raises ConfigError where there is no such file."""
    if not path.is_file():
        what = "is a folder" if path.is_dir() else "No such file or directory"
        raise ConfigError(f"{path}: {what}", remedy="name a golden file (YAML)")
    try:
        nodes, values = read_list(read_text(path))
    except UnreadableFileError as error:
        return [], [Problem(path, error.line, error.column, error.message)]
    found: list[PlacedQuestion] = []
    problems: list[Problem] = []
    for node, value in zip(nodes, values, strict=True):
        wrong = list(_misread(path, node))
        try:
            question = GoldenQuestion.model_validate(value)
        except ValidationError as error:
            name = str(value.get("id") or "") if isinstance(value, dict) else ""
            wrong_at = {(one.line, one.column) for one in wrong}
            said = (_problem(path, node, name, detail) for detail in error.errors())
            wrong += [one for one in said if (one.line, one.column) not in wrong_at]
        else:
            if not wrong:
                found.append(PlacedQuestion(question=question, path=path, node=node))
        problems += wrong
    return found, problems


def _misread(path: Path, node: yaml.Node) -> Iterator[Problem]:
    for wrong, message in misread(node):
        yield placed(path, wrong, message)


def _problem(path: Path, entry: yaml.Node, name: str, detail: ErrorDetails) -> Problem:
    if not isinstance(entry, yaml.MappingNode):
        return placed(path, entry, "expected a question with `id:`, `kind:` and `question:`")
    node, said = refused(GoldenQuestion, entry, detail)
    return placed(path, node, f"{name}: {said}" if name else said)
