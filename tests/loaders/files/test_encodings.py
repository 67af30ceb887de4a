"""Text files in the encodings of the world: right, or with a warning, or refused."""

from __future__ import annotations

import codecs
import sys
from importlib.util import find_spec

import pytest

from config.errors import LoadError
from loaders.document import Document
from loaders.files.decoding import decode
from loaders.files.local import load_bytes

SENTENCES = {
    "ru": "Если насос остановился, закройте вентиль и позвоните дежурному инженеру.",
    "uk": "Якщо насос зупинився, закрийте вентиль і зателефонуйте черговому інженеру.",
    "bg": "Ако помпата спре, затворете крана и се обадете на дежурния инженер.",
    "el": "Αν σταματήσει η αντλία, κλείστε τη βαλβίδα και καλέστε τον μηχανικό.",
    "pl": "Jeśli pompa się zatrzyma, zamknij zawór i zadzwoń do dyżurnego inżyniera.",
    "cs": "Když se čerpadlo zastaví, zavřete ventil a zavolejte službu konající inženýrce.",
    "hu": "Ha a szivattyú leáll, zárja el a szelepet, és hívja fel az ügyeletes mérnököt.",
    "de": "Fällt die Pumpe aus, schließen Sie das Ventil und rufen Sie die Störungsstelle.",
    "fr": "Si la pompe s’arrête, fermez la vanne et prévenez l’ingénieur d’astreinte.",
    "tr": "Pompa durursa vanayı kapatın ve nöbetçi mühendisi arayın; yedeği çalıştırmayın.",
    "he": "אם המשאבה נעצרת, סגרו את הברז והתקשרו למהנדס התורן.",
    "ar": "إذا توقفت المضخة فأغلق الصمام واتصل بالمهندس المناوب.",
    "th": "ถ้าปั๊มหยุดทำงาน ให้ปิดวาล์วแล้วโทรหาวิศวกรเวร",
    "ja": "ポンプが止まったら弁を閉めて、当番の技術者に電話してください。",
    "zh": "如果水泵停止运转，请关闭阀门并致电值班工程师。",
    "tw": "如果水泵停止運轉，請關閉閥門並致電值班工程師。",
    "ko": "펌프가 멈추면 밸브를 잠그고 당직 기술자에게 전화하세요.",
}
SAVED_AS = [
    *(("ru", e) for e in ("cp1251", "koi8-r", "cp866")),
    *(("uk", e) for e in ("cp1251", "koi8-u")),
    *(("pl", e) for e in ("cp1250", "iso8859-2")),
    *(("ja", e) for e in ("cp932", "euc_jp")),
    ("bg", "cp1251"), ("el", "cp1253"), ("cs", "cp1250"), ("hu", "cp1250"), ("de", "cp1252"),
    ("fr", "cp1252"), ("tr", "cp1254"), ("he", "cp1255"), ("ar", "cp1256"), ("th", "cp874"),
    ("zh", "gb18030"), ("tw", "cp950"), ("ko", "cp949"),
]  # fmt: skip


def read(data: bytes, suffix: str = ".txt") -> Document:
    return load_bytes(data, suffix=suffix, id="x")


@pytest.mark.skipif(find_spec("chardetng_py") is None, reason="one detector asks for more text")
@pytest.mark.parametrize(("language", "encoding"), SAVED_AS)
def test_a_sentence_is_read_in_its_letters_and_the_guess_is_said(
    language: str, encoding: str
) -> None:
    text = f"# Pump\n\n{SENTENCES[language]}\n"
    document = read(text.encode(encoding), ".md")
    assert document.blocks[1].text == SENTENCES[language]
    assert "not UTF-8: read as" in document.warnings[0]


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"])
@pytest.mark.parametrize("language", SENTENCES)
def test_utf_16_and_32_need_no_mark(language: str, encoding: str) -> None:
    text = f"Pump 1\n{SENTENCES[language]}\n"
    assert decode(text.encode(encoding)) == (text, "")


@pytest.mark.parametrize(
    "mark", ["utf-8-sig", "utf-16", "utf-32"], ids=["UTF-8", "UTF-16", "UTF-32"]
)
def test_a_mark_tells_the_encoding(mark: str) -> None:
    assert decode(SENTENCES["ja"].encode(mark)) == (SENTENCES["ja"], "")


@pytest.mark.parametrize("language", SENTENCES)
def test_a_wrong_byte_in_utf_8_costs_one_character(language: str) -> None:
    good = f"Pump\n{SENTENCES[language]}\n".encode()
    text, warning = decode(good + b"caf\xe9\n")
    assert text == good.decode() + "caf\ufffd\n"
    assert f"byte {len(good) + 3}, 0xE9, in line 3" in warning


@pytest.mark.parametrize(
    ("label", "language", "encoding"),
    [
        ("windows-1251", "bg", "cp1251"),
        ("KOI8-R", "ru", "koi8-r"),
        ("iso-8859-2", "pl", "iso8859-2"),
        ("ISO-8859-1", "de", "cp1252"),
        ("x-sjis", "ja", "cp932"),
        ("EUC-JP", "ja", "euc_jp"),
        ("gb2312", "zh", "gb18030"),
        ("big5", "tw", "cp950"),
        ("ks_c_5601-1987", "ko", "cp949"),
        ("windows-874", "th", "cp874"),
    ],
)
def test_a_page_says_what_it_is_saved_in(label: str, language: str, encoding: str) -> None:
    word = SENTENCES[language][:4].strip()  # too short to be detected
    for head in (
        f"<meta charset={label}>",
        f'<meta http-equiv="content-type" content="text/html; charset={label}">',
    ):
        page = f"<html><head>{head}<title>{word}</title></head><body><p>{word}</p></body></html>"
        document = read(page.encode(encoding), ".html")
        assert (document.title, document.blocks[0].text, document.warnings) == (word, word, ())


def test_an_xml_declaration_is_one() -> None:
    page = (
        f'<?xml version="1.0" encoding="koi8-r"?><html><body><p>{SENTENCES["ru"]}</p></body></html>'
    )
    assert read(page.encode("koi8-r"), ".html").blocks[0].text == SENTENCES["ru"]


@pytest.mark.parametrize("label", ["windows-1251", "utf-16", "unicode_escape", "zlib", "none", ""])
def test_a_page_that_was_saved_anew_keeps_its_letters(label: str) -> None:
    page = f"<meta charset='{label}'><p>{SENTENCES['fr']} a\\nb</p>"
    document = read(page.encode(), ".html")
    assert document.blocks[0].text == SENTENCES["fr"] + " a\\nb"


def test_english_with_the_quotes_of_windows_is_no_other_alphabet() -> None:
    text = "Don’t “restart” it – call… 5 °C\n"
    assert decode(text.encode("cp1252"))[0] == text


def test_mail_in_japanese_has_no_high_bytes() -> None:
    assert decode(SENTENCES["ja"].encode("iso2022_jp")) == (SENTENCES["ja"], "")
    assert decode(b"\x1b[31mred\x1b[0m $5\n")[0] == "\x1b[31mred\x1b[0m $5\n"


def test_letters_of_several_alphabets_are_refused() -> None:
    with pytest.raises(LoadError, match=r"its letters may be those of .+ or of .+UTF-8"):
        decode("вън\n".encode("cp1251"))


def test_a_wrong_byte_behind_a_mark_is_said() -> None:
    text, warning = decode(codecs.BOM_UTF8 + b"one\ntwo \xff\n")
    assert (text, "in line 2" in warning) == ("one\ntwo \ufffd\n", True)


def test_without_the_second_detector_a_short_text_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "chardetng_py", None)
    sentence = "Остановите запись и дождитесь пустой очереди, затем запустите ведомость снова.\n"
    text, warning = decode((sentence * 4).encode("cp1251"))
    assert (text, "a guess" in warning) == (sentence * 4, True)
    with pytest.raises(LoadError, match="save it as UTF-8"):
        decode(sentence.encode("cp1251"))


def test_soft_hyphens_of_a_page_are_not_shown() -> None:
    page = "<p>Restart the super\xadvisor</p><table><tr><td>a\xadb<td>c</table>"
    document = load_bytes(page.encode(), suffix=".html")
    assert "\xad" not in repr(document.blocks)
    assert document.blocks[0].text == "Restart the supervisor"


def test_a_pointer_to_a_file_elsewhere_is_no_page() -> None:
    pointer = b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 12345\n"
    with pytest.raises(LoadError, match="Git LFS"):
        load_bytes(pointer, suffix=".md", id="x")


def test_colors_of_a_terminal_are_no_words() -> None:
    (block,) = load_bytes(b"\x1b[1;31mERROR\x1b[0m pump", suffix=".txt", id="x").blocks
    assert block.text == "ERROR pump"
