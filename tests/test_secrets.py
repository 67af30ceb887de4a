"""Nothing in the repository could open a door: no token, no key, no password."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SHAPES = {
    "Slack bot or user token": r"xox[a-z](?:\.xox[a-z])?-[0-9]{8,}-[\w-]{10,}",
    "Slack app token": r"xapp-[0-9]-[A-Z0-9]{8,}-[0-9]{8,}-\w{20,}",
    "Slack webhook": r"hooks\.slack\.com/(?:services|workflows|triggers)/T\w{8,}/\w{8,}/\w{16,}",
    "Google key": r"AIza[\w-]{35}|ya29\.[\w-]{30,}|GOCSPX-[\w-]{28}",
    "model key": r"sk-(?:[a-z0-9]+-)*[\w-]{40,}|hf_[A-Za-z0-9]{34}|lsv2_[a-z]{2}_\w{32,}",
    "cloud key": r"(?:AKIA|ASIA)[A-Z0-9]{16}",
    "repository or package token": r"gh[opsur]_\w{36}|github_pat_\w{60,}|pypi-AgEI[\w-]{50,}",
    "private key": r"-----BEGIN [A-Z ]*PRIVATE KEY-----(?:\\n|\s)+[A-Za-z0-9+/]{40,}",
    "signed token": r"eyJ[\w-]{15,}\.eyJ[\w-]{15,}\.[\w-]{20,}",
    "password in an address": r"[a-z]://[\w.-]+:[^\s:@/${}<>…]{12,}@(?!localhost|127\.)[\w.-]+\.\w",
}
# Put together here, so that this file holds none.
EXAMPLES = {
    "Slack bot or user token": ["xoxb", "-123456789012-123456789012-", "a" * 24],
    "Slack app token": ["xapp", "-1-A0123456789-123456789012-", "a" * 64],
    "Slack webhook": ["https://hooks.slack", ".com/services/T01234567/B01234567/", "a" * 24],
    "Google key": ["AI", "za", "a" * 35],
    "model key": ["sk", "-proj-", "a" * 48],
    "cloud key": ["AK", "IA", "A" * 16],
    "repository or package token": ["gh", "p_", "a" * 36],
    "private key": ["-----BEGIN ", "RSA PRIVATE KEY-----\n", "A" * 64],
    "signed token": ["ey", "J", "a" * 20, ".ey", "J", "a" * 20, ".", "a" * 30],
    "password in an address": ["postgresql:", "//oncall:", "a" * 20, "@db.example.com/oncall"],
}


def files() -> list[Path]:
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return [path for name in listed.stdout.split("\0") if name and (path := ROOT / name).is_file()]


def test_no_file_holds_anything_that_looks_like_a_secret() -> None:
    found = [
        f"{path.relative_to(ROOT)}: {kind}"
        for path in files()
        if b"\0" not in (content := path.read_bytes())
        for kind, shape in SHAPES.items()
        if re.search(shape, content.decode("utf-8", "replace"))
    ]
    assert len(files()) > 100
    assert found == []


@pytest.mark.parametrize("kind", SHAPES)
def test_each_kind_of_secret_would_be_found(kind: str) -> None:
    assert re.search(SHAPES[kind], "".join(EXAMPLES[kind]))


def test_no_file_is_a_place_for_secrets() -> None:
    names = re.compile(
        r"^\.env$|\.(?:pem|p12|pfx|key|jks)$|^(?:id_rsa|id_ed25519)|credentials.*\.json$"
    )
    assert [path.name for path in files() if names.search(path.name)] == []
