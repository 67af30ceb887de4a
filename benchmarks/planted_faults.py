"""Faults planted in golden answers, and how many of them the check by words sees.

    python -m benchmarks.planted_faults [--list] [security] [handbook] …

Every reference answer and every quotation of evidence cites the sections that hold its evidence.
Into each, faults are planted by program: another number, another unit, a `not` more or less, an
opposite or another modal, a name of elsewhere, the value of another row or column, a sentence of
elsewhere, a condition left out. A fault is caught when the claim that
it was planted into isn't held. A false alarm is an answer without a planted fault that has one.
Authors also state facts of sections that the evidence doesn't name: alarms that stay where the
whole documents are cited are counted beside.
`--list` prints what was missed, and the false alarms."""

from __future__ import annotations

import random
import re
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from rich.console import Console
from rich.table import Table

from agents.checks.groundedness import Groundedness, groundedness
from agents.context.sources import Source
from benchmarks.material.golden_domains import golden_chunks
from enrichment.chunk import Chunk
from enrichment.language.words import sentences
from jobs.golden.questions import GoldenQuestion

Plant = Callable[["Answered", random.Random], "str | None"]
UNITS = (
    ("second", "minute", "hour", "day", "week", "month", "year"),
    ("KB", "MB", "GB", "TB"),
    ("€", "$", "£"),
    ("euros", "dollars"),
)
OPPOSITES = (
    ("before", "after"), ("at least", "at most"), ("minimum", "maximum"), ("more", "less"),
    ("above", "below"), ("over", "under"), ("allowed", "forbidden"), ("with", "without"),
    ("always", "never"), ("required", "optional"), ("enabled", "disabled"), ("first", "last"),
    ("include", "exclude"), ("longer", "shorter"), ("inside", "outside"),
)  # fmt: skip
MODALS = {"must": "may", "shall": "may", "may": "must", "can": "must"}
INVENTED = (
    "The form is kept in a blue folder next to the printer.",
    "An external auditor from Lisbon signs it off every spring.",
    "Requests on public holidays are answered by a rotating volunteer.",
    "The finance director receives a copy by registered mail.",
    "A short training video explains the background in four languages.",
)
CONDITION = re.compile(
    r",? (?:unless|except|only if|only when|only after|provided that) [^,.;]{8,}"
)
NUMBER = re.compile(r"(?<![\w.,:/-])\d{1,4}(?![\w:/-]|[.,]\d)")
NAME = re.compile(
    r"(?<=[a-z,] )[A-Z][a-z]+(?: [A-Z][a-z]+){0,2}\b|\b(?:[A-Z]{2,}-\w+|[a-z]+[-_][a-z_-]+)\b"
)


@dataclass(frozen=True)
class Answered:
    """One answer that is right, and what it cites."""

    corpus: str
    kind: str
    asked: str
    text: str
    sources: tuple[Source, ...]
    glossary: dict[str, list[str]]
    names: tuple[str, ...]
    """Of other documents of its corpus."""
    foreign: tuple[str, ...]
    """Sentences of other documents of its corpus."""
    documents: tuple[Source, ...] = ()
    """The whole documents of its evidence."""

    def check(self, text: str, *, whole: bool = False) -> Groundedness:
        sources = self.documents if whole else self.sources
        return groundedness(
            cited(text, len(sources)),
            sources,
            question=self.asked,
            glossary=self.glossary,
        )


@dataclass
class Tally:
    caught: int = 0
    planted: int = 0
    missed: list[str] = field(default_factory=list)


def cited(text: str, count: int) -> str:
    marks = "".join(f"[{number}]" for number in range(1, count + 1))
    return " ".join(f"{one.rstrip('.')} {marks}." for one in sentences(text))


def answered(
    corpus: str,
    chunks: dict[str, list[Chunk]],
    golden: Sequence[GoldenQuestion],
    glossary: dict[str, list[str]],
) -> Iterator[Answered]:
    for question in golden:
        if not question.answerable or not question.evidence:
            continue
        sources = tuple(_sources(question, chunks))
        if not sources:
            continue
        own = {one.document for one in question.evidence}
        whole = tuple(
            Source(chunks=tuple(chunks[id_]), text="\n\n".join(one.text for one in chunks[id_]))
            for id_ in dict.fromkeys(one.document for one in question.evidence)
            if chunks.get(id_)
        )
        others = [chunk for id_, held in chunks.items() if id_ not in own for chunk in held]
        said = " ".join(chunk.text for chunk in others if chunk.kind == "text")
        foreign = tuple(one for one in sentences(said) if 40 < len(one) < 160 and one[0].isupper())
        names = tuple(dict.fromkeys(NAME.findall(said)))
        asked = " ".join((*(turn.content for turn in question.history), question.question))
        texts = [("reference", question.reference)]
        texts += [("cell", text) for text in _cells(question, sources)]
        texts += [
            ("quotation", f"{one.quote.strip().rstrip('.')}.")
            for one in question.evidence
            if len(one.quote.split()) >= 6
        ]
        for kind, text in texts:
            yield Answered(corpus, kind, asked, text, sources, glossary, names, foreign, whole)


def _cells(question: GoldenQuestion, sources: Sequence[Source]) -> Iterator[str]:
    """A sentence of each row quoted as evidence: its label, a column, and the cell."""
    quoted = [words_only(one.quote) for one in question.evidence]
    for source in sources:
        for chunk in source.chunks:
            if chunk.table is None:
                continue
            for number, row in enumerate(chunk.table.rows):
                said = words_only(" ".join(row))
                label = " ".join(dict.fromkeys(row[: chunk.table.label_columns]))
                columns = [
                    at
                    for at in range(chunk.table.label_columns, len(row))
                    if row[at]
                    and chunk.table.header[at]
                    and any(one in said and words_only(row[at]) in said for one in quoted)
                ]
                if label and columns:
                    at = columns[number % len(columns)]
                    header = chunk.table.header[at].split(" › ")[-1]
                    yield f"For {label} the {header} is: {row[at].rstrip('.')}."


def words_only(text: str) -> str:
    return re.sub(r"\W+", "", text)


def _sources(question: GoldenQuestion, chunks: Mapping[str, Sequence[Chunk]]) -> Iterator[Source]:
    """The sections of the evidence, each once."""
    for document, heading in dict.fromkeys(
        (one.document, one.heading) for one in question.evidence
    ):
        quotes = [one.quote for one in question.evidence if one.heading == heading]
        held = [
            chunk
            for chunk in chunks.get(document, ())
            if words_only([chunk.document_title, *chunk.heading_path][-1]) == words_only(heading)
        ]
        held = held or [
            chunk
            for chunk in chunks.get(document, ())
            if any(words_only(quote) in words_only(chunk.text) for quote in quotes)
        ]
        if held:
            yield Source(chunks=tuple(held), text="\n\n".join(chunk.text for chunk in held))


def other_number(one: Answered, chance: random.Random) -> str | None:
    found = list(NUMBER.finditer(one.text))
    if not found:
        return None
    match = chance.choice(found)
    value = int(match[0])
    return _put(one.text, match, str(chance.choice([value + 1, value * 2 + 1, value * 10 or 7])))


def other_unit(one: Answered, chance: random.Random) -> str | None:
    for group in chance.sample(UNITS, len(UNITS)):
        of_group = "|".join(map(re.escape, group))
        found = list(re.finditer(rf"(?<=\d)(\s?)({of_group})(?=s?\b)", one.text))
        if "€" in group:
            found = list(re.finditer(rf"()({of_group})(?=\d)", one.text))
        if found:
            match = chance.choice(found)
            other = chance.choice([each for each in group if each != match[2]])
            return _put(one.text, match, match[1] + other)
    return None


def without_not(one: Answered, chance: random.Random) -> str | None:
    found = list(
        re.finditer(r"(?<=\w) (?:not|never)\b(?! (?:only|even))|\b(?:can)(?:not)\b", one.text)
    )
    if not found:
        return None
    match = chance.choice(found)
    return _put(one.text, match, "can" if match[0] == "cannot" else "")


def with_not(one: Answered, chance: random.Random) -> str | None:
    found = list(
        re.finditer(
            r"\b(?:must|shall|should|may|can|is|are|will)\b(?! not\b| never\b| only\b| no\b)",
            one.text,
        )
    )
    if not found:
        return None
    match = chance.choice(found)
    return _put(one.text, match, f"{match[0]} not")


def opposite(one: Answered, chance: random.Random) -> str | None:
    pairs = [pair for each in OPPOSITES for pair in (each, each[::-1])]
    found = [(m, b) for a, b in pairs for m in re.finditer(rf"(?<!no )\b{a}\b(?! no\b)", one.text)]
    if not found:
        return None
    match, other = chance.choice(found)
    return _put(one.text, match, other)


def other_modal(one: Answered, chance: random.Random) -> str | None:
    found = list(
        re.finditer(r"\b(must|shall|may|can)\b(?! (?:not|never|only)\b)", one.text, re.IGNORECASE)
    )
    if not found:
        return None
    match = chance.choice(found)
    return _put(one.text, match, MODALS[match[0].lower()])


def other_name(one: Answered, chance: random.Random) -> str | None:
    found = list(NAME.finditer(one.text))
    if not found or not one.names:
        return None
    match = chance.choice(found)
    others = [name for name in one.names if name.lower() not in one.text.lower()]
    return _put(one.text, match, chance.choice(others)) if others else None


def swapped(one: Answered, chance: random.Random, by_row: bool) -> str | None:
    """A cell of the table that stands in the answer, replaced by its neighbour's."""
    choices = []
    for source in one.sources:
        for chunk in source.chunks:
            table = chunk.table
            if table is None:
                continue
            for cells in table.rows:
                label = " ".join(cells[: table.label_columns]).strip(" `*").lower()
                if not label or label not in one.text.lower():
                    continue
                for column in range(table.label_columns, len(cells)):
                    cell = cells[column].strip(" `*")
                    if len(cell) < 2 or not re.search(rf"(?<!\w){re.escape(cell)}(?!\w)", one.text):
                        continue
                    if by_row:
                        others = [each[column] for each in table.rows if column < len(each)]
                    else:
                        leaf = table.header[column].split(" › ")[-1]
                        others = [
                            each
                            for each, header in zip(cells, table.header, strict=False)
                            if header.split(" › ")[-1] != leaf
                        ][table.label_columns :]
                    others = [each.strip(" `*") for each in others]
                    others = [
                        o
                        for o in others
                        if len(o) > 1
                        and o not in one.text
                        and o not in cell
                        and cell not in o
                        and shape(o) == shape(cell)
                        and not {"no", "none", "never", "not"} & set(re.findall(r"\w+", o.lower()))
                    ]
                    choices += [(cell, other) for other in dict.fromkeys(others)]
    if not choices:
        return None
    cell, other = chance.choice(choices)
    return one.text.replace(cell, other, 1)


def shape(cell: str) -> tuple[bool, bool]:
    """Only like is swapped for like: a figure for a figure, a few words for a few words."""
    return any(map(str.isdigit, cell)), len(cell.split()) > 4


def other_row(one: Answered, chance: random.Random) -> str | None:
    return swapped(one, chance, True)


def other_column(one: Answered, chance: random.Random) -> str | None:
    return swapped(one, chance, False)


def from_elsewhere(one: Answered, chance: random.Random) -> str | None:
    return f"{one.text} {chance.choice(one.foreign)}" if one.foreign else None


def invented(one: Answered, chance: random.Random) -> str | None:
    return f"{one.text} {chance.choice(INVENTED)}"


def without_condition(one: Answered, chance: random.Random) -> str | None:
    match = CONDITION.search(one.text)
    return _put(one.text, match, "") if match else None


def _put(text: str, match: re.Match[str], other: str) -> str:
    return text[: match.start()] + other + text[match.end() :]


PLANTS: dict[str, tuple[Plant, float]] = {
    "number": (other_number, 0.3),
    "unit": (other_unit, 1.0),
    "not left out": (without_not, 1.0),
    "not put in": (with_not, 0.4),
    "opposite": (opposite, 0.6),
    "modal": (other_modal, 0.6),
    "name": (other_name, 0.4),
    "other row": (other_row, 1.0),
    "other column": (other_column, 1.0),
    "sentence of elsewhere": (from_elsewhere, 0.15),
    "sentence invented": (invented, 0.15),
    "condition left out": (without_condition, 1.0),
}
"""With the share of answers that get one, for kinds of about one size."""


def corpora() -> Iterator[Answered]:
    for one in golden_chunks():
        yield from answered(*one)


def failures(found: Groundedness) -> int:
    return sum(not one.supported for one in found.claims)


def main() -> None:
    tallies: dict[tuple[str, str, str], Tally] = defaultdict(Tally)
    wanted = [one for one in sys.argv[1:] if not one.startswith("--")]
    for place, one in enumerate(corpora()):
        if wanted and one.corpus not in wanted:
            continue
        before = one.check(one.text)
        alarm = tallies[one.corpus, one.kind, "false alarm"]
        alarm.planted += 1
        claims = tallies[one.corpus, one.kind, "false alarm by claim"]
        claims.planted += len(before.claims)
        claims.caught += failures(before)
        beyond = tallies[one.corpus, one.kind, "false alarm, whole documents"]
        beyond.planted += 1
        beyond.caught += bool(failures(before) and failures(one.check(one.text, whole=True)))
        said = {each.claim.text for each in before.claims}
        if failures(before):
            alarm.caught += 1
            alarm.missed.append(f"{one.asked}\n   " + "\n   ".join(before.reasons))
        for name, (plant, share) in PLANTS.items():
            chance = random.Random(f"{place} {name}")
            if chance.random() > share:
                continue
            text = plant(one, chance)
            if text is None or text == one.text:
                continue
            after = one.check(text)
            tally = tallies[one.corpus, one.kind, name]
            tally.planted += 1
            if any(not each.supported and each.claim.text not in said for each in after.claims):
                tally.caught += 1
            else:
                tally.missed.append(f"{one.text}\n → {text}")
    report(tallies)


def report(tallies: dict[tuple[str, str, str], Tally]) -> None:
    names = list(dict.fromkeys(corpus for corpus, _, _ in tallies))
    console = Console(width=150)
    for kind in ("reference", "quotation", "cell"):
        table = Table(title=f"planted in: {kind}", title_justify="left")
        for column in ("", *names, "all"):
            table.add_column(column, justify="right")
        for name in (
            *PLANTS,
            "all planted",
            "false alarm",
            "false alarm by claim",
            "false alarm, whole documents",
        ):
            each = PLANTS if name == "all planted" else (name,)
            cells = []
            for group in (*([one] for one in names), names):
                found = [tallies[corpus, kind, one] for corpus in group for one in each]
                caught, planted = sum(t.caught for t in found), sum(t.planted for t in found)
                cells.append(f"{caught / planted:.2f} of {planted}" if planted else "–")
            table.add_row(name, *cells)
        console.print(table)
    if "--list" in sys.argv:
        for (corpus, kind, name), tally in tallies.items():
            for missed in tally.missed:
                print(f"## {corpus} {kind} {name}: {missed}")


if __name__ == "__main__":
    main()
