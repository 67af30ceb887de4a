"""LangSmith gets what its own variables send there, and nothing by default."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from pytest_httpserver import HTTPServer

pytestmark = pytest.mark.trial

ROOT = Path(__file__).parents[2]
SCRIPT = (
    "import os\n"
    "from langchain_core.tracers.langchain import wait_for_all_tracers\n"
    "from langsmith.utils import get_env_var\n"
    "from tests.agents.corpus import asking\n"
    "ask = asking()\n"
    "ask('how old can a purple kettle get?')\n"
    "wait_for_all_tracers()\n"
    "os.environ['LANGSMITH_TRACING'] = 'true'\n"
    "get_env_var.cache_clear()\n"
    "ask('how old can a signing key get?')\n"
    "wait_for_all_tracers()\n"
)


def test_nothing_is_sent_unless_its_variable_says_so_and_then_the_words_are(
    httpserver: HTTPServer,
) -> None:
    httpserver.expect_request(re.compile(".*")).respond_with_json({})
    settings = {
        "PYTHONPATH": str(ROOT),
        "LANGSMITH_ENDPOINT": httpserver.url_for(""),
        "LANGSMITH_API_KEY": "none",
        "LANGSMITH_DISABLE_RUN_COMPRESSION": "true",
    }
    subprocess.run(
        [sys.executable, "-c", SCRIPT],
        cwd=ROOT,
        env={**os.environ, **settings},
        check=True,
        timeout=120,
    )
    sent = b"".join(request.get_data() for request, _ in httpserver.log)
    assert b"how old can a signing key get?" in sent
    assert b"TLS certificate" in sent
    assert b"purple kettle" not in sent
