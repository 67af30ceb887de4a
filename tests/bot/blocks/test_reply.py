"""Answers as Slack messages: within its limits, readable, and harmless."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agents.answer import Citation
from bot.blocks.fallbacks import fallback_versions, older_version, plain_version
from bot.blocks.kit import age, link
from bot.blocks.markdown import Prose, pieces, segments
from bot.blocks.render import apology, render
from bot.blocks.sanitize.markdown import Links, links_to, sanitize_markdown
from bot.blocks.tables import Grid, aligned
from bot.posting.streaming import safe_end
from playground.slack.rules.block_rules import problems, too_long
from tests.bot.fakes import answer

NOW = datetime.now(UTC)
CITED = "https://docs.google.com/document/d/KEY/edit#heading=h.age"


def messages(text: str, **more: Any) -> list[Any]:
    return render(answer(text, **more), question_id="C1:1.0", now=NOW)


def body(text: str, **more: Any) -> str:
    found = [b for m in messages(text, **more) for b in m.blocks]
    return "\n".join(b["text"] for b in found if b["type"] == "markdown")


def sources(message: Any) -> str:
    block = next(b for b in message.blocks if b.get("block_id") == "oncall_sources")
    return str(block["text"]["text"])


def size(message: Any) -> int:
    """Every string a reader or Slack counts."""

    def walk(value: Any) -> int:
        if isinstance(value, dict):
            return sum(walk(v) for key, v in value.items() if key in SEEN)
        if isinstance(value, list):
            return sum(map(walk, value))
        return len(value) if isinstance(value, str) else 0

    return len(message.text) + walk(message.blocks)


SEEN = {"text", "rows", "elements", "fields", "value", "positive_button", "negative_button"}


@pytest.mark.parametrize(
    "text",
    [
        "Ping <!channel> now",
        "Ping <!here|here> now",
        "Ping <!subteam^S0123456> now",
        "Ping <!subteam^S0123456|@sec> now",
        "Ping <@U0123456789> now",
        "Ping <#C0123456789|general>",
        "`<!channel>` in code",
        "```\n<!everyone>\n```",
        "[click <!channel>](https://docs.google.com/document/d/KEY/edit#heading=h.age)",
        "<!channel",
        "<\u200b!channel>",
        "<!date^1392734382^Posted {date_num}^https://evil.example|x>",
    ],
)
def test_slack_control_sequences_are_broken(text: str) -> None:
    sent = json.dumps([m.blocks for m in messages(text)], ensure_ascii=False)
    assert not re.search(r"<[!@#]", sent)
    assert not any(re.search(r"<[!@#]", m.text) for m in messages(text))


@pytest.mark.parametrize("word", ["@channel", "@here", "@everyone", "@Channel", "(@here)"])
def test_words_that_would_ping_do_not(word: str) -> None:
    assert not re.search(r"@(channel|here|everyone)", body(f"Tell {word} about it"), re.IGNORECASE)


def test_an_address_is_not_mistaken_for_a_ping() -> None:
    assert "ops@here.example" in body("Write to `ops@here.example`")


@pytest.mark.parametrize(
    "text",
    [
        "[the form](https://evil.example/form)",
        "see https://evil.example/form",
        "see <https://evil.example/form>",
        "see <https://evil.example/form|the form>",
        "![pixel](https://evil.example/p.png?q=secret)",
        "[![x](https://evil.example/p.png)](https://evil.example/)",
        "[a [nested] one](https://evil.example/(a))",
        "[form][1]\n\n[1]: https://evil.example/form",
        "[x](javascript:alert(1))",
        "[x](data:text/html;base64,AAAA)",
        '[x](https://evil.example "title")',
        "[x](<https://evil.example/a b>)",
        "www.evil.example/form",
        "[https://docs.google.com](https://evil.example)",
        "[x](https://docs.google.com@evil.example/)",
        "<a href='https://evil.example'>the form</a>",
        "slack://channel?id=1 or mailto:a@evil.example",
        "[x](HTTPS://EVIL.EXAMPLE)",
        "[x](//evil.example)",
        "evil.com/login?x=1",
    ],
)
def test_strangers_are_not_linked(text: str) -> None:
    out = re.sub(r"`[^`]*`", "", body(text))
    assert "](" not in out
    assert "://" not in out
    assert "href" not in out
    assert "www." not in out
    assert "evil.com" not in out


def test_citations_and_allowed_hosts_stay_links() -> None:
    links = links_to([CITED], ["wiki.tidewater.example"])
    kept = sanitize_markdown(
        f"See [the standard]({CITED}) and [the wiki](https://wiki.tidewater.example/keys).", links
    )
    assert f"[the standard]({CITED})" in kept
    assert "(https://wiki.tidewater.example/keys)" in kept
    assert not links.allow("https://wiki.tidewater.example.evil.com/")
    assert not links.allow("https://evil-wiki.tidewater.example.com/")


def test_code_keeps_every_character() -> None:
    code = "```\ncurl https://evil.example/$1 [x](y) <name>\n```"
    assert body(code) == code


def test_placeholders_in_angle_brackets_stay() -> None:
    assert "<cluster-name>" in body("Run it on <cluster-name> in <region>")


def test_html_goes_and_its_words_stay() -> None:
    assert body("<p>Keep <b>calm</b></p><script>x</script>") == "Keep calmx"


def test_inline_citation_numbers_survive() -> None:
    assert body("Every 90 days [1](unless exempt) and [1]") == (
        "Every 90 days [1] (unless exempt) and [1]"
    )


def test_a_table_becomes_a_slack_table() -> None:
    rows = "| Gold | 90 days<br>(EU: 30) |\n| **A\\|B** | |"
    text = f"Limits:\n\n| Tier | Max age |\n|---|---|\n{rows}\n\nDone."
    blocks = messages(text)[0].blocks
    assert [b["type"] for b in blocks[:3]] == ["markdown", "data_table", "markdown"]
    assert blocks[1]["caption"] == "2 rows"
    shown = [[cell["text"] for cell in row] for row in blocks[1]["rows"]]
    assert shown == [["Tier", "Max age"], ["Gold", "90 days · (EU: 30)"], ["A|B", "\u00a0"]]


def test_a_long_table_has_pages_and_its_header_again_in_each_message() -> None:
    table = "| Code | Meaning |\n|---|---|\n" + "\n".join(
        f"| E{n} | {'x' * 60} |" for n in range(250)
    )
    sent = messages(f"{table}\n\nand\n\n{table}")
    for message in sent:
        for block in (b for b in message.blocks if b["type"] == "data_table"):
            assert len(block["rows"]) <= 100
            assert block["page_size"] <= 10
            assert [cell["text"] for cell in block["rows"][0]] == ["Code", "Meaning"]
        older = older_version(message).blocks
        assert [b["type"] for b in older].count("table") <= 1
        assert problems(older) == []
    tables = [b for m in sent for b in m.blocks if b["type"] == "data_table"]
    assert sum(len(b["rows"]) - 1 for b in tables) == 500


def test_a_table_too_wide_for_slack_is_still_readable() -> None:
    header = "|".join(f"h{n}" for n in range(25))
    text = f"|{header}|\n|{'|'.join('---' for _ in range(25))}|\n|{header}|"
    assert "- **h0**: h1: h1; h2: h2" in body(text)


def test_pipes_in_code_are_not_a_table() -> None:
    text = "```\n| a | b |\n|---|---|\n```"
    assert list(segments(text)) == [Prose(text)]


def test_a_long_answer_is_split_and_nothing_is_lost() -> None:
    text = "\n\n".join(f"Step {n}. " + "word " * 60 for n in range(120))
    sent = messages(text)
    assert len(sent) > 1
    joined = " ".join(b["text"] for m in sent for b in m.blocks if b["type"] == "markdown")
    assert joined.split() == text.split()
    kinds = [{b["type"] for b in m.blocks} for m in sent]
    assert all("context_actions" not in kind for kind in kinds[:-1])
    assert "context_actions" in kinds[-1]


def test_split_code_is_closed_and_opened_again() -> None:
    text = "Run:\n\n```bash\n" + "\n".join(f"step --number {n}" for n in range(900)) + "\n```"
    for piece in pieces(text, 4_000):
        assert len(piece) <= 4_000
        assert piece.count("```") % 2 == 0


MARKS = st.sampled_from(
    ["| 90 days | `a_b` |\n", "1. ", "1. Do:\n   ```sh\n   x\n   ```\n1. Then\n", "   ", "~~~",
     "word ", "\n", "\n\n", "```", "`", "| a | b |\n", "|---|---|\n", "<!channel>", "[x](", ")",
     "https://evil.example ", "<br>", "**", "é", "🙂", "# ", "- ", "[1]", "\\", "<", ">", "x" * 900]
)  # fmt: skip


@settings(max_examples=150, deadline=None)
@given(st.lists(MARKS, max_size=60).map("".join))
def test_any_text_fits_slack_and_cannot_ping(text: str) -> None:
    for message in messages(text * 5):
        assert size(message) < 13_000
        assert len(message.blocks) <= 50
        assert message.text.strip() or message.blocks
        assert sum(len(b["text"]) for b in message.blocks if b["type"] == "markdown") <= 12_000
        assert "<!channel>" not in json.dumps(message.blocks)
        for form in fallback_versions(message):
            assert problems(form.blocks) == []
            assert not too_long(form.blocks)
        for block in plain_version(message).blocks:
            assert block["type"] not in {"markdown", "table", "data_table", "context_actions"}
            if block["type"] == "section":
                assert 0 < len(block["text"]["text"]) <= 3_000


def test_many_citations_stay_within_a_section() -> None:
    citations = tuple(
        Citation(
            number=n, document=f"d{n}", title="T" * 300, heading="H" * 300,
            url=f"https://docs.google.com/document/d/{'x' * 200}{n}", quote="q",
        )
        for n in range(1, 40)
    )  # fmt: skip
    message = messages("x " * 4_000, citations=citations)[-1]
    assert size(message) < 13_000
    sources = next(b for b in message.blocks if b.get("block_id") == "oncall_sources")
    assert len(sources["text"]["text"]) <= 3_000
    assert "more" in sources["text"]["text"]


def test_a_source_link_cannot_end_early() -> None:
    assert link("https://x.example/a|b>c", "a > b | <!here>") == (
        "<https://x.example/a%7Cb%3Ec|a &gt; b ¦ &lt;!here&gt;>"
    )
    assert link("javascript:alert(1)", "title") == "title"
    assert link("", "runbooks/db.md") == "runbooks/db.md"


def test_a_refusal_shows_the_nearest_documents_and_the_way_to_a_human() -> None:
    nearest = answer().citations
    sent = messages("I couldn't find this.", path="no_answer_found", citations=(), nearest=nearest)
    text = json.dumps(sent[0].blocks, ensure_ascii=False)
    assert "*Nearest documents*" in text
    assert "Key Rotation Standard › Maximum age" in text
    assert "Ask a human" in text
    assert "Confidence" not in text


def test_an_ambiguous_question_gets_buttons() -> None:
    options = ("Rotation of signing keys " + "?" * 90, "Rotation of API keys")
    sent = messages("Which keys?", path="ambiguous_query", citations=(), options=options)
    buttons = next(b for b in sent[0].blocks if b.get("block_id") == "oncall_options")["elements"]
    assert [b["value"] for b in buttons] == list(options)
    assert all(len(b["text"]["text"]) <= 75 for b in buttons)


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"degraded": ("answer",)}, "so this is quoted from the documents"),
        ({"degraded": ("query_optimizer",)}, "something may be missing here"),
        ({"degraded": ("answer",), "path": "no_answer_found"}, "ask again later"),
    ],
)
def test_a_degraded_answer_says_what_that_means(more: dict[str, Any], said: str) -> None:
    assert said in str(messages("x", **more)[0].blocks)


def test_however_many_notes_there_are_none_is_lost() -> None:
    notes = [f"Note {number}." for number in range(14)]
    rendered = render(answer("Yes [1]."), question_id="C1:1.0", now=NOW, notes=notes)
    assert not problems(rendered[-1].blocks)
    block = next(b for b in rendered[-1].blocks if b.get("block_id") == "oncall_notes")
    text = "\n".join(one["text"] for one in block["elements"])
    assert all(note in text for note in notes)
    assert "Confidence" in text


def test_sources_of_one_place_share_a_line() -> None:
    cited = answer().citations[0]
    sent = messages("x [1] [2]", citations=(cited, replace(cited, number=2)))
    lines = sources(sent[0]).splitlines()
    assert len(lines) == 2
    assert lines[1].startswith("[1] [2] <")


def test_a_source_that_nothing_opens_names_its_path() -> None:
    cited = replace(answer().citations[0], document="runbooks/keys.md", url="", modified_at=None)
    line = sources(messages("x [1]", citations=(cited,))[0]).splitlines()[1]
    assert line == "[1] Key Rotation Standard › Maximum age · runbooks/keys.md"


def test_a_document_says_its_title_and_age_once() -> None:
    first = answer().citations[0]
    other = replace(
        first, document="b", title="Runbook", heading="Roles", url="https://x.example/b"
    )
    cited = (first, replace(other, number=2), replace(first, number=3, heading="Overdue", page=4))
    shown = sources(messages("x [1] [2] [3]", citations=cited)[0]).splitlines()
    assert [line.partition(" ")[0] for line in shown[1:]] == ["[1]", "[3]", "[2]"]
    assert shown[1].endswith("Key Rotation Standard › Maximum age> · updated 3 months ago")
    assert shown[2].endswith("|… › Overdue> · page 4")
    nearest = sources(messages("No.", path="no_answer_found", citations=(), nearest=cited)[0])
    assert nearest.count("updated") == 2
    assert nearest.count("Key Rotation Standard") == 1


def test_a_refusal_names_each_nearest_document_once_and_offers_a_human_first() -> None:
    nearest = answer().citations
    sent = messages("I found no answer.", path="no_answer_found", citations=(), nearest=nearest)
    assert sent[0].blocks[0]["text"] == "I found no answer."
    assert "Key Rotation Standard › Maximum age" in sources(sent[0])
    assert sent[0].blocks[-1]["elements"][0]["style"] == "primary"


def test_a_question_back_is_not_to_be_judged() -> None:
    sent = messages("Which?", path="ambiguous_query", citations=(), options=("a?", "b?"))
    assert "feedback_buttons" not in str(sent[0].blocks)


@pytest.mark.parametrize("text", ["TLS encrypts.", "_From general knowledge:_ TLS encrypts."])
def test_general_knowledge_is_said_to_be_that_once(text: str) -> None:
    sent = messages(text, path="general_llm_knowledge", citations=())
    assert str(sent[0].blocks).lower().count("general knowledge") == 1
    assert "Confidence" not in str(sent[0].blocks)


def test_small_talk_has_no_buttons() -> None:
    sent = messages("Hello!", path="small_talk", citations=())
    assert [b["type"] for b in sent[0].blocks] == ["markdown"]


def test_an_apology_has_its_reference_and_a_way_out() -> None:
    sent = apology("abc123", question_id="C1:1.0")
    assert "`abc123`" in sent.text
    assert "ask_human" in str(sent.blocks)


@pytest.mark.parametrize(
    ("days", "words"),
    [(0, "updated today"), (1, "updated 1 day ago"), (15, "updated 2 weeks ago"),
     (95, "updated 3 months ago"), (400, "updated 1 year ago"), (-5, "updated today")],
)  # fmt: skip
def test_age_in_words(days: int, words: str) -> None:
    assert age(NOW - timedelta(days=days), NOW) == words
    assert age(None, NOW) == ""


def test_an_aligned_table_lines_up() -> None:
    text = aligned(Grid(("a", "bbb"), (("1", "2"), ("333", "4"))))
    assert text == "```\na   | bbb\n--- | ---\n1   | 2\n333 | 4\n```"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("hello wor", "hello "),
        ("see [the do", "see "),
        ("see [the doc](https://exa mple", "see "),
        ("ping <!chan nel", "ping "),
        ("yes [1] and", "yes [1] "),
        ("run `rm -", "run "),
    ],
)
def test_a_stream_never_shows_half_a_link(text: str, shown: str) -> None:
    assert text[: safe_end(text)] == shown


def test_no_links_are_allowed_by_default() -> None:
    assert not Links().allow("https://docs.google.com/")
