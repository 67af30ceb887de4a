"""Settings of one process: the environment, read once, at the composition root."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from dotenv import dotenv_values, load_dotenv
from pydantic import (
    AfterValidator,
    AliasChoices,
    AliasGenerator,
    Field,
    SecretStr,
    ValidationError,
    field_validator,
)
from pydantic_settings import (
    BaseSettings,
    EnvSettingsSource,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
)

from config.errors import ConfigError
from config.parsing.addresses import as_public_url, otlp_endpoint, password_in
from config.parsing.loader_list import AllowedLoader, read_loader_list
from config.parsing.secret_files import environment, secrets_from_files, tool_tokens
from config.providers import OPENAI, check_model_name, provider_and_model
from config.sections import describe_fields
from telemetry.logs import LogFormat, LogLevel

if TYPE_CHECKING:
    from config.models import Prices


_NAME_OF_A_SECRET = re.compile(r"_(KEY|TOKEN|SECRET|PASSWORD)$")
_MIN_SECRET_CHARS = 8
"""Characters. What is shorter is a placeholder, and would be found inside other words."""
_OF_OTHERS = ("slack_", "openai_", "google_", "chroma_", "database_")
"""Fields whose variables other programs know too, so they don't begin with `ONCALL_`."""


def _variable_of(field: str) -> AliasChoices:
    variable = field.upper()
    return AliasChoices(variable if field.startswith(_OF_OTHERS) else f"ONCALL_{variable}")


class Settings(BaseSettings):
    """Environment variables, also from `.env` in the working directory.

    A field's variable is its name in capitals, after `ONCALL_` unless other programs know it. Its
    docstring is the variable's description."""

    model_config = SettingsConfigDict(
        alias_generator=AliasGenerator(validation_alias=_variable_of),
        env_file=".env",
        extra="ignore",
        populate_by_name=True,
        env_ignore_empty=True,
        defer_build=True,
    )

    slack_bot_token: SecretStr | None = None
    """Bot token, xoxb-…"""
    slack_app_token: SecretStr | None = None
    """App token for Socket Mode, xapp-…"""
    slack_signing_secret: SecretStr | None = None
    """Checks HTTP requests from Slack"""
    slack_api_url: str = "https://slack.com/api/"
    """Slack's Web API"""
    slack_client_id: str | None = None
    """Client ID of the Slack app, for *Sign in with Slack* on the pages of documents"""
    slack_client_secret: SecretStr | None = None
    """Client secret of the Slack app, likewise; a new one ends all sessions"""
    openai_api_key: SecretStr | None = None
    """Key of the OpenAI-compatible server"""
    openai_base_url: str | None = None
    """Any OpenAI-compatible server"""
    chat_model: str | None = None
    """Chat model of that server, or `provider:name` of another (`anthropic:…`, `google_genai:…`,
    `ollama:…`, `azure_openai:…`, `bedrock:…`); without one, answers are extractive"""
    model_seconds: float = Field(30.0, gt=0)
    """Seconds that a question waits for the chat model, all its calls together, until the answer
    begins; then it quotes the documents. Twice as many with `effort: thorough`. Of another provider
    than an OpenAI-compatible server, the last call may take 45 more"""
    judge_model: str | None = None
    """Chat model that judges answers in `oncall evaluate --judge`, named like `ONCALL_CHAT_MODEL`;
    without one, the chat model judges its own answers, and the report says so"""
    vision_model: str | None = None
    """Chat model that sees, named like `ONCALL_CHAT_MODEL`, and often the same: it describes the
    pictures of documents, and reads screenshots in questions; without one, pictures are not looked
    at"""
    embedding_model: str = "all-MiniLM-L6-v2"
    """Embedding model; the default one is local, knows English and needs no key. Any other is asked
    of that server, a multilingual one for instance; `oncall ingest` then embeds every document
    again"""

    embeddings_at_once: int = Field(4, ge=1, le=64)
    """Requests of up to 128 texts that a process has in flight at an embeddings server; the local
    model does without"""
    cross_encoder: str | None = None
    """Cross-encoder, by name or folder, that judges passages again in the `rerank` and `advanced`
    pipelines and by `retrieval.rerank`, before the chat model does; needs the `rerank` extra"""

    entailment_model: str | None = None
    """Model for natural language inference, by name or folder, that checks what a chat model wrote
    against what it cites; needs the `rerank` extra"""

    google_credentials: Path | None = Field(
        None, validation_alias=AliasChoices("GOOGLE_APPLICATION_CREDENTIALS")
    )
    """Service account key file"""
    google_delegate: str | None = None
    """Read Drive as this user (domain-wide delegation)"""
    google_groups_admin: str | None = None
    """Read who is in Google groups as this administrator (domain-wide delegation), or as the
    service account itself when it is named and has the role Groups Reader"""
    google_comments: bool = False
    """`on` writes what the owner of a document accepted as a comment on it, as the service account,
    which needs the role Commenter there; otherwise the owner copies it"""
    google_api_url: str | None = None
    """Another host for Docs, Drive and tokens"""
    google_reads_per_minute: int = Field(300, ge=10)
    """Docs read quota per user of your Google project; we stay a tenth below it"""

    api_token: SecretStr | None = None
    """The operator's token of the HTTP API: opens every domain, as nobody in particular; `oncall
    token create` makes narrower ones"""
    api_requests_per_minute: int = Field(120, ge=1)
    """Requests that each token may make, counted in each process"""
    api_docs: bool = False
    """Serve /docs and /openapi.json to whoever may use the API; the page loads its script from a
    public server"""
    public_url: Annotated[str | None, AfterValidator(as_public_url)] = None
    """Address of `oncall serve` in browsers, as `https://copilot.example.com`: documents without a
    web address are cited by a page there; needs `SLACK_CLIENT_ID` too, unless it is this machine"""
    metrics: Literal["token", "open", "off"] = "token"
    """/metrics of `oncall serve`: for tokens made with `--metrics`, for everyone, or not at all;
    `off` counts on the health port of `oncall bot` too, where they are open"""
    tool_commands: bool = False
    """`on` lets domain files name commands that are started as tool servers, with all rights of
    this process; servers at an address need no leave"""
    database_url: str | None = None
    """PostgreSQL; SQLite in the data folder without it"""
    database_direct_url: str | None = None
    """PostgreSQL itself, where `DATABASE_URL` leads to a pooler that runs each transaction in
    another session, such as PgBouncer with `pool_mode = transaction`: locks need a session"""
    database_connections: int = Field(
        10, ge=5, le=1_000, validation_alias=AliasChoices("ONCALL_DATABASE_CONNECTIONS")
    )
    """Connections to PostgreSQL that each process opens at most; `oncall doctor` compares the sum
    with `max_connections`"""
    chroma_url: str | None = None
    """A Chroma server: machines share vectors by it, so that none embeds what another has embedded;
    searches ask it with `ONCALL_VECTORS=chroma` only"""
    vector_engine: Literal["local", "chroma"] = Field(
        "local", validation_alias=AliasChoices("ONCALL_VECTORS")
    )
    """Vectors are searched in mapped files of each machine (`local`), or by Chroma: the server at
    `CHROMA_URL`, or without one an embedded Chroma in the data folder; `local` answers while Chroma
    is away"""
    index_store: str | None = None
    """Shared storage of indexes, as `s3://bucket/path`, `gs://…`, `az://…` or `file:///folder`: a
    run uploads each generation, and other machines fetch it instead of building their own; needs
    the extra `s3`, `gcs` or `azure`"""
    index_memory_mb: float = Field(1_500.0, gt=0)
    """Memory of open indexes: beyond it, the domain that was asked longest ago is closed, and
    opened again when it is asked"""
    open_domains: int = Field(100, ge=1)
    """Domains whose index is open at once in one process; likewise"""
    keyword_engine: Literal["bm25s", "rank_bm25"] = Field(
        "bm25s", validation_alias=AliasChoices("ONCALL_KEYWORDS")
    )
    """BM25 by `bm25s` (columns on disk) or by `rank_bm25` (plain, in memory, for small corpora);
    both rank alike"""
    document_seconds: float = Field(120.0, gt=0)
    """Computing time after which a document is given up and reported, once while it is read and
    once while it is split and described; waiting is not counted"""
    enrich_at_once: int = Field(8, ge=1, le=256)
    """Requests to the chat model that an ingest run has in flight, in each process that works on
    it"""
    enrich_per_minute: int = Field(0, ge=0)
    """Requests that ingest runs begin in a minute, in all processes that share `DATABASE_URL`; 0
    for as many as the model takes"""
    enrich_calls: int = Field(20_000, ge=0)
    """Requests to the chat model that one ingest run may make; what is left stays extractive until
    the next"""
    enrich_tokens: int = Field(50_000_000, ge=0)
    """Likewise, tokens in and out"""
    enrich_dollars: float | None = Field(None, ge=0)
    """Likewise, US dollars; needs `ONCALL_PRICES`"""
    config_dir: Path = Path("config")
    """Its `domains/*.yaml` are the domains"""
    folders: str = ""
    """Folders, separated by `:`, in which documents and rotas of domain files may lie besides the
    configuration folder; documents also lie in the folder around it, or in the working directory"""
    loaders: str = ""
    """Classes of LangChain that read documents for domain files (`sources.loader`), as
    `NAME=MODULE:CLASS`, separated by commas or lines; behind each what it may use: `host=…` (hosts
    that it may reach), `env=…` (variables that it gets), `folder=…` (what it may read besides the
    folders of documents), `programs` (it may start others)"""
    loader_seconds: float = Field(1_800.0, gt=0)
    """Time after which such a class is ended, and its documents stay as they were"""
    inner_hosts: str = ""
    """Hosts of your own network, separated by commas, where rotas of domain files may lie: their
    addresses may be private, and begin with `http://`"""
    data_dir: Path = Path("var")
    """Everything embedded lives here"""

    deleted_text_hours: int = Field(24, ge=1, le=8_760)
    """Hours that the text of a deleted document stays after the generation that lacks it: until
    then `oncall index rollback` brings it back, and the next daily purge deletes it from answers,
    threads and caches"""
    explanation_days: int = Field(14, ge=1, le=3_650)
    """Days that it stays on record why an answer was given (searches, ranks and scores, no text of
    documents), for `oncall explain`"""
    audit_days: int = Field(400, ge=30, le=3_650)
    """Days that the audit log keeps who was shown which documents"""

    log_level: LogLevel | None = None
    """`debug`, `info`, `warning` or `error`; without it `info`, and `warning` for `oncall demo` and
    for `oncall ask` on a terminal"""
    log_format: LogFormat = "auto"
    """`console`, `json` (one object a line), or `auto`: console on a terminal"""
    log_words: bool = False
    """`on` puts the words of questions and answers into the log's line of each question; whoever
    reads the log then reads what people asked"""
    prices: str | None = None
    """US dollars for a million tokens, in and out, as `0.25/2.00`, or by model, as
    `gpt-5-mini=0.25/2.00, gpt-5=1.25/10.00`: costs are then logged, counted, and limited by
    `limits` of domain files"""
    traces: Annotated[str | None, AfterValidator(otlp_endpoint)] = Field(
        None, validation_alias=AliasChoices("ONCALL_TRACES", "OTEL_EXPORTER_OTLP_ENDPOINT")
    )
    """OpenTelemetry traces go to this OTLP endpoint, as `http://collector:4317`; none are made
    without it. OpenTelemetry's own `OTEL_EXPORTER_OTLP_ENDPOINT` counts too, as its other variables
    do"""

    @field_validator("prices")
    @classmethod
    def _are_prices(cls, value: str | None) -> str | None:
        from config.models import read_price_list

        if value:
            read_price_list(value)
        return value

    @field_validator("loaders")
    @classmethod
    def _are_loaders(cls, value: str) -> str:
        read_loader_list(value)
        return value

    @classmethod
    def settings_customise_sources(
        cls, settings_cls: type[BaseSettings], *args: Any, **sources: PydanticBaseSettingsSource
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """As ever, but a field's own name counts in code alone: in the environment, API_TOKEN and
        DATA_DIR are those of other programs."""
        documented = {name.lower() for field in cls.model_fields for name in _variables(field)}
        for source in sources.values():
            if isinstance(source, EnvSettingsSource):
                source.env_vars = {
                    name: value
                    for name, value in source.env_vars.items()
                    if name.lower() in documented
                }
        return super().settings_customise_sources(settings_cls, *args, **sources)

    def has_chat_model(self) -> bool:
        """A model is configured when it is named and there is a key or another server to ask."""
        return self.can_ask(self.chat_model)

    def can_ask(self, model: str | None) -> bool:
        """Integrations of other providers find their own key: naming them is enough."""
        if not model:
            return False
        provider, _ = provider_and_model(model)
        return provider != OPENAI or bool(self.openai_api_key or self.openai_base_url)

    def chat_models(self) -> dict[str, str]:
        """Variable → chat model that it names."""
        fields = ("chat_model", "judge_model", "vision_model")
        values = {_variable(field): getattr(self, field) for field in fields}
        return {variable: name for variable, name in values.items() if name}

    def allowed_folders(self) -> tuple[Path, ...]:
        return tuple(Path(one).expanduser() for one in self.folders.split(os.pathsep) if one)

    def document_folders(self) -> tuple[Path, ...]:
        """Folders in which the files of domains may lie. The whole disk is none: in a container the
        configuration is at its top."""
        config = self.config_dir.absolute()
        around = [one for one in (config.parent, Path.cwd()) if one.parent != one]
        return (config, *around, *self.allowed_folders())

    def allowed_hosts(self) -> frozenset[str]:
        """In lower case."""
        return frozenset(filter(None, map(str.strip, self.inner_hosts.lower().split(","))))

    def tool_token(self, variable: str) -> str:
        """Of a domain's tool server; empty when it is not set."""
        return tool_tokens().get(variable, "")

    def allowed_loaders(self) -> Mapping[str, AllowedLoader]:
        """By the names that domain files use."""
        return read_loader_list(self.loaders)

    def read_prices(self, model: str | None = None) -> Prices | None:
        """Of a model, as a setting names it; without one, of the chat model. None when they are
        not set."""
        from config.models import read_price_list
        from config.providers import prices_of

        prices = read_price_list(self.prices or "")
        return prices_of(prices, model or self.chat_model or "")

    def ingest_prices(self) -> Prices | None:
        """A run's tokens are counted together: the dearer prices of its chat and vision models."""
        from config.models import dearest

        models = filter(self.can_ask, (self.chat_model, self.vision_model))
        prices = [one for model in models if (one := self.read_prices(model))]
        return dearest(prices) if prices else None

    def unpriced_models(self) -> list[str]:
        """Models that questions use, and `ONCALL_PRICES` has no prices for."""
        used = filter(self.can_ask, (self.chat_model, self.vision_model))
        return sorted({str(one) for one in used if self.read_prices(one) is None})

    def secrets(self) -> frozenset[str]:
        """What no log line may hold: keys and tokens of ours, those that providers' integrations
        read from the environment, and passwords in addresses."""
        values = [getattr(self, field) for field in type(self).model_fields]
        secrets = [
            *(one.get_secret_value() for one in values if isinstance(one, SecretStr)),
            *(password_in(one) for one in values),
            *(value for name, value in os.environ.items() if _NAME_OF_A_SECRET.search(name)),
            *tool_tokens().values(),
            *(
                value
                for loader in self.allowed_loaders().values()
                for value in loader.variables_in(environment()).values()
            ),
        ]
        return frozenset(one for one in secrets if len(one) >= _MIN_SECRET_CHARS)

    def require(self, **purposes: str) -> None:
        """Raise one ConfigError that names every missing field's variable and where to get it.

        Keyword: field name → where the value comes from."""
        missing = [
            f"{_variable(field)} ({source})"
            for field, source in purposes.items()
            if getattr(self, field) is None
        ]
        if missing:
            raise ConfigError(
                "missing settings: " + ", ".join(missing), remedy="export them or put them in .env"
            )


describe_fields(Settings)


def read_settings() -> Settings:
    """The environment and `.env`. Raises ConfigError that names what is wrong, never its value."""
    try:
        settings = Settings(**_secrets_from_files())
        for variable, name in settings.chat_models().items():
            check_model_name(name, has_server=bool(settings.openai_base_url), variable=variable)
            if provider_and_model(name)[0] != OPENAI:
                # Its integration reads its key from the environment, and knows no .env.
                load_dotenv(".env")
        if settings.enrich_dollars is not None and (unpriced := settings.unpriced_models()):
            raise ConfigError(
                f"ONCALL_ENRICH_DOLLARS: {', '.join(unpriced)} has no price",
                remedy="set ONCALL_PRICES, or limit ONCALL_ENRICH_TOKENS instead",
            )
        return settings
    except ValidationError as error:
        problems = "; ".join(
            f"{_variable(str(detail['loc'][0]))}: {detail['msg']}"
            for detail in error.errors(include_input=False, include_url=False)
        )
        raise ConfigError(
            f"settings: {problems}", remedy="correct the environment or .env"
        ) from None
    except OSError as error:
        raise ConfigError(f".env can't be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise ConfigError(".env can't be read: not UTF-8", remedy="save it as UTF-8") from None


def _secrets_from_files() -> dict[str, Any]:
    """Field → the secret that a file holds."""
    dotenv = {name: value for name, value in dotenv_values(".env").items() if value}
    fields = {_variable(field): field for field in Settings.model_fields if is_secret(field)}
    from_files = secrets_from_files(fields, {**dotenv, **os.environ})
    return {fields[variable]: secret for variable, secret in from_files.items()}


def is_secret(field: str) -> bool:
    """Whether it can be given as a file, too."""
    kind = str(Settings.model_fields[field].annotation)
    return "SecretStr" in kind or field in {"database_url", "database_direct_url"}


def _variable(field: str) -> str:
    """The first of its variables; a name that is no field's is one already."""
    return _variables(field)[0] if field in Settings.model_fields else field


def _variables(field: str) -> list[str]:
    alias = Settings.model_fields[field].validation_alias
    return list(map(str, alias.choices)) if isinstance(alias, AliasChoices) else [field.upper()]
