"""A disk that fills while publishing: the published edition answers, and room is all it takes."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.trial

ROOT = Path(__file__).parents[3]
NAMESPACE = ["unshare", "--user", "--map-root-user", "--mount"]


def may_make_a_disk(place: Path) -> bool:
    try:
        made = subprocess.run([*NAMESPACE, "mount", "-t", "tmpfs", "tried", place], check=False)
    except FileNotFoundError:
        return False
    return made.returncode == 0


def test_wherever_the_disk_fills_the_published_edition_answers_until_there_is_room(
    tmp_path: Path,
) -> None:
    if not may_make_a_disk(tmp_path):
        pytest.skip("needs unshare(1) and a kernel that lets users make namespaces")
    command = [sys.executable, "-m", "tests.jobs.ingest.full_disk", str(tmp_path)]
    done = subprocess.run([*NAMESPACE, *command], cwd=ROOT, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
    points = [json.loads(line) for line in done.stdout.splitlines() if line.startswith(b"{")]
    for point in points:
        new = f"The book-0 says {point['left_kb']} KB."
        assert point["after"] == new, "once there is room"
        if point["happened"] == "published":
            assert point["meanwhile"] == new
        else:
            full = f"the disk of {tmp_path / 'var'} is full; make room"
            assert full in point["happened"] or "free some space in ONCALL" in point["happened"]
            assert "\n" not in point["happened"]
            assert point["meanwhile"] == point["before"]
    assert points[0]["happened"] != "published" == points[-1]["happened"]
