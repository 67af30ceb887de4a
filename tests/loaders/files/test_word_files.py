"""Word files of some kilobytes that stand for gigabytes, made by hand part by part."""

from __future__ import annotations

import base64
import tracemalloc
import zipfile

import pytest

from config.errors import LoadError
from loaders.document import Document, images_of
from loaders.files import word as word_files
from loaders.files.local import load_bytes
from loaders.office import package
from tests.loaders.word_builder import HEAD, word
from tests.pictures import drawn

PICTURE = (
    "<w:p><w:r><w:drawing><wp:inline><wp:docPr descr='flow'/><a:graphic><a:graphicData><pic:pic>"
    "<pic:blipFill><a:blip r:embed='picture'/></pic:blipFill></pic:pic></a:graphicData>"
    "</a:graphic></wp:inline></w:drawing></w:r></w:p>"
)
LINK = "<w:p><w:hyperlink r:id='link'><w:r><w:t>a</w:t></w:r></w:hyperlink></w:p>"
NOTE = "<w:p><w:r><w:footnoteReference w:id='1'/></w:r></w:p>"
FIELD = (
    "<w:p><w:r><w:fldChar w:fldCharType='begin'/></w:r><w:r><w:instrText> HYPERLINK "
    '"https://x.example/{}"</w:instrText></w:r><w:r><w:fldChar w:fldCharType="separate"/></w:r>'
)


def load(data: bytes) -> Document:
    return load_bytes(data, suffix=".docx", id="bomb")


def test_a_picture_that_is_referenced_often_is_held_once() -> None:
    picture = b"\x89PNG\r\n\x1a\n" + b"\0" * 9_000_000
    parts = {"word/media/i.png": picture, "word/media/o.png": drawn("x")}
    other = PICTURE.replace("'picture'", "'image'")
    data = word(PICTURE * 8 + other, parts=parts, picture="media/i.png", image="media/o.png")
    assert len(data) < 50_000
    tracemalloc.start()
    try:
        document = load(data)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 6 * len(picture)
    addresses = [image.uri for block in document.blocks for image in images_of(block)]
    assert len(addresses) == 9
    assert len({id(one) for one in addresses}) == 2
    assert [base64.b64decode(one.partition(",")[2]) for one in addresses[7:]] == [
        picture,
        drawn("x"),
    ]
    assert {block.markdown for block in document.blocks} == {"![flow]()"}


def test_a_picture_that_is_too_large_is_left_out_and_said() -> None:
    parts = {"word/media/i.png": b"\x89PNG\r\n\x1a\n" + b"\0" * 21_000_000}
    document = load(word(PICTURE, parts=parts, picture="media/i.png"))
    assert [one.uri for block in document.blocks for one in images_of(block)] == [""]
    assert "has 20 MB, more than the 20 that I open" in document.warnings[0]


NOTES = f"{HEAD.format('footnotes')}<w:footnote w:id='1'><w:p><w:r><w:t>{{}}</w:t></w:r></w:p>"
LONG = "a" * 100_000


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (word("<w:p/>" * 1_001), "XML elements"),
        (word("<w:p/>" * 1_001, main="word/document.bin"), "XML elements"),
        (word("<w:p/>" * 1_001, main="word/media/i.png"), "XML elements"),
        (word("", parts={"word/styles.xml": b" " * 1_100_000}), "it unpacks to 1,10"),
        (
            word(PICTURE, parts={"word/media/i.png": b"x" * 2_100_000}, picture="media/i.png"),
            "it unpacks to 2,10",
        ),
        (word("", packing=zipfile.ZIP_LZMA), "compressed in another way"),
        (word("", parts={"word/styles.xml": "<!DOCTYPE x><x/>"}), "declares a document type"),
        (
            word("", parts={"word/styles.xml": "<!DOCTYPE x><x/>".encode("utf-16")}),
            "a document type",
        ),
        (word(LINK * 11, link=f"https://x.example/{LONG}"), "more than the 1,000,000 characters"),
        (
            word(FIELD.format(LONG) + "<w:r><w:t>a</w:t></w:r>" * 11 + "</w:p>"),
            "more than the 1,000,000 characters",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_small_file_that_grows_is_refused(
    data: bytes, problem: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Limits are smaller here, and so are the files."""
    for name, limit in (("BYTES", 1_000_000), ("MEDIA_BYTES", 2_000_000), ("ELEMENTS", 1_000)):
        for module in (word_files, package):
            monkeypatch.setattr(module, f"MAX_{name}", limit, raising=False)
    assert len(data) < 10_000
    with pytest.raises(LoadError, match=problem):
        load(data)


def test_the_type_of_a_web_page_is_refused_where_it_is_parsed() -> None:
    styles = {"word/styles.xml": "<!DOCTYPE html [<!ENTITY a 'b'>]><w:styles/>"}
    with pytest.raises(LoadError, match="it declares a document type"):
        load(word("<w:p/>", parts=styles))


def test_a_note_is_written_once_however_often_it_is_referenced() -> None:
    notes = f"{NOTES.format(LONG)}</w:footnote></w:footnotes>"
    document = load(word(NOTE * 1_000, parts={"word/notes.xml": notes}, notes="notes.xml"))
    assert [block.text for block in document.blocks if block.kind == "footnote"] == [LONG]
    assert {block.markdown for block in document.blocks[:-1]} == {"[^1]"}


def test_notes_that_refer_to_themselves_end() -> None:
    itself = f"{NOTES.format('n')[:-6]}{NOTE[5:-6]}</w:p></w:footnote></w:footnotes>"
    body = NOTE.replace("<w:p>", "<w:p><w:r><w:t>see</w:t></w:r>")
    document = load(word(body, parts={"word/notes.xml": itself}, notes="notes.xml"))
    assert [block.kind for block in document.blocks] == ["paragraph", "footnote"]


def test_a_damaged_file_is_refused_without_its_content() -> None:
    with pytest.raises(LoadError, match="not a readable Word file") as caught:
        load(word("<private-5f1c0ffee"))
    assert "5f1c0ffee" not in str(caught.value)
