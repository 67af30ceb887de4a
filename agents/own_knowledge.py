"""Questions to this program about itself: who is on call, what is open, which documents there are.

A message counts only as a whole: one of few forms, and what the form leaves over names something
that is known, as a domain or a document. Everything else is a question to the documents."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, get_args

from agents.answer import Answer, Citation
from agents.confidence import DIRECT
from config.domain import Domain
from enrichment.chunk import DocumentCard, is_out_of_force, standing
from enrichment.extractive.profile import DocumentType
from index.search import Snapshot

OwnKind = Literal[
    "abilities", "on_call", "turns", "escalation", "open", "documents", "updated", "owner"
]
_WHEN = (
    r"(?:right now|now|currently|current|at the moment|atm|rn|today|tonight|tomorrow|next"
    r"|this week(?:end)?|next week)"
)
_DOCS = r"(?:documents|docs|documentation|files|sources)"
_OPEN = r"(?:open|unfinished|unresolved|pending|waiting)"
_ITEMS = r"(?:follow ?ups?|hand ?offs?|questions?|items?|tasks?|things?|checklists?|runbooks?)"
_CHANGED = r"(?:updated?|changed?|edit(?:ed)?|modified|revised)"
_LAST = r"(?:last|latest|most recent)"
_REST = r"(?P<subject>(?: .+)?)"
_ON_CALL = r"on ?(?:call|duty|shift)"
_SHIFT = r"(?:on ?call )?(?:shift|turn|duty|rotation)"
_NEXT = r"(?:(?:next|again) )?"
_PERSON = r"(?P<person>(?:\S+ ){0,3}?\S+)"
_FORMS: tuple[tuple[OwnKind, str], ...] = (
    ("abilities", r"(?:who|what) (?:are|can) you(?: do)?(?: here)?|help(?: me)?|how are you"
                  r"|how (?:do|can) (?:i|we) use (?:you|this(?: bot)?)"),
    ("on_call", rf"who (?:(?P<past>was|were|has been) |(?:is going to|will) be |is |are )?"
                rf"(?P<early>(?:(?:the|{_WHEN}) )*){_ON_CALL}{_REST}"),
    ("on_call", rf"who (?P<past>had) (?:the )?(?:pager|{_SHIFT}){_REST}"),
    ("on_call", rf"is (?:any|some)(?:one|body) (?P<early>(?:{_WHEN} )*){_ON_CALL}{_REST}"),
    ("on_call", rf"whom? (?:do|can|should) (?:i|we) (?:call|page){_REST}"),
    ("escalation", rf"how (?:do|can|should|to) ?(?:i|we)? ?escalate{_REST}"),
    ("escalation", r"how (?:do|can|should) (?:i|we) (?:reach|contact|page|call|get hold of) "
                   rf"(?:the |whoever is |who is )*(?:person |engineer )?{_ON_CALL}{_REST}"),
    ("turns", rf"when (?:am i|will i be) {_NEXT}{_ON_CALL}{_REST}"),
    ("turns", rf"(?:am i|will i be|(?P<past>was i)) {_NEXT}{_ON_CALL}{_REST}"),
    ("turns", rf"when is my {_NEXT}{_SHIFT}{_REST}"),
    ("turns", rf"when (?:is|will) {_PERSON} (?:be )?{_NEXT}{_ON_CALL}{_REST}"),
    ("turns", rf"when is {_PERSON} s {_NEXT}{_SHIFT}{_REST}"),
    ("turns", rf"(?:is|will|(?P<past>was)) {_PERSON} (?:be )?{_NEXT}{_ON_CALL}{_REST}"),
    ("escalation", rf"what is (?:the|your) escalation (?:path|chain|order){_REST}"),
    ("open", rf"(?:(?:what|which) (?:is|are)|(?:is |are )?(?:there )?any(?:thing)?|list)"
             rf"(?: (?:the|all|still))* {_OPEN}(?: {_ITEMS})?{_REST}"),
    ("open", rf"(?:what|which) {_ITEMS} (?:is|are) (?:still )?{_OPEN}{_REST}"),
    ("documents", rf"(?:(?:which|what) {_DOCS} do you (?:know|have|read|use|have access to)"
                  r"|what do you (?:know|have access to))(?: of| about)?(?: here)?"),
    ("documents", rf"(?:which|what) {_DOCS} are (?:there|available)(?: here)?"
                  r"|list (?:the |all |your )*(?:documents|docs)(?: you know)?"),
    ("updated", rf"when (?:was|did) (?P<subject>.+?) (?:{_LAST} )?{_CHANGED}(?: last)?"),
    ("updated", rf"when (?:was|is) the {_LAST} (?:update|change|edit) (?:of|to) (?P<subject>.+)"),
    ("owner", r"who (?:owns|maintains|is the (?:owner|maintainer) of) (?P<subject>.+)"),
)  # fmt: skip
_WHOLE = [(kind, re.compile(form)) for kind, form in _FORMS]
_BEFORE = re.compile(
    r"(?:(?:hi|hey|hello|ok|okay|so|please|pls) )*(?:(?:can|could|do|would) you )?(?:please )?"
    r"(?:(?:tell|show|give|know)(?: me| us)? )?"
)
_AFTER = re.compile(r"(?: (?:please|pls|thanks|thx))+$")
_AROUND = re.compile(rf"^(?: ?{_WHEN}\b)*(?: (?:person|engineer))?|(?: {_WHEN})+$")
_CONTRACTED = re.compile(r"\b(who|what)['’]?s\b")
_WORD = re.compile(r"[^\W_]+")
_CLOCK = re.compile(r"(?<!\d)(\d{1,2}):(\d\d)(?!\d)")
_HERE = frozenset(
    ("a", "the", "this", "it", "here", "our", "us", "we", "team", "channel", "human", "person")
) | {"in", "at", "for", "of", "to"}
"""Words that name nothing but this place, and those around a name."""
_PRESENT = re.compile(
    r"\b(?:right now|now|currently|current|at the moment|atm|rn|again|person|engineer"
    r"|next(?! (?:week|mon|tue|wed|thu|fri|sat|sun)))\b"
)
"""Words that ask for no other time: who is on call now and next is told anyway."""
_PAPERS = frozenset(("document", "doc", "page", "file"))
_KINDS = _PAPERS.union(get_args(DocumentType)) - {"other"}
_SAYS_ITSELF = {
    "updated": r"(?=.*\b(?:updated?|changed|edited|modified|amended|revised)\b)"
               r".*\b(?:19|20)\d\d\b",
    "owner": r"(?:^|\|)\W*(?:\w+ )?(?:owner|maintainer)[\s*_]*(?:[:|]|$)"
             r"|\b(?:this|the document|page)\b.{0,40}\b(?:owned|maintained)\b",
}  # fmt: skip
"""In one line, or a row with its header."""
_MAX_CHARS = 300
MAX_LISTED = 60


@dataclass(frozen=True, kw_only=True)
class OwnQuestion:
    kind: OwnKind
    subject: str = ""
    """Lower-case words that the form leaves over, without punctuation; empty: this place. Times in
    it are for `bot.rotas.moments`."""
    person: str = ""
    """Whose turns are asked for, likewise; empty: the asker's."""
    is_past: bool = False

    @property
    def is_of_cards(self) -> bool:
        """Whether the cards of documents answer it; see `answer_from_cards`."""
        return self.kind in ("documents", "updated", "owner")


def own_question(text: str) -> OwnQuestion | None:
    """None for a question to the documents. `text`: without mentions (`clean_message`)."""
    if len(text) > _MAX_CHARS:
        return None
    words = _AFTER.sub("", " ".join(_words(_CONTRACTED.sub(r"\1 is", text.lower()))))
    for message in dict.fromkeys((words, _BEFORE.sub("", words, count=1))):
        for kind, form in _WHOLE:
            if match := form.fullmatch(message):
                groups = {name: text for name, text in match.groupdict().items() if text}
                subject = groups.get("early", "") + groups.get("subject", "").strip()
                if kind in ("escalation", "open"):
                    subject = _AROUND.sub("", f" {subject}").strip()
                elif kind in ("on_call", "turns"):
                    subject = " ".join(_PRESENT.sub("", subject).split())
                person, is_past = groups.get("person", ""), "past" in groups
                return OwnQuestion(kind=kind, subject=subject, person=person, is_past=is_past)
    return None


def is_named(subject: str, *names: str) -> bool:
    """Whether the subject of a question is some words of these names, or this place."""
    return set(subject.split()) - _HERE <= set(_words(" ".join(names).lower()))


def answer_from_cards(text: str, snapshot: Snapshot, domain: Domain) -> Answer | None:
    """Which documents there are, and what one's card says; None where the documents are asked.

    `snapshot`: as its reader sees it."""
    question = own_question(text)
    if question is None or not question.is_of_cards:
        return None
    if question.kind == "documents":
        return _listed(text, snapshot, domain)
    return _of_one_card(text, question, snapshot)


def _listed(text: str, snapshot: Snapshot, domain: Domain) -> Answer:
    cards = sorted(snapshot.cards(snapshot.documents), key=lambda card: card.title.casefold())
    count = "1 document" if len(cards) == 1 else f"{len(cards)} documents"
    reply = f"You can ask me about {count} of *{domain.title}*."
    if len(cards) > MAX_LISTED:
        reply += f" These are the first {MAX_LISTED} by title; I search all of them."
    answer = _cited(reply, text, cards[:MAX_LISTED], snapshot)
    return replace(answer, path="small_talk", confidence=1.0)


def _of_one_card(text: str, question: OwnQuestion, snapshot: Snapshot) -> Answer | None:
    card = _named_card(question.subject, snapshot)
    reply = _statement(question.kind, card) if card else ""
    if card is None or not reply or _says_itself(question.kind, snapshot, card):
        return None
    successors = snapshot.cards([card.superseded_by] if card.superseded_by else [])
    if is_out_of_force(card):
        reply += f" It is {standing(card, {one.id: one for one in successors})}."
    answer = _cited(reply, text, [card], snapshot)
    return replace(answer, documents=answer.documents | {one.id for one in successors})


def _cited(reply: str, text: str, cards: Sequence[DocumentCard], snapshot: Snapshot) -> Answer:
    citations = (
        Citation(
            number=number, document=card.id, title=card.title, heading=card.title, url=card.url,
            quote="", modified_at=card.modified_at,
        )
        for number, card in enumerate(cards, start=1)
    )  # fmt: skip
    return Answer(
        text=reply,
        path="company_specific_rag_success",
        confidence=DIRECT,
        citations=tuple(citations),
        documents=frozenset(card.id for card in cards),
        generation=snapshot.generation,
        standalone_question=text,
    )


def _statement(kind: OwnKind, card: DocumentCard) -> str:
    """Empty where the card doesn't say."""
    if kind == "owner":
        return f"The owner of **{card.title}** is {card.owner} [1]." if card.owner else ""
    at = card.modified_at
    return f"**{card.title}** was last edited on {at.day} {at:%B %Y} [1]." if at else ""


def _named_card(subject: str, snapshot: Snapshot) -> DocumentCard | None:
    """The one document of this title. A part of a title counts where it says what kind of document
    is meant; of an outdated document and its successor that is the successor."""
    words = set(subject.split()) - _HERE
    name, kind = words - _PAPERS, words & _KINDS
    if len(name) < 2 or not (kind or len(name) > 2):
        return None
    whole, partly = [], []
    for card in snapshot.cards(snapshot.documents):
        title = _words(card.title.lower())
        title_name = set(title) - _HERE - _PAPERS
        if title_name == name:
            whole.append(card)
        elif name < title_name and kind & {title[-1], *_PAPERS} and not is_out_of_force(card):
            partly.append(card)
    cards = whole or partly
    return cards[0] if len(cards) == 1 else None


def _says_itself(kind: OwnKind, snapshot: Snapshot, card: DocumentCard) -> bool:
    """Whether its text speaks of its changes or its owner, and so knows better than its source."""
    says = re.compile(_SAYS_ITSELF[kind], re.IGNORECASE)
    for chunk in snapshot.chunks(card.id):
        header = " | ".join(chunk.table.header) if chunk.table else ""
        if any(says.search(f"{header} | {line}") for line in chunk.text.splitlines()):
            return True
    return False


def _words(text: str) -> list[str]:
    """A time of day stays one word: `14h30`."""
    return _WORD.findall(_CLOCK.sub(r"\1h\2", text))
