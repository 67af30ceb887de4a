"""Chooses the domain that answers when nobody named one."""
