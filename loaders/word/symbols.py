"""Signs of symbol fonts, whose codes are not Unicode's."""

from __future__ import annotations

from collections.abc import Mapping


def _from(first: int, signs: str) -> dict[int, str]:
    return {first + at: sign for at, sign in enumerate(signs) if sign != " "}


_SYMBOL = (
    _from(0x20, "\0!∀#∃%&∋()∗+,−./0123456789:;<=>?")
    | _from(0x40, "≅ΑΒΧΔΕΦΓΗΙϑΚΛΜΝΟΠΘΡΣΤΥςΩΞΨΖ[∴]⊥_")
    | _from(0x60, "‾αβχδεφγηιϕκλμνοπθρστυϖωξψζ{|}~")
    | _from(0xA0, "€ϒ′≤⁄∞ƒ♣♦♥♠↔←↑→↓°±″≥×∝∂•÷≠≡≈…⏐⎯↵")
    | _from(0xC0, "ℵℑℜ℘⊗⊕∅∩∪⊃⊇⊄⊂⊆∈∉∠∇®©™∏√⋅¬∧∨⇔⇐⇑⇒⇓")
    | _from(0xE0, "◊⟨®©™∑")
    | {0xF1: "⟩", 0xF2: "∫"}
)
_WINGDINGS = (
    _from(0x21, "✏✂✁👓🔔📖🕯☎✆✉📬📫📪📭📮📁📂📄📃📑🗄⌛⌨🖱🖲💻🖴💾📼✍🖎")
    | _from(0x41, "✌👌👍👎☜☞☝☟✋☺😐☹💣☠⚐")
    | _from(0x6C, "●❍■□◻❑❒⬧⧫◆❖⬥⌧⍓⌘")
    | _from(0x80, "⓪①②③④⑤⑥⑦⑧⑨⑩⓿❶❷❸❹❺❻❼❽❾❿")
    | _from(0x9E, "·•▪○ ◉◎ ▪□")
    | _from(0xD8, "➢  ➲ ➔  ←→↑↓↖↗↙↘ ➔⬅➡⬆⬇⬉⬈⬋⬊⇦⇨⇧⇩⇔⇕")
    | _from(0xFB, "✗✓☒☑")
)
_WINGDINGS_2 = _from(0x4F, "✗✓☒☑") | _from(0x52, "☑☒☒") | {0xA3: "□", 0x2A: "□"}
_WEBDINGS = {0x61: "✓", 0x72: "✗", 0x69: "ℹ", 0x63: "□", 0x67: "■", 0x6E: "●"}
_FONTS: Mapping[str, Mapping[int, str]] = {
    "symbol": _SYMBOL,
    "wingdings": _WINGDINGS,
    "wingdings 2": _WINGDINGS_2,
    "webdings": _WEBDINGS,
}


def symbol(font: str, letter: str) -> str:
    """The sign that a font shows for a code, U+F000 to U+F0FF or less; `letter` when unknown."""
    if (signs := _FONTS.get(font.lower())) is None:
        return letter
    return (
        signs.get(ord(letter) & 0xFF, letter)
        if ord(letter) < 0x100 or 0xF000 <= ord(letter) <= 0xF0FF
        else letter
    )
