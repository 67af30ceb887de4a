"""`oncall doctor`: every check with its remedy, and none hides another."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from slack_sdk import WebClient
from websockets.sync.client import connect

from config.settings import Settings
from durable.heartbeat import Heartbeat
from index.store.database import open_database
from playground.google_stand_in import GoogleFault, GoogleStandIn
from playground.openai_stand_in import OpenAIStandIn
from playground.slack_stand_in import SlackStandIn
from tests.cli.setup.installing import Newcomer, arrived, services

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[SlackStandIn, GoogleStandIn]]:
    with services(tmp_path_factory.mktemp("services")) as found:
        yield found


@pytest.fixture
def installed(
    both: tuple[SlackStandIn, GoogleStandIn], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Newcomer]:
    """All is set up; nothing has been read yet."""
    with arrived(tmp_path, *both, monkeypatch) as one:
        assert one.init(*one.right).code == 0
        yield one


def wrong(one: Newcomer) -> dict[str, str]:
    """Check → what is wrong and the remedy, as programs read it."""
    done = one.run("doctor", "--json")
    found = json.loads(done.text)
    bad = {each["check"]: each for each in found if each["state"] == "wrong"}
    assert done.code == (1 if bad else 0)
    return {check: f"{each['said']} → {each['remedy']}" for check, each in bad.items()}


UNREAD = {"index of security": "nothing has been published for 'security' → run `oncall ingest "
          "security`"}  # fmt: skip


def test_what_is_not_ingested_yet_is_all_that_is_wrong_after_init(installed: Newcomer) -> None:
    assert wrong(installed) == UNREAD


def test_once_it_is_ingested_all_is_well(installed: Newcomer) -> None:
    assert installed.run("ingest").code == 0
    done = installed.run("doctor")
    assert (done.code, done.text.splitlines()[-1]) == (0, "All is well.")
    assert {line[0] for line in done.text.splitlines()[:-2]} == {"✓"}
    slack = installed.slack
    opened = WebClient(base_url=slack.api_url).apps_connections_open(app_token=slack.app_token)
    with connect(str(opened["url"])):
        (token,) = wrong(installed).values()
    assert token.startswith("connections that Slack counts: 1; bots of this installation that run:")


def test_after_a_restore_status_and_doctor_build_no_index_and_say_what_a_question_does(
    installed: Newcomer,
) -> None:
    assert installed.run("ingest").code == 0
    shutil.rmtree("var/index")
    absent = "not on this machine yet: the first question, or a process that starts, builds it"
    for command in ("status", "doctor"):
        done = installed.run(command)
        assert done.code == 0
        assert absent in done.text
        assert not list(Path("var/index").rglob("*.npy"))
    assert installed.run("ask", "security", "how old may a laptop be").code == 0
    assert absent not in installed.run("status").text


def test_a_schedule_that_no_runner_keeps_is_wrong(installed: Newcomer) -> None:
    file = Path("config/domains/security.yaml")
    file.write_text(file.read_text() + 'refresh: "0 3 * * *"\n')
    done = installed.run("jobs", "run", "--once")
    assert (done.code, "the job runner is up" in done.text) == (0, True)
    assert wrong(installed) == {
        "job runner": "none runs, so nothing is refreshed → start `oncall jobs run`"
    }
    said = "none runs, so nothing is refreshed; start `oncall jobs run`"
    assert f"Job runner: {said}." in installed.run("jobs", "list").text
    assert f"job runner  {said}" in installed.run("status").text
    assert [one["runner"] for one in json.loads(installed.run("jobs", "list", "--json").text)] == [
        False
    ]
    engine = open_database(Settings(_env_file=None, data_dir=Path("var")))
    runner = Heartbeat(engine, "jobs")
    runner.beat()
    assert wrong(installed) == {}
    assert "Job runner" not in installed.run("jobs", "list").text
    runner.stop()
    engine.dispose()
    assert wrong(installed).keys() == {"job runner"}


def test_each_thing_that_is_wrong_is_told_beside_the_others(installed: Newcomer) -> None:
    installed.slack.api.revoked.add(installed.slack.app_token)
    installed.slack.api.scopes -= {"reactions:write"}
    installed.slack.workspace.channels["C0SECURITY"].members.discard(installed.slack.bot_user_id)
    installed.google.drive.revoke("demo-security")
    try:
        bad = wrong(installed)
    finally:
        installed.google.drive.restore("demo-security")
        installed.slack.workspace.channels["C0SECURITY"].members.add(installed.slack.bot_user_id)
    assert bad.keys() == {
        "Slack permissions", "Slack app token", "channel C0SECURITY", "documents of security",
        *UNREAD,
    }  # fmt: skip
    assert "token_revoked → it was revoked" in bad["Slack app token"]
    assert bad["Slack permissions"].startswith("missing: reactions:write → ")
    assert "not in #help-security → write /invite @copilot there" in bad["channel C0SECURITY"]
    assert "→ share it with oncall-copilot@" in bad["documents of security"]


def test_without_a_token_that_works_channels_are_not_asked(installed: Newcomer) -> None:
    installed.slack.api.revoked.add(installed.slack.bot_token)
    done = installed.run("doctor")
    assert "– channel C0SECURITY       not asked, for want of a bot token that works" in done.text


@pytest.mark.parametrize(
    ("variable", "value", "check", "said"),
    [
        ("SLACK_BOT_TOKEN", '"xoxb-1234567890-abcdefgh"', "Slack bot token", "quotes"),
        ("SLACK_APP_TOKEN", "xoxb-1234567890-abcdefgh", "Slack app token", "that is a bot token"),
        ("GOOGLE_APPLICATION_CREDENTIALS", "gone.json", "Google key", "can't read"),
        ("DATABASE_URL", "mysql://u@h/d", "database", "DATABASE_URL names 'mysql'"),
        ("DATABASE_URL", "postgresql://u:geheim@127.0.0.1:9/d", "database", "127.0.0.1:9/d"),
        ("ONCALL_EMBEDDING_MODEL", "other-model", "embeddings", "needs a server"),
        ("ONCALL_CHAT_MODEL", "gpt-x", "language model", "is without effect"),
        ("ONCALL_VISION_MODEL", "gpt-x", "model for pictures", "there is no server to ask"),
        ("ONCALL_CHAT_MODEL", "anthrpic:x", "settings", "write anthropic:x"),
        ("ONCALL_DATA_DIR", "/proc/nowhere", "data folder", "cannot write to /proc/nowhere"),
        ("ONCALL_CONFIG_DIR", "nowhere", "domain files", "no domain files in nowhere/domains"),
    ],
)
def test_a_setting_that_is_wrong_is_told_by_its_check(
    installed: Newcomer,
    monkeypatch: pytest.MonkeyPatch,
    variable: str,
    value: str,
    check: str,
    said: str,
) -> None:
    monkeypatch.setenv(variable, value)
    bad = wrong(installed)
    assert said in bad[check]
    assert "geheim" not in str(bad)
    assert "abcdefgh" not in str(bad)


def test_a_model_is_asked_for_a_word(installed: Newcomer, monkeypatch: pytest.MonkeyPatch) -> None:
    with OpenAIStandIn(lambda request: "ok") as model:
        monkeypatch.setenv("OPENAI_BASE_URL", model.base_url)
        monkeypatch.setenv("ONCALL_CHAT_MODEL", "scripted")
        assert "✓ language model           scripted answers" in installed.run("doctor").text
        model.requests.clear()
        assert "✓ language model           scripted\n" in installed.run("doctor", "--offline").text
        assert not model.requests
        monkeypatch.setenv("ONCALL_VISION_MODEL", "seer")
        assert "✓ model for pictures       seer answers" in installed.run("doctor").text
    assert {"language model", "model for pictures"} <= wrong(installed).keys()


def test_a_google_that_does_not_answer_is_said_to_be_that(installed: Newcomer) -> None:
    installed.google.faults.add(GoogleFault(method="files.list", times=None, status=503))
    assert "Google did not answer properly" in wrong(installed)["Google key"]


def test_a_broken_domain_file_is_told_at_its_line(installed: Newcomer) -> None:
    file = Path("config/domains/security.yaml")
    file.write_text(file.read_text() + "answr: {}\n")
    assert "unknown key 'answr'; did you mean 'answer'?" in wrong(installed)["domain files"]


def test_the_demos_domains_are_named_as_such(
    installed: Newcomer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ONCALL_CONFIG_DIR", str(ROOT / "config"))
    assert "are the demo's → run `oncall init`" in wrong(installed)["domain files"]
