"""Damaged documents: refused by name, or read with a warning for what is missing."""

from __future__ import annotations

import copy
import json
import random
import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from config.errors import LoadError
from loaders.docs.response import parse_document
from loaders.output import document_to_json, document_to_markdown
from tests.loaders.google.documents import rich_document
from tests.loaders.thoroughly import SHARED, examples

JUNK = [5, -1, 10**30, 1.5, float("nan"), True, "x", "", [], [3], {}, {"a": 1}, [[]], "\ud800"]
CONTENT = re.compile(r"content|elements|textRun|paragraph|table|tableRows|tableCells|body|tabs")
Path = list[Any]


def _sources() -> list[Any]:
    captured = sorted((SHARED / "fixtures" / "google_docs").rglob("*.json"))
    small = [path for path in captured if path.stat().st_size < 120_000]
    return [rich_document(), *(json.loads(path.read_text()) for path in small)]


SOURCES = _sources()


def _places(value: Any, path: Path) -> list[Path]:
    inside = value.items() if isinstance(value, dict) else enumerate(value)
    found = []
    for key, part in inside:
        found.append([*path, key])
        if isinstance(part, dict | list):
            found += _places(part, [*path, key])
    return found


def _mutate(document: Any, rng: random.Random, kind: str) -> tuple[Any, Path]:
    mutated = copy.deepcopy(document)
    path = rng.choice(_places(mutated, []))
    holder = mutated
    for key in path[:-1]:
        holder = holder[key]
    key = path[-1]
    match kind:
        case "junk":
            holder[key] = copy.deepcopy(rng.choice(JUNK))
        case "null":
            holder[key] = None
        case "delete":
            del holder[key]
        case "graft":
            other = rng.choice(_places(document, []))
            value = document
            for step in other:
                value = value[step]
            holder[key] = copy.deepcopy(value)
        case _:
            if isinstance(holder, list):
                holder += copy.deepcopy(holder)
            else:
                holder[f"{key}X"] = holder.pop(key)
    return mutated, path


@settings(max_examples=examples(quick=300, thorough=5_000), deadline=None)
@given(
    source=st.integers(0, len(SOURCES) - 1),
    seed=st.integers(0, 2**32),
    kinds=st.lists(
        st.sampled_from(["junk", "null", "delete", "graft", "other"]), min_size=1, max_size=4
    ),
)
def test_a_damaged_document_is_refused_or_read(source: int, seed: int, kinds: list[str]) -> None:
    document, rng = SOURCES[source], random.Random(seed)
    for kind in kinds:
        if document:
            document, _ = _mutate(document, rng, kind)
    try:
        read = parse_document(document)
    except LoadError:
        return
    document_to_markdown(read).encode()
    json.dumps(document_to_json(read)).encode()


def _words(value: Any) -> int:
    if isinstance(value, list):
        return sum(map(_words, value))
    if isinstance(value, dict):
        own = value.get("content")
        if isinstance(own, str):
            return len(re.findall(r"\w+", own))
        return sum(_words(v) for v in value.values())
    return 0


@settings(max_examples=examples(quick=200, thorough=2_000), deadline=None)
@given(seed=st.integers(0, 2**32))
def test_content_that_turned_into_something_else_is_never_lost_in_silence(seed: int) -> None:
    document, rng = rich_document(), random.Random(seed)
    mutated, path = _mutate(document, rng, "junk")
    holder = mutated
    for key in path:
        holder = holder[key]
    replaced_content = CONTENT.fullmatch(str(path[-1])) and not isinstance(holder, list | dict)
    if not replaced_content or isinstance(holder, str) or _words(document) == _words(mutated):
        return
    try:
        read = parse_document(mutated)
    except LoadError:
        return
    assert read.warnings, path


@pytest.mark.parametrize("value", [None, [], "text", 3])
def test_what_is_no_object_is_refused(value: Any) -> None:
    with pytest.raises(LoadError, match="not a JSON object"):
        parse_document(value)
