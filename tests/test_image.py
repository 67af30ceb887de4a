"""What the image holds runs without what stays behind, and its containers can be asked."""

from __future__ import annotations

import re
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from pytest_httpserver import HTTPServer

from cli.running_commands import health
from config.errors import CopilotError
from config.reading.secret_files import SUFFIX
from config.settings import Settings, is_secret

ROOT = Path(__file__).parents[1]
COMPOSE = yaml.safe_load((ROOT / "compose.yaml").read_text(encoding="utf-8"))
OURS = {name: one for name, one in COMPOSE["services"].items() if "oncall" in str(one.get("build"))}
HALT = "import sys; sys.modules['playground'] = None; from cli.main import main; main()"


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with what the Dockerfile copies of ours."""
    folder = tmp_path_factory.mktemp("image")
    text = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    for words in re.findall(r"^COPY (?!--from)(.+)$", text, re.MULTILINE):
        *sources, target = words.split()
        for source in sources:
            if (ROOT / source).is_dir():
                ignored = shutil.ignore_patterns("__pycache__", "domains")
                shutil.copytree(ROOT / source, folder / target, ignore=ignored)
            else:
                shutil.copy(ROOT / source, folder / target)
    (folder / "mounted" / "domains").mkdir(parents=True)
    tea = "domain: tea\ntitle: Tea\nchannels: [C0TEA]\nsources: {files: [.]}\n"
    (folder / "mounted" / "domains" / "tea.yaml").write_text(tea, encoding="utf-8")
    return folder


def run(image: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", HALT, *arguments],
        cwd=image,
        env={"PYTHONPATH": str(image), "PATH": "/usr/bin:/bin", "ONCALL_CONFIG_DIR": "mounted"},
        text=True, capture_output=True, check=False,
    )  # fmt: skip


def test_commands_work_without_the_playground(image: Path) -> None:
    assert not (image / "playground").exists()
    checked = run(image, "config", "check")
    assert checked.returncode == 0, checked.stderr
    demo = run(image, "demo")
    assert demo.stderr == (
        "oncall: the demo comes with the source, not with the image; run `make demo` there\n"
    )


def test_a_container_is_asked_whether_it_is_ready(
    httpserver: HTTPServer, capsys: pytest.CaptureFixture[str]
) -> None:
    httpserver.expect_ordered_request("/readyz").respond_with_json({"status": "ready"})
    health(port=httpserver.port)
    assert capsys.readouterr().out == "ready\n"
    httpserver.expect_ordered_request("/readyz").respond_with_json({"detail": "warming"}, 503)
    with pytest.raises(CopilotError, match=r"not ready: warming$"):
        health(port=httpserver.port)
    with socket.create_server(("127.0.0.1", 0)) as nobody:
        port = nobody.getsockname()[1]
    with pytest.raises(CopilotError, match=f"nothing answers on port {port}"):
        health(port=port)


def test_compose_sets_only_what_there_is_and_mounts_only_what_exists() -> None:
    fields = {str(one.validation_alias.choices[0]): key for key, one in  # type: ignore[union-attr]
              Settings.model_fields.items()}  # fmt: skip
    known = {*fields, *(f"{name}{SUFFIX}" for name, key in fields.items() if is_secret(key))}
    assert set(OURS) == {"bot", "jobs", "api"}
    secrets = {Path(one["file"]).name for one in COMPOSE["secrets"].values()}
    for service in OURS.values():
        assert set(service["environment"]) <= known
        given = [value for name, value in service["environment"].items() if name.endswith(SUFFIX)]
        assert {Path(value).name for value in given} == set(service["secrets"])
        assert {Path(value).name for value in given} <= secrets
        assert service["read_only"]
        assert service["security_opt"] == ["no-new-privileges:true"]
        for mount in service["volumes"]:
            source = mount.split(":")[0]
            assert source in COMPOSE["volumes"] or (ROOT / source).exists()


def test_commands_of_compose_are_commands_of_ours(image: Path) -> None:
    for service in OURS.values():
        for command in (service["command"], service["healthcheck"]["test"][2:]):
            asked = run(image, *command, "--help")
            assert asked.returncode == 0, asked.stderr
