"""Words of everyday English that ask for the same thing, and irregular forms.

A group holds words that may stand for each other in a question whatever it is about. What merely
comes close (call, e-mail; delete, archive; order, buy) is left apart: a missed hit costs cents."""

from __future__ import annotations

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
