"""A bot with published alerts in a process of its own, for tests that kill it."""

from __future__ import annotations

from typing import Any, cast

from bot.feature import PublishedIndex
from config.settings import Settings
from index.store.database import open_database
from tests.agents.corpus import snapshot
from tests.bot.fakes import Agents, bot_of, domain
from tests.bot.features.alerts.office import catalogue
from tests.bot.worker_process import serve


def main() -> None:
    settings = Settings()
    shelf = snapshot(catalogue())
    published = PublishedIndex(snapshot=lambda name: shelf, embed=cast("Any", None))
    known = {"security": domain(runbooks={"rehearsal": True})}
    bot = bot_of(settings, Agents(), open_database(settings), known, published=published)
    bot.start()
    serve(bot)


if __name__ == "__main__":
    main()
