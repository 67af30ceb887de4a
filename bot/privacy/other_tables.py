"""Stored text outside the bot's own tables: whose it is, and until when. Names of columns are
separated by spaces. tests/bot/privacy/test_every_column.py fails for a column that is missing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from sqlalchemy import Connection, MetaData, Table, inspect

from bot.questions.personal import PersonalTable


@dataclass(frozen=True, kw_only=True)
class OtherTable:
    until: str
    owner: str = ""
    """The person to whom a row belongs: exported, and erased with them."""
    words: str = ""
    """People's words; `bot.privacy.personal_data` finds them by a rule of their own."""
    people: str = ""
    """Ids of people, found by a rule of their own."""
    documents: str = ""
    """Text of documents, and of models about documents."""
    plain: str = ""
    drawn_from: str = ""
    """Columns that name the documents of the row's text, as JSON; without one of these documents,
    the row is deleted, and one with NULL, which an older release stored."""
    aged: str = ""
    """Time of a row whose documents are unknown: it is deleted with any document, once it is as
    old as that one's deletion."""
    packed: str = ""
    """Column with the text as deflated JSON that names its documents: it becomes NULL."""

    @property
    def declared(self) -> frozenset[str]:
        groups = (self.words, self.people, self.documents, self.plain, self.owner)
        return frozenset(" ".join(groups).split())


_DOCUMENTS = "until the documents change or are deleted, and `ONCALL_DELETED_TEXT_HOURS`"
_NEWEST = "the newest 20,000"
_FOR_GOOD = "as long as the database"
OTHER_TABLES: Mapping[str, OtherTable] = {
    "agent_threads": OtherTable(
        words="checkpoint", plain="place domain checkpoint_id",
        until="`retention.days` from the thread's first question",
    ),
    "agent_thread_people": OtherTable(people="person", plain="place", until="as its thread"),
    "cached_answers": OtherTable(
        words="question answer", plain="domain key question_digest vector answer_digest documents",
        drawn_from="documents",
        until="`answer.cache.days`",
    ),
    "audit_shown": OtherTable(
        people="asker", plain="showing door place domain documents", until="`ONCALL_AUDIT_DAYS`"
    ),
    "audit_purges": OtherTable(until=_FOR_GOOD),
    "bot_timers": OtherTable(plain="key kind subject", until="until it is due"),
    "bot_upkeep": OtherTable(plain="task", until=_FOR_GOOD),
    "canary_results": OtherTable(
        documents="seen told", plain="domain version configuration", until="until the next result"
    ),
    "confidence_thresholds": OtherTable(plain="domain model", until=_FOR_GOOD),
    "enrichment_pace": OtherTable(plain="model", until=_FOR_GOOD),
    "enrichment_replies": OtherTable(
        documents="prompt reply", plain="key model documents", drawn_from="documents",
        until="until the documents are deleted, and `ONCALL_DELETED_TEXT_HOURS`",
    ),
    "enrichment_spent": OtherTable(plain="run", until="until the run is over"),
    "evaluation_replies": OtherTable(
        documents="question reply", plain="version domain", drawn_from="reply", until=_NEWEST
    ),
    "evaluation_runs": OtherTable(
        documents="report", plain="id domain system model judge version metrics", packed="report",
        until=_FOR_GOOD,
    ),
    "evaluation_verdicts": OtherTable(
        documents="prompt reply", plain="key model documents", drawn_from="documents",
        until=_NEWEST,
    ),
    "index_chunks": OtherTable(documents="payload", until=_DOCUMENTS),
    "index_current": OtherTable(plain="domain", until=_DOCUMENTS),
    "index_generations": OtherTable(
        plain="domain digest embedder cursors manifest", until=_DOCUMENTS
    ),
    "index_members": OtherTable(plain="domain", until=_DOCUMENTS),
    "index_revisions": OtherTable(
        documents="card", plain="domain document_id digest", until=_DOCUMENTS
    ),
    "index_unpublished_vectors": OtherTable(
        plain="domain key leading trailing scale", until="until they are published"
    ),
    "index_withdrawn": OtherTable(
        plain="domain document_id", until="their text is deleted everywhere"
    ),
    "ingest_begun": OtherTable(plain="run", until="until the run is over"),
    "ingest_loaded": OtherTable(
        documents="document", plain="domain document_id digest content_hash version",
        until="until it is published",
    ),
    "ingest_notices": OtherTable(owner="person", documents="lines", plain="id", until="until sent"),
    "ingest_pictures": OtherTable(
        documents="picture", plain="digest media_type", aged="kept_at",
        until="until it is described",
    ),
    "ingest_prepared": OtherTable(
        documents="result", plain="domain document_id way digest", until="until it is published"
    ),
    "ingest_progress": OtherTable(plain="domain at_work deaths", until="until the run is over"),
    "ingest_runs": OtherTable(
        documents="failures problem", plain="id domain wall runner outcome", until=_FOR_GOOD
    ),
    "ingest_told": OtherTable(documents="complaints", plain="domain", until=_FOR_GOOD),
    "judge_cards": OtherTable(plain="domain judge card", until=_FOR_GOOD),
    "judge_corrections": OtherTable(
        documents="corrections", plain="domain", until="until the domain learns others"
    ),
    "lost_sources": OtherTable(
        plain="domain source reason documents", until="until the source can be read again"
    ),
    "process_heartbeats": OtherTable(plain="process host", until="until its process stops"),
    "schema_floors": OtherTable(plain="part", until=_FOR_GOOD),
    "schema_versions": OtherTable(plain="part", until=_FOR_GOOD),
}  # fmt: skip


def owned_tables(connection: Connection) -> Iterator[PersonalTable]:
    """Those of other layers whose rows belong to a person, as far as they exist."""
    existing = inspect(connection)
    for name, one in OTHER_TABLES.items():
        if one.owner and existing.has_table(name):
            table = Table(name, MetaData(), autoload_with=connection)
            yield PersonalTable(table=table, owner=one.owner)


def columns_as_markdown(tables: Mapping[str, PersonalTable]) -> str:
    """The table of docs/privacy.md. `tables`: of the bot, by name."""
    head = ("table", "people's words", "people", "text of documents", "until")
    lines = [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}"]
    rows = {name: _of_bot(one) for name, one in tables.items()}
    rows |= {
        name: (one.words.split(), [one.owner, *one.people.split()], one.documents, one.until)
        for name, one in OTHER_TABLES.items()
    }
    for name, (words, people, documents, until) in sorted(rows.items()):
        cells = [_code(words), _code(filter(None, people)), _code(documents.split()), until]
        lines.append(f"| `{name}` | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _of_bot(one: PersonalTable) -> tuple[list[str], list[str], str, str]:
    until = f"`retention.days` from `{one.at}`" if one.at else ""
    if one.question:
        until = f"{until}, with its question at the latest" if until else "as its question"
    people = [one.owner, *one.people, *one.blank]
    until = one.until or until
    return list(one.words), people, one.documents, until or "as long as the database"


def _code(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)
