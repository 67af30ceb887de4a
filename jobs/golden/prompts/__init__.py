"""Prompts that propose golden questions."""

from pathlib import Path

from config.prompts import PromptFolder

render = PromptFolder(Path(__file__).parent).render
