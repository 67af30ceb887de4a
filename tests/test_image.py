"""What the image holds runs without what stays behind, and its containers can be asked."""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import sys
import sysconfig
import time
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest
import yaml
from pytest_httpserver import HTTPServer

from cli.commands.run import health
from config.errors import CopilotError
from config.parsing.secret_files import SUFFIX
from config.settings import Settings
from tests.settings_known import VARIABLES

pytestmark = pytest.mark.trial

ROOT = Path(__file__).parents[1]
WATCH = ROOT / "deploy" / "compose"


def read_yaml(path: Path) -> Any:
    return yaml.safe_load(path.read_text(encoding="utf-8"))


COMPOSE = read_yaml(ROOT / "compose.yaml")
SCRAPED = read_yaml(WATCH / "prometheus.yaml")
OURS = {name: one for name, one in COMPOSE["services"].items() if "oncall" in str(one.get("build"))}


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Dockerfile's steps: what it copies of ours, installed as it says into an environment
    that has nothing else of ours. The packages of others are those of this one."""
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
    venv = folder / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", venv], check=True)
    (site,) = venv.glob("lib/python*/site-packages")
    (site / "of-others.pth").write_text(sysconfig.get_path("purelib"), encoding="utf-8")
    (install,) = re.findall(r"^RUN pip (install --no-index .*) && pip check$", text, re.MULTILINE)
    pip = [sys.executable, "-m", "pip", "--python", venv / "bin" / "python"]
    quiet = {"PATH": os.environ["PATH"], "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    subprocess.run([*pip, *install.split(), "--quiet"], cwd=folder, env=quiet, check=True)
    (folder / "mounted" / "domains").mkdir(parents=True)
    tea = "domain: tea\ntitle: Tea\nchannels: [C0TEA]\nsources: {files: [tea.md]}\n"
    (folder / "mounted" / "tea.md").write_text("# Tea\n", encoding="utf-8")
    (folder / "mounted" / "domains" / "tea.yaml").write_text(tea, encoding="utf-8")
    return folder


def oncall(image: Path, *arguments: str) -> list[str]:
    return [str(image / "venv" / "bin" / "oncall"), *arguments]


def environment(image: Path) -> dict[str, str]:
    return {"PATH": "/usr/bin:/bin", "ONCALL_CONFIG_DIR": str(image / "mounted")}


def run(image: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        oncall(image, *arguments),
        cwd=image / "mounted", env=environment(image), text=True, capture_output=True, check=False,
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


def test_compose_sets_only_what_there_is() -> None:
    assert set(OURS) == {"bot", "jobs", "api"}
    for service in OURS.values():
        assert set(service["environment"]) <= VARIABLES
        given = [value for name, value in service["environment"].items() if name.endswith(SUFFIX)]
        assert {Path(value).name for value in given} == set(service["secrets"])
        assert service["read_only"]
        assert service["security_opt"] == ["no-new-privileges:true"]


def test_compose_mounts_only_what_exists() -> None:
    named = {name for one in COMPOSE["services"].values() for name in one.get("secrets", [])}
    assert named == set(COMPOSE["secrets"])
    for service in COMPOSE["services"].values():
        for mount in service.get("volumes", []):
            source = mount.split(":")[0]
            kept = source.startswith("./secrets/")
            assert kept or source in COMPOSE["volumes"] or (ROOT / source).exists()


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="git says what is kept out of it")
def test_no_secret_of_compose_gets_into_the_repository_or_the_image() -> None:
    files = {one["file"] for one in COMPOSE["secrets"].values()}
    files |= {one["path"] for service in OURS.values() for one in service["env_file"]}
    files |= {mount.split(":")[0] for one in OURS.values() for mount in one["volumes"]}
    names = {name.removeprefix("./") for name in files} - {"data", "config"}
    assert {"secrets/database_url", "secrets/keys", "oncall.env"} <= names
    ask = ["git", "check-ignore", "--no-index", *names]
    kept_out = subprocess.run(ask, cwd=ROOT, text=True, capture_output=True, check=False)
    assert set(kept_out.stdout.split()) == names
    taken = (ROOT / ".dockerignore").read_text(encoding="utf-8").split()
    assert taken[0] == "*"
    assert not {f"!{name.partition('/')[0]}" for name in names} & set(taken)


def test_compose_names_versions_of_what_others_make() -> None:
    images = [one["image"] for one in COMPOSE["services"].values() if "build" not in one]
    assert images
    assert [one for one in images if not re.search(r":v?\d+\.\d+(\.\d+)?(-\w+)?$", one)] == []


def test_nothing_of_compose_fills_the_disk_with_logs_or_takes_all_memory() -> None:
    for name, service in COMPOSE["services"].items():
        assert set(service["logging"]["options"]) == {"max-size", "max-file"}, name
        assert re.fullmatch(r"\d+[mg]", service["mem_limit"]), name


def test_compose_s_processes_and_their_successors_find_connections() -> None:
    (limit,) = re.findall(r"max_connections=(\d+)", str(COMPOSE["services"]["postgres"]["command"]))
    processes = sum(one.get("deploy", {}).get("replicas", 1) for one in OURS.values())
    each = Settings.model_fields["database_connections"].default
    # PostgreSQL keeps three for its administrator.
    assert 2 * processes * each <= int(limit) - 3


def test_prometheus_scrapes_what_compose_runs_where_it_listens() -> None:
    scraped = {}
    for job in SCRAPED["scrape_configs"]:
        (found,) = job["dns_sd_configs"]
        scraped[job["job_name"]] = (found["names"], found["port"])
    ports = {name: 8081 if name == "jobs" else 8080 for name in OURS}
    for name, service in OURS.items():
        # Each container's health check asks the port that /metrics is on, too.
        assert ("8081" in service["healthcheck"]["test"]) == (ports[name] == 8081)
    assert scraped == {f"oncall-{name}": ([name], port) for name, port in ports.items()}
    mounts = [one.split(":")[1] for one in COMPOSE["services"]["prometheus"]["volumes"]]
    assert set(SCRAPED["rule_files"]) <= set(mounts)


@pytest.mark.skipif(not shutil.which("promtool"), reason="needs Prometheus' promtool")
def test_prometheus_can_read_its_configuration() -> None:
    checked = subprocess.run(
        ["promtool", "check", "config", "--syntax-only", WATCH / "prometheus.yaml"],
        text=True, capture_output=True, check=False,
    )  # fmt: skip
    assert checked.returncode == 0, checked.stderr


def test_grafana_finds_its_dashboard_and_its_figures() -> None:
    mounts = [one.split(":")[1] for one in COMPOSE["services"]["grafana"]["volumes"]]
    (provider,) = read_yaml(WATCH / "grafana-dashboards.yaml")["providers"]
    assert any(one.startswith(f"{provider['options']['path']}/") for one in mounts)
    (source,) = read_yaml(WATCH / "grafana-datasource.yaml")["datasources"]
    assert source["isDefault"]
    assert source["url"] == "http://prometheus:9090"


def test_commands_of_compose_are_commands_of_ours(image: Path) -> None:
    for service in OURS.values():
        for command in (service["command"], service["healthcheck"]["test"][2:]):
            asked = run(image, *command, "--help")
            assert asked.returncode == 0, asked.stderr


def test_the_api_of_compose_starts_with_the_secrets_that_it_is_given(
    image: Path, tmp_path: Path
) -> None:
    """Its database is a file here."""
    given = dict(OURS["api"]["environment"])
    for name in {"DATABASE_URL_FILE", "CHROMA_URL"}:
        del given[name]
    for name in [one for one in given if one.endswith(SUFFIX)]:
        given[name] = str(tmp_path / name)
        (tmp_path / name).write_text("xoxb-a-secret", encoding="utf-8")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = oncall(image, *OURS["api"]["command"], "--port", str(port))
    log = tmp_path / "log"
    with (
        log.open("w", encoding="utf-8") as told,
        subprocess.Popen(
            command,
            cwd=tmp_path,
            env=environment(image) | given | {"ONCALL_DATA_DIR": str(tmp_path / "data")},
            stderr=told,
        ) as process,
    ):
        try:
            while process.poll() is None and not answers(f"http://127.0.0.1:{port}/metrics"):
                time.sleep(0.05)
            assert process.poll() is None, log.read_text(encoding="utf-8")
        finally:
            process.terminate()


def answers(url: str) -> bool:
    with suppress(OSError), urlopen(url, timeout=5):  # noqa: S310 - of this test
        return True
    return False
