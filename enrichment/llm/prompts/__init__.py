"""What a model is asked about a document."""

from pathlib import Path

from config.prompts import PromptFolder

render = PromptFolder(Path(__file__).parent).render
