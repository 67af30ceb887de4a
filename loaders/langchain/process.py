"""Runs a class of LangChain in a process of its own, for a bounded time, and reads its pages."""

from __future__ import annotations

import base64
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import IO, Any, cast
from urllib.parse import quote

from config.errors import LoadError
from config.parsing.loader_list import AllowedLoader
from loaders.assemble import as_name
from loaders.document import MAX_CHARACTERS
from loaders.langchain.child import Order
from loaders.langchain.pages import Shelf
from telemetry.logs import REDACTED

_MAX_LINE = 16 * MAX_CHARACTERS
_FROM_HERE = ("LANG", "LC_ALL", "PATH", "REQUESTS_CA_BUNDLE", "SSL_CERT_FILE", "TZ")
"""Variables of this process that every loader gets."""
_MIN_SECRET = 4
"""Characters. What is shorter would be found in any text."""
_MIN_PART = 6
"""Characters of a secret that an error may not quote in a row."""


@dataclass(frozen=True, kw_only=True)
class LoaderOrder:
    allowed: AllowedLoader
    arguments: Mapping[str, Any]
    variables: Mapping[str, str] = field(repr=False)
    """Those that it gets, with their values."""


@dataclass(frozen=True, kw_only=True)
class Limits:
    seconds: float
    folders: Sequence[Path]
    """What every class may read, besides what the operator allows it."""
    closed: Sequence[Path]
    """What in them none may read."""


def run_loader(order: LoaderOrder, limits: Limits) -> tuple[Shelf, list[str]]:
    """Its pages, and what it was refused. Raises LoadError, which says why it failed."""
    hide = partial(without_secrets, secrets=order.variables.values())
    shelf = Shelf(order.allowed.name, hide)
    refusals: list[str] = []
    with tempfile.TemporaryDirectory(prefix="oncall-loader-") as scratch:
        process = _Process(order, limits, scratch)
        try:
            process.begin()
            for message in process.messages():
                if "end" in message:
                    refusals = [_refusal(one) for one in message["refusals"]]
                else:
                    shelf.put(message)
        finally:
            process.stop()
    if not shelf.pages and not shelf.notes:
        remedy = "look whether its arguments are right"
        reason = refusals[0] if refusals else "it lists no document"
        raise LoadError(order.allowed.name, reason, remedy=remedy, refused=True)
    return shelf, refusals


class _Process:
    def __init__(self, order: LoaderOrder, limits: Limits, scratch: str) -> None:
        self._order, self._limits, self._scratch = order, limits, scratch
        environment = {name: os.environ[name] for name in _FROM_HERE if name in os.environ}
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "loaders.langchain.child"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            env={
                **environment,
                "HOME": scratch,
                "TMPDIR": scratch,
                "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
                "PYTHONDONTWRITEBYTECODE": "1",
                **order.variables,
            },
        )
        self._is_late = False
        self._timer = threading.Timer(limits.seconds, self._expire)
        self._timer.daemon = True

    def begin(self) -> None:
        self._timer.start()
        allowed = self._order.allowed
        order = Order(
            module=allowed.module,
            class_name=allowed.class_name,
            arguments=dict(self._order.arguments),
            hosts=list(allowed.hosts),
            folders=[str(one) for one in (*self._limits.folders, *allowed.folders)],
            closed=[str(one) for one in self._limits.closed],
            scratch=self._scratch,
            programs=allowed.programs,
        )
        with suppress(BrokenPipeError), cast("IO[bytes]", self._process.stdin) as pipe:
            pipe.write(json.dumps(order).encode())

    def messages(self) -> Iterator[dict[str, Any]]:
        """Pages, then the `end`. Raises LoadError when that doesn't come."""
        lines = cast("IO[bytes]", self._process.stdout)
        while (line := lines.readline(_MAX_LINE)).endswith(b"\n"):
            message = json.loads(line)
            if "failed" in message:
                raise self._failure(message)
            yield message
            if "end" in message:
                return
        if self._is_late:
            raise self._error(
                f"it took more than {self._limits.seconds:g} s",
                "narrow its arguments, or give it longer by ONCALL_LOADER_SECONDS",
            )
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(5)
        status = self._process.poll() or 0
        how = f"by signal {-status}" if status < 0 else f"with status {status}"
        raise self._error(f"its process ended {how} before its last document")

    def stop(self) -> None:
        self._timer.cancel()
        self._kill()
        cast("IO[bytes]", self._process.stdout).close()
        self._process.wait()

    def _expire(self) -> None:
        self._is_late = True
        self._kill()

    def _kill(self) -> None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)

    def _failure(self, message: Mapping[str, Any]) -> LoadError:
        module, class_name = self._order.allowed.module, self._order.allowed.class_name
        words = f"{message.get('type', '')}: {message.get('said', '')}".strip(": ")
        if message.get("refused"):
            return self._error(f"{_refusal(message['refused'])} ({words})")
        match message["failed"]:
            case "not installed":
                missing = message["missing"]
                if missing and "." in missing:
                    remedy = "correct ONCALL_LOADERS, or install a release that has it"
                    return self._error(f"there is no module {missing}", remedy)
                remedy = f"pip install {missing.replace('_', '-')}" if missing else ""
                return self._error(message.get("said") or f"{missing} is not installed", remedy)
            case "no class":
                near = f"; did you mean {message['near']}?" if message["near"] else ""
                problem = f"{module} has no {class_name}{near}"
                return self._error(problem, "correct ONCALL_LOADERS")
            case "no loader":
                problem = f"{module}:{class_name} is no loader: it has no `lazy_load`"
                return self._error(problem, "correct ONCALL_LOADERS")
            case "import":
                return self._error(f"{module}:{class_name} can't be imported: {words}")
            case "arguments":
                return self._error(f"{class_name} doesn't take these arguments: {words}")
        return self._error(f"it failed: {words}")

    def _error(self, problem: str, remedy: str = "") -> LoadError:
        """Of what vendors say, the first line: clients print whole replies."""
        words = without_secrets(problem, self._order.variables.values(), in_parts=True)
        reason = as_name(" ".join(words.split()))
        return LoadError(self._order.allowed.name, reason, remedy=remedy, refused=True)


def _refusal(text: str) -> str:
    what, _, word = text.partition("\t")
    remedy = f"; if it should, add {word} behind it there" if word else ""
    return f"it wanted {what}, which ONCALL_LOADERS doesn't allow{remedy}"


def without_secrets(text: str, secrets: Collection[str], *, in_parts: bool = False) -> str:
    """`in_parts`: also where a client quotes only the beginning or end, or encoded it."""
    secrets = [one for one in secrets if len(one) >= _MIN_SECRET]
    forms = {form for one in secrets for form in (one, quote(one, safe=""))}
    if not in_parts:
        for form in sorted(forms, key=len, reverse=True):
            text = text.replace(form, REDACTED)
        return text
    hidden = bytearray(len(text))
    encoded = {part for one in secrets for part in _base64(one) if len(part) >= _MIN_PART}
    for form in forms | encoded:
        size = min(_MIN_PART, len(form))
        for begin in range(len(form) - size + 1):
            at = text.find(form[begin : begin + size])
            while at >= 0:
                hidden[at : at + size] = b"\1" * size
                at = text.find(form[begin : begin + size], at + 1)
    letters = (REDACTED if hides else one for one, hides in zip(text, hidden, strict=True))
    runs = groupby(letters, key=lambda one: one == REDACTED)
    return "".join(REDACTED if hides else "".join(run) for hides, run in runs)


def _base64(secret: str) -> Iterator[str]:
    """As it looks inside of a longer text's Base64, as of `user:password`."""
    for before in range(3):
        encoded = base64.b64encode(b"\0" * before + secret.encode()).decode().rstrip("=")
        yield encoded[-(-before * 8 // 6) : -1]
