"""A bot in a process of its own, for tests that kill it. Settings come from the environment."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path

from agents.answer import Answer, Question
from bot.app import Bot
from config.errors import CopilotError, NothingPublished
from config.settings import Settings
from index.store.database import open_database
from index.store.documents import Store
from loaders.google.owners import GoogleOwners
from telemetry.health import serve_health
from tests.bot.fakes import Agents, answer, bot_of, domain


def serve(bot: Bot) -> None:
    """A started one, until it is stopped or killed; whoever started the process reads that it is
    up."""
    bot.stop_on_signals()
    sys.stdout.write("up\n")
    sys.stdout.flush()
    bot.wait()


def reads(store: Store) -> Callable[[Question], Answer]:
    """Answers that need the database."""

    def reply(question: Question) -> Answer:
        if store.current("security") is None:
            raise NothingPublished("security")
        return answer(f"{question.text}: every 90 days [1].")

    return reply


def main() -> None:
    settings = Settings()
    agents = Agents(lambda question: answer(f"{question.text}: every 90 days [1]."))
    agents.seconds = float(os.environ.get("THINK_SECONDS", "0.3"))
    limits = {"questions_per_user_per_hour": 10_000, "questions_per_channel_per_hour": 10_000}
    more = json.loads(os.environ.get("DOMAIN", "{}"))
    here = Path(os.environ.get("ONCALL_DATA_DIR", "")) / "security.yaml"
    try:
        engine = open_database(settings)
        if os.environ.get("READS_INDEX"):
            agents.reply = reads(Store(engine))
        bot = bot_of(
            settings,
            agents,
            engine,
            {"security": domain(limits=limits, **more).read_from(here)},
            streaming=bool(os.environ.get("STREAMING")),
            owners=GoogleOwners(settings) if settings.google_credentials else None,
        )
        if port := os.environ.get("HEALTH_PORT"):
            serve_health(bot, int(port))
        bot.start()
    except CopilotError as error:
        sys.exit(str(error))
    serve(bot)


if __name__ == "__main__":
    main()
