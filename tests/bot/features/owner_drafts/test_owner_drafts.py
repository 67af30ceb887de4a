"""What is suggested to a document's owner: drafted once, decided by a human, commented once."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from sqlalchemy import delete, update

from bot.features.owner_drafts.delivery import REMIND, SEND
from bot.features.owner_drafts.posts import DraftPosts
from bot.features.owner_drafts.proposals import propose
from bot.features.owner_drafts.service import COMMENT, DraftDecisions
from bot.features.owner_drafts.store import MAX_MESSAGES_PER_DAY, DraftStore, OwnerMessageRow
from bot.features.owner_drafts.views import ACCEPT, DISMISS, EDIT
from bot.features.registry import FEATURE_TABLES
from bot.privacy.tables import erase_in_features, forget_with_questions
from playground.google_stand_in import GoogleFault
from playground.slack.rules.block_rules import problems
from playground.slack.tidewater import SlackUser
from tests.bot.conftest import eventually, words
from tests.bot.fakes import claim
from tests.bot.features.owner_drafts.office import (
    ADMIN,
    VAULT,
    WORDS,
    OwnersOffice,
    guest,
    open_owners_office,
)


@pytest.fixture(scope="module")
def running_office(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OwnersOffice]:
    with open_owners_office(tmp_path_factory.mktemp("owners")) as opened:
        yield opened


@pytest.fixture
def office(running_office: OwnersOffice) -> Iterator[OwnersOffice]:
    yield running_office
    running_office.settle()
    running_office.google.faults.clear()
    running_office.slack.faults.clear()
    with running_office.bot.engine.begin() as connection:
        connection.execute(delete(OwnerMessageRow))  # of one's five a day


@pytest.fixture
def owner(office: OwnersOffice) -> SlackUser:
    return office.person()


def shown(message: dict[str, Any]) -> str:
    assert problems(message["blocks"]) == []
    return words(message)


def comments(office: OwnersOffice, document: str) -> list[str]:
    return [one["content"] for one in office.google.comments.of(document)]


def test_an_owner_accepts_and_the_words_stand_as_a_comment(
    office: OwnersOffice, owner: SlackUser
) -> None:
    document = office.document(owner)
    key = office.suggest(document, question_id="C0SECURITY:1.0")
    draft = shown(office.message(owner.id, key))
    for part in (
        *(WORDS, "Singapore?", "Maximum age", "#heading=h.age", "<@U0DANA>"),
        *("you own the document", "archives/C0SECURITY/p1", "Everybody who can read"),
    ):
        assert part in draft
    office.click(owner.id, key, ACCEPT)
    after = shown(office.message(owner.id, key, "stand as a comment"))
    assert f"Accepted by <@{owner.id}>" in after
    assert '"button"' not in after
    (comment,) = office.google.comments.of(document)
    assert WORDS in comment["content"]
    assert f"[copilot {key[:8]}]" in comment["content"]
    assert comment["quotedFileContent"]["value"] == "Maximum age"
    proposal = next(one for one in propose(office.bot.engine) if one.id == "C0SECURITY:1.0")
    assert (proposal.origin, proposal.reference) == ("accepted", WORDS)
    assert (proposal.document, proposal.heading) == (document, "Maximum age")


def test_suggested_twice_and_pressed_twice_is_once(office: OwnersOffice, owner: SlackUser) -> None:
    document = office.document(owner)
    key = office.suggest(document, id="twice")
    office.message(owner.id, key)
    office.bot.inbox.put("another event", {"suggestion": {
        "id": "twice", "kind": "answer", "domain": "security", "document": document}})  # fmt: skip
    office.settle()
    for _ in range(3):
        office.click(owner.id, key, ACCEPT)
    office.message(owner.id, key, "Accepted by")
    office.settle()
    assert len(office.messages(owner.id, key)) == 1
    assert len(comments(office, document)) == 1


def test_others_who_press_a_forwarded_draft_decide_nothing(
    office: OwnersOffice, owner: SlackUser
) -> None:
    document = office.document(owner)
    key = office.suggest(document)
    office.message(owner.id, key)
    office.click(owner.id, key, ACCEPT, by="U0PRIYA")
    office.settle()
    office.click(owner.id, key, EDIT, by="U0PRIYA")
    form = str(office.form("U0PRIYA"))
    assert "somebody else to decide" in form
    assert WORDS not in form
    office.slack.close_view("U0PRIYA")
    assert office.draft(key).waits
    assert comments(office, document) == []


def test_the_first_decision_counts(office: OwnersOffice, owner: SlackUser) -> None:
    key = office.suggest(office.document(owner))
    office.message(owner.id, key)
    office.click(owner.id, key, DISMISS, by=ADMIN)
    office.form(ADMIN)
    office.click(owner.id, key, EDIT)
    office.form(owner.id)
    office.submit(ADMIN, reason="It stands there already")
    assert office.decided(key).state == "dismissed"
    office.submit(owner.id, words="no", heading="")
    office.settle()
    assert office.draft(key).decided_by == ADMIN
    told = shown(office.message(owner.id, key, "Dismissed by"))
    assert f"<@{ADMIN}>" in told
    assert "It stands there already" in told


def test_an_owner_edits_words_and_heading_first(office: OwnersOffice, owner: SlackUser) -> None:
    document = office.document(owner)
    key = office.suggest(document)
    office.message(owner.id, key)
    office.click(owner.id, key, EDIT)
    assert WORDS in str(office.form(owner.id))
    refused = office.submit(owner.id, words="  ", heading="")
    assert refused["response_action"] == "errors"
    office.submit(owner.id, words="60 days <!channel> in SG.", heading="Regions")
    assert "60 days" in shown(office.message(owner.id, key, "Accepted by"))
    office.settle()
    (comment,) = comments(office, document)
    assert comment.startswith('For "Regions":\n\n60 days <!channel> in SG.')
    assert "<!channel>" not in words(office.message(owner.id, key))


def test_what_an_owner_dismisses_is_proposed_no_more(
    office: OwnersOffice, owner: SlackUser
) -> None:
    question = "C0SECURITY:77.0"
    claim(
            office.bot.records,
        question_id=question, event_id="Ev77", channel="C0SECURITY", thread_ts="77.0",
        asker="U0YOU", text="how old?", domain="security",
    )  # fmt: skip
    office.bot.feedback.explain(question, "U0DANA", reason="", correction=WORDS, source="")
    assert question in {one.id for one in propose(office.bot.engine)}
    key = office.suggest(office.document(owner), question_id=question)
    office.message(owner.id, key)
    office.click(owner.id, key, DISMISS)
    office.form(owner.id)
    office.submit(owner.id, reason="")
    office.decided(key)
    assert question not in {one.id for one in propose(office.bot.engine)}


def test_words_of_a_private_channel_go_to_who_may_see_it_and_are_reviewed_first(
    office: OwnersOffice, owner: SlackUser
) -> None:
    document = office.document(owner)
    key = office.suggest(document, channel=VAULT)
    draft = shown(office.message(ADMIN, key))
    assert WORDS in draft
    assert "isn't public" in draft
    assert f'"{ACCEPT}"' not in draft
    assert office.messages(owner.id, key) == []
    office.click(ADMIN, key, EDIT)
    assert "isn't public" in str(office.form(ADMIN))
    office.submit(ADMIN, words=WORDS, heading="Maximum age")
    office.message(ADMIN, key, "Accepted by")
    office.settle()
    (comment,) = comments(office, document)
    assert "slack.com" not in comment


def test_words_that_nobody_may_see_are_shown_to_nobody(
    office: OwnersOffice, owner: SlackUser
) -> None:
    document = office.document(owner)
    key = office.suggest(document, channel="D0DANA")
    draft = shown(office.message(owner.id, key))
    assert "can't see" in draft
    assert "Maximum age" in draft
    office.click(owner.id, key, EDIT)
    form = str(office.form(owner.id))
    assert "Asked" not in form
    everything = draft + form
    for secret in (WORDS, "Singapore", "<@U0DANA>", "archives"):
        assert secret not in everything
    office.submit(owner.id, words="Written by the owner.", heading="Maximum age")
    office.message(owner.id, key, "Accepted by")
    office.settle()
    assert WORDS not in comments(office, document)[0]
    assert office.draft(key).final_by == owner.id  # erased with the owner, not with the other


@pytest.mark.parametrize("owned_by", ["nobody", "guest", "deactivated", "shared drive"])
def test_without_an_owner_in_slack_an_admin_gets_it(office: OwnersOffice, owned_by: str) -> None:
    person = office.person()
    if owned_by == "guest":
        office.slack.workspace.welcome(guest(person))
    if owned_by == "deactivated":
        office.slack.workspace.welcome(replace(person, deleted=True))
    more = {"drive_id": "DRIVE"} if owned_by == "shared drive" else {}
    document = office.document(None if owned_by == "nobody" else person, **more)
    key = office.suggest(document)
    assert "as an admin of Security help" in shown(office.message(ADMIN, key))
    assert office.messages(person.id, key) == []


def test_on_a_shared_drive_whoever_edited_last_gets_it_else_a_manager(
    office: OwnersOffice, owner: SlackUser
) -> None:
    edited = office.document(None, drive_id="DRIVE", last_editor=owner.email)
    assert "edited the document last" in shown(office.message(owner.id, office.suggest(edited)))
    manager = office.person()
    organizer = {"type": "user", "role": "organizer", "emailAddress": manager.email}
    managed = office.document(None, drive_id="DRIVE", permissions=(organizer,))
    assert "manage the shared drive" in shown(office.message(manager.id, office.suggest(managed)))


def test_with_nobody_to_ask_it_waits_and_a_later_admin_finds_it(office: OwnersOffice) -> None:
    key = office.suggest(office.document(), domain="orphaned")
    office.settle()
    assert office.draft(key).waits
    assert office.draft(key).addressee == ""
    assert key in {one.key for one in office.drafts.waiting("U0DANA", ["orphaned"], 50)}
    assert any(
        timer.subject == key
        for timer in office.bot.timers.due(office.draft(key).made_at.replace(year=2999))
    )


def test_a_suggestion_without_a_document_goes_to_an_admin_with_words_to_copy(
    office: OwnersOffice,
) -> None:
    key = office.suggest("", heading="")
    assert "Nobody knows which document" in shown(office.message(ADMIN, key))
    office.click(ADMIN, key, ACCEPT)
    after = shown(office.message(ADMIN, key, "Accepted by"))
    assert "Copy this" in after
    assert "rich_text_preformatted" in after


def test_an_account_that_may_only_read_leaves_the_owner_the_words_to_copy(
    office: OwnersOffice, owner: SlackUser
) -> None:
    document = office.document(owner, account_role="reader")
    key = office.suggest(document)
    office.message(owner.id, key)
    office.click(owner.id, key, ACCEPT)
    after = shown(office.message(owner.id, key, "no commenter"))
    assert "Copy this" in after
    assert WORDS in after
    assert comments(office, document) == []


@pytest.mark.parametrize(
    "fault",
    [
        GoogleFault(method="comments.create", status=429, reason="rateLimitExceeded", times=2),
        GoogleFault(method="comments.create", status=500, times=2),
        GoogleFault(method="comments.create", kind="drop"),
        GoogleFault(method="comments.create", kind="truncate", times=2),
        GoogleFault(method="comments.list", status=503),
    ],
    ids=["429", "500", "reply lost", "reply cut", "list fails"],
)
def test_on_a_bad_day_at_google_it_is_one_comment(
    office: OwnersOffice, owner: SlackUser, fault: GoogleFault
) -> None:
    document = office.document(owner)
    key = office.suggest(document)
    office.message(owner.id, key)
    office.google.faults.add(fault)
    office.click(owner.id, key, ACCEPT)
    office.message(owner.id, key, "stand as a comment")
    assert len(comments(office, document)) == 1


def test_while_google_is_away_it_keeps_trying(office: OwnersOffice, owner: SlackUser) -> None:
    document = office.document(owner)
    key = office.suggest(document)
    office.message(owner.id, key)
    office.google.faults.add(GoogleFault(method="comments", status=503, times=None))
    office.click(owner.id, key, ACCEPT)
    away = shown(office.message(owner.id, key, "keep trying"))
    assert WORDS in away
    office.google.faults.clear()
    office.due(COMMENT, key)
    office.message(owner.id, key, "stand as a comment")
    office.due(COMMENT, key)
    office.settle()
    assert len(comments(office, document)) == 1


def test_while_drive_is_away_the_owner_is_not_guessed(
    office: OwnersOffice, owner: SlackUser
) -> None:
    office.google.faults.add(GoogleFault(method="files.get", status=503, times=None))
    key = office.suggest(office.document(owner))
    office.settle()
    assert office.draft(key).addressee == ""
    office.google.faults.clear()
    office.due(SEND, key)
    office.message(owner.id, key)


def test_a_document_deleted_meanwhile_is_said_to_be_gone(
    office: OwnersOffice, owner: SlackUser
) -> None:
    document = office.document(owner)
    key = office.suggest(document)
    office.message(owner.id, key)
    office.google.drive.delete(document)
    office.click(owner.id, key, ACCEPT)
    after = shown(office.message(owner.id, key, "is deleted"))
    assert WORDS in after
    assert office.draft(key).state == "gone"


def test_a_renamed_document_is_called_as_it_is_now(office: OwnersOffice, owner: SlackUser) -> None:
    document = office.document(owner)
    office.google.drive.rename(document, "Key Standard 2027")
    assert "Key Standard 2027" in shown(office.message(owner.id, office.suggest(document)))


def test_one_reminder_after_a_week_and_then_silence(office: OwnersOffice, owner: SlackUser) -> None:
    document = office.document(owner)
    key = office.suggest(document)
    office.message(owner.id, key)
    for _ in range(2):
        office.due(REMIND, key)
        office.settle()
    first, second = office.messages(owner.id, key)
    assert "has waited since" in shown(second)
    assert "has waited since" not in shown(first)
    office.slack.click(f"D{owner.id[1:]}", second["ts"], ACCEPT, owner.id)
    eventually(lambda: all("Accepted" in words(m) for m in office.messages(owner.id, key)))
    office.due(REMIND, key)
    office.settle()
    assert len(office.messages(owner.id, key)) == 2


def test_a_reminder_shows_a_decision_made_before_its_timestamp_was_stored(
    office: OwnersOffice, owner: SlackUser, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = office.suggest(office.document(owner))
    office.message(owner.id, key)
    store = DraftStore.set_posted

    def late(drafts: DraftStore, *posted: Any) -> None:
        eventually(lambda: office.draft(key).comment == "made", timeout=20)
        store(drafts, *posted)

    office.settle()
    monkeypatch.setattr(DraftStore, "set_posted", late)
    office.due(REMIND, key)
    eventually(lambda: len(office.messages(owner.id, key)) == 2)
    office.click(owner.id, key, ACCEPT)
    office.settle()
    assert all("stand as a comment" in words(m) for m in office.messages(owner.id, key))


def test_what_came_of_the_words_is_shown_whichever_thread_updates_last(
    office: OwnersOffice, owner: SlackUser, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = office.suggest(office.document(owner))
    office.message(owner.id, key)
    office.settle()
    update, comment = DraftPosts._update, DraftDecisions._comment
    begun = threading.Event()

    def slow_update(posts: DraftPosts, message: Any, content: Any) -> None:
        if "stand as a comment" not in str(content.blocks):
            begun.set()
            eventually(lambda: "stand as" in words(office.messages(owner.id, key)[0]), timeout=20)
        update(posts, message, content)

    def late_comment(decisions: DraftDecisions, draft: Any) -> Any:
        begun.wait(20)
        return comment(decisions, draft)

    monkeypatch.setattr(DraftPosts, "_update", slow_update)
    monkeypatch.setattr(DraftDecisions, "_comment", late_comment)
    office.click(owner.id, key, ACCEPT)
    decided = office.decided(key)
    office.click(owner.id, key, ACCEPT, by=ADMIN)  # who is second, and sees who was first
    office.settle()
    assert decided.comment == ""
    assert "stand as a comment" in words(office.messages(owner.id, key)[0])


def test_a_reminder_finds_out_that_the_document_is_gone(
    office: OwnersOffice, owner: SlackUser
) -> None:
    document = office.document(owner)
    key = office.suggest(document)
    office.message(owner.id, key)
    office.google.drive.trash(document)
    office.due(REMIND, key)
    assert "is deleted" in shown(office.message(owner.id, key, "is deleted"))
    assert len(office.messages(owner.id, key)) == 1


@pytest.mark.parametrize("how", ["left", "a guest by now", "erased"])
def test_when_its_owner_is_gone_an_admin_is_reminded_in_their_place(
    office: OwnersOffice, owner: SlackUser, how: str
) -> None:
    key = office.suggest(office.document(owner))
    office.message(owner.id, key)
    office.settle()
    if how == "erased":
        with office.bot.engine.begin() as connection:
            erase_in_features(connection, [owner.id], FEATURE_TABLES.tables)
    changed = guest(owner) if how == "a guest by now" else replace(owner, deleted=True)
    office.slack.workspace.welcome(changed)
    office.bot.gate.people._by_id._entries.clear()
    office.bot.gate.people._by_email._entries.clear()
    before = len(office.messages(owner.id, key))
    office.due(REMIND, key)
    assert "has waited since" in shown(office.message(ADMIN, key))
    assert len(office.messages(owner.id, key)) == before
    office.click(ADMIN, key, ACCEPT)
    assert office.decided(key).decided_by == ADMIN


def test_nobody_gets_more_than_five_a_day_and_the_rest_waits_at_home(
    office: OwnersOffice, owner: SlackUser
) -> None:
    document = office.document(owner)
    keys = [office.suggest(document) for _ in range(MAX_MESSAGES_PER_DAY + 2)]
    office.settle()
    sent = [key for key in keys if office.messages(owner.id, key)]
    assert len(sent) == MAX_MESSAGES_PER_DAY
    last = [key for key in sent if "last message of today" in str(office.messages(owner.id, key))]
    assert len(last) == 1
    office.slack.open_app("home", owner.id)
    home = eventually(lambda: office.slack.home(owner.id))
    assert "Suggestions for documents" in str(home)
    assert "2 more wait behind these" in str(home)
    assert WORDS not in str(home)
    held = next(key for key in keys if key not in sent)
    office.due(SEND, held)
    office.settle()
    assert office.messages(owner.id, held) == []
    with office.bot.engine.begin() as connection:
        yesterday = office.draft(held).made_at.replace(year=2020)
        connection.execute(update(OwnerMessageRow).values(at=yesterday))
    office.due(SEND, held)
    office.message(owner.id, held)


def test_an_owner_who_is_no_admin_decides_at_home(office: OwnersOffice, owner: SlackUser) -> None:
    document = office.document(owner)
    key = office.suggest(document)
    office.message(owner.id, key)
    office.slack.open_app("home", owner.id)
    eventually(lambda: "Suggestions for documents" in str(office.slack.home(owner.id)))
    office.slack.click_in_view(EDIT, owner.id)
    office.form(owner.id)
    office.submit(owner.id, words=WORDS, heading="")
    eventually(lambda: "Suggestions for documents" not in str(office.slack.home(owner.id)))
    office.message(owner.id, key, "Accepted by")
    assert len(comments(office, document)) == 1


def test_an_admin_who_may_not_read_the_document_is_not_told_which_it_is(
    office: OwnersOffice,
) -> None:
    document = office.document()
    key = office.suggest(document, domain="sealed", channel="C0PRIVACY")
    told = str(office.message(ADMIN, key))
    assert "a document of Sealed help that you may not read" in told
    for secret in ("Key Standard", "Maximum age", document):
        assert secret not in told


def test_erased_words_vanish_from_a_draft_that_waits(
    office: OwnersOffice, owner: SlackUser
) -> None:
    person = office.person()
    document = office.document(owner)
    key = office.suggest(document, by=person.id)
    other = office.suggest(document, question_id="C0SECURITY:88.0")
    office.message(owner.id, key)
    office.message(owner.id, other)
    office.settle()  # what Slack shows may not be on record yet, and is found a minute later then
    with office.bot.engine.begin() as connection:
        erase_in_features(connection, [person.id], FEATURE_TABLES.tables)
        forget_with_questions(connection, ["C0SECURITY:88.0"], FEATURE_TABLES.tables)
    office.tick()
    for one in (key, other):
        told = shown(office.message(owner.id, one))
        assert WORDS not in told
        assert "Singapore" not in told
    assert "no longer kept" in str(office.messages(owner.id, other)[0])
    office.click(owner.id, key, DISMISS)
    office.form(owner.id)
    office.submit(owner.id, reason="")
    office.decided(key)


def test_a_lost_reply_from_slack_leads_to_one_draft(office: OwnersOffice, owner: SlackUser) -> None:
    document = office.document(owner)
    office.message(owner.id, office.suggest(document))
    office.slack.faults.add("chat.postMessage", drop_response=True)
    key = office.suggest(document)
    office.message(owner.id, key)
    office.settle()
    assert len(office.messages(owner.id, key)) == 1


def test_a_document_to_look_over_is_nobody_s_claim_and_suggests_no_words(
    office: OwnersOffice, owner: SlackUser
) -> None:
    why = "Was to be reviewed by 1 Mar 2025, cited 9 times in 90 days."
    more = {"heading": "", "by": "", "channel": "", "words": "", "permalink": ""}
    key = office.suggest(office.document(owner), kind="review", question=why, **more)
    draft = shown(office.message(owner.id, key))
    assert "is due to be looked over" in draft
    assert f"*Why*\\n> {why}" in draft
    for never in ("Somebody", "<@>", "Asked", "can't see"):
        assert never not in draft
    office.click(owner.id, key, EDIT)
    form = str(office.form(owner.id))
    assert why in form
    assert "'initial_value'" not in form
    office.slack.close_view(owner.id)
