"""Made-up near-duplicates of documents: other editions, regions, teams and products.

One to three sections of a document with its numbers changed, under a title and an opening that
tell a person what they are good for. The first hundred of a thousand are the hundred themselves:
the same for the same seed and documents."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import yaml

from benchmarks.material.asked_sets import AskedSet, with_files

SECTIONS = (1, 2, 3)
LONGEST = 2_000
"""Characters of a body: a thousand of them are indexed in minutes."""
FACTORS = (0.5, 1.5, 2.0, 3.0)
YEARS = range(2016, 2026)
REGIONS = (
    "Brazil", "Japan", "Norway", "Kenya", "Chile", "Vietnam", "Iceland", "Morocco", "Peru", "Ghana",
    "Thailand", "Uruguay", "Nepal", "Jordan", "Taiwan", "Serbia", "Panama", "Oman",
)  # fmt: skip
TEAMS = (
    "Facilities", "Field Sales", "Treasury", "Data Science", "Customer Care", "Marketing Web",
    "Internal Tools", "Mobile Apps", "Partner Success", "Research Lab", "Print Room", "Logistics",
    "Training Academy", "Media Studio", "Test Lab", "Procurement", "Investor Relations", "Archive",
)  # fmt: skip
PRODUCTS = (
    "Meridian", "Kestrel", "Larkspur", "Obsidian", "Quillwort", "Tamarack", "Vesper", "Wolfram",
    "Zephyrine", "Bramblegate", "Cinnabar", "Driftnet", "Everglade", "Foxtrotter", "Gossamer",
    "Hollyoak", "Inkstone", "Juniper",
)  # fmt: skip
_FENCE = re.compile(r"^```.*?^```[ \t]*$", re.M | re.S)
_SECTION = re.compile(r"^(?=## )", re.M)
_VALUE = re.compile(r"(?<![\w./#:@§-])\d{1,3}(?:,\d{3})*(?![\w:/-]|\.\d)")
"""A count, a duration, a percentage; no year, date, version, heading or part of a name."""
_KEPT_AS_IT_IS = re.compile(r"`[^`\n]*`|\]\([^)\s]*\)|https?://\S+|<[^>]*>|^#.*$", re.M)


@dataclass(frozen=True)
class Original:
    """A document that near-duplicates are made of."""

    id: str
    title: str
    sections: tuple[str, ...]


@dataclass(frozen=True)
class Variation:
    """What a near-duplicate is said to be good for."""

    name: str
    title: str
    """With `{title}` of the original."""
    opening: str
    """With `{title}` and `{id}`."""
    status: str = "current"
    year: int = 2026


def variations() -> list[Variation]:
    older = [
        Variation(
            f"{year}",
            f"{{title}} ({year} edition)",
            f"> **Superseded.** This edition was in force in {year}. "
            "The current rules are in [{title}](doc:{id}).",
            "superseded",
            year,
        )
        for year in YEARS
    ]
    regions = [
        Variation(
            name,
            f"{{title}}: {name}",
            f"For {name} only, where local rules ask for other values. "
            f"Everywhere else [{{title}}](doc:{{id}}) holds.",
        )
        for name in REGIONS
    ]
    teams = [
        Variation(
            name,
            f"{{title}}, {name} team",
            f"The {name} team's own arrangement. Nobody outside of {name} works by it.",
        )
        for name in TEAMS
    ]
    products = [
        Variation(
            name,
            f"{{title}} for {name}",
            f"Applies to the product {name} and to nothing else.",
        )
        for name in PRODUCTS
    ]
    return [*older, *regions, *teams, *products]


def near_duplicates(
    originals: Sequence[Original], count: int, *, seed: int = 0
) -> Iterator[tuple[str, str]]:
    """(id, Markdown with front matter) of each; documents in turn, each variation once.

    Raises ValueError when there are not as many."""
    known = variations()
    if count > len(originals) * len(known):
        raise ValueError(f"{len(originals)} documents give {len(originals) * len(known)} at most")
    for number in range(count):
        turn, place = divmod(number, len(originals))
        original = originals[place]
        order = random.Random(f"{seed} {original.id}").sample(known, len(known))
        chance = random.Random(f"{seed} {original.id} {turn}")
        yield _varied(original, order[turn], chance)


def _varied(original: Original, variation: Variation, chance: random.Random) -> tuple[str, str]:
    names = {"title": original.title, "id": original.id}
    title = variation.title.format(**names)
    identity = f"{original.id}-{re.sub(r'[^a-z0-9]+', '-', variation.name.lower())}"
    about = {
        "id": identity,
        "title": title,
        "status": variation.status,
        "modified": f"{variation.year}-0{chance.randint(1, 6)}-1{chance.randint(0, 9)}",
    }
    some = min(chance.choice(SECTIONS), len(original.sections))
    places = sorted(chance.sample(range(len(original.sections)), some))
    body = _within(LONGEST, "\n".join(original.sections[place] for place in places))
    text = f"# {title}\n\n{variation.opening.format(**names)}\n\n{with_other_values(body, chance)}"
    front = yaml.safe_dump(about, allow_unicode=True, sort_keys=False)
    return identity, f"---\n{front}---\n\n{text}\n"


def with_other_values(text: str, chance: random.Random) -> str:
    """Numbers changed, the same one alike everywhere; code, links and headings stay."""
    known: dict[str, str] = {}

    def other(match: re.Match[str]) -> str:
        percent = match.string[match.end() : match.end() + 1] == "%"
        said = match[0] + "%" * percent
        if said not in known:
            known[said] = _other(match[0], chance, most=99 if percent else None)
        return known[said]

    made, start = [], 0
    for kept in sorted((*_FENCE.finditer(text), *_KEPT_AS_IT_IS.finditer(text)), key=_begin):
        if kept.start() >= start:
            made += [_VALUE.sub(other, text[start : kept.start()]), kept[0]]
            start = kept.end()
    return "".join([*made, _VALUE.sub(other, text[start:])])


def _begin(match: re.Match[str]) -> int:
    return match.start()


def _other(number: str, chance: random.Random, *, most: int | None) -> str:
    value = int(number.replace(",", ""))
    changed = max(1, round(value * chance.choice(FACTORS)))
    if most and changed > most:
        changed = max(1, value // 2)
    return f"{changed if changed != value else value + 1:,}"


def _within(characters: int, text: str) -> str:
    """Whole paragraphs, tables and lists from the beginning that fit."""
    kept: list[str] = []
    for block in re.split(r"\n{2,}", text):
        if len(block) <= characters:
            kept.append(block)
            characters -= len(block)
    joined = "\n\n".join(kept)
    return joined + "\n```" if joined.count("\n```") % 2 else joined


def original(path: Path) -> Original:
    text, about = path.read_text("utf-8"), {}
    if text.startswith("---\n"):
        front, _, text = text[4:].partition("\n---\n")
        about = yaml.safe_load(front)
    whole = [one for one in _SECTION.split(text) if one.startswith("## ")] or [text]
    return Original(
        str(about.get("id", path.stem)), str(about.get("title", path.stem)), tuple(whole)
    )


def crowd(sets: Sequence[AskedSet], count: int, folder: Path) -> list[AskedSet]:
    """The sets, each domain with `count` near-duplicates of its own documents."""
    places: dict[str, Path] = {}
    for one in sets:
        if one.domain in places:
            continue
        place = places[one.domain] = folder / f"{one.domain}-{count}"
        place.mkdir(parents=True, exist_ok=True)
        paths = [
            path
            for files in one.files
            for path in (sorted(files.rglob("*.md")) if files.is_dir() else [files])
        ]
        for identity, text in near_duplicates([original(path) for path in paths], count):
            (place / f"{identity}.md").write_text(text, "utf-8")
    return [with_files(one, [places[one.domain]], domain=f"{one.domain}-{count}") for one in sets]
