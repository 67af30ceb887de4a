"""`oncall init` and `oncall doctor`: an installation, asked together and looked over."""
