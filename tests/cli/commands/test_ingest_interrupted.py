"""Ctrl-C ends a run soon, whatever it waits for."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

# A process that was started in the background ignores Ctrl-C, and so would its children.
AS_IN_A_TERMINAL = (
    "import signal, sys\n"
    "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
    "from cli.main import main\n"
    "sys.exit(main())"
)
ROOT = Path(__file__).parents[3]
DOMAIN = "domain: tea\ntitle: Tea\nchannels: [C0TEA]\nsources: {files: [docs]}\n"


def test_a_run_that_waits_for_its_model_can_be_stopped(tmp_path: Path) -> None:
    docs = tmp_path / "domains" / "docs"
    docs.mkdir(parents=True)
    for name in ("oolong", "sencha", "assam"):
        (docs / f"{name}.md").write_text(f"# {name}\n\nThe {name} steeps for two minutes.\n")
    (docs.parent / "tea.yaml").write_text(DOMAIN)
    told = {
        "ONCALL_CONFIG_DIR": str(tmp_path),
        "ONCALL_DATA_DIR": str(tmp_path / "data"),
        "ONCALL_CHAT_MODEL": "away",
        "OPENAI_API_KEY": "k",
        "OPENAI_BASE_URL": "http://127.0.0.1:1/v1",
    }
    running = subprocess.Popen(
        [sys.executable, "-c", AS_IN_A_TERMINAL, "ingest", "tea"],
        cwd=ROOT,
        env={**os.environ, **told},
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert running.stderr
        for line in running.stderr:
            if "documents wait for it" in line:
                break
        running.send_signal(signal.SIGINT)
        said = running.communicate(timeout=300)[1]  # a model is waited for ten minutes
    finally:
        running.kill()
        running.wait()
    assert running.returncode != 0
    assert "it was stopped" in said
    assert "Traceback" not in said
