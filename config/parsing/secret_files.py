"""Files that only their owner may read: folders 0700, files 0600, whatever the umask.

Secrets can be files, as Docker and Kubernetes mount them: `SLACK_BOT_TOKEN_FILE` names the file
that holds `SLACK_BOT_TOKEN`."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable, Mapping
from pathlib import Path

from dotenv import dotenv_values

from config.errors import ConfigError

TOKEN_VARIABLE = r"ONCALL_TOOL_[A-Z0-9_]+_TOKEN"  # noqa: S105 - a name
"""Variables whose values a domain file may send to a server. Its author can't name other secrets,
such as Slack's token or the model's key."""
OTHERS = stat.S_IRWXG | stat.S_IRWXO


def keep_to_owner() -> None:
    """Sets the umask, so that only the user can access files that this process creates."""
    os.umask(OTHERS)


def private_folder(folder: Path) -> Path:
    """Creates the folder and removes other users' access to everything in it.

    A shared folder, such as the working directory, keeps its mode. Raises ConfigError when the
    folder can't be written to."""
    try:
        # Missing parent folders get the default mode: other users may need them.
        folder.parent.mkdir(parents=True, exist_ok=True)
        folder.mkdir(mode=0o700, exist_ok=True)
    except OSError as error:
        raise ConfigError(
            f"cannot write to {folder}: {error.strerror}", remedy="set ONCALL_DATA_DIR"
        ) from error
    if not os.access(folder, os.W_OK | os.X_OK):
        raise ConfigError(
            f"cannot write to {folder}: {_whose(folder)}",
            remedy=f"give the volume to user {os.geteuid()}, or set ONCALL_DATA_DIR",
        )
    if _is_shared(folder):
        _warn(f"{folder} holds more than ours: its mode stays, and others may look into it")
        return folder
    paths = [path for path in (folder, *folder.rglob("*")) if _mode(path) & OTHERS]
    foreign = [path for path in paths if not _close_to_others(path)]
    if foreign:
        _warn(
            f"others may read files in {folder}: {_whose(foreign[0])}; "
            f"give the volume to user {os.geteuid()}, or make it unreadable to others yourself"
        )
    return folder


def private_file(path: Path) -> Path:
    """Creates the file if it is missing; SQLite gives its journal files the same mode."""
    os.close(os.open(path, os.O_CREAT | os.O_RDONLY | os.O_CLOEXEC, 0o600))
    return path


def _is_shared(folder: Path) -> bool:
    here, there = Path.cwd().resolve(), folder.resolve()
    return here.is_relative_to(there) or bool(folder.stat().st_mode & stat.S_ISVTX)


def _mode(path: Path) -> int:
    """Mode of a file; 0 for a link, which has none, and for a deleted file."""
    try:
        mode = path.lstat().st_mode
    except OSError:
        return 0
    return 0 if stat.S_ISLNK(mode) else mode


def _close_to_others(path: Path) -> bool:
    """Removes other users' access. False when that fails, as for another user's file."""
    try:
        path.chmod(stat.S_IMODE(_mode(path)) & ~OTHERS)
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return True


def _whose(path: Path) -> str:
    return f"{path} belongs to user {path.stat().st_uid}, and this process is user {os.geteuid()}"


def _warn(message: str) -> None:
    import structlog  # with rich, which `oncall --help` does without

    structlog.get_logger().warning(message)


SUFFIX = "_FILE"


def secrets_from_files(variables: Iterable[str], environment: Mapping[str, str]) -> dict[str, str]:
    """Variable → content of its file, for variables with a `_FILE`.

    Raises ConfigError, which names the variable and the file, never its content."""
    values = {}
    for variable in variables:
        if name := environment.get(f"{variable}{SUFFIX}"):
            if environment.get(variable):
                raise ConfigError(
                    f"{variable} and {variable}{SUFFIX} are both set",
                    remedy="leave one of them out",
                )
            values[variable] = _read(f"{variable}{SUFFIX}", Path(name))
    return values


def _read(variable: str, path: Path) -> str:
    try:
        text = path.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "not UTF-8"
        raise ConfigError(
            f"{variable}: {path} can't be read: {why}",
            remedy="check that it is mounted, and that this user may read it",
        ) from None
    if not text:
        raise ConfigError(f"{variable}: {path} is empty", remedy="write the secret into it")
    return text


def environment() -> dict[str, str | None]:
    """The environment counts before `.env`."""
    try:
        dotenv = dotenv_values(".env")
    except (OSError, UnicodeDecodeError):  # told when the settings are read
        dotenv = {}
    return {**dotenv, **os.environ}


def tool_tokens() -> dict[str, str]:
    """Variable → token of a tool server."""
    return {
        name: value
        for name, value in environment().items()
        if value and re.fullmatch(TOKEN_VARIABLE, name)
    }
