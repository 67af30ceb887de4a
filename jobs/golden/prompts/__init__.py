"""What a model is asked when golden questions are proposed."""

from pathlib import Path

from config.prompts import PromptFolder

render = PromptFolder(Path(__file__).parent).render
