"""Google's client, made safe for quotas and bad days."""
