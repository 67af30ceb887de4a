"""Writes `locks/`: the SHA-256 of every file that the image may install. `make lock`.

Dependencies are those of pyproject.toml, versions those of constraints.txt. The files' hashes come
from the package index. The extra `rerank` alone needs a second one, of torch's CPU builds
(`--torch-index`): the package index's own torch brings gigabytes of CUDA. Only wheels count, so
that no package's code is run to install it, here or in the image. `make lock ARGS=base` writes one
lock.
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
WITH_TORCH = "rerank"
EXTRAS = ("anthropic", "azure", "gcs", "ollama", WITH_TORCH, "s3")
"""Those of pyproject.toml that an image can be built with."""
PACKAGE_INDEX = "https://pypi.org/simple"
PLATFORMS = ("x86_64-manylinux_2_28", "aarch64-manylinux_2_28")
PYTHON = "3.11.5"
"""The oldest that every pinned version admits; the image's own is newer."""
HEADER = "# Written by `make lock`. An image installs these files and no others.\n"


def resolve(extra: str, platform: str, torch_index: str) -> dict[str, str]:
    """Each package's name → its lines of a lock: the version, and the hash of each wheel."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    pins = (ROOT / "constraints.txt").read_text(encoding="utf-8")
    indexes = ["--default-index", PACKAGE_INDEX]
    if extra == WITH_TORCH:
        pins = re.sub(r"^(torch==.*)$", r"\1+cpu", pins, flags=re.MULTILINE)
        # Of two indexes with the same version the first is asked; only torch's CPU build has a
        # version of its own.
        indexes = ["--index", PACKAGE_INDEX, "--default-index", torch_index]
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as constraints:
        constraints.write(pins)
        constraints.flush()
        command = [
            *(sys.executable, "-m", "uv", "pip", "compile", "pyproject.toml", "-", "--quiet"),
            *("--extra", extra) * bool(extra),
            *("--constraint", constraints.name, "--generate-hashes", "--only-binary", ":all:"),
            *("--python-version", PYTHON, "--python-platform", platform, "--no-python-downloads"),
            *indexes,
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
    parser.add_argument("locks", nargs="*", metavar="LOCK", help=f"base, {', '.join(EXTRAS)}")
    parser.add_argument("--torch-index", default="https://download.pytorch.org/whl/cpu")
    asked = parser.parse_args()
    base = lock("", asked.torch_index)
    for name in asked.locks or ("base", *EXTRAS):
        entries = base if name == "base" else lock(name, asked.torch_index)
        kept = [one for package, one in entries.items() if name == "base" or package not in base]
        path = ROOT / "locks" / f"{name}.txt"
        path.write_text(HEADER + "".join(kept), encoding="utf-8")
        print(f"{path.relative_to(ROOT)}: {len(kept)} packages")  # noqa: T201 - its report


if __name__ == "__main__":
    main()
