"""The composition root, and its façade: `Copilot`. START HERE."""

from oncall.copilot import Copilot
from oncall.documents import runtime_checks
from oncall.studio import graph

__all__ = ["Copilot", "graph", "runtime_checks"]
