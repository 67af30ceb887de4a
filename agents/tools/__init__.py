"""Tools of third parties that a domain allows, called over MCP."""
