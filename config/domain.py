"""The domain file: what a channel admin writes, one YAML file per help channel."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    PrivateAttr,
    Strict,
    StringConstraints,
    create_model,
    model_validator,
)

from config.parsing.fields import (
    BotId,
    ChannelId,
    Cron,
    DomainId,
    GroupAddress,
    GroupId,
    Host,
    Meanings,
    Member,
    NonBlank,
    QueryKind,
    SearchChoice,
    Share,
    ShortForm,
    Switch,
    TimeZone,
    UserId,
    WholeNumber,
    invalid,
    not_blank,
    one_line,
    valid_time_zone,
)
from config.parsing.schedules import cron_problem, shortest_gap
from config.sections import RunbookPolicy, Section, ToolServer, cron_alone
from loaders.registry import KINDS


def _cron_or_shift_change(value: str) -> str:
    if value != SHIFT_CHANGE and (problem := cron_problem(value)):
        if get_close_matches(value.casefold(), [SHIFT_CHANGE]):
            raise invalid(f"{value!r} is no time; did you mean `{SHIFT_CHANGE}`?")
        raise invalid(f"{value!r} {problem}; or write `{SHIFT_CHANGE}`")
    return value


SHIFT_CHANGE = "shift_change"


def _keys() -> Any:
    """A key for each source of documents, as `loaders/sources/` describes it."""
    fields: dict[str, Any] = {
        kind.key: (kind.section, Field(kind.empty, description=kind.description))
        for kind in KINDS.values()
    }
    return create_model("Sources", __base__=Section, **fields)


class Sources(_keys()):  # type: ignore[misc]  # its fields are the registered sources
    change_channels: list[ChannelId] = Field([], max_length=20)
    """Channels where deploys, flags and configuration changes are announced: they are read when
    somebody asks in an alert's thread what changed. No documents are made of them"""

    def used_keys(self) -> frozenset[str]:
        """Keys under which the domain file names documents."""
        return frozenset(key for key, kind in KINDS.items() if getattr(self, key) != kind.empty)


class CachePolicy(Section):
    """Answers of a model, given again when the same is asked in other words."""

    enabled: Switch = True
    """Whether an answer is given again to the same question in other words"""
    similarity: Share = 0.7
    """Least cosine of two questions that are the same, if what they name, count and ask agrees"""
    days: WholeNumber = Field(7, ge=1, le=365)
    """An answer is given again this long, if no document changed"""
    confidence: Share = 0.9
    """Confidence from which on an answer is kept to be given again"""


class AnswerPolicy(Section):
    when: Literal["mention", "question", "always"] = "mention"
    """Answer only mentions, also unmentioned questions, or every message"""
    effort: Literal["fast", "standard", "thorough"] = "standard"
    """`fast` searches all documents without choosing among them first; `thorough` judges what was
    found and criticises the answer, usually with 5 calls of a model, 20 at most"""
    follow_ups: Literal["mention", "thread"] = "thread"
    """Whether a follow-up in a thread needs a mention"""
    instructions: str = ""
    """House rules for the answerer, in plain words"""
    context_characters: WholeNumber | None = Field(None, ge=1_000, le=200_000)
    """At most so much context for the answerer; left out: 24,000 with a model, 12,000 without"""
    alert_bots: list[BotId] = Field([])
    """Bot or app ids (B…, A…) whose alerts are answered; other bots never are"""
    max_wrong: Annotated[float, Strict()] | None = Field(None, gt=0, le=0.5)
    """Share of wrong answers that there may be among those shown without reserve, e.g. 0.05; for
    the rest a human is offered first. `oncall evaluate` finds the threshold"""
    links: list[Host] = Field([])
    """Hosts that an answer may link to besides its citations, e.g. wiki.example.com"""
    cache: CachePolicy = CachePolicy()
    link_previews: Switch = True
    """Whether a link to one of the documents, posted in a channel of this domain, is shown with
    title, heading, excerpt, age and owner; never of what somebody there may not read"""
    earlier_threads: Switch = False
    """Whether up to three earlier threads of public channels are linked under an answer, found by
    Slack with the asker's own permissions (needs `search:read.public`)"""


class RetrievalPolicy(Section):
    top_k: WholeNumber = Field(8, ge=1, le=200)
    """Passages that `oncall retrieve` and `/api/retrieve` return unless told"""
    strategy: SearchChoice = "hybrid"
    """How passages are searched for an answer: by meaning and by words (`hybrid`), by one of the
    two, or as the model plans for each question (`planned`)"""
    strategies: dict[QueryKind, SearchChoice] = Field({})
    """Other strategies for kinds of questions, as `oncall evaluate --matrix` proposes them, e.g.
    `code: keyword` for questions that name a code"""
    hyde: Switch = False
    """Also search with a hypothetical answer (needs a model)"""
    rerank: Literal["none", "cross_encoder", "model", "both"] = "none"
    """Who judges the best 15 passages again before the answerer reads them: nobody, the model of
    `ONCALL_CROSS_ENCODER`, the chat model in one more call, or both: first the cross-encoder, then
    the chat model its best 8"""


class ChunkOptions(Section):
    """Sizes in tokens of the embedder. Measured: docs/enrichment.md."""

    size: WholeNumber = Field(160, ge=10, le=1_000_000)
    """Most tokens of a text chunk"""
    table_size: WholeNumber = Field(200, ge=10, le=1_000_000)
    """A table up to this size stays whole; a longer one becomes groups of rows"""
    overlap: WholeNumber = Field(0, ge=0)
    """Tokens of text repeated from the chunk before, on top of `size`, in whole sentences or
    paragraphs"""
    semantic_threshold: Annotated[float, Strict()] | None = Field(None, ge=-1.0, le=1.0)
    """Also begin a chunk where neighbouring sentences of long prose are less similar (cosine)"""

    @model_validator(mode="after")
    def _overlap_fits(self) -> Self:
        if self.overlap >= self.size:
            raise invalid("overlap has to be smaller than size")
        return self


class Example(Section):
    question: NonBlank
    documents: list[NonBlank] = Field(min_length=1)


class EscalationLevel(Section):
    """Who is called when nobody before them has taken a hand-off."""

    usergroup: GroupId = ""
    """Slack user group id, S…"""
    user: UserId = ""
    """Slack user id, U…"""
    rota: str = ""
    """Whoever has the shift of this rota, by URL or path"""
    after_minutes: WholeNumber = Field(ge=1, le=10_080)
    """After the call before this one, while nobody has taken it"""
    name: Annotated[str, StringConstraints(max_length=60), AfterValidator(one_line)] = ""
    """What the team calls them, as in Security leads; shown where they are"""

    @model_validator(mode="after")
    def _calls_one(self) -> Self:
        if sum(bool(one) for one in (self.usergroup, self.user, self.rota)) != 1:
            raise invalid("write one of user, usergroup and rota; for more of them, more levels")
        return self


class Escalation(Section):
    """Whom *Ask a human* calls, and who is called when nobody comes."""

    usergroup: GroupId = ""
    """Slack user group id, S…"""
    user: UserId = ""
    """Slack user id, U…"""
    rota: str = ""
    """Who is on call now: an iCal or YAML rota, by URL or path"""
    message: str = ""
    remind_minutes: WholeNumber = Field(15, ge=0, le=10_080)
    """The same people, or whoever has the shift by then, are called once more after so long, while
    nobody has taken it. 0: never"""
    levels: list[EscalationLevel] = Field([], max_length=10)
    """Who is called next, one after another"""
    time_zone: Annotated[str, AfterValidator(valid_time_zone)] | None = None
    """Of times in a rota that name no zone, where a calendar names none either, and of those that
    are said in Slack, as in Europe/Berlin; left out: the calendar's own, else UTC"""


class DigestPolicy(Section):
    """What is open when a shift begins. A text alone is `at`."""

    at: Annotated[NonBlank, AfterValidator(_cron_or_shift_change)] = Field(
        json_schema_extra={"examples": [SHIFT_CHANGE, "0 9 * * 1-5"]}
    )
    """`shift_change`: whenever somebody's shift in `escalation.rota` begins; or a cron
    expression"""
    time_zone: Annotated[str, AfterValidator(valid_time_zone)] | None = None
    """Whose clock a cron is read by; left out: as `escalation.time_zone`"""
    to: Literal["channel", "on_call"] = "channel"
    """Where it is sent: the domain's first channel, or whoever is on call, as a direct message, and
    the channel where that is nobody"""


class Limits(Section):
    questions_per_user_per_hour: WholeNumber = Field(30, ge=1)
    """Of this domain; questions to others don't count"""
    questions_per_channel_per_hour: WholeNumber = Field(600, ge=1)
    tokens_per_day: WholeNumber = Field(2_000_000, ge=0)
    """Of all its questions; beyond it they are answered by quoting, without the model. 0: no
    limit"""
    dollars_per_day: Annotated[float, Strict()] | None = Field(None, gt=0)
    """Likewise, US dollars; needs `ONCALL_PRICES`"""
    tokens_per_user_per_day: WholeNumber = Field(0, ge=0)
    """Likewise, of one person's questions to this domain. 0: no limit"""
    dollars_per_user_per_day: Annotated[float, Strict()] | None = Field(None, gt=0)
    """Likewise, US dollars"""


class Access(Section):
    audience: Literal["channel", "asker"] = "channel"
    """Answer from all documents, or only from those the asker may read"""
    external: Switch = False
    """Also answer guests, and people of other organisations (Slack Connect), who are in one of the
    channels"""
    files: Literal["nobody", "everyone"] = "nobody"
    """With `audience: asker`: who may read the files of `sources.files`, which say nothing of
    readers themselves"""
    groups: dict[GroupAddress, list[Member]] = Field({}, max_length=500)
    """With `audience: asker`: who is in a Google group, where the directory can't be asked: e-mail
    addresses, and ids of Slack users (U…) and user groups (S…). People of other organizations
    count by their Slack id only"""


class CanaryPolicy(Section):
    """Golden questions, looked for again before a new index is answered from."""

    max_drop: Share = 0.05
    """A new index that finds the evidence of fewer golden questions, by more than this share of
    them, is not answered from: the one before it stays, and the admins are told. 1: never"""
    min_lost: WholeNumber = Field(2, ge=1)
    """A drop counts from so many questions on, however few there are"""


class EvaluationPolicy(Section):
    golden: list[NonBlank] = Field([])
    """Golden question files of this domain, relative to the domain file; asked again when
    documents, this file or the product change"""
    canary: CanaryPolicy = CanaryPolicy()
    preview_drafts: Switch = False
    """Whether an owner's draft has a button that asks last month's questions again, with the draft
    in its document"""


class RetentionPolicy(Section):
    days: WholeNumber = Field(180, ge=1, le=3_650)
    """Questions are kept this long, with their answers, feedback and hand-offs"""
    lost_source_days: WholeNumber = Field(7, ge=0, le=365)
    """Documents of a source that can't be read any more are answered from so much longer, with a
    note that says so; then they are withdrawn"""


class AgingPolicy(Section):
    """Documents that may be out of date."""

    review_months: WholeNumber = Field(12, ge=1, le=120)
    """A document that is cited and didn't change for so many months is listed as one to look over,
    for admins and in `oncall docs stale`; one past the review date that it states itself always
    is"""
    remind: Switch = True
    """Whether the owners of such documents are told: at most three documents a week, each at most
    once a quarter"""


class Refresh(Section):
    """When `oncall jobs run` loads what changed. A text alone is the cron expression."""

    cron: Cron = Field(json_schema_extra={"examples": ["0 3 * * *", "*/30 6-20 * * 1-5"]})
    """Five fields: minute, hour, day of the month, month, day of the week"""
    time_zone: TimeZone = "UTC"
    """Whose clock `cron` is read by, as in Europe/Berlin"""
    jitter_minutes: WholeNumber = Field(0, ge=0, le=60)
    """A run begins up to so much later: not all domains at once"""

    @model_validator(mode="after")
    def _jitter_fits(self) -> Self:
        # Otherwise the next time comes before this one's delay is over, and neither is run.
        delay = timedelta(minutes=self.jitter_minutes)
        if delay and delay >= shortest_gap(self.cron):
            raise invalid("jitter_minutes has to be less than the time from one run to the next")
        return self


class GapsPolicy(Section):
    """What was asked in vain, put together: see docs/gaps.md."""

    report: Cron | None = Field(None, json_schema_extra={"examples": ["0 9 * * 1"]})
    """When a report of them is sent, e.g. `0 9 * * 1` for Mondays at nine; left out: never. One
    with nothing to tell isn't sent"""
    time_zone: TimeZone = "UTC"
    """Whose clock `report` is read by, as in Europe/Berlin"""
    to: Literal["admins", "channel"] = "admins"
    """Who gets it: each admin directly, or the first of the channels"""


def _digest_in_short(value: object) -> object:
    if isinstance(value, bool | list):
        raise invalid(f"write `{SHIFT_CHANGE}` or a cron expression, or leave it out for none")
    return {"at": value} if isinstance(value, str) else value


class Domain(Section):
    """One help channel and the documents behind it."""

    domain: DomainId
    title: NonBlank
    channels: list[ChannelId] = Field([])
    """Slack channel ids: names change, ids don't"""
    admins: list[Annotated[UserId, AfterValidator(not_blank)]] = Field([])
    """Slack user ids"""
    sources: Sources
    answer: AnswerPolicy = AnswerPolicy()
    retrieval: RetrievalPolicy = RetrievalPolicy()
    chunks: ChunkOptions = ChunkOptions()
    examples: list[Example] = Field([])
    """Few-shot for the source identifier"""
    glossary: dict[ShortForm, Meanings] = Field({}, max_length=200)
    """What the team's short forms mean, e.g. `SG: [Singapore]`: searched both ways, and told to the
    model"""
    escalation: Escalation = Escalation()
    digest: Annotated[
        DigestPolicy | None,
        BeforeValidator(_digest_in_short, json_schema_input_type=str | DigestPolicy),
    ] = None
    """What is open, told when a shift begins: `shift_change`, or a cron expression"""
    limits: Limits = Limits()
    access: Access = Access()
    retention: RetentionPolicy = RetentionPolicy()
    aging: AgingPolicy = AgingPolicy()
    evaluation: EvaluationPolicy = EvaluationPolicy()
    refresh: Annotated[
        Refresh | None, BeforeValidator(cron_alone, json_schema_input_type=str | Refresh)
    ] = None
    """When `oncall jobs run` loads what changed, e.g. `0 3 * * *`"""
    gaps: GapsPolicy = GapsPolicy()
    runbooks: RunbookPolicy = RunbookPolicy()
    tools: list[ToolServer] = Field([], max_length=5)
    """MCP servers whose reading tools the answerer may ask, with a model and unless `effort` is
    `fast`: who is on call, what a service depends on"""
    _path: Path = PrivateAttr(default_factory=Path)

    @model_validator(mode="after")
    def _tools_by_name(self) -> Self:
        names = [one.name.casefold() for one in self.tools]
        if len(set(names)) < len(names):
            raise invalid("tools: two servers have the same name; replies tell them apart by it")
        return self

    @model_validator(mode="after")
    def _digest_has_its_time_and_place(self) -> Self:
        if self.digest is None:
            return self
        if self.digest.at == SHIFT_CHANGE and not self.escalation.rota:
            raise invalid(
                "digest: shift_change needs escalation.rota; add it, or write a cron expression"
            )
        if self.digest.to == "on_call" and not (self.escalation.rota or self.escalation.user):
            raise invalid(
                "digest.to: on_call needs escalation.rota or escalation.user; add one, or write "
                "`channel`"
            )
        if not self.channels:
            raise invalid("digest: it has no channel to go to; add one to channels")
        return self

    @model_validator(mode="after")
    def _report_has_readers(self) -> Self:
        kind = "admins" if self.gaps.to == "admins" else "channels"
        if self.gaps.report and not getattr(self, kind):
            raise invalid(
                f"gaps.report: nobody would get it, as there are no {kind}; add some, or leave it "
                "out"
            )
        return self

    @property
    def path(self) -> Path:
        """Where this was read from."""
        return self._path

    @property
    def golden_files(self) -> list[Path]:
        """Whether they exist or not."""
        return [self._path.absolute().parent / name for name in self.evaluation.golden]

    def read_from(self, path: Path) -> Self:
        placed = self.model_copy()
        placed._path = path
        return placed


def domain_of(domains: Iterable[Domain], channel: str) -> Domain | None:
    """The one that owns the channel, by its id; None for a channel of nobody's."""
    return next((domain for domain in domains if channel in domain.channels), None)
