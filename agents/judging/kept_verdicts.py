"""Verdicts in the state database: an unchanged answer is never judged twice."""

from __future__ import annotations

import threading
from datetime import UTC, datetime

from pydantic import ValidationError
from sqlalchemy import (
    Column,
    DateTime,
    Engine,
    MetaData,
    String,
    Table,
    Text,
    delete,
    insert,
    select,
)
from sqlalchemy.exc import DBAPIError, IntegrityError

from agents.judging.judge_request import JudgeVerdict

MOST = 20_000
"""Verdicts kept, those given last: about 40 MB."""
_METADATA = MetaData()
_VERDICTS = Table(
    "evaluation_verdicts",
    _METADATA,
    Column("key", String(64), primary_key=True, comment="hash of the judge and all it was shown"),
    Column("model", String(200), nullable=False),
    Column("verdict", Text, nullable=False),
    Column("given_at", DateTime, nullable=False, index=True, comment="UTC"),
)


class KeptVerdicts:
    """Of all domains and judges; for several threads. Creates its table when something is kept."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._has_table = False
        self._lock = threading.Lock()

    def find(self, key: str) -> JudgeVerdict | None:
        """None also for one of another edition of the product."""
        wanted = select(_VERDICTS.c.verdict).where(_VERDICTS.c.key == key)
        try:
            with self._engine.connect() as connection:
                text = connection.execute(wanted).scalar()
        except DBAPIError:
            return None  # nothing was ever kept, or the database fails
        try:
            return None if text is None else JudgeVerdict.model_validate_json(text)
        except ValidationError:
            return None

    def keep(self, key: str, verdict: JudgeVerdict, model: str) -> None:
        with self._lock:  # two threads that create the table at once stumble over each other
            if not self._has_table:
                _METADATA.create_all(self._engine, checkfirst=True)
                self._forget_the_oldest()
                self._has_table = True
        values = {
            "key": key,
            "model": model[:200],
            "verdict": verdict.model_dump_json(),
            "given_at": datetime.now(UTC).replace(tzinfo=None),
        }
        try:
            with self._engine.begin() as connection:
                connection.execute(delete(_VERDICTS).where(_VERDICTS.c.key == key))
                connection.execute(insert(_VERDICTS).values(values))
        except IntegrityError:
            return  # another process kept the same verdict a moment ago

    def _forget_the_oldest(self) -> None:
        newest = select(_VERDICTS.c.given_at).order_by(_VERDICTS.c.given_at.desc())
        with self._engine.begin() as connection:
            oldest = connection.execute(newest.offset(MOST - 1).limit(1)).scalar()
            if oldest is not None:
                connection.execute(delete(_VERDICTS).where(_VERDICTS.c.given_at < oldest))
