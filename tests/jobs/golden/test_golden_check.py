from __future__ import annotations

from pathlib import Path

import pytest

from bot.features.owner_drafts.proposals import Proposal, to_yaml
from jobs.golden.check import check_golden, holds
from jobs.golden.questions import ProposedBy, load_golden
from tests.agents.corpus import LAPTOPS, ROTATION, snapshot

WRONG = """\
- id: keys-001
  kind: tabel
  question: how old may a signing key get
- id: keys-002
  kind: lookup
  quetsion: who replaces it
- id: keys-003
  kind: lookup
  question: no
- id: keys-004
  kind: lookup
  question: " "
  reference: It is 60 days.
  must_include: [90 weeks]
  evidence:
  - {document: key-rotaton, quote: "60 days"}
- id: keys-005
  kind: follow_up
  question: and for webhooks?
  reference: 30 days
  history: [{role: user, content: hello}]
  evidence:
  - {document: key-rotation, quote: "A leaked key is replaced within 48 hours of its discovery"}
- id: keys-005
  kind: unanswerable
  question: And for WEBHOOKS
  history: [{role: user, content: Hello!}]
  must_include: [a]
- just text
- id: keys-007
  kind: lookup
  question: what then
  category: nonsensical
- id: keys-008
  id: keys-009
  kind: proposed
  question: ok?
- id: keys-010
  kind: follow_up
  question: and then?
  reference: Nothing.
  must_include: [the moon]
  evidence:
  - {document: key-rotation, quote: " "}
- id: keys-011
  kind: lookup
  question: how long
  reference: 0160 days
  proposed: {by: U0INES}
  evidence:
  - {document: key-rotation, quote: 0160}
"""

SAID = """\
wrong.yaml:2:9: keys-001: kind: input should be 'lookup', 'table', 'multi_hop', 'follow_up', \
'ambiguous', 'unanswerable' or 'proposed'; did you mean 'table'?
wrong.yaml:4:3: keys-002: missing key 'question'
wrong.yaml:6:3: keys-002: unknown key 'quetsion'; did you mean 'question'?
wrong.yaml:9:13: keys-003: question: expected text; write 'no'
wrong.yaml:12:13: keys-004: `question` is blank
wrong.yaml:16:16: keys-004: no document 'key-rotaton' is published; did you mean 'key-rotation'?
wrong.yaml:21:20: keys-005: the turn before the question has to be the assistant's
wrong.yaml:23:37: keys-005: key-rotation holds this quote no more; it says now: A leaked key is \
replaced within 24 hours of its discovery, and gets no overlap window.
wrong.yaml:24:7: keys-005: this id is taken on wrong.yaml:17; give each its own
wrong.yaml:26:13: keys-005: the same question stands on wrong.yaml:17
wrong.yaml:27:20: keys-005: the turn before the question has to be the assistant's
wrong.yaml:28:3: keys-005: an unanswerable question has no facts that an answer must hold
wrong.yaml:29:3: expected a question with `id:`, `kind:` and `question:`
wrong.yaml:30:3: keys-007: no evidence: name a document and quote the words that the answer rests on
wrong.yaml:30:3: keys-007: no reference: write the answer that you would give
wrong.yaml:33:3: keys-007: `category` says why a question is unanswerable; this one is lookup
wrong.yaml:35:3: key 'id' is given twice
wrong.yaml:39:9: keys-010: a follow-up needs the turns before it, as `history`
wrong.yaml:42:18: keys-010: 'the moon' stands in none of its documents; put it into `rubric` if it \
is meant
wrong.yaml:44:37: keys-010: this quote is blank
wrong.yaml:51:37: `0160` is no plain decimal number; write its digits alone, or quotes around it \
if it is text
"""


def written(folder: Path, text: str, name: str = "wrong.yaml") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def said(path: Path, *, published: bool = True) -> str:
    found = check_golden([path], snapshot(ROTATION, LAPTOPS) if published else None)
    return "".join(f"{one}\n" for one in found.problems).replace(f"{path.parent}/", "")


def test_every_mistake_is_named_at_its_place(tmp_path: Path) -> None:
    assert said(written(tmp_path, WRONG)) == SAID


def test_without_a_domain_the_evidence_is_left_alone(tmp_path: Path) -> None:
    lines = said(written(tmp_path, WRONG), published=False)
    assert "no document" not in lines
    assert "no more" not in lines
    assert "missing key 'question'" in lines


GOOD = """\
- id: keys-001
  kind: table
  question: how old may a webhook secret get
  reference: 30 days, for restricted data.
  must_include: [30 days]
  tags: [webhooks]
  instructions: Either column counts.
  evidence:
  - {document: key-rotation, quote: "Webhook secret | 30 days"}
- id: keys-002
  kind: proposed
  question: who pays
  proposed: {by: U0INES, origin: correction, kind: unanswerable}
  category: out_of_documents
"""


def test_a_file_without_mistakes_says_what_it_holds(tmp_path: Path) -> None:
    path = written(tmp_path, GOOD)
    found = check_golden([path], snapshot(ROTATION))
    assert found.problems == []
    assert dict(found.kinds[path]) == {"table": 1, "proposed": 1}


def test_text_that_changed_is_counted_by_question(tmp_path: Path) -> None:
    changed = ROTATION.replace("30 days", "45 days")
    found = check_golden([written(tmp_path, GOOD)], snapshot(changed))
    assert found.stale == 1
    fact, quote = map(str, found.problems)
    assert "it says now: Webhook secret | 45 days | 90 days" in quote
    assert "'30 days' stands in none of its documents" in fact


def test_a_quote_may_go_on_in_the_next_chunk() -> None:
    chunks = snapshot(ROTATION).chunks("key-rotation")
    across = f"{chunks[0].text[-30:]} {chunks[1].heading_path[-1]} {chunks[1].text[:20]}"
    assert holds(chunks, across)
    assert not holds(chunks, f"{chunks[0].text[-30:]} {chunks[-1].text[:20]}")


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("- id: [", "wrong.yaml:1:8"),
        ("a: 1", "wrong.yaml:1:1: expected a list"),
        ("", "wrong.yaml:1:1: holds no questions"),
        ("- {id: a}\n---\n- {id: b}", "a second document begins here"),
        ("- {id: a, kind: lookup, question: 2026-13-45, history: 7}", "expected a list"),
    ],
)
def test_what_is_no_list_of_questions_is_one_problem(
    text: str, complaint: str, tmp_path: Path
) -> None:
    lines = said(written(tmp_path, text)).splitlines()
    assert len(lines) == 1
    assert complaint in lines[0]


def test_the_same_question_in_another_thread_is_another_question(tmp_path: Path) -> None:
    text = "".join(
        f"- {{id: q{n}, kind: ambiguous, question: and in the EU, history: "
        f"[{{role: user, content: {asked}}}, {{role: assistant, content: yes it is}}]}}\n"
        for n, asked in enumerate(["how old may keys get", "who is on call"])
    )
    assert said(written(tmp_path, text)) == ""


def test_what_people_proposed_can_be_checked_and_asked(tmp_path: Path) -> None:
    proposal = Proposal(
        id="C0SECURITY:17.5",
        domain="security",
        question="who replaces a key",
        reference="The owner: ask in #keys",
        source="",
        by="U0INES",
        origin="handoff",
        answered="",
        path="no_answer_found",
    )
    path = written(tmp_path, to_yaml([proposal]))
    assert said(path) == ""
    (question,) = load_golden([path])
    assert (question.id, question.kind) == ("security-c0security-17-5", "proposed")
    assert question.proposed == ProposedBy(by="U0INES", origin="handoff")
