"""Words of a text as acts: what an order to an assistant is made of, in the languages of `_WORDS`.

A rule on acts reads like grammar and holds in every language that has words here. The words are
those of dictionaries; a final `*` stands for any ending."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping
from functools import lru_cache

_MARKUP = re.compile(r"[*~`]+|(?<!\w)_+(?=\w)|(?<=\w)_+(?!\w)|<!--|-->")
_LINK = re.compile(r"!?\[([^\[\]]{0,300})\]\([^()\s]{0,500}\)")
_BREAK = re.compile(r"(?:<br\s*/?>|\\?\n|\s)+", re.IGNORECASE)
_SPACED = re.compile(r"(?<!\w)\w(?:[ .\-_]\w){5,}(?!\w)")
"""A word of single letters with something between them."""
_TAGS = range(0xE0020, 0xE007F)
"""Invisible Unicode tag characters, which a model reads as ASCII."""
_LOOKALIKES = str.maketrans("аеорсухіѕԁһјАВЕКМНОРСТХУІЅЈ", "aeopcyxisdhjABEKMHOPCTXYISJ")
_MIXED = re.compile(r"\b(?=\w*[a-zA-Z])(?=\w*[\u0400-\u052f])\w{2,40}\b")
"""A word in two alphabets at once."""


def as_read(text: str) -> str:
    """The text as a model reads it, on one line: without invisible characters, disguises and
    markup."""
    if not text.isascii():
        text = _without_disguise(text)
    text = _MARKUP.sub("", _LINK.sub(r"\1", _BREAK.sub(" ", text))).strip()
    return _SPACED.sub(lambda word: re.sub(r"[ .\-_]", "", word[0]), text)


def _without_disguise(text: str) -> str:
    """Replaces compatibility forms and lookalike letters, decodes or removes invisible ones."""
    visible = "".join(chr(ord(c) - 0xE0000) if ord(c) in _TAGS else c for c in text)
    visible = unicodedata.normalize("NFKC", visible)
    visible = "".join(
        c for c in visible if unicodedata.category(c) not in ("Cf", "Mn") or c == "\n"
    )
    return _MIXED.sub(lambda word: word[0].translate(_LOOKALIKES), visible)


_WORDS: Mapping[str, str] = {
    # Cancel: in English, where an imperative looks like other forms, and in other languages.
    "X": "refuse decline ignore disregard forget discard abandon",
    "x": """override overrides bypass ignorier* missachte* vergiss vergesst übergehe* ignorez
        oublie* néglige* ignora ignorad ignore olvida* descarta* omite desatiende ignorem
        esqueça* esqueca* desconsider* ignorate ignori dimentica* trascura* negeer* vergeet
        ignoruj* zignoruj* zapomnij* pomiń* игнорируй* проигнорируй* забудь* yoksay* görmezden
        unut* ignorera strunta glöm bortse تجاهل انس अनदेखा नज़रअंदाज भूल 忽略 忽視 无视 無視
        忘记 忘記 忘れ 무시 잊어""",
    # Instructions of a model.
    "R": """تعليمات* instruction* prompt prompts directive directives anweisung* instruktion*
        vorgabe* systemprompt* consigne* instruccion* indicacion* instruç* instruco* istruzion*
        instructie* aanwijzing* instrukcj* polece* wskazów* инструкц* указани* промпт* talimat*
        yönerge* anvisning* التعليمات الأوامر निर्देश 指令 指示 提示词 提示詞 提示 プロンプト
        지시 지침 명령 命令""",
    # Rules, which people have as well.
    "r": """rules guidelines commands orders directions constraints restrictions safeguards
        training programming regeln befehle richtlinien règles ordres reglas órdenes regras
        ordens regole ordini regels zasad* reguł* правил* команд* kural* komut* regler 规则 規則
        ルール 규칙""",
    # Before, in time or text.
    "P": """previous prior preceding above earlier foregoing initial original former before
        vorherig* bisherig* obig* vorig* früher* vorangehend* précédent* antérieur* anterior*
        previo previa previos previas prévi* precedent* vorige eerdere voorgaande bovenstaande
        poprzedni* wcześniejsz* powyższ* предыдущ* прежн* önceki yukarıdaki tidigare
        föregående ovanstående السابقة
        السابق पिछले पिछली 之前 以上 先前 前面 上述 これまで 以前 上記 前の 이전 위의 앞선""",
    "A": """all any every each everything anything whatever alle allen aller sämtliche* jede*
        tout toute* tous chaque todo toda todos todas cada tutto tutte tutti ogni wszystki*
        każd* все всех любой кажд* tüm bütün her alla جميع كل सभी 所有 全部 一切 任何 すべて
        全て 모든""",
    "Y": """your dein* ton tes votre vos tu tus teu tua seu sua tuo tue tuoi jouw uw twoj* twój
        твой твои ваш* 你的 您的 あなたの 당신의""",
    "y": "you yourself du vous 你 您 あなた",
    "H": "system hidden secret internal confidential initial geheime* système sistema systeem",
    # Reveal.
    "V": """göster* اكشف 表示 공개 ujawnij* 提及 reveal print repeat output display disclose
        leak dump recite expose show quote list copy paste verrate* zeige* offenbare* révèle*
        montre* affiche* revela* muestra* mostre mostra* rivela* onthul* toon pokaż* раскрой*
        покажи* выведи* 显示 透露 泄露 输出""",
    # Speak.
    "S": """say says speak talk claim write pretend insist sag sage sagt antworte* schreibe*
        behaupte* nenne dis dites réponds répondez écris écrivez diga digas responde responda
        contesta* escribe escriba escreva rispondi rispondete scrivi zeg antwoord schrijf
        powiedz* odpowiedz* napisz* скажи* ответь* отвечай* напиши* söyle* yanıtla* cevapla* yaz
        säg svara skriv قل أجب اكتب कहो कहें लिखो लिखें जवाब 说 說 回复 回覆 答え 言って 出力
        書いて 답해 대답 말해 출력""",
    # An answer, or to answer.
    "B": """answer answers answering reply replies respond response responses responding
        completion antwort réponse respuesta resposta risposta antwoord odpowiedź ответ yanıt
        svar 答案 回答""",
    "O": "output summary message summaries",
    "T": "告诉 告訴 伝えて 알려 tell inform assure convince persuade urge",
    # An assistant.
    "M": """ai assistant assistants chatbot chatbots bot bots copilot llm llms gpt chatgpt
        claude gemini ki ia sprachmodell* assistent assistente asistente taalmodel asystent*
        ассистент* помощник* asistan assistenten المساعد الاصطناعي सहायक 助手 人工智能
        アシスタント 어시스턴트 인공지능""",
    "D": "this these here",
    "d": """document documents page passage passages text section source sources paragraph
        context""",
    "Q": """asked asks question questions query queries asker questioner fragt gefragt frage
        demande demandent pregunta preguntan pergunta perguntam chiede chiedono domanda vraagt
        vraag pyta* вопрос спрашива* soruya sorarsa سؤال प्रश्न 问 問 質問
        질문""",
    "u": "user users reader readers people anyone anybody everyone everybody whoever",
    # Change a text.
    "E": """add include append insert put begin start end finish replace encode translate modify
        integrate augment enhance embed convert rewrite""",
    "F": "follow following obey",
    "b": "are you're bist seid êtes eres",
    "N": "not stop never don't doesn't cannot can't without no nor",
    "m": "must should shall",
    "n": "will always now only just please simply henceforth instead",
    "i": "if when whenever",
    "t": "to",
    "w": "with that exactly nothing",
    "&": "and then und et y e en ve i och и",
    # A reading of this text by a machine.
    "G": """reading reads read processing process processes summarizing summarising summarize
        summarise indexing index parsing parse ingesting retrieving quoting citing describing""",
    # Words of somebody who speaks about such texts.
    "K": "cite attribute",
    "p": "in from of on by about for",
    "z": """attack* attempt* inject* jailbreak* malicious adversar* example* e.g such like
        phrase* instance test* detect* payload* threat* exploit* crafted called""",
}
_UNSPACED = r"\u0900-\u0eff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af"
_TOKEN = re.compile(
    rf"[“\"«„‘][^“”\"«»„’]{{2,400}}[”\"»“’]|[{_UNSPACED}]+|[^\W_{_UNSPACED}]+"
    rf"(?:[-_.'’][^\W_{_UNSPACED}]+)*|[.,:;!?…。！？、，：()\[\]<>—–|\n]"
)
_IS_UNSPACED = re.compile(f"[{_UNSPACED}]")
_CODE = re.compile(r"(?=.*[A-Z])(?=.*\d)[A-Z0-9][\w.-]*$|[A-Z]{4,}$|[A-Z]{2,}(?:[-_][A-Z0-9]+)+$")


def _entries() -> Iterator[tuple[str, str]]:
    for act, words in _WORDS.items():
        for word in words.split():
            yield as_read(word.rstrip("*")) + "*" * word.endswith("*"), act


_EXACT = {word: act for word, act in reversed([*_entries()]) if not word.endswith("*")}
_BEGINNING = {word[:-1]: act for word, act in _entries() if word.endswith("*")}


_ENDS = frozenset(".!?…。！？\n")
_LONGEST = 10
"""Characters of a word in a script without spaces."""


@lru_cache(maxsize=20_000)
def _act(word: str) -> str:
    if act := _EXACT.get(word) or _EXACT.get(word.lstrip("\u0648\u0641")):  # Arabic `and`
        return act
    return next(
        (_BEGINNING[word[:n]] for n in range(len(word), 2, -1) if word[:n] in _BEGINNING), "."
    )


def _unspaced(run: str) -> Iterator[str]:
    """Acts in text without spaces; other characters between two of them are one word."""
    at, other = 0, False
    while at < len(run):
        size = next((n for n in range(_LONGEST, 0, -1) if run[at : at + n] in _EXACT), 0)
        if size:
            yield _EXACT[run[at : at + size]]
        elif not other:
            yield "."
        other = not size
        at += size or 1


@lru_cache(maxsize=10_000)
def acts_of(plain: str) -> str:
    """One sign for each word of a text that `as_read` returned: a key of `_WORDS`, `C` for a code,
    `c` for a quotation, `#` for a number, `.` for another word, and `,` `;` for punctuation."""
    return "".join(_signs(plain))


def _signs(plain: str) -> Iterator[str]:
    before = ""
    for token in _TOKEN.findall(plain):
        if token[0] in '“"«„‘' and len(token) > 2:
            yield "c"
        elif _CODE.match(token):
            yield "C"
        elif _IS_UNSPACED.match(token):
            yield from _unspaced(token)
        elif token.isdigit():
            yield "#"
        elif token.lower() in ("model", "models") and before in ("language", "ai"):
            yield "M"
        elif token[0].isalnum():
            yield _act(token.lower().replace("’", "'"))
        else:
            yield ";" if token in _ENDS else ","
        before = token.lower()
