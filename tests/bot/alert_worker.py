"""The bot over what was published before, in a process of its own, for tests that kill it."""

from __future__ import annotations

import sys

from config.settings import Settings
from oncall import Copilot


def main() -> None:
    bot = Copilot(Settings()).bot()
    bot.start()
    bot.stop_on_signals()
    sys.stdout.write("up\n")
    sys.stdout.flush()
    bot.wait()


if __name__ == "__main__":
    main()
