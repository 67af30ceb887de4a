"""What every JSON body is held to: its own keys alone, and the nearest one named for a mistyped."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, model_validator
from pydantic_core import PydanticCustomError

from config.domain_files import nearest


class RequestShape(BaseModel):
    model_config = ConfigDict(extra="forbid")

    @model_validator(mode="before")
    @classmethod
    def _has_no_other_keys(cls, given: Any) -> Any:
        """Says keys of ours; what was sent is not said back."""
        known = list(cls.model_fields)
        for key in given if isinstance(given, dict) else ():
            if key not in cls.model_fields:
                raise PydanticCustomError("unknown_key", f"unknown key{nearest(str(key), known)}")
        return given
