"""The command line as a person meets it: exit codes, and errors in one line with a remedy."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from contextlib import chdir
from io import StringIO
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

import pytest

from cli.main import main

ROOT = Path(__file__).parents[2]


class Done(NamedTuple):
    """How a command ended, with the fields of `subprocess.CompletedProcess`."""

    returncode: object
    stdout: str
    stderr: str


class Tea(NamedTuple):
    """A folder with a domain file and what was published from it, and what `ingest` reported."""

    folder: Path
    reports: list[dict[str, Any]]


def ran(script: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """A script in a process of its own, which ends well."""
    return subprocess.run(
        [sys.executable, "-c", script],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=300,
        check=True,
    )


def environment(folder: Path, **more: str) -> dict[str, str]:
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("SLACK_", "OPENAI_"))}
    settings = {"ONCALL_DATA_DIR": str(folder / "var"), "ONCALL_CONFIG_DIR": str(ROOT / "config")}
    return {**clean, **settings, "PYTHONPATH": str(ROOT), **more}


def oncall(folder: Path, *words: str, **more: str) -> Done:
    """A command in this process, where the libraries that it needs are loaded already."""
    mask = os.umask(0o022)
    with (
        (folder / "stdout.txt").open("w+") as out,
        (folder / "stderr.txt").open("w+") as err,
        patch.dict(os.environ, environment(folder, **more), clear=True),
        patch.multiple(sys, argv=["oncall", *words], stdin=StringIO(), stdout=out, stderr=err),
        patch.object(sys.modules["__main__"], "__package__", None),  # else it names the program
        chdir(folder),
    ):
        try:
            main()
        except SystemExit as ended:
            code = ended.code
        finally:
            sys.stdout.flush()
            os.umask(mask)
    return Done(code, *((folder / f"{name}.txt").read_text() for name in ("stdout", "stderr")))


def oncall_alone(
    folder: Path, *words: str, stdout: int = subprocess.PIPE, **more: str
) -> subprocess.CompletedProcess[str]:
    """A command in a process of its own."""
    return subprocess.run(
        [sys.executable, "-c", "from cli.main import main; main()", *words],
        cwd=folder,
        env=environment(folder, **more),
        stdout=stdout,
        stderr=subprocess.PIPE,
        text=True,
        timeout=300,
        check=False,
    )


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["ingst"], 2, "there is no `oncall ingst`; did you mean `oncall ingest`?"),
        (["index", "lst", "security"], 2, "did you mean `oncall index list`?"),
        (["manifest"], 2, "there is no `oncall manifest`; did you mean `oncall config manifest`?"),
        (["zzzzzz"], 2, "there is no `oncall zzzzzz`; `oncall --help` lists what there is"),
        (["ask", "--jsn", "why?"], 2, "`oncall ask` has no --jsn; did you mean --json?"),
        (["ask"], 2, "what do you want to ask? Write: oncall ask QUESTION"),
        (["docs", "show"], 2, "`oncall docs show` needs ID"),
        (["ask", "securty", "why?"], 2, "no domain 'securty'; did you mean 'security'?"),
        (["ask", "security", "why?"], 1, "run `oncall ingest security`"),
        (["ingest", "security"], 2, "GOOGLE_APPLICATION_CREDENTIALS"),
        (["bot"], 2, "SLACK_BOT_TOKEN"),
        (["convert", "missing.md"], 1, "could not load missing.md: No such file"),
        (["index", "list", "security"], 1, "nothing has been published for 'security'"),
        (["docs", "show", "nothing"], 2, "no document 'nothing'"),
        (["golden", "propose", "--domain", "securty"], 2, "did you mean 'security'?"),
        (["serve", "--port", "99999"], 2, "'--port': Input should be less than or equal to 65535"),
        (["serve", "--port", "0"], 2, "'--port': Input should be greater than or equal to 1"),
        (["bot", "--health-port", "99999"], 2, "'--health-port': Input should be less"),
    ],
)
def test_a_mistake_is_one_line_with_its_remedy(
    tmp_path: Path, words: list[str], code: int, said: str
) -> None:
    done = oncall(tmp_path, *words, COLUMNS="60")
    assert (done.returncode, done.stdout) == (code, "")
    assert said in done.stderr
    (line,) = [one for one in done.stderr.splitlines() if not one.startswith('{"timestamp"')]
    assert line.startswith("oncall: "), "in one line, however narrow the terminal is"


def test_help_names_every_group_and_loads_nothing_heavy(tmp_path: Path) -> None:
    script = (
        "import sys\n"
        "from cli.main import main\n"
        "sys.argv = ['oncall', '--help']\n"
        "try:\n"
        "    main()\n"
        "finally:\n"
        "    print(*sorted({name.partition('.')[0] for name in sys.modules}), file=sys.stderr)\n"
    )
    done = ran(script, tmp_path)
    heavy = {"chromadb", "fastapi", "langgraph", "numpy", "pydantic", "rich", "slack_bolt", "torch"}
    assert heavy & set(done.stderr.split()) == set()
    assert {"demo", "ask", "config", "evaluate", "google"} <= set(done.stdout.split())


def test_a_typo_in_a_domain_file_is_shown_with_its_place(tmp_path: Path) -> None:
    file = tmp_path / "config" / "domains" / "security.yaml"
    file.parent.mkdir(parents=True)
    file.write_text("domain: security\ntitle: Security\nsources: {}\nanswr: {}\n")
    done = oncall(tmp_path, "config", "check", ONCALL_CONFIG_DIR="config")
    assert done.returncode == 2
    assert "security.yaml:4:1: unknown key 'answr'; did you mean 'answer'?" in done.stderr


def test_the_manifest_needs_no_domain_file_and_asks_for_what_one_wants(tmp_path: Path) -> None:
    def printed() -> str:
        done = oncall(tmp_path, "config", "manifest", ONCALL_CONFIG_DIR="config")
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert printed() == (Path(__file__).parents[2] / "manifest.yaml").read_text()
    domains = tmp_path / "config" / "domains"
    domains.mkdir(parents=True)
    (domains / "broken.yaml").write_text("domain: [")
    assert "search:read.public" not in printed()
    (domains / "tea.yaml").write_text(
        "domain: tea\ntitle: Tea\nchannels: [C0TEA]\nanswer: {earlier_threads: true}\n"
        "sources: {google_drive: {folders: [shelf]}}\n"
    )
    assert "- search:read.public\n" in printed()


def test_config_check_names_problems_in_the_order_of_the_files(tmp_path: Path) -> None:
    domains = tmp_path / "config" / "domains"
    domains.mkdir(parents=True)
    text = "domain: {}\ntitle: Tea\nchannels: [C0TEA]\nsources: {{files: [{}]}}\n"
    (domains / "a.yaml").write_text(text.format("a", "none.md"))
    (domains / "b.yaml").write_text(text.format("b", "none.md") + "refresh: daily\ntitel: Tea\n")
    (domains / "c.yaml").write_text(text.format("c", "none.md"))
    done = oncall(tmp_path, "config", "check", ONCALL_CONFIG_DIR="config")
    places = [line.split(" ")[0] for line in done.stderr.splitlines()]
    assert places == [
        f"config/domains/{place}:" for place in ("a.yaml:4:19", "b.yaml:5:10", "b.yaml:6:1",
                                                 "c.yaml:3:12", "c.yaml:4:19")
    ]  # fmt: skip


@pytest.fixture(scope="module")
def tea(tmp_path_factory: pytest.TempPathFactory) -> Tea:
    """Ingested once; the tests only read it."""
    folder = tmp_path_factory.mktemp("tea")
    (folder / "config" / "domains").mkdir(parents=True)
    (folder / "config" / "domains" / "tea.yaml").write_text(
        "domain: tea\ntitle: Tea\nsources: {files: ['*.md']}\n"
    )
    (folder / "tea.md").write_text(
        "# Tea guide\n\n## Steeping\n\n| Tea | Minutes |\n|---|---|\n| Green | 2 |\n| Black | 4 |\n"
    )
    (folder / "broken.md").write_bytes(b"---\nid: [\n---\n# Broken\n")
    done = oncall_alone(folder, "ingest", "--json", ONCALL_CONFIG_DIR="config")
    return Tea(folder, json.loads(done.stdout))


def test_config_check_knows_what_is_published_and_creates_nothing(tmp_path: Path, tea: Tea) -> None:
    domains = tmp_path / "config" / "domains"
    domains.mkdir(parents=True)
    (tmp_path / "green.md").write_text("# Green tea\n\nIt steeps for two minutes.\n")
    (domains / "tea.yaml").write_text("domain: tea\ntitle: Tea\nsources: {files: ['*.md']}\n")
    assert oncall(tmp_path, "config", "check", ONCALL_CONFIG_DIR="config").returncode == 0
    assert not (tmp_path / "var").exists()

    drive = "sources: {google_drive: {folders: [F1]}}\n"
    examples = "examples: [{question: how long, documents: [tea, tee]}]\n"
    (domains / "tea.yaml").write_text(f"domain: tea\ntitle: Tea\n{drive}{examples}")
    published = {"ONCALL_CONFIG_DIR": "config", "ONCALL_DATA_DIR": str(tea.folder / "var")}
    done = oncall(tmp_path, "config", "check", **published)
    assert (done.returncode, done.stdout) == (2, "")
    assert "tea.yaml:4:50: no document 'tee'; did you mean 'tea.md'?" in done.stderr


@pytest.mark.trial
def test_files_are_ingested_and_asked_without_any_service(tea: Tea) -> None:
    assert "tea.md" in tea.reports[0]["added"]
    question = "how many minutes does black tea steep?"
    asked = oncall_alone(tea.folder, "ask", "tea", question, ONCALL_CONFIG_DIR="config")
    assert asked.returncode == 0
    assert "4" in asked.stdout
    assert any(line.strip() in ("tea", "tea.md") for line in asked.stdout.splitlines())
    unquoted = oncall(tea.folder, "ask", *question.split(), ONCALL_CONFIG_DIR="config")
    assert unquoted.stdout == asked.stdout


def test_convert_prints_markdown_or_blocks(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("# Title\n\nSome *words*.\n")
    assert "Some *words*" in oncall(tmp_path, "convert", "a.md").stdout
    blocks = json.loads(oncall(tmp_path, "convert", "a.md", "--json").stdout)["blocks"]
    assert [block["kind"] for block in blocks] == ["heading", "paragraph"]


def test_a_logged_traceback_shows_no_local_variable(tmp_path: Path) -> None:
    script = (
        "import structlog, oncall\n"
        "from config.settings import Settings\n"
        "oncall.Copilot(Settings(_env_file=None))\n"
        "def call():\n"
        "    token = 'xoxb-' + 'very-secret'\n"
        "    raise RuntimeError('refused')\n"
        "try:\n"
        "    call()\n"
        "except RuntimeError:\n"
        "    structlog.get_logger().exception('it failed')\n"
    )
    done = ran(script, tmp_path)
    assert "RuntimeError: refused" in done.stderr
    assert "very-secret" not in done.stderr + done.stdout
    assert done.stdout == ""


@pytest.mark.parametrize(
    "group", ["", "config", "golden", "evaluate", "index", "docs", "google", "privacy", "audit"]
)
def test_a_list_of_commands_says_what_each_does_to_the_end(tmp_path: Path, group: str) -> None:
    shown = oncall(tmp_path, *group.split(), "--help", COLUMNS="80").stdout
    commands = shown.partition("Commands:")[2]
    assert commands.strip()
    assert "..." not in commands


def test_status_says_that_a_model_without_a_server_is_none(tmp_path: Path) -> None:
    done = oncall(tmp_path, "status", ONCALL_CHAT_MODEL="gpt-x")
    assert done.returncode == 0
    said = " ".join(done.stdout.split())
    assert "ONCALL_CHAT_MODEL=gpt-x is without effect" in said
    assert "set OPENAI_API_KEY or OPENAI_BASE_URL" in said


def test_a_provider_that_is_none_ends_the_command(tmp_path: Path) -> None:
    done = oncall(tmp_path, "status", ONCALL_CHAT_MODEL="anthrpic:claude-x", OPENAI_API_KEY="k")
    assert (done.returncode, done.stdout) == (2, "")
    assert "write anthropic:claude-x" in done.stderr


@pytest.mark.trial
def test_a_taken_port_is_one_line_with_its_remedy(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = oncall_alone(tmp_path, "serve", "--port", str(port))
    assert (done.returncode, done.stdout) == (1, "")
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"oncall: 127.0.0.1:{port} can't be listened on: Address already in use")
    assert line.endswith("; use --port or --host")


@pytest.mark.trial
def test_a_taken_health_port_ends_the_command_before_it_works(tmp_path: Path) -> None:
    with socket.create_server(("0.0.0.0", 0)) as taken:  # noqa: S104 - as the health port is
        port = taken.getsockname()[1]
        done = oncall_alone(tmp_path, "jobs", "run", "--health-port", str(port))
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.splitlines()[-1] == (
        f"oncall: port {port} can't be listened on: Address already in use; use --health-port; "
        "0 does without"
    )


@pytest.mark.trial
def test_a_reader_that_leaves_is_no_failure(tea: Tea) -> None:
    for words in ("status", "docs list tea", "docs show tea", "config schema"):
        reader, writer = os.pipe()
        os.close(reader)
        done = oncall_alone(tea.folder, *words.split(), stdout=writer, ONCALL_CONFIG_DIR="config")
        os.close(writer)
        assert (words, done.returncode, done.stderr) == (words, 0, "")


@pytest.mark.parametrize(
    ("text", "problem"),
    [("[" * 20_000, "nested too deeply"), ("- {role: 2026-13-45}", "month"), ("a: [", "expected")],
)
def test_a_history_that_is_none_is_one_line(tmp_path: Path, text: str, problem: str) -> None:
    (tmp_path / "turns.yaml").write_text(text)
    done = oncall(tmp_path, "ask", "security", "why?", "--history", "turns.yaml")
    assert (done.returncode, done.stdout) == (2, "")
    assert len(done.stderr.splitlines()) == 1
    assert problem in done.stderr
