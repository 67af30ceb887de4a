"""The composition root: `from oncall import Copilot`. START HERE."""

from oncall.copilot import Copilot
from oncall.documents import runtime_checks
from oncall.studio import graph

__all__ = ["Copilot", "graph", "runtime_checks"]
