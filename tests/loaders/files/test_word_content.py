"""What a person reads in Word, in the order and with the numbers that Word shows."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from config.errors import LoadError
from loaders.document import Document
from loaders.files.local import load_bytes
from loaders.output import document_to_markdown
from loaders.time_limit import time_limit
from loaders.word.numbering import as_number
from tests.loaders.word_builder import HEAD, word

RUN = "<w:r><w:t xml:space='preserve'>{}</w:t></w:r>"


def p(content: str, style: str = "", properties: str = "") -> str:
    """A paragraph. Text without tags becomes a run."""
    runs = content if "<" in content else RUN.format(content)
    name = f"<w:pStyle w:val='{style}'/>" if style else ""
    return f"<w:p><w:pPr>{name}{properties}</w:pPr>{runs}</w:p>"


def item(text: str, level: int = 0, number: int = 1) -> str:
    numbered = f"<w:numPr><w:ilvl w:val='{level}'/><w:numId w:val='{number}'/></w:numPr>"
    return p(text, properties=numbered)


def part(name: str, content: str) -> str:
    return f"{HEAD.format(name)}{content}</w:{name}>"


def level(at: int, kind: str = "decimal", label: str = "", more: str = "", start: int = 1) -> str:
    return (
        f"<w:lvl w:ilvl='{at}'><w:start w:val='{start}'/><w:numFmt w:val='{kind}'/>{more}"
        f"<w:lvlText w:val='{label or f'%{at + 1}.'}'/></w:lvl>"
    )


def numbering(levels: str, *nums: str) -> str:
    listed = "".join(
        f"<w:num w:numId='{at}'><w:abstractNumId w:val='0'/>{num}</w:num>"
        for at, num in enumerate(nums or ("",), start=1)
    )
    return part("numbering", f"<w:abstractNum w:abstractNumId='0'>{levels}</w:abstractNum>{listed}")


def style(name: str, title: str = "", based_on: str = "", properties: str = "") -> str:
    base = f"<w:basedOn w:val='{based_on}'/>" if based_on else ""
    return (
        f"<w:style w:type='paragraph' w:styleId='{name}'><w:name w:val='{title or name}'/>{base}"
        f"{properties}</w:style>"
    )


def read(body: str, parts: Mapping[str, str] | None = None, **targets: str) -> Document:
    named = {f"word/{name}.xml": content for name, content in (parts or {}).items()}
    return load_bytes(word(body, parts=named, **targets), suffix=".docx", id="plan")


def markers(document: Document) -> list[str]:
    return [block.marker for block in document.blocks if block.kind == "list_item"]


def headings(document: Document) -> list[tuple[int, str]]:
    return [(block.level, block.text) for block in document.blocks if block.kind == "heading"]


def texts(document: Document) -> list[str]:
    return [block.text for block in document.blocks]


@pytest.mark.parametrize(
    ("kind", "marker"),
    [
        ("decimalZero", "03."), ("upperLetter", "C."), ("lowerRoman", "iii."), ("ordinal", "3rd."),
        ("decimalEnclosedCircle", "③."), ("russianLower", "в."), ("japaneseCounting", "三."),
        ("hebrew1", "ג."), ("aiueo", "ウ."), ("ganada", "다."), ("thaiLetters", "ค."),
        ("arabicAbjad", "ج."), ("numberInDash", "- 3 -."), ("unheardOf", "3."), ("bullet", "-"),
    ],
)  # fmt: skip
def test_numbers_have_the_format_of_their_level(kind: str, marker: str) -> None:
    body = item("a") + p("between") + item("b")
    document = read(body, {"numbering": numbering(level(0, kind, start=2))})
    assert markers(document)[1] == marker


def test_levels_restart_behind_a_higher_one_or_never() -> None:
    levels = (
        level(0)
        + level(1, label="%1.%2")
        + level(2, "lowerLetter", "(%3)", "<w:lvlRestart w:val='0'/>")
    )
    order = [0, 1, 2, 1, 2, 0, 1, 2]
    document = read("".join(item("x", at) for at in order), {"numbering": numbering(levels)})
    assert markers(document) == ["1.", "1.1", "(a)", "1.2", "(b)", "2.", "2.1", "(c)"]
    assert [block.level for block in document.blocks] == order


def test_lists_of_one_definition_count_on_unless_they_restart() -> None:
    restart = "<w:lvlOverride w:ilvl='0'><w:startOverride w:val='5'/></w:lvlOverride>"
    order = [1, 2, 3, 3, 1]
    document = read(
        "".join(item("x", number=one) for one in order),
        {"numbering": numbering(level(0), "", "", restart)},
    )
    assert markers(document) == ["1.", "2.", "5.", "6.", "7."]


def test_a_level_shown_in_digits_and_numbers_by_styles() -> None:
    linked = "<w:pStyle w:val='{}'/>"
    levels = level(0, "upperRoman", "%1", linked.format("Part")) + level(
        1, label="%1.%2", more=linked.format("Clause") + "<w:isLgl/>"
    )
    numbered = "<w:pPr><w:numPr><w:numId w:val='1'/></w:numPr><w:outlineLvl w:val='{}'/></w:pPr>"
    styles = part(
        "styles",
        style("Part", properties=numbered.format(0))
        + style("Clause", properties=numbered.format(1))
        + style("Own", based_on="Clause"),
    )
    body = p("Duties", "Part") + p("Day", "Clause") + p("Night", "Own") + p("Rights", "Part")
    document = read(body, {"styles": styles, "numbering": numbering(levels)})
    assert headings(document) == [
        (1, "I Duties"),
        (2, "1.1 Day"),
        (2, "1.2 Night"),
        (1, "II Rights"),
    ]
    assert document.title == "Duties"
    assert [block.url for block in document.blocks] == ["#duties", "#day", "#night", "#rights"]


def test_a_number_that_refers_to_nothing_is_none() -> None:
    body = item("a", number=9) + item("b", level=7) + item("c", number=0)
    document = read(body, {"numbering": numbering(level(0))})
    assert [block.kind for block in document.blocks] == ["paragraph"] * 3


def test_styles_in_a_circle_and_parts_that_are_missing() -> None:
    circle = part("styles", style("a", based_on="b") + style("b", based_on="a"))
    assert texts(read(p("text", "a"), {"styles": circle})) == ["text"]
    assert texts(read(p("text", "gone") + item("x"))) == ["text", "x"]
    assert texts(read(p("text"), styles="gone.xml", numbering="../../../etc/passwd")) == ["text"]


def test_headings_by_localized_and_derived_styles() -> None:
    outline = "<w:outlineLvl w:val='{}'/>"
    styles = part(
        "styles",
        style("berschrift2", "heading 2")
        + style("Kapitel", "Kapitel (Firma)", "berschrift2")
        + style("TOCHeading", "TOC Heading", "berschrift2", f"<w:pPr>{outline.format(9)}</w:pPr>"),
    )
    deep = p("Deep", properties=outline.format(7))
    document = read(p("Zweck", "Kapitel") + p("Contents", "TOCHeading") + deep, {"styles": styles})
    assert headings(document) == [(2, "Zweck"), (6, "Deep")]


FIELD = "<w:r><w:fldChar w:fldCharType='{}'/></w:r>"
BEGIN, THEN, END = (FIELD.format(kind) for kind in ("begin", "separate", "end"))


def instruction(text: str) -> str:
    return f"<w:r><w:instrText>{text}</w:instrText></w:r>"


def complex_field(code: str, result: str) -> str:
    return BEGIN + instruction(code) + THEN + (RUN.format(result) if result else "") + END


def test_results_of_fields_and_of_fields_inside_instructions() -> None:
    inner = complex_field(" MERGEFIELD zone ", "hidden zone")
    condition = BEGIN + instruction("IF ") + inner + instruction('= "a" "b"') + THEN
    body = p(RUN.format("in ") + condition + RUN.format("hall two") + END + RUN.format("."))
    link = complex_field(' HYPERLINK "https://x.example/a" \\l "top" \\o "tip" ', "see")
    box = "<w:r><w:fldChar w:fldCharType='begin'><w:ffData><w:checkBox><w:default w:val='1'/>"
    body += p(link) + p(
        f"{box}</w:checkBox></w:ffData></w:fldChar></w:r>{THEN}{END}" + RUN.format("on")
    )
    document = read(body)
    assert [block.markdown for block in document.blocks] == [
        "in hall two.", "[see](https://x.example/a#top)", "[x] on",
    ]  # fmt: skip


def test_a_field_that_never_ends_hides_nothing() -> None:
    open_field = BEGIN + instruction(" IF ") + complex_field(" PAGE ", "")
    assert texts(read(p(open_field) + p("still here"))) == ["still here"]


def test_content_controls_show_what_is_chosen() -> None:
    control = "<w:sdt><w:sdtPr>{}</w:sdtPr><w:sdtContent>{}</w:sdtContent></w:sdt>"
    chosen = (
        "<w:dropDownList w:lastValue='2'><w:listItem w:displayText='High' w:value='2'/>"
        "</w:dropDownList>"
    )
    body = p(control.format(chosen, ""))
    body += p(control.format("<w:date w:fullDate='2025-05-01T00:00:00Z'/>", ""))
    body += p(control.format(chosen, RUN.format("Low")))
    body += control.format("", p("a block"))
    body += p(
        control.format("<w14:checkbox><w14:checked w14:val='1'/></w14:checkbox>", RUN.format("☒"))
    )
    assert texts(read(body)) == ["High", "2025-05-01", "Low", "a block", "[x]"]


def test_equations_in_one_line() -> None:
    def m(text: str) -> str:
        return f"<m:r><m:t>{text}</m:t></m:r>"

    fraction = f"<m:f><m:num>{m('a+b')}</m:num><m:den>{m('2')}</m:den></m:f>"
    power = f"<m:sSup><m:e>{m('x')}</m:e><m:sup>{m('n+1')}</m:sup></m:sSup>"
    root = f"<m:rad><m:deg>{m('3')}</m:deg><m:e>{m('y')}</m:e></m:rad>"
    total = (
        f"<m:nary><m:naryPr><m:chr m:val='∑'/></m:naryPr><m:sub>{m('i=1')}</m:sub>"
        f"<m:sup>{m('n')}</m:sup><m:e>{m('i')}</m:e></m:nary>"
    )
    body = p(f"<m:oMathPara><m:oMath>{fraction}{m('=')}{power}</m:oMath></m:oMathPara>")
    body += p(f"<m:oMath>{root}{m('+')}{total}</m:oMath>") + p("<m:oMath/>")
    assert texts(read(body)) == ["(a+b)/2=x^(n+1)", "√[3](y)+∑_(i=1)^n i", "[equation]"]


BOX = "<w:txbxContent>{}</w:txbxContent>"


def test_a_box_is_read_once_behind_its_paragraph() -> None:
    choice = BOX.format(p("in a box") + p("second line"))
    both = (
        f"<mc:AlternateContent><mc:Choice>{choice}</mc:Choice><mc:Fallback>{choice}</mc:Fallback>"
    )
    only = f"<mc:AlternateContent><mc:Choice/><mc:Fallback>{BOX.format(p('old'))}</mc:Fallback>"
    end = "</mc:AlternateContent></w:r>"
    run = f"<w:r>{both}{end}{RUN.format('text')}<w:r>{only}{end}"
    table = f"<w:tbl><w:tr><w:tc>{p(run)}</w:tc><w:tc>{p('b')}</w:tc></w:tr></w:tbl>"
    document = read(p(run) + table)
    assert texts(document)[:4] == ["text", "in a box", "second line", "old"]
    assert texts(document)[4] == "text\nin a box\nsecond line\nold | b"


def test_headers_and_footers_that_pages_show_once_each() -> None:
    section = (
        "<w:sectPr><w:headerReference w:type='{}' r:id='top'/>"
        "<w:footerReference w:type='default' r:id='bottom'/>{}</w:sectPr>"
    )
    page = complex_field(" PAGE ", "7")
    parts = {"top": part("hdr", p("POL-17")), "bottom": part("ftr", p("Due 1 May") + p(page))}
    targets = {"top": "top.xml", "bottom": "bottom.xml"}
    body = p("Badges", properties=section.format("default", "")) + section.format("default", "")
    assert texts(read(body, parts, **targets)) == ["POL-17", "Badges", "Due 1 May"]
    first = p("Badges") + section.format("first", "")
    assert texts(read(first, parts, **targets)) == ["Badges", "Due 1 May"]
    later = p("a", properties=section.format("first", "")) + "<w:sectPr><w:titlePg/></w:sectPr>"
    assert texts(read(later, parts, **targets)) == ["POL-17", "a", "Due 1 May"]
    titled = p("Badges") + section.format("first", "<w:titlePg/>")
    assert texts(read(titled, parts, **targets)) == ["POL-17", "Badges", "Due 1 May"]


def test_bodies_and_paragraphs_that_are_invalid_are_read() -> None:
    nested = p(RUN.format("a") + f"<w:p>{RUN.format('b')}</w:p>" + RUN.format("c"))
    assert texts(read(f"{nested}</w:body><w:body>{p('d')}")) == ["a\nb\nc", "d"]


def test_hidden_deleted_and_moved_text_is_left_out_and_struck_text_marked() -> None:
    hidden = "<w:rPr><w:vanish/></w:rPr>"
    styles = part(
        "styles",
        style("Secret", properties=hidden) + style("Old", properties="<w:rPr><w:dstrike/></w:rPr>"),
    )
    gone = "<w:{0} w:id='1'><w:r><w:delText>gone</w:delText><w:t>gone</w:t></w:r></w:{0}>"
    added = "<w:ins w:id='2'>" + RUN.format("ten ") + "</w:ins>"
    body = p("secret", "Secret") + p("wait two", "Old")
    body += p(gone.format("del") + gone.format("moveFrom") + added + RUN.format("minutes"))
    body += p("joined", properties="<w:rPr><w:del w:id='3'/></w:rPr>") + p(" lines")
    document = read(body, {"styles": styles})
    assert document_to_markdown(document) == "~~wait two~~\n\nten minutes\n\njoined lines\n"
    last = p("the last", properties="<w:rPr><w:del w:id='3'/></w:rPr>")
    assert texts(read(last + last.replace("last", "end"))) == ["the lastthe end"]
    assert document.warnings == ("hidden text was left out",)


def test_a_large_first_letter_belongs_to_its_word() -> None:
    initial = p("N", properties="<w:framePr w:dropCap='drop' w:lines='3'/>")
    framed = p("Beside the text", properties="<w:framePr w:w='2000'/>")
    assert texts(read(initial + p("ever restart") + framed + p("it."))) == [
        "Never restart", "Beside the text", "it."
    ]  # fmt: skip


def test_hebrew_numbers_add_up() -> None:
    assert [as_number(count, "hebrew1") for count in (10, 15, 16, 21, 115, 304)] == [
        "י", "טו", "טז", "כא", "קטו", "שד"
    ]  # fmt: skip


def test_signs_of_symbol_fonts_and_special_characters() -> None:
    run = (
        "<w:r><w:sym w:font='Wingdings' w:char='F0FC'/><w:t>a\xadb</w:t><w:softHyphen/><w:t>c</w:t>"
        "<w:noBreakHyphen/><w:t>7</w:t><w:tab/><w:t>d</w:t><w:br/><w:t>e</w:t></w:r>"
    )
    greek = "<w:r><w:rPr><w:rFonts w:ascii='Symbol'/></w:rPr><w:t>\uf06d</w:t></w:r>"
    raised = "<w:r><w:rPr><w:vertAlign w:val='superscript'/></w:rPr><w:t>6</w:t></w:r>"
    document = read(p(run) + p(greek + RUN.format("s")) + p(RUN.format("10") + raised))
    assert texts(document) == ["✓abc-7 d\ne", "μs", "10^6"]


def cell(text: str, properties: str = "") -> str:
    return f"<w:tc><w:tcPr>{properties}</w:tcPr>{p(text)}</w:tc>"


def test_merged_cells_header_rows_and_rows_that_begin_later() -> None:
    down = "<w:vMerge{}/>"
    rows = [
        "<w:trPr><w:tblHeader/></w:trPr>" + cell("Zone", "<w:gridSpan w:val='2'/>") + cell("Who"),
        cell("a", down.format(" w:val='restart'")) + cell("x") + cell("1"),
        cell("", down.format("")) + cell("y") + cell("2"),
        "<w:trPr><w:gridBefore w:val='1'/></w:trPr>" + cell("z") + cell("3"),
        "<w:trPr><w:del w:id='1'/></w:trPr>" + cell("gone") + cell("") + cell(""),
    ]
    body = f"<w:tbl>{''.join(f'<w:tr>{row}</w:tr>' for row in rows)}</w:tbl>"
    table = read(body).blocks[0].table
    assert table is not None
    assert [[one.text for one in row] for row in table.rows] == [
        ["Zone", "Zone", "Who"], ["a", "x", "1"], ["a", "y", "2"], ["", "z", "3"],
    ]  # fmt: skip
    assert (table.header_rows, table.header_evidence) == (1, "tableHeader")


def test_a_merge_whose_first_row_is_gone_takes_no_other_cell() -> None:
    first, more = "<w:vMerge w:val='restart'/>", "<w:vMerge/>"
    rows = [
        cell("Zone") + cell("Who"),
        "<w:trPr><w:del w:id='1'/></w:trPr>" + cell("north", first) + cell("Ann"),
        cell("below", more) + cell("Bo"),
        cell("hidden", more) + cell("Cy"),
    ]
    table = read(f"<w:tbl>{''.join(f'<w:tr>{row}</w:tr>' for row in rows)}</w:tbl>").blocks[0].table
    assert table is not None
    assert [[one.text for one in row] for row in table.rows] == [
        ["Zone", "Who"], ["below", "Bo"], ["below", "Cy"],
    ]  # fmt: skip


def test_typewritten_lines_are_code_unless_all_are() -> None:
    font = "<w:rPr><w:rFonts w:ascii='Courier New'/></w:rPr>"
    line = f"<w:r>{font}<w:t>{{}}</w:t></w:r>"
    body = (
        p("Run")
        + p(line.format("a -b"))
        + p("")
        + p(line.format("c"))
        + p(RUN.format("or ") + line.format("d"))
    )
    assert document_to_markdown(read(body)) == "Run\n\n```\na -b\n\nc\n```\n\nor `d`\n"
    styles = part("styles", f"<w:docDefaults><w:rPrDefault>{font}</w:rPrDefault></w:docDefaults>")
    assert document_to_markdown(read(p("a") + p("b"), {"styles": styles})) == "a\n\nb\n"


def test_what_is_not_read_is_told() -> None:
    body = "<w:altChunk r:id='chunk'/>" + p(
        "<w:r><w:commentReference w:id='1'/></w:r>" + RUN.format("a")
    )
    body += p("<w:r><w:object><o:OLEObject ProgID='Excel.Sheet.12'/></w:object></w:r>")
    body += p("<w:r><w:object><o:OLEObject ProgID='Equation.3'/></w:object></w:r>")
    page = {"word/page.htm": "<!DOCTYPE html><p>page"}
    document = load_bytes(word(body, parts=page, chunk="page.htm"), suffix=".docx", id="plan")
    assert texts(document) == ["a", "[equation]"]
    assert document.warnings == (
        "an embedded document was not read", "comments were left out",
        "an embedded object was not read",
    )  # fmt: skip


@pytest.mark.parametrize("suffix", [".docx", ".docm", ".dotx", ".dotm"])
def test_the_strict_namespace_and_other_kinds_of_word_file(suffix: str) -> None:
    strict = word(p("plain") + p("x", properties="<w:outlineLvl w:val='0'/>"), strict=True)
    document = load_bytes(strict, suffix=suffix, id="plan")
    assert [block.kind for block in document.blocks] == ["paragraph", "heading"]


OLE = bytes.fromhex("d0cf11e0a1b11ae1") + b"\0" * 600


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (OLE + "EncryptedPackage".encode("utf-16-le"), "it is protected by a password; save it"),
        (OLE, r"not a Word file of 2007 or later .*; open it in Office"),
    ],
)
def test_other_office_files_are_refused_with_a_remedy(data: bytes, problem: str) -> None:
    with pytest.raises(LoadError, match=problem):
        load_bytes(data, suffix=".docx", id="plan")


def test_fields_styles_and_definitions_without_end_take_no_time() -> None:
    many = 1_000
    opened = (BEGIN + THEN) * many + RUN.format("a") * many
    chain = "".join(style(f"s{at}", based_on=f"s{at + 1}") for at in range(many))
    levels = "".join(level(at % 9) for at in range(many // 3))
    nums = [""] * many
    body = p(opened) + "".join(p("b", f"s{at}") + item("c", number=at) for at in range(1, many))
    parts = {"styles": part("styles", chain), "numbering": numbering(levels, *nums)}
    with time_limit("plan", 20):
        document = read(body, parts)
    assert len(document.blocks) == 2 * many - 1
    assert markers(document)[-1] == f"{many - 1}."
