"""Every table of the product in one database, made by the parts that own them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import Engine

from agents.confidence.kept_thresholds import KeptThresholds, built_in
from agents.judging.answer_judge import kept_verdicts
from agents.judging.corrections import KeptCorrections
from bot.app import Bot, build_bot
from bot.feature_tools import PublishedDomains
from config.errors import NothingPublished
from enrichment.with_model.ledger import SharedLedger
from enrichment.with_model.picture_shelf import PictureShelf
from enrichment.with_model.reply_cache import ReplyCache
from index.store.schema import create_index_tables
from index.store.unpublished_vectors import UnpublishedVectors
from jobs.evaluation.asked.kept_replies import KeptReplies
from jobs.evaluation.judge_check.judge_agreement import ScoredTwice, agreement
from jobs.evaluation.judge_check.judge_cards import KeptCards
from jobs.evaluation.over_time.run_history import keep_run
from jobs.preparing.handed_over import HandedOver
from jobs.preparing.suspects import Suspects
from jobs.replay.kept_canary import KeptCanary, KeptSight
from jobs.schedule.begun_runs import BegunRuns
from jobs.schedule.kept_notices import KeptNotices
from jobs.schedule.kept_runs import KeptRuns
from playground.slack_stand_in import SlackStandIn
from tests.bot.conftest import settings_for
from tests.bot.fakes import Agents, domain, spoken_of_in
from tests.jobs.made_up_report import made_up_report

SCORED = ScoredTwice(person=3, judge=4, person_incorrect=False, judge_incorrect=False)


def nothing_published(name: str) -> Any:
    raise NothingPublished(name)


@contextmanager
def built_bot(folder: Path, engine: Engine) -> Iterator[Bot]:
    """All of the bot, never started."""
    agents = Agents()
    with SlackStandIn() as slack:
        yield build_bot(
            settings_for(slack, folder),
            domains={"security": domain()},
            ask=agents,
            answering=spoken_of_in(agents),
            engine=engine,
            published=PublishedDomains(snapshot=nothing_published, embed=lambda texts: texts),
            ask_anew=agents,
        )


def make_every_table(folder: Path, engine: Engine) -> None:
    """As the parts of the product make theirs when they are first used."""
    create_index_tables(engine)
    UnpublishedVectors(engine, "security")
    with built_bot(folder, engine):
        """Its constructor makes the tables of all features."""
    ReplyCache(engine)
    kept_verdicts(engine)
    PictureShelf(engine)
    SharedLedger(engine, model="m", run="r")
    HandedOver(engine, "security")
    Suspects(engine, "security")
    BegunRuns(engine).begin("r")
    KeptNotices(engine).make_room()
    assert KeptRuns(engine).find("none") is None
    KeptReplies(engine, "security", "v")
    keep_run(engine, made_up_report(4, judged=False, beside=False))
    KeptCanary(engine, "security").keep(
        KeptSight(generation=1, version="v", configuration="c", seen={})
    )
    KeptThresholds(engine, "m").keep("security", built_in(0.1))
    KeptCorrections(engine).keep("security", ())
    KeptCards(engine).keep("security", "m", agreement([SCORED]))
