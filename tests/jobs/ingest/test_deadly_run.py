"""A run that takes down every runner is given up, told, and tried anew at its next time."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from config.settings import Settings
from index.store.database import open_database
from jobs.schedule.runs import RunStore
from tests.jobs.ingest.deadly_run import DEADLY, NEXT

pytestmark = pytest.mark.kill

ROOT = Path(__file__).parents[3]


def test_a_run_in_which_six_runners_died_is_set_aside_until_its_next_time(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.jobs.ingest.deadly_run", str(tmp_path)],
        cwd=ROOT, env={"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT)},
        text=True, capture_output=True, timeout=300, check=True,
    )  # fmt: skip
    said = [line for line in done.stdout.splitlines() if " died, and " in line]
    assert said == [
        "6 died, and the next ended with 0",
        "0 died, and the next ended with 0",
    ]
    engine = open_database(Settings(data_dir=tmp_path, database_url=None))
    runs = RunStore(engine)
    deadly, following = runs.find(DEADLY), runs.find(NEXT)
    engine.dispose()
    assert deadly
    assert following
    assert (deadly.outcome, following.outcome) == ("failed", "published")
    assert "6 runners died" in deadly.problem
    told = (tmp_path / "told").read_text().splitlines()
    assert [line for line in told if "6 runners died" in line] == told[:1]
    assert told[-1].startswith("U0INES: security: all is well again")
