"""Every table of the product in one database, made by the parts that own them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import Engine

from agents.confidence import ThresholdStore, built_in_threshold
from agents.judging.corrections import CorrectionStore
from agents.judging.judge import verdict_cache
from bot.app import Bot
from bot.feature import PublishedIndex
from config.errors import NothingPublished
from durable.heartbeat import Heartbeat
from enrichment.llm.ledger import SharedLedger
from enrichment.llm.pictures import PendingPictureStore
from enrichment.llm.reply_cache import ReplyCache
from index.store.database import create_index_tables
from index.store.vectors import UnpublishedVectors
from jobs.canary.store import CanaryBaseline, CanaryStore
from jobs.evaluation.agreement import JudgeCardStore, ScoredTwice, agreement
from jobs.evaluation.history import keep_run
from jobs.evaluation.reply_store import SqlReplyStore
from jobs.ingest.handoff_store import CrashSuspects, PreparationStore
from jobs.ingest.lost_sources import LostSourceStore
from jobs.schedule.recorded_run import NoticeStore, RunAttemptStore
from jobs.schedule.runs import RunStore
from playground.slack_stand_in import SlackStandIn
from tests.bot.conftest import settings_for
from tests.bot.fakes import Agents, bot_of, domain, spoken_of_in
from tests.jobs.evaluation.made_up_report import made_up_report

LISTENING = {"when": "always", "alert_bots": ["B0BEACON"]}
"""To whatever is said, by whomever."""
SCORED = ScoredTwice(person=3, judge=4, person_incorrect=False, judge_incorrect=False)


def nothing_published(name: str) -> Any:
    raise NothingPublished(name)


@contextmanager
def built_bot(folder: Path, engine: Engine) -> Iterator[Bot]:
    """All of the bot, never started."""
    agents = Agents()
    with SlackStandIn() as slack:
        yield bot_of(
            settings_for(slack, folder),
            agents,
            engine,
            {"security": domain(admins=["U0INES"], answer=LISTENING)},
            router=spoken_of_in(agents),
            published=PublishedIndex(snapshot=nothing_published, embed=lambda texts: texts),
            ask_unattended=agents,
        )


def make_every_table(folder: Path, engine: Engine) -> None:
    """As the parts of the product make theirs when they are first used."""
    create_index_tables(engine)
    UnpublishedVectors(engine, "security")
    with built_bot(folder, engine):
        """Its constructor makes the tables of all features."""
    ReplyCache(engine)
    verdict_cache(engine)
    PendingPictureStore(engine)
    SharedLedger(engine, model="m", run="r")
    PreparationStore(engine, "security")
    CrashSuspects(engine, "security")
    RunAttemptStore(engine).begin("r")
    NoticeStore(engine).create_tables()
    Heartbeat(engine, "bot").prepare()
    assert RunStore(engine).find("none") is None
    LostSourceStore(engine).forget_all_but("none", ())
    SqlReplyStore(engine, "security", "v")
    keep_run(engine, made_up_report(4, judged=False, beside=False))
    CanaryStore(engine, "security").keep(
        CanaryBaseline(generation=1, version="v", configuration="c", evidence={})
    )
    ThresholdStore(engine, "m").keep("security", built_in_threshold(0.1))
    CorrectionStore(engine).keep("security", ())
    JudgeCardStore(engine).keep("security", "m", agreement([SCORED]))
