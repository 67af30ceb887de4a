"""What a browser makes of a page: roles become elements, panels of tabs have their tab's name, what
is hidden is left out. The rest of the loader reads plain elements."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from urllib.parse import urljoin

from bs4 import BeautifulSoup, Tag
from bs4.element import PageElement

from loaders.files.html_inline import attribute

_ROLES = {
    "table": "table", "grid": "table", "treegrid": "table", "rowgroup": "tbody", "row": "tr",
    "cell": "td", "gridcell": "td", "columnheader": "th", "rowheader": "th", "caption": "caption",
}  # fmt: skip
_LIST_ROLES = {"list": "ul", "listitem": "li"}
_DISPLAYS = {
    "table": "table", "table-row-group": "tbody", "table-header-group": "tbody",
    "table-footer-group": "tbody", "table-row": "tr", "table-cell": "td",
}  # fmt: skip
_DISPLAY = re.compile(r"(?:^|[;\s])display\s*:\s*([a-z-]+)")
_NATIVE_LISTED = "body caption h1 h2 h3 h4 h5 h6 html table tbody td tfoot th thead tr"
_NATIVE = frozenset(_NATIVE_LISTED.split())
"""Elements that are what they are, whatever their role."""
_APART = frozenset(["a", "button", "input", "label", "option", "select", "textarea"])
_WHOLE = frozenset(["html", "body", "main", "article"])
"""What a script shows once the page is loaded."""
_CONTENT = ["h1", "h2", "h3", "h4", "h5", "h6", "p", "li", "table", "pre"]
_CONTROLS = ("aria-controls", "data-target", "data-bs-target")


def simplify_page(soup: BeautifulSoup) -> int:
    """Simplifies a page in place. Returns the number of words that it hides."""
    by_role: dict[str, list[Tag]] = defaultdict(list)
    hidden: list[Tag] = []
    opens: set[str] = set()
    """Ids of what a tab or a button opens."""
    for element in soup.find_all(True):
        if element.name in _APART and getattr(element.next_sibling, "name", "") in _APART:
            element.append(" ")  # a style sheet sets them apart
        if element.attrs:
            opens.update(_controlled(element))
            by_role[attribute(element, "role").lower()].append(element)
            _rename(element)
            if _is_hidden(element):
                hidden.append(element)
    _name_panels(soup, by_role["tab"], by_role["tabpanel"])
    _name_switches(soup)
    words = 0
    for element in hidden:
        if not (element.name in _WHOLE or _is_opened(element, opens)):
            words += len(element.get_text(" ").split())
            element.clear()
            element.name, element.attrs = "span", {}
    for row in soup.find_all("tr", role="row"):
        _complete_row(soup, row)
    for formula in soup.find_all("math"):
        source = formula.find("annotation", encoding=re.compile("tex", re.IGNORECASE))
        formula.string = (source or formula).get_text().strip()
    for link in soup.find_all(class_="mw-editsection"):
        link.decompose()
    for lines in soup.find_all("div", class_="fragment"):  # of Doxygen
        if lines.find("div", class_="line", recursive=False):
            lines.name = "pre"
    _drop_navigation(soup, by_role["navigation"])
    _apply_base(soup)
    return words


def _rename(element: Tag) -> None:
    """Gives an element the name of its role, stated or by an inline style."""
    role = attribute(element, "role").lower()
    if element.name in _NATIVE:
        return
    if role == "heading":
        level = attribute(element, "aria-level")
        element.name = f"h{min(int(level), 6)}" if re.fullmatch(r"[1-9]\d?", level) else "h2"
    elif role in _LIST_ROLES:
        items = [one.get("role") for one in element.find_all(True, recursive=False)]
        if role == "listitem" or set(items) == {"listitem"}:
            element.name = _LIST_ROLES[role]
    elif role in _ROLES:
        element.name = _ROLES[role]
    elif not role and (display := _DISPLAY.search(attribute(element, "style").lower())):
        element.name = _DISPLAYS.get(display[1], element.name)
        if element.name == "tr":
            element["role"] = "row"
    for span in ("colspan", "rowspan"):
        if element.has_attr(f"aria-{span}"):
            element[span] = attribute(element, f"aria-{span}")


def _complete_row(soup: BeautifulSoup, row: Tag) -> None:
    """Makes cells of a row's other children, and a table of rows that stand without one."""
    if row.find_parent("table") is None:
        table = soup.new_tag("table")
        row.insert_before(table)
        following: list[Tag] = [row]
        for node in row.next_siblings:
            if isinstance(node, Tag) and node.name == "tr":
                following.append(node)
            elif isinstance(node, Tag) or str(node).strip():
                break
        for one in following:
            table.append(one.extract())
    for child in row.find_all(True, recursive=False):
        if child.name not in ("td", "th") and not child.find(["td", "th"]) and child.get_text():
            child.wrap(soup.new_tag("td"))


def _controlled(element: Tag) -> list[str]:
    targets = [attribute(element, name) for name in _CONTROLS]
    if attribute(element, "role") == "tab" or element.has_attr("data-toggle"):
        targets.append(attribute(element, "href"))
    return [one.removeprefix("#") for target in targets for one in target.split()]


def _is_hidden(element: Tag) -> bool:
    """Decoration for the eye is hidden from screen readers; a page below a dialog is, too."""
    if element.has_attr("hidden"):
        return attribute(element, "hidden") != "until-found"
    style = attribute(element, "style").lower()
    if style and re.search(r"display\s*:\s*none|visibility\s*:\s*hidden|mso-hide\s*:\s*all", style):
        return True
    return attribute(element, "aria-hidden") == "true" and element.find(_CONTENT) is None


def _is_opened(element: Tag, opens: set[str]) -> bool:
    return attribute(element, "role") == "tabpanel" or attribute(element, "id") in opens


def _name_panels(soup: BeautifulSoup, tabs: Sequence[Tag], panels: Sequence[Tag]) -> None:
    """Writes each tab's name over its panel: the command for Linux is not that for Windows."""
    by_id = {attribute(panel, "id"): panel for panel in panels}
    in_order = dict(zip(map(id, tabs), panels, strict=True)) if len(tabs) == len(panels) else {}
    for tab in tabs:
        targets = (by_id.get(one) for one in _controlled(tab))
        labelled = (p for p in panels if tab.get("id") in attribute(p, "aria-labelledby").split())
        panel = next(filter(None, targets), None) or next(labelled, in_order.get(id(tab)))
        if panel is not None and tab.get_text().strip():
            _title(soup, panel, tab.get_text(" "))
            tab.decompose()


def _name_switches(soup: BeautifulSoup) -> None:
    """Tabs without a script are radio buttons, their labels, and as many boxes."""
    for first in soup.find_all("input", type="radio"):
        box = first.parent
        if box is None or first.decomposed or box.find("input") is not first:
            continue
        labels = [one for one in box.find_all("label") if one.get_text().strip()]
        *_, last = box.find_all(True, recursive=False)
        panels = last.find_all(True, recursive=False)
        if len(labels) > 1 and len(labels) == len(panels) and last.find("label") is None:
            for label, panel in zip(labels, panels, strict=True):
                _title(soup, panel, label.get_text(" "))
                label.decompose()


def _title(soup: BeautifulSoup, panel: Tag, name: str) -> None:
    line = soup.new_tag("p")
    line.append(soup.new_tag("strong", string=" ".join(name.split())))
    panel.insert(0, line)


def _drop_navigation(soup: BeautifulSoup, others: Sequence[Tag]) -> None:
    """Menus are the same on each page of a site, and answer nothing. What is only a menu stays."""
    menus = list({id(one): one for one in [*soup.find_all("nav"), *others]}.values())
    menus = [one for one in menus if not one.decomposed]
    ids = set(map(id, menus))
    outer = [one for one in menus if not any(id(parent) in ids for parent in one.parents)]
    if sum(map(_letters, outer)) < _letters(soup.body or soup):
        for menu in outer:
            menu.decompose()


def _letters(element: Tag) -> int:
    return len("".join(element.get_text().split()))


def _apply_base(soup: BeautifulSoup) -> None:
    base = soup.find("base", href=True)
    if not isinstance(base, Tag) or "//" not in attribute(base, "href"):
        return
    for name in ("href", "src"):
        for element in soup.select(f"[{name}]"):
            address = attribute(element, name)
            if element is not base and not address.startswith("#"):
                element[name] = urljoin(attribute(base, "href"), address)


def heading_anchor(heading: Tag) -> str:
    """The fragment that leads to a heading. Removes the link to itself that it shows as a sign."""
    own = attribute(heading, "id")
    for link in heading.find_all("a", href=re.compile("^#.")):
        if not any(map(str.isalnum, link.get_text())) and link.find("img") is None:
            own = own or attribute(link, "href")[1:]
            link.decompose()
    box = heading.parent
    is_first = box is not None and box.find(True) is heading and box.name in ("section", "div")
    return own or anchor_in(heading.children) or (attribute(box, "id") if box and is_first else "")


def anchor_in(nodes: Iterable[PageElement]) -> str:
    """The last id or name among elements that are no links, '' for none."""
    anchor = ""
    for node in nodes:
        for element in [node, *node.find_all(True)] if isinstance(node, Tag) else ():
            if not element.has_attr("href"):
                anchor = attribute(element, "id") or attribute(element, "name") or anchor
    return anchor


def word_list_place(paragraph: Tag) -> tuple[str, int] | None:
    """Marker and level of a list item that Word saved as a paragraph. Removes the marker."""
    style = re.search(r"mso-list:\s*l\d+\s+level(\d)", attribute(paragraph, "style"))
    if not style:
        return None
    sign = paragraph.find("span", style=re.compile(r"mso-list:\s*ignore", re.IGNORECASE))
    if not isinstance(sign, Tag):
        return None  # its marker is text like any other
    text = sign.get_text().strip("\xa0 \n")
    sign.decompose()
    return (text if any(map(str.isalnum, text)) and len(text) > 1 else "-"), int(style[1]) - 1
