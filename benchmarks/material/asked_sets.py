"""Golden sets with the domains they are asked in, written as an administrator would write them."""

from __future__ import annotations

import hashlib
import json
import os
import random
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from jobs.golden.questions import GoldenQuestion, load_golden

ROOT = Path(__file__).resolve().parents[2]
SHARED = Path(os.environ.get("ONCALL_SHARED_DIR", ROOT.parent / "shared"))
DEMO = ("security", "privacy", "platform")
PUBLIC = ("identity", "cloud-security", "handbook")
EVERYTHING = "everything"
_GIVEN_BY_THE_DEMO = ("title", "answer", "retrieval", "examples", "glossary")


@dataclass(frozen=True)
class AskedSet:
    """Documents, the questions about them, and the domain in which these are asked."""

    name: str
    files: tuple[Path, ...]
    """Folders or files of documents, absolute."""
    golden: tuple[Path, ...]
    domain: str
    keys: Mapping[str, Any]
    """Of the domain file, `domain` and `sources` left out."""

    def questions(self) -> list[GoldenQuestion]:
        return load_golden(self.golden)


def named_set(name: str) -> AskedSet:
    """One of the six. What ships with the demo's domain counts; nobody wrote a glossary for the
    public documents. KeyError for another name."""
    if name in DEMO:
        shipped = yaml.safe_load((ROOT / f"config/domains/{name}.yaml").read_text("utf-8"))
        keys = {key: shipped[key] for key in _GIVEN_BY_THE_DEMO if key in shipped}
        folder, golden = ROOT / "playground/demo" / name, ROOT / "playground/demo/golden"
    elif name in PUBLIC:
        keys = {"title": f"{name.replace('-', ' ').capitalize()} help"}
        folder, golden = SHARED / "corpus" / name, SHARED / "golden"
    else:
        raise KeyError(name)
    return AskedSet(name, (folder,), (golden / f"{name}.yaml",), name, keys)


def given_set(name: str, golden: Sequence[Path], files: Sequence[Path]) -> AskedSet:
    """Documents and questions from anywhere; `files` may be one domain file, which then counts
    with all it says but its Slack and Drive ids."""
    keys: dict[str, Any] = {"title": f"{name.replace('-', ' ').capitalize()} help"}
    found: list[Path] = []
    for path in files:
        if path.suffix not in (".yaml", ".yml"):
            found.append(path.resolve())
            continue
        said = yaml.safe_load(path.read_text("utf-8"))
        keys |= {key: said[key] for key in _GIVEN_BY_THE_DEMO if key in said}
        found += [(path.resolve().parent / one) for one in said["sources"].get("files", [])]
    return AskedSet(name, tuple(found), tuple(golden), name, keys)


def in_one_domain(sets: Sequence[AskedSet]) -> list[AskedSet]:
    """The same questions, all asked in one domain that holds every set's documents."""
    glossary: dict[str, list[str]] = {}
    for one in sets:
        for short, meanings in one.keys.get("glossary", {}).items():
            known = glossary.setdefault(short, [])
            known += [each for each in meanings if each not in known]
    instructions = [one.keys.get("answer", {}).get("instructions", "") for one in sets]
    keys = {
        "title": "Help",
        "answer": {"instructions": " ".join(dict.fromkeys(filter(None, instructions)))},
        "examples": [each for one in sets for each in one.keys.get("examples", [])],
        "glossary": glossary,
    }
    files = tuple(dict.fromkeys(path for one in sets for path in one.files))
    return [AskedSet(one.name, files, one.golden, EVERYTHING, keys) for one in sets]


def with_files(one: AskedSet, files: Iterable[Path], *, domain: str) -> AskedSet:
    """The set with more documents, in a domain of its own name."""
    return AskedSet(one.name, (*one.files, *files), one.golden, domain, one.keys)


def written(sets: Sequence[AskedSet], folder: Path, answer: Mapping[str, Any]) -> Path:
    """A config folder with the domain files of these sets; `answer` overrides what they say."""
    domains = {}
    for one in sets:
        said = dict(one.keys)
        said["answer"] = {**said.get("answer", {}), **answer}
        domains[one.domain] = {
            "domain": one.domain,
            **said,
            "sources": {"files": [str(path) for path in one.files]},
        }
    mark = hashlib.sha256(json.dumps(domains, sort_keys=True).encode()).hexdigest()[:10]
    config = folder / f"config-{mark}"
    (config / "domains").mkdir(parents=True, exist_ok=True)
    for name, keys in domains.items():
        text = yaml.safe_dump(keys, allow_unicode=True, sort_keys=False)
        (config / "domains" / f"{name}.yaml").write_text(text, "utf-8")
    return config


def sampled(
    questions: Sequence[tuple[AskedSet, GoldenQuestion]], size: int, seed: int
) -> list[tuple[AskedSet, GoldenQuestion]]:
    """Stratified by kind, within a kind by set; the same for the same seed, and a smaller sample
    is part of a larger one as far as rounding allows."""
    chance = random.Random(seed)
    kinds: dict[str, list[tuple[AskedSet, GoldenQuestion]]] = defaultdict(list)
    for one in questions:
        kinds[one[1].kind].append(one)
    counts = {kind: size * len(held) / len(questions) for kind, held in kinds.items()}
    wanted = {kind: int(count) for kind, count in counts.items()}
    by_rest = sorted(counts, key=lambda kind: wanted[kind] - counts[kind])
    for kind in by_rest[: max(0, min(size, len(questions)) - sum(wanted.values()))]:
        wanted[kind] += 1
    found = []
    for kind, held in kinds.items():
        chance.shuffle(held)
        seen: dict[str, int] = defaultdict(int)
        turns = []
        for one in held:  # the first of each set, then the second of each …
            turns.append((seen[one[0].name], one))
            seen[one[0].name] += 1
        turns.sort(key=lambda turn: turn[0])
        found += [one for _, one in turns[: wanted[kind]]]
    return found
