"""The clock of an open hand-off: who is called again and next, and who hears of it."""
