"""Small workbooks, part by part, as programs write them."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping, Sequence

_MAIN = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
_KINDS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKAGE = 'xmlns="http://schemas.openxmlformats.org/package/2006/relationships"'

STYLES = (
    f'<styleSheet {_MAIN}><numFmts><numFmt numFmtId="170" formatCode="[$€-407] #,##0.00"/>'
    '<numFmt numFmtId="171" formatCode="yyyy\\-mm\\-dd"/></numFmts>'
    "<fonts><font/><font><b/></font><font><strike/></font></fonts>"
    '<cellXfs><xf/><xf fontId="1"/><xf numFmtId="171"/><xf numFmtId="170"/><xf numFmtId="9"/>'
    '<xf numFmtId="46"/><xf fontId="2"/></cellXfs></styleSheet>'
)
BOLD, DATE, EURO, PERCENT, HOURS, STRUCK = range(1, 7)


def relations(**targets: str) -> str:
    """Id, and kind with target: `r1="comments comments1.xml"`. An address is external."""
    links = []
    for key, each in targets.items():
        kind, target = each.split(" ", 1)
        mode = ' TargetMode="External"' if "://" in target else ""
        links.append(f'<Relationship Id="{key}" Type="{_KINDS}/{kind}" Target="{target}"{mode}/>')
    return f"<Relationships {_PACKAGE}>{''.join(links)}</Relationships>"


def sheet(rows: Sequence[str], before: str = "", after: str = "") -> str:
    """`rows`: each `<row …>`, or only its cells."""
    listed = "".join(row if row.startswith("<row") else f"<row>{row}</row>" for row in rows)
    return (
        f'<worksheet {_MAIN} xmlns:r="{_KINDS}">{before}'
        f"<sheetData>{listed}</sheetData>{after}</worksheet>"
    )


def cells(*values: str | float | None, style: int = 0) -> str:
    """Values side by side. None is an empty cell."""
    return "".join(cell(value, style=style) for value in values)


def cell(value: str | float | None, *, style: int = 0, formula: str = "") -> str:
    made = f"<f>{formula}</f>" if formula else ""
    if value is None:
        return f'<c s="{style}">{made}</c>'
    if isinstance(value, str):
        return f'<c s="{style}" t="str">{made}<v>{value}</v></c>'
    return f'<c s="{style}">{made}<v>{value}</v></c>'


def book(
    sheets: Mapping[str, str], *, states: Mapping[str, str] | None = None, **parts: str
) -> bytes:
    """Title → XML of a sheet. `parts`: path below `xl/`, with `__` for `/`."""
    states = states or {}
    listed = "".join(
        f'<sheet name="{title}" r:id="r{i}" state="{states.get(title, "visible")}"/>'
        for i, title in enumerate(sheets)
    )
    workbook = f'<workbook {_MAIN} xmlns:r="{_KINDS}"><sheets>{listed}</sheets></workbook>'
    targets = {f"r{i}": f"worksheet worksheets/sheet{i}.xml" for i in range(len(sheets))}
    files = {
        "_rels/.rels": relations(r="officeDocument xl/workbook.xml"),
        "xl/workbook.xml": workbook,
        "xl/_rels/workbook.xml.rels": relations(
            **targets, styles="styles styles.xml", strings="sharedStrings sharedStrings.xml"
        ),
        "xl/styles.xml": STYLES,
    }
    files |= {f"xl/worksheets/sheet{i}.xml": xml for i, xml in enumerate(sheets.values())}
    files |= {f"xl/{path.replace('__', '/')}": xml for path, xml in parts.items()}
    return archive(files)


def archive(files: Mapping[str, str]) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as made:
        for path, content in files.items():
            made.writestr(path, content)
    return packed.getvalue()
