"""Opens each page of a PDF in a process of its own, whose time and memory are bounded.

PDFium unfolds forms within forms and text without end, and nothing interrupts native code. Run as a
script, this file reads a PDF from standard input and ends with 0 when each page can be opened."""

from __future__ import annotations

import re
import subprocess
import sys
import zlib

_SECONDS = 30
"""Processor time, of which 2,000 pages take ten seconds."""
_BYTES = 3 * 1024**3
_LARGE_STREAM = 4 * 1024 * 1024
"""Bytes of an unpacked stream from which the file is looked at. A page of a book has 20,000."""
_FORM = re.compile(rb"/Subtype\s*/Form\b")
_STREAM = re.compile(rb"stream\r?\n")


def is_bounded(data: bytes, seconds: int = _SECONDS) -> bool:
    """Whether the pages can be opened in bounded time and memory; True for simple files at once."""
    if not _FORM.search(data) and not _has_large_stream(data):
        return True
    command = [sys.executable, "-I", __file__, str(seconds)]
    try:
        done = subprocess.run(  # noqa: S603 - this file, and the PDF as its input
            command, input=data, capture_output=True, timeout=4 * seconds, check=False
        )
    except subprocess.TimeoutExpired:
        return False
    return done.returncode == 0


def _has_large_stream(data: bytes) -> bool:
    for match in _STREAM.finditer(data):
        packed = data[match.end() : max(data.find(b"endstream", match.end()), 0)]
        try:
            unpacked = zlib.decompressobj().decompress(packed, _LARGE_STREAM)
            if len(unpacked) == _LARGE_STREAM:
                return True
        except zlib.error:
            continue  # packed in another way, e.g. a photo
    return False


def _open_pages() -> None:
    import resource

    import pypdfium2.raw as pdfium

    pdfium.FPDF_InitLibrary()
    seconds = int(sys.argv[1])
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    resource.setrlimit(resource.RLIMIT_AS, (_BYTES, _BYTES))
    data = sys.stdin.buffer.read()
    document = pdfium.FPDF_LoadMemDocument64(data, len(data), None)
    for i in range(pdfium.FPDF_GetPageCount(document) if document else 0):
        page = pdfium.FPDF_LoadPage(document, i)
        if page:
            pdfium.FPDFText_ClosePage(pdfium.FPDFText_LoadPage(page))
            pdfium.FPDF_ClosePage(page)


if __name__ == "__main__":
    _open_pages()
