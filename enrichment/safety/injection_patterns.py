"""Patterns for `addressing`, grouped by purpose."""

from __future__ import annotations

import re

from config.prompts import CHAT_TOKEN

MESSAGE = re.compile(
    r"[\"']role[\"']\s*:\s*[\"'](?:system|assistant|developer|tool)[\"']", re.IGNORECASE
)
"""A part of a conversation in JSON; its quotation marks are syntax, not a quotation."""
_MODEL = (
    r"(?:a\.?i\.?|artificial intelligence|assistant|chat ?bot|bot|copilot|llm|gpt"
    r"|(?:language|ai) model)"
)
_OUTPUT = r"(?:answer|reply|response|output|completion|summary|message)"
_ON = r"(?:[^.;\n]|[.;](?=\w))"
"""Any character of the same clause; dots inside an address don't end a clause."""
_YOUR_ANSWER = rf"your (?:\w+ ){{0,2}}{_OUTPUT}s?\b"

PLANTED = re.compile(
    "|".join(
        (
            # Overrides a model's earlier instructions, never a person's.
            r"(?<!\bto )\b(?:ignore|disregard|forget|discard|drop|stop following|do not follow"
            r"|don't follow|pay no attention to)\b[^.;]{0,30}\b(?:previous|prior|preceding|above"
            r"|earlier|foregoing|your|initial|original|system)\b[^.;]{0,20}"
            r"\b(?:instructions?|prompts?|directives?|directions|system message)\b"
            r"(?! (?:in|from|of|on|by) )",
            r"\b(?:ignore|disregard|forget)\b (?:all )?(?:the )?(?:previous|prior|preceding"
            r"|above|earlier)"
            r" (?:rules|guidelines|commands)\b\s*(?:$|[.,;:!]|and\b)",
            r"\b(?:ignore|disregard|forget)\b (?:all |any )?(?:of )?your (?:\w+ )?"
            r"(?:rules|guidelines|training|constraints|restrictions)\b",
            r"\b(?:ignore|disregard|forget)\b (?:everything|all|anything)"
            r"(?: that)?(?: is| was| stands| written| said| you were told| you have read)? "
            r"(?:above|before this|so far|up to here|you (?:were told|know|have read"
            r"|have been told))",
            r"\b(?:ignore|disregard|overrides?|outranks?)\b (?:all |any |every )?(?:the )?"
            r"(?:other|remaining) (?:sources?|passages?|contexts?|excerpts?)\b",
            # Poses as a part of a prompt.
            CHAT_TOKEN.pattern,
            r"(?:</|(?:^|\n)\W*<)(?:system|assistant|instructions?|tool_calls?|tool_response"
            r"|function_calls?|prompt|context|documents?|sources?)>(?! *[-/])",
            r"</?data-[0-9a-f]{4,}|(?:^|\n)\W*source \d+ \|",
            r"(?:^|\n)\W*#{0,6}\s*(?:system|assistant|developer)(?: (?:prompt|message|note|override"
            r"|instructions?|update))?\s*:[^.]{0,80}\b(?:you|your|answer|reply|respond|say|ignore"
            r"|sure|output|print)\b",
            r"(?:^|\n)\W*(?:system|assistant|developer) (?:prompt|message|override|instructions?"
            r"|update)\s*:|(?:^|\n)\W*(?:new|updated|real|actual|hidden|secret) "
            r"(?:system )?(?:instructions?|prompt)\s*(?:$|[:.])",
            r"\b(?:begin|end)(?: of)?(?: the)? (?:untrusted |retrieved |quoted )?"
            r"(?:sources?|context|prompt|passages?|system message|instructions)\b\s*(?:$"
            r"|[-=:.\])])",
            # Names the model as its reader.
            rf"\b(?:dear|attention|hey|hello|note to|notes? for|message to|message for"
            rf"|reminder (?:to|for)"
            rf"|instructions? (?:to|for))\b,? (?:the |all |any |every "
            rf"|whichever )?(?:\w+ )?{_MODEL}s?\b",
            rf"(?:^|[.:;,\n] ?)(?:to|for) (?:the|any|every|all|whichever) (?:\w+ )?{_MODEL}s?"
            r"(?: \w+){0,5} ?[:,]",
            rf"\b{_MODEL}s?(?: systems?| agents?| tools?)?\b(?: that| who| which)?(?: is"
            rf"| are)? (?:read|answer|summar|process|index"
            r"|quot|pars|retriev|cit)\w* (?:from )?(?:this|these)\b",
            rf"\b(?:as|if you are|you are)(?: now| actually| only| just)? an? (?:\w+ )?{_MODEL}\b"
            r"(?!['’-])",
            r"\byou are (?:now |no longer )(?:\w+ ){0,2}(?:in (?:developer|debug|god|dan"
            r"|admin) mode"
            r"|dan\b|unrestricted|jailbroken|bound by|restricted by)",
            # Dictates what an answer contains or hides.
            r"\bno_answer\b",
            r"\byour (?:system |hidden |initial )prompt\b|\bwhatever (?:the|your) prompt says\b",
            r"\b(?:reveal|show|print|repeat|output|display|disclose|quote|leak|write out|list"
            r"|copy|paste"
            r"|translate|encode)\b[^.;]{0,40}\b(?:your (?:own )?(?:instructions|prompt|rules"
            r"|guidelines|context)|(?:all|other|remaining|hidden) (?:the )?(?:passages|context"
            r"|excerpts)(?=$|[.,;:!]| (?:that )?you| verbatim| above| word)|(?:text|words"
            r"|everything|passages?|sources?|instructions) above)\b",
            r"\bcite (?:only |always )?(?:\[|\()\^?\d|\b(?:cite|attribute)\b[^.;]{0,30}\b(?:as "
            r"|to )?"
            r"source (?:no\.? )?\d",
            r"\b(?:tell|inform|assure|convince|persuade|urge|direct|send)\b the (?:asker"
            r"|questioner)\b",
            r"\b(?:answer|respond to|reply to) (?:every|any|each|all) (?:\w+ )?(?:questions?"
            r"|quer(?:y|ies)"
            r"|messages?)\b (?:with|by)(?: saying)? (?:the (?:word|phrase|sentence|same)\b|[\"“'‘`]"
            r"|(?-i:[A-Z][A-Z0-9-]{2,}))",
            r"\b(?:answer|answers|reply) to (?:every|any|each|all) (?:question"
            r"|quer)\w*\b[^.;]{0,20}"
            r"\b(?:is|are|must|should|shall)\b",
            rf"\b(?:modify|augment|enhance|integrate|adjust|extend|rewrite|rephrase|embed|weave"
            rf"|slip"
            rf"|insert|append|prepend|tease|hint|suggest|promote|advertise|scramble|misspell|jumble"
            rf"|rearrange|anagram|shuffle|spice|pad|disguise"
            rf"|obfuscate)\w*\b{_ON}{{0,150}}{_YOUR_ANSWER}"
            rf"|\b(?:add|put|include|write|say)\b +(?:……|[\"“'‘][^\"”]{{15,200}}[\"”'’])"
            rf"{_ON}{{0,60}}{_YOUR_ANSWER}",
            rf"{_YOUR_ANSWER}[^.;]{{0,20}}\b(?:suggest|tease|promote|advertise|hint|pretend|claim"
            r"|recommend that (?:users|readers|people))\b",
            rf"\b(?:letters?|vowels?|consonants?|characters?|spaces?|punctuation|typos?|misspell\w*"
            rf"|anagram\w*|emojis?|symbols?|base64|rot-?13|hex(?:adecimal)?|morse|upper ?case"
            rf"|capitals"
            rf"|rhymes?|pirate\w*|substitution|backwards?|pig latin)\b[^.;]{{0,60}}{_YOUR_ANSWER}",
            rf"{_YOUR_ANSWER}(?:['’]s)?[^.;]{{0,60}}\b(?:letters?|words|vowels?|spaces?|typos?"
            rf"|misspell\w*"
            r"|anagram\w*|emojis?|symbols?|base64|rot-?13|hex(?:adecimal)?|morse|upper ?case"
            r"|capitals|rhymes?|pirates?|substitution|backwards?|pig latin)\b",
            rf"\b(?:an?|one|some) (?:\w+ )?(?:sentence|line|paragraph|tip|statement|headline|joke"
            rf"|appeal|advert\w*|(?:friendly )?reminder|compelling reason|hyperlink|link)\b"
            rf"{_ON}{{0,120}}{_YOUR_ANSWER}",
            rf"{_YOUR_ANSWER}[^.;]{{0,20}}\b(?:an?|one) (?:sentence|paragraph|joke|advert\w*"
            rf"|link)\b",
            r"\b(?:do not|don't|never|without) (?:mention|mentioning|reveal|revealing|disclose"
            r"|disclosing|cite|citing|quote|quoting|talk about)\b[^.;]{0,15}"
            r"\b(?:these instructions?|this (?:instruction|prompt|injection|passage|note to))\b",
            r"\bwhen(?:ever)? (?:you (?:answer|reply|respond|summar\w+|quote|cite|index"
            r"|describe|are asked)|"
            r"(?:answering|responding|replying|summari[sz]ing|indexing|quoting|describing"
            r"|embedding)\b"
            r"[^.;,]{0,30}\b(?:this|from|with|using)\b)[^.;]{0,40}\b(?:document|page|passage"
            r"|section"
            r"|source|text|anything)\b",
            r"\b(?:score|rate|rank|grade|judge)\b[^.;]{0,15}\bthis (?:passage|document|source"
            r"|page|text)"
            r"\b[^.;]{0,30}\b(?:10|ten|highest|first|top|best|most|above)\b",
            r"\b(?:set|choose|return|use) [`\"']?kind[`\"']? (?:to|=|as) [`\"']?(?:general"
            r"|small_talk"
            r"|ambiguous|in_domain)\b|\bsmall_talk_reply\b|\bclarifying_question\b",
            r"\bdecode\b[^.;]{0,40}\b(?:and|then) (?:follow|obey|execute|do)\b",
            # The same in the most frequent other languages of planted text.
            r"\b(?:ignorier\w*|vergiss|missachte)\b.{0,30}\b(?:anweisung|regel|vorgabe|instruktion)"
            r"|\bdeine\w* (?:antwort|systemprompt|anweisungen)\b.{0,60}\b(?:hinzu|ein|aus|preis)\b"
            r"|\b(?:füge|antworte|schreibe|nenne|übersetze)\b.{0,60}\bdeine\w* antwort\b",
            r"\b(?:ignora|olvida|desatiende|ignorez|oublie[zr]?|ignore|esque[çc]a"
            r"|dimentica)\w*\b (?:\w+ )?(?:l[aeo]s?|les|gli|as|os|i|sus?|vos|tes|tus|suas"
            r"|tue) .{0,25}"
            r"\b(?:instruc|instru[çc]|istruzion|consigne|reglas? anteriores|r[èe]gles? pr[ée]c)",
            r"\b(?:votre|ta|tu|su|sua|tua|la tua) (?:r[ée]ponse|respuesta|resposta"
            r"|risposta)\b.{0,40}"
            r"\b(?:ajoute|a[ñn]ade|agrega|adicione|aggiungi|incluye|inclua)"
            r"|\b(?:ajoute[zr]?|a[ñn]ade|agrega|adicione|aggiungi|incluye|inclua)\b.{0,60}"
            r"\b(?:votre|ta|tu|su|sua|tua) (?:r[ée]ponse|respuesta|resposta|risposta)\b",
            r"(?:忽略|無視|无视|忘记|忘れ).{0,12}(?:指令|指示|提示|说明|規則|规则)"
            r"|(?:指令|指示|提示|プロンプト)を?(?:すべて)?(?:無視|忘れ)|系统提示|システムプロンプト",
            r"\b(?:игнорируй|забудь|не обращай внимания)\w*.{0,30}(?:инструкци|указани|правил"
            r"|команд)",
            r"(?:이전|위의|모든).{0,10}(?:지시|명령|지침).{0,6}(?:무시|잊)",
        )
    ),
    re.IGNORECASE,
)
SUSPECT = re.compile(
    "|".join(
        (
            r"\b(?:ignore|disregard|forget|override|bypass)\b[^.;]{0,40}\b(?:instructions?"
            r"|prompts?)\b",
            r"\bsystem prompt\b|\bprompt injection\b|\bjailbreak",
            _YOUR_ANSWER,
            r"\b(?:answer|reply|respond)\b(?: to)? (?:every|all|any|each) (?:\w+ )?"
            r"(?:questions?|quer(?:y|ies)|prompts?|requests?|messages?)\b[^.;]{0,10}\b(?:with"
            r"|by|as|using)\b",
            r"(?:^|[.:;,] |\band |\balways |\bonly )(?:say|reply|respond|answer|output|print"
            r"|return)"
            r" (?:\w+ ){0,2}(?:with|that|only|just|exactly|nothing but|[\"“'‘`])",
            r"\b(?:tell|inform|assure)\b (?:anyone|anybody|everyone|everybody|people|whoever|those)"
            r"(?: who (?:asks?|reads?))?\b[^.;]{0,15}\b(?:that|to)\b",
            r"\b(?:if|when|whenever) (?:someone |anyone |somebody |you(?: are|'re) )?ask(?:s|ed)\b",
            rf"\b{_MODEL}s?\b[^.;]{{0,30}}\b(?:must|should|shall)\b",
            r"\b(?:write|compose|draft|create|generate|provide|tell|develop|deliver)\b (?:me "
            r"|us )?an? "
            r"(?:\w+ ){0,3}(?:poem|essay|story|limerick|haiku|song|sonnet|joke|speech"
            r"|fairy tale)\b",
            r"\b(?:respond|answer|reply|speak|talk|act|behave) (?:like|as if|as though) ",
            r"(?:^|[.:;,] )pretend\b",
            r"\b(?:add|put|use|list|include)\b[^.;]{0,60}\b(?:keywords?|faqs?|summar(?:y|ies)"
            r"|tags)\b",
            r"(?:^|[.:;,] )translate\b",
        )
    ),
    re.IGNORECASE,
)
