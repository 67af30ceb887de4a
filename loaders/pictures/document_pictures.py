"""Fetches a document's pictures before their URLs expire and selects those worth describing."""

from __future__ import annotations

import base64
import binascii
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import unquote, unquote_to_bytes, urlsplit

from config.models import ShownPicture
from loaders.assemble import content_hash
from loaders.document import Block, Cell, Document, Image, Table, images_of
from loaders.pictures.image import MAX_PICTURE_BYTES, digest_of, read_picture
from loaders.time_limit import outside_time_limit
from loaders.untrusted import ReadRefused, Web, confined, origin, read_file, too_large

Fetch = Callable[[Image], bytes]
"""Returns a picture's bytes. Raises ReadRefused."""
Save = Callable[[ShownPicture], None]

MAX_PICTURES = 60
"""Pictures of one document."""
MIN_SIDE = 64
"""Pixels. A smaller picture is an icon."""
_MIN_PIXELS = 12_000
_MAX_ASPECT_RATIO = 10
"""Long side to short side. A longer picture is a rule or an ornament."""
_REPEATED = 3
"""Occurrences in one document that mark a logo or an icon next to notes."""


@dataclass(frozen=True, kw_only=True)
class PictureCollector:
    """Fetches the pictures of loaded documents and saves those worth describing for a model."""

    save: Save
    is_described: Callable[[str], bool] = lambda digest: False
    """Whether a description exists, by digest. Such a picture is not opened again."""

    def __call__(self, document: Document, fetch: Fetch) -> Document:
        """Returns the document with digests of its pictures and `passed_over` reasons.

        An unavailable picture raises no error; `warnings` names it."""
        checked: dict[str, Image] = {}
        pictures: dict[str, ShownPicture] = {}
        warnings: dict[str, None] = {}
        for image in (image for block in document.blocks for image in images_of(block)):
            key = _key(image)
            if key in checked:
                continue
            if len(checked) >= MAX_PICTURES:
                passed_over = f"more than {MAX_PICTURES} in one document"
                checked[key] = replace(image, passed_over=passed_over)
                continue
            try:
                checked[key] = self._check(image, fetch, pictures)
            except ReadRefused as refused:
                passed_over = "" if refused.temporary else refused.reason
                checked[key] = replace(image, passed_over=passed_over)
                name = _name_in_brackets(image)
                warnings[f"a picture{name} was not looked at: it {refused.reason}"] = None
        if not checked:
            return document
        counts = Counter(checked[_key(image)].digest for image in _places(document))

        def with_verdict(image: Image) -> Image:
            verdict = checked[_key(image)]
            often = bool(verdict.digest) and counts[verdict.digest] >= _REPEATED
            passed_over = verdict.passed_over or ("repeated" if often else "")
            return replace(image, digest=verdict.digest, passed_over=passed_over)

        blocks = tuple(with_images(block, with_verdict) for block in document.blocks)
        images = (image for block in blocks for image in images_of(block))
        for digest in {image.digest for image in images if not image.passed_over} & pictures.keys():
            self.save(pictures[digest])
        return replace(
            document,
            blocks=blocks,
            content_hash=content_hash(blocks),
            warnings=(*document.warnings, *warnings),
        )

    def _check(self, image: Image, fetch: Fetch, pictures: dict[str, ShownPicture]) -> Image:
        """The image with its digest. Adds a picture without a description to `pictures`."""
        if image.uri.startswith("data:"):
            data = _decode_data_url(image.uri)
        else:
            data = outside_time_limit(fetch)(image)
        if self.is_described(digest := digest_of(data)):
            return replace(image, digest=digest)
        picture = pictures.setdefault(digest, read_picture(data))
        return replace(image, digest=digest, passed_over=_ornament_reason(picture))


def with_images(block: Block, change: Callable[[Image], Image]) -> Block:
    """Applies `change` to each picture of a block."""
    return replace(
        block,
        image=block.image and change(block.image),
        table=block.table and _change_table(block.table, change),
    )


def _ornament_reason(picture: ShownPicture) -> str:
    """Why a picture's size makes it an ornament; '' when it may carry information."""
    short, long = sorted((picture.width, picture.height))
    if short < MIN_SIDE or short * long < _MIN_PIXELS:
        return "small"
    return "a strip" if long > _MAX_ASPECT_RATIO * short else ""


def _decode_data_url(uri: str) -> bytes:
    head, _, payload = uri[len("data:") :].partition(",")
    if len(payload) > 2 * MAX_PICTURE_BYTES:
        raise ReadRefused(too_large(len(payload), MAX_PICTURE_BYTES))
    try:
        if head.rpartition(";")[2].strip().lower() == "base64":
            return base64.b64decode(unquote_to_bytes(payload))
        return unquote_to_bytes(payload)
    except (binascii.Error, ValueError):
        raise ReadRefused("is not written out as a data address should be") from None


def _change_table(table: Table, change: Callable[[Image], Image]) -> Table:
    def changed(cell: Cell) -> Cell:
        if not (cell.images or cell.tables):
            return cell
        return replace(
            cell,
            images=tuple(map(change, cell.images)),
            tables=tuple(_change_table(nested, change) for nested in cell.tables),
        )

    return replace(table, rows=tuple(tuple(map(changed, row)) for row in table.rows))


def _places(document: Document) -> Iterator[Image]:
    """Yields each picture once per place. A merged cell counts as one place."""
    for block in document.blocks:
        if block.image:
            yield block.image
        yield from {id(image): image for image in images_of(block)}.values() if block.table else ()


def _key(image: Image) -> str:
    """A key that is the same for one picture in several places."""
    return image.uri or f"object {image.object_id}"


def _name_in_brackets(image: Image) -> str:
    name = " ".join((image.alt or image.title).split())[:60]
    return f" ({name})" if name else ""


def local_pictures(path: Path, root: Path) -> Fetch:
    """Reads pictures below `root` that the file at `path` refers to. Never fetches from the web."""

    def fetch(image: Image) -> bytes:
        path_below = _below(image.uri, path.parent, root)
        return read_file(path_below, max_bytes=MAX_PICTURE_BYTES)[0]

    return fetch


def _below(uri: str, folder: Path, root: Path) -> Path:
    parts = urlsplit(uri)
    if parts.scheme or parts.netloc:
        raise ReadRefused("lies on the web, from where nothing is fetched")
    if not parts.path:
        raise ReadRefused("has no address")
    return confined(folder / unquote(parts.path), [root])


_ATTEMPTS = 3
_PAUSE_SECONDS = 1.0
_HOST = ".googleusercontent.com"


def google_pictures(api_url: str = "") -> Fetch:
    """Returns a `Fetch` for pictures on Google's servers, or on `api_url` if set.

    Sends no token, because the URL alone grants access. Never requests any other server."""

    def allowed(address: str) -> bool:
        scheme, host, _ = origin(address)
        if api_url and origin(address) == origin(api_url):
            return True
        return scheme == "https" and host.endswith(_HOST)

    web = Web(allows=allowed, is_inner=lambda host: True, max_bytes=MAX_PICTURE_BYTES)

    def fetch(image: Image) -> bytes:
        if not image.uri:
            raise ReadRefused("has no address: a drawing or an equation")
        if not urlsplit(image.uri).scheme:
            raise ReadRefused("lies beside a file in Drive, where it isn't looked for")
        for attempt in range(_ATTEMPTS):
            try:
                return web.download(image.uri).data
            except ReadRefused as refused:
                if not refused.temporary or attempt + 1 == _ATTEMPTS:
                    raise
            time.sleep(_PAUSE_SECONDS * 2**attempt)
        raise AssertionError("unreachable")

    return fetch
