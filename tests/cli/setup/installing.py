"""A newcomer with a Slack, a Drive and an empty folder, and `oncall init` with piped answers."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from typer.testing import CliRunner

from cli.main import app
from playground.google_stand_in import GoogleStandIn
from playground.slack_stand_in import SlackStandIn
from tests.stand_ins import security_documents

KEPT = ("device-security-standard",)
"""One document is enough to be read and asked."""


@dataclass(frozen=True)
class Said:
    """What a command said, and how it ended."""

    text: str
    error: str
    code: int


@dataclass(frozen=True)
class Newcomer:
    folder: Path
    slack: SlackStandIn
    google: GoogleStandIn
    key: Path

    @property
    def right(self) -> list[str]:
        """Every answer, in the order of the questions, and no document read."""
        return [*self.tokens, "#help-security", "demo-security", str(self.key), "", "", "n"]

    @property
    def tokens(self) -> list[str]:
        return [self.slack.bot_token, self.slack.app_token]

    def run(self, *words: str, answers: list[str] | None = None) -> Said:
        done = CliRunner().invoke(app, list(words), input="\n".join([*(answers or []), ""]))
        error = "" if isinstance(done.exception, SystemExit | None) else str(done.exception)
        return Said(done.output, error, done.exit_code)

    def init(self, *answers: str) -> Said:
        return self.run("init", answers=list(answers))

    def env(self) -> str:
        return (self.folder / ".env").read_text(encoding="utf-8")


@contextmanager
def services(folder: Path) -> Iterator[tuple[SlackStandIn, GoogleStandIn]]:
    documents = security_documents(folder, KEPT)
    with (
        SlackStandIn(enforce_rate_limits=False) as slack,
        GoogleStandIn(documents) as google,
    ):
        yield slack, google


@contextmanager
def arrived(
    folder: Path, slack: SlackStandIn, google: GoogleStandIn, patch: pytest.MonkeyPatch
) -> Iterator[Newcomer]:
    """In a folder of their own, and both services as they were, afterwards."""
    patch.chdir(folder)
    patch.setenv("SLACK_API_URL", slack.api_url)
    patch.setenv("GOOGLE_API_URL", google.url)
    tokens, scopes = (slack.api.bot_token, slack.api.app_token), slack.api.scopes
    key = google.write_credentials(folder / "keys" / "google.json")
    yield Newcomer(folder, slack, google, key)
    slack.faults.clear()
    google.faults.clear()
    slack.api.revoked.clear()
    slack.api.scopes = scopes
    slack.bot_token, slack.app_token = slack.api.bot_token, slack.api.app_token = tokens


def another_key(path: Path, **held: object) -> str:
    path.write_text(json.dumps(held), encoding="utf-8")
    return str(path)
