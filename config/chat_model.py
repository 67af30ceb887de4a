"""Builds the chat models that are set: for questions, documents, judges and pictures."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from pydantic import SecretStr

from config.errors import ConfigError
from config.langchain_model import LangChainModel, ProviderModel
from config.models import ChatModel
from config.providers import (
    CHAT_MODEL,
    OPENAI,
    openai_client,
    provider_and_model,
    provider_client,
)
from config.settings import Settings

VISION_MODEL = "ONCALL_VISION_MODEL"


def build_chat_model(
    settings: Settings,
    *,
    timeout_seconds: float = 45.0,
    retries: int = 2,
    pause_seconds: float = 20.0,
) -> ChatModel | None:
    """The configured model, or None when none is configured.

    `timeout_seconds` is per request (per read while streaming); after a timeout or a refused
    connection, calls fail at once for `pause_seconds`, so that an outage costs one wait, not one
    for every agent. Raises ConfigError when a provider's integration is not installed or has no
    key."""
    return _chat_model(settings, _Patience(timeout_seconds, retries, pause_seconds))


def build_enrichment_model(settings: Settings) -> ChatModel | None:
    """The chat model for documents; None and errors as for `build_chat_model`.

    No user waits for it, so it has a longer timeout and no pause after one. The caller's budget
    does the retries, and makes all requests wait where that helps."""
    return _chat_model(settings, _DOCUMENTS)


def build_judge_model(settings: Settings) -> ChatModel | None:
    """The judge model if set, else the chat model. None and errors as for `build_chat_model`;
    raises ConfigError also when the judge model has no server."""
    if settings.judge_model:
        return _model_by_name(settings, "ONCALL_JUDGE_MODEL", settings.judge_model, _JUDGE)
    return _chat_model(settings, _JUDGE)


def build_vision_model(settings: Settings, *, someone_waits: bool) -> ChatModel | None:
    """The model that describes pictures; None when none is set.

    The chat model is no default, because not every chat model accepts pictures. Raises ConfigError
    when the model has no server. `someone_waits`: True for a screenshot in a question; False for a
    document, as for `build_enrichment_model`."""
    if not settings.vision_model:
        return None
    patience = _SCREENSHOTS if someone_waits else _DOCUMENTS
    return _model_by_name(settings, VISION_MODEL, settings.vision_model, patience)


@dataclass(frozen=True)
class _Patience:
    """Timeouts and retries, see `build_chat_model`."""

    timeout_seconds: float
    retries: int
    pause_seconds: float


_JUDGE = _Patience(timeout_seconds=120.0, retries=4, pause_seconds=0.0)
"""No user waits for a judge, and each answer without a verdict weakens the figures."""
_DOCUMENTS = _Patience(timeout_seconds=120.0, retries=0, pause_seconds=0.0)
_SCREENSHOTS = _Patience(timeout_seconds=45.0, retries=1, pause_seconds=20.0)


def _chat_model(settings: Settings, patience: _Patience) -> ChatModel | None:
    if not settings.has_chat_model():
        return None
    return _build_model(settings, CHAT_MODEL, settings.chat_model or "", patience)


def _model_by_name(settings: Settings, variable: str, name: str, patience: _Patience) -> ChatModel:
    if not settings.can_ask(name):
        raise ConfigError(
            f"{variable}={name}: there is no server to ask",
            remedy="set OPENAI_API_KEY or OPENAI_BASE_URL",
        )
    return _build_model(settings, variable, name, patience)


def _build_model(settings: Settings, variable: str, model: str, patience: _Patience) -> ChatModel:
    provider, name = provider_and_model(model)
    timeout = patience.timeout_seconds
    if provider != OPENAI:
        built = ProviderModel(
            model,
            connect=partial(
                provider_client, provider, name, timeout_seconds=timeout, variable=variable
            ),
            check_key=f"the API key of {provider}",
            check=variable,
            retries=patience.retries,
            pause_seconds=patience.pause_seconds,
            timeout_seconds=timeout,
            provider=provider,
        )
        built.connected()  # reports a missing package or key now, not at the first question
        return built
    connect = partial(
        openai_client,
        name,
        key=settings.openai_api_key or SecretStr("none"),
        base_url=settings.openai_base_url,
        timeout_seconds=timeout,
    )
    return LangChainModel(
        name,
        connect=lambda *_: connect(),
        check_key="OPENAI_API_KEY",
        check=f"{variable} and OPENAI_BASE_URL",
        retries=patience.retries,
        pause_seconds=patience.pause_seconds,
        timeout_seconds=timeout,
        server=settings.openai_base_url or "",
    )
