"""Log lines as an operator's tools and a person's terminal get them."""

from __future__ import annotations

import io
import json
import logging
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr
from datetime import datetime, timedelta
from typing import Any

import pytest
import structlog
from pydantic import BaseModel, ValidationError

from config.settings import Settings
from telemetry.logs import REDACTED, LogFormat, LogLevel, log_to_stderr


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@contextmanager
def logging_to(
    stream: io.StringIO, level: LogLevel = "info", form: LogFormat = "auto", **more: Any
) -> Iterator[None]:
    with redirect_stderr(stream):
        log_to_stderr(level, form, **more)
        try:
            yield
        finally:
            structlog.reset_defaults()


def lines(stream: io.StringIO) -> list[dict[str, Any]]:
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def test_outside_a_terminal_each_line_is_json_with_its_time_in_utc() -> None:
    written = io.StringIO()
    with logging_to(written):
        structlog.get_logger().info("the kettle boils", cups=2)
    (line,) = lines(written)
    assert list(line)[:3] == ["timestamp", "level", "event"]
    assert (line["level"], line["event"], line["cups"]) == ("info", "the kettle boils", 2)
    assert datetime.fromisoformat(line["timestamp"]).utcoffset() == timedelta(0)


@pytest.mark.parametrize("form", ["console", "json"])
def test_no_colours_come_out_of_a_pipe(form: LogFormat) -> None:
    written = io.StringIO()
    with logging_to(written, form=form):
        structlog.get_logger().warning("the kettle boils", cups=2)
    assert "\x1b" not in written.getvalue()


def test_a_terminal_gets_lines_for_people_unless_json_is_wanted() -> None:
    console, wanted = Terminal(), Terminal()
    with logging_to(console):
        structlog.get_logger().info("the kettle boils")
    with logging_to(wanted, form="json"):
        structlog.get_logger().info("the kettle boils")
    assert "\x1b[" in console.getvalue()
    assert lines(wanted)[0]["event"] == "the kettle boils"


def test_a_terminal_without_colours_is_respected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    written = Terminal()
    with logging_to(written):
        structlog.get_logger().info("the kettle boils")
    assert "\x1b" not in written.getvalue()


def test_libraries_are_heard_from_their_warnings_on_in_the_same_form() -> None:
    written = io.StringIO()
    with logging_to(written, "debug"):
        logging.getLogger("library").info("request sent: hush")
        logging.getLogger("library").warning("port %d is taken", 80)
    (line,) = lines(written)
    assert (line["event"], line["level"]) == ("port 80 is taken", "warning")
    assert line["logger"] == "library"


def test_below_its_level_nothing_is_logged_by_whomever() -> None:
    written = io.StringIO()
    with logging_to(written, "error"):
        structlog.get_logger().warning("lukewarm")
        logging.getLogger("library").warning("lukewarm")
        structlog.get_logger().error("cold")
    assert [line["event"] for line in lines(written)] == ["cold"]


@pytest.mark.parametrize("form", ["console", "json"])
def test_secrets_never_reach_a_line_wherever_they_come_from(form: LogFormat) -> None:
    tea, salt = "earl" + "-grey\"'secret", "pepper" + "mint"
    written = io.StringIO()
    with logging_to(written, form=form, secrets=[tea, salt]):
        log = structlog.get_logger()
        log.info(f"logged in with {salt}")
        log.info("connected", url="postgresql://maid:thepassword@db.example/x", key=salt)
        logging.getLogger("library").warning("sent %s", {"authorization": salt})
        try:
            raise RuntimeError(f"refused {salt}")
        except RuntimeError:
            log.exception("it failed")
        log.info("a token of nobody's: " + "xoxb-" + "1234567890")
        if form == "json":
            log.info("quoted", token=tea)
    for secret in (salt, "thepassword", "xoxb-", "grey"):
        assert secret not in written.getvalue()
    assert REDACTED in written.getvalue()
    assert "db.example" in written.getvalue()


def test_a_validation_error_in_a_traceback_does_not_show_what_it_was_given() -> None:
    class Cup(BaseModel):
        size: int

    written, given = io.StringIO(), {"size": "how long does tea steep?"}
    with logging_to(written):
        try:
            Cup.model_validate(given)
        except ValidationError:
            structlog.get_logger().exception("no cup")
    assert "steep" not in written.getvalue()
    assert "valid integer" in written.getvalue()


def test_settings_know_their_secrets_and_those_of_other_providers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "provider" + "-key-1")
    monkeypatch.setenv("PATH_TO_TEA", "no-secret-at-all")
    settings = Settings.model_validate(
        {
            "slack_bot_token": "bot" + "-token-1",
            "database_url": "postgresql://maid:" + "password-1" + "@127.0.0.1/tea",
            "openai_api_key": "k",  # a placeholder: it would be found inside of words
        }
    )
    found = settings.secrets()
    assert {"provider-key-1", "bot-token-1", "password-1"} <= found
    assert not {"no-secret-at-all", "k"} & found
