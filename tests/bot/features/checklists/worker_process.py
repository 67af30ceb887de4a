"""A bot with a published runbook in a process of its own, for tests that kill it."""

from __future__ import annotations

import os

from bot.app import build_bot
from config.settings import Settings
from index.store.database import open_database
from tests.bot.fakes import EVERYWHERE_ALIKE, Agents, domain
from tests.bot.features.checklists.runbooks import Published, RunbookShelf, citing, made
from tests.bot.worker_process import serve


def main() -> None:
    settings = Settings()
    shelf = RunbookShelf(made(int(os.environ.get("STEPS", "24"))))
    bot = build_bot(
        settings,
        domains={"security": domain(limits={"questions_per_user_per_hour": 10_000})},
        ask=Agents(citing(shelf, "made", "The way")),
        answering=EVERYWHERE_ALIKE,
        engine=open_database(settings),
        published=Published(shelf).domains(),
    )
    bot.start()
    serve(bot)


if __name__ == "__main__":
    main()
