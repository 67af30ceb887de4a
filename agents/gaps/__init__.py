"""Questions that the documents don't answer, told apart: which of them are one gap."""
