"""English phrasings of questions, each with its plain form."""

from __future__ import annotations

import re

_I = r"(?:i|we|you|one|someone|somebody|people|anyone)"


def _all(*pairs: tuple[str, str]) -> tuple[tuple[re.Pattern[str], str], ...]:
    return tuple((re.compile(pattern), plain) for pattern, plain in pairs)


CONTRACTIONS = _all(
    (r"\bcan'?t\b|\bcannot\b", "can not"),
    (r"\bwon'?t\b", "will not"),
    (r"\bshan'?t\b", "shall not"),
    (r"\b(do|does|did|is|are|was|were|has|have|had|would|could|should|must|need|might)n'?t\b",
     r"\1 not"),
    (r"\b(what|who|where|when|how|why|that|there|it|here)'?s\b", r"\1 is"),
    (r"\b(what|who|where|how)'?re\b", r"\1 are"),
    (r"\bi'?m\b", "i am"),
    (r"\b(i|we|you|they)'ve\b|\b(i)ve\b", r"\1\2 have"),
    (r"\b(you|we|they)'re\b", r"\1 are"),
    (r"\b(i|we|you|they|it)'ll\b", r"\1 will"),
    (r"\b(i|we|you|they)'d\b", r"\1 would"),
    (r"\bu\b", "you"),
    (r"\br\b(?= you| we)", "are"),
    (r"\bpls\b|\bplz\b", "please"),
    (r"\bw/o\b", "without"),
    (r"\bw/(?=\s)", "with"),
    (r"(?<=\d)\s*(?:h|hrs?)\b", " hour"),
    (r"(?<=\d)\s*(?:mins?)\b", " minute"),
    (r"(?<=\d)\s*(?:secs?)\b", " second"),
    (r"(?<=\d)\s+(am|pm)\b", r"\1"),
    (r"(?<=\d),(?=\d{3}\b)", ""),
)  # fmt: skip

_ASKS = r"(?=\s+(?:how|what|which|who|whom|whose|when|where|why|if|whether|about)\b)"
FRAMES = tuple(
    re.compile(rf"^(?:{frame})")
    for frame in (
        r"(?:hi|hello|hey|good morning|good afternoon|morning|dear)(?: there| all| everyone| team"
        r"| folks)?(?=\s*[,.!:;-])",
        r"(?:quick |one |short |small |another |just a )?question(?=\s*[,:-])",
        r"(?:and|so|ok|okay|well|um|sorry)(?=\s*,)",
        r"(?:can|could|would|will) (?:you|someone|anyone|anybody|somebody)(?: please)?"
        rf" (?:tell|explain|show|remind|clarify)(?: to)?(?: me| us)?{_ASKS}",
        rf"(?:do|does) (?:you|anyone|anybody|someone|somebody)(?: here| happen to)? know{_ASKS}",
        rf"(?:please )?(?:tell|remind|explain to|show) (?:me|us){_ASKS}",
        rf"(?:i|we)(?: am| are| was| were)?(?: just)? (?:wondering|wonder|curious){_ASKS}",
        rf"(?:i|we) (?:would like|want|need|would love) to (?:know|understand|find out){_ASKS}",
        rf"(?:i|we) (?:do not know|am not sure|are not sure){_ASKS}",
        rf"(?:any idea|any ideas|anyone know|anybody know|no idea){_ASKS}",
        r"(?:i|we) (?:have|have got|got) (?:a|one)(?: quick| short)? question(?:s)?(?=\s*[,:-])",
        r"please\b",
    )
)
"""Phrases that precede a question."""

CONDITION_FIRST = re.compile(
    r"^((?:if|when|once|after|before|during|without|for|in|on|at)\b[^,?]{3,80}),\s+"
    r"((?:then )?(?:who|what|how|when|where|why|which|do|does|is|are|can|must|should|may)\b.+)$"
)
"""`If a key leaks, whom do I call` is `whom do I call if a key leaks`."""

PHRASES = _all(
    (r"\be-mail", "email"),
    (r"\bon[ -]call\b", "oncall"),
    (r"\b(log|sign)(?:s|ged|ging|ned|ning)?[ -]?(?:in|on)(?:to)?\b", "login"),
    (r"\blogin (?:to|into)\b", "login"),
    (r"\bset(?:ting|s)?[ -]up\b", "setup"),
    (r"\bback(?:ing|ed|s)?[ -]up\b", "backup"),
    (r"\broll(?:ing|ed|s)?[ -]out\b", "rollout"),
    (r"\broll(?:ing|ed|s)?[ -]back\b", "rollback"),
    (r"\bsign(?:ing|ed|s)?[ -]up\b", "signup"),
    (r"\bsign(?:ing|ed|s)?[ -]off\b", "signoff"),
    (r"\bhand(?:ing|ed|s)?[ -]over\b", "handover"),
    (r"\bhand(?:ing|ed|s)?[ -]in\b", "submit"),
    (r"\bfill(?:ing|ed|s)?[ -](?:in|out)\b", "complete"),
    (r"\b(?:ask|apply)(?:ing|ed|s)? for\b|\bapplied for\b", "request"),
    (r"\bget(?:ting|s)? rid of\b", "remove"),
    (r"\bnew (?:joiner|hire|starter)(s?)\b", r"newcomer\1"),
    (r"\b(?:a |the )?(?:two|2)[ -]factor (?:auth\w*|login|verification)\b|\b2fa\b", "mfa"),
    (r"\bmulti[ -]?factor (?:auth\w*)\b", "mfa"),
    (r"\bpaid time off\b", "vacation"),
    (r"\b(?:mobile|cell)[ -]?phones?\b", "mobile"),
    (r"\bunable to\b", "can not"),
    (r"\bnot possible to\b", "can not"),
    (r"\bno longer\b", "not any more"),
    (r"\bcosts? of\b", "cost of"),
    (r"\bhow come\b|\b(?:what is|what are) the reasons?(?: that| why| for)?\b|\bfor what reason\b",
     "why"),
    (r"\bhow (?:frequently|regularly)\b|\b(?:at )?what (?:frequency|intervals?)\b"
     r"|\bhow many times\b(?! (?:an?|per)\b)", "how often"),
    (r"\b(?:for )?how (?:much time|many days|many weeks|many months)(?= (?:does|do|will) it take)",
     "how long"),
    (r"\b(?:at )?what time\b", "kind-time"),
    (r"\b(?:on )?(?:what|which) (?:day|date)s?\b", "kind-day"),
    (r"\bhow long does it take\b|\bhow much time does it take\b", "how long take"),
    (r"\bhow (?:soon|quickly|fast)\b", "how soon"),
    (r"\b(?:in |at |on )?(?:what|which) (?:place|location)\b", "where"),
    (r"\b(?:what|which) (?:person|people)\b", "who"),
    (r"\bwhom\b", "who"),
    (r"\bwhat number of\b", "how many"),
    (r"\b(?:what|which) (?:is|are|would be) the (?:(?:best|right|correct|proper|usual|official"
     r"|recommended) )?(?:steps?|process|procedure|way|method|workflow) (?:to|for|of)\b", "how"),
    (r"\b(?:what|which) (?:steps|process|procedure) (?:do|should) (?:i|we) (?:need to |have to )?"
     r"(?:follow|take) (?:in order )?to\b", "how"),
    (rf"\bwhat do {_I} (?:have to |need to )?do (?:in order )?to\b", "how"),
    (r"\bis there (?:a|any|some) way (?:to|for (?:me|us) to|of)\b", "is it possible to"),
    (rf"\bhow (?:do|does|can|could|would) {_I} (?:go about|get to|manage to)\b", "how"),
    (r"\bwho (?:do|can|could|should|would) (?:i|we) (?:contact|ask|reach(?: out)?|talk|speak|turn"
     r"|get in touch)(?: with| to)?\b", "who kind-contact"),
    (r"\bwho is responsible for\b|\bwho is in charge of\b|\bwho takes care of\b",
     "who responsible"),
    (r"\b(?:in the case|in case|in the event)(?: that| of)?\b|\bwhenever\b", "if"),
    (r"\bprior to\b|\bahead of\b", "before"),
    (r"\bsubsequent to\b|\bfollowing(?= (?:a|an|the|my|our)\b)", "after"),
    (r"\bup to\b|\bat the most\b|\bno more than\b", "at most"),
    (r"\bno less than\b|\bno fewer than\b", "at least"),
    (r"\bgreater than\b|\blarger than\b", "more than"),
    (r"\bfewer than\b|\bsmaller than\b", "less than"),
    (r"\busing\b|\bby means of\b|\bthrough\b", "via"),
    (r"\btill\b", "until"),
)  # fmt: skip

KINDS: tuple[tuple[str, str], ...] = (
    ("contact", r"\bkind-contact\b"),
    ("time", r"\bkind-time\b"),
    ("day", r"\bkind-day\b"),
    ("who", r"\bwho\b(?! kind-contact)|\bwhose\b"),
    ("why", r"\bwhy\b"),
    ("where", r"\bwhere\b"),
    ("how long", r"\bhow long\b"),
    ("how often", r"\bhow often\b"),
    ("how many", r"\bhow many\b"),
    ("how much", r"\bhow much\b"),
    (
        "how",
        r"\bhow\b(?! (?:long|often|many|much|far|soon|big|large|old|late|early|high|small|strong"
        r"|close|far|fast|good|bad|safe|secure|deep|wide|heavy|hot|cold|strict|likely)\b)",
    ),
    (
        "how so",
        r"\bhow (?:far|soon|big|large|old|late|early|high|small|strong|close|fast|good|bad"
        r"|safe|secure|deep|wide|heavy|hot|cold|strict|likely)\b",
    ),
    ("when", r"^when\b|\b(?:know|until|since|by|from|and) when\b|, when\b"),
    ("what", r"\bwhat\b|\bwhich\b"),
    (
        "whether",
        r"^(?:if|whether)\b|^(?:is|are|am|was|were|do|does|did|can|could|may|might|must"
        r"|should|shall|will|would|has|have|had|need)(?: not)? \w+",
    ),
)
_MODALITIES = _all(
    (r"\b(?:allowed|permitted)(?: to)?\b", "permission"),
    (r"\bis it (?:ok|okay|fine|all right|alright|acceptable)(?: for (?:me|us))?"
     r"(?: to| if i| if we)?\b", "permission"),
    (r"\b(?:have|need|get) (?:the )?permission to\b", "permission"),
    (r"\b(?:is it possible|possible|able)(?: for (?:me|us))?(?: to)?\b", "ability"),
    (r"\b(?:can|could)\b", "ability permission"),
    (r"\b(?:may|might)\b", "permission"),
    (r"\bmust\b|\b(?:have|has|had|need|needs|needed|required|obliged|got) to\b"
     r"|\b(?:is|are) (?:it )?(?:required|mandatory|compulsory|obligatory|necessary)(?: to)?\b",
     "obligation"),
    (r"\b(?:should|shall|ought to|supposed to|recommended|expected to)\b|\bbetter to\b", "advice"),
)  # fmt: skip
MODALITIES = tuple((pattern, frozenset(meanings.split())) for pattern, meanings in _MODALITIES)
"""Words for can, may, must and should, with all their readings."""
