"""What the bot does, one package per feature; `registry.py` lists them."""
