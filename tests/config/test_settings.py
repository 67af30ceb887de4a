from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest
import structlog

from config.errors import ConfigError
from config.settings import Settings, read_settings
from telemetry.logs import log_to_stderr


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


def test_a_secret_may_stand_in_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "token").write_text("xoxb-in-a-file\n")
    monkeypatch.delenv("SLACK_BOT_TOKEN", raising=False)
    monkeypatch.setenv("SLACK_BOT_TOKEN_FILE", str(tmp_path / "token"))
    token = read_settings().slack_bot_token
    assert token is not None
    assert token.get_secret_value() == "xoxb-in-a-file"
    monkeypatch.delenv("SLACK_BOT_TOKEN_FILE")
    (tmp_path / ".env").write_text(f"DATABASE_URL_FILE={tmp_path / 'token'}\n")
    monkeypatch.delenv("DATABASE_URL", raising=False)
    assert read_settings().database_url == "xoxb-in-a-file"


@pytest.mark.parametrize(
    ("held", "besides", "said"),
    [
        (None, "", "SLACK_BOT_TOKEN_FILE: {file} can't be read: No such file or directory"),
        (b"\n", "", "SLACK_BOT_TOKEN_FILE: {file} is empty"),
        (b"\xff\xfe", "", "SLACK_BOT_TOKEN_FILE: {file} can't be read: not UTF-8"),
        (b"xoxb-1", "xoxb-2", "SLACK_BOT_TOKEN and SLACK_BOT_TOKEN_FILE are both set"),
    ],
)
def test_a_secret_that_cannot_be_had_is_one_line_without_it(
    held: bytes | None, besides: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "token"
    if held is not None:
        file.write_bytes(held)
    monkeypatch.setenv("SLACK_BOT_TOKEN_FILE", str(file))
    monkeypatch.setenv("SLACK_BOT_TOKEN", besides)
    with pytest.raises(ConfigError) as refused:
        read_settings()
    assert refused.value.problem == said.format(file=file)
    assert "xoxb-" not in str(refused.value)


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


FIELDS = [
    ("chat_model", "theirs"), ("embedding_model", "theirs"), ("api_token", "theirs"),
    ("config_dir", "theirs"), ("data_dir", "theirs"), ("keyword_engine", "rank_bm25"),
]  # fmt: skip


@pytest.mark.parametrize(("field", "value"), FIELDS)
@pytest.mark.parametrize("place", ["environment", ".env"])
def test_only_documented_names_count_in_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, field: str, value: str, place: str
) -> None:
    monkeypatch.chdir(tmp_path)
    documented = str(Settings.model_fields[field].validation_alias.choices[0])  # type: ignore[union-attr]
    monkeypatch.delenv(documented, raising=False)
    default = getattr(read_settings(), field)
    for name in (field, field.upper()):
        if place == ".env":
            (tmp_path / ".env").write_text(f"{name}={value}\n")
        else:
            monkeypatch.setenv(name, value)
        assert getattr(read_settings(), field) == default
    (tmp_path / ".env").write_text(f"{documented}={value}\n")
    assert getattr(read_settings(), field) != default
    assert getattr(Settings.model_validate({field: value}), field) != default


def test_an_env_file_that_is_not_utf_8_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".env").write_bytes(b"GOOGLE_DELEGATE=caf\xe9\n")
    with pytest.raises(ConfigError, match=r"^\.env can't be read: not UTF-8"):
        read_settings()


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("anthrpic:claude-x", "no provider 'anthrpic'; write anthropic:claude-x"),
        ("Google-Genia:gemini-x", "write google_genai:gemini-x"),
        ("mistral:large", "write mistralai:large"),
        ("qqqq:x", "no provider 'qqqq'; one of anthropic, "),
        ("anthropic:", "names no model after the colon"),
        ("openai:", "names no model after the colon"),
        (":", "names no model after the colon"),
        (":claude-x", "names no model after the colon"),
    ],
)
@pytest.mark.parametrize("key", ["", "sk-x"])
def test_a_model_name_that_means_none_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, said: str, key: str
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    monkeypatch.setenv("ONCALL_CHAT_MODEL", name)
    monkeypatch.setenv("OPENAI_API_KEY", key)
    with pytest.raises(ConfigError, match=r"^ONCALL_CHAT_MODEL=") as caught:
        read_settings()
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "server"),
    [
        ("gpt-x", ""),
        ("llama3:8b", ""),
        ("ft:gpt-x:tidewater::1", ""),
        ("anthropic:claude-x", ""),
        ("mistral:7b", "http://127.0.0.1:9/v1"),
    ],
)
def test_a_model_name_that_a_server_may_know_is_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, server: str
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPENAI_BASE_URL", server)
    monkeypatch.setenv("ONCALL_CHAT_MODEL", name)
    assert read_settings().chat_model == name


def test_a_log_line_goes_to_standard_error_as_it_is_then(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not to the one of when logging was set up, which may be closed by now."""
    with monkeypatch.context() as patch:
        patch.setattr(sys, "stderr", io.StringIO())
        log_to_stderr()
        sys.stderr.close()
    written = io.StringIO()
    monkeypatch.setattr(sys, "stderr", written)
    structlog.get_logger().warning("the index is old")
    assert "the index is old" in written.getvalue()
