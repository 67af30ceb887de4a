"""What offline writes and online reads: one immutable generation per domain."""
