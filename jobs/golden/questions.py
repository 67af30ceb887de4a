"""Golden questions and their files. The reader reports every problem with file, line and column."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, PrivateAttr, ValidationError
from pydantic_core import ErrorDetails

from agents.answer import Question, Turn
from config.domain_files import Problem, node_at, placed, refused
from config.errors import ConfigError
from config.parsing.strict_yaml import UnreadableFileError, misread, read_list, read_text
from enrichment.references import find_document

Kind = Literal["lookup", "table", "multi_hop", "follow_up", "ambiguous", "unanswerable", "proposed"]
Unanswerable = Literal[
    "underspecified",
    "false_presupposition",
    "nonsensical",
    "modality_limited",
    "safety_concerned",
    "out_of_documents",
]
"""Why there is no answer. Source: Peng et al., UAEval4RAG, ACL 2025."""


class _Entry(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class GoldenTurn(_Entry):
    role: Literal["user", "assistant"]
    content: str


def as_turns(history: Sequence[GoldenTurn]) -> tuple[Turn, ...]:
    """Convert golden turns to the turns that agents read."""
    return tuple(Turn(role=turn.role, content=turn.content) for turn in history)


class Evidence(_Entry):
    document: str = Field(description="Document id, path or file name")
    heading: str = Field("", description="The nearest heading above the quote")
    quote: str = Field(description="Verbatim, white space and markup aside")


class ProposedBy(_Entry):
    """Where a proposed question comes from."""

    by: str = Field("", description="Slack user id, or the model that wrote it")
    origin: str = Field("", description="`correction`, `handoff`, `accepted` or `generated`")
    source: str = Field("", description="Where the answer stands, in its author's words")
    kind: Kind | None = Field(None, description="What it would be, once somebody confirms it")


class GoldenQuestion(_Entry):
    """One entry of a golden file."""

    id: str
    kind: Kind
    question: str
    history: list[GoldenTurn] = []
    reference: str = ""
    must_include: list[str] = Field([], description="Facts that stand literally in the documents")
    rubric: list[str] = Field([], description="Facts in other words, for a judge")
    evidence: list[Evidence] = []
    instructions: str = Field("", description="What the judge should know of this question")
    tags: list[str] = Field([], description="Groups of your own, reported beside the kinds")
    category: Unanswerable | None = Field(None, description="Why an unanswerable one is")
    proposed: ProposedBy | None = Field(
        None, description="Of a question that nobody has confirmed yet"
    )

    _digest: str = PrivateAttr("")
    """Of the question as written, when its documents are resolved."""

    @property
    def as_question(self) -> Question:
        """The question with its thread, as the agents receive it."""
        return Question(text=self.question, history=as_turns(self.history))

    @property
    def digest(self) -> str:
        """SHA-256 of id, question, thread and evidence as written. A reworded reference does not
        change it."""
        if self._digest:
            return self._digest
        text = self.model_dump_json(include={"id", "question", "history", "evidence"})
        return hashlib.sha256(text.encode()).hexdigest()

    def with_ids(self, documents: Mapping[str, str]) -> GoldenQuestion:
        """The question with the ids of the documents that its evidence names. `documents`: see
        `find_document`. Raises ConfigError for a name that several of them have."""
        try:
            evidence = [
                one.model_copy(
                    update={"document": find_document(one.document, documents) or one.document}
                )
                for one in self.evidence
            ]
        except ConfigError as error:
            raise ConfigError(f"{self.id}: {error.problem}", remedy=error.remedy) from None
        question = self.model_copy(update={"evidence": evidence})
        question._digest = self.digest
        return question

    @property
    def documents(self) -> frozenset[str]:
        return frozenset(one.document for one in self.evidence)

    @property
    def answerable(self) -> bool:
        """Whether the documents have one answer."""
        return self.kind not in ("ambiguous", "unanswerable", "proposed")


@dataclass(frozen=True, kw_only=True)
class PlacedQuestion:
    """A golden question and its position in a file."""

    question: GoldenQuestion
    path: Path
    node: yaml.Node

    @property
    def place(self) -> str:
        """`security.yaml:12`"""
        return f"{self.path.name}:{self.node.start_mark.line + 1}"

    def problem(self, message: str, *location: str | int, want_key: bool = False) -> Problem:
        """A problem at one of the question's keys; `location`: path of keys and indexes."""
        node = node_at(self.node, location, want_key=want_key)
        return placed(self.path, node, f"{self.question.id}: {message}")


def load_golden(paths: Sequence[Path]) -> list[GoldenQuestion]:
    """Load all questions of the files, in order.

    Raises ConfigError with the first problem, for a duplicate id, or when there are none."""
    entries: list[PlacedQuestion] = []
    for path in paths:
        questions, problems = read_golden(path)
        entries += questions
        if problems:
            raise ConfigError(
                str(problems[0]), remedy="`oncall golden check` lists all that is wrong"
            )
    by_id: dict[str, PlacedQuestion] = {}
    for one in entries:
        if (other := by_id.setdefault(one.question.id, one)) is not one:
            raise ConfigError(str(one.problem(taken_on(other), "id")))
    if not entries:
        named = ", ".join(map(str, paths)) or "no file"
        raise ConfigError(f"no golden questions in {named}")
    return [one.question for one in entries]


def taken_on(other: PlacedQuestion) -> str:
    """The message for a duplicate id."""
    return f"this id is taken on {other.place}; give each its own"


def read_golden(path: Path) -> tuple[list[PlacedQuestion], list[Problem]]:
    """The valid questions of one file, and the problems of the others.

    Raises ConfigError when the file does not exist."""
    if not path.is_file():
        what = "is a folder" if path.is_dir() else "No such file or directory"
        raise ConfigError(f"{path}: {what}", remedy="name a golden file (YAML)")
    try:
        nodes, values = read_list(read_text(path))
    except UnreadableFileError as error:
        return [], [Problem(path, error.line, error.column, error.message)]
    entries: list[PlacedQuestion] = []
    problems: list[Problem] = []
    for node, value in zip(nodes, values, strict=True):
        wrong = [placed(path, at, message) for at, message in misread(node)]
        try:
            question = GoldenQuestion.model_validate(value)
        except ValidationError as error:
            name = str(value.get("id") or "") if isinstance(value, dict) else ""
            wrong_at = {(one.line, one.column) for one in wrong}
            lines = (_problem(path, node, name, detail) for detail in error.errors())
            wrong += [one for one in lines if (one.line, one.column) not in wrong_at]
        else:
            if not wrong:
                entries.append(PlacedQuestion(question=question, path=path, node=node))
        problems += wrong
    return entries, problems


def _problem(path: Path, entry: yaml.Node, name: str, detail: ErrorDetails) -> Problem:
    if not isinstance(entry, yaml.MappingNode):
        return placed(path, entry, "expected a question with `id:`, `kind:` and `question:`")
    node, message = refused(GoldenQuestion, entry, detail)
    return placed(path, node, f"{name}: {message}" if name else message)
