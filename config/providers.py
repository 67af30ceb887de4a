"""Resolves a model name to its provider and builds the LangChain client."""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any

from config.errors import ConfigError
from config.servers.streams import PlainChunks

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel
    from pydantic import SecretStr

    from config.models import Prices

PROVIDERS = frozenset(
    """
    anthropic anthropic_bedrock azure_ai azure_openai baseten bedrock bedrock_converse
    bedrock_mantle_anthropic bedrock_mantle_openai cohere deepseek fireworks
    google_anthropic_vertex google_genai google_vertexai groq huggingface ibm langsmith litellm
    meta mistralai nvidia ollama openai openrouter perplexity together upstage xai
    """.split()  # noqa: SIM905 - a list of strings would take 30 lines
)
"""Providers of LangChain's `init_chat_model`. Listed here, because importing LangChain would slow
down every `--help`."""
OPENAI = "openai"
CHAT_MODEL = "ONCALL_CHAT_MODEL"
"""Environment variable with the name of the chat model."""
_PROVIDER_LIKE = re.compile(r"(?!ft\b)[a-z][a-z_-]*", re.IGNORECASE)
"""Doesn't match `llama3:8b`, or `ft:gpt-x:…`, OpenAI's names of fine-tuned models."""

_NAMES_OF_MAX_TOKENS = ("max_tokens", "max_output_tokens", "num_predict")
"""Names of the option in the integrations; the last is Ollama's."""


def provider_and_model(name: str) -> tuple[str, str]:
    """`anthropic:claude-x` → (anthropic, claude-x).

    A name without a known provider, such as `llama3:8b`, is a model of the OpenAI-compatible
    server."""
    provider, colon, model = name.partition(":")
    provider = _spelled(provider)
    return (provider, model) if colon and provider in PROVIDERS else (OPENAI, name)


def prices_of(prices: Mapping[str, Prices], model: str) -> Prices | None:
    """By the model's name, else by its name without the provider, else those for any model ('')."""
    by_model = {provider_and_model(name): one for name, one in prices.items()}
    provider, name = provider_and_model(model)
    return by_model.get((provider, name)) or by_model.get((OPENAI, name)) or prices.get("")


def check_model_name(name: str, *, has_server: bool, variable: str = CHAT_MODEL) -> None:
    """Raises ConfigError for a name without a model and for an unknown provider.

    `has_server`: an OpenAI-compatible server is set; its models may have any name."""
    provider, colon, model = name.partition(":")
    is_known = _spelled(provider) in PROVIDERS
    setting = f"{variable}={name}"
    if colon and not (provider.strip() and model.strip()):
        raise ConfigError(
            f"{setting} names no model after the colon", remedy="write provider:model"
        )
    if colon and not is_known and not has_server and _PROVIDER_LIKE.fullmatch(provider):
        close = difflib.get_close_matches(_spelled(provider), sorted(PROVIDERS), n=1)
        meant = f"write {close[0]}:{model}" if close else f"one of {', '.join(sorted(PROVIDERS))}"
        raise ConfigError(
            f"{setting}: no provider {provider!r}",
            remedy=f"{meant}, or set OPENAI_BASE_URL if it is a model of that server",
        )


def _spelled(provider: str) -> str:
    return provider.replace("-", "_").lower()


def openai_client(
    model: str, *, key: SecretStr, base_url: str | None, timeout_seconds: float
) -> BaseChatModel:
    import openai
    from langchain.chat_models import init_chat_model

    client: Any = init_chat_model(
        model,
        model_provider=OPENAI,
        api_key=key,
        base_url=base_url,
        timeout=timeout_seconds,
        max_retries=0,
        http_client=openai.DefaultHttpxClient(),
    )
    client.client = PlainChunks(client.client)
    return client  # type: ignore[no-any-return]


def uses_responses_api(client: BaseChatModel) -> bool:
    """Whether LangChain asks this model by OpenAI's newer protocol, by the model's name."""
    choose = getattr(client, "_use_responses_api", None)
    return bool(choose and choose({}))


def provider_client(
    provider: str,
    model: str,
    without: Collection[str] = (),
    max_tokens: int = 0,
    *,
    timeout_seconds: float,
    variable: str = CHAT_MODEL,
) -> BaseChatModel:
    """A client of LangChain's integration, which reads its key from the environment.

    `without`: options to omit, such as `temperature`. `max_tokens`: limit of a reply, 0 for none.
    Raises ConfigError when the integration is not installed, or has no key or address."""
    from langchain.chat_models import init_chat_model
    from pydantic import ValidationError

    setting = f"{variable}={provider}:{model}"
    supported: dict[str, Any] = {
        "temperature": 0,
        "timeout": timeout_seconds,
        "client_kwargs": {"timeout": timeout_seconds},  # Ollama's form of the timeout
        "max_retries": 0,
        "stream_usage": True,
    }
    try:
        declared = _declared(type(init_chat_model(model, model_provider=provider)))
        names = [name for name in _NAMES_OF_MAX_TOKENS if name in declared]
        supported |= dict.fromkeys(names[:1], max_tokens) if max_tokens else {}
        options = {k: v for k, v in supported.items() if k in declared and k not in without}
        client: BaseChatModel = init_chat_model(model, model_provider=provider, **options)
    except ImportError as error:
        package = re.search(r"pip install ([\w-]+)", str(error))
        remedy = f"pip install {package[1]}" if package else f"reinstall it: {error}"
        raise ConfigError(
            f"{setting} needs a package that is not installed", remedy=remedy
        ) from error
    except ValidationError as error:  # its text shows the input, which may contain a key
        problem = "; ".join(item["msg"] for item in error.errors(include_input=False))
        raise _unusable(setting, problem) from None
    except Exception as error:  # integrations raise different errors for a missing key
        raise _unusable(setting, str(error)) from None
    if missing := _missing_keys(client):
        raise ConfigError(f"{setting} has no key", remedy=f"set {' or '.join(missing)}")
    return client


def secrets_of(client: BaseChatModel) -> list[str]:
    """Every key of a client; callers use it to keep keys out of logs."""
    secrets = (value for value in vars(client).values() if hasattr(value, "get_secret_value"))
    return [secret for value in secrets if (secret := str(value.get_secret_value()))]


def _declared(client: type[BaseChatModel]) -> set[str]:
    """The options of an integration. It may reject others or pass them to its server."""
    fields = client.model_fields
    return {*fields, *(field.alias for field in fields.values() if field.alias)}


def _missing_keys(client: BaseChatModel) -> list[str]:
    """The variables for the client's keys when it has no key; empty when it has one.

    Also empty when the integration needs no key or finds it elsewhere, as in an AWS profile."""
    variables = [
        variable
        for field, variable in client.lc_secrets.items()
        if hasattr(getattr(client, field, None), "get_secret_value")
    ]
    return [] if secrets_of(client) else variables


def _unusable(setting: str, problem: str) -> ConfigError:
    return ConfigError(
        f"{setting} can't be used: {' '.join(problem.split()):.200}",
        remedy="set what its integration reads from the environment",
    )
