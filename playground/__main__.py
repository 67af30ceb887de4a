"""The stand-ins for Slack and Google by themselves, to try an installation against:

python -m playground            # prints what to set; Ctrl-C stops it
"""

from __future__ import annotations

import argparse
import signal
import sys
import time
from pathlib import Path

from playground.google_stand_in import GoogleStandIn
from playground.slack_stand_in import SlackStandIn

PAGE_PORT = 8787
GOOGLE_PORT = 8788
LOOK_SECONDS = 0.2


def main() -> None:
    """Serve until stopped."""
    parser = argparse.ArgumentParser(prog="python -m playground", description=__doc__)
    parser.add_argument(
        "--key",
        type=Path,
        default=Path("playground-google-key.json"),
        help="where the service account's key is written",
    )
    key = parser.parse_args().key
    ended: list[int] = []
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda number, _: ended.append(number))
    with GoogleStandIn(port=GOOGLE_PORT) as google, SlackStandIn(port=PAGE_PORT) as slack:
        sys.stdout.write(
            f"# A Slack look-alike is at {slack.url}, with the bot in #help-security.\n"
            f"# Its documents are in the folders demo-security, demo-privacy and demo-platform.\n"
            f"# What the program is told, in the shell that it runs in:\n"
            f"export SLACK_API_URL={slack.api_url} GOOGLE_API_URL={google.url}\n"
            f"# What it asks for:\n"
            f"#   bot token    {slack.bot_token}\n"
            f"#   app token    {slack.app_token}\n"
            f"#   Google key   {google.write_credentials(key).absolute()}\n"
        )
        sys.stdout.flush()
        while not ended:
            time.sleep(LOOK_SECONDS)


if __name__ == "__main__":
    main()
