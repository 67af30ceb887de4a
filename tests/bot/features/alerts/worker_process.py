"""The bot over what was published before, in a process of its own, for tests that kill it."""

from __future__ import annotations

from config.settings import Settings
from oncall import Copilot
from tests.bot.worker_process import serve


def main() -> None:
    bot = Copilot(Settings()).bot()
    bot.start()
    serve(bot)


if __name__ == "__main__":
    main()
