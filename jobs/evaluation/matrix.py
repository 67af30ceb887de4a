"""Varies settings of a domain, to ask the same questions with each combination."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import yaml
from pydantic import ValidationError

from config.domain import Domain
from config.domain_files import refused
from config.errors import UsageError
from config.parsing.strict_yaml import read_mapping
from jobs.evaluation.strategies import STRATEGY_KEY

_OTHER_INDEX = ("chunks", "sources")
MOST = 24
"""Maximum combinations in one run."""


@dataclass(frozen=True, kw_only=True)
class Axis:
    """A key of the domain file and the values to try."""

    key: str
    """Dotted path, e.g. `answer.effort`."""
    values: tuple[Any, ...]


@dataclass(frozen=True, kw_only=True)
class Variation:
    """A domain with one combination of values."""

    name: str
    """`answer.effort=fast retrieval.hyde=true`."""
    domain: Domain


def is_axis(text: str) -> bool:
    """Whether an argument is `key.of.domain=values` rather than a file."""
    key, equals, _ = text.partition("=")
    return bool(equals) and key.replace(".", "").replace("_", "").isalnum() and "." in key


def parse_axes(texts: Sequence[str]) -> list[Axis]:
    """Parse arguments such as `answer.effort=fast,standard`. Raises UsageError."""
    axes = []
    for text in texts:
        key, _, values = text.partition("=")
        if not (is_axis(text) and values):
            raise UsageError(f"--matrix {text!r}: write it as answer.effort=fast,standard")
        read = tuple(yaml.safe_load(one) for one in values.split(","))
        axes.append(Axis(key=key, values=read))
    return axes


def variations(domain: Domain, axes: Sequence[Axis]) -> list[Variation]:
    """The domain with every combination of values.

    Raises UsageError for an invalid key or value, for a key that needs another index, and for too
    many combinations."""
    for axis in axes:
        if axis.key.partition(".")[0] in _OTHER_INDEX:
            raise UsageError(
                f"--matrix {axis.key}: it takes another index",
                remedy="write it into a copy of the domain file, for `oncall config diff-eval`",
            )
    combinations = list(product(*(axis.values for axis in axes)))
    if len(combinations) > MOST:
        raise UsageError(f"--matrix makes {len(combinations)} combinations; {MOST} at most")
    keys = [axis.key for axis in axes]
    return [_variation(domain, dict(zip(keys, one, strict=True))) for one in combinations]


def _variation(domain: Domain, values: Mapping[str, Any]) -> Variation:
    data = domain.model_dump(mode="json", exclude_unset=True)
    if STRATEGY_KEY in values:  # it is measured for all kinds, also those that have another one
        data.get("retrieval", {}).pop("strategies", None)
    for key, value in values.items():
        place = data
        *above, last = key.split(".")
        for name in above:
            place = place.setdefault(name, {})
            if not isinstance(place, dict):
                raise UsageError(f"--matrix {key}: no such key of a domain file")
        place[last] = value
    named = " ".join(f"{key}={_as_yaml(value)}" for key, value in values.items())
    try:
        varied = Domain.model_validate(data)
    except ValidationError as error:
        root, _ = read_mapping(yaml.safe_dump(data))
        _, problem = refused(Domain, root, error.errors()[0])
        raise UsageError(f"--matrix {named}: {problem}") from None
    return Variation(name=named, domain=varied.read_from(domain.path))


def _as_yaml(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) or value is None else str(value)
