from __future__ import annotations

from pathlib import Path

import pytest

from config.errors import ConfigError
from config.settings import Settings


def test_everything_missing_is_named_at_once_with_its_source(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("SLACK_BOT_TOKEN", "SLACK_APP_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(ConfigError) as caught:
        Settings(_env_file=None).require(
            slack_bot_token="OAuth & Permissions page", slack_app_token="Basic Information page"
        )
    assert "SLACK_BOT_TOKEN (OAuth & Permissions page)" in str(caught.value)
    assert "SLACK_APP_TOKEN (Basic Information page)" in str(caught.value)


def test_secrets_are_masked_wherever_settings_are_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLACK_BOT_TOKEN", "xoxb-very-secret")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret")
    settings = Settings(_env_file=None)
    assert settings.slack_bot_token is not None
    assert settings.slack_bot_token.get_secret_value() == "xoxb-very-secret"
    assert "very-secret" not in repr(settings) + str(settings) + settings.model_dump_json()


def test_the_example_environment_says_every_default_and_no_secret() -> None:
    example = Path(__file__).parents[2] / ".env.example"
    assert Settings(_env_file=example) == Settings(_env_file=None)
    lines = dict(
        line.split("=", 1)
        for line in example.read_text("utf-8").splitlines()
        if line and line[0] != "#"
    )
    assert len(lines) == len(Settings.model_fields)
    assert not [
        name for name in lines if name.endswith(("_TOKEN", "_KEY", "_SECRET")) if lines[name]
    ]


def test_a_model_needs_a_name_and_somewhere_to_ask(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "ONCALL_CHAT_MODEL"):
        monkeypatch.delenv(name, raising=False)
    assert not Settings(_env_file=None).has_chat_model()
    monkeypatch.setenv("ONCALL_CHAT_MODEL", "some-model")
    assert not Settings(_env_file=None).has_chat_model()
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    assert Settings(_env_file=None).has_chat_model()
