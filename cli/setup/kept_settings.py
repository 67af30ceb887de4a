"""Settings written to `.env`: for its owner alone, and every other line as it was."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

from dotenv import dotenv_values, set_key

from config.errors import ConfigError
from config.parsing.secret_files import OTHERS, SUFFIX, private_file


class KeptSettings:
    """What this run of `oncall init` writes, as soon as it is known to be right."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._was_open = path.exists() and bool(path.stat().st_mode & OTHERS)
        self._added: list[str] = []
        self._replaced: list[str] = []
        self._overruled: list[str] = []

    def keep(self, variable: str, value: str) -> None:
        """Unless it is there already, or stands in a file of its own (`…_FILE`).

        Raises ConfigError when the file can't be written."""
        if os.environ.get(f"{variable}{SUFFIX}"):
            return
        if os.environ.get(variable, value) not in {value, ""}:
            self._overruled.append(variable)
        try:
            before = dotenv_values(self._path).get(variable) if self._path.exists() else None
            if before == value:
                self._close()
                return
            private_file(self._path)
            self._close()
            set_key(self._path, variable, value, quote_mode="auto", follow_symlinks=True)
            self._close()
        except OSError as error:
            raise ConfigError(
                f"{self._path} can't be written: {error.strerror or error}",
                remedy="mend that, and run `oncall init` again",
            ) from error
        (self._replaced if before else self._added).append(variable)

    def lines(self) -> Iterator[str]:
        """What became of the file; secrets by their names alone."""
        if self._added:
            yield f"{self._path}: {', '.join(self._added)}; only you can read it"
        if self._replaced:
            yield f"{self._path}: {', '.join(self._replaced)} replaced; all else is as it was"
        if self._was_open:
            yield f"{self._path} was readable by others, and is no longer"
        for variable in self._overruled:
            yield (
                f"{variable} in this shell's environment is another one, and wins over "
                f"{self._path}: unset {variable}"
            )

    def _close(self) -> None:
        self._path.chmod(stat.S_IMODE(self._path.stat().st_mode) & ~OTHERS)
