"""Request and response of `/api/retrieve`, and the responses about documents and entities."""

from __future__ import annotations

from typing import Literal

from pydantic import AliasChoices, BaseModel, Field

from agents.answer import MAX_QUESTION_CHARS
from api.auth.tokens import ADDRESS_OR_NONE
from api.schemas.questions import RequestShape, WorkflowId
from index.pipelines import MAX_TOP_K, Pipeline, SearchType, Switches, switches_of

Degraded = Literal["query_expansion", "hyde", "rerank", "vectors"]


class RetrieveRequest(RequestShape):
    query: str = Field(min_length=1, max_length=MAX_QUESTION_CHARS)
    domain: str = Field("", description="Needed unless there is only one", max_length=64)
    pipeline: Pipeline = Field(
        "standard",
        description="standard: one search. rerank: its best hits judged again. advanced: all three "
        "switches, and what stands around each passage. facets: one search, and counts of what "
        "all its hits name",
    )
    top_k: int | None = Field(
        None, description="Passages to return; the domain's own without one", ge=1, le=MAX_TOP_K
    )
    search_type: SearchType = Field(
        "hybrid", description="vector (or semantic): by meaning. keyword: by words. hybrid: both"
    )
    enable_rerank: bool | None = Field(
        None,
        description="Whether the best hits are judged again, by the cross-encoder or the model; "
        "as the pipeline does without it",
    )
    query_expansion: bool | None = Field(
        None,
        validation_alias=AliasChoices("query_expansion", "enable_query_expansion"),
        description="Whether its parts and other wordings are searched for as well, which a model "
        "or else the domain's glossary tells; as the pipeline does without it. Also "
        "`enable_query_expansion`",
    )
    hyde: bool | None = Field(
        None,
        validation_alias=AliasChoices("hyde", "enable_hyde"),
        description="Whether a hypothetical answer is searched for as well, which only a model "
        "writes; as the pipeline does without it. Also `enable_hyde`",
    )
    asker_email: str = Field(
        "", description="Whose document permissions count", max_length=320, pattern=ADDRESS_OR_NONE
    )
    workflow_id: WorkflowId = ""

    @property
    def asks_a_model(self) -> bool:
        """Where there is one."""
        switches = (self.query_expansion, self.hyde, self.enable_rerank)
        return switches_of(self.pipeline, *switches) != Switches()


class CaptionShown(BaseModel):
    text: str = Field(description="The sentence or row that is nearest to the question")
    highlights: str = Field(description="The same, words of the question between `**`")


class PassageCaption(CaptionShown):
    id: str = Field(description="The passage's")
    source: str = Field(description="The document's id")
    url: str


class SemanticAnswer(PassageCaption):
    score: float = Field(description="Cosine with the question")


class EntityShown(BaseModel):
    kind: str
    value: str


class Neighbour(BaseModel):
    id: str
    content: str
    position: int


class PassageMetadata(BaseModel):
    """For a client that wants content and metadata apart, as LangChain's `Document` does."""

    source: str = Field(description="The document's id")
    title: str
    url: str
    page_number: int | None
    tab: str
    headings: list[str]
    position: int = Field(description="Of the passage within its document, from 0")
    document_type: str
    modified_at: str | None
    standing: str = Field(description="`superseded by TITLE`, `draft`, …; empty: in force")
    from_picture: bool = Field(description="A model's description of a picture, not its words")


class PassageShown(BaseModel):
    id: str
    content: str = Field(description="Markdown; a table with its header")
    source: str = Field(description="The document's id")
    title: str
    type: Literal["text", "table", "code"]
    url: str = Field(description="Opens the document at its heading")
    page_number: int | None = Field(description="Of a PDF")
    tab: str
    headings: list[str]
    document_type: str
    doc_type: str = Field(description="The same as `document_type`")
    summary: str = Field(description="Of the passage; empty where it has none of its own")
    document_summary: str
    modified_at: str | None = Field(description="ISO 8601")
    keywords: list[str]
    entities: list[EntityShown]
    caption: CaptionShown
    captions: list[CaptionShown] = Field(description="`caption` alone")
    metadata: PassageMetadata
    score: float = Field(description="Comparable within one search only")
    similarity: float = Field(description="Cosine with the question, or its nearest wording")
    ranks: dict[str, int] = Field(description="chunks, units, keywords → rank, from 1")
    rerank_score: float | None = Field(None, description="0 to 1; of passages judged again")
    reranker_score: float | None = Field(
        description="The same as `rerank_score`; null unless judged again"
    )
    around: list[Neighbour] | None = Field(None, description="Of the advanced pipeline")


class FacetValue(BaseModel):
    value: str
    count: int = Field(description="Passages that have it, each counted once")
    documents: int = Field(description="Documents that these are of, each counted once")


class FacetTotals(BaseModel):
    passages: int = Field(description="All that was found, not only what is shown")
    documents: int
    complete: bool = Field(description="False: only the best 1,000 passages were counted")
    values: dict[str, int] = Field(description="Facet → how many different values, shown or not")


class RetrieveResponse(BaseModel):
    success: bool
    documents: list[PassageShown] = Field(description="Best first")
    count: int = Field(description="Of `documents`")
    queries_used: list[str] = Field(description="All that was searched for, the question first")
    reranked: bool = Field(description="The best hits were judged again")
    hyde_used: bool = Field(description="The last of `queries_used` is a hypothetical answer")
    pipeline: Pipeline
    search_type: SearchType
    semantic_answers: list[SemanticAnswer] = Field(
        description="The nearest sentences and rows, at most three"
    )
    captions: list[PassageCaption] = Field(description="One for each passage, in the same order")
    facets: dict[str, list[FacetValue]] = Field(
        description="The 20 most frequent values of each; empty but for the pipeline facets"
    )
    facet_totals: FacetTotals | None = Field(description="Null but for the pipeline facets")
    degraded: list[Degraded] = Field(
        description="What was wanted and could not be done, or not by the model configured for it"
    )
    notices: list[str] = Field(
        description="What the reader has to know of how they were found, one sentence each"
    )
    generation: int = Field(description="Of the domain's index")
    workflow_id: str = Field(description="As it was sent")


class DocumentShown(BaseModel):
    id: str
    title: str
    url: str
    summary: str


class QuestionAndAnswer(BaseModel):
    question: str
    answer: str


class DocumentSummary(DocumentShown):
    faqs: list[QuestionAndAnswer]
    keywords: list[str]
    document_type: str


class CitablePlace(BaseModel):
    url: str
    heading: str
