"""English phrasings of questions, each with its plain form; words that ask for the same thing; and
irregular forms.

A group holds words that may stand for each other in a question whatever it is about. What merely
comes close (call, e-mail; delete, archive; order, buy) is left apart: a missed hit costs cents."""

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
    ("how", r"\bhow\b(?! (?:long|often|many|much|far|soon|big|large|old|late|early|high|small"
     r"|strong|close|far|fast|good|bad|safe|secure|deep|wide|heavy|hot|cold|strict|likely)\b)"),
    ("how so", r"\bhow (?:far|soon|big|large|old|late|early|high|small|strong|close|fast|good|bad"
     r"|safe|secure|deep|wide|heavy|hot|cold|strict|likely)\b"),
    ("when", r"^when\b|\b(?:know|until|since|by|from|and) when\b|, when\b"),
    ("what", r"\bwhat\b|\bwhich\b"),
    ("whether", r"^(?:if|whether)\b|^(?:is|are|am|was|were|do|does|did|can|could|may|might|must"
     r"|should|shall|will|would|has|have|had|need)(?: not)? \w+"),
)  # fmt: skip
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


_GROUPS = """
    get obtain receive acquire / buy purchase / begin start commence / end finish / fix repair /
    help assist / choose pick select / forbid prohibit ban / contact reach / happen occur /
    show display / modify alter / erase wipe / notify inform / sickness illness / sick ill unwell /
    login logon signin / signup register enroll enrol registration / install installation /
    uninstall uninstallation / approve approval signoff / reimburse reimbursement / renew renewal /
    expire expiry expiration lapse / validity valid / cancel cancellation /
    colleague coworker teammate / employee staffer / newcomer newjoiner starter joiner newhire /
    photo picture / car automobile / cost price / invoice bill / document doc / documentation docs /
    directory folder / repository repo / database db / administrator admin / authentication auth /
    environment env / production prod / information info / specification spec / reference ref /
    statistic stat / abroad overseas / travel trip / broken faulty defective / quick fast /
    large big / small little / issue problem / staff personnel / replace replacement / steal theft /
    connect connection / back-up backup / migrate migration / deploy deployment rollout /
    rotate rotation / escalate escalation / increase raise / extend extension prolong /
    resign resignation quit / mandatory obligatory compulsory / eligible entitle / child kid /
    doctor physician / headset headphones / restroom toilet bathroom / rubbish trash garbage /
    cafeteria canteen / film movie / lawyer attorney / wifi wlan / pullrequest pr mergerequest /
    handover handoff / schedule timetable / book reserve booking reservation / guest visitor /
    submit submission / setup configure configuration / maximum max / minimum min / stop cease /
    plane aeroplane airplane / restore restoration / duration length / encrypt encryption /
    keep retain / enable activate / disable deactivate / mobile cellphone smartphone /
    bicycle bike / decrease reduce"""
_GROUPS_OF_HOW = """
    get request / order request / change modify alter edit / make create /
    arrange organise organize"""
"""Only for questions with `how`: how to get access means how to request it, but where to get a
laptop does not mean where to order it. The last word of a group does not link that group to other
groups: get is not order."""

_IRREGULAR = """
    be is are was were been being am / begin began begun / break broke broken / bring brought /
    build built / buy bought / catch caught / choose chose chosen / come came / do does did done /
    draw drew drawn / drive drove driven / eat ate eaten / fall fell fallen / feel felt /
    find found / fly flew flown / forget forgot forgotten / freeze froze frozen / get got gotten /
    give gave given / go went gone goes / have has had / hear heard / hide hid hidden / hold held /
    keep kept / know knew known / lend lent / lose lost / make made / mean meant / meet met /
    pay paid / ride rode ridden / ring rang rung / rise rose risen / run ran / say said /
    see saw seen / sell sold / send sent / show showed shown / speak spoke spoken / spend spent /
    stand stood / steal stole stolen / stick stuck / take took taken / teach taught / tell told /
    think thought / throw threw thrown / understand understood / wear wore worn / win won /
    write wrote written / person people / child children / man men / woman women /
    criterion criteria / datum data / index indices"""
_NO_PLURALS_LISTED = """
    news series species lens gas canvas address access process business always across plus sms
    https dns aws ios macos saas kubernetes jenkins windows teams premises customs goods glasses
    means headquarters thanks sales savings earnings wages logistics analytics"""
NO_PLURALS = frozenset(_NO_PLURALS_LISTED.split())
_NOUNS_IN_ING_LISTED = """
    accounting advertising banking billing booking briefing building catering ceiling cleaning
    consulting drawing earring engineering evening finding hearing heating holding housing lighting
    manufacturing marketing meaning meeting morning networking offering onboarding opening parking
    pricing printing rating reading recording recruiting ruling saving screening setting shipping
    sibling spelling staging standing string testing ticketing timing tracking training warning
    wedding wiring writing"""
_NOUNS_IN_ING = frozenset(_NOUNS_IN_ING_LISTED.split())
"""Nouns of their own, not forms of the verb: a building is not the act of building."""


def _by_word(listed: str) -> dict[str, frozenset[str]]:
    groups: dict[str, frozenset[str]] = {}
    for group in listed.split("/"):
        for word in group.split():
            groups[word] = groups.get(word, frozenset()) | {group.strip()}
    return groups


MEANING = _by_word(_GROUPS)
"""Word → names of its groups; those of two words have one in common when they mean the same."""
MEANING_IN_HOW = _by_word(_GROUPS_OF_HOW)
LEMMA = {word: forms.split()[0] for forms in _IRREGULAR.split("/") for word in forms.split()}


def lemmas(word: str) -> frozenset[str]:
    """The words that a lower-case word may be a form of, with itself. Only inflections: `approver`,
    `approve` and `employer`, `employee` are different words, although they share a stem."""
    forms = {word}
    if word in LEMMA:
        forms.add(LEMMA[word])
    if word.isalpha() and word not in NO_PLURALS:
        forms.update(form for form in _uninflected(word) if len(form) > 2)
    return frozenset(forms)


def is_plural(word: str) -> bool:
    return (
        len(word) > 3
        and word.endswith("s")
        and not word.endswith(("ss", "us", "is"))
        and word not in NO_PLURALS
    ) or word in ("people", "children", "men", "women")


def _uninflected(word: str) -> list[str]:
    forms: list[str] = []
    if is_plural(word):
        forms.append(word[:-1])
        if word.endswith("ies"):
            forms.append(f"{word[:-3]}y")
        if word.endswith(("ses", "xes", "zes", "ches", "shes", "oes")):
            forms.append(word[:-2])
    for ending in ("ed", "ing"):
        if word in _NOUNS_IN_ING:
            continue
        if word.endswith(ending) and len(word) > len(ending) + 2:
            bare = word[: -len(ending)]
            forms += [bare, f"{bare}e"]
            if bare[-1] == bare[-2]:
                forms.append(bare[:-1])
            if ending == "ed" and bare.endswith("i"):
                forms.append(f"{bare[:-1]}y")
    return forms
