"""The prompt of the reranker."""

from pathlib import Path

from config.prompts import PromptFolder

render = PromptFolder(Path(__file__).parent).render
