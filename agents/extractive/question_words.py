"""Words of a question and of a passage, made comparable: lower case, stemmed, codes kept whole."""

from __future__ import annotations

import re
import threading
from functools import lru_cache

import Stemmer

_TOKEN = re.compile(r"[^\W_]+(?:[-_./'’&][^\W_]+)*")
_SPLIT = re.compile(r"[-_./'’&]")
_CODE = re.compile(r"(?=.*\d)(?=.*[A-Za-z])|[_-]|^[A-Z]{2,}$|[a-z][A-Z]")

_FUNCTION_WORDS = """
    a about after again all also am an and any anybody anyone anything are as at back be been
    before being but by can cannot cant could did didnt do does doesnt doing done dont down each
    either else even ever every everyone everything for from get gets getting give given go goes
    going gonna got gotta had has hasnt have havent having he her here hers hey hi him his how
    however i id if ill im in into is isnt it its ive just keep kind know less let lets like made
    make makes many may maybe me might mine more most much must my myself need needs neither never
    no none nor not nothing now of off ok okay on once one only onto or other our ours out over own
    please quite rather really same say says see shall she should so some somebody someone
    something soon still such sure take tell than thank thanks that thats the their theirs them
    then there these they theyre thing things think this those though thru till to too under until
    up upon us use used using very via wanna want wants was wasnt way we well were werent what
    whatever whats when whenever where which while who whom whose why will with within without wont
    would wouldnt yes yet you your youre yours actually already anyway atm basically btw hello lol
    oh pls plz rn rq smth stuff thx u ur wanted way work works yeah yep"""
FUNCTION_WORDS = frozenset(_FUNCTION_WORDS.split())
"""Words that ask rather than name."""

# General chat shorthand only; what a company's own abbreviations mean is for its documents to say.
SHORTHAND = {
    "abt": "about",
    "acct": "account",
    "accts": "accounts",
    "admin": "administrator",
    "approx": "approximately",
    "auth": "authentication",
    "bg": "background",
    "cfg": "configuration",
    "config": "configuration",
    "creds": "credentials",
    "cred": "credential",
    "cust": "customer",
    "db": "database",
    "dbs": "databases",
    "dept": "department",
    "dev": "developer",
    "docs": "documents",
    "env": "environment",
    "externals": "external contractors",
    "folks": "people",
    "freq": "frequency",
    "hr": "hour",
    "hrs": "hours",
    "info": "information",
    "max": "maximum",
    "mgr": "manager",
    "min": "minimum",
    "mins": "minutes",
    "msg": "message",
    "msgs": "messages",
    "nr": "number",
    "nrs": "numbers",
    "org": "organisation",
    "perm": "permanent",
    "perms": "permissions",
    "phish": "phishing",
    "ppl": "people",
    "prod": "production",
    "pw": "password",
    "pwd": "password",
    "pws": "passwords",
    "repo": "repository",
    "repos": "repositories",
    "sec": "second",
    "secs": "seconds",
    "svc": "service",
    "temp": "temporary",
    "tmrw": "tomorrow",
    "vuln": "vulnerability",
    "vulns": "vulnerabilities",
    "wk": "week",
    "yr": "year",
    "yrs": "years",
}

_PLACES = {
    "singapore": "sg",
    "states": "us",
    "usa": "us",
    "america": "us",
    "american": "us",
    "europe": "eu",
    "european": "eu",
    "britain": "uk",
    "england": "uk",
    "germany": "de",
    "france": "fr",
    "japan": "jp",
    "india": "in",
    "australia": "au",
    "canada": "ca",
}

_stemmer = Stemmer.Stemmer("english")
_stemmer_lock = threading.Lock()


@lru_cache(maxsize=65_536)
def stem(word: str) -> str:
    """English stem of one lower-case word; a code stays as it is."""
    if any(character.isdigit() for character in word):
        return word
    with _stemmer_lock:  # one stemmer is not safe in several threads at once
        return str(_stemmer.stemWord(word))


def tokens(text: str) -> list[str]:
    """Words as written; `hbr-sg1` and `ledger-read` are one."""
    return _TOKEN.findall(text)


def is_code(token: str) -> bool:
    """`P1`, `SEV2`, `hbr-sg1`, `quay_admin`, `HarborEgress`, `TLS`: worth an exact match."""
    return bool(_CODE.search(token)) and len(token) > 1


@lru_cache(maxsize=16_384)
def stems(text: str) -> frozenset[str]:
    """Every word of a passage; a compound counts whole and in its parts, a place also as code."""
    found: set[str] = set()
    for token in tokens(text):
        word = token.lower()
        found.add(stem(word))
        parts = _SPLIT.split(word)
        if len(parts) > 1:
            found.update(stem(part) for part in parts if len(part) > 1)
        if word in _PLACES:
            found.add(_PLACES[word])
    return frozenset(found)


def terms(text: str) -> dict[str, str]:
    """Stem → word of what the text names, in order; shorthand written out, places as codes."""
    found: dict[str, str] = {}
    for written in tokens(text):
        word = written.lower().replace("’", "'")
        if written == "US":
            found["us"] = "us"
        elif word.replace("'", "") in FUNCTION_WORDS and not is_code(written):
            continue
        else:
            for part in _named_by(word):
                found.setdefault(stem(part), part)
    return found


def codes(text: str) -> tuple[str, ...]:
    """Exact terms of a question, as written, once."""
    return tuple(dict.fromkeys(token for token in tokens(text) if is_code(token)))


def written_out(text: str) -> str:
    """The text with chat shorthand replaced, for the embedder."""
    return re.sub(
        r"[A-Za-z/]+",
        lambda match: {"w/": "with", "w/o": "without"}.get(
            match[0], SHORTHAND.get(match[0], match[0])
        ),
        text,
    )


def _named_by(word: str) -> list[str]:
    word = word.removesuffix("'s")
    if word in _PLACES:
        return [_PLACES[word]]
    if word in SHORTHAND:
        return SHORTHAND[word].split()
    parts = [part for part in _SPLIT.split(word) if len(part) > 1]
    if len(parts) > 1 and not any(character.isdigit() for character in word):
        return [part for part in parts if part not in FUNCTION_WORDS]
    return [word]
