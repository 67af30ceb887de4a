"""What features keep of people goes as everything else does."""

from __future__ import annotations

from datetime import timedelta

from sqlalchemy import Column, DateTime, MetaData, String, Table, Text, create_engine, select

from bot.privacy.tables import (
    erase_in_features,
    forget_with_questions,
    purge_features,
    rows_of,
)
from bot.questions.personal import Authors, PersonalTable
from bot.slack.messages import ERASED
from durable.database import now

NOTES = Table(
    "notes",
    MetaData(),
    Column("id", String(10), primary_key=True),
    Column("domain", String(20), nullable=False),
    Column("question_id", String(20), nullable=False),
    Column("by", String(20), nullable=False),
    Column("seen_by", String(20), nullable=False),
    Column("said", Text, nullable=False),
    Column("at", DateTime, nullable=False),
)
KEPT = PersonalTable(
    table=NOTES,
    at="at",
    people=("by", "seen_by"),
    words={"said": Authors(by=("by",))},
    question="question_id",
)


def test_they_are_purged_handed_out_and_erased() -> None:
    engine = create_engine("sqlite://")
    NOTES.metadata.create_all(engine)

    def row(id: str, by: str, days: int) -> dict[str, object]:  # noqa: A002 - the column's name
        return {
            "id": id, "domain": "security", "question_id": f"C1:{id}", "by": by,
            "seen_by": "U0INES", "said": "heliotrope", "at": now() - timedelta(days=days),
        }  # fmt: skip

    with engine.begin() as connection:
        connection.execute(NOTES.insert(), [row("1", "U0YOU", 40), row("2", "U0YOU", 1)])
        connection.execute(NOTES.insert(), [row("3", "U0INES", 1), row("4", "U0DANA", 1)])

        def ids() -> set[str]:
            return set(connection.scalars(select(NOTES.c.id)))

        assert purge_features(connection, lambda domain: 30, [KEPT]) == 1
        assert ids() == {"2", "3", "4"}
        forget_with_questions(connection, ["C1:4"], [KEPT])
        assert ids() == {"2", "3"}
        assert [one["id"] for one in rows_of(connection, ["U0YOU"], [KEPT])["notes"]] == ["2"]
        assert erase_in_features(connection, ["U0YOU"], [KEPT]) == {"notes": 1}
        left = connection.execute(select(NOTES.c.by, NOTES.c.said).where(NOTES.c.id == "2")).one()
        assert tuple(left) == (ERASED, "")
        assert connection.scalar(select(NOTES.c.said).where(NOTES.c.id == "3")) == "heliotrope"
    engine.dispose()
