"""Function words by language, for detecting a language without a model.

Articles, pronouns, prepositions, question words and auxiliaries, as grammars list them: closed
classes, to which no company or product adds words. Languages without spaces or with their own
script are detected by their letters."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Mapping
from functools import cache, lru_cache

from enrichment.language.words import STOP_WORDS, prose_words

FUNCTION_WORDS: Mapping[str, frozenset[str]] = {
    language: frozenset(words.split())
    for language, words in {
        "French": """
            le la les un une des du de au aux ce cet cette ces mon ma mes ton ta tes son sa ses
            notre nos votre vos leur leurs l' d' j' n' qu' m' t' s' c' je tu il elle nous vous ils
            elles on me te se lui y en qui que quoi dont où quel quelle quels quelles comment
            quand pourquoi combien est sont suis êtes être été était avoir ai as avons avez ont
            peut peux puis pouvons pouvez peuvent dois doit devons devez doivent faut fait faire
            faites dans par pour sur sous avec sans chez entre vers et ou mais donc ni car si ne
            pas plus moins très aussi avant après pendant depuis jusque lors est-ce qu'est-ce
            c'est quelqu'un
        """,
        "German": """
            der die das den dem des ein eine einen einem einer eines kein keine keinen mein meine
            meinen meinem meiner unser unsere ihr ihre sein seine ich du er sie es wir man mich
            mir dich dir uns euch ihm ihn ihnen wer was wen wem wo wie wann warum wieso weshalb
            welche welcher welches welchen wieviel viele viel ist sind bin bist war waren wird
            werden wurde hat haben habe hatte kann kannst können könnt muss müssen darf dürfen
            soll sollen sollte will wollen mag möchte in im an am auf aus bei beim mit nach seit
            von vom vor zu zum zur über unter durch für gegen ohne um und oder aber denn wenn ob
            dass als nicht nur auch noch schon sehr mehr lange bis gibt
        """,
        "Spanish": """
            a el la los las un una unos unas lo al del de mi mis tu tus su sus nuestro nuestra
            nuestros nuestras yo tú él ella nosotros ellos ellas usted ustedes me te se nos les le
            qué que quién quien quiénes cuál cual cuáles cuándo cuando cómo como dónde donde
            cuánto cuánta cuántos cuántas es son soy está están estoy estar ser era fue hay ha he
            han haber tengo tiene tienen tener puedo puede pueden podemos debo debe deben debemos
            hacer hago hace en con sin por para sobre entre desde hasta hacia según y o pero si no
            más menos muy también ya antes después durante este esta estos estas ese esa eso
        """,
        "Portuguese": """
            o a os as um uma uns umas ao aos à às do da dos das no na nos nas pelo pela de meu
            minha meus minhas seu sua seus suas nosso nossa nossos nossas eu tu ele ela nós eles
            elas você vocês me te se lhe que quem qual quais quando como onde quanto quanta
            quantos quantas por quê é são sou está estão estou estar ser era foi há tem têm tenho
            ter posso pode podem podemos devo deve devem fazer faço faz em com sem para sobre
            entre desde até e ou mas não mais menos muito também já antes depois durante este esta
            esse essa isso
        """,
        "Italian": """
            il lo la i gli le l' dell' all' nell' un uno una del dello della dei degli delle al
            allo alla ai agli alle dal dalla dai nel nella nei nelle sul sulla sui di a da in con
            su per tra fra mio mia miei suo sua nostro nostra nostri nostre io tu lui lei noi voi
            loro mi ti si ci vi che chi cosa cos'è quale quali quando come dove quanto quanta
            quanti quante perché è sono sei siamo essere era stato ha ho hai hanno avere abbiamo
            posso può possono possiamo devo deve devono dobbiamo fare faccio fa e o ma se non più
            meno molto anche già prima dopo durante questo questa questi queste
        """,
        "Dutch": """
            de het een deze dit die dat mijn jouw zijn haar ons onze hun ik jij je hij zij ze wij
            we jullie mij jou hem wie wat waar wanneer waarom hoe hoeveel welke welk is ben bent
            was waren wordt worden werd heeft heb hebt hebben had kan kunnen kun moet moeten mag
            mogen zal zullen wil willen in op aan uit bij met na naar van voor over onder door
            tegen zonder om tot en of maar want als niet geen ook nog al zeer meer te er lang
        """,
        "Polish": """
            i w we z ze na do od za o u po dla przez przy nad pod bez jest są być był była było
            mam ma mamy mają mieć mogę może możemy mogą można muszę musi musimy trzeba kto co czy
            jak jaki jaka jakie gdzie kiedy dlaczego ile który która które się nie to ten ta te
            tego tej mój moja moje nasz nasza ja ty on ona my oni go mu jej ich lub albo ale jeśli
            także bardzo więcej
        """,
        "Swedish": """
            en ett den det de jag du han hon vi ni dem mig dig sig oss min mitt mina vår vårt våra
            som vem vad var när hur varför vilken vilket vilka mycket många är vara blir bli har
            hade ha kan kunna måste får få ska skall skulle vill i på av från till med om för utan
            under över mellan efter innan och eller men att inte också redan mer länge
        """,
        "Danish or Norwegian": """
            en et den det de jeg du han hun vi dem mig meg dig deg sig seg os oss min mit mitt
            mine vores vår som hvem hvad hva hvor når hvordan hvorfor hvilken hvilket hvilke mange
            meget mye er var være bliver blir har hadde havde have kan kunne må skal skulle vil i
            på av af fra til med om for uten uden under over mellem mellom efter etter før og
            eller men at ikke også mer lenge længe
        """,
        "Turkish": """
            ve veya ile için bir bu şu o ne kim nasıl neden niçin nerede hangi kaç mi mı mu mü ben
            sen biz siz onlar benim bizim var yok değil olan olarak gibi daha çok en da de kadar
            sonra önce ama eğer her
        """,
    }.items()
}

_ALSO_LISTED = """
    a ai al am an and are as at car come comment con den die do dos else en era far for fra from
    go had has have he her his i in is it la lame ma mag man me men mi mine my na no nos o of on
    once os par pas per plus pour quote sin so some son sont sue sur tag tan ten the to tot tu
    un up via d' s' t' m' c' l' n' vi was we were will with y over under don ton ni min mit log
    hem var or si est et pro de le du van der das des los las el re te ta se ti ci
"""
_ENGLISH_TOO = frozenset(_ALSO_LISTED.split())
"""Function words that also occur in English texts: as English words, abbreviations (`EST`, `PAS`,
`CI`) or names (`Los Angeles`, `van der`). They prove no language."""


@cache
def telling(language: str) -> frozenset[str]:
    """The function words of a language that don't occur in English texts."""
    return FUNCTION_WORDS[language] - _ENGLISH_TOO - STOP_WORDS


ENGLISH_WORDS = STOP_WORDS - {"ll", "re", "ve"}
"""Without what is left of contractions."""
_LETTERS = 4
"""Minimum letters of another script: fewer are a unit or a sign."""
_MANY = 3
"""Function words that tell even if names in English texts have each of them: `de la`, `Los`."""
_PARTS = re.compile(r"(?<=['’])")
_MAX_SENTENCE_CHARS = 400
"""Characters of a text that may come again; a whole context would only fill the cache."""


def language_of(text: str) -> str:
    """English name of a text's language by its function words, or the name of its script where
    that isn't Latin; '' when neither tells. Names and codes count for nothing."""
    return _of_a_sentence(text) if len(text) <= _MAX_SENTENCE_CHARS else _language_of(text)


def _language_of(text: str) -> str:
    words = prose_words(text)
    letters = [letter for word in words for letter in word]
    other = [letter for letter in letters if not letter.isascii() and _script(letter) != "LATIN"]
    if len(other) >= max(_LETTERS, len(letters) / 3):
        return Counter(map(_script, other)).most_common(1)[0][0]
    plain = [part for word in words if word.islower() or word is words[0]
             for part in _PARTS.split(word.lower().replace("’", "'"))]  # fmt: skip
    english = sum(word in ENGLISH_WORDS for word in plain)
    spoken = {
        language: count
        for language, every in FUNCTION_WORDS.items()
        if (count := sum(word in every for word in plain))
        and (telling(language).intersection(plain) or (count >= _MANY and not english))
    }
    best = max(spoken, key=spoken.__getitem__, default="")
    own = FUNCTION_WORDS.get(best, frozenset())
    if best and spoken[best] >= max(2, sum(word in ENGLISH_WORDS - own for word in plain) + 1):
        return best
    return "English" if english >= 2 or (english and len(plain) < 6) else ""


_of_a_sentence = lru_cache(maxsize=50_000)(_language_of)


def _script(letter: str) -> str:
    """Kanji and kana are one script."""
    name = unicodedata.name(letter, "LATIN").split(maxsplit=1)[0]
    return "CJK" if name in ("HIRAGANA", "KATAKANA", "KATAKANA-HIRAGANA") else name
