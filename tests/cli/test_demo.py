"""`oncall demo` beside another one: real processes, stopped once they have said enough."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

pytestmark = pytest.mark.trial

ROOT = Path(__file__).parents[2]


@contextmanager
def demo(folder: Path) -> Iterator[subprocess.Popen[str]]:
    """In `folder`/var; its first lines come before its documents are read."""
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("SLACK_", "OPENAI_"))}
    settings = {"ONCALL_DATA_DIR": str(folder / "var"), "ONCALL_CONFIG_DIR": str(ROOT / "config")}
    with subprocess.Popen(
        [sys.executable, "-c", "from cli.main import main; main()", "demo"],
        cwd=folder,
        env={**clean, **settings, "PYTHONPATH": str(ROOT), "COLUMNS": "200"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline()


def test_a_second_demo_in_the_same_folder_is_refused_before_it_writes(tmp_path: Path) -> None:
    with demo(tmp_path) as first:
        assert "Tidewater Pay" in line(first)
        assert line(first).startswith("No language model is connected")
        key = tmp_path / "var" / "demo-google-key.json"
        address = (tmp_path / "var" / "demo.lock").read_text()
        before = (key.read_bytes(), key.stat().st_mtime_ns)
        with demo(tmp_path) as second:
            said, complaint = second.communicate(timeout=300)
        assert (second.returncode, said) == (2, "")
        assert complaint == (
            f"oncall: a demo is already running in {tmp_path / 'var'}, at {address}; open that one "
            "or stop it; a second takes a folder of its own, as ONCALL_DATA_DIR names it\n"
        )
        assert (key.read_bytes(), key.stat().st_mtime_ns) == before
        assert (tmp_path / "var" / "demo.lock").read_text() == address


def test_a_demo_whose_process_was_killed_leaves_its_folder_free(tmp_path: Path) -> None:
    for _ in range(2):
        with demo(tmp_path) as process:
            assert "Tidewater Pay" in line(process)


def test_in_a_folder_of_its_own_a_second_demo_takes_the_next_free_ports(tmp_path: Path) -> None:
    folders = [tmp_path / "one", tmp_path / "two"]
    for folder in folders:
        folder.mkdir()
    with demo(folders[0]) as first, demo(folders[1]) as second:
        assert line(first)
        assert line(second)
        addresses = {(folder / "var" / "demo.lock").read_text() for folder in folders}
    assert len(addresses) == 2
