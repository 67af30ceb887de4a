"""The demo's security documents behind the stand-ins for Google and Slack."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from pathlib import Path

from pydantic import SecretStr

from config.settings import Settings
from playground.google_stand_in import DEMO_FOLDER, GoogleStandIn
from playground.slack_stand_in import SlackStandIn


def security_documents(folder: Path, names: Iterable[str]) -> Path:
    """Some of the demo's documents as a drive to serve; the folder to give to GoogleStandIn."""
    documents = folder / "documents" / "security"
    documents.mkdir(parents=True)
    for name in names:
        shutil.copy(DEMO_FOLDER / "security" / f"{name}.md", documents)
    return documents.parent


def connected_settings(folder: Path, google: GoogleStandIn, slack: SlackStandIn) -> Settings:
    """Settings for both servers, with `config` and `var` in this folder and no model."""
    return Settings(_env_file=None).model_copy(
        update={
            "slack_api_url": slack.api_url,
            "slack_bot_token": SecretStr(slack.bot_token),
            "slack_app_token": SecretStr(slack.app_token),
            "google_api_url": google.url,
            "google_credentials": google.write_credentials(folder / "key.json"),
            "config_dir": folder / "config",
            "data_dir": folder / "var",
        }
    )
