"""Which domain answers, where nobody named one."""
