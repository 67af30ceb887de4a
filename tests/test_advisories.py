"""`make audit` fails on what is known against a dependency, and says so when it can't know."""

from __future__ import annotations

import importlib.util
import json
import socket
import subprocess
import sys
from datetime import date
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from pytest_httpserver import HTTPServer
from werkzeug import Request, Response

ROOT = Path(__file__).parents[1]
SCRIPT = ROOT / ".ci" / "audit.py"
NUMBER = "GHSA-0000-0000-0001"
ALIAS = "CVE-2026-00001"
TODAY = date(2026, 11, 22)


@pytest.fixture(scope="module")
def audit() -> ModuleType:
    spec = importlib.util.spec_from_file_location("audit", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def service(httpserver: HTTPServer) -> str:
    """OSV's API, knowing of one hole: in idna 3.20."""

    def answer(request: Request) -> Response:
        asked = json.loads(request.get_data())
        hit = asked["package"]["name"] == "idna" and asked["version"] == "3.20"
        span = {"type": "ECOSYSTEM", "events": [{"introduced": "0"}, {"fixed": "3.21"}]}
        affected = [{"package": {"name": "idna", "ecosystem": "PyPI"}, "ranges": [span]}]
        entry = {
            "id": NUMBER, "aliases": [ALIAS], "summary": "", "details": "", "affected": affected,
        }  # fmt: skip
        return Response(json.dumps({"vulns": [entry]} if hit else {}), mimetype="application/json")

    httpserver.expect_request("/v1/query").respond_with_handler(answer)
    return httpserver.url_for("/v1/query")


def run(
    folder: Path, service: str, pins: str, accepted: str = ""
) -> subprocess.CompletedProcess[str]:
    (folder / "pins.txt").write_text(pins)
    (folder / "accepted.toml").write_text(accepted)
    command = [sys.executable, SCRIPT, "--pins", folder / "pins.txt", "--service", service]
    return subprocess.run(
        [*command, "--accepted", folder / "accepted.toml"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip


def test_a_known_hole_fails_with_its_number_and_its_mend(service: str, tmp_path: Path) -> None:
    pytest.importorskip("pip_audit")
    done = run(tmp_path, service, "idna==3.20\nanyio==4.16.0\n")
    assert done.returncode == 1
    assert done.stderr.strip() == f"idna 3.20: {ALIAS}, mended in 3.21"


def test_nothing_known_passes(service: str, tmp_path: Path) -> None:
    pytest.importorskip("pip_audit")
    done = run(tmp_path, service, "idna==3.21\n")
    assert (done.returncode, done.stdout) == (
        0,
        "audit: nothing known against what pins.txt pins\n",
    )


def test_a_hole_may_be_accepted_for_a_time(service: str, tmp_path: Path) -> None:
    pytest.importorskip("pip_audit")
    accepted = f'[[advisory]]\nid = "{NUMBER}"\nreason = "never parsed"\nuntil = 2999-01-01\n'
    assert run(tmp_path, service, "idna==3.20\n", accepted).returncode == 0


def test_a_service_out_of_reach_is_said_and_fails_nothing(tmp_path: Path) -> None:
    with socket.socket() as taken:  # bound and never listening: refuses
        taken.bind(("127.0.0.1", 0))
        service = f"http://127.0.0.1:{taken.getsockname()[1]}/v1/query"
        done = run(tmp_path, service, "idna==3.20\n")
    assert (done.returncode, done.stdout) == (
        0,
        f"audit skipped: {service} does not answer from here\n",
    )


@pytest.mark.parametrize(
    ("entry", "told"),
    [
        ({"id": NUMBER, "reason": "never parsed", "until": TODAY}, None),
        ({"id": NUMBER, "reason": "never parsed", "until": date(2026, 11, 21)}, "until 2026-11-21"),
        ({"id": NUMBER, "reason": "", "until": TODAY}, "needs"),
        ({"id": NUMBER, "reason": "never parsed"}, "needs"),
        ({"id": NUMBER, "reason": "never parsed", "until": "2999-01-01"}, "needs"),
        ({"reason": "never parsed", "until": TODAY}, "needs"),
        ({"id": "CVE-1999-1", "reason": "never parsed", "until": TODAY}, "holds no longer"),
    ],
)  # fmt: skip
def test_what_is_accepted_has_a_reason_and_an_end(
    audit: ModuleType, entry: dict[str, Any], told: str | None
) -> None:
    found = {NUMBER: ({NUMBER, ALIAS}, "idna 3.20")}
    lines = audit.problems(found, [entry], TODAY)
    if told is None:
        assert lines == []
    else:
        assert told in lines[0]
        assert lines[1:] == ["idna 3.20"]
