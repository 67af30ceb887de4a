"""Writes `locks/`: the SHA-256 of every file that the image may install. `make lock`.

Dependencies are those of pyproject.toml, versions those of constraints.txt. The files' hashes come
from the package index, and torch's from the index of its CPU builds (`--torch-index`): the package
index's own torch brings gigabytes of CUDA. Only wheels count, so that no package's code is run to
install it, here or in the image.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
EXTRAS = ("local", "anthropic", "ollama", "rerank")
"""Those of pyproject.toml that an image can be built with."""
PLATFORMS = ("x86_64-manylinux_2_28", "aarch64-manylinux_2_28")
PYTHON = "3.11.5"
"""The oldest that every pinned version admits; the image's own is newer."""
HEADER = "# Written by `make lock`. An image installs these files and no others.\n"


def resolve(extra: str, platform: str, torch_index: str) -> dict[str, str]:
    """Each package's name → its lines of a lock: the version, and the hash of each wheel."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    pins = (ROOT / "constraints.txt").read_text(encoding="utf-8")
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as constraints:
        constraints.write(re.sub(r"^(torch==.*)$", r"\1+cpu", pins, flags=re.MULTILINE))
        constraints.flush()
        command = [
            *(sys.executable, "-m", "uv", "pip", "compile", "pyproject.toml", "-", "--quiet"),
            *("--extra", extra) * bool(extra),
            *("--constraint", constraints.name, "--generate-hashes", "--only-binary", ":all:"),
            *("--python-version", PYTHON, "--python-platform", platform, "--no-python-downloads"),
            # Of two indexes with the same version the first is asked; only torch's CPU build has a
            # version of its own.
            *("--index", "https://pypi.org/simple", "--default-index", torch_index),
            *("--index-strategy", "unsafe-best-match"),
            *("--no-config", "--no-header", "--no-annotate"),
        ]
        requirements = "\n".join(project["build-system"]["requires"])
        done = subprocess.run(  # noqa: S603 - no word of the command comes from outside
            command, cwd=ROOT, input=requirements, capture_output=True, text=True, check=False
        )
    if done.returncode:
        sys.exit(done.stderr)
    entries = re.findall(r"^\S.*(?:\n[ \t].*)*\n", done.stdout, flags=re.MULTILINE)
    return {entry.partition("==")[0]: entry for entry in entries}


def lock(extra: str, torch_index: str) -> dict[str, str]:
    """One lock for both platforms."""
    one, other = (resolve(extra, platform, torch_index) for platform in PLATFORMS)
    if one != other:
        differing = sorted({name for name, _ in one.items() ^ other.items()})
        sys.exit(f"{' and '.join(PLATFORMS)} need different files of {', '.join(differing)}")
    return one


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--torch-index", default="https://download.pytorch.org/whl/cpu")
    torch_index = parser.parse_args().torch_index
    base = lock("", torch_index)
    locks = {"base": base} | {
        extra: {name: files for name, files in lock(extra, torch_index).items() if name not in base}
        for extra in EXTRAS
    }
    for name, entries in locks.items():
        path = ROOT / "locks" / f"{name}.txt"
        path.write_text(HEADER + "".join(entries.values()), encoding="utf-8")
        print(f"{path.relative_to(ROOT)}: {len(entries)} packages")  # noqa: T201 - its report


if __name__ == "__main__":
    main()
