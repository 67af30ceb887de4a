"""Settings, domain files, prompts, model clients, errors."""
