"""Generations in shared storage: one machine publishes a folder, the others fetch what changed.

PLACE/parts/SHA256        a part of a file, see `index/generations/parts.py`
PLACE/manifests/SHA256    the list of a folder's parts
PLACE/damaged/SHA256      a reader could not use this part; the next run uploads it again

A place belongs to one domain of one database. The database row of a generation points at its
manifest, so nothing is visible before all of it is there."""

from __future__ import annotations

import importlib.util
import os
import random
import re
import time
import uuid
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import Any, TypeVar

import structlog

from config.errors import ConfigError, CopilotError, IndexStoreAway, IndexUnavailable, PublishError
from index.generations.folder import FORMAT, Damaged
from index.generations.parts import LIST_NAME, PartList, Place, digest_of, parts_of, places_in
from telemetry.metrics import INDEX_STORE_ERRORS

AT_ONCE = 16
"""Parts in flight; each takes up to 2 MB of memory."""
ATTEMPTS = 3
PAUSE_SECONDS = 0.2
CALL_SECONDS = 30.0
"""Time to read or write one part, repetitions included."""
REST_SECONDS = 5.0
"""After a failure, fetches fail at once for so long: every question would wait for the store."""
REMEDY = "check ONCALL_INDEX_STORE and its credentials; it is tried again"

log = structlog.get_logger()
_T = TypeVar("_T")
_DIGEST = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True)
class _Scheme:
    module: str
    extra: str = ""
    options: dict[str, Any] = field(default_factory=dict)
    """Bounds of a request, in the words of its fsspec implementation."""


_SCHEMES = {
    "file": _Scheme("fsspec", options={"auto_mkdir": True}),
    "s3": _Scheme(
        "s3fs",
        "s3",
        {
            "max_concurrency": 1,  # one request for each part, not its size first
            "config_kwargs": {
                "connect_timeout": 5,
                "read_timeout": 20,
                "retries": {"max_attempts": 1},
                "max_pool_connections": AT_ONCE,
            },
        },
    ),
    "gs": _Scheme("gcsfs", "gcs", {"requests_timeout": 20}),
    "az": _Scheme("adlfs", "azure", {"connection_timeout": 5, "read_timeout": 20}),
}


class SharedGenerations:
    """The index store of `ONCALL_INDEX_STORE`. Thread-safe; connects on first use."""

    def __init__(self, address: str) -> None:
        """Raises ConfigError for an address that no installed package understands."""
        self.address = address.rstrip("/")
        scheme, separator, rest = self.address.partition("://")
        # A folder without its slash would be relative to where each process starts.
        if not separator or scheme not in _SCHEMES or rest.startswith("/") != (scheme == "file"):
            raise ConfigError(
                f"ONCALL_INDEX_STORE is {address!r}",
                remedy="write s3://bucket/path, gs://…, az://… or file:///folder",
            )
        self._scheme = _SCHEMES[scheme]
        if importlib.util.find_spec(self._scheme.module) is None:
            raise ConfigError(
                f"ONCALL_INDEX_STORE is {address!r}, and {self._scheme.module} is not installed",
                remedy=f"install oncall-copilot[{self._scheme.extra}]",
            )
        self._rests_until = 0.0
        self._reason = ""

    def look(self) -> None:
        """Raises IndexStoreAway if it can't be read."""
        with self._failing_as(IndexStoreAway, "read"):
            self._names("nothing", "parts")

    def upload(self, domain: str, folder: Path, earlier: str | None) -> str:
        """Uploads the parts that are not there yet, then the manifest; returns its address.

        `earlier`: address of another generation's manifest of the domain, whose parts are shared.
        Raises PublishError."""
        place = earlier.partition("/")[0] if earlier else f"{domain}-{uuid.uuid4().hex[:8]}"
        start = time.monotonic()

        def send(one: Place) -> None:
            data = one.read()
            if data is None:
                raise OSError(f"{one.path} is damaged")
            self._call("pipe_file", self._part(place, one.part.digest), data)

        with self._failing_as(PublishError, "written"):
            listed = parts_of(folder)
            address = f"{place}/{digest_of(listed.content)}"
            missing = self._missing(place, listed)
            places = {one.part.digest: one for one in listed.places(folder)}
            with ThreadPoolExecutor(AT_ONCE, thread_name_prefix="upload") as pool:
                _all_of(pool, [partial(send, places[digest]) for digest in missing])
            self._call("pipe_file", self._manifest(address), listed.content)
            marks = self._damaged(place) & {*missing, digest_of(listed.content)}
            self._delete(self._at(place, "damaged", one) for one in marks)
        log.info(
            "generation uploaded to the index store",
            domain=domain,
            parts=len(missing),
            of=len(places),
            bytes=sum(places[one].part.size for one in missing),
            seconds=round(time.monotonic() - start, 3),
        )
        return address

    def is_whole(self, address: str, folder: Path) -> bool:
        """Whether the store has this folder under this address, undamaged as far as known.

        Raises PublishError."""
        place, _, digest = address.partition("/")
        with self._failing_as(PublishError, "read"):
            listed = parts_of(folder)
            if digest_of(listed.content) != digest:
                return False
            is_listed = digest in self._names(place, "manifests").keys() - self._damaged(place)
            return is_listed and not self._missing(place, listed)

    def fetch(self, address: str, target: Path, folders: Sequence[Path]) -> None:
        """Makes `target` the folder of this address, or goes on where a call before broke off.

        Parts that `folders` hold, `target` among them, are not downloaded. Every part is verified.
        Raises IndexStoreAway, or Damaged for a damaged copy; `target` then has its other parts."""
        if time.monotonic() < self._rests_until:
            raise IndexStoreAway(self._reason, remedy=REMEDY)
        start = time.monotonic()
        place, _, digest = address.partition("/")
        with self._failing_as(IndexStoreAway, "read"):
            content = self._verified(self._manifest(address), digest)
            if content is None:
                if not self._names(place, "manifests"):
                    raise FileNotFoundError("it holds nothing of it: another one, or not mounted")
                self._mark_damaged(place, digest)
                INDEX_STORE_ERRORS.inc()
                raise Damaged("the index store has no intact manifest of it")
            listed = PartList.parse(content)
            held = places_in(folders)
            places = _lay_out(target, listed)

            def bring(name: str) -> int | None:
                local = next(filter(None, (one.read() for one in held.get(name, ()))), None)
                data = self._verified(self._part(place, name), name) if local is None else local
                if data is None:
                    self._mark_damaged(place, name)
                    return None
                _write(data, places[name])
                return 0 if local else len(data)

            with ThreadPoolExecutor(AT_ONCE, thread_name_prefix="fetch") as pool:
                downloaded = _all_of(pool, [partial(bring, name) for name in places])
        if lost := downloaded.count(None):
            INDEX_STORE_ERRORS.inc()
            raise Damaged(f"{lost} of its {len(places)} parts in the index store are damaged")
        if listed.format != FORMAT:  # of another release; its vectors are still good
            raise Damaged("the index store has it in another format")
        log.info(
            "generation fetched from the index store",
            address=address,
            bytes=sum(filter(None, downloaded)),
            of=sum(listed.sizes().values()),
            seconds=round(time.monotonic() - start, 3),
        )

    def remove_unused(
        self, addresses: Collection[str], folders: Sequence[Path], *, is_reader: bool = False
    ) -> None:
        """Deletes what none of a domain's manifests at these addresses uses.

        `folders`: where their lists may stand on this machine. `is_reader`: without the right to
        delete, it leaves that to the next run. Raises PublishError."""
        with self._failing_as(PublishError, "cleaned", is_forgiven=is_reader):
            here = [folder / LIST_NAME for folder in folders]
            lists = [one.read_bytes() for one in here if one.is_file()]
            held = {digest_of(one): one for one in lists}
            for place in {one.partition("/")[0] for one in addresses}:
                manifests = {
                    one.partition("/")[2] for one in addresses if one.startswith(f"{place}/")
                }
                parts: set[str] = set()
                for digest in manifests:
                    content = held.get(digest) or self._verified(
                        self._manifest(f"{place}/{digest}"), digest
                    )
                    if content:  # nobody can fetch what has no list
                        parts.update(PartList.parse(content).sizes())
                used = {"manifests": manifests, "parts": parts, "damaged": parts | manifests}
                self._delete(
                    self._at(place, kind, name)
                    for kind, names in used.items()
                    for name in self._names(place, kind).keys() - names
                )

    @cached_property
    def _opened(self) -> tuple[Any, str]:
        from fsspec.core import url_to_fs

        options = {"use_listings_cache": False, "skip_instance_cache": True}
        opened: tuple[Any, str] = url_to_fs(self.address, **options, **self._scheme.options)
        return opened

    def _call(self, verb: str, path: str, *arguments: Any, **options: Any) -> Any:
        files = self._opened[0]
        if files.async_impl:  # s3fs repeats without end what times out
            options["timeout"] = CALL_SECONDS
        return getattr(files, verb)(path, *arguments, **options)

    def _at(self, place: str, kind: str, name: str = "") -> str:
        return "/".join(filter(None, (self._opened[1], place, kind, name)))

    def _part(self, place: str, digest: str) -> str:
        return self._at(place, "parts", digest)

    def _manifest(self, address: str) -> str:
        place, _, digest = address.partition("/")
        return self._at(place, "manifests", digest)

    def _damaged(self, place: str) -> set[str]:
        """Parts and lists that a reader marked."""
        return set(self._names(place, "damaged"))

    def _names(self, place: str, kind: str) -> dict[str, int]:
        """Name → bytes of all that is there."""
        entries = self._call("find", self._at(place, kind), detail=True)
        return {path.rpartition("/")[2]: int(one["size"]) for path, one in entries.items()}

    def _missing(self, place: str, listed: PartList) -> list[str]:
        """Parts that are not there, cut off, or marked as damaged."""
        there, damaged = self._names(place, "parts"), self._damaged(place)
        return [
            name
            for name, size in listed.sizes().items()
            if there.get(name) != size or name in damaged
        ]

    def _verified(self, path: str, digest: str) -> bytes | None:
        """The object's bytes; None when it is gone or has other bytes each time it is read."""
        for attempt in range(ATTEMPTS):
            try:
                data: bytes = self._call("cat_file", path)  # the client repeats what failed
            except FileNotFoundError:
                return None
            if digest_of(data) == digest:
                return data
            time.sleep(PAUSE_SECONDS * (attempt + random.random()))  # noqa: S311 - no secret
        return None

    def _mark_damaged(self, place: str, name: str) -> None:
        try:
            self._call("pipe_file", self._at(place, "damaged", name), b"damaged")
        except Exception as error:  # a reader may lack the right to write
            log.warning("damaged part could not be marked", part=name, cause=_line(error))

    def _delete(self, paths: Iterable[str]) -> None:
        # One by one: `rm` takes brackets in an address for a pattern, and s3fs deletes many at once
        # without telling which it was not allowed to delete.
        def remove(path: str) -> None:
            with suppress(FileNotFoundError):
                self._call("rm_file", path)

        with ThreadPoolExecutor(AT_ONCE, thread_name_prefix="delete") as pool:
            _all_of(pool, [partial(remove, path) for path in paths])

    @contextmanager
    def _failing_as(
        self, kind: type[IndexStoreAway | PublishError], verb: str, *, is_forgiven: bool = False
    ) -> Iterator[None]:
        """`is_forgiven`: it doesn't matter where the credentials don't allow it."""
        try:
            yield
        except CopilotError:
            raise
        except Exception as error:  # each implementation of fsspec has exceptions of its own
            if is_forgiven and _is_forbidden(error):
                return
            if isinstance(error, Damaged) and kind is IndexStoreAway:
                raise
            INDEX_STORE_ERRORS.inc()
            reason = f"the index store {self.address} can't be {verb}: {_line(error)}"
            if kind is IndexStoreAway:
                self._reason, self._rests_until = reason, time.monotonic() + REST_SECONDS
            raise kind(reason, remedy=REMEDY) from error


def _lay_out(target: Path, listed: PartList) -> dict[str, list[Place]]:
    """Makes the empty files of a folder. Returns each part's places."""
    places: dict[str, list[Place]] = {}
    with _writing_locally():
        target.mkdir(parents=True, exist_ok=True)
        (target / LIST_NAME).write_bytes(listed.content)
        for name in listed.files:
            (target / name).parent.mkdir(exist_ok=True)
            (target / name).touch()
    for one in listed.places(target):
        places.setdefault(one.part.digest, []).append(one)
    return places


def _write(data: bytes, places: Iterable[Place]) -> None:
    with _writing_locally():
        for one in places:
            with one.path.open("r+b", buffering=0) as opened:
                os.pwrite(opened.fileno(), data, one.offset)


@contextmanager
def _writing_locally() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise IndexUnavailable(
            f"a generation from the index store can't be written: {error.strerror or error}",
            remedy="see whether ONCALL_DATA_DIR has room and may be written",
        ) from error


def _all_of(pool: ThreadPoolExecutor, calls: Sequence[Callable[[], _T]]) -> list[_T]:
    """Results in order. The first error cancels the calls that haven't begun."""
    futures = [pool.submit(call) for call in calls]
    try:
        return [future.result() for future in futures]
    except BaseException:
        pool.shutdown(wait=True, cancel_futures=True)
        raise


def _is_forbidden(error: Exception) -> bool:
    """s3fs and local folders raise PermissionError, gcsfs OSError, adlfs one with a status."""
    status = getattr(error, "status_code", None)
    return isinstance(error, PermissionError) or status == 403 or str(error).startswith("Forbidden")


def _line(error: Exception) -> str:
    # Without names of parts: the same outage has the same line, which is logged once.
    text = _DIGEST.sub("…", " ".join(str(error).split()))[:200]
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
