"""`oncall docs stale` and `oncall docs lint` over documents that were really ingested."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.test_commands import oncall

FILES = {
    "keys.md": "---\nmodified: 2024-01-05\n---\n# Keys\n\nOwner: Ines. Next review: 2025-03-01.\n",
    "tea.md": "---\nreview_by: 2026-02-30\n---\n# Tea\n\nIt steeps for two minutes.\n",
    "gone.md": "---\nstatus: superseded\nreview_by: 2025-03-01\n---\n# Gone\n\nIt was so once.\n",
    "alerts.md": (
        "# Alerts\n\n| Alert | Region | First step |\n|---|---|---|\n"
        "| TeaCold | EU | Warm it |\n| TeaGone | wherever tea is in use | Buy some |\n"
    ),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("stale")
    (made / "config" / "domains").mkdir(parents=True)
    domain = "domain: tea\ntitle: Tea\nsources: {files: ['*.md']}\n"
    (made / "config" / "domains" / "tea.yaml").write_text(domain)
    for name, text in FILES.items():
        (made / name).write_text(text)
    done = oncall(made, "ingest", ONCALL_CONFIG_DIR="config")
    assert done.returncode == 0, done.stdout  # 30 February makes no document unreadable
    return made


def test_what_is_past_its_review_date_is_listed_with_its_score(folder: Path) -> None:
    done = oncall(folder, "docs", "stale", "tea", ONCALL_CONFIG_DIR="config")
    assert (done.returncode, done.stderr) == (0, "")
    assert "was to be reviewed by 1 Mar 2025, not cited lately, last changed" in done.stdout
    assert "score 0.0 = 0 cited ×" in done.stdout
    assert "Tea" not in done.stdout
    assert "Gone" not in done.stdout


def test_the_list_is_read_by_programs(folder: Path) -> None:
    done = oncall(folder, "docs", "stale", "tea", "--json", ONCALL_CONFIG_DIR="config")
    (one,) = json.loads(done.stdout)
    assert (one["id"], one["review_by"], one["cited"]) == ("keys.md", "2025-03-01", 0)
    assert one["why"].startswith("was to be reviewed by 1 Mar 2025")


def test_a_document_shows_the_review_date_that_was_read(folder: Path) -> None:
    done = oncall(folder, "docs", "show", "keys", ONCALL_CONFIG_DIR="config")
    assert "review by  2025-03-01" in done.stdout


UNREAD = "TeaGone, Region: “wherever tea is in use” can't be read, so it neither confirms nor"


def test_rows_of_alert_tables_that_cannot_be_read_are_listed(folder: Path) -> None:
    done = oncall(folder, "docs", "lint", ONCALL_CONFIG_DIR="config")
    assert (done.returncode, done.stderr) == (1, "")
    assert done.stdout.splitlines()[0] == "alerts.md  Alerts · tea"
    assert done.stdout.splitlines()[1].startswith(f"   {UNREAD}")
    assert len(done.stdout.splitlines()) == 2
    done = oncall(folder, "docs", "lint", "tea", "--json", ONCALL_CONFIG_DIR="config")
    (one,) = json.loads(done.stdout)
    assert (one["domain"], one["document"], one["column"]) == ("tea", "alerts.md", "Region")


def test_the_check_of_domain_files_lists_them_without_failing(folder: Path) -> None:
    done = oncall(folder, "config", "check", ONCALL_CONFIG_DIR="config")
    assert done.returncode == 0
    assert f"alerts.md: {UNREAD}" in done.stdout
