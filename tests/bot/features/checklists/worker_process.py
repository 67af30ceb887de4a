"""A bot with a published runbook in a process of its own, for tests that kill it."""

from __future__ import annotations

import os

from config.settings import Settings
from index.store.database import open_database
from tests.bot.fakes import Agents, bot_of, domain
from tests.bot.features.checklists.runbooks import Published, RunbookShelf, citing, made
from tests.bot.worker_process import serve


def main() -> None:
    settings = Settings()
    shelf = RunbookShelf(made(int(os.environ.get("STEPS", "24"))))
    bot = bot_of(
        settings,
        Agents(citing(shelf, "made", "The way")),
        open_database(settings),
        {"security": domain(limits={"questions_per_user_per_hour": 10_000})},
        published=Published(shelf).domains(),
    )
    bot.start()
    serve(bot)


if __name__ == "__main__":
    main()
