"""Golden questions: what people ask, and what an acceptable answer holds."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from config.errors import ConfigError

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


class Evidence(_Entry):
    document: str = Field(description="Document id")
    heading: str = Field("", description="The nearest heading above the quote")
    quote: str = Field(description="Verbatim, white space and markup aside")


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

    @property
    def documents(self) -> frozenset[str]:
        return frozenset(one.document for one in self.evidence)

    @property
    def answerable(self) -> bool:
        """Has one answer in the documents."""
        return self.kind not in ("ambiguous", "unanswerable", "proposed")


def load_golden(paths: Sequence[Path]) -> list[GoldenQuestion]:
    """All entries of the files, in order. Raises ConfigError with file, line and what is wrong."""
    questions = [question for path in paths for question in _read(path)]
    seen: set[str] = set()
    for question in questions:
        if question.id in seen:
            raise ConfigError(
                f"golden question {question.id!r} is there twice", remedy="give each its own id"
            )
        seen.add(question.id)
    if not questions:
        named = ", ".join(map(str, paths)) or "no file"
        raise ConfigError(f"no golden questions in {named}")
    return questions


def _read(path: Path) -> list[GoldenQuestion]:
    try:
        text = path.read_text(encoding="utf-8")
        root = yaml.compose(text, Loader=yaml.SafeLoader)
        entries = yaml.safe_load(text)
    except OSError as error:
        raise ConfigError(
            f"{path}: {error.strerror or error}", remedy="name a golden file (YAML)"
        ) from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: is not UTF-8 text") from error
    except RecursionError:
        raise ConfigError(f"{path}: is nested too deeply") from None
    except ValueError as error:  # a date such as 2026-13-45
        raise ConfigError(f"{path}: {error}") from error
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        place = f":{mark.line + 1}:{mark.column + 1}" if mark else ""
        problem = getattr(error, "problem", None) or "not YAML"
        raise ConfigError(f"{path}{place}: {problem}") from error
    if entries is None:
        return []
    if not isinstance(entries, list) or not isinstance(root, yaml.SequenceNode):
        raise ConfigError(f"{path}:1:1: expected a list of questions")
    return [_entry(path, node, entry) for node, entry in zip(root.value, entries, strict=True)]


def _entry(path: Path, node: yaml.Node, entry: object) -> GoldenQuestion:
    try:
        return GoldenQuestion.model_validate(entry)
    except ValidationError as error:
        first = error.errors()[0]
        name = entry.get("id", "") if isinstance(entry, dict) else ""
        field = ".".join(map(str, first["loc"])) or "entry"
        place = f"{node.start_mark.line + 1}:{node.start_mark.column + 1}"
        raise ConfigError(f"{path}:{place}: {name} {field}: {first['msg']}") from None
