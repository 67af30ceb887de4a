"""Secrets that stand in files, as Docker and Kubernetes mount them: `SLACK_BOT_TOKEN_FILE` names
the file that holds what `SLACK_BOT_TOKEN` would."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from config.errors import ConfigError

SUFFIX = "_FILE"


def secrets_from_files(variables: Iterable[str], environment: Mapping[str, str]) -> dict[str, str]:
    """Variable → what its file holds, of those that name one.

    Raises ConfigError that names the variable and the file, never what is in it."""
    found = {}
    for variable in variables:
        if name := environment.get(f"{variable}{SUFFIX}"):
            if environment.get(variable):
                raise ConfigError(
                    f"{variable} and {variable}{SUFFIX} are both set",
                    remedy="leave one of them out",
                )
            found[variable] = _read(f"{variable}{SUFFIX}", Path(name))
    return found


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
