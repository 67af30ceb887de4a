"""Whether contradictions could be told without a model: a strict rule on made pairs, and what it
reports of documents that nobody found contradictions in.

    python -m benchmarks.contradictions

Decision 133 says what came of it."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

from agents.answer import Question
from agents.graph import build_ask
from benchmarks.material.golden_domains import Measured, measured_domains
from enrichment.chunk import Chunk, DocumentCard, is_out_of_force
from enrichment.language.quantities import Quantity, quantities
from enrichment.language.words import stems
from index.search import Snapshot

RULES = ((0.8, 4), (0.7, 3), (0.6, 3), (0.5, 3), (0.4, 2))
"""Share of the words of both that two sentences have in common, figures aside; and how many of
them at least."""

Rule = tuple[float, int]
Pair = tuple[str, str, str, str]
"""Title and statement of one side, title and statement of the other."""

CONTRADICTING: tuple[Pair, ...] = (
    ("Key Standard", "API signing keys are rotated every 60 days.",
     "Signing Guide", "API signing keys are rotated every 90 days."),
    ("Key Standard", "A leaked key is replaced within 24 hours of its discovery.",
     "Incident Runbook", "A leaked key is replaced within 4 hours of its discovery."),
    ("Laptop Guide", "The screen locks after 5 minutes without use.",
     "Device Standard", "After 15 minutes without use the screen locks."),
    ("Expenses", "Meals are refunded up to 40 euros a day.",
     "Travel Guide", "Meals are refunded up to 55 euros a day."),
    ("Backup Policy", "Database backups are kept for 30 days.",
     "Database Runbook", "We keep backups of the database for two weeks."),
    ("On-call Guide", "Pages are acknowledged within 5 minutes.",
     "Duty Handbook", "You have ten minutes to acknowledge a page."),
    ("Access Standard", "Contractors may not use personal devices.",
     "Onboarding", "Contractors may use personal devices."),
    ("Release Guide", "Deployments on Fridays are forbidden.",
     "Platform FAQ", "You can deploy on Fridays."),
    ("Retention", "Chat logs are deleted after 12 months.",
     "Privacy Notice", "Chat logs are deleted after 24 months."),
    ("Password Rules", "Passwords have at least 14 characters.",
     "Account Help", "Passwords have at least 10 characters."),
)  # fmt: skip
COMPATIBLE: tuple[Pair, ...] = (
    ("Key Standard", "API signing keys are rotated every 60 days in the EU.",
     "Key Standard Brazil", "API signing keys are rotated every 90 days in Brazil."),
    ("Backup Policy", "Database backups are kept for 30 days.",
     "Archive Policy", "Yearly database backups are kept for 7 years."),
    ("On-call Guide", "Severity 1 pages are acknowledged within 5 minutes.",
     "Severity Table", "Severity 3 pages are acknowledged within 60 minutes."),
    ("Travel Guide", "Hotels are refunded up to 150 euros a night.",
     "Travel Guide London", "Hotels are refunded up to 220 euros a night."),
    ("Retention", "Chat logs are deleted after 12 months.",
     "Retention of Mail", "Mail logs are deleted after 24 months."),
    ("Quay Limits", "The default limit is 100 requests per second for each client.",
     "Ledger Limits", "The default limit is 20 requests per second for each client."),
    ("Incident Runbook", "The incident lead writes an update every 30 minutes.",
     "Status Page Guide", "The communications lead writes an update every 60 minutes."),
    ("Ledger Failover", "The failover takes about 4 minutes.",
     "Harbour Failover", "The failover takes about 9 minutes."),
    ("Payments Runbook", "Restart the service after 3 failed probes.",
     "Identity Runbook", "Restart the service after 5 failed probes."),
    ("Code of Conduct", "Employees may accept gifts up to 50 euros.",
     "Public Sector Annex", "Employees may accept gifts up to 0 euros."),
)  # fmt: skip


@dataclass(frozen=True)
class Reported:
    one: str
    other: str
    why: str


def contradicts(one: Pair, rule: Rule) -> str:
    """Why a pair of statements contradicts itself by the rule; '' where it doesn't say so."""
    first_title, first, second_title, second = one
    names = stems(first_title), stems(second_title)
    if names[0] < names[1] or names[1] < names[0]:
        return ""  # an edition for somebody else
    quantity = quantities(first), quantities(second)
    if len(quantity[0]) != 1 or len(quantity[1]) != 1:
        return ""
    words = [_apart(text, found[0]) for text, found in zip((first, second), quantity, strict=True)]
    shared, union = words[0] & words[1], words[0] | words[1]
    if len(shared) < rule[1] or len(shared) < rule[0] * len(union):
        return ""
    return _differ(quantity[0][0], quantity[1][0])


def _apart(text: str, quantity: Quantity) -> frozenset[str]:
    return stems(f"{text[: quantity.start]} {text[quantity.end :]}")


def _differ(one: Quantity, other: Quantity) -> str:
    if not one.measure or one.measure != other.measure or one.agrees(other):
        return ""
    return f"{one.text} / {other.text}"


def in_context(context: Sequence[Chunk], snapshot: Snapshot, rule: Rule) -> Iterator[Reported]:
    """What the rule reports of what an answerer reads."""
    cards: dict[str, DocumentCard | None] = {
        chunk.document_id: next(iter(snapshot.cards([chunk.document_id])), None)
        for chunk in context
    }
    current = [chunk for chunk in context if not is_out_of_force(cards[chunk.document_id])]
    for one, other in combinations(current, 2):
        if one.document_id == other.document_id:
            continue
        for left in one.units:
            for right in other.units:
                if "row" in (left.kind, right.kind):
                    continue
                pair = (one.document_title, left.text, other.document_title, right.text)
                if why := contradicts(pair, rule):
                    yield Reported(f"{one.place}: {left.text}", f"{other.place}: {right.text}", why)
        yield from _in_rows(one, other)


def _in_rows(one: Chunk, other: Chunk) -> Iterator[Reported]:
    """Cells of the same row and column of two tables."""
    if not one.table or not other.table:
        return
    columns = {name.casefold(): at for at, name in enumerate(other.table.header) if name}
    for left in one.table.rows:
        for right in other.table.rows:
            if left[0].casefold() != right[0].casefold() or not stems(left[0]):
                continue
            for at, name in enumerate(one.table.header):
                there = columns.get(name.casefold())
                if not at or not there:
                    continue
                mine, theirs = quantities(left[at]), quantities(right[there])
                if len(mine) == len(theirs) == 1 and (why := _differ(mine[0], theirs[0])):
                    yield Reported(f"{one.place}: {left}", f"{other.place}: {right}", why)


def main(sets: Sequence[str]) -> None:
    for rule in RULES:
        found = [pair for pair in CONTRADICTING if contradicts(pair, rule)]
        wrong = [pair for pair in COMPATIBLE if contradicts(pair, rule)]
        print(
            f"{rule}: {len(found)} of {len(CONTRADICTING)} contradictions found, {len(wrong)} of "
            f"{len(COMPATIBLE)} compatible pairs reported"
        )
    with measured_domains(sets) as domains:
        for one in domains:
            contexts = list(_contexts(one))
            print(f"\n{one.set} {one.domain.domain}, {len(contexts)} questions")
            for rule in RULES:
                _print_reports(contexts, one.snapshot, rule)


def _contexts(one: Measured) -> Iterator[Sequence[Chunk]]:
    """What the answerer reads for each golden question."""
    ask = build_ask(snapshot=lambda: one.snapshot, domain=one.domain, model=None)
    for golden in one.questions:
        yield ask(Question(text=golden.question), None).context


def _print_reports(contexts: Sequence[Sequence[Chunk]], snapshot: Snapshot, rule: Rule) -> None:
    said = [list(in_context(context, snapshot, rule)) for context in contexts]
    reports = dict.fromkeys(report for each in said for report in each)
    print(f"{rule}: {sum(map(bool, said))} questions with a report, {len(reports)} different pairs")
    for report in [*reports][:3] if rule != RULES[-1] else ():
        print(f"   {report.why}\n      {report.one[:160]}\n      {report.other[:160]}")


if __name__ == "__main__":
    main(sys.argv[1:] or ("demo", "public"))
