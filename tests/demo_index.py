"""The demo's documents, ingested once for all processes of a run: embedding them takes half a
minute."""

from __future__ import annotations

import fcntl
import os
import shutil
from pathlib import Path

import pytest

from config.settings import Settings
from oncall import Copilot
from playground.google_stand_in import GoogleStandIn

CONFIG = Path(__file__).parents[1] / "config"


def copy_demo_index(folders: pytest.TempPathFactory, data_dir: Path) -> None:
    """Fills a data directory with the index of every domain of the demo."""
    shutil.copytree(published(folders), data_dir)


def published(folders: pytest.TempPathFactory) -> Path:
    """The data directory to copy; whoever comes first makes it."""
    of_run = folders.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:  # the folder is one process's
        of_run = of_run.parent
    index = of_run / "demo-index"
    with (of_run / "demo-index.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (index / "published").exists():
            shutil.rmtree(index, ignore_errors=True)
            publish(index)
            (index / "published").touch()
    return index / "var"


def publish(folder: Path) -> None:
    folder.mkdir()
    with GoogleStandIn() as google:
        settings = Settings(
            _env_file=None,
            config_dir=CONFIG,
            data_dir=folder / "var",
            google_api_url=google.url,
            google_credentials=google.write_credentials(folder / "key.json"),
        )
        copilot = Copilot(settings)
        try:
            for name in copilot.domains:
                assert copilot.ingest(name).failed == ()
        finally:
            copilot.index.close()
