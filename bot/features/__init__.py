"""Features of the bot, one package each; `registry.py` lists them."""
