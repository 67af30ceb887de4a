"""Documents grow old: what a cited place said then and says now, which documents are stale."""
