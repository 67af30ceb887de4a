"""`oncall mcp`: an assistant starts it, and speaks to it by standard input and output."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TextIO

import pytest
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

from tests.api.mcp.client import Result, said_by

pytestmark = pytest.mark.trial

ROOT = Path(__file__).parents[3]
MAIN = "from cli.main import main; main()"
DOMAIN = """\
domain: {name}
title: {title} help
sources:
  files: ["{name}.md"]
access:
  audience: {audience}
"""
PAGES = {
    "kettle": "# Kettle\n\n## Descaling\n\nThe kettle is descaled every Friday with vinegar.\n",
    "vault": "# Vault\n\n## Code\n\nThe vault opens with the code 4711.\n",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("mcp")
    domains = found / "config" / "domains"
    domains.mkdir(parents=True)
    for name, audience in (("kettle", "channel"), ("vault", "asker")):
        text = DOMAIN.format(name=name, title=name.title(), audience=audience)
        (domains / f"{name}.yaml").write_text(text, encoding="utf-8")
        (domains / f"{name}.md").write_text(PAGES[name], encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-c", MAIN, "ingest"],
        env=environment(found), cwd=found, capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return found


def environment(folder: Path) -> dict[str, str]:
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("SLACK_", "OPENAI_"))}
    return {
        **clean, "PYTHONPATH": str(ROOT), "ONCALL_DATA_DIR": str(folder / "var"),
        "ONCALL_CONFIG_DIR": str(folder / "config"),
    }  # fmt: skip


def asking(
    folder: Path, work: Callable[[Client], Awaitable[Result]], errors: TextIO, mode: str = "auto"
) -> Result:
    started = StdioServerParameters(
        command=sys.executable, args=["-c", MAIN, "mcp"], env=environment(folder), cwd=folder
    )

    async def run() -> Result:
        async with Client(stdio_client(started, errlog=errors), mode=mode) as client:
            return await work(client)

    return asyncio.run(run())


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_an_assistant_at_this_machine_asks_without_a_token(
    folder: Path, tmp_path: Path, mode: str
) -> None:
    async def work(client: Client) -> list[Any]:
        return [
            await client.call_tool("ask", {"question": "when is the kettle descaled?"}),
            await client.call_tool("retrieve", {"query": "descaling", "domain": "kettle"}),
            await client.call_tool("document", {"document": "Kettle"}),
        ]

    with (tmp_path / "log").open("w+", encoding="utf-8") as errors:
        asked, found, document = asking(folder, work, errors, mode)
        errors.seek(0)
        log = errors.read()
    assert "every Friday with vinegar" in said_by(asked)
    assert asked.structured_content["domain"] == "kettle"
    assert "every Friday" in found.structured_content["passages"][0]["text"]
    assert document.structured_content["headings"] == ["Kettle › Descaling"]
    assert '"door": "mcp"' in log


def test_it_reads_what_the_api_shows_to_this_machine_and_no_more(
    folder: Path, tmp_path: Path
) -> None:
    """What nobody is known to be allowed to read doesn't exist."""

    async def work(client: Client) -> list[Any]:
        return [
            await client.call_tool("ask", {"question": "what is the code?", "domain": "vault"}),
            await client.call_tool("retrieve", {"query": "code", "domain": "vault"}),
            await client.call_tool("document", {"document": "vault"}),
            await client.call_tool("document", {"document": "nothing"}),
        ]

    with (tmp_path / "log").open("w+", encoding="utf-8") as errors:
        shown = asking(folder, work, errors)
    assert "4711" not in "".join(map(said_by, shown))
    assert said_by(shown[2]) == said_by(shown[3])


def test_standard_output_holds_the_protocol_and_nothing_else(folder: Path) -> None:
    """Also when what comes in is none of it."""
    hello = {
        "jsonrpc": "2.0", "id": 1, "method": "initialize",
        "params": {
            "protocolVersion": "2025-11-25", "capabilities": {},
            "clientInfo": {"name": "t", "version": "1"},
        },
    }  # fmt: skip
    call = {
        "jsonrpc": "2.0", "id": 2, "method": "tools/call",
        "params": {"name": "ask", "arguments": {"question": "when is the kettle descaled?"}},
    }  # fmt: skip
    ready = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    lines = [json.dumps(hello), json.dumps(ready), "junk", "{", '"\\ud800"', "[]", json.dumps(call)]
    process = subprocess.Popen(
        [sys.executable, "-c", MAIN, "mcp"],
        env=environment(folder), cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )  # fmt: skip
    with process:
        assert process.stdin
        assert process.stdout
        process.stdin.write("\n".join(lines).encode() + b"\n\xff\xfe\x00\n")
        process.stdin.flush()
        replies = []
        while not any(reply.get("id") == 2 for reply in replies):
            replies.append(json.loads(process.stdout.readline()))
        process.stdin.close()
        assert process.stdout.read() == b""
        assert process.wait(60) == 0, process.stderr.read().decode()[-3000:]
    assert all(reply["jsonrpc"] == "2.0" for reply in replies)
    assert "Friday" in json.dumps(replies[-1])


def test_without_any_domain_it_does_not_start(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", MAIN, "mcp"],
        env=environment(tmp_path), cwd=tmp_path, stdin=subprocess.DEVNULL, capture_output=True,
        text=True, check=False, timeout=300,
    )  # fmt: skip
    assert done.returncode != 0
    assert done.stdout == ""
    assert "no domain files in" in done.stderr
    assert "Traceback" not in done.stderr
