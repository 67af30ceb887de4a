"""`oncall init` and `oncall doctor`: sets up an installation, and checks it."""
