"""Variables that a deployment may set."""

from __future__ import annotations

from config.parsing.secret_files import SUFFIX
from config.settings import Settings, is_secret

_FIELDS = {
    str(one.validation_alias.choices[0]): field  # type: ignore[union-attr]
    for field, one in Settings.model_fields.items()
}
SECRETS = {name for name, field in _FIELDS.items() if is_secret(field)}
"""Those that may stand in a file."""
VARIABLES = {*_FIELDS, *(f"{name}{SUFFIX}" for name in SECRETS)}
