"""Every library at its most talkative, and still no key in what is written."""

from __future__ import annotations

import json
import logging
from pathlib import Path

import pytest

from tests.bot.conftest import answered
from tests.bot.office import CHANNEL, open_office


def test_no_key_is_logged_by_anyone_while_documents_are_read_and_questions_answered(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.DEBUG)
    with open_office(tmp_path) as office:
        office.director.says["break-glass"] = "Ask the duty officer. [break-glass]"
        office.slack.wait_for_reply(CHANNEL, office.ask("who may use break-glass?"), until=answered)
        office.director.down = True
        office.slack.wait_for_reply(CHANNEL, office.ask("how old may a key get?"), until=answered)
        tokens = [office.slack.bot_token, office.slack.app_token]
    key = json.loads((tmp_path / "key.json").read_text())
    _, line, *_ = key["private_key"].splitlines()
    written = caplog.text + "".join(capfd.readouterr())
    assert {"slack_bolt", "openai"} <= {record.name.split(".")[0] for record in caplog.records}
    assert [secret for secret in [*tokens, line, "Bearer "] if secret in written] == []
