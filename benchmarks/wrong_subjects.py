"""Answers about something else than was asked, planted by program, and how many of them are seen.

    python -m benchmarks.wrong_subjects [--list] [security] [handbook] …

For each golden question, the places of its evidence are compared with their siblings: another row
or column of the same table, another section of the same document, another document. A sibling that
lacks a term which the question shares with the right place answers it wrongly: by its cell alone
(`bare`), by a sentence that names it (`named`), or by the sentence of it that is most like the
question. A false alarm is a right answer, in the same forms or as its reference has it, that is
taken for one about something else. `--list` prints what was missed, and the false alarms."""

from __future__ import annotations

import json
import random
import re
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from rich.console import Console
from rich.table import Table

from agents.checks.subject import Terms, subject_fault
from agents.context.sources import Source
from benchmarks.material.golden_domains import SHARED, golden_chunks
from benchmarks.planted_faults import cited, shape, words_only
from enrichment.chunk import Chunk, ChunkTable
from enrichment.language.words import naming_words, sentences, stems
from jobs.evaluation.metrics.stats import wilson
from jobs.golden.questions import Evidence, GoldenQuestion

NEAREST = 12
"""Sections that a model read besides those of the evidence."""
EACH = 3
"""Sentences of siblings for each place of evidence."""
KEPT = 0.7
"""Share of a label's words that a question has."""
MADE_ON = ("security", "privacy", "platform")
LEFT_OUT = ("cloud-security", "handbook", "identity")
RIGHT = ("reference", "right cell, bare", "right cell, named", "quotation")
WRONG = (
    "row, bare", "row, named", "column, bare", "column, named", "section", "document", "twin",
)  # fmt: skip


@dataclass(frozen=True)
class Case:
    kind: str
    question: str
    text: str
    sources: tuple[Source, ...]
    read: tuple[Source, ...] = ()


@dataclass
class Tally:
    flagged: int = 0
    count: int = 0
    listed: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Corpus:
    name: str
    chunks: Mapping[str, Sequence[Chunk]]
    questions: Sequence[GoldenQuestion]
    glossary: Mapping[str, list[str]]

    @cached_property
    def sections(self) -> list[Source]:
        chunks = [chunk for each in self.chunks.values() for chunk in each]
        return list({c.section: self.section(c) for c in chunks}.values())

    @cached_property
    def words(self) -> list[frozenset[str]]:
        return [stems(f"{one.place} {one.text}") for one in self.sections]

    def nearest(self, query: Terms) -> tuple[Source, ...]:
        """The sections with most of the question's words: harder than those that a search finds."""
        shares = [len(query.named_in(words)) for words in self.words]
        order = sorted(range(len(shares)), key=lambda place: -shares[place])
        return tuple(self.sections[place] for place in order[:NEAREST])

    def section(self, chunk: Chunk) -> Source:
        held = [one for one in self.chunks[chunk.document_id] if one.section == chunk.section]
        return Source(chunks=tuple(held), text="\n\n".join(one.text for one in held))


def corpora() -> Iterator[Corpus]:
    return (Corpus(*one) for one in golden_chunks())


def cases(corpus: Corpus) -> Iterator[Case]:
    for golden in corpus.questions:
        if not golden.answerable or not golden.evidence:
            continue
        question = " ".join((*(turn.content for turn in golden.history), golden.question))
        places = [chunk for one in golden.evidence for chunk in evidence_chunks(one, corpus)]
        sources = tuple(dict.fromkeys(corpus.section(chunk) for chunk in places))
        if not sources:
            continue
        query = Terms.of(question, corpus.glossary)
        read = (*sources, *corpus.nearest(query))
        yield Case("reference", question, cited(golden.reference, len(sources)), sources, read)
        for one in golden.evidence:
            for chunk in evidence_chunks(one, corpus)[:1]:
                source = corpus.section(chunk)
                if chunk.table is not None:
                    quote = words_only(one.quote)
                    yield from cell_cases(question, quote, chunk.table, source, query)
                elif len(golden.evidence) == 1:
                    text = f"{one.quote.strip('. ')} [1]."
                    yield Case("quotation", question, text, (source,), read)
                yield from section_cases(question, one, chunk, corpus, query, read)


def evidence_chunks(one: Evidence, corpus: Corpus) -> list[Chunk]:
    quote = words_only(one.quote)
    return [each for each in corpus.chunks.get(one.document, ()) if quote in words_only(each.text)]


def cell_cases(
    question: str, quote: str, table: ChunkTable, source: Source, query: Terms
) -> Iterator[Case]:
    """`quote`: what is quoted of the row as evidence."""
    columns = range(table.label_columns, len(table.header))
    common = shared(table, columns)
    for number, row in enumerate(table.rows):
        whole = words_only(" ".join(row))
        if not (quote in whole or whole in quote):
            continue
        named = {at: query.named_in(stems(leaf(table, at)) - common) for at in columns}
        # The cell that was asked for is certain only where the question names its column.
        (at,) = [at for at in columns if named[at]] if sum(map(bool, named.values())) == 1 else [0]
        if at and row[at].strip():
            yield from swaps(question, table, (number, at), named, source, query)


def swaps(
    question: str,
    table: ChunkTable,
    place: tuple[int, int],
    named: Mapping[int, frozenset[str]],
    source: Source,
    query: Terms,
) -> Iterator[Case]:
    """The cell at this place, that of a row, and that of a column which lacks one asked term."""
    number, at = place
    cell, chance = table.rows[number][at], random.Random(question)
    label, terms = label_of(table, number), query.named_in(stems(label_of(table, number)))
    yield from both("right cell", question, label, leaf(table, at), cell, source)
    rows = [
        other
        for other in range(len(table.rows))
        if len(terms - query.named_in(stems(label_of(table, other)))) == 1
        and not query.named_in(stems(label_of(table, other))) - terms
        and differ(cell, table.rows[other][at])
        and not is_right_elsewhere(table.rows[other][at], table, place, source)
    ]
    if rows:
        other = chance.choice(rows)
        label = label_of(table, other)
        yield from both("row", question, label, leaf(table, at), table.rows[other][at], source)
    columns = [
        each
        for each in named
        if len(named[at] - named[each]) == 1
        and differ(cell, table.rows[number][each])
        and shape(cell) == shape(table.rows[number][each])
    ]
    if columns:
        each = chance.choice(columns)
        label, value = label_of(table, number), table.rows[number][each]
        yield from both("column", question, label, leaf(table, each), value, source)


def is_right_elsewhere(
    value: str, table: ChunkTable, place: tuple[int, int], source: Source
) -> bool:
    """Whether a row of the same label in another table of the section has this value."""
    label, number = label_of(table, place[0]), place[1]
    return any(
        not differ(value, row[number])
        for chunk in source.chunks
        if chunk.table is not None
        for at, row in enumerate(chunk.table.rows)
        if label_of(chunk.table, at) == label and number < len(row)
    )


def both(
    kind: str, question: str, label: str, header: str, cell: str, source: Source
) -> Iterator[Case]:
    cell = cell.strip().rstrip(".")
    yield Case(f"{kind}, bare", question, f"{cell} [1].", (source,))
    yield Case(f"{kind}, named", question, f"For {label} the {header} is {cell} [1].", (source,))


def section_cases(
    question: str,
    one: Evidence,
    right: Chunk,
    corpus: Corpus,
    query: Terms,
    read: tuple[Source, ...],
) -> Iterator[Case]:
    """The sentences of a sibling section, and of another document, that have all of the question's
    words which the right place has but one, and that one is in the right heading or title."""
    has = query.named_in(
        stems(f"{right.document_title} {' '.join(right.heading_path)} {one.quote}")
    )
    for kind, name, others in (
        ("section", right.heading, [
            each
            for each in corpus.chunks[right.document_id]
            if each.heading_path[:-1] == right.heading_path[:-1]
            and each.heading_path != right.heading_path
        ]),
        ("document", right.document_title, [
            each
            for document, chunks in corpus.chunks.items()
            for each in chunks
            if document != right.document_id
        ]),
    ):  # fmt: skip
        terms, near = query.named_in(stems(name)), []
        for chunk in others if len(has) > 1 else ():
            for sentence in sentences(chunk.text) if chunk.table is None else ():
                lacks = has - query.named_in(stems(f"{chunk.place} {sentence}"))
                if len(lacks) == 1 and lacks <= terms and 5 <= len(sentence.split()) <= 40:
                    near.append((sentence, chunk))
        chance = random.Random(f"{question} {right.id}")
        for sentence, chunk in chance.sample(near, min(EACH, len(near))):
            text = f"{sentence.strip('-*. ')} [1]."
            source = corpus.section(chunk)
            yield Case(kind, question, text, (source,), (source, *read))
    yield from swapped_cases(question, one, right, corpus, query, read)


def swapped_cases(
    question: str,
    one: Evidence,
    right: Chunk,
    corpus: Corpus,
    query: Terms,
    read: tuple[Source, ...],
) -> Iterator[Case]:
    """The evidence of a twin: the same section, with one asked term of its title or heading
    replaced by a word of a sibling heading or title."""
    chance = random.Random(f"twin {question} {right.id}")
    names = f"{right.document_title} {' '.join(right.heading_path)}"
    terms = sorted(one for one in query.named_in(stems(names)) if one in naming_words(names))
    others = {
        word
        for chunks in corpus.chunks.values()
        for each in chunks
        for stem_, word in naming_words(f"{each.document_title} {each.heading}").items()
        if stem_ not in query.weights and word.isalpha()
    }
    if not terms or not others:
        return
    term, other = chance.choice(terms), chance.choice(sorted(others))

    def swap(text: str) -> str:
        return re.sub(
            r"[^\W_]+", lambda match: other if term in stems(match[0]) else match[0], text
        )

    chunks = tuple(
        replace(
            chunk,
            document_id="twin",
            document_title=swap(chunk.document_title),
            heading_path=tuple(map(swap, chunk.heading_path)),
            text=swap(chunk.text),
            table=None,
        )
        for chunk in corpus.section(right).chunks
    )
    twin = Source(chunks=chunks, text="\n\n".join(chunk.text for chunk in chunks))
    yield Case("twin", question, f"{swap(one.quote).strip('. ')} [1].", (twin,), (twin, *read))


def made_up(corpus: Corpus) -> Iterator[Case]:
    """Questions for cells of every table, by its header and a part of its label's words."""
    seen: dict[str, list[Chunk]] = {}
    for chunks in corpus.chunks.values():
        for chunk in chunks:
            if chunk.table is not None and len(chunk.table.rows) > 1:
                seen.setdefault(chunk.table.id, []).append(chunk)
    for chunks in seen.values():
        chunk, chance = chunks[0], random.Random(chunks[0].id)
        table, source = chunk.table, corpus.section(chunk)
        assert table is not None
        columns = [
            at for at in range(max(1, table.label_columns), len(table.header)) if leaf(table, at)
        ]
        for _ in range(4 if columns else 0):
            row, at = chance.randrange(len(table.rows)), chance.choice(columns)
            words = label_of(table, row).split()
            kept = [word for word in words if chance.random() < KEPT or len(words) < 3] or words
            question = f"what is the {leaf(table, at)} for {' '.join(kept)}?"
            query = Terms.of(question, corpus.glossary)
            common = shared(table, range(columns[0], len(table.header)))
            named = {each: query.named_in(stems(leaf(table, each)) - common) for each in columns}
            if table.rows[row][at].strip():
                yield from swaps(question, table, (row, at), named, source, query)


def hierarchical(split_name: str, most: int) -> Iterator[Case]:
    """Lookups in statistical tables (HiTab), where they are here."""
    folder = SHARED / "data/hitab"
    if not folder.is_dir():
        return
    lines = (folder / f"tables_{split_name}.jsonl").read_text("utf-8").splitlines()
    tables = {one["id"]: one for one in map(json.loads, lines)}
    lines = (folder / f"questions_{split_name}.jsonl").read_text("utf-8").splitlines()
    for one in random.Random(1).sample([*map(json.loads, lines)], most):
        grid = tables[one["table"]]
        body, labels = grid["header_rows"], max(1, grid["label_columns"])
        if not one["cell"] or one["cell"][0] < body or one["cell"][1] < labels:
            continue
        header = tuple(
            " › ".join(dict.fromkeys(row[at] for row in grid["grid"][:body] if row[at]))
            for at in range(len(grid["grid"][0]))
        )
        table = ChunkTable(
            id=one["table"], caption=grid["title"], header=header, label_columns=labels,
            rows=tuple(map(tuple, grid["grid"][body:])),
        )  # fmt: skip
        text = "\n".join(" | ".join(row) for row in table.rows)
        chunk = Chunk(
            id="1", document_id="1", document_title=grid["title"], kind="table", position=0,
            heading_path=(), text=text, index_text=text, tokens=len(text) // 4, table=table,
        )  # fmt: skip
        query = Terms.of(one["question"], {})
        columns = range(labels, len(header))
        named = {at: query.named_in(stems(header[at]) - shared(table, columns)) for at in columns}
        place = (one["cell"][0] - body, one["cell"][1])
        if table.rows[place[0]][place[1]].strip():
            source = Source(chunks=(chunk,), text=text)
            yield from swaps(one["question"], table, place, named, source, query)


def label_of(table: ChunkTable, row: int) -> str:
    return " ".join(dict.fromkeys(table.rows[row][: max(1, table.label_columns)]))


def leaf(table: ChunkTable, column: int) -> str:
    return table.header[column].split(" › ")[-1]


def shared(table: ChunkTable, columns: range) -> frozenset[str]:
    heads = [stems(leaf(table, at)) for at in columns]
    return frozenset.intersection(*heads) if len(heads) > 1 else frozenset()


def differ(one: str, other: str) -> bool:
    first, second = words_only(one).lower(), words_only(other).lower()
    return bool(second) and first not in second and second not in first


def main() -> None:
    tallies: dict[tuple[str, str], Tally] = defaultdict(Tally)
    names = [one for one in sys.argv[1:] if not one.startswith("--")]
    for corpus in corpora():
        if not names or corpus.name in names:
            for case in each_once(cases(corpus)):
                count(tallies, corpus.name, case, corpus)
            for case in each_once(made_up(corpus)):
                count(tallies, f"{corpus.name}, made up", case, corpus)
    for name, split_name in (("tables", "train"), ("other tables", "dev")):
        if not names or name in names:
            nothing = Corpus(name, {}, (), {})
            for case in hierarchical(split_name, 700):
                count(tallies, name, case, nothing)
    report(tallies)


def each_once(several: Iterator[Case]) -> Iterable[Case]:
    return {(one.kind, one.question, one.text): one for one in several}.values()


def count(tallies: dict[tuple[str, str], Tally], name: str, case: Case, corpus: Corpus) -> None:
    fault = subject_fault(
        case.text,
        case.sources,
        question=case.question,
        glossary=corpus.glossary,
        read=case.read,
    )
    tally = tallies[name, case.kind]
    tally.count += 1
    tally.flagged += bool(fault)
    if bool(fault) != (case.kind in WRONG):
        tally.listed.append(f"{case.question}\n   {case.text}\n   {fault}")


def report(tallies: Mapping[tuple[str, str], Tally]) -> None:
    groups = {
        f"{name}{made}": tuple(f"{one}{made}" for one in members)
        for made in ("", ", made up")
        for name, members in (("made on", MADE_ON), ("left out", LEFT_OUT))
    }
    groups |= {"tables": ("tables",), "other tables": ("other tables",)}
    table = Table(title="taken for answers about something else", title_justify="left")
    for column in ("", *groups):
        table.add_column(column, justify="right")
    for kinds in (*((kind,) for kind in (*RIGHT, *WRONG)), RIGHT, WRONG):
        row = []
        for members in groups.values():
            found = [
                tallies[name, kind] for name in members for kind in kinds if (name, kind) in tallies
            ]
            flagged, count = sum(one.flagged for one in found), sum(one.count for one in found)
            row.append(share(flagged, count))
        label = kinds[0] if len(kinds) == 1 else "all right" if kinds is RIGHT else "all wrong"
        table.add_row(label, *row)
    Console(width=170).print(table)
    if "--list" in sys.argv:
        for (corpus, kind), tally in tallies.items():
            for one in tally.listed:
                print(f"## {corpus} {kind}: {one}")


def share(flagged: int, count: int) -> str:
    if not count:
        return "–"
    low, high = wilson(flagged, count)
    return f"{flagged / count:.3f} of {count} ({low:.2f}–{high:.2f})"


if __name__ == "__main__":
    main()
