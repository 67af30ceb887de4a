"""Word files made by hand, part by part."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Mapping

SCHEMAS = "http://schemas.openxmlformats.org"
OFFICE = f"{SCHEMAS}/officeDocument/2006/relationships"
PACKAGE = f"{SCHEMAS}/package/2006"
HEAD = (
    f'<w:{{}} xmlns:w="{SCHEMAS}/wordprocessingml/2006/main" xmlns:r="{OFFICE}" '
    f'xmlns:wp="{SCHEMAS}/drawingml/2006/wordprocessingDrawing" '
    f'xmlns:a="{SCHEMAS}/drawingml/2006/main" xmlns:pic="{SCHEMAS}/drawingml/2006/picture" '
    f'xmlns:m="{SCHEMAS}/officeDocument/2006/math" xmlns:v="urn:schemas-microsoft-com:vml" '
    f'xmlns:mc="{SCHEMAS}/markup-compatibility/2006" '
    'xmlns:o="urn:schemas-microsoft-com:office:office" '
    'xmlns:w14="http://schemas.microsoft.com/office/word/2010/wordml">'
)
TYPES = (
    f'<Types xmlns="{PACKAGE}/content-types"><Default Extension="png" ContentType="image/png"/>'
    '<Default Extension="rels" '
    'ContentType="application/vnd.openxmlformats-package.relationships+xml"/></Types>'
)


def rels(**targets: str) -> str:
    kinds = {
        "picture": "image",
        "link": "hyperlink",
        "notes": "footnotes",
        "top": "header",
        "bottom": "footer",
    }
    mode = {"link": ' TargetMode="External"'}
    lines = (
        f'<Relationship Id="{one}" Type="{OFFICE}/{kinds.get(one, one)}" Target="{target}"'
        f"{mode.get(one, '')}/>"
        for one, target in targets.items()
    )
    return f'<Relationships xmlns="{PACKAGE}/relationships">{"".join(lines)}</Relationships>'


def _strict(document: str) -> str:
    """In the namespaces of ISO/IEC 29500 Strict."""
    return re.sub(rf"{SCHEMAS}/(\w+)/2006/", r"http://purl.oclc.org/ooxml/\1/", document)


def word(
    body: str,
    *,
    main: str = "word/document.xml",
    parts: Mapping[str, bytes | str] | None = None,
    packing: int = zipfile.ZIP_DEFLATED,
    strict: bool = False,
    **targets: str,
) -> bytes:
    packed = io.BytesIO()
    folder, _, file = main.rpartition("/")
    with zipfile.ZipFile(packed, "w", packing) as archive:
        archive.writestr("[Content_Types].xml", TYPES)
        archive.writestr("_rels/.rels", rels(officeDocument=main))
        archive.writestr(f"{folder}/_rels/{file}.rels", rels(**targets))
        document = f"{HEAD.format('document')}<w:body>{body}</w:body></w:document>"
        archive.writestr(main, _strict(document) if strict else document)
        for name, content in (parts or {}).items():
            archive.writestr(name, content)
    return packed.getvalue()
