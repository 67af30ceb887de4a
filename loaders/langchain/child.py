"""Runs one class of LangChain in a process of its own, which may do what the operator allows.

The class is the operator's choice, but its arguments are written by a channel's admin: they may be
paths, addresses or commands. So what it opens, reaches and starts is looked at when it does so, by
an audit hook, whatever the arguments mean to it. Only the standard library is imported here.

Standard input holds an `Order` as JSON. Standard output gets one JSON object a line: pages, then
`end`, or `failed`."""

from __future__ import annotations

import errno
import importlib
import json
import os
import socket
import sys
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from difflib import get_close_matches
from typing import IO, Any, TypedDict

MAX_TEXT = 10_000_000
"""Characters of one page. As many as a document may have."""
_MAX_FIELD = 2_000
"""Characters of a field of metadata, and of what the class says of its failure."""
_MAX_CAUSES = 20
FIELDS: Mapping[str, tuple[str, ...]] = {
    "source": ("source",),
    "address": ("url", "link", "web_url"),
    "title": ("title", "name", "file_name", "filename"),
    "id": ("id",),
    "part": ("page", "page_number"),
    "author": ("author", "owner", "created_by"),
    "time": (
        "when", "modified_at", "modified", "last_modified_at", "last_modified", "last_edited_time",
        "updated_at", "updated", "moddate",
    ),
}  # fmt: skip
"""What is sent of the metadata → the names that vendors give it, the first one that is there."""
_MEMORY = 8 << 30
_SYSTEM = (
    "/etc/hosts", "/etc/localtime", "/etc/mime.types", "/etc/nsswitch.conf", "/etc/os-release",
    "/etc/pki", "/etc/resolv.conf", "/etc/ssl", "/dev/null", "/dev/random", "/dev/urandom",
    "/sys", "/usr/lib", "/usr/local/lib", "/usr/share",
)  # fmt: skip
"""What libraries read of the system."""
_WRITES = frozenset({
    "os.chmod", "os.chown", "os.link", "os.mkdir", "os.remove", "os.rename", "os.rmdir",
    "os.symlink", "os.truncate", "os.utime", "sqlite3.connect",
})  # fmt: skip
_STARTS = frozenset({
    "os.exec", "os.fork", "os.forkpty", "os.posix_spawn", "os.spawn", "os.system", "pty.spawn",
    "subprocess.Popen",
})  # fmt: skip
_SENDS = frozenset({"socket.connect", "socket.sendto", "socket.sendmsg"})
_WRITE_FLAGS = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND


class Order(TypedDict):
    module: str
    class_name: str
    arguments: dict[str, Any]
    """`{env: NAME}` in place of a value stands for a variable of this process."""
    hosts: list[str]
    folders: list[str]
    """What it may read, without hidden files."""
    closed: list[str]
    """Folders in them that it may not."""
    scratch: str
    """A folder in which it may write."""
    programs: bool


class Refused(PermissionError):
    def __init__(self, what: str, remedy: str) -> None:
        super().__init__(errno.EACCES, f"it may not {what.removeprefix('to ')}")
        self.note = f"{what}\t{remedy}"[:1_000]


class Guard:
    """Refuses what the order doesn't allow, and remembers it: many a loader goes on silently."""

    def __init__(self, order: Order) -> None:
        self._hosts = order["hosts"]
        self._programs = order["programs"]
        self._scratch = os.path.realpath(order["scratch"])
        here = {os.path.realpath(one) for one in (sys.prefix, sys.base_prefix, sys.exec_prefix)}
        authorities = (os.environ.get(name) for name in ("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE"))
        own = {*here, self._scratch, *_SYSTEM, *filter(None, authorities)}
        self._own = _below({os.path.realpath(one) for one in own} | set(_SYSTEM))
        self._folders = [os.path.realpath(one) for one in (*order["folders"], *sys.path)]
        self._closed = _below(os.path.realpath(one) for one in order["closed"])
        self._addresses: set[str] = set()
        self.refusals: dict[str, None] = {}

    def set_up(self) -> None:
        for name in ("getaddrinfo", "gethostbyname", "gethostbyname_ex"):
            setattr(socket, name, self._resolving(getattr(socket, name)))
        sys.addaudithook(self._look)

    def _look(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open":
            path, _, flags = arguments
            writes = isinstance(flags, int) and flags & _WRITE_FLAGS
            self._write(path) if writes else self._read(path)
        elif event in ("os.listdir", "os.scandir"):
            self._read(arguments[0])
        elif event in _WRITES:
            for path in arguments[: 2 if event in ("os.rename", "os.link", "os.symlink") else 1]:
                self._write(path)
        elif event in _STARTS and not self._programs:
            self._refuse("to start another program", "programs")
        elif event in _SENDS:
            self._send(arguments[1])

    def _resolving(self, resolve: Callable[..., Any]) -> Callable[..., Any]:
        def resolved(host: Any, *arguments: Any, **options: Any) -> Any:
            name = host.decode() if isinstance(host, bytes) else str(host or "")
            name = name.lower().rstrip(".")
            if not any(name == one or name.endswith(f".{one}") for one in self._hosts):
                self._refuse(f"to reach {name or 'this machine'}", f"host={name or 'localhost'}")
            resolved_to = resolve(host, *arguments, **options)
            self._addresses |= set(_addresses_in(resolved_to))
            return resolved_to

        return resolved

    def _send(self, address: Any) -> None:
        host = address[0] if isinstance(address, tuple) else None
        if host is not None and (str(host) in self._addresses or str(host) in self._hosts):
            return
        self._refuse(f"to reach {host or 'another process'}", f"host={host or 'HOST'}")

    def _read(self, path: Any) -> None:
        real = _real(path)
        # Folders below /proc show the environments of other processes; its files are the machine's.
        if real is None or self._own(real) or real.rpartition("/")[0] == "/proc":
            return
        root = next((one for one in self._folders if _is_below(real, one)), None)
        hidden = root is not None and "/." in real[len(root) :]
        if root is None or hidden or self._closed(real):
            self._refuse(f"to read {real}", "folder=…")

    def _write(self, path: Any) -> None:
        real = _real(path)
        if real is not None and real != os.devnull and not _is_below(real, self._scratch):
            self._refuse(f"to write to {real}", "")

    def _refuse(self, what: str, remedy: str) -> None:
        refused = Refused(what, remedy)
        self.refusals[refused.note] = None
        raise refused


def _real(path: Any) -> str | None:
    """Without links; None for an open file."""
    if isinstance(path, int):
        return None
    return os.path.realpath(os.fsdecode("." if path is None else path))


def _is_below(real: str, root: str) -> bool:
    return real == root or real.startswith(root.rstrip("/") + "/")


def _below(roots: Iterable[str]) -> Callable[[str], bool]:
    listed = tuple(roots)
    return lambda real: any(_is_below(real, root) for root in listed)


def _addresses_in(answer: Any) -> Iterable[str]:
    """Of `gethostbyname`, `gethostbyname_ex` or `getaddrinfo`."""
    if isinstance(answer, str):
        return [answer]
    if isinstance(answer, tuple):
        return map(str, answer[2])
    return (str(one[4][0]) for one in answer)


class _Failed(Exception):
    def __init__(self, kind: str, **details: str) -> None:
        self.message = {"failed": kind, **details}


def _made(order: Order) -> Any:
    """The loader. Raises _Failed."""
    module, class_name = order["module"], order["class_name"]
    try:
        made: Any = importlib.import_module(module)
    except ModuleNotFoundError as error:
        raise _Failed("not installed", missing=str(error.name or module)) from error
    except Exception as error:
        raise _Failed("import", **_words(error)) from error
    try:
        for part in class_name.split("."):
            made = getattr(made, part)
    except ImportError as error:
        raise _Failed("not installed", missing=str(error.name or ""), **_words(error)) from error
    except AttributeError:
        near = get_close_matches(class_name, [*dir(made), *getattr(made, "__all__", ())], n=1)
        raise _Failed("no class", near="".join(near)) from None
    if not callable(getattr(made, "lazy_load", None) or getattr(made, "load", None)):
        raise _Failed("no loader")
    try:
        return made(**{key: _filled(value) for key, value in order["arguments"].items()})
    except ImportError as error:
        raise _Failed("not installed", missing=str(error.name or ""), **_words(error)) from error
    except Exception as error:
        raise _Failed("arguments", **_words(error)) from error


def _filled(value: Any) -> Any:
    if isinstance(value, dict):
        if value.keys() == {"env"}:
            return os.environ[value["env"]]
        return {key: _filled(one) for key, one in value.items()}
    return [_filled(one) for one in value] if isinstance(value, list) else value


def _words(error: BaseException) -> dict[str, str]:
    """What the class says of its failure. The other side takes secrets out."""
    text = ""
    with suppress(Exception):
        text = str(error)
    cause: BaseException | None = error
    for _ in range(_MAX_CAUSES):
        if cause is None or isinstance(cause, Refused):
            break
        cause = cause.__cause__ or cause.__context__
    refused = cause.note if isinstance(cause, Refused) else ""
    return {"type": type(error).__name__, "said": text[:_MAX_FIELD], "refused": refused}


def _page(page: Any) -> dict[str, Any]:
    text, metadata = page.page_content, page.metadata
    if not isinstance(text, str) or not isinstance(metadata, Mapping):
        return {"bad": "no text"}
    values = {
        field: next((one for key in keys if _says(one := metadata.get(key))), None)
        for field, keys in FIELDS.items()
    }
    fields = {field: _written(one)[:_MAX_FIELD] for field, one in values.items() if one is not None}
    if len(text) > MAX_TEXT:
        return {"bad": f"a text of more than {MAX_TEXT:,} characters"}
    return {"text": text, "fields": fields}


def _says(value: Any) -> bool:
    return value not in (None, "") and not isinstance(value, dict | list | tuple | set)


def _written(value: Any) -> str:
    return str(value.isoformat() if hasattr(value, "isoformat") else value)


def _run(order: Order, write: Callable[[Mapping[str, Any]], None], guard: Guard) -> None:
    loader = _made(order)
    try:
        for page in loader.lazy_load() if hasattr(loader, "lazy_load") else loader.load():
            try:
                sent = _page(page)
            except Exception as error:
                sent = {"bad": f"no document of LangChain ({type(error).__name__})"}
            write(sent)
    except ImportError as error:
        raise _Failed("not installed", missing=str(error.name or ""), **_words(error)) from error
    except (BrokenPipeError, KeyboardInterrupt):
        raise
    except BaseException as error:  # sys.exit, too
        raise _Failed("reading", **_words(error)) from error
    write({"end": True, "refusals": list(guard.refusals)[:20]})


def main() -> None:
    order: Order = json.load(sys.stdin)
    # What the class prints must not end up among the pages.
    answers: IO[bytes] = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)

    def write(message: Mapping[str, Any]) -> None:
        answers.write(json.dumps(message).encode() + b"\n")
        answers.flush()

    with suppress(ImportError, ValueError, OSError):
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    guard = Guard(order)
    guard.set_up()
    try:
        _run(order, write, guard)
    except _Failed as failed:
        write({**failed.message, "refusals": list(guard.refusals)[:20]})
    answers.flush()
    os._exit(0)  # threads of the class would keep the process


if __name__ == "__main__":
    main()
