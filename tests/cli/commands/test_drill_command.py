"""`oncall drill` over documents that were really ingested, without Slack and with it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from playground.slack_stand_in import SlackStandIn
from tests.bot.features.drills.ward import alerts, pages
from tests.cli.test_commands import oncall

DOMAIN = (
    "domain: ward\ntitle: Ward\nsources: {files: ['*.md']}\n"
    "runbooks: {drill: {cron: '30 2 * * *', link_hosts: [localhost]}}\n"
)


def ingested(folder: Path, text: str, domain: str = DOMAIN) -> Path:
    (folder / "config" / "domains").mkdir(parents=True)
    (folder / "config" / "domains" / "ward.yaml").write_text(domain)
    (folder / "alerts.md").write_text(text)
    assert oncall(folder, "ingest", ONCALL_CONFIG_DIR="config").returncode == 0
    return folder


def test_entries_that_are_fine_end_with_0(tmp_path: Path) -> None:
    domain = DOMAIN.partition("runbooks")[0]
    folder = ingested(tmp_path, alerts(("BedFull", "SEV3", "Move a patient", "PRE")), domain)
    done = oncall(folder, "drill", "ward", ONCALL_CONFIG_DIR="config")
    assert (done.returncode, done.stderr) == (0, "")
    assert "entries drilled: 1, to mend: 0" in done.stdout
    assert "not checked: people, groups and channels: SLACK_BOT_TOKEN is not set" in done.stdout
    assert "not checked: links: runbooks.drill.link_hosts" in done.stdout


def test_what_is_to_mend_is_listed_and_ends_with_1(tmp_path: Path) -> None:
    with pages() as wiki, SlackStandIn() as slack:
        rows = (
            ("BedFull", "SEV3", f"See [the page]({wiki}/gone)", "PRE"),
            ("BedNurse", "SEV3", "Call `<@U0NOBODY>`", "PRE"),
            ("BedOdd\x1b[31m", "SEV3", "Call `<@U0DANA>`", "PRE"),
        )
        folder = ingested(tmp_path, alerts(*rows))
        with_slack = {
            "ONCALL_CONFIG_DIR": "config", "ONCALL_INNER_HOSTS": "localhost",
            "SLACK_BOT_TOKEN": slack.bot_token, "SLACK_API_URL": slack.api_url,
        }  # fmt: skip
        done = oncall(folder, "drill", "ward", **with_slack)
        assert done.returncode == 1
        assert "BedFull · Ward Alerts" in done.stdout
        assert "its link to localhost/gone leads to a page that is not there" in done.stdout
        assert "it names somebody whom Slack doesn't know: name who" in done.stdout
        assert "entries drilled: 3, to mend: 2" in done.stdout
        assert "not checked" not in done.stdout
        assert "\x1b[31m" not in done.stdout
        listed = json.loads(oncall(folder, "drill", "ward", "--json", **with_slack).stdout)
        assert (listed["domain"], listed["entries"], listed["not_checked"]) == ("ward", 3, [])
        assert [one["alert"] for one in listed["to_mend"]] == ["BedFull", "BedNurse"]
        assert listed["to_mend"][0]["findings"][0]["kind"] == "link"


@pytest.mark.parametrize(
    ("name", "says"), [("wart", "did you mean"), ("ward", "nothing has been published")]
)
def test_a_drill_of_nothing_says_what_to_do(tmp_path: Path, name: str, says: str) -> None:
    (tmp_path / "config" / "domains").mkdir(parents=True)
    (tmp_path / "config" / "domains" / "ward.yaml").write_text(DOMAIN)
    done = oncall(tmp_path, "drill", name, ONCALL_CONFIG_DIR="config")
    assert done.returncode not in (0, 1) or done.stderr
    assert says in done.stderr


def test_names_are_left_out_where_slack_refuses_the_token(tmp_path: Path) -> None:
    folder = ingested(tmp_path, alerts(("BedNurse", "SEV3", "Call `<@U0NOBODY>`", "PRE")))
    with SlackStandIn() as slack:
        wrong = {"SLACK_BOT_TOKEN": "xoxb-wrong", "SLACK_API_URL": slack.api_url}
        done = oncall(folder, "drill", "ward", ONCALL_CONFIG_DIR="config", **wrong)
    assert (done.returncode, done.stderr) == (0, "")
    assert "not checked: people, groups and channels: Slack refused auth.test" in done.stdout
