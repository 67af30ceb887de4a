"""Untrusted bytes → a picture that is safe to send to a model, or the reason why not."""

from __future__ import annotations

import hashlib
import io
import warnings
from threading import Lock
from typing import Any

from config.models import ShownPicture
from loaders.untrusted import ReadRefused, too_large

MAX_PICTURE_BYTES = 20_000_000
"""File size. A larger file is neither a screenshot nor a diagram."""
MAX_PIXELS = 40_000_000
"""Each pixel takes four bytes in memory, so a small file can unpack to gigabytes."""
MAX_SIDE = 2_048
"""Pixels. Providers shrink larger pictures themselves, after the upload."""
_MAX_SENT_BYTES = 3_500_000
"""Bytes. base64 adds a third, and the strictest provider accepts 5 MB."""
_SIGNS = {
    b"\x89PNG\r\n\x1a\n": "PNG", b"\xff\xd8\xff": "JPEG", b"GIF87a": "GIF", b"GIF89a": "GIF",
    b"BM": "BMP",
}  # fmt: skip
_OTHERS = {
    b"%PDF": "a PDF file", b"<svg": "an SVG drawing", b"<?xml": "an SVG drawing",
    b"<!doctype html": "a web page", b"<html": "a web page", b"II*\x00": "a TIFF file",
    b"MM\x00*": "a TIFF file", b"PK\x03\x04": "an archive",
}  # fmt: skip

_OPENING = Lock()
"""Opens one picture at a time, because one may take hundreds of megabytes in memory.

Also, `warnings` filters apply to the whole process."""


def kind_of(data: bytes) -> str:
    """`PNG`, `JPEG`, `GIF`, `WEBP` or `BMP`, by the first bytes; '' for anything else."""
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "WEBP"
    return next((kind for sign, kind in _SIGNS.items() if data.startswith(sign)), "")


def read_picture(data: bytes) -> ShownPicture:
    """Re-encodes a picture: upright, without metadata, with sides of at most 2,048 pixels.

    Of an animation, only the first frame remains. Raises ReadRefused."""
    if not data:
        raise ReadRefused("is empty: 0 bytes")
    if len(data) > MAX_PICTURE_BYTES:
        raise ReadRefused(too_large(len(data), MAX_PICTURE_BYTES))
    kind = kind_of(data)
    if not kind:
        raise ReadRefused(f"is {_other(data)}, not a PNG, JPEG, GIF, WebP or BMP picture")
    try:
        with _OPENING:
            width, height, picture = _open(data, kind)
    except ReadRefused:
        raise
    except Exception as error:  # Pillow's decoders raise a dozen types on damaged files
        raise ReadRefused(f"is a damaged {kind} file") from error
    media_type, encoded = _encoded(picture)
    return ShownPicture(
        media_type=media_type, data=encoded, digest=digest_of(data), width=width, height=height
    )


def digest_of(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _open(data: bytes, kind: str) -> tuple[int, int, Any]:
    """Returns the original width and height, and the picture, upright, shrunk and opaque."""
    from PIL import Image, ImageOps

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about its own size limit and odd metadata
        try:
            original = Image.open(io.BytesIO(data), formats=[kind])
        except Image.DecompressionBombError as error:
            raise ReadRefused("has far too many pixels") from error
        with original:
            width, height = original.size
            if width * height > MAX_PIXELS:
                raise ReadRefused(
                    f"has {width:,} × {height:,} pixels, more than the "
                    f"{MAX_PIXELS // 1_000_000} million that I open"
                )
            upright = ImageOps.exif_transpose(original) or original
            upright.thumbnail((MAX_SIDE, MAX_SIDE))
            return width, height, _on_white(upright)


def _on_white(picture: Any) -> Any:
    """Replaces transparency with white, because a diagram's black lines may be invisible."""
    from PIL import Image

    if picture.mode in ("1", "L", "RGB"):
        return picture.convert("RGB")
    layers = picture.convert("RGBA")
    paper = Image.new("RGB", layers.size, "white")
    paper.paste(layers, mask=layers.getchannel("A"))
    return paper


def _encoded(picture: Any) -> tuple[str, bytes]:
    """Encodes as PNG, which keeps letters sharp, or as JPEG when the PNG is too large."""
    buffer = io.BytesIO()
    picture.save(buffer, "PNG")
    if buffer.tell() <= _MAX_SENT_BYTES:
        return "image/png", buffer.getvalue()
    buffer = io.BytesIO()
    picture.save(buffer, "JPEG", quality=85)
    return "image/jpeg", buffer.getvalue()


def _other(data: bytes) -> str:
    start = data[:200].lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    if data[4:8] == b"ftyp":
        return "a HEIC photo or a film"
    names = (name for sign, name in _OTHERS.items() if start.startswith(sign.lower()))
    return next(names, "something else")
